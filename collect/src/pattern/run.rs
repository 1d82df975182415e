//! Rounds put one after the other: a run whose phases are known.

use super::{Pattern, PatternName};
use crate::archive::columns::LARGEST_BLOCK;
use crate::trace::{
    Block, Call, Header, Kind, Mark, Message, MessageBlock, Operation, Rank, RunFacts, Sink, Summary,
};
use crate::{Error, Result};

/// Bytes that a rank sends in a nanosecond: 8 Gbit/s.
pub const BYTES_PER_NS: u64 = 1;

/// What a message takes beyond its bytes, from post to arrival.
pub const OVERHEAD_NS: u64 = 1_000;

/// A run of one or more patterns.
///
/// Each pattern is repeated before the next begins (`a,b` three times is `a a a b b b`), and may be named again (`a,b,a`).
/// Between two rounds lies `gap_ns`. Time is nominal: in a step all ranks post at once; a message of B bytes
/// has left after B ns ([`BYTES_PER_NS`]) and arrived after B + 1000 ns ([`OVERHEAD_NS`]); the next step starts when the
/// last message has arrived. The run ends with the last arrival, so bytes over duration is the rate that was meant.
/// Wrong where contention matters: the network is pf-simulate's business.
///
/// Every rank sets a [`Mark`] when a pattern begins; its level is the position, from 1, at which the pattern was named
/// first. A round that is a collective operation is a [`Call`] of every rank, too.
#[derive(Clone, Debug)]
pub struct Run {
    /// What to do, in this order.
    pub patterns: Vec<PatternName>,
    /// Number of ranks, at least 2.
    pub ranks: u32,
    /// What each rank contributes; see the [table](super).
    pub bytes: u64,
    /// Rounds of each pattern.
    pub repeat: u64,
    /// Pause between two rounds.
    pub gap_ns: u64,
    /// Seed of random patterns.
    pub seed: u64,
}

impl Run {
    /// Writes the run into `sink`; memory does not depend on the number of rounds.
    ///
    /// # Errors
    /// A pattern that does not exist for this number of ranks, a run of more than 2⁶³−1 ns, or what the sink says.
    pub fn generate(&self, sink: &mut dyn Sink) -> Result<Summary> {
        // A pattern that is named again goes on: the same object, the same permutation.
        let mut built: Vec<(PatternName, Box<dyn Pattern>)> = Vec::new();
        let mut order = Vec::with_capacity(self.patterns.len());
        for name in &self.patterns {
            let known = built.iter().position(|(other, _)| other == name);
            if known.is_none() {
                built.push((*name, name.build(self.ranks, self.bytes, self.seed)?));
            }
            order.push(known.unwrap_or(built.len() - 1));
        }
        let names = self.patterns.iter().map(|name| name.name()).collect::<Vec<_>>().join(",");
        sink.begin(&Header::new(Kind::Timed, format!("pattern {names}")))?;
        let mut stream = Stream { sink, block: MessageBlock::default(), ranks: self.ranks, now_ns: 0 };
        for (number, pattern) in order.into_iter().enumerate() {
            let named_first = (1..).zip(&self.patterns).find(|(_, name)| **name == self.patterns[number]);
            let level = named_first.map_or(0, |(position, _)| position);
            for round in 0..self.repeat {
                if number > 0 || round > 0 {
                    stream.advance(self.gap_ns)?;
                }
                if round == 0 {
                    stream.mark(level)?;
                }
                stream.round(&mut *built[pattern].1)?;
            }
        }
        stream.flush()?;
        let end = stream.now_ns;
        sink.finish(&RunFacts { ranks: Some(self.ranks), span_ns: Some((0, end)), ..RunFacts::default() })
    }
}

/// A trace in the making.
struct Stream<'a> {
    sink: &'a mut dyn Sink,
    block: MessageBlock,
    ranks: u32,
    now_ns: i64,
}

