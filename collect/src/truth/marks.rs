//! The truth from a program's own marks (`MPI_Pcontrol`).

use std::collections::{HashMap, VecDeque};

use super::TrueStretch;
use crate::trace::{Block, Header, Mark, MessageBlock, Operation, RunFacts, Sink, Summary};
use crate::{Error, Result};

/// Passes a trace on and assigns its messages to marks.
///
/// All ranks that set marks set the same sequence, so the nth mark of each begins the nth stretch;
/// a message belongs to the stretch that its sender marked last. A rank without marks begins a
/// stretch when the first other rank does. Messages before the first mark form a stretch without a
/// level. Messages of barriers belong to no stretch, as a program between two phases is in neither;
/// but a stretch of a mark above 0 without other messages has them. A stretch without messages is
/// idle for any level, and begins with the first mark of a rank. One with messages begins with the
/// first of them.
///
/// Memory: the stretches, the marks that are ahead of their messages, and for ranks without marks
/// the stretches they send in.
pub struct TruthOfMarks<'a> {
    sink: &'a mut dyn Sink,
    ranks: HashMap<u32, Marked>,
    /// The first is before any mark.
    stretches: Vec<Stretch>,
    messages: u64,
    /// The earliest time of a record, and the latest.
    span_ns: Option<(i64, i64)>,
}

/// The marks of a rank.
#[derive(Debug, Default)]
struct Marked {
    set: usize,
    /// Times of marks with no message after them yet.
    ahead: VecDeque<i64>,
    /// Marks before its last message, its own or, as long as it has set none, those of others.
    passed: usize,
    /// Until its first mark: its messages by stretch.
    unmarked: Vec<(usize, Traffic)>,
}

/// Messages by what they are.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    data: Option<Sent>,
    barriers: Option<Sent>,
}

impl Traffic {
    fn add(&mut self, barrier: bool, post_ns: i64, position: u64) {
        let sent = if barrier { &mut self.barriers } else { &mut self.data };
        let new = Sent { first_ns: post_ns, positions: (position, position) };
        *sent = Sent::join(*sent, Some(new));
    }

    fn join(self, other: Traffic) -> Traffic {
        Traffic {
            data: Sent::join(self.data, other.data),
            barriers: Sent::join(self.barriers, other.barriers),
        }
    }
}

#[derive(Debug, Default)]
struct Stretch {
    level: Option<(i32, u32)>,
    marked_ns: Option<i64>,
    traffic: Traffic,
}

/// Messages of a stretch.
#[derive(Clone, Copy, Debug)]
struct Sent {
    first_ns: i64,
    /// Positions of the first and the last.
    positions: (u64, u64),
}

impl Sent {
    fn join(one: Option<Sent>, other: Option<Sent>) -> Option<Sent> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        let positions = (a.positions.0.min(b.positions.0), a.positions.1.max(b.positions.1));
        Some(Sent { first_ns: a.first_ns.min(b.first_ns), positions })
    }
}

impl Stretch {
    /// The messages that make it a phase.
    fn own(&self) -> Option<Sent> {
        let barriers = self.traffic.barriers;
        self.traffic.data.or(barriers.filter(|_| self.level.is_some_and(|(level, _)| level > 0)))
    }

    fn begin(&self) -> Option<i64> {
        self.own().map(|sent| sent.first_ns).or(self.marked_ns)
    }
}

impl<'a> TruthOfMarks<'a> {
    /// Hands everything on to `sink`.
    pub fn new(sink: &'a mut dyn Sink) -> Self {
        Self { sink, ranks: HashMap::new(), stretches: vec![Stretch::default()], messages: 0, span_ns: None }
    }

