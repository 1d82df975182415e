//! Labelled runs through all of segmentation: where ranks are not late, their marks are their
//! truth.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and fails")]

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{Disturbance, FAMILIES, Family};
use phaseflow_collect::truth::{TRUTH_COLUMNS, write_truth};
use phaseflow_segment::{Level, Method, Options, Rewind, Score, Truth, read_truth, score, segment};

fn generated(family: &Family, ranks: u32, messages: u64, seed: u64) -> (Vec<u8>, Truth, Disturbance) {
    let run = family.run(ranks, messages, seed).unwrap();
    let (mut archive, mut truth) = (Vec::new(), format!("{TRUTH_COLUMNS}\n").into_bytes());
    run.generate(&mut ArchiveExport::new(&mut archive, false), &mut |row| write_truth(&mut truth, row))
        .unwrap();
    (archive, read_truth(&truth[..]).unwrap(), run.disturbance)
}

fn scored(archive: &[u8], truth: &Truth, method: &str) -> Score {
    let method = Method::parse(&Choice::parse(method).unwrap()).unwrap();
    let options = Options { method, level: Level::Leaf, ..Options::default() };
    let outcome = segment(&mut Rewind(Cursor::new(archive)), &options).unwrap();
    score(&outcome.segmentation, truth)
}

#[test]
fn marks_of_tidy_runs_are_their_truth() {
    let mut tidy_families = 0;
    for family in FAMILIES {
        for (ranks, seed) in [(8, 1), (16, 2), (30, 3)] {
            let (archive, truth, disturbance) = generated(&family, ranks, 20_000, seed);
            if disturbance != (Disturbance { drift: disturbance.drift, ..Disturbance::default() }) {
                continue;
            }
            tidy_families += usize::from(seed == 1);
            let score = scored(&archive, &truth, "marks");
            let what = format!("{}, {ranks} ranks: {score:?}", family.name);
            assert_eq!((score.boundary_f1, score.exact_f1), (1.0, Some(1.0)), "{what}");
            // An idle stretch begins with its mark. In the truth it begins with the arrival before
            // it, at the same time.
            assert!(score.covering > 1.0 - 1e-9 && score.label_ari > 1.0 - 1e-9, "{what}");
        }
    }
    assert!(tidy_families >= 12, "{tidy_families}");
}

#[test]
fn one_phase_for_everything_finds_nothing_but_a_stationary_run() {
    for family in FAMILIES {
        let (archive, truth, _) = generated(&family, 16, 20_000, 1);
        let score = scored(&archive, &truth, "none");
        let expected = if family.name == "stationary" { 1.0 } else { 0.0 };
        assert_eq!((score.boundary_f1, score.exact_f1), (expected, Some(expected)), "{}", family.name);
        assert!((score.label_ari - expected).abs() < 1e-9, "{}: {score:?}", family.name);
    }
}

/// One of eleven occurrences of random partners looks a little different; in its place in the loop
/// it is the same phase.
#[test]
fn an_odd_occurrence_breaks_no_loop() {
    let family = FAMILIES.iter().find(|family| family.name == "nested-idle").unwrap();
    let (archive, truth, _) = generated(family, 256, 800_000, 3);
    let score = scored(&archive, &truth, "rounds");
    assert!(score.boundary_f1 > 0.999 && score.label_ari > 0.99, "{score:?}");
}
