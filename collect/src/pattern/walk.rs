//! A program on its way: who sends what when, disturbed as it is asked for.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::lookup::{Node, Round};
use super::stream::{Send, Stream, step_ns};
use super::tracker::{Name, Tracker};
use super::{Disturbance, LabelledRun, Pattern};
use crate::trace::{Operation, Sink};
use crate::{Error, Result};

/// Messages of noise that are made at once, about.
const SLICE: f64 = 1000.0;

/// What random numbers are for.
const SKEW: u32 = 1;
const JITTER: u32 = 2;
const NOISE: u32 = 3;

/// Random numbers of one seed for one purpose, independent of those for others.
fn stream_of(seed: u64, purpose: u32) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..purpose).for_each(|_| random.jump());
    random
}

/// Background traffic.
struct Noise {
    random: Xoshiro256PlusPlus,
    /// Messages in a nanosecond, after the last round.
    per_ns: f64,
}

/// What was done last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Idle,
    Phase { outer: usize },
}

/// A program on its way.
pub(super) struct Walk<'a> {
    run: &'a LabelledRun,
    stream: Stream<'a>,
    /// By how much each rank is late; empty if none is.
    behind: Vec<u64>,
    jitter: Xoshiro256PlusPlus,
    noise: Noise,
    rounds: Vec<Round>,
    now_ns: i64,
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
        let Disturbance { jitter, noise, skew_ns, .. } = run.disturbance;
        let tidy = jitter == 0.0 && noise == 0.0 && skew_ns == 0;
        let mut skew = stream_of(run.seed, SKEW);
        let late = (0..run.ranks).filter(|_| skew_ns > 0).map(|_| skew.gen_range(0..=skew_ns));
        Self {
            run,
            stream: Stream::new(sink, tracker, tidy),
            behind: late.collect(),
            jitter: stream_of(run.seed, JITTER),
            noise: Noise { random: stream_of(run.seed, NOISE), per_ns: 0.0 },
            rounds,
            now_ns: 0,
            pause_ns: None,
            before: None,
        }
    }

    /// Walks through the whole program; the end of the run.
    pub(super) fn go(mut self, nodes: &[Node]) -> Result<i64> {
        self.all(nodes, 0)?;
        self.stream.finish(self.now_ns)
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
        self.stream.begin(name, true);
        self.marks(0)?;
        self.before = Some(Before::Idle);
        self.pause(ns)
    }

    fn phase(&mut self, round: usize, name: Name, level: i32, rounds: u64) -> Result<()> {
        let mut parts = std::mem::take(&mut self.rounds[round].parts);
        let mut stretch = 0;
        for number in 0..rounds {
            if let Some(ns) = self.pause_ns.take() {
                // Between two phases half of the one's pause and half of the other's.
                let own = parts.last().and_then(|part| part.gap_ns).unwrap_or(self.run.gap_ns);
                self.pause(ns / 2 + own / 2 + (ns & own & 1))?;
            }
            if number == 0 {
                stretch = self.stream.begin(name, false);
                self.marks(level)?;
            }
            let grown = if rounds > 1 { number as f64 / (rounds - 1) as f64 } else { 0.0 };
            let begin = self.now_ns;
            let mut messages = 0;
            let count = parts.len();
            for (part, left) in parts.iter_mut().zip((0..count).rev()) {
                part.pattern.begin_round();
                let growth = Growth(1.0 + part.drift * grown);
                messages += self.part(&*part.pattern, growth, stretch)?;
                match (part.gap_ns, left) {
                    (gap, 0) => self.pause_ns = Some(gap.unwrap_or(self.run.gap_ns)),
                    (Some(gap), _) => self.pause(gap)?,
                    (None, _) => {}
                }
            }
            let ns = self.now_ns.abs_diff(begin).saturating_add(self.pause_ns.unwrap_or(0));
            self.noise.per_ns = self.run.disturbance.noise * messages as f64 / ns.max(1) as f64;
        }
        self.rounds[round].parts = parts;
        Ok(())
    }

    /// A round of a pattern, or a part of one; its messages.
    fn part(&mut self, pattern: &dyn Pattern, growth: Growth, stretch: u64) -> Result<u64> {
        self.calls(pattern, growth)?;
        let mut messages = 0;
        for step in 0..pattern.steps() {
            self.stream.release(self.now_ns)?;
            let mut largest = None;
            let mut sent = 0;
            for src in 0..self.run.ranks {
                if let Some((dst, bytes)) = pattern.send(step, src) {
                    let bytes = growth.of(bytes);
                    let operation = pattern.collective(src).map_or(Operation::default(), |(name, _)| name);
                    self.send(src, dst, bytes, operation, stretch)?;
                    largest = largest.max(Some(bytes));
                    sent += 1;
                }
            }
            let ns = largest.map_or(0, step_ns);
            self.make_noise(ns)?;
            self.advance(ns)?;
            messages += sent;
        }
        Ok(messages)
    }

    fn send(&mut self, src: u32, dst: u32, bytes: u64, operation: Operation, stretch: u64) -> Result<()> {
        let jitter = self.run.disturbance.jitter;
        let late = if jitter > 0.0 {
            (self.jitter.gen_range(0.0..jitter) * step_ns(bytes) as f64) as u64
        } else {
            0
        };
        let post = self.later(self.now_ns, self.behind(src).saturating_add(late))?;
        let receive_post_ns = self.later(self.now_ns, self.behind(dst))?;
        self.stream.send(post, src, Send { dst, bytes, operation, receive_post_ns, stretch: Some(stretch) })
    }

    /// Adds noise at random times of the next `ns`.
    fn make_noise(&mut self, ns: u64) -> Result<()> {
        if self.noise.per_ns == 0.0 {
            return Ok(());
        }
        // Rounded up or down by chance, so that short steps get their share.
        let due = self.noise.per_ns * ns as f64 + self.noise.random.gen_range(0.0..1.0);
        for _ in 0..due as u64 {
            let random = &mut self.noise.random;
            let src = random.gen_range(0..self.run.ranks);
            let other = random.gen_range(0..self.run.ranks - 1);
            let dst = if other < src { other } else { other + 1 };
            let bytes = 2f64.powf(random.gen_range(6.0..16.0)) as u64;
            let at = random.gen_range(0..=ns.saturating_sub(1));
            let post = self.later(self.now_ns, at)?;
            let operation = Operation::default();
            self.stream.send(
                post,
                src,
                Send { dst, bytes, operation, receive_post_ns: post, stretch: None },
            )?;
        }
        Ok(())
    }

    /// A collective operation as calls; a first walk over its steps tells when it ends.
    fn calls(&mut self, pattern: &dyn Pattern, growth: Growth) -> Result<()> {
        let ranks = self.run.ranks;
        if (0..ranks).all(|rank| pattern.collective(rank).is_none()) {
            return Ok(());
        }
        let (mut end, mut longest) = (self.now_ns, 0);
        for step in 0..pattern.steps() {
            let sent = (0..ranks).filter_map(|src| pattern.send(step, src));
            let ns = sent.map(|(_, bytes)| growth.of(bytes)).max().map_or(0, step_ns);
            end = self.later(end, ns)?;
            longest = longest.max(ns);
        }
        let end = self.later(end, (self.run.disturbance.jitter * longest as f64) as u64)?;
        for rank in 0..ranks {
            if let Some((operation, bytes)) = pattern.collective(rank) {
                let behind = self.behind(rank);
                let span = (self.later(self.now_ns, behind)?, self.later(end, behind)?);
                self.stream.call(span, rank, (operation, growth.of(bytes)))?;
            }
        }
        Ok(())
    }

    fn marks(&mut self, level: i32) -> Result<()> {
        for rank in 0..self.run.ranks {
            let time = self.later(self.now_ns, self.behind(rank))?;
            self.stream.mark(time, rank, level)?;
        }
        Ok(())
    }

    /// Nobody sends but noise.
    fn pause(&mut self, ns: u64) -> Result<()> {
        let jitter = self.run.disturbance.jitter;
        let longer = if jitter > 0.0 { (self.jitter.gen_range(0.0..jitter) * ns as f64) as u64 } else { 0 };
        let mut left = ns.saturating_add(longer);
        // A long pause is made bit by bit, so that its noise does not pile up.
        while self.noise.per_ns > 0.0 && left > 0 {
            let slice = left.min((SLICE / self.noise.per_ns).ceil() as u64);
            self.stream.release(self.now_ns)?;
            self.make_noise(slice)?;
            self.advance(slice)?;
            left -= slice;
        }
        self.advance(left)
    }

    fn behind(&self, rank: u32) -> u64 {
        self.behind.get(rank as usize).copied().unwrap_or(0)
    }

    fn advance(&mut self, ns: u64) -> Result<()> {
        self.now_ns = self.later(self.now_ns, ns)?;
        Ok(())
    }

    fn later(&self, time_ns: i64, ns: u64) -> Result<i64> {
        time_ns
            .checked_add_unsigned(ns)
            .ok_or_else(|| Error::usage("the run would last more than 2^63-1 ns (292 years)"))
    }
}

/// By what a drifting message has grown.
#[derive(Clone, Copy)]
struct Growth(f64);

impl Growth {
    fn of(self, bytes: u64) -> u64 {
        #[allow(clippy::float_cmp, reason = "1 is what it is without drift, exactly")]
        if self.0 == 1.0 { bytes } else { (bytes as f64 * self.0) as u64 }
    }
}
