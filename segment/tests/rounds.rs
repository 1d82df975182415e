//! The method `rounds` on labelled runs: what holds for every segmentation, and how near each is to
//! the truth.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::io::Cursor;

use phaseflow_collect::archive::ArchiveReader;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{Disturbance, FAMILIES, Irregular, LabelledRun, PROGRAM_FAMILIES, Program};
use phaseflow_collect::trace::{Call, Message, Operation, Rank, RunFacts, TraceWriter};
use phaseflow_segment::{
    Level, Options, Rewind, Segmentation, read_segmentation, segment, write_segmentation,
};
use proptest::prelude::*;

fn split(trace: &[u8], level: Level) -> Segmentation {
    segment(&mut Rewind(Cursor::new(trace)), &Options { level, ..Options::default() }).unwrap().segmentation
}

/// The archive of a run, and where its phases begin.
fn generate(run: &LabelledRun) -> (Vec<u8>, Vec<u64>) {
    let (mut archive, mut starts) = (Vec::new(), Vec::new());
    run.generate(&mut ArchiveExport::new(&mut archive, false), &mut |stretch| {
        starts.push(stretch.start_ns);
        Ok(())
    })
    .unwrap();
    (archive, starts)
}

fn program(text: &str, ranks: u32) -> (Vec<u8>, Vec<u64>) {
    generate(&LabelledRun::new(Program::parse(text).unwrap(), ranks))
}

/// Where the phases of a run of a family like real programs begin, and what is found at `auto`.
fn of_family(name: &str, ranks: u32, seed: u64) -> (Vec<u64>, Segmentation) {
    let family = PROGRAM_FAMILIES.iter().find(|family| family.name == name).unwrap();
    let (trace, truth) = generate(&family.run(ranks, 75_000, seed).unwrap());
    (truth, split(&trace, Level::Auto))
}

fn starts(segmentation: &Segmentation) -> Vec<u64> {
    let tiles = segmentation.occurrences.iter().filter(|occurrence| occurrence.depth == 0);
    tiles.map(|occurrence| occurrence.start_ns).collect()
}

/// Checks that depth 0 tiles the run, that deeper occurrences lie in those above them, that no
/// message is lost, and that the archive comes back unchanged.
fn check(found: &Segmentation, messages: u64) {
    let (mut reached, mut sent) = (0, 0);
    let mut around: Vec<(u64, u64)> = Vec::new();
    for occurrence in &found.occurrences {
        assert!(occurrence.start_ns < occurrence.end_ns, "{occurrence:?}");
        around.truncate(occurrence.depth as usize);
        assert_eq!(around.len(), occurrence.depth as usize, "{occurrence:?}");
        if let Some((start, end)) = around.last() {
            assert!(*start <= occurrence.start_ns && occurrence.end_ns <= *end, "{occurrence:?}");
        } else {
            assert_eq!(occurrence.start_ns, reached, "{occurrence:?}");
            reached = occurrence.end_ns;
            sent += occurrence.messages;
        }
        around.push((occurrence.start_ns, occurrence.end_ns));
    }
    assert_eq!((Some(reached), sent), (found.header.duration_ns, messages));
    for (number, phase) in found.phases.iter().enumerate() {
        let own = || found.occurrences.iter().filter(|occurrence| occurrence.phase == Some(number as u32));
        // A loop counts its outermost occurrences; a phase that holds no other phase counts all of
        // its own.
        let depth = own().map(|occurrence| occurrence.depth).min().unwrap();
        let is_leaf = number < found.leaf_phases().unwrap();
        let (count, sum, ns) = own()
            .filter(|occurrence| is_leaf || occurrence.depth == depth)
            .fold((0, 0, 0), |all, o| (all.0 + 1, all.1 + o.messages, all.2 + o.end_ns - o.start_ns));
        assert_eq!((phase.occurrences, phase.matrix.messages(), phase.duration_ns), (count, sum, Some(ns)));
    }
    let bytes = write_segmentation(Vec::new(), false, found).unwrap();
    assert_eq!(&read_segmentation(ArchiveReader::open(&bytes[..]).unwrap()).unwrap(), found);
}

