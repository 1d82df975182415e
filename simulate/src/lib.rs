//! Runs the phases of parallel programs on a network and says which link carries what.
//!
//! A *scenario* names topologies, algorithms and jobs; its product gives *points*, each simulated
//! on its own:
//!
//! ```text
//! workload ─► jobs ─► scheduler ─► host selector ─► process mapper ─► router ─► loads ─► result
//! (phases)     submitted  which job     which hosts       which rank where   which links
//! ```
//!
//! A job runs a [`Workload`](workload::Workload): phases in time, each with a traffic matrix. When
//! a job starts, a scheduler has chosen it, a host selector its hosts, a process mapper the rank →
//! host [`Placement`](process_mapping::Placement). At each phase a router turns the host-to-host
//! demand into routes; in the *traffic* model every link on a route then carries the demand's rate
//! (bytes per second, or bytes where the trace knows no duration) until the phase ends. The model
//! is that of PFSim (the simulator of the PFAnalyzer paper): loads add up without limit, and no
//! rank waits for the network.
//!
//! With the *flow* and *packet* models, [`replay`] executes the operations of each rank over
//! [`flow`] or [`packet`].
//!
//! Each axis of choice is a folder with one file per algorithm, one object-safe trait and one
//! closed enum as its registry: [`topology`], [`scheduling`], [`host_selection`],
//! [`process_mapping`], [`routing`].

pub mod bisection;
pub mod collective;
mod demand;
pub mod distribution;
pub mod engine;
pub mod flow;
pub mod flow_list;
pub mod forwarding;
pub mod host_selection;
mod link_bytes;
pub mod packet;
mod phase_packets;
pub mod plugin;
pub mod process_mapping;
pub mod replay;
pub mod result;
pub mod routing;
pub mod run;
pub mod sampling;
pub mod scenario;
pub mod scheduling;
mod statistics;
mod stream;
pub mod sweep;
pub mod topology;
mod traffic;
mod units;
pub mod workload;
pub mod xml;
