//! First pass: what a run holds, in bounded space.

use std::collections::HashMap;
use std::ops::Range;

use phaseflow_collect::trace::{
    Block, Details, Kind, Mark, MessageBlock, Summary, TraceReader, UnmatchedReceives,
};
use phaseflow_collect::{Error, MatrixBuilder, Result, TrafficMatrix};

use crate::first_pass::rounds::windows::{FirstPass, Rounds};
use crate::first_pass::sections::{Section, Sections};
use crate::first_pass::window::Windows;
use crate::first_pass::window::sketch::Sketch;
use crate::input::Rewindable;

/// What the first pass found.
#[derive(Debug)]
pub(crate) struct Survey {
    /// Where the trace comes from.
    pub(crate) source: String,
    /// Number of ranks.
    pub(crate) ranks: u32,
    /// Receives without a known send.
    pub(crate) unmatched_receives: UnmatchedReceives,
    /// The rest.
    pub(crate) content: Content,
}

/// A run in time, or its sums.
#[derive(Debug)]
pub(crate) enum Content {
    /// Messages with times.
    Timed(Box<Run>),
    /// Messages in an order that each rank's program allows; their times are positions in it.
    Ordered(Box<Run>),
    /// One matrix, and the length of the run if the source knew it.
    Aggregate(TrafficMatrix, Option<u64>),
}

/// A run in time, as methods see it.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its start on the trace's clock.
    pub(crate) start_ns: i64,
    /// Its length.
    pub(crate) duration_ns: u64,
    /// Messages.
    pub(crate) messages: u64,
    /// Its windows; empty if nobody asked for them.
    pub(crate) windows: Windows,
    /// Its windows along rounds and its silences; empty if nobody asked for them.
    pub(crate) rounds: Rounds,
    /// What lies between barriers of all ranks; empty if nobody asked for it, or if there are none.
    pub(crate) sections: Vec<Section>,
    /// When the last rank entered each of these barriers, if they are not very many.
    pub(crate) barriers_ns: Vec<i64>,
    /// When marks changed.
    pub(crate) changes: Vec<Change>,
}

impl Run {
    /// When each window begins that holds messages, and what they look like; in order.
    pub(crate) fn sketches(&self) -> impl Iterator<Item = (u64, &Sketch)> {
        let equal = self.windows.all().iter().filter(|window| window.messages > 0);
        let equal = equal.map(|window| (window.first_ns, &window.sketch));
        let rounds = self.rounds.windows.iter().map(|window| (window.first_ns, &window.sketch));
        let (equal, rounds) =
            if self.rounds.windows.is_empty() { (Some(equal), None) } else { (None, Some(rounds)) };
        let all = equal.into_iter().flatten().chain(rounds.into_iter().flatten());
        all.map(|(first_ns, sketch)| (self.since_start(first_ns), sketch))
    }

    /// When the last rank entered each barrier that all pass in this time since the start of the
    /// run.
    pub(crate) fn barriers(&self, span_ns: Range<u64>) -> impl Iterator<Item = u64> {
        let before = |end_ns: u64| self.barriers_ns.partition_point(|time| self.since_start(*time) < end_ns);
        let times = self.barriers_ns.get(before(span_ns.start)..before(span_ns.end)).unwrap_or_default();
        times.iter().map(|time| self.since_start(*time))
    }

    /// Nanoseconds from the start of the run to `time_ns`, which is not before it. The very end of
    /// the run, where nothing can begin any more, counts as its last nanosecond.
    pub(crate) fn since_start(&self, time_ns: i64) -> u64 {
        let since = time_ns.wrapping_sub(self.start_ns).cast_unsigned();
        since.min(self.duration_ns.saturating_sub(1))
    }
}

/// The first of all ranks sets a mark; the others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// When.
    pub(crate) time_ns: i64,
    /// What it sets.
    pub(crate) level: i32,
}

/// Windows that the first pass makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cuts {
    /// None.
    Nothing,
    /// Equal windows, at most this number.
    Equal(usize),
    /// Along rounds, for the method of that name.
    Rounds,
}

impl Survey {
    /// Reads `trace` once, cutting it as `cuts` says. Before, windows along rounds need the size of
    /// the run, for which no block is looked into.
    pub(crate) fn new(trace: &mut dyn Rewindable, cuts: Cuts) -> Result<Self> {
        let nothing = Reading::default();
        match cuts {
            Cuts::Nothing => nothing.read(trace),
            Cuts::Equal(windows) => Reading { windows: Some(Windows::new(windows)), ..nothing }.read(trace),
            Cuts::Rounds => {
                let first_pass = Some(first_pass(trace)?);
                Reading { first_pass, sections: Some(Sections::default()), ..nothing }.read(trace)
            }
        }
    }
}

/// What the first pass makes of the blocks of a trace; `None` where nobody asked for it.
#[derive(Default)]
struct Reading {
    windows: Option<Windows>,
    first_pass: Option<FirstPass>,
    /// What lies between barriers.
    sections: Option<Sections>,
    marks: Marks,
    matrix: MatrixBuilder,
    /// When the first and the last message were posted.
    span: Option<(i64, i64)>,
}

