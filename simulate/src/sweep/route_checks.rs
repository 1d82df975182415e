//! Checks of routes before a run: all pairs of hosts, for each network and router.

use std::collections::BTreeSet;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{At, Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use super::{Plan, Sweep};
use crate::routing::{examine, router};
use crate::run::Model;
use crate::scenario::Axis;
use crate::topology::Topology;

/// Most pairs of hosts of a check: some 16 000 hosts, half a minute.
const MOST_PAIRS: u64 = 1 << 28;

/// Most pairs of a check before runs that may lock up: about a second.
const PAIRS_BEFORE_RUNS: u64 = 1 << 22;

/// What the routes of a router in a network come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteCheck {
    /// Label of the topology.
    pub topology: String,
    /// Label of the router.
    pub router: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Pairs of hosts whose routes were looked at.
    pub pairs: u64,
    /// Most links of a route.
    pub longest: usize,
    /// Mean links of a route.
    pub mean_links: f64,
    /// The link between switches that most routes take.
    pub busiest: Option<String>,
    /// How many take it.
    pub routes_on_busiest: Option<u64>,
    /// Links that wait for each other in a circle; `None` if there is none.
    pub circle: Option<String>,
}

impl Plan {
    /// Checks all networks with all routers, in the order of the product.
    ///
    /// # Errors
    /// A network whose hosts do not reach each other; a router that finds no way, or goes around in
    /// a loop.
    pub fn check_routes(&self) -> Result<Vec<RouteCheck>> {
        let topologies = self.topologies()?;
        let routers = self.axes.get(Axis::Router);
        let pairs: Vec<_> = topologies
            .iter()
            .flat_map(|topology| routers.iter().map(move |choice| (topology, choice)))
            .collect();
        let check = |(topology, choice): &(&Topology, &Choice)| {
            let place = || format!("{}: {choice}", topology.label());
            let found = router(choice, self.settings.seed)
                .and_then(|mut router| examine(topology, router.as_mut(), MOST_PAIRS))
                .at(place)?;
            Ok(RouteCheck {
                topology: topology.label().into(),
                router: choice.label().into(),
                hosts: topology.host_count(),
                pairs: found.pairs,
                longest: found.longest,
                mean_links: found.mean_links,
                busiest: found.busiest.map(|(link, _)| topology.link_name(link)),
                routes_on_busiest: found.busiest.map(|(_, routes)| routes),
                circle: found.circle,
            })
        };
        pairs.par_iter().map(check).collect()
    }
}

impl RouteCheck {
    /// The check as one line of JSON.
    ///
    /// # Errors
    /// None that data can cause.
    pub fn listed(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::data(error.to_string()))
    }
}

impl Sweep {
    /// Remarks on points of a lossless network whose routes can lock up, one for each network and
    /// router. External routers are not asked.
    ///
    /// # Errors
    /// As [`Plan::check_routes`].
    pub fn lockups(&self, runs: &[u32]) -> Result<Vec<String>> {
        let mut pairs: BTreeSet<(usize, String)> = BTreeSet::new();
        for run in runs {
            let point = self.point(*run);
            if let Model::Packet(model) = self.model(&point)?
                && model.fabric.pause.is_some()
            {
                // Switches that choose for themselves choose among all shortest paths, as ECMP
                // does.
                let router = self.choice(&point, Axis::Router).clone();
                let spelling = if model.takes_routes() { router.spelling() } else { "ecmp".into() };
                if router.name() != "exec" {
                    pairs.insert((point.topology, spelling));
                }
            }
        }
        let mut remarks = Vec::new();
        for (number, spelling) in pairs {
            let topology = &self.topologies[number];
            let choice = Choice::parse(&spelling)?;
            let mut router = router(&choice, self.settings.seed)?;
            let found = examine(topology, router.as_mut(), PAIRS_BEFORE_RUNS);
            let found = found.at(|| format!("{}: {spelling}", topology.label()))?;
            remarks.extend(found.circle.map(|circle| {
                format!(
                    "{}: with router {spelling} and --pause, links can wait for each other for ever: {circle}",
                    topology.label()
                )
            }));
        }
        Ok(remarks)
    }
}
