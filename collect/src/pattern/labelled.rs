//! Runs whose phases are known, undisturbed or as untidy as real ones.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Pattern;
use super::program::{Item, Phase, Program, Spec};
use super::side_by_side::SideBySide;
use super::stream::{Send, Stream, step_ns};
use super::truth::{Name, Tracker, TrueStretch};
use crate::trace::{Header, Kind, Operation, RunFacts, Sink, Summary};
use crate::{Error, Result};

/// What makes a run untidy; all zero by default.
///
/// All times of a run are nominal (see [`LabelledRun`]), and what follows is added to them. Nobody waits for those who are late: a
/// disturbed run lasts as long as a tidy one, plus at most the delay of its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Each message is posted late by a random time, uniform from 0 to this many times its own duration; each pause is
    /// longer by up to this part of itself.
    pub jitter: f64,
    /// Messages between random ranks, of 64 B to 64 KiB, for each message of the program. They come at random times, pauses
    /// included, at the rate that the round before gives; so there are none in the first round.
    pub noise: f64,
    /// By how much of itself a message grows from the first round of a stretch to the last, in equal steps.
    pub drift: f64,
    /// Each rank runs behind by its own constant time, uniform from 0 to this.
    pub skew_ns: u64,
}

/// A run of a [`Program`].
///
/// Time is nominal: in a step all ranks post at once; a message of B bytes has left after B ns
/// ([`BYTES_PER_NS`](super::BYTES_PER_NS)) and arrived after B + 1000 ns ([`OVERHEAD_NS`](super::OVERHEAD_NS)); the next step
/// starts when the last message has arrived. Between two rounds lies a pause. The run ends with the last arrival, so bytes over
/// duration is the rate that was meant. Wrong where contention matters: the network is pf-simulate's business.
///
/// Every rank sets a [`Mark`](crate::trace::Mark) when a phase begins; its level is the position, from 1, at which the phase is named
/// first in the program, and 0 for a pause. A round that is a collective operation is a [`Call`](crate::trace::Call) of every rank,
/// too.
///
/// Phases of the same text are the same phase: the same permutation, wherever they come.
#[derive(Clone, Debug)]
pub struct LabelledRun {
    /// What to do.
    pub program: Program,
    /// Number of ranks, at least 2.
    pub ranks: u32,
    /// What each rank contributes, unless the program says; see the [table](super).
    pub bytes: u64,
    /// Rounds of each phase, unless the program says.
    pub repeat: u64,
    /// Pause between two rounds, unless the program says.
    pub gap_ns: u64,
    /// Length of pauses without a time.
    pub idle_ns: u64,
    /// True if there is an idle stretch between any two phases, too.
    pub idle_between: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// What makes it untidy.
    pub disturbance: Disturbance,
}

/// The largest jitter and noise, in messages per message.
const MOST_DISTURBED: f64 = 1000.0;

impl LabelledRun {
    /// A tidy run of `program` with 64 KiB messages, one round each, without pauses, seed 1.
    pub fn new(program: Program, ranks: u32) -> Self {
        Self {
            program,
            ranks,
            bytes: 64 << 10,
            repeat: 1,
            gap_ns: 0,
            idle_ns: 0,
            idle_between: false,
            seed: 1,
            disturbance: Disturbance::default(),
        }
    }