#[test]
fn every_family_at_every_level_is_whole() {
    for family in FAMILIES {
        for (ranks, seed) in [(8, 1), (16, 2), (64, 3)] {
            let run = family.run(ranks, 20_000, seed).unwrap();
            let (trace, _) = generate(&run);
            let messages = split(&trace, Level::Leaf).occurrences.iter().map(|o| o.messages).sum();
            for level in [Level::Auto, Level::Leaf, Level::Outer] {
                check(&split(&trace, level), messages);
            }
        }
    }
}

#[test]
fn phases_of_many_kinds_are_found_to_the_nanosecond() {
    // Of more pairs than have a place of their own, an exchange of all looks like any other.
    let few_pairs = "halo2d*30,alltoall*3,halo2d*30,transpose*40,incast*20";
    // Another pattern on half of the ranks.
    let half = "shift[gap=80us]|halo2d[gap=80us]*60,shift[gap=80us]|shift[gap=80us]*60";
    for ranks in [16, 64, 256] {
        for text in [
            if ranks < 256 { few_pairs } else { "halo2d*30,transpose*40,incast*20" },
            if ranks < 256 { half } else { "shift*60,halo2d*60" },
            "shift*40,permutation*40,bisection*40,halo3d*20",
            "(halo2d*8,shift*9)*6,transpose*30",
            "halo2d[bytes=4KiB]*30,halo2d[bytes=64KiB]*30",
            "halo2d+allreduce[bytes=1KiB]*20,halo3d*20",
            // A round with one more operation.
            "halo2d[gap=60us]*60,halo2d+incast[bytes=256,gap=60us]*60,halo2d[gap=60us]*60",
            // Idle stretches between phases, one of which has no rounds.
            "transpose*60,idle[time=30ms],shift*60,idle[time=30ms],random*60,idle[time=30ms],halo2d*60",
        ] {
            let (trace, truth) = program(text, ranks);
            assert_eq!(starts(&split(&trace, Level::Leaf)), truth, "{ranks} ranks: {text}");
        }
    }
}

#[test]
fn a_change_of_rate_alone_is_found_to_the_round() {
    let text = "shift[bytes=1KiB,gap=1us]*400,shift[bytes=1KiB,gap=20us]*300,shift[bytes=1KiB,gap=1us]*400";
    for ranks in [16, 64, 256] {
        let (trace, truth) = program(text, ranks);
        let found = starts(&split(&trace, Level::Leaf));
        assert_eq!(found.len(), truth.len(), "{ranks} ranks: {found:?}, expected {truth:?}");
        for (own, other) in found.iter().zip(&truth) {
            // One round of the slow phase takes 22 microseconds.
            assert!(own.abs_diff(*other) <= 23_000, "{ranks} ranks: {found:?}, expected {truth:?}");
        }
    }
}

#[test]
fn random_pauses_hide_no_change_of_pace() {
    let text = "halo2d[bytes=4KiB,gap=100us]*1000,halo2d[bytes=4KiB,gap=600us]*1000";
    for irregular in [Irregular::Exponential, Irregular::Pareto] {
        for seed in 1..=3 {
            let disturbance = Disturbance { irregular: Some(irregular), ..Disturbance::default() };
            let own =
                LabelledRun { disturbance, seed, ..LabelledRun::new(Program::parse(text).unwrap(), 16) };
            let (trace, truth) = generate(&own);
            let found = split(&trace, Level::Leaf);
            // The longest of 2000 Pareto pauses are some hundredths of the run, so two may be idle.
            // If their chance had to be e⁻⁷, not e⁻⁹, four were.
            let label = format!("{irregular:?}, seed {seed}: {:?}, expected {truth:?}", found.occurrences);
            assert_eq!(found.phases.len(), 2, "{label}");
            let idle = found.occurrences.iter().filter(|row| row.phase.is_none()).count();
            assert!(idle <= 2 && starts(&found).len() <= 2 + 2 * idle, "{label}");
            // Within a hundredth of the run, as boundaries are scored.
            let end_ns = found.occurrences.iter().map(|row| row.end_ns).max().unwrap();
            assert!(starts(&found).iter().any(|own| own.abs_diff(truth[1]) <= end_ns / 100), "{label}");
        }
    }
}

