//! Mapping by the load of links.

use phaseflow_collect::Result;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    Bisection, Block, Greedy, Judge, MOST_CELLS, MapRequest, Placement, ProcessMapper, Search, Verdict,
};
use crate::stream::Stream;

/// The best of [`Block`], [`Greedy`], [`Bisection`] and what the host selector had in mind, each as
/// it is and improved by exchanges for small loads of links.
///
/// The best is what loads the most loaded link between switches least, then the most loaded link of
/// all, then all links together. Loads are those of the run's router, asked beforehand, in the
/// phase that is worst, beside the jobs that run. Only a placement is taken that makes neither of
/// the two most loaded links worse than what the host selector had in mind, or block mapping: with
/// such a router, and routes chosen by phase or for a single one, no run is worse than with block.
/// A router that cannot be asked beforehand (`random`, `exec`) leaves the judgement to the
/// exchanges: D-mod-K decides.
///
/// Phases with more than 2²⁰ pairs of ranks are not exchanged.
#[derive(Clone, Debug)]
pub struct Aware {
    random: Xoshiro256PlusPlus,
}

impl Aware {
    /// A mapper with the stream that process mappers have for this seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Stream::ProcessMapper.generator(seed) }
    }
}

impl ProcessMapper for Aware {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let block = Block.map(request)?;
        // The first one is not to be worse than.
        let mut candidates: Vec<Placement> = request.proposed.into_iter().cloned().collect();
        candidates.extend([block, Greedy.map(request)?, Bisection.map(request)?]);
        candidates.dedup();
        if request.matrix.len() <= MOST_CELLS {
            for start in candidates.clone() {
                let mut search = Search::new(request.topology, request.matrix, &start)?;
                search.improve(request.hosts, &[], &mut self.random)?;
                candidates.push(search.placement());
            }
        }
        let dmodk = ByDModK(request);
        let judge: &dyn Judge = request.judge.unwrap_or(&dmodk);
        let (best, _) = best(judge, candidates)?;
        Ok(best)
    }
}

/// The best of some placements of which the first is the one not to be worse than; there is one at
/// least.
pub(crate) fn best(judge: &dyn Judge, candidates: Vec<Placement>) -> Result<(Placement, Verdict)> {
    let mut best: Option<(Placement, Verdict)> = None;
    let mut first = None;
    for placement in candidates {
        let verdict = judge.verdict(&placement)?;
        let bar = *first.get_or_insert(verdict);
        let is_better = best.as_ref().is_none_or(|(_, least)| verdict < *least);
        if verdict.is_no_worse(&bar) && is_better {
            best = Some((placement, verdict));
        }
    }
    Ok(best.unwrap_or_default())
}

/// Loads by D-mod-K of the job alone.
pub(crate) struct ByDModK<'a>(pub(crate) &'a MapRequest<'a>);

impl Judge for ByDModK<'_> {
    fn verdict(&self, placement: &Placement) -> Result<Verdict> {
        Search::new(self.0.topology, self.0.matrix, placement).map(|search| search.verdict())
    }
}
