//! A walk through a program: the times and messages of all ranks, with disturbances.

use rand::Rng;

use super::chance::{Chance, numbers, skews};
use super::clocks::{Clocks, later};
use super::lookup::{Node, Round};
use super::stream::{Send, Stream, step_ns};
use super::tracker::{Name, Tracker};
use super::{Disturbance, LabelledRun, Pattern};
use crate::Result;
use crate::trace::{Operation, Sink};

/// Messages of noise that are generated at once, about: less than 100 KiB.
const SLICE: f64 = 1000.0;

/// The last operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Idle,
    Phase { outer: usize },
}

/// A program on its way.
pub(super) struct Walk<'a> {
    run: &'a LabelledRun,
    stream: Stream<'a>,
    /// Skew of each rank; empty without skew.
    behind: Vec<u64>,
    chance: Chance,
    clocks: Clocks,
    /// Messages of noise in a nanosecond, after the last round.
    noise_per_ns: f64,
    rounds: Vec<Round>,
    /// The pause before the next round.
    pause_ns: Option<u64>,
    before: Option<Before>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        run: &'a LabelledRun,
        rounds: Vec<Round>,
        sink: &'a mut dyn Sink,
        tracker: Tracker<'a>,
    ) -> Self {
        let Disturbance { jitter, noise, skew_ns, renumber, waits, imbalance, .. } = run.disturbance;
        let in_order =
            jitter == 0.0 && noise == 0.0 && skew_ns == 0 && imbalance == 0.0 && !renumber && !waits;
        let numbers = if renumber { numbers(run.ranks, run.seed) } else { Vec::new() };
        Self {
            run,
            stream: Stream::new(sink, tracker, in_order, numbers),
            behind: skews(skew_ns, run.ranks, run.seed),
            chance: Chance::new(run.disturbance, run.ranks, run.seed),
            clocks: Clocks::new(run.ranks, waits),
            noise_per_ns: 0.0,
            rounds,
            pause_ns: None,
            before: None,
        }
    }

    /// Walks through the whole program; the end of the run.
    pub(super) fn go(mut self, nodes: &[Node]) -> Result<i64> {
        self.all(nodes, 0)?;
        self.stream.finish(self.clocks.front())
    }

    /// `outer` is the outermost loop around, 0 if there is none.
    fn all(&mut self, nodes: &[Node], outer: usize) -> Result<()> {
        for node in nodes {
            match node {
                Node::Idle { name, ns } => self.idle(*name, *ns)?,
                Node::Loop { nodes, times, outer } => {
                    for _ in 0..*times {
                        self.all(nodes, *outer)?;
                    }
                }
                Node::Phase { round, name, level, rounds } => {
                    if let Some(Before::Phase { outer: last }) = self.before
                        && self.run.idle_between
                    {
                        // Between two passes of one loop it belongs to the loop.
                        let within = last == outer && outer != 0;
                        let name = Name { label: 0, outer: if within { outer } else { 0 } };
                        self.idle(name, self.run.idle_ns)?;
                    }
                    self.phase(*round, *name, *level, *rounds)?;
                    self.before = Some(Before::Phase { outer });
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self, name: Name, ns: u64) -> Result<()> {
        if ns == 0 {
            return Ok(());
        }
        self.pause_ns = None;
        self.clocks.synchronize();
        self.stream.begin(name, true);
        self.marks(0)?;
        self.before = Some(Before::Idle);
        let longer = self.chance.late(ns);
        self.pass(ns.saturating_add(longer), |_, _| 0)
    }

    fn phase(&mut self, round: usize, name: Name, level: i32, rounds: u64) -> Result<()> {
        let mut parts = std::mem::take(&mut self.rounds[round].parts);
        let mut stretch = 0;
        for number in 0..rounds {
            if let Some(ns) = self.pause_ns.take() {
                // Between two phases, the mean of their pauses.
                let own = parts.last().and_then(|part| part.gap_ns).unwrap_or(self.run.gap_ns);
                self.work(ns / 2 + own / 2 + (ns & own & 1))?;
            }
            if number == 0 {
                stretch = self.stream.begin(name, false);
                self.marks(level)?;
            }
            self.clocks.round();
            let grown = if rounds > 1 { number as f64 / (rounds - 1) as f64 } else { 0.0 };
            let begin = self.clocks.front();
            let mut messages = 0;
            let count = parts.len();
            for (part, left) in parts.iter_mut().zip((0..count).rev()) {
                part.pattern.begin_round();
                let growth = Growth(1.0 + part.drift * grown);
                messages += self.part(&*part.pattern, growth, stretch)?;
                match (part.gap_ns, left) {
                    (gap, 0) => self.pause_ns = Some(gap.unwrap_or(self.run.gap_ns)),
                    (Some(gap), _) => self.work(gap)?,
                    (None, _) => {}
                }
            }
            let ns = self.clocks.front().abs_diff(begin).saturating_add(self.pause_ns.unwrap_or(0));
            self.noise_per_ns = self.run.disturbance.noise * messages as f64 / ns.max(1) as f64;
        }
        self.rounds[round].parts = parts;
        Ok(())
    }

    /// A round of a pattern, or a part of one; its messages.
    fn part(&mut self, pattern: &dyn Pattern, growth: Growth, stretch: u64) -> Result<u64> {
        self.stream.release(self.clocks.front())?;
        let entered = self.calls(pattern, growth)?;
        let mut messages = 0;
        for step in 0..pattern.steps() {
            // Calls of the part are emitted later, at times from its beginning on.
            if entered.is_empty() {
                self.stream.release(self.clocks.front())?;
            }
            for src in 0..self.run.ranks {
                if let Some((dst, bytes)) = pattern.send(step, src) {
                    let operation = pattern.collective(src).map_or(Operation::default(), |(name, _)| name);
                    self.send((src, dst), growth.of(bytes), operation, stretch)?;
                    messages += 1;
                }
            }
            let from = self.clocks.front();
            let ns = self.clocks.step()?;
            self.make_noise(from, ns)?;
        }
        for (rank, enter) in (0..).zip(entered) {
            if let Some((operation, bytes)) = pattern.collective(rank) {
                self.stream.call((enter, self.at(rank)?), rank, (operation, growth.of(bytes)))?;
            }
        }
        Ok(messages)
    }

    fn send(
        &mut self,
        (src, dst): (u32, u32),
        nominal: u64,
        operation: Operation,
        stretch: u64,
    ) -> Result<()> {
        let late = self.chance.late(step_ns(nominal));
        let bytes = self.chance.size(nominal);
        let post = later(self.at(src)?, late)?;
        let receive_post_ns = self.at(dst)?;
        self.stream.send(
            post,
            src,
            Send { dst, bytes, operation, receive_post_ns, stretch: Some(stretch) },
        )?;
        self.clocks.sent((src, dst), late, nominal, bytes)
    }

    /// Adds noise at random times of `ns` from a time on.
    fn make_noise(&mut self, from: i64, ns: u64) -> Result<()> {
        if self.noise_per_ns == 0.0 {
            return Ok(());
        }
        let random = &mut self.chance.noise;
        // Random rounding, so that short steps get their share.
        let due = self.noise_per_ns * ns as f64 + random.gen_range(0.0..1.0);
        for _ in 0..due as u64 {
            let src = random.gen_range(0..self.run.ranks);
            let other = random.gen_range(0..self.run.ranks - 1);
            let dst = if other < src { other } else { other + 1 };
            let bytes = 2f64.powf(random.gen_range(6.0..16.0)) as u64;
            let post = later(from, random.gen_range(0..=ns.saturating_sub(1)))?;
            let operation = Operation::default();
            let send = Send { dst, bytes, operation, receive_post_ns: post, stretch: None };
            self.stream.send(post, src, send)?;
        }
        Ok(())
    }

    /// A collective operation as calls. In nominal time, a first walk over its steps finds its end.
    /// With clocks of their own, ranks have it afterwards; this returns the entry times.
    fn calls(&mut self, pattern: &dyn Pattern, growth: Growth) -> Result<Vec<i64>> {
        let ranks = self.run.ranks;
        if (0..ranks).all(|rank| pattern.collective(rank).is_none()) {
            return Ok(Vec::new());
        }
        if self.run.disturbance.waits {
            return (0..ranks).map(|rank| self.at(rank)).collect();
        }
        let (mut duration, mut longest) = (0u64, 0);
        for step in 0..pattern.steps() {
            let sent = (0..ranks).filter_map(|src| pattern.send(step, src));
            let ns = sent.map(|(_, bytes)| growth.of(bytes)).max().map_or(0, step_ns);
            duration = duration.saturating_add(ns);
            longest = longest.max(ns);
        }
        let late = (self.run.disturbance.jitter * longest as f64) as u64;
        for rank in 0..ranks {
            if let Some((operation, bytes)) = pattern.collective(rank) {
                let enter = self.at(rank)?;
                let leave = later(enter, duration.saturating_add(late))?;
                self.stream.call((enter, leave), rank, (operation, growth.of(bytes)))?;
            }
        }
        Ok(Vec::new())
    }

    fn marks(&mut self, level: i32) -> Result<()> {
        for rank in 0..self.run.ranks {
            let time = self.at(rank)?;
            self.stream.mark(time, rank, level)?;
        }
        Ok(())
    }

    /// A pause between rounds, in which ranks compute.
    fn work(&mut self, ns: u64) -> Result<()> {
        if self.run.disturbance.waits {
            return self.pass(0, |chance, rank| {
                let own = chance.irregular(ns);
                own.saturating_add(chance.late(ns)).saturating_add(chance.more_work(rank, own))
            });
        }
        let common = self.chance.irregular(ns);
        let longer = self.chance.late(common);
        self.pass(common.saturating_add(longer), |chance, rank| chance.more_work(rank, common))
    }

    /// All ranks pause for `common` and each for its own time, apart from noise.
    fn pass(&mut self, common: u64, own: impl Fn(&mut Chance, u32) -> u64) -> Result<()> {
        let mut from = self.clocks.front();
        let mut left = self.clocks.pause(common, |rank| own(&mut self.chance, rank))?;
        // A long pause is generated in slices, so that its noise needs little memory.
        while self.noise_per_ns > 0.0 && left > 0 {
            let slice = left.min((SLICE / self.noise_per_ns).ceil() as u64);
            self.stream.release(from)?;
            self.make_noise(from, slice)?;
            from = later(from, slice)?;
            left -= slice;
        }
        Ok(())
    }

    /// Time of a rank's next step.
    fn at(&self, rank: u32) -> Result<i64> {
        later(self.clocks.of(rank), self.behind.get(rank as usize).copied().unwrap_or(0))
    }
}

/// Growth of a drifting message.
#[derive(Clone, Copy)]
struct Growth(f64);

impl Growth {
    fn of(self, bytes: u64) -> u64 {
        #[allow(clippy::float_cmp, reason = "1 is what it is without drift, exactly")]
        if self.0 == 1.0 { bytes } else { (bytes as f64 * self.0) as u64 }
    }
}
