//! Patterns side by side on disjoint ranges of ranks, like sub-communicators.

use super::Pattern;
use crate::trace::Operation;
use crate::{Error, Result};

/// The ranges differ by at most one rank. Shorter rounds are repeated while they fit into the
/// longest one, then wait.
pub(super) struct SideBySide {
    /// First rank of each pattern, and the end of the last.
    starts: Vec<u32>,
    patterns: Vec<Box<dyn Pattern>>,
    steps: u32,
}

impl SideBySide {
    /// Gives each of `count` patterns its share of `ranks`; `build` makes one for its number of
    /// ranks.
    ///
    /// # Errors
    /// What `build` says, for example of one rank only.
    pub(super) fn new(
        ranks: u32,
        count: usize,
        build: impl FnMut((usize, u32)) -> Result<Box<dyn Pattern>>,
    ) -> Result<Self> {
        let shares = u32::try_from(count).map_err(|_| Error::usage("more patterns than ranks"))?;
        let start = |i: u32| (u64::from(ranks) * u64::from(i) / u64::from(shares.max(1))) as u32;
        let starts: Vec<u32> = (0..=shares).map(start).collect();
        let sizes = starts.windows(2).map(|pair| pair[1] - pair[0]);
        let patterns = sizes.enumerate().map(build).collect::<Result<Vec<_>>>()?;
        let steps = patterns.iter().map(|pattern| pattern.steps()).max().unwrap_or_default();
        Ok(Self { starts, patterns, steps })
    }

    /// The pattern that `rank` takes part in, and its first rank.
    fn of(&self, rank: u32) -> Option<(&dyn Pattern, u32)> {
        let at = self.starts.partition_point(|start| *start <= rank).checked_sub(1)?;
        Some((&**self.patterns.get(at)?, *self.starts.get(at)?))
    }
}

impl Pattern for SideBySide {
    fn begin_round(&mut self) {
        self.patterns.iter_mut().for_each(|pattern| pattern.begin_round());
    }

    fn steps(&self) -> u32 {
        self.steps
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let (pattern, first) = self.of(src)?;
        let own = pattern.steps().max(1);
        if step >= self.steps / own * own {
            return None;
        }
        let (dst, bytes) = pattern.send(step % own, src - first)?;
        Some((first + dst, bytes))
    }

    fn collective(&self, rank: u32) -> Option<(Operation, u64)> {
        let (pattern, first) = self.of(rank)?;
        pattern.collective(rank - first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PatternName;
    use super::*;

    #[test]
    fn each_pattern_stays_among_its_ranks_and_repeats_whole_rounds() {
        let names = [PatternName::Shift, PatternName::Alltoall, PatternName::Halo2d];
        let side = SideBySide::new(20, 3, |(i, ranks)| names[i].build(ranks, 10, 1)).unwrap();
        // 6, 7 and 7 ranks; an alltoall of 7 has 6 steps, a halo exchange 4.
        assert_eq!((side.starts.clone(), side.steps()), (vec![0, 6, 13, 20], 6));
        let mut sent = [0; 3];
        for step in 0..6 {
            for src in 0..20 {
                if let Some((dst, _)) = side.send(step, src) {
                    let of = |rank| side.starts.partition_point(|start| *start <= rank) - 1;
                    assert_eq!(of(src), of(dst));
                    sent[of(src)] += 1;
                }
            }
        }
        // Six shifts of 6, an alltoall of 7, one exchange along a line of 7.
        assert_eq!(sent, [36, 42, 12]);
        assert_eq!(side.collective(7), Some((Operation::Alltoall, 70)));
        assert_eq!(side.collective(5), None);
    }

    #[test]
    fn too_few_ranks_are_refused() {
        let build = |(_, ranks)| PatternName::Shift.build(ranks, 10, 1);
        assert!(SideBySide::new(3, 2, build).is_err());
        assert!(SideBySide::new(4, 2, build).is_ok());
    }
}
