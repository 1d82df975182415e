//! Bytes of a rank's part in a collective, from the two sums that an event has.
//!
//! Tools count differently. Score-P counts what a plain algorithm would move: in an allreduce of N
//! ranks each sends its vector N times (`SCOREP_Mpi_Coll.c`). Others (EZTrace) give the sizes of
//! the buffers as in the call's arguments, which in an alltoall is that of one block.

use super::fields::UNDEFINED;
use crate::trace::Operation;

/// Who counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// What a plain algorithm would move.
    ScoreP,
    /// Sizes as in the call's arguments.
    Arguments,
}

impl Dialect {
    /// By the creator in the anchor file.
    pub(super) fn of(creator: &str) -> Self {
        if creator.starts_with("Score-P") { Self::ScoreP } else { Self::Arguments }
    }
}

/// One member's view of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) operation: Operation,
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Members of the communicator.
    pub(super) members: u64,
    /// Number of this member.
    pub(super) member: u64,
}

/// The operation of a number; `None` for one that is not known.
pub(super) fn operation(number: u8, is_of_window: bool) -> Option<Operation> {
    Some(match number {
        0 if is_of_window => Operation::Fence,
        0 => Operation::Barrier,
        1 => Operation::Bcast,
        2 => Operation::Gather,
        3 => Operation::Gatherv,
        4 => Operation::Scatter,
        5 => Operation::Scatterv,
        6 => Operation::Allgather,
        7 => Operation::Allgatherv,
        8 => Operation::Alltoall,
        9 => Operation::Alltoallv,
        10 => Operation::Alltoallw,
        11 => Operation::Allreduce,
        12 => Operation::Reduce,
        13 => Operation::ReduceScatter,
        14 => Operation::Scan,
        15 => Operation::Exscan,
        16 => Operation::ReduceScatterBlock,
        17..=22 if is_of_window => Operation::Window,
        17 | 18 => Operation::Communicator,
        19..=22 => Operation::Window,
        _ => return None,
    })
}

/// The root as a member's number; none of the special values.
pub(super) fn root(root: u32) -> Option<u32> {
    /// "Myself" and "in this group": an intercommunicator's.
    const SPECIAL: u32 = UNDEFINED - 2;
    (root < SPECIAL).then_some(root)
}

impl Part {
    /// Bytes as [`Call::bytes`](crate::trace::Call::bytes) has them.
    pub(super) fn bytes(&self, dialect: Dialect) -> u64 {
        match dialect {
            Dialect::ScoreP => self.score_p(),
            Dialect::Arguments => self.arguments(),
        }
    }

    fn score_p(&self) -> u64 {
        let (members, member) = (self.members.max(1), self.member);
        match self.operation {
            Operation::Bcast => self.received.max(self.sent / members),
            Operation::Allgather | Operation::Allgatherv | Operation::Allreduce => self.sent / members,
            Operation::ReduceScatter | Operation::ReduceScatterBlock => self.received / members,
            Operation::Scatter | Operation::Scatterv => self.received,
            Operation::Scan => self.received / (member + 1),
            // The last member sends nothing, the first one receives nothing.
            Operation::Exscan if member + 1 < members => self.sent / (members - member - 1),
            Operation::Exscan => self.received / member.max(1),
            _ => self.sent,
        }
    }

    fn arguments(&self) -> u64 {
        match self.operation {
            Operation::Bcast => self.sent.max(self.received),
            Operation::Scatter
            | Operation::Scatterv
            | Operation::ReduceScatter
            | Operation::ReduceScatterBlock => self.received,
            Operation::Alltoall => self.sent.saturating_mul(self.members),
            _ => self.sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formulas of Score-P's wrappers for vectors of 24 bytes of four members.
    #[test]
    fn score_p_counts_what_a_plain_algorithm_moves() {
        for (operation, member, sent, received) in [
            (Operation::Allreduce, 1, 96, 96),
            (Operation::Bcast, 0, 96, 24),
            (Operation::Bcast, 3, 0, 24),
            (Operation::Reduce, 2, 24, 0),
            (Operation::Gather, 2, 24, 0),
            (Operation::Scatter, 2, 0, 24),
            (Operation::Allgather, 2, 96, 96),
            (Operation::Alltoall, 2, 24, 24),
            (Operation::ReduceScatter, 0, 240, 96),
            (Operation::ReduceScatterBlock, 0, 96, 96),
            (Operation::Scan, 1, 72, 48),
            (Operation::Exscan, 1, 48, 24),
            (Operation::Exscan, 3, 0, 72),
        ] {
            let part = Part { operation, sent, received, members: 4, member };
            assert_eq!(part.bytes(Dialect::ScoreP), 24, "{operation:?} of member {member}");
        }
    }

    #[test]
    fn others_give_the_arguments() {
        let bytes = |operation, sent, received| {
            Part { operation, sent, received, members: 4, member: 1 }.bytes(Dialect::Arguments)
        };
        assert_eq!(bytes(Operation::Alltoall, 6, 6), 24);
        assert_eq!(bytes(Operation::Allreduce, 24, 24), 24);
        assert_eq!(bytes(Operation::Scatter, 0, 24), 24);
        assert_eq!(bytes(Operation::Bcast, 0, 24), 24);
    }

    #[test]
    fn roots_of_intercommunicators_are_no_members() {
        assert_eq!(
            [0, 7, UNDEFINED, UNDEFINED - 1, UNDEFINED - 2].map(root),
            [Some(0), Some(7), None, None, None]
        );
    }
}