#[test]
fn random_partners_are_a_phase_wherever_they_come() {
    // Messages of random partners come again only by chance, so they make no rounds, and no pieces
    // of rounds.
    for (text, ranks) in [
        ("transpose*300,((random[gap=190us]*54,permutation[gap=110us]*71)*5,allreduce*119)*3,incast*300", 64),
        ("(random[gap=180us]*62,shift[gap=190us]*50,idle[time=7ms])*8,halo2d*190", 256),
    ] {
        let (trace, truth) = program(text, ranks);
        let found = starts(&split(&trace, Level::Leaf));
        let label = format!("{ranks} ranks: {text}: {found:?}, expected {truth:?}");
        assert_eq!(found.len(), truth.len(), "{label}");
        // A pause before a phase may count as its own. The longest that a pattern asks for is this.
        let is_near = |(own, other): (&u64, &u64)| own <= other && other - own <= 190_000;
        assert!(found.iter().zip(&truth).all(is_near), "{label}");
    }
}

#[test]
fn clocks_that_differ_by_rounds_leave_no_phases_between_phases() {
    // Ranks are up to a millisecond late, which is some five rounds.
    let text = "halo2d[gap=90us]*200,shift[gap=150us]*300,alltoall[gap=20us]*60,transpose[gap=120us]*300";
    for ranks in [16, 64] {
        let disturbance = Disturbance { skew_ns: 1_000_000, ..Disturbance::default() };
        let run = LabelledRun { disturbance, ..LabelledRun::new(Program::parse(text).unwrap(), ranks) };
        let (trace, truth) = generate(&run);
        let found = starts(&split(&trace, Level::Leaf));
        assert_eq!(found.len(), truth.len(), "{ranks} ranks: {found:?}, expected {truth:?}");
        for (own, other) in found.iter().zip(&truth) {
            assert!(own.abs_diff(*other) < 2_000_000, "{ranks} ranks: {found:?}, expected {truth:?}");
        }
    }
}

#[test]
fn a_stationary_run_is_one_phase() {
    for pattern in
        ["shift", "halo2d", "halo3d", "alltoall", "allreduce", "sweep", "incast", "transpose", "random"]
    {
        for ranks in [16, 64, 128] {
            if (pattern, ranks) == ("random", 64) {
                // The last window differs by chance: a limit that docs/segmentation.md names.
                continue;
            }
            let (trace, _) = program(&format!("{pattern}*60"), ranks);
            let found = split(&trace, Level::Auto);
            assert_eq!((found.phases.len(), found.occurrences.len()), (1, 1), "{pattern}, {ranks} ranks");
        }
    }
}

#[test]
fn a_loop_is_a_phase_of_phases() {
    let (trace, _) = program("transpose*30,(halo2d*8,shift*9)*6,incast*30", 64);
    let found = split(&trace, Level::Outer);
    let phases: Vec<_> = found.occurrences.iter().map(|o| (o.depth, o.phase.unwrap())).collect();
    // First the phases with rows of their own, then the phases in the loop, then the loop.
    let mut expected = vec![(0, 0), (0, 4)];
    expected.extend([(1, 2), (1, 3)].repeat(6));
    expected.push((0, 1));
    assert_eq!(phases, expected);
    let sums: Vec<u64> = found.phases.iter().map(|phase| phase.matrix.messages()).collect();
    assert_eq!(sums[4], sums[2] + sums[3]);
    assert_eq!(found.phases[4].occurrences, 1);
    assert_eq!(found.phases[2].occurrences, 6);
}