impl Stream<'_> {
    fn advance(&mut self, ns: u64) -> Result<()> {
        self.now_ns = self
            .now_ns
            .checked_add_unsigned(ns)
            .ok_or_else(|| Error::usage("the run would last more than 2^63-1 ns (292 years)"))?;
        Ok(())
    }

    fn mark(&mut self, level: i32) -> Result<()> {
        let time_ns = self.now_ns;
        self.in_blocks(|rank| Mark { time_ns, rank, level }, |marks| Block::Marks(marks))
    }

    /// Hands one record of every rank over.
    fn in_blocks<T>(&mut self, record: impl Fn(Rank) -> T, block: impl Fn(&[T]) -> Block<'_>) -> Result<()> {
        let mut records = Vec::new();
        for first in (0..self.ranks).step_by(LARGEST_BLOCK) {
            let end = self.ranks.min(first.saturating_add(LARGEST_BLOCK as u32));
            records.clear();
            records.extend((first..end).map(|rank| record(Rank(rank))));
            self.sink.block(block(&records))?;
        }
        Ok(())
    }

    fn round(&mut self, pattern: &mut dyn Pattern) -> Result<()> {
        pattern.begin_round();
        let operation = pattern.collective().map(|(operation, _)| operation).unwrap_or_default();
        if let Some((_, bytes)) = pattern.collective() {
            self.call(pattern, operation, bytes)?;
        }
        for step in 0..pattern.steps() {
            let mut largest = None;
            for src in 0..self.ranks {
                if let Some((dst, bytes)) = pattern.send(step, src) {
                    self.send(src, dst, bytes, operation)?;
                    largest = largest.max(Some(bytes));
                }
            }
            self.advance(largest.map_or(0, step_ns))?;
        }
        Ok(())
    }

    /// The round as calls; a first walk over its steps tells when it ends.
    fn call(&mut self, pattern: &dyn Pattern, operation: Operation, bytes: u64) -> Result<()> {
        let enter_ns = self.now_ns;
        for step in 0..pattern.steps() {
            let sent = (0..self.ranks).filter_map(|src| pattern.send(step, src));
            self.advance(sent.map(|(_, bytes)| bytes).max().map_or(0, step_ns))?;
        }
        let leave_ns = std::mem::replace(&mut self.now_ns, enter_ns);
        let bytes = Some(bytes);
        let record = |rank| Call {
            enter_ns,
            leave_ns: Some(leave_ns),
            rank,
            operation,
            communicator: None,
            root: None,
            bytes,
        };
        self.in_blocks(record, |calls| Block::Calls(calls))
    }

    fn send(&mut self, src: u32, dst: u32, bytes: u64, operation: Operation) -> Result<()> {
        let post = self.now_ns;
        self.block.push(&Message {
            send_post_ns: post,
            src: Rank(src),
            dst: Rank(dst),
            bytes,
            operation,
            // Sums beyond the limit end the run at the end of this step.
            send_complete_ns: post.checked_add_unsigned(bytes / BYTES_PER_NS),
            receive_post_ns: Some(post),
            receive_complete_ns: post.checked_add_unsigned(step_ns(bytes)),
            ..Message::default()
        });
        if self.block.len() == LARGEST_BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if !self.block.is_empty() {
            self.sink.block(Block::Messages(&self.block))?;
            self.block.clear();
        }
        Ok(())
    }
}

/// From post to arrival.
fn step_ns(bytes: u64) -> u64 {
    (bytes / BYTES_PER_NS).saturating_add(OVERHEAD_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::ArchiveExport;
    use crate::trace::TraceReader;

    fn run(patterns: &str, ranks: u32, repeat: u64, gap_ns: u64) -> Run {
        Run {
            patterns: PatternName::parse_list(patterns).unwrap(),
            ranks,
            bytes: 500,
            repeat,
            gap_ns,
            seed: 1,
        }
    }

    fn archive(run: &Run) -> (Vec<u8>, Summary) {
        let mut bytes = Vec::new();
        let summary = run.generate(&mut ArchiveExport::new(&mut bytes, false)).unwrap();
        (bytes, summary)
    }

    #[test]
    fn time_is_as_documented() {
        let (bytes, summary) = archive(&run("shift,halo2d,shift", 4, 2, 10));
        // shift: one step of 1500 ns; halo2d on 2×2: four. Six rounds, five gaps.
        assert_eq!(summary.duration_ns, Some(4 * 1500 + 2 * 4 * 1500 + 5 * 10));
        assert_eq!((summary.ranks, summary.messages, summary.bytes), (4, 4 * 4 + 2 * 8, 32 * 500));
        let mut reader = TraceReader::open(&bytes[..]).unwrap();
        let (mut marks, mut messages) = (Vec::new(), Vec::new());
        while let Some(block) = reader.next_block().unwrap() {
            match block {
                Block::Marks(block) => marks.extend_from_slice(block),
                Block::Messages(block) => messages.extend(block.iter()),
                _ => {}
            }
        }
        let marks: Vec<_> = marks.iter().map(|mark| (mark.time_ns, mark.rank.0, mark.level)).collect();
        let starts = [(0, 1), (2 * 1510, 2), (2 * 1510 + 2 * 6010, 1)];
        let expected: Vec<_> = starts
            .into_iter()
            .flat_map(|(time, level)| (0..4).map(move |rank| (time, rank, level)))
            .collect();
        assert_eq!(marks, expected);
        let first = messages[0];
        assert_eq!(
            (first.send_post_ns, first.send_complete_ns, first.receive_post_ns),
            (0, Some(500), Some(0))
        );
        assert_eq!(first.receive_complete_ns, Some(1500));
        assert_eq!(messages.last().unwrap().receive_complete_ns, summary.end_ns);
    }

    #[test]
    fn collectives_are_calls_too() {
        let (bytes, summary) = archive(&run("allreduce,shift", 5, 3, 0));
        assert_eq!((summary.calls, summary.marks), (15, 10));
        let mut reader = TraceReader::open(&bytes[..]).unwrap();
        while let Some(block) = reader.next_block().unwrap() {
            if let Block::Calls(calls) = block {
                // Recursive doubling over 5 ranks: 4 steps of 1500 ns.
                let first = calls[0];
                assert_eq!((first.enter_ns, first.leave_ns, first.bytes), (0, Some(6000), Some(500)));
                assert_eq!(calls[14].enter_ns, 12_000);
                assert!(calls.iter().all(|call| call.operation == Operation::Allreduce));
            }
        }
    }

    #[test]
    fn a_run_beyond_all_time_is_refused() {
        let mut endless = run("shift", 2, 2, u64::MAX / 2);
        endless.bytes = 1;
        let error = endless.generate(&mut ArchiveExport::new(std::io::sink(), false)).unwrap_err();
        assert_eq!(error.to_string(), "the run would last more than 2^63-1 ns (292 years)");
        let mut huge = run("allreduce", 2, 1, 0);
        huge.bytes = u64::MAX;
        assert!(huge.generate(&mut ArchiveExport::new(std::io::sink(), false)).is_err());
    }
}
