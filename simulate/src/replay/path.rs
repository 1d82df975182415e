//! The critical path: why a script took as long as it did.
//!
//! From the end of the rank that ended last it goes back in time. On a rank it goes back to the last time that the rank had to wait;
//! there to the message that it waited for, back to when that one left; and on with the rank that let it leave: its sender, or its
//! receiver where the sender had to wait for that one. So the path has no gaps, and each part of it, made shorter, would have made
//! the whole shorter until another path becomes the longest (Yang and Miller, *Critical path analysis for the execution of parallel and
//! distributed programs*, ICDCS 1988).

use super::PathShare;
use super::player::Act;
use crate::engine::Picoseconds;

/// No wait.
pub(super) const NONE: u32 = u32::MAX;

/// A time that a rank waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) message: u32,
    /// The wait of the same rank before it, or [`NONE`].
    pub(super) before: u32,
    pub(super) end: Picoseconds,
}

/// What the path of a script that ended at `end` is made of. Takes time in proportion to the waits.
pub(super) fn critical_path(act: &Act<'_>, end: Picoseconds) -> PathShare {
    let mut share = PathShare::default();
    // By rank: the latest wait that can still be on the path, as that only goes back.
    let mut latest: Vec<u32> = act.ranks.iter().map(|rank| rank.last_wait).collect();
    let Some(mut rank) = act.ranks.iter().position(|rank| rank.ended == Some(end)) else { return share };
    let mut at = end;
    loop {
        let wait = loop {
            let Some(wait) = act.waits.get(latest[rank] as usize) else { break None };
            latest[rank] = wait.before;
            if wait.end <= at {
                break Some(wait);
            }
        };
        let Some(wait) = wait else {
            share.ranks += at - act.began;
            return share;
        };
        share.ranks += at - wait.end;
        let message = &act.messages[wait.message as usize];
        let transfer = &act.script.messages()[wait.message as usize];
        share.network += wait.end - message.started;
        share.messages += 1;
        at = message.started;
        rank = if message.late_receiver { transfer.dst } else { transfer.src } as usize;
    }
}
