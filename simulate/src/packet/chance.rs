//! Random faults by link and traversal: loss, duplicates, reordering, random marking.
//!
//! The faults of the n-th packet of a link are a hash of the seed, the link and n (SplitMix64's
//! mixing function: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
//! 2014), so they do not depend on other links.

use crate::engine::Picoseconds;

use super::options::FabricOptions;
use crate::topology::{Faults, LinkId, Topology};

/// The dice of a network.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    seed: u64,
    /// By link; empty without faults.
    odds: Vec<Odds>,
}

/// Faults of a link.
#[derive(Clone, Copy, Debug)]
struct Odds {
    /// A hash below this is a loss.
    loss: u64,
    /// A hash below this is a second copy.
    duplicate: u64,
    /// Longest additional delay of a traversal.
    reorder_ps: Picoseconds,
}

/// Purpose of a random number: loss of a packet. Any distinct values serve.
const LOSS: u64 = 1;
/// Delay of a packet.
const DELAY: u64 = 2;
/// Marking of a packet.
const MARK: u64 = 3;
/// Duplication of a packet.
const DUPLICATE: u64 = 4;
/// Delay of a duplicate.
const COPY_DELAY: u64 = 5;

impl Chance {
    pub(super) fn new(topology: &Topology, options: &FabricOptions) -> Self {
        let odds = |faults: Faults| {
            // 2⁶⁴ as a float saturates to 2⁶⁴ − 1: a loss of 1 loses everything but one in 2⁶⁴.
            let below = |share: f64| (share * 2_f64.powi(64)) as u64;
            Odds {
                loss: below(faults.loss),
                duplicate: below(faults.duplicate),
                reorder_ps: faults.reorder_ps,
            }
        };
        let is_needed = options.worst(topology).faults() != Faults::default();
        let odds = options.faults_by_link(topology).filter(|_| is_needed).map(odds).collect();
        Self { seed: mix(options.seed), odds }
    }

    /// False without faults.
    #[inline]
    pub(super) fn is_needed(&self) -> bool {
        !self.odds.is_empty()
    }

    /// From now on the link loses all packets but one in 2⁶⁴; `links` is the number of links.
    pub(super) fn cut(&mut self, link: LinkId, links: usize) {
        self.odds.resize(links, Odds { loss: 0, duplicate: 0, reorder_ps: 0 });
        self.odds[link.0 as usize].loss = u64::MAX;
    }

    #[inline]
    fn throw(&self, die: u64, link: u32, number: u64) -> u64 {
        mix(mix(self.seed ^ (u64::from(link) << 32 | die)) ^ number)
    }

    /// True if the `number`-th packet of a link is lost on it.
    #[inline]
    pub(super) fn loses(&self, link: u32, number: u64) -> bool {
        self.throw(LOSS, link, number) < self.odds[link as usize].loss
    }

    /// Additional delay of the duplicate of the `number`-th packet of a link, if there is one. It
    /// never arrives with the first copy.
    #[inline]
    pub(super) fn doubles(&self, link: u32, number: u64) -> Option<Picoseconds> {
        let is_doubled = self.throw(DUPLICATE, link, number) < self.odds[link as usize].duplicate;
        is_doubled.then(|| self.delayed(COPY_DELAY, link, number) + 1)
    }

    /// Additional delay of the `number`-th packet of a link, uniform up to the longest.
    #[inline]
    pub(super) fn delay(&self, link: u32, number: u64) -> Picoseconds {
        self.delayed(DELAY, link, number)
    }

    #[inline]
    fn delayed(&self, die: u64, link: u32, number: u64) -> Picoseconds {
        let span = u128::from(self.odds[link as usize].reorder_ps) + 1;
        if span == 1 {
            return 0;
        }
        ((u128::from(self.throw(die, link, number)) * span) >> 64) as u64
    }

    /// A uniform number from 0 to 1 for the `number`-th packet of a link.
    #[inline]
    pub(super) fn share(&self, link: u32, number: u64) -> f64 {
        (self.throw(MARK, link, number) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// One step of SplitMix64.
#[inline]
pub(super) fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
