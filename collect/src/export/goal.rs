//! GOAL schedules in text, for LogGOPSim and ATLAHS.
//!
//! Operations of a rank begin in their order (`irequires`); what stands after the end of a receive
//! or send waits for it (`requires`). Computation is in nanoseconds. Tags are 32 bits without sign,
//! so negative ones are written as 2³² more. Calls are left out, as their messages stand for them.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use rustc_hash::FxHashMap;

use super::only_messages;
use super::operations::{Computation, Kind as StepKind, Operations, Step};
use crate::import::Scratch;
use crate::trace::{Block, Header, Kind, RunFacts, Sink, Summary, Tally};
use crate::{Error, Result};

/// Bytes of a rank's text that are kept before they go to the temporary file.
const PIECE: usize = 4 << 10;

/// Writes a schedule. Memory: 4 KiB a rank, eight bytes for each 4 KiB of text, and the messages
/// that are on their way; the rest is in a temporary file, as a schedule has rank after rank.
#[derive(Debug)]
pub struct GoalExport<W: Write> {
    out: W,
    tally: Tally,
    operations: Operations,
    texts: Texts,
}

/// The schedules of all ranks in the making.
#[derive(Debug)]
struct Texts {
    computation: Computation,
    ranks: Vec<Text>,
    /// Labels of the sends and receives that are not over, by message and kind.
    labels: FxHashMap<(u64, StepKind), u64>,
    scratch: Scratch,
    spilled: Option<BufWriter<File>>,
    length: u64,
}

/// A rank's schedule.
#[derive(Debug, Default)]
struct Text {
    /// Label of the last operation; 0 before.
    last: u64,
    /// Operations that are over since then.
    over: Vec<u64>,
    text: Vec<u8>,
    /// Places of its pieces in the temporary file, and their lengths.
    pieces: Vec<(u64, u32)>,
}

impl<W: Write> GoalExport<W> {
    /// A schedule on `out`, which should be buffered; `scratch` makes the temporary file.
    pub fn new(out: W, scratch: Scratch) -> Self {
        let texts = Texts {
            computation: Computation::new(true),
            ranks: Vec::new(),
            labels: FxHashMap::default(),
            scratch,
            spilled: None,
            length: 0,
        };
        Self { out, tally: Tally::default(), operations: Operations::default(), texts }
    }
}

impl Text {
    /// Appends an operation with what it waits for; returns its label.
    fn add(&mut self, operation: &str) -> Result<u64> {
        let before = self.last;
        self.last += 1;
        let label = self.last;
        writeln!(self.text, "l{label}: {operation}")?;
        if before > 0 {
            writeln!(self.text, "l{label} irequires l{before}")?;
        }
        for over in self.over.drain(..) {
            writeln!(self.text, "l{label} requires l{over}")?;
        }
        Ok(label)
    }
}

impl Texts {
    fn step(&mut self, step: &Step) -> Result<()> {
        let at = step.rank as usize;
        if self.ranks.len() <= at {
            self.ranks.resize_with(at + 1, Text::default);
        }
        let computed_ns = self.computation.before(step);
        let rank = &mut self.ranks[at];
        if computed_ns > 0 {
            let label = rank.add(&format!("calc {computed_ns}"))?;
            rank.over.push(label);
        }
        let (bytes, peer, tag) = (step.bytes, step.peer(), step.tag.cast_unsigned());
        match step.kind {
            StepKind::Send => {
                let label = rank.add(&format!("send {bytes}b to {peer} tag {tag}"))?;
                self.labels.insert((step.number, StepKind::Send), label);
            }
            StepKind::Receive => {
                let label = rank.add(&format!("recv {bytes}b from {peer} tag {tag}"))?;
                self.labels.insert((step.number, StepKind::Receive), label);
            }
            StepKind::AwaitSend => rank.over.extend(self.labels.remove(&(step.number, StepKind::Send))),
            StepKind::AwaitReceive => {
                rank.over.extend(self.labels.remove(&(step.number, StepKind::Receive)));
            }
        }
        if self.ranks[at].text.len() >= PIECE { self.spill(at) } else { Ok(()) }
    }

    /// Moves a rank's text to the temporary file.
    fn spill(&mut self, at: usize) -> Result<()> {
        let file = match &mut self.spilled {
            Some(file) => file,
            empty => empty.insert(BufWriter::with_capacity(256 << 10, (self.scratch)()?)),
        };
        let rank = &mut self.ranks[at];
        file.write_all(&rank.text)?;
        let length = u32::try_from(rank.text.len()).map_err(|_| Error::data("an operation is too long"))?;
        rank.pieces.push((self.length, length));
        self.length += u64::from(length);
        rank.text.clear();
        Ok(())
    }

    /// Writes all ranks.
    fn finish(self, out: &mut impl Write, ranks: u32) -> Result<()> {
        writeln!(out, "num_ranks {ranks}")?;
        let spilled = self.spilled.map(BufWriter::into_inner).transpose();
        let mut spilled = spilled.map_err(io::IntoInnerError::into_error)?;
        let empty = Text::default();
        for rank in 0..ranks {
            let text = self.ranks.get(rank as usize).unwrap_or(&empty);
            writeln!(out, "\nrank {rank} {{")?;
            for (start, length) in &text.pieces {
                if let Some(file) = &mut spilled {
                    file.seek(SeekFrom::Start(*start))?;
                    io::copy(&mut file.take(u64::from(*length)), out)?;
                }
            }
            out.write_all(&text.text)?;
            writeln!(out, "}}")?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for GoalExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        self.texts.computation = Computation::new(header.kind == Kind::Timed);
        only_messages(header, "GOAL")
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        let Block::Messages(messages) = block else { return Ok(()) };
        self.tally.messages(messages)?;
        let Self { operations, texts, .. } = self;
        operations.add(messages, &mut |step| texts.step(step))
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        let summary = self.tally.finish(facts)?;
        let Self { operations, texts, .. } = self;
        operations.finish(&mut |step| texts.step(step))?;
        let scratch = self.texts.scratch;
        let empty = GoalExport::new(io::sink(), scratch).texts;
        std::mem::replace(&mut self.texts, empty).finish(&mut self.out, summary.ranks)?;
        self.out.flush()?;
        Ok(summary)
    }
}
