//! The critical path: why a replay took as long as it did.
//!
//! The path is found backwards, from the end of the rank that ends last. On a rank it goes back to
//! the rank's last wait, and from there to the departure of the awaited message. It continues on
//! the rank that let the message leave: the sender, or the receiver if the sender waited for it. Of
//! a sum in the network it is the rank that joined last. The path has no gaps. Shortening any part
//! of it shortens the whole until another path is the longest (Yang and Miller, *Critical path
//! analysis for the execution of parallel and distributed programs*, ICDCS 1988).

use super::account::PathShare;
use super::active::ActiveReplay;
use super::steps::{Details, Place, StepCollector};
use super::transport::Transport;
use crate::engine::Picoseconds;

/// The parts of the path of a replay that ended at `end`, by stretch, with its steps if the options
/// request them. Time: O(waits + stretches).
pub(super) fn critical_path<T: Transport>(
    replay: &ActiveReplay<'_>,
    end: Picoseconds,
    transport: &T,
) -> (Vec<PathShare>, Option<Details>) {
    let asked = replay.delays.is_some() || replay.options.path_steps > 0;
    let mut shares = Shares {
        of: vec![PathShare::default(); replay.boundaries.len() + 1],
        steps: asked.then(|| StepCollector::new(replay, replay.options.path_steps)),
        replay,
        at: end,
    };
    // By rank: the latest wait that can still be on the path.
    let mut latest: Vec<u32> = replay.ranks.iter().map(|rank| rank.last_wait).collect();
    let Some(mut rank) = replay.ranks.iter().position(|rank| rank.ended == Some(end)) else {
        return shares.finish(transport);
    };
    let mut at = end;
    loop {
        let wait = loop {
            let Some(wait) = replay.waits.get(latest[rank] as usize) else { break None };
            latest[rank] = wait.before;
            if wait.end <= at {
                break Some(wait);
            }
        };
        let Some(wait) = wait else {
            shares.back_to(replay.began, Place::Rank(rank as u32));
            return shares.finish(transport);
        };
        let (cause, started) = cause(replay, wait.message);
        shares.back_to(wait.end, Place::Rank(rank as u32));
        shares.current().messages += 1;
        shares.back_to(started, Place::Message(wait.message));
        at = started;
        rank = cause as usize;
    }
}

/// The rank that let a message leave, or the last one to join a sum, and the time.
fn cause(replay: &ActiveReplay<'_>, message: u32) -> (u32, Picoseconds) {
    if let Some(number) = message.checked_sub(replay.messages.len() as u32) {
        return replay.sums.of[number as usize].last;
    }
    let (state, transfer) =
        (&replay.messages[message as usize], &replay.operations.messages()[message as usize]);
    (if state.late_receiver { transfer.dst } else { transfer.src }, state.started)
}

/// The shares of stretches while the path goes back in time.
struct Shares<'a> {
    of: Vec<PathShare>,
    steps: Option<StepCollector<'a>>,
    replay: &'a ActiveReplay<'a>,
    at: Picoseconds,
}

impl Shares<'_> {
    /// The share of the stretch that the path has reached.
    fn current(&mut self) -> &mut PathShare {
        let boundaries = &self.replay.boundaries;
        let stretch = boundaries.partition_point(|boundary| *boundary < self.at);
        &mut self.of[stretch]
    }

    /// Adds the time back to `to` to the share of the place of the path.
    fn back_to(&mut self, to: Picoseconds, place: Place) {
        // Before the last rank's start is before the beginning.
        let to = to.max(self.replay.began);
        while self.at > to {
            let boundaries = &self.replay.boundaries;
            let stretch = boundaries.partition_point(|boundary| *boundary < self.at);
            let start = stretch.checked_sub(1).map_or(to, |before| boundaries[before].max(to));
            let share = &mut self.of[stretch];
            let part = match place {
                Place::Rank(_) => &mut share.ranks,
                Place::Message(_) => &mut share.network,
            };
            *part += self.at - start;
            if let Some(steps) = &mut self.steps {
                steps.step(stretch, start, self.at, place);
            }
            self.at = start;
        }
    }

    fn finish<T: Transport>(self, transport: &T) -> (Vec<PathShare>, Option<Details>) {
        (self.of, self.steps.map(|steps| steps.finish(transport)))
    }
}
