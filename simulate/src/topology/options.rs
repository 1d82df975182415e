//! Options of a network: slots, capacity and latencies that hold for all its hosts and links.

/// Options for all hosts and links. A generator's own parameter (`slots`, `capacity`) takes
/// precedence, then these, then the default. In a GraphML file these replace the values of the
/// file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TopologyOptions {
    /// Processes per host; generated hosts have 1 by default.
    pub slots: Option<u32>,
    /// Gbit/s per link; generated links have 10 by default.
    pub capacity_gbps: Option<f64>,
    /// Latency of each link, picoseconds; 1 µs by default.
    pub link_latency_ps: Option<u64>,
    /// Time of a packet's head in a switch, picoseconds; 0 by default.
    pub switch_latency_ps: Option<u64>,
}

/// Default latency of a link, picoseconds: 1 µs, the order of an adapter or a switch with its
/// cable.
pub(super) const DEFAULT_LATENCY_PS: u64 = 1_000_000;