#[test]
fn an_idle_stretch_begins_when_the_last_message_has_arrived() {
    let (trace, truth) = program("halo2d*50,idle[time=50ms],shift*50", 16);
    let found = split(&trace, Level::Auto);
    assert_eq!(starts(&found), truth);
    assert_eq!(found.occurrences[1].phase, None);
}

#[test]
fn an_idle_stretch_near_another_one_is_idle_too() {
    // Less time lies between them than the second one lasts, and the waves after it take half as
    // long as that.
    let text = "halo2d[gap=50us,bytes=8KiB]*200,idle[time=4ms],alltoall[bytes=1KiB]*20,idle[time=4ms],sweep[bytes=64KiB,gap=97us]*12";
    let (trace, truth) = program(text, 64);
    assert_eq!(starts(&split(&trace, Level::Auto)), truth);
}

#[test]
fn a_first_phase_in_which_nothing_comes_again_is_not_the_program_that_starts() {
    // It has fewer messages than the second phase, and they come much more slowly.
    let (trace, truth) = program("random[bytes=32KiB,gap=178us]*50,halo3d[bytes=16KiB,gap=86us]*60", 64);
    let found = split(&trace, Level::Auto);
    assert_eq!(starts(&found), truth);
    assert!(found.occurrences.iter().all(|row| row.phase.is_some()), "{:?}", found.occurrences);
}

#[test]
fn a_wave_over_the_same_neighbours_is_no_part_of_a_halo() {
    // Together, pieces of the wave's rounds have the halo's messages, but they are much slower.
    let text = "halo2d[bytes=8KiB,gap=62us]*198,(sweep[bytes=8KiB,gap=193us]*6,bisection[bytes=8KiB,gap=111us]*99,idle[time=8421393ns])*3,permutation[bytes=4KiB]*400";
    let (trace, truth) = program(text, 256);
    assert_eq!(starts(&split(&trace, Level::Leaf)), truth);
}

#[test]
fn auto_shows_what_recurs_above_the_steps_of_rings() {
    // Training and validation in turn, 24 times each. Their rings have many steps, which are
    // leaves. Windows of 1/128 of the run find its stretches again.
    let (truth, found) = of_family("training", 16, 35);
    let found = starts(&found);
    let near = truth.windows(2).map(|pair| (pair[1], (pair[1] - pair[0]) / 4));
    let seen = near.filter(|(begin, near)| found.iter().any(|start| start.abs_diff(*begin) <= *near)).count();
    assert!(seen * 10 >= (truth.len() - 1) * 9, "{seen} of {}", truth.len() - 1);
    assert!(found.len() * 10 <= truth.len() * 12, "{} rows for {}", found.len(), truth.len());
}

#[test]
fn a_level_begins_with_the_phase_that_divides_it_best() {
    // Training and validation three times. Windows of the level are 1/32 of the run, and many steps
    // of the rings begin within them: the nearest one is never right.
    let (truth, found) = of_family("training", 64, 202);
    let near = truth.windows(2).map(|pair| (pair[1], (pair[1] - pair[0]) / 4));
    let seen = near.filter(|(begin, near)| starts(&found).iter().any(|at| at.abs_diff(*begin) <= *near));
    assert!(seen.count() >= 5, "{truth:?}: {:?}", starts(&found));
}

#[test]
fn nobody_is_idle_while_messages_are_on_their_way() {
    // Twice, nothing is sent for more than 1/256 of the run, as single messages take long.
    let (truth, found) = of_family("sizes", 16, 202);
    assert!(found.occurrences.iter().all(|row| row.phase.is_some()), "{:?}", found.occurrences);
    assert_eq!(found.occurrences.len(), truth.len());
}

#[test]
fn the_program_may_start_more_slowly_than_it_pauses() {
    // Starting up takes an eighth of the run, the pause after it a twentieth.
    let (truth, found) = of_family("whole", 64, 212);
    assert_eq!(starts(&found).len(), truth.len(), "{truth:?}: {:?}", found.occurrences);
    assert!(found.occurrences[1].phase.is_none() && found.phases[0].title == "starting up");
}

