//! Runs with next to nothing in them, and runs that do not fit: all defined, none a panic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and fails")]

use std::io::Cursor;

use phaseflow_collect::trace::{Mark, Message, Rank, RunFacts, TraceWriter, write_aggregate};
use phaseflow_collect::{Cell, Result, TrafficMatrix};
use phaseflow_segment::{METHODS, Method, Options, Outcome, Rewind, segment};
use proptest::prelude::*;

fn trace(messages: &[(i64, u32, u32)], marks: &[(i64, u32, i32)], facts: &RunFacts) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    let mut marks = marks.iter().peekable();
    for (time, src, dst) in messages {
        while let Some((at, rank, level)) = marks.next_if(|mark| mark.0 <= *time) {
            writer.mark(&Mark { time_ns: *at, rank: Rank(*rank), level: *level }).unwrap();
        }
        let message =
            Message { send_post_ns: *time, src: Rank(*src), dst: Rank(*dst), bytes: 8, ..Message::default() };
        writer.message(&message).unwrap();
    }
    for (at, rank, level) in marks {
        writer.mark(&Mark { time_ns: *at, rank: Rank(*rank), level: *level }).unwrap();
    }
    writer.finish(facts).unwrap().1
}

fn split(trace: &[u8], method: &str) -> Result<Outcome> {
    let choice = phaseflow_collect::choice::Choice::plain(method);
    let options = Options { method: Method::parse(&choice)?, ..Options::default() };
    segment(&mut Rewind(Cursor::new(trace)), &options)
}

/// Methods that work without marks.
fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.into_iter().filter(|name| *name != "marks")
}

/// The list that the command prints, without its header.
fn list(outcome: &Outcome) -> Vec<String> {
    let mut text = Vec::new();
    phaseflow_segment::write_list(&mut text, outcome).unwrap();
    String::from_utf8(text).unwrap().lines().skip(1).map(str::to_string).collect()
}

#[test]
fn nothing_at_all() {
    for method in methods() {
        let outcome = split(&trace(&[], &[], &RunFacts::default()), method).unwrap();
        assert_eq!((outcome.segmentation.phases.len(), list(&outcome).len()), (0, 0));
        assert_eq!(outcome.notes, ["the trace has no messages: there are no phases"]);
    }
}

#[test]
fn a_run_without_messages_is_idle() {
    let facts = RunFacts { span_ns: Some((0, 100)), ranks: Some(4), ..RunFacts::default() };
    for method in METHODS {
        let outcome = split(&trace(&[], &[], &facts), method).unwrap();
        assert_eq!(list(&outcome), ["0,idle,0,0,100,0,0"]);
        assert!(outcome.segmentation.phases.is_empty());
    }
}

#[test]
fn one_message() {
    for method in methods() {
        let outcome = split(&trace(&[(5, 0, 1)], &[], &RunFacts::default()), method).unwrap();
        let phase = &outcome.segmentation.phases[0];
        assert_eq!(
            (phase.duration_ns, phase.matrix.messages(), list(&outcome).len()),
            (None, 1, 1),
            "{method}"
        );
        let facts = RunFacts { span_ns: Some((0, 100)), ..RunFacts::default() };
        let outcome = split(&trace(&[(5, 0, 1)], &[], &facts), method).unwrap();
        let rows = list(&outcome);
        if method != "windows" {
            assert_eq!(rows, ["0,0,0,0,100,1,8"], "{method}");
        }
    }
}

#[test]
fn all_messages_at_one_time() {
    let messages: Vec<_> = (0..50).map(|i| (7, i, i + 1)).collect();
    for method in methods() {
        let outcome = split(&trace(&messages, &[], &RunFacts::default()), method).unwrap();
        assert_eq!(outcome.segmentation.header.duration_ns, None);
        assert_eq!(outcome.segmentation.phases[0].matrix.messages(), 50);
        assert_eq!(outcome.notes, ["all messages have one time: they are one phase of unknown duration"]);
    }
}

#[test]
fn one_rank_that_talks_to_itself() {
    let messages: Vec<_> = (0..50).map(|i| (i * 10, 0, 0)).collect();
    for method in methods().filter(|method| *method != "windows") {
        let outcome = split(&trace(&messages, &[], &RunFacts::default()), method).unwrap();
        assert_eq!(list(&outcome), ["0,0,0,0,490,50,400"], "{method}");
    }
}

#[test]
fn sums_are_one_phase_whatever_the_method() {
    let cell = Cell { src: Rank(0), dst: Rank(1), messages: 3, bytes: 30 };
    let matrix = TrafficMatrix::from_cells([cell]).unwrap();
    for method in methods().chain(["marks"]) {
        for (duration_ns, rows) in [(None, vec![]), (Some(0), vec![]), (Some(9), vec!["0,0,0,0,9,3,30"])] {
            let facts = RunFacts { ranks: Some(2), duration_ns, ..RunFacts::default() };
            let (_, bytes) = write_aggregate(Vec::new(), false, "pfprof", &matrix, &[], &facts).unwrap();
            let outcome = split(&bytes, method).unwrap();
            assert_eq!(list(&outcome), rows);
            assert_eq!(outcome.segmentation.phases[0].duration_ns, duration_ns.filter(|ns| *ns > 0));
            assert_eq!(outcome.segmentation.phases[0].matrix, matrix);
            assert_eq!(outcome.notes[0], "only sums over the run are known: it is one phase");
        }
    }
}