    /// Writes the run into `sink` and hands each stretch of its truth to `truth`, in order; neighbours may have the same label.
    ///
    /// Memory: the program, a few bytes a rank, and the messages that are late (at most 2²⁴).
    ///
    /// # Errors
    /// A pattern that does not exist for this number of ranks, a disturbance that is negative or not a number, a run of
    /// more than 2⁶³−1 ns, too many late messages, or what the sink or `truth` says.
    pub fn generate(
        &self,
        sink: &mut dyn Sink,
        truth: &mut dyn FnMut(&TrueStretch<'_>) -> Result<()>,
    ) -> Result<Summary> {
        self.check()?;
        let mut plan = Plan { run: self, rounds: Vec::new(), names: vec!["idle".into()], leaves: 0 };
        let nodes =
            self.program.items.iter().map(|item| plan.node(item, None)).collect::<Result<Vec<_>>>()?;
        sink.begin(&Header::new(Kind::Timed, format!("pattern {}", self.program.text())))?;
        let Disturbance { jitter, noise, skew_ns, .. } = self.disturbance;
        let tidy = jitter == 0.0 && noise == 0.0 && skew_ns == 0;
        let mut skew = stream_of(self.seed, SKEW);
        let mut walk = Walk {
            run: self,
            stream: Stream::new(sink, Tracker::new(&plan.names, truth), tidy),
            behind: if skew_ns == 0 {
                Vec::new()
            } else {
                (0..self.ranks).map(|_| skew.gen_range(0..=skew_ns)).collect()
            },
            jitter: stream_of(self.seed, JITTER),
            noise: Noise { random: stream_of(self.seed, NOISE), due: 0.0, per_ns: 0.0 },
            rounds: plan.rounds,
            now_ns: 0,
            pause_ns: None,
            before: None,
        };
        walk.all(&nodes, 0)?;
        let (stream, now) = (walk.stream, walk.now_ns);
        let end = stream.finish(now)?;
        sink.finish(&RunFacts { ranks: Some(self.ranks), span_ns: Some((0, end)), ..RunFacts::default() })
    }

    fn check(&self) -> Result<()> {
        let Disturbance { jitter, noise, drift, .. } = self.disturbance;
        for (name, value, least, most) in [
            ("jitter", jitter, 0.0, MOST_DISTURBED),
            ("noise", noise, 0.0, MOST_DISTURBED),
            ("drift", drift, -1.0, 1e6),
        ] {
            if !(least..=most).contains(&value) {
                return Err(Error::usage(format!("{name} is {value}, expected {least} to {most}")));
            }
        }
        Ok(())
    }
}

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

/// The program with everything looked up.
enum Node {
    Phase { round: usize, name: Name, level: i32, rounds: u64 },
    Idle { name: Name, ns: u64 },
    Loop { nodes: Vec<Node>, times: u64, outer: usize },
}

/// One round of a phase.
struct Round {
    /// Index of the phase's name.
    label: usize,
    level: i32,
    parts: Vec<Part>,
}

struct Part {
    pattern: Box<dyn Pattern>,
    /// Pause after it, if it has its own.
    gap_ns: Option<u64>,
    drift: f64,
}

/// Looks up what a program names.
struct Plan<'a> {
    run: &'a LabelledRun,
    rounds: Vec<Round>,
    /// Names of phases and loops; the first is idle.
    names: Vec<String>,
    leaves: i32,
}

impl Plan<'_> {
    /// `outer` is the outermost loop around, if there is one.
    fn node(&mut self, item: &Item, outer: Option<usize>) -> Result<Node> {
        Ok(match item {
            Item::Idle(ns) => Node::Idle {
                name: Name { label: 0, outer: outer.unwrap_or(0) },
                ns: ns.unwrap_or(self.run.idle_ns),
            },
            Item::Loop(inner) => {
                let outer = outer.unwrap_or_else(|| self.name(&inner.label));
                let nodes = inner.items.iter().map(|item| self.node(item, Some(outer)));
                Node::Loop { nodes: nodes.collect::<Result<_>>()?, times: inner.times, outer }
            }
            Item::Phase(phase) => {
                self.leaves = self.leaves.saturating_add(1);
                let label = self.name(&phase.label);
                let known = self.rounds.iter().position(|round| round.label == label);
                if known.is_none() {
                    let parts = self.parts(phase)?;
                    self.rounds.push(Round { label, level: self.leaves, parts });
                }
                let round = known.unwrap_or(self.rounds.len() - 1);
                Node::Phase {
                    round,
                    name: Name { label, outer: outer.unwrap_or(label) },
                    level: self.rounds[round].level,
                    rounds: phase.rounds.unwrap_or(self.run.repeat),
                }
            }
        })
    }

    fn name(&mut self, text: &str) -> usize {
        self.names.iter().position(|name| name == text).unwrap_or_else(|| {
            self.names.push(text.into());
            self.names.len() - 1
        })
    }

    fn parts(&self, phase: &Phase) -> Result<Vec<Part>> {
        let run = self.run;
        let build = |spec: &Spec, ranks: u32| {
            spec.name.build(ranks, spec.bytes.unwrap_or(run.bytes), spec.seed.unwrap_or(run.seed))
        };
        let part = |specs: &Vec<Spec>| {
            let pattern = match &specs[..] {
                [spec] => build(spec, run.ranks)?,
                several => Box::new(SideBySide::new(run.ranks, several.len(), |(i, ranks)| {
                    build(&several[i], ranks)
                })?),
            };
            // Side by side the largest counts.
            let drifts = specs.iter().filter_map(|spec| spec.drift);
            let drift = drifts.reduce(f64::max).unwrap_or(run.disturbance.drift);
            Ok(Part { pattern, gap_ns: specs.iter().filter_map(|spec| spec.gap_ns).max(), drift })
        };
        phase.parts.iter().map(part).collect()
    }
}

/// Background traffic.
struct Noise {
    random: Xoshiro256PlusPlus,
    /// Messages that are due, in parts of one.
    due: f64,
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
struct Walk<'a> {
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

impl Walk<'_> {
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
                self.pause(ns)?;
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
        self.noise.due += self.noise.per_ns * ns as f64;
        while self.noise.due >= 1.0 {
            self.noise.due -= 1.0;
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