#[test]
fn stray_messages_between_phases_are_a_phase_of_their_own() {
    // One message in twenty is stray, also while the program pauses. Ranks are late, and messages
    // irregular.
    let text = "halo2d[bytes=8KiB,gap=90us]*250,idle[time=20ms],permutation[bytes=16KiB,gap=80us]*400,\
                idle[time=20ms],random[gap=90us]*200";
    let ranks = 64;
    let disturbance = Disturbance { jitter: 1.0, noise: 0.05, skew_ns: 50_000, ..Disturbance::default() };
    let run = LabelledRun { disturbance, ..LabelledRun::new(Program::parse(text).unwrap(), ranks) };
    let (trace, truth) = generate(&run);
    let found = split(&trace, Level::Leaf);
    let phases: Vec<_> = found.occurrences.iter().map(|row| row.phase).collect();
    // Every message is of a phase, and both pauses are of one.
    assert_eq!(phases, [0, 1, 2, 1, 3].map(Some), "{ranks} ranks: {:?}", found.occurrences);
    for (own, other) in starts(&found).iter().zip(&truth) {
        assert!(own.abs_diff(*other) < 1_000_000, "{ranks} ranks: {:?}, expected {truth:?}", starts(&found));
    }
}

#[test]
fn an_instant_of_a_phase_in_which_noise_hides_the_rounds_is_no_phase() {
    // Windows of a wave among stray messages differ by chance; one of them once held eight
    // messages.
    let noise = FAMILIES.iter().find(|family| family.name == "noise").unwrap();
    let (trace, _) = generate(&noise.run(256, 200_000, 30).unwrap());
    let found = split(&trace, Level::Leaf);
    let shortest = found.occurrences.iter().map(|row| row.end_ns - row.start_ns).min();
    assert!(shortest > found.header.duration_ns.map(|ns| ns / 1000), "{:?}", found.occurrences);
}

#[test]
fn silences_between_phases_may_be_shorter_than_their_rounds() {
    // Three rounds of the wave take 25 ms, most of it not silent.
    let text = "random[bytes=64KiB,gap=122us]*59,idle[time=2336759ns],sweep[bytes=32KiB,gap=124us]*3,idle[time=2305555ns],permutation[bytes=16KiB,gap=172us]*155";
    let (trace, truth) = program(text, 256);
    assert_eq!(starts(&split(&trace, Level::Leaf)), truth);
}

