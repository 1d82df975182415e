//! Random draws of runs: patterns, sizes and lengths.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Result;
use crate::export::SummaryExport;
use crate::pattern::{Disturbance, LabelledRun, Program};

/// A run that is being drawn.
pub(super) struct Draw {
    pub(super) ranks: u32,
    /// Messages that are wanted.
    pub(super) messages: f64,
    pub(super) random: Xoshiro256PlusPlus,
    pub(super) items: Vec<String>,
    /// Time of all phases so far.
    pub(super) ns: u64,
    pub(super) disturbance: Disturbance,
}

/// Time of a typical round, nanoseconds: 64 KiB at [`BYTES_PER_NS`](crate::pattern::BYTES_PER_NS),
/// and half as much pause.
const TYPICAL_NS: f64 = 100_000.0;

/// A round as text, its messages and its time.
#[derive(Clone, Debug)]
pub(super) struct Round {
    text: String,
    messages: u64,
    pub(super) ns: u64,
}

impl Draw {
    /// Measures a round, or a pass of a loop, the pause after it included.
    pub(super) fn round(&self, text: &str) -> Result<Round> {
        let sums = |rounds: u64| -> Result<(u64, u64)> {
            let run = LabelledRun::new(Program::parse(&format!("{text}*{rounds}"))?, self.ranks);
            let summary = run.generate(&mut SummaryExport::new(std::io::sink()), &mut |_| Ok(()))?;
            Ok((summary.messages, summary.duration_ns.unwrap_or_default()))
        };
        let ((messages, one), (_, two)) = (sums(1)?, sums(2)?);
        Ok(Round { text: text.into(), messages, ns: two - one })
    }

    /// Rounds of a phase that make up a part of the run, at least `least`. Half of a part is
    /// messages, half is time, which is measured by rounds in which each rank sends a message in
    /// [`TYPICAL_NS`]: some patterns take long for few messages.
    pub(super) fn rounds(&mut self, round: &Round, part: f64, least: u64) -> String {
        let ranks = f64::from(self.ranks);
        let typical = (round.messages as f64 / ranks + round.ns as f64 / TYPICAL_NS) / 2.0;
        let rounds = ((self.messages / ranks * part / typical).round() as u64).max(least);
        self.ns = self.ns.saturating_add(round.ns.saturating_mul(rounds));
        format!("{}*{rounds}", round.text)
    }

    pub(super) fn phase(&mut self, round: &Round, part: f64) {
        let text = self.rounds(round, part, 3);
        self.items.push(text);
    }

    /// `count` of the patterns that all ranks take part in, with sizes and pauses, in random order.
    pub(super) fn patterns(&mut self, count: usize) -> Result<Vec<Round>> {
        // With more than some hundred ranks, all-to-all patterns are restricted to groups.
        let groups = (self.ranks / 64).max(1) as usize;
        let mut texts: Vec<String> = Vec::new();
        for name in [
            "shift",
            "halo2d",
            "halo3d",
            "transpose",
            "permutation",
            "bisection",
            "sweep",
            "incast",
            "random",
        ] {
            let bytes = self.bytes();
            let gap = self.gap();
            texts.push(format!("{name}[bytes={bytes},gap={gap}us]"));
        }
        let (bytes, gap) = (self.bytes(), self.gap());
        texts.push(vec![format!("alltoall[bytes={bytes},gap={gap}us]"); groups].join("|"));
        texts.push(format!("allreduce[bytes=4KiB,gap={gap}us]"));
        texts.shuffle(&mut self.random);
        texts.truncate(count);
        texts.iter().map(|text| self.round(text)).collect()
    }

    pub(super) fn bytes(&mut self) -> String {
        format!("{}KiB", 1 << self.random.gen_range(1..7))
    }

    pub(super) fn gap(&mut self) -> u32 {
        self.random.gen_range(20..200)
    }

    /// A sequence of distinct patterns, each between half and one and a half times its share.
    pub(super) fn sequence(&mut self, count: usize) -> Result<Vec<Round>> {
        let rounds = self.patterns(count)?;
        for round in &rounds {
            let part = self.random.gen_range(0.5..1.5) / count as f64;
            self.phase(round, part);
        }
        Ok(rounds)
    }

    /// Idle stretches between the phases so far, each half to one and a half times `part` of the
    /// time of all of them.
    pub(super) fn idle_after_each(&mut self, part: f64) {
        let items = std::mem::take(&mut self.items);
        let last = items.len().saturating_sub(1);
        for (i, item) in items.into_iter().enumerate() {
            self.items.push(item);
            if i < last {
                let ns = (self.ns as f64 * part * self.random.gen_range(0.5..1.5)) as u64;
                self.items.push(format!("idle[time={ns}ns]"));
            }
        }
    }
}
