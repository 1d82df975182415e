//! Networks in GraphML, as networkx writes it and PFSim reads it.
//!
//! Nodes carry `typ` (`host` or `switch`); hosts `capacity` (process slots) and optionally `mac`;
//! switches optionally `dpid`. Edges carry `capacity` (Gbit/s), and optionally `port` (the output
//! port at their source), `latency_ns` or `latency_ps`, and the [`Faults`](crate::topology::Faults)
//! `loss`, `duplicate`, `reorder_ns` or `reorder_ps`, and `cost`. The graph may carry
//! `switch_latency_ps` and `routing_order` (`name`, or `number`: that of the file). Other data is
//! passed over. An undirected edge becomes a link each way, parallel edges stay apart, nested
//! graphs and hyperedges are refused. Format: Brandes, Eiglsperger, Lerner and Pich, "Graph markup
//! language (GraphML)", 2013.

mod keys;
mod read;
mod write;
mod xml;

pub(super) use read::read;
pub use write::{Annotations, Attribute, write_graphml};

#[cfg(test)]
mod tests;
