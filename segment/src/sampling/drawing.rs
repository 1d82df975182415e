//! Which blocks are drawn: stratified samples, and those that stand for themselves.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{Blocks, Kind};
use crate::samples::{Samples, Span, Traits, Units};

/// The most blocks of a kind that are sampled.
pub(super) const MOST: usize = 32;

/// The fewest blocks of a kind that are sampled, if there are as many.
pub(super) const LEAST: usize = 8;

/// The fewest blocks that are the same and stand for each other.
const CLASS: usize = 4;

/// The most sorts of such blocks of a kind.
const CLASSES: usize = 16;

/// Blocks, and those of them that are simulated.
struct Stratum {
    blocks: Vec<usize>,
    /// For themselves.
    certain: Vec<usize>,
    /// For all others.
    drawn: Vec<usize>,
    /// All are the same.
    identical: bool,
}

/// Blocks of which units are drawn.
pub(super) struct Drawing<'a> {
    pub(super) run: &'a Blocks<'a>,
    pub(super) kinds: BTreeMap<Kind, Vec<usize>>,
    /// Blocks of which one each has to be simulated.
    pub(super) notable: Vec<Vec<usize>>,
    /// Messages before a block in its window.
    pub(super) before: u64,
}

impl Drawing<'_> {
    /// As many blocks of each kind as `budget` messages allow, [`LEAST`] to [`MOST`].
    pub(super) fn within(&self, budget: u64) -> (Samples, u64) {
        let mut most = MOST;
        loop {
            let (samples, volume) = self.samples(most);
            if volume <= budget || most <= LEAST {
                return (samples, volume);
            }
            let part = (most as u128 * u128::from(budget) / u128::from(volume)) as usize; // less
            most = part.clamp(LEAST, most - 1);
        }
    }

    /// At most `most` blocks of each kind, the windows around them, and the messages in these and
    /// in those that are played again, one of each kind.
    pub(super) fn samples(&self, most: usize) -> (Samples, u64) {
        let mut of_phase = Vec::new();
        let (mut windows, mut positions, mut again) = (Vec::new(), Vec::new(), 0);
        for Stratum { blocks, certain, drawn, identical } in self.strata(most) {
            for block in certain.iter().chain(&drawn) {
                let (window, messages) = self.run.window(*block, self.before, self.before / 2);
                windows.push(window);
                positions.push(messages);
            }
            let last = positions.last().filter(|_| !drawn.is_empty());
            let length = last.map_or(0, |messages| messages.end_ns - messages.start_ns);
            again += length.saturating_sub(self.before / 2);
            of_phase.extend(self.units(&blocks, &certain, &drawn, identical));
        }
        let messages: u64 = joined(positions).iter().map(|span| span.end_ns - span.start_ns).sum();
        (Samples { windows: joined(windows), of_phase }, messages + again)
    }

    /// All blocks, and which of them are simulated.
    fn strata(&self, most: usize) -> Vec<Stratum> {
        let only: Vec<usize> = self.notable.iter().filter(|of| of.len() == 1).map(|of| of[0]).collect();
        let mut strata = Vec::new();
        for (number, blocks) in self.kinds.values().enumerate() {
            let (classes, blocks) = self.classes(blocks);
            strata.extend(classes.into_iter().map(|blocks| {
                let drawn = vec![blocks[blocks.len() / 2]];
                Stratum { blocks, certain: Vec::new(), drawn, identical: true }
            }));
            let (certain, drawn) = self.chosen(number as u64, &blocks, &only, most);
            strata.push(Stratum { blocks, certain, drawn, identical: false });
        }
        self.add_notable(&mut strata);
        strata
    }

    /// Adds what is notable and not simulated yet, to stand for itself.
    fn add_notable(&self, strata: &mut [Stratum]) {
        let mut simulated: BTreeSet<usize> = BTreeSet::new();
        for Stratum { blocks, certain, drawn, identical } in strata.iter() {
            // One that is the same as one that is simulated is as good.
            simulated.extend(if *identical { blocks } else { drawn });
            simulated.extend(certain);
        }
        for blocks in &self.notable {
            let Some(block) =
                blocks.first().filter(|_| !blocks.iter().any(|block| simulated.contains(block)))
            else {
                continue;
            };
            simulated.insert(*block);
            let own = strata.iter_mut().find(|stratum| stratum.blocks.binary_search(block).is_ok());
            if let Some(Stratum { certain, .. }) = own {
                certain.push(*block);
                certain.sort_unstable();
            }
        }
    }

    /// Blocks that are the same, four at least, and all others.
    fn classes(&self, blocks: &[usize]) -> (Vec<Vec<usize>>, Vec<usize>) {
        let mut classes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for block in blocks {
            if let Some(content) = self.run.content(*block, self.before, self.before / 2) {
                classes.entry(content).or_default().push(*block);
            }
        }
        let mut classes: Vec<Vec<usize>> =
            classes.into_values().filter(|class| class.len() >= CLASS).collect();
        classes.sort_unstable_by_key(|class| (Reverse(class.len()), class[0]));
        classes.truncate(CLASSES);
        let mut taken: Vec<usize> = classes.concat();
        taken.sort_unstable();
        let others = blocks.iter().copied().filter(|block| taken.binary_search(block).is_err()).collect();
        (classes, others)
    }

    /// What of each phase is in some blocks, and in those that are simulated.
    fn units(&self, blocks: &[usize], certain: &[usize], drawn: &[usize], identical: bool) -> Vec<Units> {
        let mut of_phase: BTreeMap<Option<u32>, Traits> = BTreeMap::new();
        for block in blocks {
            for (phase, _, traits) in self.run.parts(*block) {
                of_phase.entry(phase).or_default().add(&traits);
            }
        }
        let units = |(phase, total)| {
            let spans = |blocks: &[usize]| -> Vec<Vec<Span>> {
                let own = |block: &usize| {
                    self.run.parts(*block).filter(|part| part.0 == phase).map(|part| part.1).collect()
                };
                blocks.iter().map(own).collect()
            };
            let critical_ns = |block: &usize| -> u64 {
                let own = self.run.parts(*block).filter(|part| part.0 == phase);
                own.map(|(_, _, traits)| traits.critical_ns).sum()
            };
            // What only blocks have that stand for themselves is not drawn from the others.
            let is_other = |block: &&usize| certain.binary_search(block).is_err();
            let is_drawn =
                blocks.iter().filter(is_other).any(|block| self.run.phases(*block).contains(&phase));
            let (drawn, units) = if is_drawn { (drawn, blocks.len() - certain.len()) } else { (&[][..], 0) };
            let simulated = drawn.iter().chain(certain).filter(|_| self.run.knows_critical());
            Units {
                phase,
                units: units as u64,
                total,
                samples: spans(drawn),
                certain: spans(certain),
                critical_ns: simulated.map(critical_ns).collect(),
                identical,
            }
        };
        of_phase.into_iter().map(units).collect()
    }

    /// Blocks that samples in proportion to size would always hold, half of `most` at the most. The
    /// size is the share of the time or of the bytes, whichever is larger: on a network of unknown
    /// speed either may decide how long a block takes.
    fn too_large(&self, blocks: &[usize], most: usize) -> Vec<usize> {
        let shares = |of: &dyn Fn(usize) -> u64| -> Vec<f64> {
            let all: f64 = blocks.iter().map(|block| of(*block) as f64).sum();
            blocks.iter().map(|block| of(*block) as f64 / all.max(1.0)).collect()
        };
        let time = shares(&|block| self.run.length_ns(block));
        let bytes = shares(&|block| self.run.bytes(block));
        let mut sizes: Vec<(f64, usize)> = time
            .iter()
            .zip(&bytes)
            .map(|(time, bytes)| time.max(*bytes))
            .zip(blocks.iter().copied())
            .collect();
        sizes.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut rest: f64 = sizes.iter().map(|(size, _)| size).sum();
        let mut large = Vec::new();
        for (size, block) in sizes.into_iter().take(most / 2) {
            if size * (most - large.len()) as f64 <= rest {
                break;
            }
            rest -= size;
            large.push(block);
        }
        large
    }

    /// Blocks that stand for themselves, and one of each stratum of the others; all if there are no
    /// more than `most`.
    fn chosen(&self, kind: u64, blocks: &[usize], only: &[usize], most: usize) -> (Vec<usize>, Vec<usize>) {
        if blocks.len() <= most {
            return (Vec::new(), blocks.to_vec());
        }
        let mut certain = self.too_large(blocks, most);
        certain.extend(only.iter().filter(|block| blocks.binary_search(block).is_ok()));
        loop {
            certain.sort_unstable();
            certain.dedup();
            let others: Vec<usize> =
                blocks.iter().copied().filter(|block| certain.binary_search(block).is_err()).collect();
            let drawn = drawn_of(kind, &others, (most - certain.len().min(most)).max(most / 2).max(1));
            // A phase that few of these blocks have, and none that was drawn, has them stand for
            // themselves.
            let found: BTreeSet<Option<u32>> =
                drawn.iter().flat_map(|block| self.run.phases(*block)).collect();
            let is_missed = |block: &usize| {
                let phases = self.run.phases(*block);
                phases.iter().any(|phase| phase.is_some() && !found.contains(phase))
            };
            let missed: Vec<usize> = others.into_iter().filter(is_missed).take(most).collect();
            if missed.is_empty() || certain.len() > 2 * most {
                return (certain, drawn);
            }
            certain.extend(missed);
        }
    }
}

