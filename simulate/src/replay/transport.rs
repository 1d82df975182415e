//! The interface between replays and the network that carries their messages.

use phaseflow_collect::Error;

use crate::engine::Picoseconds;
use crate::flow::{Delay, Loss, Pair};
use crate::packet::Group;
use crate::topology::HostId;

/// What carries messages from host to host.
///
/// Time only moves on: `now` and `to` are never before those of earlier calls, and never after
/// [`next`](Self::next).
///
/// What a transport cannot do it refuses with [`failure`](Self::failure), which is checked before a
/// result is used.
pub trait Transport {
    /// A message of `bytes` leaves `src` for `dst`, another host unless messages within one take
    /// time, at `now`. It is told under `key` when it has arrived; no two messages on their way
    /// have the same key.
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32);

    /// When the next message arrives, if nothing else is sent until then. If that is not before
    /// `limit`, it may be any time from `limit` on; nothing is sent before that time any more.
    /// `None`: nothing is on its way.
    fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds>;

    /// Goes on to `to` and appends the keys of the messages that have arrived by then, in order of
    /// their arrival; equal ones in an order that does not depend on keys.
    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>);

    /// Messages that start from now on are of this job, from one of its ranks to another.
    fn belong(&mut self, job: u32, ranks: Pair) {
        let _ = (job, ranks);
    }

    /// True if it can be [told](Self::take_delays) what held messages up.
    fn attributes_delays(&self) -> bool {
        false
    }

    /// What held up a message that has been told, by job: together what it took after its latency.
    /// Asked once, at once.
    fn take_delays(&mut self, key: u32) -> Vec<Delay> {
        let _ = key;
        Vec::new()
    }

    /// Of each loss of a message, the ranks of that job whose messages it lost most to, if it is
    /// told what held messages up. In the order of time, without overlap.
    fn competing_pairs(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        vec![None; losses.len()]
    }

    /// Nobody will ask for the rivals of losses before a time.
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

    /// A worker of a group adds a vector; it is told under `key` when it has the sum.
    fn contribute(&mut self, now: Picoseconds, group: u32, worker: u32, bytes: u64, key: u32);

    /// The first thing that went wrong.
    fn failure(&mut self) -> Option<Error> {
        None
    }

    /// Where nothing arrives any more: what in the network waits for ever, as a sentence.
    fn stuck(&mut self) -> Option<String> {
        None
    }
}
