//! A run of a [list of flows](FlowList): each starts at the time of its line, independent of the
//! others.
//!
//! Flows ask the router one by one, as they start; packets have the routes of all pairs chosen
//! before, the heaviest pair first, as those of a job. What stays within a host takes no time.

use phaseflow_collect::{Error, Result, TrafficMatrix};

use super::load_summary::LoadSummary;
use super::model::{Model, PacketModel};
use crate::engine::Picoseconds;
use crate::flow::{FlowNetwork, FlowOptions};
use crate::flow_list::{FlowList, ListedFlow};
use crate::link_bytes::LinkBytes;
use crate::packet::PacketNetwork;
use crate::phase_packets::Counts;
use crate::phase_packets::PhasePackets;
use crate::process_mapping::Placement;
use crate::result::{FlowEnd, JobRow, LinkTable, PhaseRow, RunLabels, RunResult, RunStatistics};
use crate::routing::{HostDemand, RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, Topology};
use crate::traffic::LinkShare;
use crate::units::PS_PER_S;

/// The outcome of a list of flows.
struct Carried {
    /// End of each flow, picoseconds; `None` for those that never arrive.
    ends: Vec<Option<f64>>,
    shares: Vec<LinkShare>,
    packets: Option<PhasePackets>,
}

/// The flows and the network that they go through.
struct Listed<'a> {
    topology: &'a Topology,
    list: &'a FlowList,
    /// By the number of a host in the list.
    hosts: Vec<HostId>,
    /// Positions in the list, ordered by start.
    order: Vec<u32>,
}

impl Listed<'_> {
    fn flow(&self, key: u32) -> (&ListedFlow, Picoseconds, (HostId, HostId)) {
        let flow = &self.list.flows()[key as usize];
        let ends = (self.hosts[flow.src as usize], self.hosts[flow.dst as usize]);
        (flow, flow.start_ns.saturating_mul(1000), ends)
    }

    fn as_flows(&self, router: Box<dyn Router>, options: &FlowOptions) -> Result<Carried> {
        let mut network = FlowNetwork::new(self.topology, router, options);
        let mut ends = vec![None; self.order.len()];
        for key in &self.order {
            let (flow, start, pair) = self.flow(*key);
            network.advance(start, |key, end| ends[key as usize] = Some(end));
            network.start(start, pair, flow.bytes, None, *key)?;
        }
        network.advance(Picoseconds::MAX, |key, end| ends[key as usize] = Some(end));
        let share = |link| {
            let usage = network.usage(link);
            LinkShare { link, flows: u64::from(usage.peak_flows), bytes: usage.bytes, load: 0.0 }
        };
        let shares = (0..self.topology.link_count() as u32).map(LinkId).map(share);
        let shares = shares.filter(|share| share.bytes > 0 || share.flows > 0).collect();
        Ok(Carried { ends, shares, packets: None })
    }

    fn as_packets(&self, mut router: Box<dyn Router>, model: &PacketModel) -> Result<Carried> {
        let mut network = model.bare_network(self.topology)?;
        let demands = self.demands();
        let asked = match model.takes_routes() {
            true => self.route(router.as_mut(), &demands, &mut network)?,
            false => Vec::new(),
        };
        let mut ends = vec![None; self.order.len()];
        let mut delivered = Vec::new();
        let mut next = 0;
        loop {
            let now = network.now();
            while let Some(key) = self.order.get(next) {
                let (flow, start, (src, dst)) = self.flow(*key);
                match src == dst {
                    true => ends[*key as usize] = Some(start as f64),
                    false if start <= now => network.start(src, dst, flow.bytes, *key)?,
                    false => break,
                }
                next += 1;
            }
            let until = self.order.get(next).map_or(Picoseconds::MAX, |key| self.flow(*key).1);
            let goes_on = network.run(until, &mut delivered);
            let now = network.now();
            for key in delivered.drain(..) {
                ends[key as usize] = Some(now as f64);
            }
            if !goes_on && until == Picoseconds::MAX {
                break;
            }
        }
        let missing = ends.iter().filter(|end| end.is_none()).count();
        if missing > 0 && !model.allow_hang {
            let why = network.stuck().map_or(String::new(), |why| format!(": {why}"));
            return Err(Error::data(format!(
                "{missing} flows never arrive{why}; --allow-hang takes that for a result"
            )));
        }
        let now = network.now();
        let (links, retransmits, report) =
            (network.take_traffic(now), network.retransmits(), network.report());
        let packets = PhasePackets::between(&Counts::default(), Counts { links, retransmits, report });
        let mut carried = LinkBytes::default();
        carried.add(packets.carried(), 1.0);
        let shares = packets.shares(&carried, &asked);
        Ok(Carried { ends, shares, packets: Some(packets) })
    }

    /// The sum of the bytes of each pair of hosts, the heaviest pair first.
    fn demands(&self) -> Vec<HostDemand> {
        let mut pairs: Vec<((u32, u32), u64)> = Vec::new();
        for key in 0..self.order.len() as u32 {
            let (flow, _, (src, dst)) = self.flow(key);
            if src != dst {
                pairs.push(((src.0, dst.0), flow.bytes));
            }
        }
        pairs.sort_unstable();
        let sums = pairs.chunk_by(|a, b| a.0 == b.0).map(|flows| {
            let (src, dst) = flows[0].0;
            let bytes = flows.iter().map(|(_, bytes)| bytes).sum();
            HostDemand {
                src: HostId(src),
                dst: HostId(dst),
                bytes,
                load: bytes as f64,
                flows: flows.len() as u32,
            }
        });
        let mut demands: Vec<HostDemand> = sums.collect();
        demands.sort_by_key(|demand| std::cmp::Reverse(demand.bytes));
        demands
    }

    /// Gives packets their routes; how many flows take each link.
    fn route(
        &self,
        router: &mut dyn Router,
        demands: &[HostDemand],
        network: &mut PacketNetwork<'_>,
    ) -> Result<Vec<LinkShare>> {
        let mut routes = Routes::default();
        let request = RouteRequest {
            topology: self.topology,
            demands,
            link_load: &vec![0.0; self.topology.link_count()],
            job: 0,
            phase: "0",
            placement: &Placement::default(),
            matrix: &TrafficMatrix::default(),
        };
        router.route(&request, &mut routes)?;
        let mut flows = vec![0; self.topology.link_count()];
        for (demand, links) in demands.iter().zip(routes.iter()) {
            network.set_route(demand.src, demand.dst, links)?;
            links.iter().for_each(|link| flows[link.0 as usize] += u64::from(demand.flows));
        }
        let share = |(link, flows)| LinkShare { link: LinkId(link), flows, bytes: 0, load: 0.0 };
        Ok((0..).zip(flows).map(share).collect())
    }
}