/// Cuts blocks into `strata` equal parts in order of time and draws one block of each; all blocks
/// if there are no more.
fn drawn_of(kind: u64, blocks: &[usize], strata: usize) -> Vec<usize> {
    let strata = strata.min(blocks.len());
    let edge = |stratum: usize| (blocks.len() as u128 * stratum as u128 / strata as u128) as usize;
    let one = |stratum: usize| {
        let (start, end) = (edge(stratum), edge(stratum + 1));
        blocks[start + (drawn(kind, stratum as u64) % (end - start) as u64) as usize]
    };
    (0..strata).map(one).collect()
}

/// A number that is as good as drawn at random, the same each time (SplitMix64: Steele, Lea and
/// Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014).
fn drawn(phase: u64, stratum: u64) -> u64 {
    let seed = phase
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(stratum.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What these cover, in order.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start_ns <= last.end_ns => last.end_ns = last.end_ns.max(span.end_ns),
            _ => joined.push(span),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_is_drawn_twice() {
        for (blocks, strata) in (0..12).flat_map(|blocks| (1..16).map(move |strata| (blocks, strata))) {
            let blocks: Vec<usize> = (0..blocks).map(|block| 3 * block).collect();
            let drawn = drawn_of(7, &blocks, strata);
            assert_eq!(drawn.len(), strata.min(blocks.len()));
            assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]), "{drawn:?} of {blocks:?}");
            assert!(drawn.iter().all(|block| blocks.contains(block)));
        }
    }
}
