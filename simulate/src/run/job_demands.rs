//! Host demands of a job's phases, shared by all jobs whose ranks are placed alike.

use std::cell::OnceCell;

use super::program::Program;
use crate::demand::{Aggregator, PairDemand};

/// The demands of one workload for one partition of its ranks over hosts; each list is made when it
/// is first needed.
#[derive(Debug)]
pub(super) struct JobDemands {
    of_rank: Vec<u32>,
    whole: OnceCell<Whole>,
    phases: Vec<OnceCell<PhaseDemands>>,
}

#[derive(Debug)]
struct Whole {
    pairs: Vec<PairDemand>,
    /// Source, destination and index of each pair, ascending.
    index: Vec<(u32, u32, u32)>,
}

/// The demands of one phase.
#[derive(Debug)]
pub(super) struct PhaseDemands {
    pub(super) pairs: Vec<PairDemand>,
    /// By pair: its index among the pairs of the whole run. Empty where those are not routed.
    pub(super) in_whole: Vec<u32>,
}

impl JobDemands {
    pub(super) fn new(of_rank: &[u32], phases: usize) -> Self {
        Self {
            of_rank: of_rank.to_vec(),
            whole: OnceCell::new(),
            phases: (0..phases).map(|_| OnceCell::new()).collect(),
        }
    }

    /// True if these are the demands of such a partition.
    pub(super) fn is_of(&self, of_rank: &[u32]) -> bool {
        self.of_rank == of_rank
    }

    /// By rank: number of its host within the job.
    pub(super) fn of_rank(&self) -> &[u32] {
        &self.of_rank
    }

    /// The demand of the whole run.
    pub(super) fn whole(&self, program: &Program<'_>, aggregator: &mut Aggregator) -> &[PairDemand] {
        &self.indexed(program, aggregator).pairs
    }

    fn indexed(&self, program: &Program<'_>, aggregator: &mut Aggregator) -> &Whole {
        self.whole.get_or_init(|| {
            let pairs = aggregator.demands(program.whole(), &self.of_rank);
            let mut index: Vec<(u32, u32, u32)> =
                pairs.iter().zip(0..).map(|(pair, i)| (pair.src, pair.dst, i)).collect();
            index.sort_unstable();
            Whole { pairs, index }
        })
    }

    /// The demand of a phase; on request with the index of each pair among those of the whole run.
    pub(super) fn phase(
        &self,
        phase: usize,
        program: &Program<'_>,
        aggregator: &mut Aggregator,
        in_whole: bool,
    ) -> &PhaseDemands {
        self.phases[phase].get_or_init(|| {
            let pairs = aggregator.demands(program.matrix(phase), &self.of_rank);
            let mut found = Vec::new();
            if in_whole {
                let all = &self.indexed(program, aggregator).index;
                // Each pair of a phase is one of the whole run.
                let place = |pair: &PairDemand| {
                    all[all.partition_point(|(src, dst, _)| (*src, *dst) < (pair.src, pair.dst))].2
                };
                found = pairs.iter().map(place).collect();
            }
            PhaseDemands { pairs, in_whole: found }
        })
    }
}
