//! UGAL: for each demand the better one of a shortest path and of Valiant's, by the present loads.
//!
//! A. Singh, "Load-balanced routing in interconnection networks" (PhD thesis, Stanford 2005); on
//! dragonflies J. Kim, W. J. Dally, S. Scott and D. Abts (ISCA 2008, section 4), who compare queues
//! times hops. A demand here is a rate and makes no queue, so loads stand for queues: the path
//! whose most loaded link between switches has the least load / capacity with the demand on it, the
//! shortest one if both are equal. This is their UGAL-G, which knows the queues of all links, not
//! only those of its own switch.
//!
//! All demands begin on their shortest paths, so friendly traffic stays there. Then each chooses,
//! from the heaviest to the lightest, with the load of all others. A network chooses again for each
//! packet; so demands choose again, in the same order, until none moves.
//!
//! `choices` are the detours that are compared, 1 as published; with more, loads are more even.

use phaseflow_collect::Result;
use phaseflow_collect::choice::Choice;

use super::detour::Detour;
use super::valiant::Places;
use super::{HostDemand, RouteRequest, Router, Routes};
use crate::topology::{LinkId, Topology};

/// Most rounds of choices. The most loaded link of `dragonfly[a=8,h=4,p=4]` under adversarial
/// traffic is settled after two, that of `dragonfly[a=4,h=2,p=2]` under random traffic after four;
/// half and double change neither.
const MOST_ROUNDS: u32 = 8;

/// The router `ugal`.
#[derive(Debug)]
pub(super) struct Ugal {
    places: Places,
    choices: u32,
    detour: Detour,
    load: Vec<f64>,
    /// By demand: 0 for the shortest path, else the number of the detour.
    chosen: Vec<u32>,
}

impl Ugal {
    /// Parameter `choices`, 1 by default.
    pub(super) fn new(choice: &Choice, seed: u64) -> Result<Self> {
        Ok(Self {
            places: Places::new(seed),
            choices: choice.value("choices", 1)?,
            detour: Detour::default(),
            load: Vec::new(),
            chosen: Vec::new(),
        })
    }

    /// The path of that number.
    fn path(&mut self, topology: &Topology, demand: &HostDemand, number: u32) -> &[LinkId] {
        let pair = (demand.src, demand.dst);
        let flow = self.places.flow(pair);
        match number {
            0 => self.detour.shortest(topology, pair, flow),
            _ => {
                let via = self.places.place(pair, topology.host_count(), u64::from(number - 1));
                self.detour.through(topology, (demand.src, via, demand.dst), flow)
            }
        }
    }

    /// Adds the load of a demand to the links of a path, or takes it off.
    fn add(&mut self, topology: &Topology, demand: &HostDemand, number: u32, load: f64) {
        let mut loads = std::mem::take(&mut self.load);
        let links = self.path(topology, demand, number);
        links.iter().for_each(|link| loads[link.0 as usize] += load);
        self.load = loads;
    }

    /// The number of the path with the least load.
    fn best(&mut self, topology: &Topology, demand: &HostDemand) -> u32 {
        let loads = std::mem::take(&mut self.load);
        let mut best = (0, f64::INFINITY);
        for number in 0..=self.choices {
            let cost = highest(topology, self.path(topology, demand, number), &loads, demand.load);
            if cost < best.1 {
                best = (number, cost);
            }
        }
        self.load = loads;
        best.0
    }

    /// All demands choose; true if one of them moves.
    fn choose(&mut self, topology: &Topology, demands: &[HostDemand]) -> bool {
        let mut has_moved = false;
        for (i, demand) in demands.iter().enumerate() {
            let before = self.chosen[i];
            self.add(topology, demand, before, -demand.load);
            let number = self.best(topology, demand);
            self.add(topology, demand, number, demand.load);
            self.chosen[i] = number;
            has_moved |= before != number;
        }
        has_moved
    }
}

impl Router for Ugal {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let topology = request.topology;
        self.load.clear();
        self.load.extend_from_slice(request.link_load);
        self.chosen.clear();
        self.chosen.resize(request.demands.len(), 0);
        for demand in request.demands {
            self.add(topology, demand, 0, demand.load);
        }
        // One demand has nobody to wait for.
        let rounds = if request.demands.len() > 1 { MOST_ROUNDS } else { 1 };
        for _ in 0..rounds {
            if !self.choose(topology, request.demands) {
                break;
            }
        }
        for (i, demand) in request.demands.iter().enumerate() {
            let number = self.chosen[i];
            self.path(topology, demand, number).iter().for_each(|link| routes.push_link(*link));
            routes.end_route();
        }
        Ok(())
    }
}

/// The highest load / capacity of the links between switches, with more load on each.
fn highest(topology: &Topology, links: &[LinkId], load: &[f64], more: f64) -> f64 {
    let between = links.iter().filter(|link| topology.between_switches(**link));
    between.map(|link| (load[link.0 as usize] + more) / topology.link(*link).capacity).fold(0.0, f64::max)
}
