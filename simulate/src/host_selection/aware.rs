//! Hosts for a communication pattern.

use phaseflow_collect::Result;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Compact, HostRequest, HostSelector, Linear, Scattered};
use crate::process_mapping::{
    Bisection, Block, ByDModK, Greedy, Judge, MOST_CELLS, MapRequest, Placement, ProcessMapper, Search, best,
};
use crate::stream::Stream;
use crate::topology::HostId;

/// Application-aware selection, with the mapping in mind: PFAnalyzer's future work.
///
/// The hosts of [`Linear`], [`Compact`] and [`Scattered`] are filled as by block, greedy and
/// bisection mapping. The best of these is improved by exchanges of ranks, and of whole hosts with
/// free ones. What is best is judged as by the process mapper `aware`, which gets the placement
/// that the hosts were chosen for: the two belong together. Only what makes no most loaded link
/// worse than linear selection with block mapping is taken.
///
/// A job of one rank per host on an empty full fat tree gains little: all hosts are alike.
#[derive(Clone, Debug)]
pub struct Aware {
    random: Xoshiro256PlusPlus,
    linear: Linear,
    compact: Compact,
    scattered: Scattered,
    proposal: Option<Placement>,
}

impl Aware {
    /// A selector with the stream that host selectors have for this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Stream::HostSelector.generator(seed),
            linear: Linear::default(),
            compact: Compact::default(),
            scattered: Scattered::default(),
            proposal: None,
        }
    }
}

/// The placements of three mappers on some hosts, block first.
fn mapped(request: &MapRequest<'_>) -> Result<[Placement; 3]> {
    Ok([Block.map(request)?, Greedy.map(request)?, Bisection.map(request)?])
}

impl HostSelector for Aware {
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>> {
        let sets =
            [self.linear.select(request)?, self.compact.select(request)?, self.scattered.select(request)?];
        let of = |hosts| MapRequest {
            topology: request.topology,
            hosts,
            ranks: request.processes,
            matrix: request.matrix,
            judge: request.judge,
            proposed: None,
        };
        let on_linear = of(&sets[0]);
        let dmodk = ByDModK(&on_linear);
        let judge: &dyn Judge = request.judge.unwrap_or(&dmodk);
        let mut candidates = Vec::new();
        for hosts in &sets {
            candidates.extend(mapped(&of(hosts))?);
        }
        let linear = candidates[0].clone();
        let (start, _) = best(judge, candidates)?;
        let mut placements = vec![linear, start.clone()];
        if request.matrix.len() <= MOST_CELLS {
            let mut search = Search::new(request.topology, request.matrix, &start)?;
            let used = used(&start);
            let free = request.free_hosts().filter(|host| !used.contains(host)).collect::<Vec<_>>();
            search.improve(&used, &free, &mut self.random)?;
            placements.push(search.placement());
        }
        let (chosen, _) = best(judge, placements)?;
        let hosts = used(&chosen);
        self.proposal = Some(chosen);
        Ok(hosts)
    }

    fn proposal(&mut self) -> Option<Placement> {
        self.proposal.take()
    }
}

/// The hosts of a placement in order of their first rank.
fn used(placement: &Placement) -> Vec<HostId> {
    let mut seen = std::collections::HashSet::new();
    placement.hosts.iter().copied().filter(|host| seen.insert(*host)).collect()
}