    fn mark(&mut self, mark: &Mark) -> Result<()> {
        let rank = self.ranks.entry(mark.rank.0).or_default();
        if rank.set == 0 {
            // Its messages so far precede its first mark, independent of the marks of other ranks.
            let before = std::mem::take(&mut rank.unmarked);
            let sum =
                before.into_iter().map(|(_, traffic)| traffic).reduce(Traffic::join).unwrap_or_default();
            self.stretches[0].traffic = self.stretches[0].traffic.join(sum);
            rank.passed = 0;
        }
        rank.set += 1;
        rank.ahead.push_back(mark.time_ns);
        if rank.set == self.stretches.len() {
            self.stretches.push(Stretch::default());
        }
        let stretch = &mut self.stretches[rank.set];
        let (level, first) = *stretch.level.get_or_insert((mark.level, mark.rank.0));
        if level != mark.level {
            return Err(Error::data(format!(
                "mark {} of rank {} is {}, that of rank {first} is {level}: marks are a truth only if all ranks set the same",
                rank.set, mark.rank, mark.level
            )));
        }
        stretch.marked_ns = Some(stretch.marked_ns.map_or(mark.time_ns, |time| time.min(mark.time_ns)));
        self.cover(mark.time_ns, mark.time_ns);
        Ok(())
    }

    fn follow(&mut self, block: &MessageBlock) {
        let columns = block.columns();
        let operations = block.operations();
        for (row, (post, src)) in columns.send_post_ns.iter().zip(&columns.src).enumerate() {
            let rank = self.ranks.entry(*src).or_default();
            let barrier = operations.is_some_and(|codes| codes[row] == Operation::Barrier as i64);
            if rank.set == 0 {
                let begun = |stretch: &Stretch| stretch.marked_ns.is_some_and(|time| time <= *post);
                while self.stretches.get(rank.passed + 1).is_some_and(begun) {
                    rank.passed += 1;
                }
                if rank.unmarked.last().is_none_or(|(stretch, _)| *stretch != rank.passed) {
                    rank.unmarked.push((rank.passed, Traffic::default()));
                }
                if let Some((_, traffic)) = rank.unmarked.last_mut() {
                    traffic.add(barrier, *post, self.messages);
                }
            } else {
                while rank.ahead.front().is_some_and(|time| time <= post) {
                    rank.ahead.pop_front();
                    rank.passed += 1;
                }
                self.stretches[rank.passed].traffic.add(barrier, *post, self.messages);
            }
            self.messages += 1;
        }
        if let Some((first, last)) = block.span_ns() {
            self.cover(first, last);
        }
    }

    fn cover(&mut self, first_ns: i64, last_ns: i64) {
        let span = self.span_ns.unwrap_or((first_ns, last_ns));
        self.span_ns = Some((span.0.min(first_ns), span.1.max(last_ns)));
    }

