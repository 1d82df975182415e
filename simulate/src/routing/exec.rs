//! Routes from an external program: `exec:PROGRAM`.
//!
//! The program is asked once per job, or per phase if phases are rerouted. Routes need not be
//! shortest, but must be consecutive links from the source through switches to the destination,
//! with no node twice.

use phaseflow_collect::Result;
use serde::{Deserialize, Serialize};

use super::{HostDemand, RouteRequest, Router, Routes};
use crate::plugin::{Plugin, Role, cells};
use crate::topology::{HostId, LinkId, Topology};

/// The role of external routers.
const ROLE: Role = Role { axis: "router", answer: r#"{"routes": [[link, …], …]}, one route per demand"# };

/// The router `exec`.
#[derive(Debug)]
pub(super) struct Exec {
    plugin: Plugin,
    /// By node: number of the last route that passed it.
    passed: Vec<u64>,
    route: u64,
}

#[derive(Serialize)]
struct Question<'a> {
    job: u32,
    phase: &'a str,
    /// Host by rank.
    placement: Vec<&'a str>,
    /// Source rank, destination rank, messages, bytes.
    matrix: Vec<(u32, u32, u64, u64)>,
    demands: Vec<Demand<'a>>,
    link_load: &'a [f64],
}

#[derive(Serialize)]
struct Demand<'a> {
    src: &'a str,
    dst: &'a str,
    bytes: u64,
    load: f64,
    flows: u32,
}

#[derive(Deserialize)]
struct Answer {
    routes: Vec<Vec<u32>>,
}

impl Exec {
    /// Starts the program.
    pub(super) fn new(program: &str, seed: u64) -> Result<Self> {
        Ok(Self { plugin: Plugin::start(program, ROLE, seed)?, passed: Vec::new(), route: 0 })
    }

    /// The defect of a route, as text.
    fn fault(&mut self, topology: &Topology, demand: &HostDemand, links: &[u32]) -> Option<String> {
        self.passed.resize(topology.node_count(), 0);
        self.route += 1;
        let name = |node| topology.node(node).name.as_str();
        let (mut at, end) = (topology.host(demand.src), topology.host(demand.dst));
        self.passed[at.0 as usize] = self.route;
        for link in links {
            if *link as usize >= topology.link_count() {
                return Some(format!("there is no link {link}, the last is {}", topology.link_count() - 1));
            }
            let link_id = LinkId(*link);
            let (src, dst) = (topology.src(link_id), topology.dst(link_id));
            if src != at {
                let found = topology.link_name(link_id);
                return Some(format!("link {link} ({found}) does not start at `{}`", name(at)));
            }
            if std::mem::replace(&mut self.passed[dst.0 as usize], self.route) == self.route {
                return Some(format!("it passes `{}` twice", name(dst)));
            }
            if dst != end && !topology.is_switch(dst) {
                return Some(format!("it passes through host `{}`, and hosts do not forward", name(dst)));
            }
            at = dst;
        }
        (at != end).then(|| format!("it ends at `{}`", name(at)))
    }
}

impl Router for Exec {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let topology = request.topology;
        let name = |host: HostId| topology.node(topology.host(host)).name.as_str();
        let demand = |demand: &HostDemand| Demand {
            src: name(demand.src),
            dst: name(demand.dst),
            bytes: demand.bytes,
            load: demand.load,
            flows: demand.flows,
        };
        let question = Question {
            job: request.job,
            phase: request.phase,
            placement: request.placement.hosts.iter().map(|host| name(*host)).collect(),
            matrix: cells(request.matrix),
            demands: request.demands.iter().map(demand).collect(),
            link_load: request.link_load,
        };
        let answer: Answer = self.plugin.ask(topology, &question)?;
        if answer.routes.len() != request.demands.len() {
            let (found, expected) = (answer.routes.len(), request.demands.len());
            return Err(self.plugin.lie(&format!("{found} routes, expected {expected}, one per demand")));
        }
        for (number, (links, demand)) in answer.routes.iter().zip(request.demands).enumerate() {
            if let Some(fault) = self.fault(topology, demand, links) {
                let (src, dst) = (name(demand.src), name(demand.dst));
                let problem =
                    format!("route {number} is no route: {fault}; expected links from `{src}` to `{dst}`");
                return Err(self.plugin.lie(&problem));
            }
            for link in links {
                routes.push_link(LinkId(*link));
            }
            routes.end_route();
        }
        Ok(())
    }
}
