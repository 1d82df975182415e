//! Greedy routing: the shortest path of least cost under the present loads.
//!
//! PFSim's dynamic routers: `greedy` takes the path of the least sum of loads, `greedy-max` the one
//! whose most loaded link has the least load. Pairs are routed from the heaviest to the lightest,
//! each after the load of those before it. Only links between switches count, as the first and last
//! hop are fixed. Loads are compared, not load / capacity: on networks of unequal capacities these
//! are the wrong routers.
//!
//! The least cost of a switch follows from those of the switches behind its candidates. A
//! breadth-first search from the source, processed in reverse, thus gives the exact minimum over
//! all shortest paths, in one step per link of the DAG. Ties: the first candidate, hop by hop.
//!
//! Many demands at once use [`LeastCosts`] instead, which looks at few links again.

use std::marker::PhantomData;

use phaseflow_collect::Result;

use super::least_costs::LeastCosts;
use super::path_cost::Cost;
use super::{RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, ShortestPaths, Topology};

/// Further choices, after the first, up to which paths are compared one by one: a three-level fat
/// tree has one, at the second switch. With more, a search costs less.
const FURTHER_CHOICES: u32 = 1;

/// Demands of a request from which costs are kept between them. Fewer demands do not pay for
/// clearing the costs, which takes the time of some searches; half and double change little.
const MANY: usize = 4096;

/// The routers `greedy` and `greedy-max`.
#[derive(Debug, Default)]
pub(super) struct Greedy<C> {
    cost: PhantomData<C>,
    load: Vec<f64>,
    search: Search,
    least: LeastCosts<C>,
    /// True while the least costs are used.
    keeps_costs: bool,
    room: Vec<LinkId>,
}

/// The state of a search, kept to save allocations.
#[derive(Debug, Default)]
struct Search {
    /// By switch: number of the last search that visited it.
    visited: Vec<u32>,
    number: u32,
    /// Switches in order of distance from the source.
    order: Vec<usize>,
    /// By switch: least cost from it, and the link that leads there.
    cost: Vec<f64>,
    onward: Vec<LinkId>,
}

impl<C: Cost> Router for Greedy<C> {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        let topology = request.topology;
        self.load.clear();
        self.load.extend_from_slice(request.link_load);
        self.search.fit(topology.switch_count());
        self.keeps_costs = request.demands.len() >= MANY;
        self.least.forget();
        for demand in request.demands {
            self.route_one(topology, (demand.src, demand.dst), demand.load, routes);
        }
        Ok(())
    }

    fn divides(&self) -> bool {
        true
    }
}

impl<C: Cost> Greedy<C> {
    fn route_one(
        &mut self,
        topology: &Topology,
        (src, dst): (HostId, HostId),
        load: f64,
        routes: &mut Routes,
    ) {
        let paths = topology.paths_to(dst);
        let departures = paths.departures(src, &mut self.room);
        let mut taken = match departures {
            [only] => Some(*only),
            several => {
                several.iter().for_each(|link| self.load[link.0 as usize] = 0.0);
                self.search.find::<C>(topology, &paths, several, &self.load)
            }
        };
        let mut searched = departures.len() > 1;
        while let Some(link) = taken {
            routes.push_link(link);
            let Some(switch) = topology.switch_after(link) else { break };
            let onward = match paths.candidates(switch) {
                [] => {
                    paths.deliveries(switch).first().into_iter().for_each(|last| routes.push_link(*last));
                    break;
                }
                [only] => Some(*only),
                _ if searched => Some(self.search.onward[switch]),
                _ if self.keeps_costs && self.least.find(topology, &paths, switch, &self.load) => {
                    Some(self.least.onward(&paths, switch))
                }
                several => {
                    // A deep network stays with searches.
                    self.keeps_costs = false;
                    let whole = (0.0, f64::INFINITY);
                    match best_by_bound::<C>(topology, &paths, several, &self.load, whole, FURTHER_CHOICES) {
                        Some((best, _)) => best,
                        None => {
                            searched = true;
                            self.search.find::<C>(topology, &paths, several, &self.load)
                        }
                    }
                }
            };
            if let Some(link) = onward {
                self.load[link.0 as usize] += load;
            }
            taken = onward;
        }
        routes.end_route();
    }
}

/// The first link of least cost among `links`, if below `bound`, with that cost including `spent`.
/// `None` if more than `choices` further choices follow, where a search is cheaper.
///
/// This compares paths one by one, and leaves a path once it is no better than the best so far:
/// costs only grow along a path.
fn best_by_bound<C: Cost>(
    topology: &Topology,
    paths: &ShortestPaths<'_>,
    links: &[LinkId],
    load: &[f64],
    (spent, mut bound): (f64, f64),
    choices: u32,
) -> Option<(Option<LinkId>, f64)> {
    let mut best = None;
    for first in links {
        let mut link = *first;
        let mut cost = C::join(load[link.0 as usize], spent);
        while cost < bound {
            match paths.candidates(topology.switch_after(link)?) {
                [] => {
                    (best, bound) = (Some(*first), cost);
                }
                [only] => {
                    link = *only;
                    cost = C::join(load[link.0 as usize], cost);
                }
                several => {
                    let deeper = choices.checked_sub(1)?;
                    let (found, least) =
                        best_by_bound::<C>(topology, paths, several, load, (cost, bound), deeper)?;
                    best = if found.is_some() { Some(*first) } else { best };
                    bound = least;
                    break;
                }
            }
        }
    }
    Some((best, bound))
}

impl Search {
    fn fit(&mut self, switches: usize) {
        self.visited.resize(switches, 0);
        self.cost.resize(switches, 0.0);
        self.onward.resize(switches, LinkId(u32::MAX));
    }

    /// The best of some links, and by `onward` the best of the links after it.
    fn find<C: Cost>(
        &mut self,
        topology: &Topology,
        paths: &ShortestPaths<'_>,
        links: &[LinkId],
        load: &[f64],
    ) -> Option<LinkId> {
        self.begin();
        for link in links {
            self.visit(topology, *link);
        }
        let mut next = 0;
        while let Some(&switch) = self.order.get(next) {
            next += 1;
            for link in paths.candidates(switch) {
                self.visit(topology, *link);
            }
        }
        for at in (0..self.order.len()).rev() {
            let switch = self.order[at];
            let best = self.best::<C>(topology, paths.candidates(switch), load);
            (self.onward[switch], self.cost[switch]) = best.unwrap_or((LinkId(u32::MAX), 0.0));
        }
        self.best::<C>(topology, links, load).map(|(link, _)| link)
    }

    /// The first link of least cost, and the cost.
    #[inline]
    fn best<C: Cost>(&self, topology: &Topology, links: &[LinkId], load: &[f64]) -> Option<(LinkId, f64)> {
        let mut best: Option<(LinkId, f64)> = None;
        for link in links {
            let rest = topology.switch_after(*link).map_or(0.0, |switch| self.cost[switch]);
            let cost = C::join(load[link.0 as usize], rest);
            if best.is_none_or(|(_, least)| cost < least) {
                best = Some((*link, cost));
            }
        }
        best
    }

    fn begin(&mut self) {
        self.order.clear();
        if self.number == u32::MAX {
            self.visited.fill(0);
            self.number = 0;
        }
        self.number += 1;
    }

    #[inline]
    fn visit(&mut self, topology: &Topology, link: LinkId) {
        if let Some(switch) = topology.switch_after(link)
            && self.visited[switch] != self.number
        {
            self.visited[switch] = self.number;
            self.order.push(switch);
        }
    }
}
