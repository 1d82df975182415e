//! Runs of plain patterns: rounds one after the other.

use super::{LabelledRun, PatternName, Program};
use crate::Result;
use crate::trace::{Sink, Summary};

/// A tidy run of one or more patterns.
///
/// Each pattern is repeated before the next begins (`a,b` three times is `a a a b b b`), and may be
/// named again (`a,b,a`). Times, marks and calls are those of a [`LabelledRun`].
#[derive(Clone, Debug)]
pub struct Run {
    /// The parts, in this order.
    pub patterns: Vec<PatternName>,
    /// Number of ranks, at least 2.
    pub ranks: u32,
    /// Contribution of each rank, bytes; see the [table](super).
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
    /// A pattern that does not exist for this number of ranks, a run of more than 2⁶³−1 ns, or an
    /// error of the sink.
    pub fn generate(&self, sink: &mut dyn Sink) -> Result<Summary> {
        let run = LabelledRun {
            bytes: self.bytes,
            repeat: self.repeat,
            gap_ns: self.gap_ns,
            seed: self.seed,
            ..LabelledRun::new(Program::of(&self.patterns), self.ranks)
        };
        run.generate(sink, &mut |_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::ArchiveExport;
    use crate::trace::{Block, Operation, TraceReader};

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