#[test]
fn the_order_of_messages_of_one_time_does_not_matter() {
    // Each rank sends to all others at one time, round after round; later to fewer.
    let trace = |order: &dyn Fn(u32) -> u32| {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        for round in 0..200i64 {
            for src in 0..16 {
                for i in 0..if round < 120 { 15 } else { 6 } {
                    let dst = (src + 1 + order(i) % if round < 120 { 15 } else { 6 }) % 16;
                    let message = Message {
                        send_post_ns: round * 100,
                        src: Rank(src),
                        dst: Rank(dst),
                        bytes: 64,
                        ..Message::default()
                    };
                    writer.message(&message).unwrap();
                }
            }
        }
        writer.finish(&RunFacts::default()).unwrap().1
    };
    let bytes = |trace: &[u8]| write_segmentation(Vec::new(), false, &split(trace, Level::Auto)).unwrap();
    let (up, down) = (trace(&|i| i), trace(&|i| 29 - i));
    assert!(up != down);
    assert!(bytes(&up) == bytes(&down));
    assert_eq!(split(&up, Level::Auto).phases.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Rounds of messages at a few different times, of two kinds in turn; messages of one time and
    /// source come in any order.
    #[test]
    fn no_order_of_messages_of_one_time_matters(
        kinds in prop::collection::vec(
            prop::collection::vec((0i64..4, 0u32..6, 0u32..6, 0u32..3, 0i32..3), 2..40), 2..4),
        rounds in 3i64..30,
        order in any::<u64>(),
    ) {
        let trace = |order: u64| {
            let mut messages: Vec<(i64, u32, u64, Message)> = Vec::new();
            let mut state = order;
            for round in 0..kinds.len().cast_signed() as i64 * rounds {
                for (step, src, dst, size, tag) in &kinds[(round / rounds) as usize] {
                    // A linear congruential generator (Knuth, MMIX) orders messages of one time and
                    // source.
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let place = if order == 0 { 0 } else { state >> 32 };
                    let send_post_ns = 10 * round + step;
                    let (src, dst, bytes) = (Rank(*src), Rank(*dst), 100u64 << (2 * size));
                    let tag = (tag > &0).then_some(*tag);
                    let message = Message { send_post_ns, src, dst, bytes, tag, ..Message::default() };
                    messages.push((send_post_ns, src.0, place, message));
                }
            }
            messages.sort_by_key(|(time, src, place, _)| (*time, *src, *place));
            let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
            messages.iter().for_each(|(_, _, _, message)| writer.message(message).unwrap());
            let bytes = writer.finish(&RunFacts::default()).unwrap().1;
            segment(&mut Rewind(Cursor::new(bytes)), &Options::default()).unwrap()
        };
        prop_assert_eq!(trace(0), trace(order | 1));
    }
}

/// A trace of messages (time, source, destination, operation) of 64 bytes.
fn trace(messages: impl IntoIterator<Item = (i64, u32, u32, Operation)>) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    for (send_post_ns, src, dst, operation) in messages {
        let (src, dst) = (Rank(src), Rank(dst));
        let message = Message { send_post_ns, src, dst, bytes: 64, operation, ..Message::default() };
        writer.message(&message).unwrap();
    }
    writer.finish(&RunFacts::default()).unwrap().1
}

/// Rounds `from` to `to` of a ring of 16 ranks; each takes 1000 ns.
fn ring(from: i64, to: i64, step: u32) -> impl Iterator<Item = (i64, u32, u32, Operation)> {
    let message = move |time, src| (time, src, (src + step) % 16, Operation::PointToPoint);
    (from..to).flat_map(move |round| (0..16).map(move |src| message(round * 1000 + i64::from(src), src)))
}

#[test]
fn starting_up_is_a_phase_named_so() {
    // A barrier of processes that start one after the other, over as much time as 20 rounds take.
    let barrier = (0..4u32).flat_map(|step| (0..16u32).map(move |src| (step, src)));
    let barrier = barrier
        .zip(0..)
        .map(|((step, src), number)| (number * 300, src, (src + (1 << step)) % 16, Operation::Barrier));
    let found = split(&trace(barrier.chain(ring(20, 220, 1))), Level::Auto);
    let rows: Vec<_> = found.occurrences.iter().map(|row| (row.phase, row.start_ns, row.messages)).collect();
    // The pause before the first round is like those between rounds.
    assert_eq!(rows, [(Some(0), 0, 64), (Some(1), 18_901, 3200)]);
    assert_eq!(found.phases[0].title, "starting up");
}

#[test]
fn silences_of_the_start_are_a_part_of_it() {
    // Two barriers, with much longer silences between and after them than later on.
    let barrier = |from: i64| {
        let messages = (0..4u32).flat_map(|step| (0..16u32).map(move |src| (step, src))).zip(0..);
        messages.map(move |((step, src), number)| {
            (from + number * 30, src, (src + (1 << step)) % 16, Operation::Barrier)
        })
    };
    let start = barrier(0).chain(barrier(200_000));
    let rows = |level| {
        let found = split(&trace(start.clone().chain(ring(500, 1500, 1))), level);
        assert_eq!(found.phases[0].title, "starting up");
        let rows = found.occurrences.iter().map(|row| (row.phase, row.start_ns, row.messages));
        rows.collect::<Vec<_>>()
    };
    for level in [Level::Leaf, Level::Auto] {
        assert_eq!(rows(level), [(Some(0), 0, 128), (Some(1), 500_000, 16_000)]);
    }
    // One silence after the start is none of it.
    let found = split(&trace(barrier(0).chain(ring(500, 1500, 1))), Level::Leaf);
    let rows: Vec<_> = found.occurrences.iter().map(|row| (row.phase, row.messages)).collect();
    assert_eq!(rows, [(Some(0), 64), (None, 0), (Some(1), 16_000)]);
}

