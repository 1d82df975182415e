//! Placements, judged by the router of the run before the job starts.

use std::cell::RefCell;

use phaseflow_collect::Result;

use super::network::{Network, RouteQuery};
use super::program::Program;
use crate::demand::{Aggregator, LocalPlacement};
use crate::process_mapping::{Judge, Placement, Verdict};
use crate::traffic::LinkShare;

/// A job that looks for hosts.
pub(super) struct PlacementJudge<'j, 'a> {
    program: &'j Program<'a>,
    are_rates: bool,
    job: u32,
    room: RefCell<Room<'j, 'a>>,
}

/// What is used in turn.
struct Room<'j, 'a> {
    network: &'j mut Network<'a>,
    aggregator: &'j mut Aggregator,
    local: LocalPlacement,
    shares: Vec<LinkShare>,
}

impl<'j, 'a> PlacementJudge<'j, 'a> {
    /// `None` if the router may answer otherwise when it is asked again, or does not want to be
    /// asked in vain.
    pub(super) fn new(
        network: &'j mut Network<'a>,
        aggregator: &'j mut Aggregator,
        program: &'j Program<'a>,
        job: u32,
        are_rates: bool,
    ) -> Option<Self> {
        let (local, shares) = (LocalPlacement::default(), Vec::new());
        let divides = network.router_divides();
        let room = RefCell::new(Room { network, aggregator, local, shares });
        divides.then_some(Self { program, are_rates, job, room })
    }
}

impl Judge for PlacementJudge<'_, '_> {
    fn verdict(&self, placement: &Placement) -> Result<Verdict> {
        let Room { network, aggregator, local, shares } = &mut *self.room.borrow_mut();
        aggregator.localize(placement, local);
        let mut verdict = Verdict::default();
        for phase in 0..self.program.phases.len() {
            let matrix = self.program.matrix(phase);
            let pairs = aggregator.demands(matrix, &local.of_rank);
            let query = RouteQuery {
                job: self.job,
                phase: self.program.phases[phase].name,
                placement,
                matrix,
                hosts: &local.hosts,
                pairs: &pairs,
                divisor: self.program.divisor(phase, self.are_rates),
            };
            network.shares_in_parts(&query, shares, None)?;
            let mut sum = 0.0;
            for share in shares.iter() {
                let load = share.load + network.loads.load()[share.link.0 as usize];
                let ratio = load / network.topology.link(share.link).capacity;
                if network.topology.between_switches(share.link) {
                    verdict.between_switches = verdict.between_switches.max(ratio);
                }
                verdict.highest = verdict.highest.max(ratio);
                sum += ratio;
            }
            verdict.sum = verdict.sum.max(sum);
        }
        Ok(verdict)
    }
}
