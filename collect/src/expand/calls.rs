//! Counts of a collective from the bytes of each rank's call.
//!
//! A trace's [`Call`](crate::trace::Call) has one number of bytes. For alltoallv and alltoallw the
//! bytes are assumed to be spread evenly over the other ranks; neighbourhoods remain unknown.

use super::collective::{Collective, Counts};
use crate::trace::Operation;

impl<'a> Collective<'a> {
    /// The collective of which each rank's own part ([`Call::bytes`](crate::trace::Call::bytes))
    /// was `bytes[rank]`; `None` for operations that this does not determine. Elements are assumed
    /// to be single bytes, and the operator to commute. If all ranks must have one value, the
    /// largest counts.
    pub fn from_parts(operation: Operation, root: Option<u32>, bytes: &'a [u64]) -> Option<Self> {
        let ranks = u32::try_from(bytes.len()).ok()?;
        let largest = bytes.iter().copied().max()?;
        let of_root = || root.and_then(|root| bytes.get(root as usize)).copied();
        let counts = match operation {
            Operation::Barrier => Counts::Each(0),
            Operation::Bcast => Counts::Each(of_root()?),
            Operation::Reduce
            | Operation::Allreduce
            | Operation::Scan
            | Operation::Exscan
            | Operation::Gather
            | Operation::Scatter
            | Operation::Allgather
            | Operation::ReduceScatterBlock => Counts::Each(largest),
            Operation::Alltoall => Counts::Each(largest / u64::from(ranks)),
            Operation::Gatherv
            | Operation::Scatterv
            | Operation::Allgatherv
            | Operation::ReduceScatter
            | Operation::Alltoallv
            | Operation::Alltoallw => Counts::Ranks(bytes),
            _ => return None,
        };
        Some(Self { root, ..Self::new(operation, ranks, counts) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::{Algorithm, Rules, expand};

    /// Bytes that leave each rank, by the plainest rules, which forward nothing on up to 4 ranks.
    fn sent(operation: Operation, bytes: &[u64]) -> Vec<u64> {
        let collective = Collective::from_parts(operation, Some(1), bytes).unwrap();
        let mut sent = vec![0; bytes.len()];
        expand(&collective, Rules::Basic, &mut |transfer| sent[transfer.src as usize] += transfer.bytes)
            .unwrap();
        sent
    }

    #[test]
    fn each_rank_sends_its_part_less_its_own_share() {
        assert_eq!(sent(Operation::Bcast, &[0, 10, 0, 0]), [0, 30, 0, 0]);
        assert_eq!(sent(Operation::Scatter, &[10; 4]), [0, 30, 0, 0]);
        assert_eq!(sent(Operation::Scatterv, &[1, 2, 3, 0]), [0, 4, 0, 0]);
        assert_eq!(sent(Operation::Gather, &[10; 4]), [10, 0, 10, 10]);
        assert_eq!(sent(Operation::Gatherv, &[1, 2, 3, 0]), [1, 0, 3, 0]);
        assert_eq!(sent(Operation::Reduce, &[10; 4]), [10, 0, 10, 10]);
        assert_eq!(sent(Operation::Alltoall, &[40; 4]), [30; 4]);
        assert_eq!(sent(Operation::Alltoallv, &[8, 0, 40, 4]), [6, 0, 30, 3]);
    }

    #[test]
    fn collectives_without_known_neighbours_stay_unknown() {
        for operation in Operation::ALL {
            let known = Collective::from_parts(*operation, Some(0), &[1, 1]).is_some();
            let plain = !Algorithm::of(*operation).is_empty() && !operation.name().starts_with("neighbor");
            assert_eq!(known, plain, "{operation:?}");
        }
        assert!(Collective::from_parts(Operation::Bcast, None, &[1, 1]).is_none());
        assert!(Collective::from_parts(Operation::Barrier, None, &[]).is_none());
    }
}
