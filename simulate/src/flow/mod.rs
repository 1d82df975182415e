//! The flow model: messages in progress share links.
//!
//! A message from host to host is a *flow*: it has a route, waits for its latency, and then shares
//! its links with all other flows, [max-min fair](max_min) at each moment. The model has no
//! packets, queues or loss: rates change everywhere at once. [`FlowNetwork`] advances all flows in
//! time.

mod delay_attribution;
mod failure;
mod indexed_heap;
mod link_lists;
pub mod max_min;
mod network;
mod order;
mod owner_traffic;
mod paths;
mod progress;
#[cfg(test)]
mod tests;
mod usage;

pub use delay_attribution::{Delay, DelaySums, Loss, Pair};
pub use network::FlowNetwork;
pub use order::Order;
pub use usage::LinkUsage;

/// How flows share a full link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// All flows alike.
    #[default]
    MaxMin,
    /// In inverse proportion to the latency of the route, as SimGrid's model CM02 and, roughly, TCP
    /// (Casanova and Marchal, *A network model for simulation of grid application*, INRIA RR-4596,
    /// 2002). Latencies count as 1 ps at least.
    Rtt,
}

/// The choices of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowOptions {
    /// `--fairness`.
    pub fairness: Fairness,
    /// Gbit/s that messages within one host share; `None` if they take no time.
    pub memory_gbps: Option<f64>,
    /// `--order`: which messages wait for earlier ones.
    pub order: Order,
    /// `tolerance`: the largest relative error of [rates](max_min::Sharing::set_tolerance); 0 for
    /// exact ones.
    pub tolerance: f32,
    /// Bytes of headers that go with each byte of a message; links carry so much less of messages.
    /// 0 by default.
    pub headers: f64,
}
