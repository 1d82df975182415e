//! Communicators of a run, numbered for all ranks together.

use std::sync::Arc;

/// The ranks of a communicator in their order.
pub(super) type Members = Arc<[u32]>;

/// A communicator of the run.
#[derive(Clone, Debug)]
pub(super) struct Communicator {
    /// The members; the group of lower leader of an intercommunicator.
    pub(super) members: Members,
    /// The other group of an intercommunicator.
    pub(super) remote: Option<Members>,
    /// Extents of a Cartesian one.
    pub(super) dims: Option<Vec<i32>>,
}

/// All communicators of a run by number: 0 is `MPI_COMM_WORLD`, then comes `MPI_COMM_SELF` of each
/// rank, then those that were made.
#[derive(Clone, Debug)]
pub(super) struct Communicators {
    pub(super) ranks: u32,
    pub(super) made: Vec<Communicator>,
    /// By rank: what each of its calls that make a communicator has made; `None` if that is
    /// unknown, or nothing for this rank.
    pub(super) by_rank: Vec<Vec<Option<u32>>>,
    /// Calls of which the outcome is unknown.
    pub(super) unknown: u64,
}

impl Communicators {
    /// A run without communicators of its own.
    pub(super) fn none(ranks: u32) -> Self {
        Self { ranks, made: Vec::new(), by_rank: Vec::new(), unknown: 0 }
    }

    /// What the n-th of a rank's calls that make a communicator has made.
    pub(super) fn made_by(&self, rank: u32, call: usize) -> Option<u32> {
        *self.by_rank.get(rank as usize)?.get(call)?
    }

    /// Number of the communicator of one rank.
    pub(super) fn of_self(rank: u32) -> u32 {
        1 + rank
    }

    /// One that was made; `None` for those that MPI has.
    fn get(&self, number: u32) -> Option<&Communicator> {
        self.made.get(number.checked_sub(1 + self.ranks)? as usize)
    }

    /// The rank in the run of a rank in a communicator, as a member addresses it.
    #[inline]
    pub(super) fn peer(&self, number: u32, own: u32, peer: u32) -> Option<u32> {
        if number == 0 {
            return (peer < self.ranks).then_some(peer);
        }
        match self.get(number) {
            None => (peer == 0 && number == Self::of_self(own)).then_some(own),
            Some(Communicator { members, remote: None, .. }) => members.get(peer as usize).copied(),
            Some(Communicator { members, remote: Some(remote), .. }) => {
                let other = if members.contains(&own) { remote } else { members };
                other.get(peer as usize).copied()
            }
        }
    }

    /// The members in their order; `None` for an intercommunicator.
    pub(super) fn members(&self, number: u32) -> Option<Vec<u32>> {
        match (number, self.get(number)) {
            (0, _) => Some((0..self.ranks).collect()),
            (_, Some(found)) => found.remote.is_none().then(|| found.members.to_vec()),
            (_, None) => (number <= self.ranks).then(|| vec![number - 1]),
        }
    }

    /// How many members a communicator has, without a list of them.
    pub(super) fn size(&self, number: u32) -> Option<u64> {
        match (number, self.get(number)) {
            (0, _) => Some(u64::from(self.ranks)),
            (_, Some(found)) => Some(found.remote.as_ref().unwrap_or(&found.members).len() as u64),
            (_, None) => Some(1),
        }
    }

    /// The place of a rank among the members.
    pub(super) fn place(&self, number: u32, rank: u32) -> Option<usize> {
        match (number, self.get(number)) {
            (0, _) => Some(rank as usize),
            (_, Some(found)) => found.members.iter().position(|member| *member == rank),
            (_, None) => Some(0),
        }
    }
}