#[test]
fn auto_leaves_out_what_is_too_small_to_be_seen() {
    // Of 1100 rounds, three are of the phase of the last 300.
    let run = || ring(0, 400, 1).chain(ring(400, 403, 5)).chain(ring(403, 800, 1)).chain(ring(800, 1100, 5));
    let found = split(&trace(run()), Level::Leaf);
    assert_eq!(starts(&found), [0, 400_000, 403_000, 800_000]);
    let found = split(&trace(run()), Level::Auto);
    assert_eq!(starts(&found), [0, 800_000]);
    // It lies below, as all phases of a row do.
    let below = found.occurrences.iter().filter(|row| row.depth == 1).map(|row| row.start_ns);
    assert_eq!(below.collect::<Vec<_>>(), [0, 400_000, 403_000, 800_000]);
}

#[test]
fn what_is_too_small_to_be_noticed_is_shown_if_it_is_the_hottest() {
    // One round that has less than 1/256 of all, with more bytes a nanosecond than the others.
    let halo = "halo2d[bytes=1KiB,gap=100us]*1000";
    let (trace, truth) = program(&format!("{halo},incast[bytes=8KiB],{halo}"), 32);
    assert_eq!(starts(&split(&trace, Level::Leaf)), truth);
    // The same round with hardly any bytes is none.
    let (trace, truth) = program(&format!("{halo},incast[bytes=8],{halo}"), 32);
    assert_eq!(starts(&split(&trace, Level::Leaf)), truth[..1]);
}

#[test]
fn how_a_run_ends_is_shown_however_small_it_is() {
    let (trace, truth) = program("halo2d[bytes=1KiB,gap=100us]*2000,incast[bytes=8]", 32);
    assert_eq!(starts(&split(&trace, Level::Leaf)), truth);
}

#[test]
fn the_start_of_a_program_is_found_where_rounds_vary() {
    for seed in 1..=5 {
        let start = "broadcast[bytes=8KiB,gap=20us]+scatter[bytes=8KiB,gap=50us]";
        let mut run = LabelledRun::new(
            Program::parse(&format!("{start},halo2d[bytes=4KiB,gap=40us]+allreduce[bytes=8]*300")).unwrap(),
            32,
        );
        run.seed = seed;
        run.disturbance = Disturbance { jitter: 0.2, skew_ns: 500, waits: true, ..Disturbance::default() };
        let (trace, _) = generate(&run);
        let found = split(&trace, Level::Leaf);
        // A broadcast has 31 messages, and so has a scatter.
        let start = &found.occurrences[0];
        assert!((56..=68).contains(&start.messages), "{seed}: {:?}", found.occurrences);
        assert_eq!(found.phases[start.phase.unwrap() as usize].title, "starting up", "{seed}");
    }
}

#[test]
fn a_barrier_between_phases_is_none() {
    let barrier = (0..4u32).flat_map(|step| (0..16u32).map(move |src| (step, src)));
    let barrier = barrier.zip(0..).map(|((step, src), number)| {
        (200_000 + number * 30, src, (src + (1 << step)) % 16, Operation::Barrier)
    });
    let found = split(&trace(ring(0, 200, 1).chain(barrier).chain(ring(202, 400, 5))), Level::Auto);
    assert_eq!(found.occurrences.len(), 2);
    // Anywhere between the last message of one phase and the first of the other.
    assert!((199_015..=202_000).contains(&found.occurrences[1].start_ns), "{:?}", found.occurrences);
}