    /// Passes the stretches to `emit`, in order; `summary` is that of the whole trace.
    ///
    /// # Errors
    /// A trace without marks, or an error of `emit`.
    pub fn stretches(
        mut self,
        summary: &Summary,
        emit: &mut dyn FnMut(&TrueStretch<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.stretches.len() == 1 {
            return Err(Error::data("the trace has no marks (MPI_Pcontrol), which say what is true"));
        }
        for (stretch, traffic) in self.ranks.values().flat_map(|rank| &rank.unmarked) {
            self.stretches[*stretch].traffic = self.stretches[*stretch].traffic.join(*traffic);
        }
        let span = self.span_ns.unwrap_or_default();
        let start_ns = summary.start_ns.map_or(span.0, |start| start.min(span.0));
        let end_ns = summary.end_ns.map_or(span.1, |end| end.max(span.1));
        let since = |time: i64| time.saturating_sub(start_ns).max(0).cast_unsigned();
        // Nothing is before the first mark if it is set at the start.
        let before = &self.stretches[0];
        let silent = before.own().is_none() && self.stretches[1].begin() == Some(start_ns);
        let stretches = &self.stretches[usize::from(silent)..];
        let mut at = 0;
        for (i, stretch) in stretches.iter().enumerate() {
            let next = stretches.get(i + 1).and_then(Stretch::begin).map_or(since(end_ns), since);
            let end = if i + 1 == stretches.len() { since(end_ns) } else { next }.max(at);
            let level = stretch.level.map_or("unmarked".to_string(), |(level, _)| level.to_string());
            let messages = stretch.own().map(|sent| sent.positions);
            let label = if messages.is_some() { level.as_str() } else { "idle" };
            emit(&TrueStretch { start_ns: at, end_ns: end, label, outer: None, messages })?;
            at = end;
        }
        Ok(())
    }
}

impl Sink for TruthOfMarks<'_> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        self.sink.begin(header)
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match &block {
            Block::Messages(messages) => self.follow(messages),
            Block::Marks(marks) => marks.iter().try_for_each(|mark| self.mark(mark))?,
            Block::Calls(_) | Block::Matrix(_) | Block::Sizes(_) => {}
        }
        self.sink.block(block)
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        self.sink.finish(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::CsvExport;
    use crate::pattern::{Disturbance, LabelledRun, Program};
    use crate::trace::{Message, Rank};

    type Row = (u64, u64, String, Option<(u64, u64)>);

    fn row(stretch: &TrueStretch<'_>) -> Row {
        (stretch.start_ns, stretch.end_ns, stretch.label.to_string(), stretch.messages)
    }

    fn of_marks(fill: impl Fn(&mut dyn Sink) -> Result<Summary>) -> Result<Vec<Row>> {
        let mut sink = CsvExport::new(std::io::sink());
        let mut truth = TruthOfMarks::new(&mut sink);
        let summary = fill(&mut truth)?;
        let mut rows = Vec::new();
        truth.stretches(&summary, &mut |stretch| {
            rows.push(row(stretch));
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn marks_of_a_late_run_say_what_its_generator_says() {
        let program =
            Program::parse("shift*30,halo2d*9,(incast*5,shift[bytes=4KiB]*3)*2,transpose*9").unwrap();
        for seed in 1..6 {
            let run = LabelledRun {
                seed,
                gap_ns: 20_000,
                disturbance: Disturbance { skew_ns: 300_000, jitter: 0.4, ..Disturbance::default() },
                ..LabelledRun::new(program.clone(), 16)
            };
            let mut levels: Vec<String> = Vec::new();
            let mut expected = Vec::new();
            run.generate(&mut CsvExport::new(std::io::sink()), &mut |stretch| {
                let label = stretch.label.to_string();
                let level = levels.iter().position(|known| *known == label).unwrap_or_else(|| {
                    levels.push(label);
                    levels.len() - 1
                });
                expected.push((stretch.start_ns, stretch.end_ns, (level + 1).to_string(), stretch.messages));
                Ok(())
            })
            .unwrap();
            let mut found = of_marks(|sink| run.generate(sink, &mut |_| Ok(()))).unwrap();
            // The first mark is set before the first, late message.
            if found[0].2 == "idle" {
                let before = found.remove(0);
                found[0].0 = before.0;
            }
            assert_eq!(found, expected, "seed {seed}");
        }
    }

    fn marks(sink: &mut dyn Sink, marks: &[(i64, u32, i32)]) -> Result<()> {
        let mark = |(time_ns, rank, level): &(i64, u32, i32)| Mark {
            time_ns: *time_ns,
            rank: Rank(*rank),
            level: *level,
        };
        sink.block(Block::Marks(&marks.iter().map(mark).collect::<Vec<_>>()))
    }

    #[test]
    fn a_stretch_without_messages_is_idle() {
        let rows = of_marks(|sink| {
            sink.begin(&Header::new(crate::trace::Kind::Timed, "test"))?;
            marks(sink, &[(100, 0, 7), (104, 1, 7), (200, 1, 0), (201, 0, 0), (300, 0, 7), (301, 1, 7)])?;
            let mut block = MessageBlock::default();
            for (send_post_ns, src) in [(90, 0), (101, 0), (103, 1), (199, 0), (302, 1)] {
                let dst = Rank(1 - src);
                block.push(&crate::trace::Message {
                    send_post_ns,
                    src: Rank(src),
                    dst,
                    ..Default::default()
                });
            }
            sink.block(Block::Messages(&block))?;
            sink.finish(&RunFacts { span_ns: Some((80, 400)), ..RunFacts::default() })
        });
        // Rank 1 has not marked yet when it sends at 103.
        assert_eq!(
            rows.unwrap(),
            [
                (0, 21, "unmarked".to_string(), Some((0, 2))),
                (21, 120, "7".to_string(), Some((1, 3))),
                (120, 222, "idle".to_string(), None),
                (222, 320, "7".to_string(), Some((4, 4))),
            ]
        );
    }

    fn messages(sink: &mut dyn Sink, list: &[(i64, u32)], operation: Operation) -> Result<()> {
        let mut block = MessageBlock::default();
        for (send_post_ns, src) in list {
            let (src, dst) = (Rank(*src), Rank(1 - src));
            block.push(&Message { send_post_ns: *send_post_ns, src, dst, operation, ..Message::default() });
        }
        sink.block(Block::Messages(&block))
    }

    #[test]
    fn barriers_are_between_phases_unless_there_is_nothing_else() {
        let rows = of_marks(|sink| {
            sink.begin(&Header::new(crate::trace::Kind::Timed, "test"))?;
            marks(sink, &[(10, 0, 1), (11, 1, 1), (40, 0, 2), (41, 1, 2), (60, 0, 0), (60, 1, 0)])?;
            messages(sink, &[(5, 0), (6, 1)], Operation::Barrier)?;
            messages(sink, &[(20, 0), (21, 1)], Operation::PointToPoint)?;
            messages(sink, &[(30, 0), (31, 1), (50, 0), (70, 1)], Operation::Barrier)?;
            sink.finish(&RunFacts { span_ns: Some((0, 100)), ..RunFacts::default() })
        });
        let row = |start, end, label: &str, messages| (start, end, label.to_string(), messages);
        assert_eq!(
            rows.unwrap(),
            [
                row(0, 20, "idle", None),
                row(20, 50, "1", Some((2, 3))),
                row(50, 60, "2", Some((6, 6))),
                row(60, 100, "idle", None),
            ]
        );
    }

    #[test]
    fn ranks_without_marks_go_by_time() {
        let list = [(10, 0), (21, 0), (22, 1), (35, 1), (45, 1), (50, 0)];
        let rows = |marked: &[(i64, u32, i32)]| {
            of_marks(|sink| {
                sink.begin(&Header::new(crate::trace::Kind::Timed, "test"))?;
                marks(sink, &marked[..2])?;
                messages(sink, &list[..3], Operation::PointToPoint)?;
                marks(sink, &marked[2..])?;
                messages(sink, &list[3..], Operation::PointToPoint)?;
                sink.finish(&RunFacts { span_ns: Some((0, 60)), ..RunFacts::default() })
            })
            .unwrap()
        };
        let row = |start, end, label: &str, messages| (start, end, label.to_string(), Some(messages));
        let alone = rows(&[(20, 0, 1), (40, 0, 2)]);
        let expected = [row(0, 21, "unmarked", (0, 0)), row(21, 45, "1", (1, 3)), row(45, 60, "2", (4, 5))];
        assert_eq!(alone, expected);
        // Rank 1 sets its first mark late: what it sent before is before any mark.
        let late = rows(&[(20, 0, 1), (40, 0, 2), (41, 1, 1)]);
        let expected = [row(0, 21, "unmarked", (0, 3)), row(21, 50, "1", (1, 4)), row(50, 60, "2", (5, 5))];
        assert_eq!(late, expected);
    }

    #[test]
    fn marks_that_differ_or_are_missing_are_no_truth() {
        let error = |list: &[(i64, u32, i32)]| {
            let fill = |sink: &mut dyn Sink| {
                sink.begin(&Header::new(crate::trace::Kind::Timed, "test"))?;
                marks(sink, list)?;
                sink.finish(&RunFacts::default())
            };
            of_marks(fill).unwrap_err().to_string()
        };
        assert_eq!(error(&[]), "the trace has no marks (MPI_Pcontrol), which say what is true");
        assert_eq!(
            error(&[(1, 0, 3), (2, 1, 3), (5, 0, 4), (6, 1, 5)]),
            "mark 2 of rank 1 is 5, that of rank 0 is 4: marks are a truth only if all ranks set the same"
        );
    }
}
