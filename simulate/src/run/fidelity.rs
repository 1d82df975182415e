//! `--model auto`: the cheapest model that can be trusted with a phase, and why.
//!
//! - **packet** where fluid models are wrong: sums in the network; links with faults or small
//!   buffers; incast, many senders to one host at a time, whose queue decides; mostly small
//!   messages, for which headers and partly filled packets decide.
//! - **flow** where links contend: several pairs of ranks share a link whose mean utilization
//!   exceeds [`CONTENTION`] or is unknown.
//! - **traffic** otherwise: no message waits, so the phase takes as long as in the trace.
//!
//! The limits are our choice, on the side of the more exact model.

use crate::packet::FabricOptions;
use crate::replay::Operations;
use crate::result::Chosen;
use crate::topology::{Faults, HostId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Contention: least mean utilization of a link by several pairs of ranks over a phase. Messages
/// come in bursts: a link that is full for a tenth of the phase has this mean. Of 124 phases of the
/// recordings in tests/data on a tapered tree, `auto` simulates 3 as flows; at half 5, at double 1.
const CONTENTION: f64 = 0.1;
/// Largest small message, bytes: one packet of the default size. Of the same phases 109 are
/// simulated as packets; at half 72, at double 112.
const SMALL_BYTES: u64 = 4096;
/// Incast: a host receives this many times the mean of all hosts, from at least this many hosts. In
/// a balanced exchange every host receives the mean, in a full incast of n hosts one host n times
/// the mean. Half and double change the model of none of these phases.
const INCAST: u64 = 4;

/// Name of the traffic model, as in `--model`.
pub(super) const TRAFFIC: &str = "traffic";
/// Name of the flow model.
pub(super) const FLOW: &str = "flow";
/// Name of the packet model.
pub(super) const PACKET: &str = "packet";

/// The model that simulates a phase; `peak` is the highest utilization of a link that several pairs
/// share, if known.
pub(super) fn choose(
    operations: &Operations,
    hosts: &[HostId],
    fabric: &FabricOptions,
    peak: Option<f64>,
    is_timed_by_trace: bool,
) -> Chosen {
    let chosen = |model: &str, reason: String| Chosen { model: model.into(), reason };
    if operations.sums_in_network() && !operations.collectives().is_empty() {
        return chosen(PACKET, format!("{} sums in the network", operations.collectives().len()));
    }
    if fabric.faults() != Faults::default() {
        return chosen(PACKET, "links lose, double or reorder packets".into());
    }
    if let Some(reason) = incast(operations, hosts).or_else(|| small(operations)) {
        return chosen(PACKET, reason);
    }
    let contends = peak.is_none_or(|peak| peak > CONTENTION);
    if contends && (fabric.buffer.is_some() || fabric.pause.is_some()) {
        return chosen(PACKET, "links contend, and switches have little room".into());
    }
    match peak {
        Some(peak) if contends => {
            chosen(FLOW, format!("links contend: one is used for {:.0} %", peak * 100.0))
        }
        None => chosen(FLOW, "it is not known how much links are used".into()),
        Some(_) if !is_timed_by_trace => {
            chosen(FLOW, "ranks compute longer or shorter than in the trace".into())
        }
        Some(peak) => chosen(
            TRAFFIC,
            format!("nothing waits: no shared link is used for more than {:.0} %", peak * 100.0),
        ),
    }
}

fn incast(operations: &Operations, hosts: &[HostId]) -> Option<String> {
    let mut into: FxHashMap<u32, (u64, FxHashSet<u32>)> = FxHashMap::default();
    for message in operations.live_messages() {
        let (src, dst) = (hosts[message.src as usize], hosts[message.dst as usize]);
        if src != dst {
            let (bytes, senders) = into.entry(dst.0).or_default();
            *bytes += message.bytes;
            senders.insert(src.0);
        }
    }
    let mut used: Vec<u32> = hosts.iter().map(|host| host.0).collect();
    used.sort_unstable();
    used.dedup();
    let total: u64 = into.values().map(|(bytes, _)| bytes).sum();
    let mean = total / (used.len() as u64).max(1);
    // The largest, and of equal ones the first host.
    let (_, (bytes, senders)) =
        into.iter().max_by_key(|(host, (bytes, _))| (*bytes, std::cmp::Reverse(**host)))?;
    let is_incast = *bytes >= INCAST * mean.max(1) && senders.len() as u64 >= INCAST;
    is_incast.then(|| format!("incast: {} hosts send to one", senders.len()))
}

fn small(operations: &Operations) -> Option<String> {
    let all = operations.live_messages().count();
    let small = operations.live_messages().filter(|message| message.bytes <= SMALL_BYTES).count();
    (2 * small > all).then(|| format!("{small} of {all} messages are small"))
}
