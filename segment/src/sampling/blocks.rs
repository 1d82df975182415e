//! A run cut into blocks, of which a few are simulated for all.
//!
//! A block is some neighbouring innermost occurrences, up to where the phase that it began with
//! comes again: what comes in turn in the run comes in turn in each block, so what one phase leaves
//! to the next is in it, and the phases of an iteration are met together. An occurrence that is
//! long for itself is cut into pieces of about equal numbers of messages. Blocks of the same phases
//! are of a kind; the first and the last piece of a long occurrence are kinds of their own.

use std::collections::BTreeMap;
use std::ops::Range;

use super::critical::Critical;
use crate::samples::{Span, Traits};
use crate::second_pass::repeats::Repeat;
use crate::second_pass::representative::Representatives;
use crate::segmentation::{Occurrence, Segmentation};

/// A block ends, wherever it is, after this multiple of the messages that it is meant to have.
const MOST: u64 = 3;
/// Messages of a piece of something that comes again; a longer piece tells no more.
const ENOUGH: u64 = 2048;
/// A kind of whole occurrences with less than this part of the messages goes with one that has all
/// of its phases.
const RARE: u64 = 64;

/// An innermost occurrence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    phase: Option<u32>,
    span: Span,
    /// Messages of the run before it, and its own.
    before: u64,
    messages: u64,
    bytes: u64,
}

/// Some neighbouring rows, or a piece of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) rows: Range<usize>,
    /// Its messages, counted from the start of the run.
    pub(crate) messages: Range<u64>,
    pub(crate) span: Span,
}

/// Where a block lies in its occurrence. Ranks enter a phase and leave it further apart than they
/// are within it, so the first piece of an occurrence and the last one take another time than the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Position {
    /// It is all of it, or of several.
    Whole,
    First,
    Inner,
    Last,
}

/// Blocks of a kind are alike: the phases in them, in order, and where in an occurrence they are.
pub(crate) type Kind = (Vec<Option<u32>>, Position);

/// Blocks in a repeat of which this is the same are the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Content {
    repeat: usize,
    /// Where in a period it begins.
    offset: u64,
    /// What its rows are.
    parts: Vec<(Option<u32>, Traits)>,
}

/// The blocks of a run, in order.
pub(crate) struct Blocks<'a> {
    rows: Vec<Row>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) messages: u64,
    chosen: &'a Representatives,
    critical: Option<&'a Critical>,
}

impl<'a> Blocks<'a> {
    /// Blocks of about `size` messages.
    pub(crate) fn new(
        segmentation: &Segmentation,
        chosen: &'a Representatives,
        critical: Option<&'a Critical>,
        size: u64,
    ) -> Self {
        let mut run = Self { rows: Vec::new(), blocks: Vec::new(), messages: 0, chosen, critical };
        for (_, occurrence) in segmentation.leaves() {
            let Occurrence { phase, start_ns, end_ns, messages, bytes, .. } = *occurrence;
            run.rows.push(Row {
                phase,
                span: Span { start_ns, end_ns },
                before: run.messages,
                messages,
                bytes,
            });
            run.messages = run.messages.saturating_add(messages);
        }
        let mut open: Option<usize> = None;
        for number in 0..run.rows.len() {
            let row = run.rows[number];
            let first = open.map_or(row, |first| run.rows[first]);
            let so_far = row.before - first.before;
            let is_long = row.phase.is_some() && row.messages >= 2 * size;
            let comes_again = so_far >= size && row.phase == first.phase;
            if let Some(start) = open.filter(|_| is_long || comes_again || so_far >= MOST * size) {
                run.close(start..number);
                open = None;
            }
            if is_long {
                run.pieces(number, size);
            } else {
                open.get_or_insert(number);
            }
        }
        if let Some(start) = open {
            run.close(start..run.rows.len());
        }
        run
    }

