//! The shortest path that hurts least, given the load of this moment.
//!
//! PFSim's dynamic routers: `greedy` takes the path of the least sum of loads, `greedy-max` the one whose most loaded link
//! has the least load. Pairs come from the heaviest to the lightest and each sees those before it. Only links between
//! switches count: the first and last hop are not a matter of choice. Loads are compared, not load / capacity: on networks
//! of unequal capacities these are the wrong routers.
//!
//! The least cost to the destination is known for each switch once it is known for the switches behind its candidates, so
//! a search breadth first from the source, and its order backwards, give the exact minimum over all shortest paths in one
//! step per link of the DAG. Ties: the first candidate, hop by hop.

use std::marker::PhantomData;

use phaseflow_collect::Result;

use super::{RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, Topology};

/// How the loads of a path's links make its cost.
pub(super) trait Cost: Send {
    /// The cost of a link with load `load` followed by a path of cost `rest`.
    fn join(load: f64, rest: f64) -> f64;
}

/// The sum of the loads: PFSim's `GreedyRouter`.
#[derive(Debug, Default)]
pub(super) struct Sum;

impl Cost for Sum {
    #[inline]
    fn join(load: f64, rest: f64) -> f64 {
        load + rest
    }
}

/// The highest load: PFSim's `GreedyRouter2`.
#[derive(Debug, Default)]
pub(super) struct Maximum;

impl Cost for Maximum {
    #[inline]
    fn join(load: f64, rest: f64) -> f64 {
        if load > rest { load } else { rest }
    }
}

/// The routers `greedy` and `greedy-max`.
#[derive(Debug, Default)]
pub(super) struct Greedy<C> {
    cost: PhantomData<C>,
    load: Vec<f64>,
    search: Search,
    room: Vec<LinkId>,
}

/// What one search knows, kept to spare allocations.
#[derive(Debug, Default)]
struct Search {
    /// By switch: number of the last search that met it.
    met: Vec<u32>,
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
        for demand in request.demands {
            self.route_one(topology, (demand.src, demand.dst), demand.load, routes);
        }
        Ok(())
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
        let search = &mut self.search;
        search.begin();
        for link in departures {
            search.meet(topology, *link);
        }
        let mut next = 0;
        while let Some(&switch) = search.order.get(next) {
            next += 1;
            for link in paths.candidates(switch) {
                search.meet(topology, *link);
            }
        }
        for &switch in search.order.iter().rev() {
            let (mut least, mut onward) = (0.0, LinkId(u32::MAX));
            for link in paths.candidates(switch) {
                let Some(after) = topology.switch_after(*link) else { continue };
                let cost = C::join(self.load[link.0 as usize], search.cost[after]);
                if onward.0 == u32::MAX || cost < least {
                    (least, onward) = (cost, *link);
                }
            }
            (search.cost[switch], search.onward[switch]) = (least, onward);
        }

        let cost = |link: &LinkId| topology.switch_after(*link).map_or(0.0, |switch| search.cost[switch]);
        let mut first = departures.first().copied();
        for link in departures {
            if first.is_some_and(|first| cost(link) < cost(&first)) {
                first = Some(*link);
            }
        }
        let mut taken = first;
        while let Some(link) = taken {
            routes.push_link(link);
            taken = topology.switch_after(link).and_then(|switch| {
                if paths.candidates(switch).is_empty() {
                    return paths.deliveries(switch).first().copied();
                }
                let onward = search.onward[switch];
                self.load[onward.0 as usize] += load;
                Some(onward)
            });
        }
        routes.end_route();
    }
}

impl Search {
    fn fit(&mut self, switches: usize) {
        self.met.resize(switches, 0);
        self.cost.resize(switches, 0.0);
        self.onward.resize(switches, LinkId(u32::MAX));
    }

    fn begin(&mut self) {
        self.order.clear();
        if self.number == u32::MAX {
            self.met.fill(0);
            self.number = 0;
        }
        self.number += 1;
    }

    #[inline]
    fn meet(&mut self, topology: &Topology, link: LinkId) {
        if let Some(switch) = topology.switch_after(link)
            && self.met[switch] != self.number
        {
            self.met[switch] = self.number;
            self.order.push(switch);
        }
    }
}