/// Runs a list under a model that has messages.
///
/// # Errors
/// A host that the network does not have; a model or collective without messages; flows that never
/// arrive; errors of the router.
pub fn run_flows(
    topology: &Topology,
    topology_index: usize,
    list: &FlowList,
    model: &Model,
    router: Box<dyn Router>,
    labels: RunLabels,
) -> Result<RunResult> {
    let hosts = list.hosts(topology)?;
    let mut order: Vec<u32> = (0..list.flows().len() as u32).collect();
    order.sort_by_key(|key| list.flows()[*key as usize].start_ns);
    let listed = Listed { topology, list, hosts, order };
    let carried = match model {
        Model::Flow(options, None) => listed.as_flows(router, &options.network)?,
        Model::Packet(model) if !model.is_chosen && model.collective.replacement.is_none() => {
            listed.as_packets(router, model)?
        }
        _ => return Err(refusal()),
    };
    Ok(result(&listed, carried, topology_index, labels))
}

/// Refuses models and collectives that cannot run a list.
pub(crate) fn refusal() -> Error {
    Error::usage("a list of flows is for --model flow or packet, with --collective recorded")
}

fn result(listed: &Listed<'_>, carried: Carried, topology_index: usize, labels: RunLabels) -> RunResult {
    let Carried { ends, shares, packets } = carried;
    let topology = listed.topology;
    let starts = listed.list.flows().iter().map(|flow| flow.start_ns.saturating_mul(1000) as f64);
    let flow_ends: Vec<FlowEnd> = starts
        .zip(&ends)
        .map(|(start, end)| FlowEnd {
            end_s: end.map(|end| end / PS_PER_S),
            duration_s: end.map(|end| (end - start) / PS_PER_S),
        })
        .collect();
    let is_complete = ends.iter().all(Option::is_some);
    let last_s = ends.iter().flatten().fold(0.0, |last: f64, end| last.max(*end)) / PS_PER_S;
    let makespan_s = is_complete.then_some(last_s);
    let divisor = last_s.max(f64::MIN_POSITIVE);
    let mut phase = PhaseRow {
        job: 0,
        phase: "0".into(),
        occurrences: 1,
        // A list has no length of its own.
        duration_s: Some(last_s),
        makespan_s,
        bytes: listed.list.flows().iter().map(|flow| flow.bytes).sum(),
        drops: packets.as_ref().map(|packets| packets.counts.drops),
        retransmits: packets.as_ref().map(|packets| packets.counts.retransmits),
        packets: packets.as_ref().map(|packets| packets.counts),
        // The load summary below has the links; a list is not replayed.
        ..PhaseRow::default()
    };
    LoadSummary::of(topology, &shares, |bytes| bytes as f64 / divisor).describe(true, &mut phase);
    let links = link_table(&shares, packets.as_ref(), divisor);
    let job = job_row(&listed.hosts, topology, makespan_s);
    RunResult {
        labels,
        topology: topology_index,
        statistics: RunStatistics {
            makespan_s,
            jobs_finished: u64::from(is_complete),
            ..RunStatistics::default()
        },
        jobs: vec![job],
        phases: vec![phase],
        ranks: Vec::new(),
        path: Vec::new(),
        blame: Vec::new(),
        links,
        series: Vec::new(),
        snapshots: Vec::new(),
        routes: Vec::new(),
        flow_ends,
    }
}

/// The table of links: all flows are of one job and phase.
fn link_table(shares: &[LinkShare], packets: Option<&PhasePackets>, divisor: f64) -> LinkTable {
    let rows = shares.len();
    let of_links = |packets: &PhasePackets| packets.of_links(shares).into_iter().map(Some).collect();
    LinkTable {
        job: vec![Some(0); rows],
        phase: vec![Some(0); rows],
        link: shares.iter().map(|share| share.link).collect(),
        bytes: shares.iter().map(|share| share.bytes).collect(),
        flows: shares.iter().map(|share| share.flows).collect(),
        load: shares.iter().map(|share| share.bytes as f64 / divisor).collect(),
        packets: packets.map_or_else(Vec::new, of_links),
    }
}

fn job_row(hosts: &[HostId], topology: &Topology, makespan_s: Option<f64>) -> JobRow {
    let ranks: Vec<_> = hosts.iter().map(|host| topology.host(*host)).collect();
    let mut nodes = ranks.clone();
    nodes.sort_unstable();
    nodes.dedup();
    JobRow {
        job: 0,
        workload: 0,
        submitted_s: 0.0,
        started_s: Some(0.0),
        finished_s: makespan_s,
        hosts: nodes,
        ranks,
        alone_s: None,
    }
}