    /// These rows are a block.
    fn close(&mut self, rows: Range<usize>) {
        let (first, last) = (self.rows[rows.start], self.rows[rows.end - 1]);
        self.blocks.push(Block {
            rows,
            messages: first.before..last.before + last.messages,
            span: Span { start_ns: first.span.start_ns, end_ns: last.span.end_ns },
        });
    }

    /// Cuts a row into blocks of about `size` messages; within a repeat, of whole periods.
    fn pieces(&mut self, number: usize, size: u64) {
        let row = self.rows[number];
        let end = row.before + row.messages;
        let mut cuts = vec![(row.before, row.span.start_ns)];
        let repeats = &self.chosen.repeats;
        let first = repeats.partition_point(|repeat| repeat.messages.end <= row.before);
        for repeat in repeats[first..].iter().take_while(|repeat| repeat.messages.start < end) {
            let step = size.min(ENOUGH).div_ceil(repeat.period);
            let until = repeat.messages.end.min(end);
            let after =
                |position: u64| position.saturating_sub(repeat.messages.start).div_ceil(repeat.period);
            let mut periods = after(cuts[cuts.len() - 1].0.max(repeat.messages.start));
            while repeat.messages.start + periods * repeat.period < until {
                let position = repeat.messages.start + periods * repeat.period;
                let time_ns = self.repeat_ns(repeat, periods);
                self.even(&mut cuts, (position, time_ns), size);
                periods += step;
            }
        }
        self.even(&mut cuts, (end, row.span.end_ns), size);
        for pair in cuts.windows(2) {
            let span = Span { start_ns: pair[0].1, end_ns: pair[1].1 };
            self.blocks.push(Block { rows: number..number + 1, messages: pair[0].0..pair[1].0, span });
        }
    }

    /// Cuts into equal pieces up to a place, unless that is where the last one was.
    fn even(&self, cuts: &mut Vec<(u64, u64)>, (position, time_ns): (u64, u64), size: u64) {
        let (from, from_ns) = cuts[cuts.len() - 1];
        let messages = position.saturating_sub(from);
        let pieces = (messages / size).max(1);
        for piece in 1..pieces {
            let inner = from + (u128::from(messages) * u128::from(piece) / u128::from(pieces)) as u64; // at most all
            let inner_ns = self.time_ns(inner);
            if cuts[cuts.len() - 1].1 < inner_ns && inner_ns < time_ns {
                cuts.push((inner, inner_ns));
            }
        }
        if messages > 0 && time_ns > from_ns {
            cuts.push((position, time_ns));
        }
    }

    /// The time from the start of the run to the end of `periods` periods of a repeat.
    fn repeat_ns(&self, repeat: &Repeat, periods: u64) -> u64 {
        let start_ns = repeat.start_ns.wrapping_sub(self.chosen.start_ns).cast_unsigned();
        start_ns.saturating_add(repeat.period_ns.saturating_mul(periods))
    }

    /// What a block is, with `before` messages before it and `after` messages after it; `None` if
    /// no other one can be the same.
    pub(crate) fn content(&self, block: usize, before: u64, after: u64) -> Option<Content> {
        let Range { start, end } = self.blocks[block].messages;
        let repeats = &self.chosen.repeats;
        let number = repeats.partition_point(|repeat| repeat.messages.end < end.saturating_add(after));
        let repeat =
            repeats.get(number).filter(|repeat| repeat.messages.start.saturating_add(before) <= start)?;
        // What is rounded differs from period to period.
        let exact = |traits: Traits| Traits { critical_ns: 0, ..traits };
        let parts = self.parts(block).map(|(phase, _, traits)| (phase, exact(traits))).collect();
        let offset = (start - repeat.messages.start) % repeat.period;
        Some(Content { repeat: number, offset, parts })
    }