#[test]
fn ranks_that_are_late_after_a_barrier_do_not_make_it_idle() {
    // Some ranks begin while the others have no core for a while.
    let begin = |src: u32| (203_000 + 3000 * i64::from(src), src, (src + 5) % 16, Operation::PointToPoint);
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    for rank in (0..16).map(Rank) {
        let (enter_ns, leave_ns) = (200_000 + 60 * i64::from(rank.0), Some(202_000));
        let call = Call { enter_ns, leave_ns, rank, operation: Operation::Barrier, ..Call::default() };
        writer.call(&call).unwrap();
    }
    for (send_post_ns, src, dst, operation) in
        ring(0, 200, 1).chain((0..8).map(begin)).chain(ring(230, 400, 5))
    {
        let (src, dst) = (Rank(src), Rank(dst));
        let message = Message { send_post_ns, src, dst, bytes: 64, operation, ..Message::default() };
        writer.message(&message).unwrap();
    }
    let found = split(&writer.finish(&RunFacts::default()).unwrap().1, Level::Leaf);
    let rows: Vec<_> = found.occurrences.iter().map(|row| (row.phase, row.messages)).collect();
    assert_eq!(rows, [(Some(0), 3200), (Some(1), 8 + 2720)], "{:?}", found.occurrences);
}

#[test]
fn stragglers_are_a_phase_of_their_own() {
    // Ranks 0 to 2 have half the speed of the others, and go on alone until they have done as much.
    let slow = |src: u32| src < 3;
    let whole = ring(0, 200, 1).filter(move |(time, src, ..)| !slow(*src) || time / 1000 % 2 == 0);
    let rest = ring(200, 300, 1).filter(move |(_, src, ..)| slow(*src));
    let found = split(&trace(whole.chain(rest)), Level::Auto);
    assert_eq!(found.occurrences.len(), 2, "{:?}", found.occurrences);
    assert!(found.occurrences[1].start_ns.abs_diff(200_000) <= 1000, "{:?}", found.occurrences);
    // So are the same number of messages from ranks that were never in the phase.
    let other = ring(200, 300, 7).filter(move |(_, src, ..)| slow(*src));
    let found = split(&trace(ring(0, 200, 1).chain(other)), Level::Auto);
    assert_eq!(found.occurrences.len(), 2, "{:?}", found.occurrences);
}

/// Where the second phase of a run of allreduces begins.
///
/// First come 300 allreduces of 16 ranks that send to the next rank, then 200 of four steps, the
/// first of which looks the same. A step takes 100 ns, without pauses.
fn second_of_two_allreduces(with_calls: bool) -> u64 {
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    let operation = Operation::Allreduce;
    let mut start_ns = 0;
    for steps in [vec![&[1][..]; 300], vec![&[1, 2, 4, 8][..]; 200]].concat() {
        let end_ns = start_ns + 100 * i64::try_from(steps.len()).unwrap();
        for rank in (0..16).map(Rank).filter(|_| with_calls) {
            let (enter_ns, leave_ns) = (start_ns, Some(end_ns));
            let call = Call { enter_ns, leave_ns, rank, operation, ..Call::default() };
            writer.call(&call).unwrap();
        }
        for step in steps {
            for src in 0..16 {
                let (send_post_ns, dst) = (start_ns + i64::from(src), Rank((src + step) % 16));
                let message =
                    Message { send_post_ns, src: Rank(src), dst, bytes: 64, operation, ..Message::default() };
                writer.message(&message).unwrap();
            }
            start_ns += 100;
        }
    }
    let found = split(&writer.finish(&RunFacts::default()).unwrap().1, Level::Auto);
    assert_eq!(found.occurrences.len(), 2, "{:?}", found.occurrences);
    found.occurrences[1].start_ns
}

#[test]
fn no_boundary_is_inside_a_collective() {
    // With the messages alone, the first step counts to the first phase.
    assert_eq!(second_of_two_allreduces(false), 30_100);
    assert_eq!(second_of_two_allreduces(true), 30_000);
}
