//! Tags of point-to-point messages: they tell phases apart, unless they are counters.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::Cursor;

use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{FAMILIES, LabelledRun, Program};
use phaseflow_collect::trace::{Block, Message, Operation, Rank, RunFacts, TraceReader, TraceWriter};
use phaseflow_segment::{Level, Method, Options, Rewind, Segmentation, segment, write_segmentation};

/// Rounds of a ring with a pause after each: every rank sends one message of 4 KiB to each of two
/// neighbours. `tag` gives the tag for a round and a neighbour.
fn ring(rounds: i64, tag: impl Fn(i64, u32) -> Option<i32>) -> Vec<u8> {
    ring_by(Operation::PointToPoint, rounds, tag)
}

/// The same with another call.
fn ring_by(operation: Operation, rounds: i64, tag: impl Fn(i64, u32) -> Option<i32>) -> Vec<u8> {
    let (ranks, mut writer) = (16, TraceWriter::new(Vec::new(), false, "test").unwrap());
    for round in 0..rounds {
        for src in 0..ranks {
            for (number, step) in [1, ranks - 1].into_iter().enumerate() {
                let number = number as u32;
                let message = Message {
                    send_post_ns: round * 1000 + i64::from(src),
                    src: Rank(src),
                    dst: Rank((src + step) % ranks),
                    bytes: 4096,
                    tag: tag(round, number),
                    operation,
                    ..Message::default()
                };
                writer.message(&message).unwrap();
            }
        }
    }
    writer.finish(&RunFacts::default()).unwrap().1
}

fn split(trace: &[u8]) -> Segmentation {
    segment(&mut Rewind(Cursor::new(trace)), &Options::default()).unwrap().segmentation
}

/// The begins and numbers of the phases.
fn stretches(found: &Segmentation) -> Vec<(u64, Option<u32>)> {
    let tiles = found.occurrences.iter().filter(|occurrence| occurrence.depth == 0);
    tiles.map(|occurrence| (occurrence.start_ns, occurrence.phase)).collect()
}

#[test]
fn phases_that_differ_in_nothing_but_tags_are_found_to_the_nanosecond() {
    // The tag of a short stage differs from the tag of the rest.
    let stage = |round: i64| if (100..160).contains(&round) { 9 } else { 7 };
    let found = split(&ring(300, |round, _| Some(stage(round))));
    assert_eq!(stretches(&found), [(0, Some(0)), (100_000, Some(1)), (160_000, Some(0))]);
    assert!(found.header.method.ends_with(",tags=1]"), "{}", found.header.method);
    let exchanged = split(&ring_by(Operation::Sendrecv, 300, |round, _| Some(stage(round))));
    assert_eq!(stretches(&exchanged), stretches(&found));
    // Tags of collective operations are the library's own, and a user's tag is never negative.
    let internal = split(&ring_by(Operation::Bcast, 300, |round, _| Some(stage(round))));
    assert_eq!(stretches(&internal), [(0, Some(0))]);
    assert_eq!(stretches(&split(&ring(300, |round, _| Some(-stage(round))))), [(0, Some(0))]);
    // A stage with a tag after one without.
    let found = split(&ring(300, |round, _| (round >= 120).then_some(7)));
    assert_eq!(stretches(&found), [(0, Some(0)), (120_000, Some(1))]);
    // Three stages, each with a tag for each side.
    let found = split(&ring(300, |round, side| Some((round / 100) as i32 * 2 + side.cast_signed())));
    let expected: Vec<_> = (0..3).map(|stage| (u64::from(stage) * 100_000, Some(stage))).collect();
    assert_eq!(stretches(&found), expected);
}

#[test]
fn counters_do_not_split_phases() {
    let plain = split(&ring(300, |_, _| None));
    assert_eq!(stretches(&plain), [(0, Some(0))]);
    for period in [1, 3, 4, 8, 20, 1_000_000] {
        let found = split(&ring(300, |round, _| Some((round % period) as i32)));
        assert_eq!(found, Segmentation { header: found.header.clone(), ..plain.clone() }, "modulo {period}");
        assert_eq!(found.header.method, plain.header.method);
    }
    // Several exchanges in each iteration, tagged with the iteration's number; then with a tag for
    // each side as well; few iterations; outer iterations.
    for (rounds, tag) in
        [(300, [3, 3, 0]), (300, [1, 2, 1]), (20, [1, 1, 0]), (300, [50, 1, 0]), (2000, [20, 2, 1])]
    {
        let [lasting, times, plus] = tag;
        let number = |round: i64, side: u32| (round / lasting * times + plus * i64::from(side)) as i32;
        let found = split(&ring(rounds, |round, side| Some(number(round, side))));
        assert_eq!(stretches(&found), [(0, Some(0))]);
    }
    // Two buffers that take turns are steady, and still one phase.
    let found = split(&ring(300, |round, _| Some((round % 2) as i32)));
    assert_eq!(stretches(&found), [(0, Some(0))]);
}

