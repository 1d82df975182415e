//! What the method `evidence` has to find, and what must not matter to it.

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{Disturbance, LabelledRun, Program};
use phaseflow_segment::{Level, Method, Options, Rewind, segment};

/// The begins of the innermost phases of a program on 16 ranks, in nanoseconds, with their phases.
fn phases(program: &str, disturbance: Disturbance) -> Vec<(u64, Option<u32>)> {
    let run = LabelledRun { disturbance, ..LabelledRun::new(Program::parse(program).unwrap(), 16) };
    let mut trace = Vec::new();
    run.generate(&mut ArchiveExport::new(&mut trace, false), &mut |_| Ok(())).unwrap();
    let method = Method::parse(&Choice::parse("evidence").unwrap()).unwrap();
    let options = Options { method, level: Level::Leaf, ..Options::default() };
    let found = segment(&mut Rewind(Cursor::new(trace)), &options).unwrap().segmentation;
    found.occurrences.iter().map(|row| (row.start_ns, row.phase)).collect()
}

const STEP: &str = "halo2d[bytes=4KiB,gap=100us]*1000,halo2d[bytes=4KiB,gap=600us]*1000";

#[test]
fn a_step_that_takes_longer_is_seen_however_irregular_times_are() {
    for jitter in [0.0, 0.01, 0.2] {
        let found = phases(STEP, Disturbance { jitter, ..Disturbance::default() });
        let labels: Vec<_> = found.iter().map(|row| row.1).collect();
        assert_eq!(labels, [Some(0), Some(1)], "{jitter}");
    }
}

#[test]
fn the_numbers_of_ranks_do_not_matter_to_evidence() {
    // Messages of one time come in the order of their senders, which does matter yet.
    let with = |renumber| {
        phases("shift*200,halo3d*100,shift*200", Disturbance { renumber, ..Disturbance::default() })
    };
    let labels = |rows: Vec<(u64, Option<u32>)>| rows.into_iter().map(|row| row.1).collect::<Vec<_>>();
    let found = labels(with(true));
    assert!(found.len() > 1, "{found:?}");
    assert_eq!(found, labels(with(false)));
}
