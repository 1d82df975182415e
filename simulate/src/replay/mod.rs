//! Replay: each rank does what its trace says, in its order, and the network says how long that takes.
//!
//! ```text
//! trace, phase archive ──► Excerpt ──► Script ──► Player ◄──► Transport
//!                          messages,    what each   who waits    how long a
//!                          calls        rank does   for whom     message takes
//! ```
//!
//! A [`Script`] holds what a rank decided (compute this long, send, be ready to receive) and what it depended on (go on when
//! this message is here); how long it waited is left out, for that is what the network decides. The rules are in
//! [`script`]. A [`Player`] lets any number of scripts run side by side over one [`Transport`].
//!
//! What a message costs beyond the network follows LogGP (Alexandrov, Ionescu, Schauser, Scheiman, *LogGP: incorporating long
//! messages into the LogP model*, 1995): the sender is busy for an overhead before the message leaves, the receiver for another
//! one after it is there. See [`Options`].

mod account;
mod collectives;
mod dead_end;
mod excerpt;
mod ideal;
mod inside;
mod noise;
mod options;
mod packets;
mod parameter_server;
mod path;
mod player;
mod replacement;
mod sampled;
pub mod script;
mod shared;
mod splice;
mod steps;
mod sums;

pub use account::{Account, PathShare, RankSum, Stretch};
pub use collectives::Collective;
pub(crate) use excerpt::Excerpts;
pub use excerpt::{Excerpt, Recording};
pub use ideal::Ideal;
pub use noise::Noise;
pub(crate) use options::switch;
pub use options::{Options, Sampling};
pub use packets::Packets;
pub use parameter_server::ParameterServer;
pub use player::{Crossing, Performance, Player, play_alone};
pub use replacement::Replacement;
pub use sampled::{Sample, Sampled, Stratum};
pub use script::{Op, Script, Transfer};
pub use shared::Shared;
pub(crate) use steps::keep_longest;
pub use steps::{Details, Step};

use phaseflow_collect::Error;

use crate::engine::Picoseconds;
use crate::flow::{Hold, Loss, Pair};
use crate::packet::Group;
use crate::topology::HostId;

/// Simulations of a phase by the ways in which its ranks enter; then the nearest one of them stands for those to come. Enough for
/// programs whose ranks fall into step, and a bound on the work for those whose ranks do not.
pub(crate) const MOST_KNOWN: u64 = 16;

/// What carries messages from host to host.
///
/// Time only moves on: `now` and `to` are never before those of earlier calls, and never after [`next`](Self::next).
///
/// What a transport cannot do it refuses with [`failure`](Self::failure), which is looked at before a result is believed.
pub trait Transport {
    /// A message of `bytes` leaves `src` for `dst`, another host unless messages within one take time, at `now`. It is told under `key` when it has arrived; no two
    /// messages on their way have the same key.
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32);

    /// When the next message arrives, if nothing else is sent until then. If that is not before `limit`, it may be any time from `limit` on;
    /// nothing is sent before that time any more. `None`: nothing is on its way.
    fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds>;

    /// Goes on to `to` and appends the keys of the messages that have arrived by then, in order of their arrival; equal ones in
    /// an order that does not depend on keys.
    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>);

    /// Messages that start from now on are of this job, from one of its ranks to another.
    fn belong(&mut self, job: u32, ranks: Pair) {
        let _ = (job, ranks);
    }

    /// True if it can be [told](Self::take_holds) what held messages up.
    fn tells_holds(&self) -> bool {
        false
    }

    /// What held up a message that has been told, by job: together what it took after its latency. Asked once, at once.
    fn take_holds(&mut self, key: u32) -> Vec<Hold> {
        let _ = key;
        Vec::new()
    }

    /// Of each loss of a message, the ranks of that job whose messages it lost most to, if it is told what held messages up. In the order of time,
    /// without overlap.
    fn rivals(&self, losses: &[Loss]) -> Vec<Option<Pair>> {
        vec![None; losses.len()]
    }

    /// Nobody will ask for the rivals of losses before a time.
    fn forget(&mut self, before: Picoseconds) {
        let _ = before;
    }

    /// Workers, each on a host of its own, will sum vectors in the network; returns the number of the group.
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
