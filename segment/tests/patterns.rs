//! Generated runs whose phases are known. Their marks say where each pattern begins; the default
//! method does not see them and has to find the same boundaries to the nanosecond.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and fails")]

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{PatternName, Run};
use phaseflow_collect::trace::{Block, Message, Operation, RunFacts, TraceReader, TraceWriter};
use phaseflow_segment::{Method, Options, Rewind, Segmentation, segment};

fn run(patterns: &str, ranks: u32, repeat: u64, gap_ns: u64) -> Vec<u8> {
    let patterns = PatternName::parse_list(patterns).unwrap();
    let run = Run { patterns, ranks, bytes: 64 << 10, repeat, gap_ns, seed: 1 };
    let mut archive = Vec::new();
    run.generate(&mut ArchiveExport::new(&mut archive, false)).unwrap();
    archive
}

fn split(trace: &[u8], method: &str, change: impl Fn(&mut Options)) -> Segmentation {
    let method = Method::parse(&Choice::parse(method).unwrap()).unwrap();
    let mut options = Options { method, ..Options::default() };
    change(&mut options);
    segment(&mut Rewind(Cursor::new(trace)), &options).unwrap().segmentation
}

/// Compares all but the header, which names the method.
fn assert_same(found: &Segmentation, truth: &Segmentation, what: &str) {
    assert_eq!(found.occurrences, truth.occurrences, "{what}");
    assert_eq!(found.phases, truth.phases, "{what}");
}

#[test]
fn kmeans_finds_what_the_marks_say() {
    for (ranks, repeat) in [(16, 5), (16, 20), (27, 8), (64, 5), (64, 50), (256, 5)] {
        for gap_ns in [0, 100_000, 3_000_000] {
            for patterns in [
                "halo2d,alltoall",
                "halo2d,alltoall,halo2d,alltoall",
                "alltoall",
                "halo2d",
                "alltoall,random",
            ] {
                let trace = run(patterns, ranks, repeat, gap_ns);
                let what = format!("{patterns}, {ranks} ranks, {repeat} times, gap {gap_ns} ns");
                assert_same(&split(&trace, "kmeans", |_| {}), &split(&trace, "marks", |_| {}), &what);
            }
        }
    }
}

#[test]
fn three_phases_and_one_round_each() {
    for ranks in [16, 27, 64] {
        let trace = run("halo3d,allreduce,transpose", ranks, 8, 100_000);
        assert_same(&split(&trace, "kmeans", |_| {}), &split(&trace, "marks", |_| {}), "three");
        let trace = run("halo2d,alltoall", ranks, 1, 0);
        assert_same(&split(&trace, "kmeans", |_| {}), &split(&trace, "marks", |_| {}), "one round");
    }
}

#[test]
fn the_other_methods_find_two_plain_phases() {
    let trace = run("halo2d,alltoall", 16, 20, 100_000);
    let truth = split(&trace, "marks", |_| {});
    for method in
        ["dbscan", "optics", "gmm", "kmeans[k=2]", "gmm[k=2]", "dbscan[radius=0.2]", "optics[radius=0.2]"]
    {
        assert_same(&split(&trace, method, |_| {}), &truth, method);
    }
    let windows = split(&trace, "windows", |options| options.windows = 10);
    assert_eq!((windows.phases.len(), windows.occurrences.len()), (10, 10));
    assert_eq!(windows.phases.iter().map(|phase| phase.matrix.messages()).sum::<u64>(), 20 * (48 + 240));
    let none = split(&trace, "none", |_| {});
    assert_eq!((none.phases.len(), none.phases[0].occurrences), (1, 1));
}

#[test]
fn messages_without_operations_are_found_to_a_step() {
    // An alltoall's first step goes to the next rank, as one step of the halo exchange does.
    let (trace, truth) = (run("halo2d,alltoall", 16, 20, 0), 20 * 4 * 66_536);
    let mut reader = TraceReader::open(&trace[..]).unwrap();
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    while let Some(block) = reader.next_block().unwrap() {
        if let Block::Messages(messages) = block {
            for message in messages.iter() {
                writer.message(&Message { operation: Operation::PointToPoint, ..message }).unwrap();
            }
        }
    }
    let (_, plain) = writer.finish(&RunFacts::default()).unwrap();
    let found = split(&plain, "kmeans", |_| {});
    assert_eq!(found.phases.len(), 2);
    assert_eq!(found.occurrences.len(), 2);
    assert!(found.occurrences[1].start_ns.abs_diff(truth) <= 66_536, "{:?}", found.occurrences);
}

#[test]
fn a_long_silence_is_idle_and_a_rhythm_is_not() {
    let one = run("halo2d", 16, 20, 1_000_000);
    assert_eq!(split(&one, "kmeans", |_| {}).occurrences.len(), 1);
    // The same run with 100 ms of silence after its tenth round.
    let mut reader = TraceReader::open(&one[..]).unwrap();
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    let mut seen = 0;
    let mut last = 0;
    while let Some(block) = reader.next_block().unwrap() {
        let Block::Messages(messages) = block else { continue };
        for mut message in messages.iter() {
            seen += 1;
            if seen > 10 * 48 {
                message.send_post_ns += 100_000_000;
            } else {
                last = message.send_post_ns;
            }
            (message.send_complete_ns, message.receive_post_ns, message.receive_complete_ns) =
                (None, None, None);
            writer.message(&message).unwrap();
        }
    }
    let (_, gap) = writer.finish(&RunFacts::default()).unwrap();
    let found = split(&gap, "kmeans", |_| {});
    let round = 4 * 66_536 + 1_000_000;
    let phases: Vec<_> = found.occurrences.iter().map(|o| (o.phase, o.messages)).collect();
    assert_eq!(phases, [(Some(0), 480), (None, 0), (Some(0), 480)]);
    assert_eq!(found.occurrences[1].start_ns, last.cast_unsigned() + round);
    assert_eq!(found.phases[0].occurrences, 2);
    let idle = found.occurrences[1].end_ns - found.occurrences[1].start_ns;
    let all = found.header.duration_ns.unwrap();
    assert_eq!(found.phases[0].duration_ns, Some(all - idle));
}

#[test]
fn phases_and_occurrences_can_be_limited() {
    let trace = run("halo2d,alltoall,transpose", 16, 8, 0);
    let three = split(&trace, "kmeans", |_| {});
    assert_eq!(three.phases.len(), 3);
    let two = split(&trace, "kmeans", |options| options.max_phases = Some(2));
    assert_eq!(two.phases.len(), 2);
    assert!(two.header.method.ends_with(",max-phases=2]"), "{}", two.header.method);
    let least = 2 * (three.occurrences[2].end_ns - three.occurrences[2].start_ns);
    let long = split(&trace, "kmeans", |options| options.min_duration_ns = least);
    assert_eq!(long.occurrences.len(), 2);
    let all = |s: &Segmentation| s.phases.iter().map(|phase| phase.matrix.bytes()).sum::<u64>();
    assert_eq!((all(&two), all(&long)), (all(&three), all(&three)));
}
