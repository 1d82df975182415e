//! Labelled runs: generated runs with known phases, with or without disturbances.

use super::Disturbance;
use super::lookup::Plan;
use super::program::Program;
use super::tracker::Tracker;
use super::walk::Walk;
use crate::Result;
use crate::trace::{Header, Kind, RunFacts, Sink, Summary};
use crate::truth::TrueStretch;

/// A run of a [`Program`].
///
/// Time is nominal, unless ranks have clocks of their own ([`Disturbance::waits`]): in a step all
/// ranks post at once; a message of B bytes has left after B ns
/// ([`BYTES_PER_NS`](super::BYTES_PER_NS)) and arrived after B + 1000 ns
/// ([`OVERHEAD_NS`](super::OVERHEAD_NS)); the next step starts when the last message has arrived.
/// Between two rounds lies a pause. The run ends with the last arrival, so bytes over duration is
/// the intended rate. The times have no contention, which pf-simulate adds.
///
/// Every rank sets a [`Mark`](crate::trace::Mark) when a phase begins; its level is the position,
/// from 1, at which the phase is named first in the program, and 0 for a pause. A round that is a
/// collective operation is a [`Call`](crate::trace::Call) of every rank, too.
///
/// Phases of the same text are the same phase, with the same permutation.
#[derive(Clone, Debug)]
pub struct LabelledRun {
    /// The operation.
    pub program: Program,
    /// Number of ranks, at least 2.
    pub ranks: u32,
    /// Default contribution of each rank, bytes; see the [table](super).
    pub bytes: u64,
    /// Default number of rounds of each phase.
    pub repeat: u64,
    /// Default pause between two rounds.
    pub gap_ns: u64,
    /// Length of pauses without a time.
    pub idle_ns: u64,
    /// True if there is an idle stretch between any two phases, too.
    pub idle_between: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// Its disturbances.
    pub disturbance: Disturbance,
}

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

    /// Writes the run into `sink` and passes each stretch of its truth to `truth`, in order;
    /// neighbours may have the same label.
    ///
    /// Memory: the program, a few bytes a rank, and the messages that are late (at most 2²⁴).
    ///
    /// # Errors
    /// A pattern that does not exist for this number of ranks, a disturbance that is negative or
    /// not a number, a run of more than 2⁶³−1 ns, too many late messages, or what the sink or
    /// `truth` says.
    pub fn generate(
        &self,
        sink: &mut dyn Sink,
        truth: &mut dyn FnMut(&TrueStretch<'_>) -> Result<()>,
    ) -> Result<Summary> {
        self.disturbance.check()?;
        let mut plan = Plan::new(self);
        let nodes = plan.nodes()?;
        sink.begin(&Header::new(Kind::Timed, format!("pattern {}", self.program.text())))?;
        let tracker = Tracker::new(&plan.names, truth);
        let end = Walk::new(self, plan.rounds, sink, tracker).go(&nodes)?;
        sink.finish(&RunFacts { ranks: Some(self.ranks), span_ns: Some((0, end)), ..RunFacts::default() })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::export::ArchiveExport;
    use crate::pattern::Irregular;
    use crate::pattern::stream::step_ns;
    use crate::trace::{Block, Message, TraceReader};

    /// A row of the truth with names of its own.
    pub(crate) type Row = (u64, u64, String, String, Option<(u64, u64)>);

    pub(crate) fn labelled(text: &str, ranks: u32, disturbance: Disturbance) -> LabelledRun {
        LabelledRun { disturbance, ..LabelledRun::new(Program::parse(text).unwrap(), ranks) }
    }

    pub(crate) fn generated(run: &LabelledRun) -> (Vec<u8>, Vec<Row>) {
        let (mut archive, mut rows) = (Vec::new(), Vec::new());
        run.generate(&mut ArchiveExport::new(&mut archive, false), &mut |row| {
            rows.push((row.start_ns, row.end_ns, row.label.into(), row.outer.unwrap().into(), row.messages));
            Ok(())
        })
        .unwrap();
        (archive, rows)
    }

    pub(crate) fn messages(archive: &[u8]) -> Vec<Message> {
        let mut reader = TraceReader::open(archive).unwrap();
        let mut messages = Vec::new();
        while let Some(block) = reader.next_block().unwrap() {
            if let Block::Messages(block) = block {
                messages.extend(block.iter());
            }
        }
        messages
    }

    #[test]
    fn a_tidy_run_by_hand() {
        // Steps take 1500 ns: a shift has one of 4 messages, an exchange on 2×2 four of 2.
        let mut run = labelled("shift*2,(halo2d,shift)*2,idle[time=9us],halo2d", 4, Disturbance::default());
        (run.bytes, run.gap_ns) = (500, 10);
        let (_, rows) = generated(&run);
        let row = |start, end, label: &str, outer: &str, messages| {
            (start, end, label.to_string(), outer.to_string(), messages)
        };
        let inside = "(halo2d,shift)";
        assert_eq!(
            rows,
            [
                row(0, 3020, "shift", "shift", Some((0, 7))),
                row(3020, 9030, "halo2d", inside, Some((8, 15))),
                row(9030, 10540, "shift", inside, Some((16, 19))),
                row(10540, 16550, "halo2d", inside, Some((20, 27))),
                // The last message has arrived 1500 ns after its post.
                row(16550, 18050, "shift", inside, Some((28, 31))),
                row(18050, 27050, "idle", "idle", None),
                row(27050, 33050, "halo2d", "halo2d", Some((32, 39))),
            ]
        );
    }

    #[test]
    fn idle_stretches_between_phases_belong_to_the_loop_around() {
        let mut run = labelled("(shift,halo2d)*2,incast", 4, Disturbance::default());
        (run.idle_ns, run.idle_between) = (700, true);
        let (_, rows) = generated(&run);
        let names: Vec<_> = rows.iter().map(|row| (row.2.as_str(), row.3.as_str())).collect();
        let all = "(shift,halo2d)";
        let expected = [
            ("shift", all),
            ("idle", all),
            ("halo2d", all),
            ("idle", all),
            ("shift", all),
            ("idle", all),
            ("halo2d", all),
            ("idle", "idle"),
            ("incast", "incast"),
        ];
        assert_eq!(names, expected);
        assert!(rows.iter().all(|row| row.2 != "idle" || row.1 - row.0 == 700));
    }

    #[test]
    fn the_truth_of_untidy_runs_is_what_their_messages_say() {
        // Sizes tell whose a message is: noise stays below 64 KiB.
        let text =
            "shift[bytes=100001]*30,halo2d[bytes=100002]*9,(incast[bytes=100003]*5,shift[bytes=100004]*3)*2";
        let disturbed = [
            Disturbance { jitter: 2.5, ..Disturbance::default() },
            Disturbance { skew_ns: 700_000, ..Disturbance::default() },
            Disturbance { noise: 0.4, ..Disturbance::default() },
            Disturbance { jitter: 1.0, noise: 0.2, skew_ns: 150_000, ..Disturbance::default() },
            Disturbance { waits: true, irregular: Some(Irregular::Exponential), ..Disturbance::default() },
            Disturbance { waits: true, imbalance: 3.0, noise: 0.1, jitter: 0.5, ..Disturbance::default() },
            Disturbance { irregular: Some(Irregular::Pareto), imbalance: 2.0, ..Disturbance::default() },
        ];
        for disturbance in disturbed {
            for seed in 1..5 {
                let mut run = labelled(text, 16, disturbance);
                (run.seed, run.gap_ns) = (seed, 20_000);
                let (archive, rows) = generated(&run);
                let messages = messages(&archive);
                let mut stretches = vec![0; rows.len()];
                let mut begun = vec![None; rows.len()];
                for (i, row) in rows.iter().enumerate() {
                    let (first, last) = row.4.unwrap();
                    let bytes: u64 =
                        row.2.split_once("bytes=").unwrap().1.trim_end_matches(']').parse().unwrap();
                    for at in first..=last {
                        let message = messages[at as usize];
                        stretches[i] += u64::from(message.bytes == bytes);
                    }
                    assert_eq!(messages[first as usize].bytes, bytes, "{disturbance:?}");
                    assert_eq!(messages[last as usize].bytes, bytes);
                    begun[i] = Some(messages[first as usize].send_post_ns.cast_unsigned());
                    assert!(i == 0 || begun[i] == Some(row.0));
                }
                // All of a phase's messages lie within its positions; the last two phases come
                // twice.
                assert_eq!(stretches[..2], [30 * 16, 9 * 48]);
                assert_eq!(rows.len(), 6);
                let noise = messages.iter().filter(|message| message.bytes < 100_000).count();
                assert_eq!(noise > 0, disturbance.noise > 0.0);
            }
        }
    }

    #[test]
    fn there_is_as_much_noise_as_was_asked_for() {
        let mut run = labelled("shift*500", 16, Disturbance { noise: 0.25, ..Disturbance::default() });
        (run.bytes, run.gap_ns) = (100_000, 1_000_000);
        let messages = messages(&generated(&run).0);
        // 8000 messages, none in the first of 500 rounds and no pause after the last.
        let noise = messages.iter().filter(|message| message.bytes < 100_000).count();
        assert!((1900..2100).contains(&noise), "{noise}");
        // Most of the time is pause, and so is most of the noise.
        let in_pause = |message: &&Message| message.send_post_ns % 1_101_000 > 101_000;
        let paused = messages.iter().filter(in_pause).count();
        assert!((1700..1900).contains(&paused), "{paused}");
    }

    #[test]
    fn messages_drift_from_their_size_to_the_asked_one() {
        let run = labelled(
            "shift[bytes=1000]*5,incast[bytes=1000,drift=-0.5]*2",
            3,
            Disturbance { drift: 2.0, ..Disturbance::default() },
        );
        let sizes: Vec<u64> = messages(&generated(&run).0).iter().map(|message| message.bytes).collect();
        let expected = [[1000; 3], [1500; 3], [2000; 3], [2500; 3], [3000; 3]].concat();
        assert_eq!(sizes, [expected, vec![1000, 1000, 500, 500]].concat());
    }

    #[test]
    fn late_ranks_stay_late() {
        let run = labelled("shift*4", 8, Disturbance { skew_ns: 5_000, ..Disturbance::default() });
        let messages = messages(&generated(&run).0);
        let step = step_ns(64 << 10).cast_signed();
        for rank in 0..8 {
            let own = messages.iter().filter(|message| message.src.0 == rank);
            let times: Vec<i64> = own.map(|message| message.send_post_ns).collect();
            assert!((0..=5_000).contains(&times[0]));
            assert!(times.windows(2).all(|pair| pair[1] - pair[0] == step));
        }
        assert!(messages.iter().all(|message| message.receive_complete_ns > Some(message.send_post_ns)));
    }

    #[test]
    fn the_seed_decides_everything_and_nothing_else_does() {
        let disturbance =
            Disturbance { jitter: 1.0, noise: 0.1, skew_ns: 1000, drift: 0.5, ..Disturbance::default() };
        let with = |seed| {
            let mut run = labelled("(random*3,alltoall)*2,permutation|shift", 12, disturbance);
            run.seed = seed;
            generated(&run)
        };
        assert!(with(1) == with(1));
        assert!(with(1).0 != with(2).0);
    }

    #[test]
    fn nonsense_is_refused() {
        let error = |disturbance| {
            let run = labelled("shift", 4, disturbance);
            let mut sink = ArchiveExport::new(std::io::sink(), false);
            run.generate(&mut sink, &mut |_| Ok(())).unwrap_err().to_string()
        };
        let with = |jitter, noise, drift| Disturbance { jitter, noise, drift, ..Disturbance::default() };
        assert_eq!(error(with(-1.0, 0.0, 0.0)), "jitter is -1, expected 0 to 1000");
        assert_eq!(error(with(0.0, f64::NAN, 0.0)), "noise is NaN, expected 0 to 1000");
        assert_eq!(error(with(0.0, 0.0, -1.5)), "drift is -1.5, expected -1 to 1000000");
        let heavy = Disturbance { heavy: 1.5, ..Disturbance::default() };
        assert_eq!(error(heavy), "the share of heavy messages is 1.5, expected 0 to 1");
        let mut sink = ArchiveExport::new(std::io::sink(), false);
        let endless = labelled("shift,(idle)*9", 4, Disturbance::default());
        let error_of_idle = endless.generate(&mut sink, &mut |_| Ok(())).unwrap_err().to_string();
        assert_eq!(error_of_idle, "`idle` has no length, give it a time: idle[time=1ms]");
        let far = Disturbance { skew_ns: u64::MAX, ..Disturbance::default() };
        assert_eq!(error(far), "the run would last more than 2^63-1 ns (292 years)");
    }
}