    /// The time at which `position` messages of the run are posted, within the row of the next one.
    pub(crate) fn time_ns(&self, position: u64) -> u64 {
        let row = self.rows.partition_point(|row| row.before + row.messages <= position);
        let Some(row) = self.rows.get(row) else { return self.rows.last().map_or(0, |row| row.span.end_ns) };
        let length = u128::from(row.span.end_ns - row.span.start_ns);
        let evenly = || (length * u128::from(position - row.before) / u128::from(row.messages.max(1))) as u64; // at most the length
        let time_ns = self.chosen.ticks.time_ns(position).unwrap_or_else(|| row.span.start_ns + evenly());
        time_ns.clamp(row.span.start_ns, row.span.end_ns)
    }

    /// The stretches of a block and what is known of each.
    pub(crate) fn parts(&self, block: usize) -> impl Iterator<Item = (Option<u32>, Span, Traits)> {
        let block = &self.blocks[block];
        self.rows[block.rows.clone()].iter().zip(block.rows.clone()).map(|(row, number)| {
            let whole = Span { start_ns: row.span.start_ns, end_ns: row.span.end_ns };
            let span = Span {
                start_ns: whole.start_ns.max(block.span.start_ns),
                end_ns: whole.end_ns.min(block.span.end_ns),
            };
            let own = |position: u64| position.clamp(row.before, row.before + row.messages) - row.before;
            let bytes = |position: u64| {
                (u128::from(row.bytes) * u128::from(own(position)) / u128::from(row.messages.max(1))) as u64 // at most all
            };
            let Range { start, end } = block.messages;
            let is_whole = span == whole;
            let traits = Traits {
                duration_ns: span.end_ns - span.start_ns,
                messages: own(end) - own(start),
                bytes: if is_whole { row.bytes } else { bytes(end) - bytes(start) },
                critical_ns: self.critical_ns(number, start..end),
            };
            (row.phase, span, traits)
        })
    }

    /// How long a block takes, as far as that is known beforehand: how far the clocks of ranks go
    /// on, or how long it took.
    pub(crate) fn length_ns(&self, block: usize) -> u64 {
        match self.critical {
            Some(_) => self.parts(block).map(|(_, _, traits)| traits.critical_ns).sum(),
            None => self.blocks[block].span.end_ns - self.blocks[block].span.start_ns,
        }
    }

    /// Bytes of a block, and of a few messages around it in a long run.
    pub(crate) fn bytes(&self, block: usize) -> u64 {
        self.chosen.ticks.bytes_around(&self.blocks[block].messages)
    }

    /// True if it is known how far clocks of ranks go on.
    pub(crate) fn knows_critical(&self) -> bool {
        self.critical.is_some()
    }

    /// How far the clocks of ranks go on in the part of a row that lies in these messages.
    fn critical_ns(&self, number: usize, messages: Range<u64>) -> u64 {
        let (Some(critical), row) = (self.critical, self.rows[number]) else { return 0 };
        let [start, end] = [messages.start, messages.end]
            .map(|message| message.clamp(row.before, row.before + row.messages));
        let time_ns = critical.at(end) - critical.at(start);
        // What ranks compute while nobody sends shows when they send again.
        let before = number.checked_sub(1).map(|before| self.rows[before]);
        let idle = before.filter(|before| before.phase.is_none() && messages.start <= row.before);
        time_ns.saturating_sub(idle.map_or(0, |idle| idle.span.end_ns - idle.span.start_ns))
    }

    /// The window of a block with `before` messages before it and `after` after it, as time and as
    /// positions of messages.
    pub(crate) fn window(&self, block: usize, before: u64, after: u64) -> (Span, Span) {
        let block = &self.blocks[block];
        let first = block.messages.start.saturating_sub(before);
        let last = block.messages.end.saturating_add(after).min(self.messages);
        let start_ns = if first == 0 { 0 } else { self.time_ns(first).min(block.span.start_ns) };
        let end_ns = self.time_ns(last).max(block.span.end_ns);
        (Span { start_ns, end_ns }, Span { start_ns: first, end_ns: last })
    }

