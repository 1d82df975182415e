//! Message rounds of collective algorithms: those of Open MPI and binomial trees.

use phaseflow_collect::Result;
use phaseflow_collect::expand::{self, Algorithm, Counts, Rules, expand_with};
use phaseflow_collect::trace::Operation;

use super::collective_operations::CollectiveOperations;
use super::op::Op;

/// Bytes of an element, a C float or int, if the vector is a multiple of it.
const ELEMENT: u64 = 4;

impl CollectiveOperations {
    /// The messages of one of Open MPI's algorithms.
    pub(super) fn messages(
        &mut self,
        operation: Operation,
        algorithm: Algorithm,
        members: &[u32],
        bytes: u64,
    ) -> Result<()> {
        let type_bytes = if bytes.is_multiple_of(ELEMENT) { ELEMENT } else { 1 };
        let counts = Counts::Each(bytes / type_bytes);
        let ranks = members.len() as u32;
        let collective =
            expand::Collective { type_bytes, ..expand::Collective::new(operation, ranks, counts) };
        let mut all = Vec::new();
        expand_with(&collective, algorithm, Rules::OpenMpi41, &mut |transfer| all.push(transfer))?;
        // Rounds ascend.
        for round in all.chunk_by(|a, b| a.round == b.round) {
            let pairs = round.iter().map(|transfer| (transfer.src, transfer.dst, transfer.bytes));
            self.round(members, pairs);
        }
        Ok(())
    }

    /// Thakur, Rabenseifner and Gropp, 2005: in step k of the reduction ranks at distance 2ᵏ send
    /// to the lower one; the broadcast reverses it, so the largest subtree is served first.
    pub(super) fn binomial(&mut self, members: &[u32], bytes: u64) {
        let ranks = members.len() as u32;
        let steps: Vec<u32> =
            (0..u32::BITS).map(|k| 1 << k).take_while(|distance| *distance < ranks).collect();
        let pairs = |distance: u32| {
            let lower = (0..ranks).step_by(2 * distance as usize);
            lower.map(move |lower| (lower, lower + distance)).filter(move |(_, upper)| *upper < ranks)
        };
        for distance in &steps {
            self.round(members, pairs(*distance).map(|(lower, upper)| (upper, lower, bytes)));
        }
        for distance in steps.iter().rev() {
            self.round(members, pairs(*distance).map(|(lower, upper)| (lower, upper, bytes)));
        }
    }

    /// A round: messages between members, by their numbers. All receives are posted, then all
    /// sends; then both are waited for.
    fn round(&mut self, members: &[u32], pairs: impl Iterator<Item = (u32, u32, u64)>) {
        let mut round = Vec::new();
        for (src, dst, bytes) in pairs {
            let number = self.transfer(members[src as usize], members[dst as usize], bytes);
            round.push((src as usize, dst as usize, number));
        }
        round.iter().for_each(|(_, dst, number)| self.member(*dst).push(Op::ReceivePost(*number)));
        round.iter().for_each(|(src, _, number)| self.member(*src).push(Op::Send(*number)));
        round.iter().for_each(|(_, dst, number)| self.member(*dst).push(Op::ReceiveWait(*number)));
        round.iter().for_each(|(src, _, number)| self.member(*src).push(Op::SendWait(*number)));
    }
}