impl Reading {
    /// Reads a trace once.
    fn read(mut self, trace: &mut dyn Rewindable) -> Result<Survey> {
        let mut reader = TraceReader::open(trace.rewind()?)?.with_details(Details::default());
        let header = reader.header().clone();
        while let Some(block) = reader.next_block()? {
            match block {
                Block::Messages(block) => self.add_messages(block),
                Block::Marks(block) => block.iter().for_each(|mark| self.marks.add(*mark)),
                Block::Matrix(cells) => cells.iter().try_for_each(|cell| self.matrix.add(*cell))?,
                Block::Calls(calls) => {
                    if let Some(sections) = &mut self.sections {
                        sections.add_calls(calls);
                    }
                }
                Block::Sizes(_) => {}
            }
        }
        let summary = reader.summary().cloned().unwrap_or_default();
        let content = match header.kind {
            Kind::Aggregate => Content::Aggregate(self.matrix.finish(), summary.duration_ns),
            Kind::Timed => Content::Timed(Box::new(self.finish(&summary)?)),
            Kind::Ordered => Content::Ordered(Box::new(self.finish(&summary)?)),
        };
        let Summary { ranks, unmatched_receives, .. } = summary;
        Ok(Survey { source: header.source, ranks, unmatched_receives, content })
    }

    fn add_messages(&mut self, block: &MessageBlock) {
        let times = &block.columns().send_post_ns;
        if let (Some(first), Some(last)) = (times.first(), times.last()) {
            self.span = Some((self.span.map_or(*first, |span| span.0), *last));
        }
        if let Some(windows) = &mut self.windows {
            windows.add(block);
        }
        let barriers_ns = self.sections.as_mut().map(|sections| sections.add(block)).unwrap_or_default();
        if let Some(first_pass) = &mut self.first_pass {
            first_pass.meet(&barriers_ns);
            first_pass.add(block);
        }
    }

    /// The run, when all blocks are read.
    fn finish(self, summary: &Summary) -> Result<Run> {
        let changes = self.marks.changes;
        let of_messages = [self.span.map(|span| span.0), self.span.map(|span| span.1)];
        let known = [summary.start_ns, summary.end_ns].into_iter().chain(of_messages).flatten();
        let times = known.chain(changes.iter().map(|change| change.time_ns));
        let (first, last) = times.fold((None, None), |(first, last): (Option<i64>, Option<i64>), time| {
            (Some(first.map_or(time, |first| first.min(time))), last.max(Some(time)))
        });
        let start_ns = first.unwrap_or_default();
        let duration_ns = last.unwrap_or_default().abs_diff(start_ns);
        if i64::try_from(duration_ns).is_err() {
            return Err(Error::data(format!("lasts {duration_ns} ns, the longest run has 2^63-1 ns")));
        }
        let (sections, barriers_ns) = self.sections.map(Sections::finish).unwrap_or_default();
        let rounds = self.first_pass.map(FirstPass::finish).unwrap_or_default();
        Ok(Run {
            start_ns,
            duration_ns,
            messages: summary.messages,
            windows: self.windows.unwrap_or_else(|| Windows::new(0)),
            rounds,
            sections,
            barriers_ns,
            changes,
        })
    }
}

/// A first pass for what the summary of a trace says of its size; no block is looked into.
fn first_pass(trace: &mut dyn Rewindable) -> Result<FirstPass> {
    let mut reader = TraceReader::open(trace.rewind()?)?;
    while reader.next_block_where(|_, _| false)?.is_some() {}
    Ok(reader.summary().map_or_else(FirstPass::default, |summary| {
        FirstPass::new(summary.messages, summary.ranks, summary.duration_ns.unwrap_or(u64::MAX))
    }))
}

/// Finds changes among the marks of all ranks: all ranks set the same sequence of marks, so the nth
/// mark of each belongs to one change, and the earliest of them is when it begins. Ranks that set
/// fewer marks, or none, do no harm.
#[derive(Debug, Default)]
struct Marks {
    set: HashMap<u32, usize>,
    changes: Vec<Change>,
}

impl Marks {
    /// Adds a mark, in trace order.
    fn add(&mut self, mark: Mark) {
        let set = self.set.entry(mark.rank.0).or_default();
        *set += 1;
        if *set > self.changes.len() {
            self.changes.push(Change { time_ns: mark.time_ns, level: mark.level });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::Rank;

    #[test]
    fn the_earliest_rank_makes_the_change() {
        let mut marks = Marks::default();
        // Rank 0 is through level 1 before rank 1 begins it; rank 2 sets no mark.
        for (time_ns, rank, level) in [(10, 0, 1), (12, 0, 2), (13, 1, 1), (15, 1, 2), (20, 1, 3)] {
            marks.add(Mark { time_ns, rank: Rank(rank), level });
        }
        let changes: Vec<_> = marks.changes.iter().map(|change| (change.time_ns, change.level)).collect();
        assert_eq!(changes, [(10, 1), (12, 2), (20, 3)]);
    }
}
