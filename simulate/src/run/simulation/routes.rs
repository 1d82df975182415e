//! The routes of a phase, and its load on links.

use phaseflow_collect::Result;

use super::{JobModel, Simulation};
use crate::routing::Routes;
use crate::run::job::Job;
use crate::run::network::{DENSE, DensePairs, RouteQuery};
use crate::run::program::MERGED;
use crate::run::senders::{FirstPairs, Senders};
use crate::run::{LinkStatistics, Reroute};

impl<'a, M: JobModel<'a>> Simulation<'a, M> {
    /// Chooses the routes of a phase and computes its load on each link.
    pub(super) fn route(&mut self, job: &mut Job, phase: usize) -> Result<()> {
        self.forget_outdated(job, phase);
        let program = &self.programs[job.workload];
        let is_dense = program.matrix(phase).len() >= DENSE;
        let repeats = self.network.router_repeats();
        let once = self.setup.reroute == Reroute::Job && program.phases.len() > 1 && !repeats;
        let divides = repeats || (self.network.router_divides() && !once);
        if is_dense && divides && !self.model.takes_routes() && !self.setup.record_routes {
            return self.route_dense(job, phase);
        }
        let demands = job.job_demands.phase(phase, program, &mut self.aggregator, once);
        let divisor = program.divisor(phase, self.are_rates);
        let query = RouteQuery {
            job: job.number,
            phase: program.phases[phase].name,
            placement: &job.placement,
            matrix: program.matrix(phase),
            hosts: &job.local_hosts,
            pairs: &demands.pairs,
            divisor,
        };
        if !once {
            self.network.route(&query, &mut self.routes)?;
        } else if job.routes.is_none() {
            let pairs = job.job_demands.whole(program, &mut self.aggregator);
            let divisor = program.whole_divisor(self.are_rates);
            let whole = RouteQuery { phase: MERGED, matrix: program.whole(), pairs, divisor, ..query };
            self.network.route(&whole, job.routes.insert(Routes::default()))?;
        }
        let routes = job.routes.as_ref().unwrap_or(&self.routes);
        let route_of = |pair: usize| routes.get(if once { demands.in_whole[pair] as usize } else { pair });

        let host = |number: u32| job.local_hosts[number as usize];
        if self.model.takes_routes() {
            if is_dense {
                let links = (0..demands.pairs.len()).map(|pair| route_of(pair).len()).sum();
                self.model.reserve_routes(demands.pairs.len(), links);
            }
            for (i, pair) in demands.pairs.iter().enumerate() {
                self.model.route(host(pair.src), host(pair.dst), route_of(i));
            }
        }
        let state = job.phases[phase].get_or_insert_default();
        state.routed_after = self.changes;
        if self.setup.changes_routes() {
            state.changed_routes += job.latest_routes.update(&demands.pairs, route_of);
        }
        self.network.shares(&demands.pairs, route_of, divisor, &mut state.shares);
        if !state.is_worse(self.setup, divisor) {
            return Ok(());
        }
        if self.setup.link_statistics == LinkStatistics::Jobs {
            let (shares, hosts) = (&state.shares, &job.local_hosts);
            state.senders = Senders::new(self.setup.topology, shares, &demands.pairs, route_of, hosts);
        }
        if self.setup.record_routes {
            state.routes = Some(query.with_routes(route_of));
        }
        Ok(())
    }

    /// Drops what was known of the network before its latest change.
    fn forget_outdated(&self, job: &mut Job, phase: usize) {
        if job.routed_after != self.changes {
            job.routes = None;
            job.routed_after = self.changes;
        }
        if let Some(state) = job.phases[phase].as_mut().filter(|state| state.routed_after != self.changes)
            && let Some(replays) = &mut state.replays
        {
            replays.forget_outcomes();
        }
    }

    /// The same for a dense phase, without keeping its routes.
    fn route_dense(&mut self, job: &mut Job, phase: usize) -> Result<()> {
        let program = &self.programs[job.workload];
        let topology = self.network.topology;
        let divisor = program.divisor(phase, self.are_rates);
        let query = RouteQuery {
            job: job.number,
            phase: program.phases[phase].name,
            placement: &job.placement,
            matrix: program.matrix(phase),
            hosts: &job.local_hosts,
            pairs: &[],
            divisor,
        };
        let has_senders = self.setup.link_statistics == LinkStatistics::Jobs;
        let state = job.phases[phase].get_or_insert_default();
        state.routed_after = self.changes;
        if self.network.router_repeats() {
            let of_rank = job.job_demands.of_rank();
            let forgets = self.network.router_forgets_source();
            let pairs = DensePairs::new(topology, &query, of_rank, forgets);
            pairs.shares(&mut self.network, &mut state.shares)?;
            if state.is_worse(self.setup, divisor) && has_senders {
                state.senders = pairs.senders(&mut self.network, &state.shares)?;
            }
            return Ok(());
        }
        let pairs = &job.job_demands.phase(phase, program, &mut self.aggregator, false).pairs;
        let mut first = has_senders.then(|| FirstPairs::new(topology.link_count()));
        self.network.shares_in_parts(&RouteQuery { pairs, ..query }, &mut state.shares, first.as_mut())?;
        if state.is_worse(self.setup, divisor)
            && let Some(first) = &first
        {
            state.senders = Senders::of_first(topology, &state.shares, pairs, first, &job.local_hosts);
        }
        Ok(())
    }
}
