//! What the method `rounds` has to find, and which changes must not matter to it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and fails")]

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{Disturbance, LabelledRun, Program};
use phaseflow_segment::{Level, Method, Options, Rewind, segment};

/// The innermost phases of a program: their begins in nanoseconds, and their numbers.
fn phases(program: &str, ranks: u32, disturbance: Disturbance) -> Vec<(u64, Option<u32>)> {
    found_and_true(program, ranks, disturbance).0
}

/// The same, and where the phases truly begin.
fn found_and_true(
    program: &str,
    ranks: u32,
    disturbance: Disturbance,
) -> (Vec<(u64, Option<u32>)>, Vec<u64>) {
    let run = LabelledRun { disturbance, ..LabelledRun::new(Program::parse(program).unwrap(), ranks) };
    let (mut trace, mut starts) = (Vec::new(), Vec::new());
    run.generate(&mut ArchiveExport::new(&mut trace, false), &mut |stretch| {
        starts.push(stretch.start_ns);
        Ok(())
    })
    .unwrap();
    let method = Method::parse(&Choice::parse("rounds").unwrap()).unwrap();
    let options = Options { method, level: Level::Leaf, ..Options::default() };
    let found = segment(&mut Rewind(Cursor::new(trace)), &options).unwrap().segmentation;
    (found.occurrences.iter().map(|row| (row.start_ns, row.phase)).collect(), starts)
}

const STEP: &str = "halo2d[bytes=4KiB,gap=100us]*1000,halo2d[bytes=4KiB,gap=600us]*1000";

#[test]
fn a_step_that_takes_longer_is_seen_however_irregular_times_are() {
    for jitter in [0.0, 0.01, 0.2] {
        let found = phases(STEP, 16, Disturbance { jitter, ..Disturbance::default() });
        let labels: Vec<_> = found.iter().map(|row| row.1).collect();
        assert_eq!(labels, [Some(0), Some(1)], "{jitter}");
    }
}

#[test]
fn a_heavy_pair_among_small_messages_is_a_phase() {
    // In the second half one message of 8 MiB comes with each 16 of 4 KiB.
    let program = "shift[bytes=4KiB,gap=1ms]*500,shift[bytes=4KiB,gap=1ms]+pair[bytes=8MiB]*500";
    let found = phases(program, 16, Disturbance::default());
    let labels: Vec<_> = found.iter().map(|row| row.1).collect();
    assert_eq!(labels, [Some(0), Some(1)]);
    // A round of the first half takes about a millisecond.
    assert!(found[1].0.abs_diff(500_000_000) < 10_000_000, "{found:?}");
}

#[test]
fn a_pair_that_loads_its_link_many_times_as_much_is_a_phase() {
    // The messages of 128 KiB are a twentieth of all bytes, but 16 times what any other pair sends.
    // A round takes as long as before.
    let step = "halo3d[bytes=8KiB,gap=311us]*40";
    let program = format!("{step},halo3d[bytes=8KiB]+pair[bytes=128KiB,gap=179us]*30,{step}");
    for jitter in [0.0, 0.05, 0.2] {
        let disturbance = Disturbance { jitter, ..Disturbance::default() };
        let (found, truth) = found_and_true(&program, 64, disturbance);
        let expected: Vec<_> = truth.into_iter().zip([Some(0), Some(1), Some(0)]).collect();
        assert_eq!(found, expected, "{jitter}");
    }
}

#[test]
fn the_numbers_of_ranks_do_not_matter() {
    let with = |renumber| {
        phases("(halo2d*8,shift*9)*6,transpose*30", 64, Disturbance { renumber, ..Disturbance::default() })
    };
    let found = with(true);
    assert_eq!(found.len(), 13, "{found:?}");
    assert_eq!(found, with(false));
}

#[test]
fn the_numbers_of_ranks_do_not_matter_where_many_send_at_once() {
    // Each rank begins at a time of its own. Later, messages often have one time.
    let disturbance = Disturbance { skew_ns: 20_000, waits: true, imbalance: 0.1, ..Disturbance::default() };
    let programs = [
        "(halo2d|halo3d*3,bisection)*20",
        "(halo3d*4,random*3)*6,contacts*20",
        "(transpose*2,halo2d*4)*15,contacts*40",
        "(alltoall,halo3d*5)*12",
        "contacts*30,permutation*20,contacts*30,random*20",
    ];
    for program in programs {
        for disturbance in [disturbance, Disturbance { noise: 0.02, ..disturbance }] {
            let found = phases(program, 64, disturbance);
            let renumbered = phases(program, 64, Disturbance { renumber: true, ..disturbance });
            assert_eq!(found, renumbered, "{program} {disturbance:?}");
        }
    }
}

#[test]
fn how_often_a_loop_goes_round_does_not_matter() {
    for iterations in [2, 16, 17, 60] {
        let found = phases(&format!("(halo2d*20,alltoall*5)*{iterations}"), 64, Disturbance::default());
        let labels: Vec<_> = found.iter().map(|row| row.1).collect();
        assert_eq!(labels, [Some(0), Some(1)].repeat(iterations), "{iterations}");
    }
}