#[test]
fn marks_of_several_ranks_make_one_boundary_each() {
    let messages: Vec<_> = (0..100).map(|i| (i, i as u32 % 4, 5)).collect();
    let marks = [(10, 0, 1), (12, 1, 1), (40, 1, 2), (43, 0, 2), (70, 0, 1), (71, 1, 1), (80, 0, 1)];
    let outcome = split(&trace(&messages, &marks, &RunFacts::default()), "marks").unwrap();
    let expected = ["0,0,0,0,10,10,80", "1,1,0,10,40,30,240", "2,2,0,40,70,30,240", "3,1,0,70,99,30,240"];
    assert_eq!(list(&outcome), expected);
    let error = split(&trace(&messages, &[], &RunFacts::default()), "marks").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the trace has no marks (MPI_Pcontrol), which `--method marks` splits at; use another method"
    );
}

#[test]
fn a_hundred_thousand_marks_are_a_hundred_thousand_occurrences() {
    let messages: Vec<_> = (0..200_000).map(|i| (i, 0, 1)).collect();
    let marks: Vec<_> = (0..100_000).map(|i| (2 * i, 0, (i % 3) as i32)).collect();
    let outcome = split(&trace(&messages, &marks, &RunFacts::default()), "marks").unwrap();
    assert_eq!(list(&outcome).len(), 100_000);
    assert_eq!(outcome.segmentation.phases.len(), 3);
}

#[test]
fn more_phases_than_windows_are_no_problem() {
    let messages: Vec<_> = (0..100_000).map(|i| (i, 0, 1)).collect();
    let marks: Vec<_> = (0..100_000).map(|i| (i, 0, i as i32)).collect();
    let outcome = split(&trace(&messages, &marks, &RunFacts::default()), "marks").unwrap();
    // The last mark is set at the very end, so its phase has no time.
    assert_eq!((outcome.segmentation.phases.len(), list(&outcome).len()), (99_999, 99_999));
    let bytes = trace(&messages, &marks, &RunFacts::default());
    let options = Options { method: Method::Marks, max_phases: Some(3), windows: 4096, ..Options::default() };
    let merged = segment(&mut Rewind(Cursor::new(&bytes)), &options).unwrap().segmentation;
    assert!(merged.phases.len() <= 3);
    assert_eq!(merged.phases.iter().map(|phase| phase.matrix.messages()).sum::<u64>(), 100_000);
}

#[test]
fn a_span_beyond_all_time_is_refused() {
    let error = split(&trace(&[(i64::MIN, 0, 1), (i64::MAX, 0, 1)], &[], &RunFacts::default()), "kmeans");
    assert_eq!(
        error.unwrap_err().to_string(),
        "lasts 18446744073709551615 ns, the longest run has 2^63-1 ns"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the messages: depth 0 tiles the run, nothing is lost, and every occurrence has a
    /// length.
    #[test]
    fn occurrences_tile_and_matrices_add_up(
        steps in prop::collection::vec((0i64..2000, 0u32..9, 0u32..9), 1..400),
        stretch in prop::sample::select(vec![1i64, 1000, 1 << 40]),
        min_duration_ns in prop::sample::select(vec![0u64, 500, 1 << 41]),
        max_phases in prop::option::of(1usize..4),
        windows in 2usize..64,
    ) {
        let mut now = 0;
        let mut messages: Vec<_> = steps.iter().map(|(step, src, dst)| { now += step * stretch; (now, *src, *dst) }).collect();
        messages.sort();
        let bytes = trace(&messages, &[], &RunFacts::default());
        for method in methods() {
            let choice = phaseflow_collect::choice::Choice::plain(method);
            let options = Options {
                method: Method::parse(&choice).unwrap(), windows, max_phases, min_duration_ns, ..Options::default()
            };
            let found = segment(&mut Rewind(Cursor::new(&bytes)), &options).unwrap().segmentation;
            let mut reached = 0;
            for occurrence in &found.occurrences {
                prop_assert_eq!(occurrence.start_ns, reached);
                // A run of a single time is one occurrence without length.
                prop_assert!(occurrence.end_ns > occurrence.start_ns || found.header.duration_ns.is_none());
                reached = occurrence.end_ns;
            }
            prop_assert_eq!(reached, found.header.duration_ns.unwrap_or(0));
            let sum: u64 = found.phases.iter().map(|phase| phase.matrix.messages()).sum();
            prop_assert_eq!(sum, messages.len() as u64);
            let listed: u64 = found.occurrences.iter().map(|occurrence| occurrence.messages).sum();
            prop_assert!(found.occurrences.is_empty() || listed == sum);
            prop_assert!(found.phases.len() <= max_phases.unwrap_or(usize::MAX));
            for (number, phase) in found.phases.iter().enumerate() {
                let of_phase = found.occurrences.iter().filter(|o| o.phase == Some(number as u32));
                let (time, sent) = of_phase.fold((0, 0), |sum, o| (sum.0 + o.end_ns - o.start_ns, sum.1 + o.messages));
                prop_assert!(found.occurrences.is_empty() || (phase.duration_ns.unwrap_or(0), phase.matrix.messages()) == (time, sent));
            }
        }
    }
}
