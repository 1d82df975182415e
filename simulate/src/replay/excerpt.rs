//! What is known of a run message by message, on its way to scripts.

use phaseflow_collect::trace::{Call, Message, MessageBlock};
use phaseflow_collect::{At, Error, Result};
use phaseflow_segment::{Chosen, Margins, Occurrence, Place, Records, Segmentation, Span};

use super::collectives::is_replaceable;
use super::sampled::Sampled;
use super::{MOST_KNOWN, Sampling, Script, Transfer};

/// Messages and calls of a stretch of a run.
///
/// Memory: up to 72 bytes a message and 24 a call, until [`Script::new`] has made operations of them.
#[derive(Clone, Debug, Default)]
pub struct Excerpt {
    messages: MessageBlock,
    margin: MessageBlock,
    stays: Vec<Stay>,
    /// Calls that can be replaced.
    collectives: Vec<Call>,
}

/// A rank was inside MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    pub(super) rank: u32,
    pub(super) enter_ns: i64,
    /// [`i64::MAX`] if it never returned.
    pub(super) leave_ns: i64,
}

impl Excerpt {
    /// Adds what an archive holds.
    pub fn push(&mut self, records: Records<'_>) {
        match records {
            Records::Messages(block) => self.messages.append(block, 0..block.len()),
            Records::Margin(block) => self.margin.append(block, 0..block.len()),
            Records::Calls(calls) => calls.iter().for_each(|call| self.call(call)),
        }
    }

    /// Adds a message.
    pub fn message(&mut self, message: &Message) {
        self.messages.push(message);
    }

    /// Adds a call.
    pub fn call(&mut self, call: &Call) {
        let leave_ns = call.leave_ns.unwrap_or(i64::MAX).max(call.enter_ns);
        self.stays.push(Stay { rank: call.rank.0, enter_ns: call.enter_ns, leave_ns });
        if is_replaceable(call.operation) {
            self.collectives.push(*call);
        }
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// True without messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn messages(&self) -> &MessageBlock {
        &self.messages
    }

    pub(super) fn margin(&self) -> &MessageBlock {
        &self.margin
    }

    /// Adds a message that is posted outside: it says when ranks waited, and no more.
    pub fn outside(&mut self, message: &Message) {
        self.margin.push(message);
    }

    pub(super) fn collectives(&self) -> &[Call] {
        &self.collectives
    }

    pub(super) fn stays(&self) -> &[Stay] {
        &self.stays
    }
}

/// What the jobs of a workload replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// By phase: what happens in the occurrence that stands for all; `None` where nothing is known of it.
    pub of_phase: Vec<Option<Script>>,
    /// The whole run, split at the ends of the outermost occurrences; `None` where the archive does not hold it.
    pub whole: Option<Script>,
    /// What stands for all of the run.
    pub sampled: Option<Sampled>,
}

impl Recording {
    /// What stands for a phase.
    pub fn phase(&self, phase: usize) -> Option<&Script> {
        let only = || self.whole.as_ref().filter(|whole| phase == 0 && whole.stretches() == 1);
        self.of_phase.get(phase).and_then(Option::as_ref).or_else(only)
    }

    /// What the user should know of it, a sentence each.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        // The parts say what the whole says already.
        let parts = if self.whole.is_some() { &[][..] } else { &self.of_phase[..] };
        let windows = self.sampled.iter().filter(|_| self.whole.is_none()).map(|sampled| &sampled.script);
        let scripts = self.whole.iter().chain(windows).map(|script| (None, script));
        let parts =
            parts.iter().enumerate().filter_map(|(phase, script)| Some((Some(phase), script.as_ref()?)));
        scripts.chain(parts).filter_map(|(phase, script)| {
            let unmatched = script.unmatched()?;
            Some(phase.map_or(unmatched.clone(), |phase| format!("phase {phase}: {unmatched}")))
        })
    }

    /// What a job simulates at most, each message counted as `weight` says, and the most at a time.
    pub(crate) fn work(
        &self,
        segmentation: &Segmentation,
        sampling: Sampling,
        merged: bool,
        weight: impl Fn(&Transfer) -> u64,
    ) -> (u64, u64) {
        let messages = |script: &Script| script.messages().iter().map(&weight).sum::<u64>();
        if merged || sampling == Sampling::Off {
            let whole = self.whole.as_ref().map_or(0, messages);
            return (whole, whole);
        }
        if let Some(sampled) = &self.sampled {
            return (sampled.scripts().map(messages).sum(), messages(&sampled.script));
        }
        let phases = segmentation.phases.iter().enumerate();
        let of =
            phases.filter_map(|(number, phase)| Some((messages(self.phase(number)?), phase.occurrences)));
        of.fold((0, 0), |(sum, most), (messages, occurrences)| {
            (sum + messages.saturating_mul(occurrences.min(MOST_KNOWN)), most.max(messages))
        })
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        let windows = self.sampled.iter().flat_map(Sampled::scripts);
        self.of_phase.iter().flatten().chain(&self.whole).chain(windows).map(Script::memory).sum()
    }
}

/// Excerpts of a phase archive while it is read.
#[derive(Debug, Default)]
pub(crate) struct Excerpts {
    of_phase: Vec<Excerpt>,
    windows: Vec<Excerpt>,
    whole: Option<Excerpt>,
}

