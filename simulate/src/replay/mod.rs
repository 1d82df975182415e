//! Replay: each rank executes the operations of its trace in order, and the network determines how
//! long that takes.
//!
//! ```text
//! trace, phase archive ──► TraceInterval ──► Operations ──► Replayer ◄──► Transport
//!                          messages,         what each      which rank    how long a
//!                          calls             rank does      waits         message takes
//! ```
//!
//! [`Operations`] are what a rank decides (compute this long, send, be ready to receive) and what
//! it depends on (continue when this message is here). They contain no waiting times, which the
//! network determines. The rules are in `extraction.rs`. A [`Replayer`] runs any number of replays
//! side by side over one [`Transport`].
//!
//! What a message costs beyond the network follows LogGP (Alexandrov, Ionescu, Schauser, Scheiman,
//! *LogGP: incorporating long messages into the LogP model*, 1995): the sender is busy for an
//! overhead before the message leaves, the receiver for another one after its arrival. See
//! [`Options`].

mod account;
mod active;
mod bounds;
mod collective_operations;
mod collectives;
mod context;
mod critical_path;
mod deadlock;
mod execution;
mod extraction;
mod ideal;
mod inside;
mod interval;
mod message_parts;
mod message_routes;
mod moments;
mod noise;
mod op;
mod operations;
mod options;
mod packets;
mod parameter_server;
mod recording;
mod rendezvous;
mod replacement;
mod replayer;
mod result;
mod rounds;
mod shared;
mod splice;
mod steps;
mod stratified_sample;
mod sums;
mod transport;

pub use account::{Account, PathShare, RankSum, Stretch};
pub(crate) use bounds::Bounds;
pub use collectives::Collective;
pub use context::Crossing;
pub use ideal::Ideal;
pub use interval::TraceInterval;
pub use message_parts::Rendezvous;
pub use message_routes::MessageRoutes;
pub use noise::Noise;
pub use op::{Op, Transfer};
pub use operations::Operations;
pub(crate) use options::switch;
pub use options::{Options, Sampling};
pub use packets::Packets;
pub use parameter_server::ParameterServer;
pub use recording::Recording;
pub(crate) use recording::{MOST_KNOWN, RecordingBuilder};
pub use replacement::Replacement;
pub use replayer::{JobHosts, ReplayRequest, Replayer, replay_alone};
pub use result::ReplayResult;
pub use shared::Shared;
pub(crate) use steps::keep_longest;
pub use steps::{Details, Step};
pub use stratified_sample::{SampledUnit, StratifiedSample, Stratum};
pub use transport::Transport;
