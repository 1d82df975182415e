//! The interface between replays and the network that carries their messages.

use phaseflow_collect::Error;

use crate::engine::Picoseconds;
use crate::flow::{Delay, Loss, Pair};
use crate::packet::Group;
use crate::topology::HostId;

/// A transport: it carries messages from host to host.
///
/// Time ascends: `now` and `to` are never before those of earlier calls, and never after
/// [`next`](Self::next).
///
/// A transport reports errors by [`failure`](Self::failure), which is checked before a result is
/// used.
pub trait Transport {
    /// Sends a message of `bytes` from `src` to `dst` at `now`. The hosts differ, unless messages
    /// within a host take time. The arrival is reported by `key`, which no other message in flight
    /// has.
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32);

    /// Time of the next arrival, if no other message is sent before. If it is not before `limit`,
    /// the result is any time from `limit` on, and no message may be sent before it. `None` if no
    /// message is in flight.
    fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds>;

    /// Advances to `to` and appends the keys of the messages that have arrived by then, in order of
    /// arrival. The order of equal times does not depend on keys.
    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>);

    /// Messages that start from now on are of this job, from one of its ranks to another.
    fn belong(&mut self, job: u32, ranks: Pair) {
        let _ = (job, ranks);
    }

    /// True if [delays](Self::take_delays) of messages are attributed.
    fn attributes_delays(&self) -> bool {
        false
    }

    /// The delays of a message that has just arrived, by job; they add up to its time after its
    /// latency. To be called once, right after the arrival.
    fn take_delays(&mut self, key: u32) -> Vec<Delay> {
        let _ = key;
        Vec::new()
    }

    /// The competing pair of each loss of a message, if delays are attributed. Losses ascend in
    /// time, without overlap.
    fn competing_pairs(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        vec![None; losses.len()]
    }

    /// Drops what competing pairs of losses before a time need.
    fn forget(&mut self, before: Picoseconds) {
        let _ = before;
    }

    /// Workers, each on a host of its own, will sum vectors in the network; returns the number of
    /// the group.
    fn open(&mut self, group: &Group) -> u32 {
        let _ = group;
        0
    }

    /// A group is not needed any more.
    fn close(&mut self, group: u32) {
        let _ = group;
    }

    /// A worker of a group adds a vector; the arrival of the sum is reported by `key`.
    fn contribute(&mut self, now: Picoseconds, group: u32, worker: u32, bytes: u64, key: u32);

    /// The first thing that went wrong.
    fn failure(&mut self) -> Option<Error> {
        None
    }

    /// Describes a deadlock of the network, as a sentence.
    fn stuck(&mut self) -> Option<String> {
        None
    }
}