impl Excerpts {
    pub(crate) fn take(&mut self, place: Place, records: Records<'_>) {
        let (excerpts, number) = match place {
            Place::Run => return self.whole.get_or_insert_default().push(records),
            Place::Phase(number) => (&mut self.of_phase, number),
            Place::Window(number) => (&mut self.windows, number),
        };
        if excerpts.len() <= number {
            excerpts.resize_with(number + 1, Excerpt::default);
        }
        if let Some(excerpt) = excerpts.get_mut(number) {
            excerpt.push(records);
        }
    }

    /// Turns what was read into scripts. Where the archive holds the whole run, representatives and windows are cut out of it; `times` of a
    /// run that does not start at 0 are since `start_ns`.
    ///
    /// # Errors
    /// Ranks that the run does not have; more than 2³²−1 messages.
    pub(crate) fn into_recording(mut self, chosen: &Chosen, start_ns: i64) -> Result<Recording> {
        let Chosen { segmentation, representatives, samples } = chosen;
        let ranks = segmentation.header.ranks;
        let rows = &segmentation.occurrences;
        let outermost = || rows.iter().filter(|row| row.depth == 0);
        let span = |row: &Occurrence| Span { start_ns: row.start_ns, end_ns: row.end_ns };
        let last_ns = segmentation.header.duration_ns;
        // A run of one stretch stands for itself.
        if let Some(whole) = self.whole.as_ref().filter(|_| outermost().nth(1).is_some()) {
            let spans = representatives.iter().map(|row| row.and_then(|row| rows.get(row)).map(span));
            self.of_phase =
                whole.cut(&spans.map(Option::unwrap_or_default).collect::<Vec<_>>(), last_ns, start_ns);
        }
        if let (Some(whole), Some(samples)) = (&self.whole, samples) {
            self.windows = whole.cut(&samples.windows, last_ns, start_ns);
        }
        let mut recording = Recording::default();
        for (phase, row) in representatives.iter().enumerate() {
            let excerpt = self.of_phase.get_mut(phase).map(std::mem::take).unwrap_or_default();
            let occurrence = row.and_then(|row| rows.get(row));
            let is_known = |row: &&Occurrence| excerpt.len() as u64 == row.messages;
            let script = occurrence.filter(is_known).map(|row| {
                let span = (since(row.start_ns, start_ns), since(row.end_ns, start_ns));
                Script::new(&excerpt, ranks, span, &[]).at(|| format!("phase {phase}"))
            });
            recording.of_phase.push(script.transpose()?);
        }
        if let Some(samples) = samples.as_ref().filter(|samples| self.windows.len() <= samples.windows.len())
        {
            self.windows.resize_with(samples.windows.len(), Excerpt::default);
            recording.sampled = Sampled::new(segmentation, samples, &self.windows, start_ns)?;
        }
        if let Some(whole) = self.whole {
            let ends: Vec<i64> = outermost().map(|row| since(row.end_ns, start_ns)).collect();
            if let Some((last, inner)) = ends.split_last() {
                recording.whole = Some(Script::new(&whole, ranks, (start_ns, *last), inner)?);
            }
        }
        Ok(recording)
    }
}

impl Excerpt {
    /// Parts of it, each with what reaches into it; one that ends with the run, at `last_ns`, has what is posted then, too.
    pub(super) fn cut(&self, spans: &[Span], last_ns: Option<u64>, start_ns: i64) -> Vec<Self> {
        // The latest that a rank leaves a call that is entered by then.
        let mut latest = i64::MIN;
        let leaves: Vec<i64> = self
            .stays
            .iter()
            .map(|stay| {
                latest = latest.max(stay.leave_ns);
                latest
            })
            .collect();
        let part = |span: &Span| {
            let mut excerpt = Self::default();
            let (start, end) = (since(span.start_ns, start_ns), since(span.end_ns, start_ns));
            let end = if Some(span.end_ns) == last_ns { end.saturating_add(1) } else { end };
            let rows = self.posted(start, end);
            excerpt.messages.append(&self.messages, rows);
            let first = leaves.partition_point(|leave_ns| *leave_ns <= start);
            let stays = self.stays[first..].iter().take_while(|stay| stay.enter_ns < end);
            excerpt.stays.extend(stays.filter(|stay| stay.leave_ns > start));
            let overlaps =
                |call: &&Call| call.enter_ns < end && call.leave_ns.is_none_or(|leave| leave > start);
            excerpt.collectives.extend(self.collectives.iter().filter(overlaps));
            excerpt
        };
        let mut parts: Vec<Self> = spans.iter().map(part).collect();
        let margins = Margins::new(spans.iter().copied().enumerate());
        for message in self.messages.iter().chain(self.margin.iter()) {
            let shift = |time: i64| time.wrapping_sub(start_ns);
            let since = Message {
                send_post_ns: shift(message.send_post_ns),
                send_complete_ns: message.send_complete_ns.map(shift),
                receive_post_ns: message.receive_post_ns.map(shift),
                receive_complete_ns: message.receive_complete_ns.map(shift),
                ..message
            };
            margins.of(&since).for_each(|part| parts[part].outside(&message));
        }
        parts
    }

    /// Which messages are posted from `start` to before `end`, on their own clock.
    pub(super) fn posted(&self, start: i64, end: i64) -> std::ops::Range<usize> {
        let posts = &self.messages.columns().send_post_ns;
        let first = posts.partition_point(|time| *time < start);
        first..posts.partition_point(|time| *time < end).max(first)
    }
}

/// A time of a segmentation on the clock of the messages.
pub(super) fn since(time_ns: u64, start_ns: i64) -> i64 {
    start_ns.saturating_add_unsigned(time_ns)
}

pub(super) fn too_many() -> Error {
    Error::data("has more than 2^32-1 messages, more than a replay can tell apart")
}
