//! Communicators and windows: the world ranks of their members.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::format::NO_RANK;

/// A communicator or window. It is never freed, as a late completion may need it after its end.
#[derive(Debug)]
pub(crate) struct Communicator {
    /// Its number in this recording.
    pub(crate) number: u32,
    /// World ranks of those that messages go to; `None` where they are 0, 1, 2, …
    pub(crate) peers: Option<&'static [u32]>,
    pub(crate) size: u32,
    /// Own rank in it.
    pub(crate) rank: u32,
    /// The operation inside which MPI made it for its own traffic; 0 for a communicator of the
    /// program.
    pub(crate) made_by: u8,
    /// Operations of its latest non-blocking collectives by tag, see [`Self::nonblocking`].
    pub(crate) recent: [AtomicU64; 16],
}

impl Communicator {
    /// World rank of a rank in it.
    #[inline(always)]
    pub(crate) fn world(&self, rank: i32) -> u32 {
        let rank = rank.cast_unsigned();
        match self.peers {
            None if rank < self.size => rank,
            Some(peers) => peers.get(rank as usize).copied().unwrap_or(NO_RANK),
            None => NO_RANK,
        }
    }

    /// Number of peers.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// The operation of the non-blocking collective that owns `tag`. Each instance has its own tag.
    /// Its first messages are sent inside the call that starts it, `starting`, later ones inside
    /// any call that makes progress.
    #[inline]
    pub(crate) fn nonblocking(&self, tag: i32, starting: Option<u8>) -> Option<u8> {
        let place = &self.recent[tag.unsigned_abs() as usize % self.recent.len()];
        let entry = place.load(Relaxed);
        if entry >> 8 == u64::from(tag.cast_unsigned()) {
            return Some(entry as u8);
        }
        if let Some(operation) = starting {
            place.store(u64::from(tag.cast_unsigned()) << 8 | u64::from(operation), Relaxed);
        }
        starting
    }
}