    /// For each phase the occurrence that stands for it, and those of the others that are nearest
    /// to it and farthest from it: the blocks of each, of which one is enough.
    pub(crate) fn notable(&self, segmentation: &Segmentation) -> Vec<Vec<usize>> {
        let Representatives { of_phase, deviation, .. } = self.chosen;
        let mut others: BTreeMap<u32, Vec<(u64, usize)>> = BTreeMap::new();
        let mut notable = Vec::new();
        for (number, (row, occurrence)) in segmentation.leaves().enumerate() {
            let Some(phase) = occurrence.phase else { continue };
            if of_phase.get(phase as usize).copied().flatten() == Some(row) {
                notable.push(self.blocks_of(number).collect());
            } else if let Some(deviation) = deviation.get(row).copied().flatten() {
                // Millionths, as the archive has them.
                others.entry(phase).or_default().push(((deviation * 1e6).round() as u64, number));
            }
        }
        for others in others.into_values() {
            let least = others.iter().map(|other| other.0).min();
            let most = others.iter().map(|other| other.0).max();
            for extreme in [least, most] {
                let rows = others.iter().filter(|other| Some(other.0) == extreme).map(|other| other.1);
                notable.push(rows.flat_map(|row| self.blocks_of(row)).collect());
            }
        }
        notable
    }

    /// The blocks that a row is in.
    fn blocks_of(&self, row: usize) -> impl Iterator<Item = usize> {
        let first = self.blocks.partition_point(|block| block.rows.end <= row);
        let blocks = self.blocks[first..].iter().take_while(move |block| block.rows.start <= row);
        (first..).zip(blocks).map(|(number, _)| number)
    }

    /// The phases of a block, in order.
    pub(crate) fn phases(&self, block: usize) -> Vec<Option<u32>> {
        let mut phases: Vec<Option<u32>> =
            self.rows[self.blocks[block].rows.clone()].iter().map(|row| row.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        phases
    }

    fn position(&self, block: usize) -> Position {
        let Block { rows, messages, .. } = &self.blocks[block];
        let (first, last) = (self.rows[rows.start], self.rows[rows.end - 1]);
        match (messages.start == first.before, messages.end == last.before + last.messages) {
            (true, true) => Position::Whole,
            (true, false) => Position::First,
            (false, true) => Position::Last,
            (false, false) => Position::Inner,
        }
    }

    /// Blocks by their kinds. Rare ones that are no edge of a long occurrence go with those that
    /// have more phases, or with its pieces.
    pub(crate) fn kinds(&self) -> BTreeMap<Kind, Vec<usize>> {
        let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for block in 0..self.blocks.len() {
            kinds.entry((self.phases(block), self.position(block))).or_default().push(block);
        }
        let messages = |blocks: &[usize]| -> u64 {
            blocks.iter().map(|block| &self.blocks[*block].messages).map(|of| of.end - of.start).sum()
        };
        let mut rare: Vec<(u64, Kind)> = kinds
            .iter()
            .filter(|((_, position), _)| *position == Position::Whole)
            .map(|(kind, blocks)| (messages(blocks), kind.clone()))
            .filter(|(messages, _)| *messages < self.messages / RARE)
            .collect();
        rare.sort_unstable();
        for (_, kind) in rare {
            let has_all = |other: &&Kind| {
                matches!(other.1, Position::Whole | Position::Inner)
                    && **other != kind
                    && kind.0.iter().all(|phase| other.0.binary_search(phase).is_ok())
            };
            let host = kinds.keys().filter(has_all).min_by_key(|other| other.0.len()).cloned();
            if let (Some(host), Some(mut blocks)) = (host, kinds.get(&kind).cloned()) {
                kinds.remove(&kind);
                let all = kinds.entry(host).or_default();
                all.append(&mut blocks);
                all.sort_unstable();
            }
        }
        kinds
    }
}
