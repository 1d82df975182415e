//! `MPI_Allreduce` of a vector of S bytes over N ranks, by the two algorithms that libraries use
//! most.
//!
//! - **Recursive doubling** for S < 10 000 (the limit of Open MPI's fixed decision): in step k
//!   partners at distance 2ᵏ exchange the whole vector. If N is not a power of two, p = 2^⌊log₂ N⌋,
//!   the first 2(N−p) ranks pair up: the even ones send their vector to the odd ones, wait, and get
//!   the result at the end. Volume (p·log₂ p + 2(N−p))·S.
//! - **Ring** for larger S, for any N: N−1 steps that reduce and scatter, N−1 that gather; in each,
//!   a rank sends one N-th of the vector to the next rank. Volume 2(N−1)·S, the least possible
//!   (Patarasuk, Yuan, JPDC 2009). Parts differ by at most a byte.

use super::Pattern;
use crate::trace::Operation;

/// Least bytes of a vector for the ring algorithm: the limit of Open MPI's fixed decision.
const RING_FROM: u64 = 10_000;

pub(super) fn build(ranks: u32, bytes: u64) -> Box<dyn Pattern> {
    if bytes < RING_FROM {
        Box::new(RecursiveDoubling { ranks, doublings: ranks.ilog2(), bytes })
    } else {
        Box::new(Ring { ranks, bytes })
    }
}

struct RecursiveDoubling {
    ranks: u32,
    doublings: u32,
    bytes: u64,
}

impl RecursiveDoubling {
    /// Ranks beyond a power of two.
    fn surplus(&self) -> u32 {
        self.ranks - (1 << self.doublings)
    }
}

impl Pattern for RecursiveDoubling {
    fn steps(&self) -> u32 {
        self.doublings + if self.surplus() > 0 { 2 } else { 0 }
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let surplus = self.surplus();
        let paired = src < 2 * surplus;
        let aside = paired && src.is_multiple_of(2);
        let doubling = if surplus > 0 { step.wrapping_sub(1) } else { step };
        let dst = if doubling < self.doublings {
            // Those that take part are numbered without the ones aside.
            let number = if paired { src / 2 } else { src - surplus };
            let partner = number ^ (1 << doubling);
            (!aside).then_some(if partner < surplus { 2 * partner + 1 } else { partner + surplus })
        } else if step == 0 {
            aside.then_some(src + 1)
        } else {
            (paired && !aside).then(|| src - 1)
        };
        dst.map(|dst| (dst, self.bytes))
    }

    fn collective(&self, _: u32) -> Option<(Operation, u64)> {
        Some((Operation::Allreduce, self.bytes))
    }
}

struct Ring {
    ranks: u32,
    bytes: u64,
}

impl Pattern for Ring {
    fn steps(&self) -> u32 {
        2 * (self.ranks - 1)
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let n = self.ranks;
        // The part that a rank passes on is the one it received in the step before.
        let part = u64::from((src + 2 * n - step) % n);
        let n = u64::from(n);
        let bytes = self.bytes / n + u64::from(part < self.bytes % n);
        Some(((src + 1) % self.ranks, bytes))
    }

    fn collective(&self, _: u32) -> Option<(Operation, u64)> {
        Some((Operation::Allreduce, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(pattern: &dyn Pattern, ranks: u32) -> u64 {
        let steps = (0..pattern.steps()).flat_map(|step| (0..ranks).map(move |src| (step, src)));
        steps.filter_map(|(step, src)| pattern.send(step, src)).map(|(_, bytes)| bytes).sum()
    }

    #[test]
    fn volumes_are_the_published_ones() {
        for ranks in 2..70u32 {
            let n = u64::from(ranks);
            let p = 1u64 << ranks.ilog2();
            let doubling = (p * u64::from(ranks.ilog2()) + 2 * (n - p)) * 999;
            assert_eq!(volume(&*build(ranks, 999), ranks), doubling, "{ranks}");
            assert_eq!(volume(&*build(ranks, 100_003), ranks), 2 * (n - 1) * 100_003, "{ranks}");
        }
    }

    /// Follows whose contributions each rank holds. The vector of a rank that stands aside is reset
    /// by the result it gets.
    #[test]
    fn everyone_ends_with_every_contribution() {
        for ranks in 2..40u32 {
            let pattern = build(ranks, 8);
            let mut holds: Vec<u64> = (0..ranks).map(|rank| 1 << rank).collect();
            for step in 0..pattern.steps() {
                let before = holds.clone();
                for src in 0..ranks {
                    if let Some((dst, _)) = pattern.send(step, src) {
                        holds[dst as usize] |= before[src as usize];
                    }
                }
            }
            assert!(holds.iter().all(|held| *held == (1 << ranks) - 1), "{ranks}: {holds:x?}");
        }
    }

    #[test]
    fn a_ring_reduces_a_part_and_spreads_it() {
        // Of a vector of one byte only part 0 has any, so a message with a byte carries part 0.
        for ranks in 2..40u32 {
            let ring = Ring { ranks, bytes: 1 };
            let mut holds: Vec<u64> = (0..ranks).map(|rank| 1 << rank).collect();
            for step in 0..ring.steps() {
                let sent = (0..ranks).find(|src| ring.send(step, *src).is_some_and(|(_, bytes)| bytes == 1));
                let src = sent.unwrap();
                holds[((src + 1) % ranks) as usize] |= holds[src as usize];
            }
            assert!(holds.iter().all(|held| *held == (1 << ranks) - 1), "{ranks}: {holds:x?}");
        }
    }
}
