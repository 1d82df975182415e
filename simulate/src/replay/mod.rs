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
mod dead_end;
mod excerpt;
mod ideal;
mod options;
mod path;
mod player;
mod sampled;
pub mod script;
mod shared;
mod splice;

pub use account::{Account, PathShare, Stretch};
pub(crate) use excerpt::Excerpts;
pub use excerpt::{Excerpt, Recording};
pub use ideal::Ideal;
pub use options::{Options, Sampling};
pub use player::{Performance, Player, play_alone};
pub use sampled::{Sample, Sampled, Stratum, Traits};
pub use script::{Op, Script};
pub use shared::Shared;

use crate::engine::Picoseconds;
use crate::topology::HostId;

/// Simulations of a phase by the ways in which its ranks enter; then the nearest one of them stands for those to come. Enough for
/// programs whose ranks fall into step, and a bound on the work for those whose ranks do not.
pub(crate) const MOST_KNOWN: u64 = 16;

/// What carries messages from host to host.
///
/// Time only moves on: `now` and `to` are never before those of earlier calls, and never after [`next`](Self::next).
pub trait Transport {
    /// A message of `bytes` leaves `src` for `dst`, another host unless messages within one take time, at `now`. It is told under `key` when it has arrived; no two
    /// messages on their way have the same key.
    fn start(&mut self, now: Picoseconds, src: HostId, dst: HostId, bytes: u64, key: u32);

    /// When the next message arrives, if nothing else is sent until then.
    fn next(&self) -> Option<Picoseconds>;

    /// Goes on to `to` and appends the keys of the messages that have arrived by then, in order of their arrival; equal ones in
    /// an order that does not depend on keys.
    fn advance(&mut self, to: Picoseconds, finished: &mut Vec<u32>);
}
