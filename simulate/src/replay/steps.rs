//! Steps of a critical path: the longest ones, with the delays of its messages.

use super::active::ActiveReplay;
use super::transport::Transport;
use crate::engine::Picoseconds;
use crate::flow::{Delay, DelaySums, Loss, Pair};
use crate::result::StepKind;
use crate::topology::LinkId;

/// The steps of a critical path and the delays of its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The longest steps of each stretch, in order of time.
    pub steps: Vec<Step>,
    /// By stretch: delays of the path's messages, by link and job, where requested and known. The
    /// rest of the path's time in the network is latency.
    pub delays: Option<Vec<DelaySums>>,
}

/// A part of a critical path within one stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The stretch.
    pub stretch: usize,
    /// What happened.
    pub kind: StepKind,
    /// The rank: a message's sender, or the rank that joined a sum in the network last.
    pub rank: u32,
    /// The receiver of a message.
    pub peer: Option<u32>,
    /// Since the replay began.
    pub start: Picoseconds,
    /// Likewise.
    pub end: Picoseconds,
    /// Sent messages.
    pub bytes: Option<u64>,
    /// The link of the longest delay.
    pub link: Option<LinkId>,
    /// Time lost to other flows, picoseconds; `None` unless requested.
    pub shared: Option<f64>,
    /// The job that it lost most to.
    pub by: Option<u32>,
    /// The competing pair of that job, sender and receiver, on the link of the largest loss.
    pub by_ranks: Option<Pair>,
    /// Its number among the messages of the replay.
    pub message: Option<u32>,
}

impl Details {
    /// The steps of a stretch.
    pub fn steps_of(&self, stretch: usize) -> &[Step] {
        let before = |stretch: usize| self.steps.partition_point(|step| step.stretch < stretch);
        &self.steps[before(stretch)..before(stretch + 1)]
    }
}

impl Step {
    /// Its length.
    pub fn time(&self) -> Picoseconds {
        self.end - self.start
    }
}

/// Drops all but the `most` longest; of equal ones the first stay.
pub(crate) fn keep_longest(steps: &mut Vec<Step>, most: usize) {
    if steps.len() > most {
        steps.sort_by_key(|step| (std::cmp::Reverse(step.time()), step.start));
        steps.truncate(most);
    }
}

/// Collects the steps of a path from its end to its beginning.
pub(super) struct StepCollector<'a> {
    replay: &'a ActiveReplay<'a>,
    most: usize,
    /// Of the stretch that the path is in.
    steps: Vec<Step>,
    stretch: usize,
    details: Details,
}

/// The place of a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Rank(u32),
    /// A message or a sum; numbers of sums follow those of messages.
    Message(u32),
}

impl<'a> StepCollector<'a> {
    pub(super) fn new(replay: &'a ActiveReplay<'a>, most: u32) -> Self {
        let delays = replay.delays.as_ref().map(|_| vec![DelaySums::default(); replay.boundaries.len() + 1]);
        let details = Details { steps: Vec::new(), delays };
        Self { replay, most: most as usize, steps: Vec::new(), stretch: replay.boundaries.len(), details }
    }

    /// Adds the part of the path from `start` to `end`, within one stretch.
    pub(super) fn step(&mut self, stretch: usize, start: Picoseconds, end: Picoseconds, place: Place) {
        if stretch != self.stretch {
            self.end_stretch();
            self.stretch = stretch;
        }
        let (start, end) = (start - self.replay.began, end - self.replay.began);
        let mut step = Step {
            stretch,
            kind: StepKind::Rank,
            rank: 0,
            peer: None,
            start,
            end,
            bytes: None,
            link: None,
            shared: None,
            by: None,
            by_ranks: None,
            message: None,
        };
        match place {
            Place::Rank(rank) => step.rank = rank,
            Place::Message(number) if self.replay.is_sum(number) => {
                let number = number as usize - self.replay.messages.len();
                step.kind = StepKind::Sum;
                step.rank = self.replay.sums.of[number].last.0;
                step.bytes = Some(self.replay.operations.collectives()[number].bytes);
            }
            Place::Message(number) => {
                let message = &self.replay.operations.messages()[number as usize];
                step.kind = StepKind::Message;
                (step.rank, step.peer, step.bytes) = (message.src, Some(message.dst), Some(message.bytes));
                step.message = Some(number);
                self.blame(&mut step, number as usize);
            }
        }
        if self.most > 0 {
            self.steps.push(step);
        }
        if self.steps.len() > 2 * self.most {
            keep_longest(&mut self.steps, self.most);
        }
    }

    /// Adds the delays of a message; if only a part of it is in the stretch, in proportion.
    fn blame(&mut self, step: &mut Step, number: usize) {
        let (Some(delays), Some(sums)) = (&self.replay.delays, &mut self.details.delays) else { return };
        let message = &self.replay.messages[number];
        let part = step.time() as f64 / (message.arrived - message.started).max(1) as f64;
        let mut by_link: Vec<(LinkId, f64)> = Vec::new();
        let mut by_job: Vec<(u32, f64)> = Vec::new();
        for delay in &delays[number] {
            sums[step.stretch].add(delay, part);
            let Delay { link, by, time } = delay;
            link.iter().for_each(|link| add(&mut by_link, *link, time * part));
            by.iter().for_each(|by| add(&mut by_job, *by, time * part));
        }
        step.link = longest(&by_link);
        step.shared = Some(by_job.iter().map(|(_, time)| time).sum());
        step.by = longest(&by_job);
    }

    fn end_stretch(&mut self) {
        keep_longest(&mut self.steps, self.most);
        self.details.steps.append(&mut self.steps);
    }

    pub(super) fn finish<T: Transport>(mut self, transport: &T) -> Details {
        self.end_stretch();
        // Stretches follow each other, so this is their order too.
        self.details.steps.sort_by_key(|step| step.start);
        let losses = self.details.steps.iter_mut().filter_map(|step| Some((loss(self.replay, step)?, step)));
        let (losses, steps): (Vec<Loss>, Vec<&mut Step>) = losses.unzip();
        for (step, competing_pairs) in steps.into_iter().zip(transport.competing_pairs(&losses)) {
            step.by_ranks = competing_pairs;
        }
        self.details
    }
}

/// The largest loss of a step: the job and the link with the most lost time.
fn loss(replay: &ActiveReplay<'_>, step: &Step) -> Option<Loss> {
    let (number, by) = (step.message? as usize, step.by?);
    let delays = &replay.delays.as_ref()?[number];
    let of_job = delays.iter().filter(|delay| delay.by == Some(by));
    let link = of_job.rev().max_by(|a, b| a.time.total_cmp(&b.time))?.link?;
    let (message, transfer) = (&replay.messages[number], &replay.operations.messages()[number]);
    // The message shares links at its end, after its latency.
    let shared = delays.iter().map(|delay| delay.time).sum::<f64>();
    let since = message.arrived as f64 - shared;
    let from = since.max((replay.began + step.start) as f64);
    let to = ((replay.began + step.end) as f64).max(from);
    let own = ((transfer.src, transfer.dst), transfer.bytes as f64 * (to - from) / shared);
    Some(Loss { link, by, from, to, own: (by == replay.job).then_some(own) })
}

fn add<K: PartialEq>(sums: &mut Vec<(K, f64)>, key: K, time: f64) {
    match sums.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum += time,
        None => sums.push((key, time)),
    }
}

/// The first of equal ones.
fn longest<K: Copy>(sums: &[(K, f64)]) -> Option<K> {
    sums.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(key, _)| *key)
}