/// A labelled run with other tags: `tag` gets a message and the number of messages of its pair
/// before it.
fn tagged(run: &LabelledRun, tag: impl Fn(&Message, i32) -> Option<i32>) -> Vec<u8> {
    let mut plain = Vec::new();
    run.generate(&mut ArchiveExport::new(&mut plain, false), &mut |_| Ok(())).unwrap();
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    let mut before = std::collections::HashMap::new();
    let mut reader = TraceReader::open(&plain[..]).unwrap();
    while let Some(block) = reader.next_block().unwrap() {
        let Block::Messages(block) = block else { continue };
        for message in block.iter() {
            let count = before.entry((message.src, message.dst)).or_insert(0);
            writer.message(&Message { tag: tag(&message, *count), ..message }).unwrap();
            *count += 1;
        }
    }
    let summary = reader.summary().unwrap();
    let span_ns = summary.start_ns.zip(summary.end_ns);
    let facts = RunFacts { ranks: Some(summary.ranks), span_ns, ..RunFacts::default() };
    writer.finish(&facts).unwrap().1
}

#[test]
fn counters_and_internal_tags_change_nothing_in_any_family() {
    for family in FAMILIES {
        let run = family.run(16, 8000, 7).unwrap();
        let plain = split(&tagged(&run, |_, _| None));
        let counted = split(&tagged(&run, |_, count| Some(count)));
        assert!(plain == counted, "{}", family.name);
        // Tags of collective operations are the library's own.
        let own = [Operation::PointToPoint, Operation::Sendrecv];
        let internal = |message: &Message| !own.contains(&message.operation);
        let found = split(&tagged(&run, |message, count| {
            internal(message).then_some((message.dst.0 % 5).cast_signed() + count / 9)
        }));
        assert!(plain == found, "{}", family.name);
    }
}

#[test]
fn a_tag_for_each_direction_leaves_boundaries_where_they_are() {
    let text = "halo2d*30,shift*25,transpose*40,(halo2d*8,shift*9)*6,incast*20";
    for ranks in [16, 64] {
        let run = LabelledRun { gap_ns: 1000, ..LabelledRun::new(Program::parse(text).unwrap(), ranks) };
        let direction = |message: &Message| {
            let step = (message.dst.0 + ranks - message.src.0) % ranks;
            Some(100 + step.cast_signed())
        };
        let options = Options { level: Level::Leaf, ..Options::default() };
        let leaf = |trace: Vec<u8>| {
            stretches(&segment(&mut Rewind(Cursor::new(trace)), &options).unwrap().segmentation)
        };
        let (plain, found) = (leaf(tagged(&run, |_, _| None)), leaf(tagged(&run, |m, _| direction(m))));
        assert_eq!(plain, found);
    }
}

#[test]
fn other_methods_know_nothing_of_tags() {
    let bytes = |trace: &[u8]| {
        let options = Options { method: Method::Windows, windows: 64, ..Options::default() };
        let found = segment(&mut Rewind(Cursor::new(trace)), &options).unwrap().segmentation;
        write_segmentation(Vec::new(), false, &found).unwrap()
    };
    assert!(bytes(&ring(100, |_, _| None)) == bytes(&ring(100, |round, _| Some((round / 50) as i32))));
}

#[test]
fn the_order_of_messages_of_one_time_does_not_matter_with_tags() {
    // Each rank sends to all others at one time, with two tags to each; later with two other tags.
    let trace = |reverse: bool| {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        for round in 0..200i64 {
            for src in 0..12u32 {
                let mut kinds: Vec<(u32, i32)> = (1..12).flat_map(|step| [(step, 0), (step, 1)]).collect();
                if reverse {
                    kinds.reverse();
                }
                for (step, tag) in kinds {
                    let message = Message {
                        send_post_ns: round * 100,
                        src: Rank(src),
                        dst: Rank((src + step) % 12),
                        bytes: 64,
                        tag: Some(tag + if round < 120 { 0 } else { 2 }),
                        ..Message::default()
                    };
                    writer.message(&message).unwrap();
                }
            }
        }
        writer.finish(&RunFacts::default()).unwrap().1
    };
    let (up, down) = (trace(false), trace(true));
    assert!(up != down);
    assert_eq!(stretches(&split(&up)), [(0, Some(0)), (12_000, Some(1))]);
    assert_eq!(split(&up), split(&down));
}
