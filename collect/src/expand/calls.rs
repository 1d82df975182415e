//! From what traces keep of a collective call, the bytes that each rank contributed, to its counts.
//!
//! A trace's [`Call`](crate::trace::Call) has one number of bytes. That determines the operations whose counts are alike
//! everywhere or belong to the sender. For scatterv, alltoallv, alltoallw and reduce_scatter it leaves open how a rank's
//! bytes are spread, and an even spread is assumed; neighbourhoods remain unknown.

use super::collective::{Collective, Counts};
use crate::trace::Operation;

impl<'a> Collective<'a> {
    /// The collective of which each rank contributed `bytes[rank]`; `None` for operations that this does not determine.
    /// Elements are taken to be single bytes, the operator to commute.
    ///
    /// Contributed is what a rank gives to others and itself: the root's vector in bcast, all blocks of the root in
    /// scatter, all blocks of a rank in an all-to-all, the whole vector in reductions. Where all ranks have to agree,
    /// the largest value counts.
    pub fn from_contributions(operation: Operation, root: Option<u32>, bytes: &'a [u64]) -> Option<Self> {
        let ranks = u32::try_from(bytes.len()).ok()?;
        let largest = bytes.iter().copied().max()?;
        let of_root = || root.and_then(|root| bytes.get(root as usize)).copied();
        let block = |whole: u64| whole / u64::from(ranks);
        let counts = match operation {
            Operation::Barrier => Counts::Each(0),
            Operation::Bcast => Counts::Each(of_root()?),
            Operation::Reduce | Operation::Allreduce | Operation::Scan | Operation::Exscan => {
                Counts::Each(largest)
            }
            Operation::Gather | Operation::Allgather => Counts::Each(largest),
            Operation::Scatter | Operation::Scatterv => Counts::Each(block(of_root()?)),
            Operation::Alltoall | Operation::ReduceScatter | Operation::ReduceScatterBlock => {
                Counts::Each(block(largest))
            }
            Operation::Gatherv | Operation::Allgatherv | Operation::Alltoallv | Operation::Alltoallw => {
                Counts::Ranks(bytes)
            }
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
        let collective = Collective::from_contributions(operation, Some(1), bytes).unwrap();
        let mut sent = vec![0; bytes.len()];
        expand(&collective, Rules::Basic, &mut |transfer| sent[transfer.src as usize] += transfer.bytes)
            .unwrap();
        sent
    }

    #[test]
    fn each_rank_sends_its_contribution_less_its_own_share() {
        assert_eq!(sent(Operation::Bcast, &[0, 10, 0, 0]), [0, 30, 0, 0]);
        assert_eq!(sent(Operation::Scatter, &[0, 40, 0, 0]), [0, 30, 0, 0]);
        assert_eq!(sent(Operation::Gather, &[10; 4]), [10, 0, 10, 10]);
        assert_eq!(sent(Operation::Gatherv, &[1, 2, 3, 0]), [1, 0, 3, 0]);
        assert_eq!(sent(Operation::Reduce, &[10; 4]), [10, 0, 10, 10]);
        assert_eq!(sent(Operation::Alltoall, &[40; 4]), [30; 4]);
        assert_eq!(sent(Operation::Alltoallv, &[8, 0, 40, 4]), [6, 0, 30, 3]);
    }

    #[test]
    fn collectives_without_known_neighbours_stay_unknown() {
        for operation in Operation::ALL {
            let known = Collective::from_contributions(*operation, Some(0), &[1, 1]).is_some();
            let plain = !Algorithm::of(*operation).is_empty() && !operation.name().starts_with("neighbor");
            assert_eq!(known, plain, "{operation:?}");
        }
        assert!(Collective::from_contributions(Operation::Bcast, None, &[1, 1]).is_none());
        assert!(Collective::from_contributions(Operation::Barrier, None, &[]).is_none());
    }
}
