//! Phases from samples against the whole run, as a user compares them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test that cannot go on says so and fails"
)]

mod stages;

use std::path::Path;

use stages::{Row, collect, number, output, segment, simulate, table};

/// The table `phases` of a trace with and without sampling.
fn on_and_off(trace: &[u8], method: &str, topology: &str, model: &str) -> [Vec<Row>; 2] {
    ["on", "off"].map(|sampling| {
        let keep: &[&str] = if sampling == "off" { &["--keep-messages"] } else { &[] };
        let phases = segment(&[&["--method", method], keep].concat(), trace);
        let model = format!("{model}[sampling={sampling}]");
        table("phases", &output(simulate(&["--topology", topology, "--model", &model]), &phases))
    })
}

/// Checks that every phase from samples is off by no more than its stated error, and that no link
/// carries more than it can in any phase. Returns how many phases are not simulated whole.
fn covered(name: &str, trace: &[u8], method: &str, topology: &str, model: &str) -> usize {
    let [on, off] = on_and_off(trace, method, topology, model);
    // Figures of packets in a whole run are for the run, not for its phases. A phase of no time has
    // no loads.
    for row in on.iter().chain(&off).filter(|row| !row["max_utilization"].is_empty()) {
        let (used, bytes) = (number(row, "max_utilization"), number(row, "max_link_bytes"));
        // Bytes are rounded to whole ones.
        assert!(used <= 1.0 + 1e-6 + 1.0 / bytes.max(1.0), "{name}, {model}, phase {}: {used}", row["phase"]);
    }
    for sampled in &on {
        let whole = off.iter().find(|row| row["phase"] == sampled["phase"]).unwrap();
        let [time, expected] = [sampled, whole].map(|row| number(row, "makespan_s"));
        let error = number(sampled, "makespan_error");
        let phase = &sampled["phase"];
        assert!(
            (time - expected).abs() <= error * time + 1e-9 * expected,
            "{name}, {model}, phase {phase}: {time} s ± {error}, the whole run takes {expected} s"
        );
    }
    on.iter().filter(|row| number(row, "makespan_error") > 0.0).count()
}

/// More than 131 072 messages, so that not all of them are simulated. In the last three runs, one
/// occurrence of hundreds carries nearly all bytes: at one place, at the end, or once in a while.
#[test]
fn phases_from_samples_are_as_near_as_they_say() {
    let generated = [
        ("16", "xgft[m=4:4,w=1:2]", "(halo2d[bytes=64]*20,allreduce[bytes=512]*5)*80"),
        ("16", "xgft[m=4:4,w=1:2]", "halo2d[bytes=64]*1500,random[bytes=64]*4000"),
        ("64", "xgft[m=8:8,w=1:4]", "halo3d[bytes=1KiB]*200,alltoall[bytes=64]*20,allreduce[bytes=64]*5"),
        (
            "8",
            "xgft[m=4:2,w=1:2]",
            "(shift[bytes=8]*200,alltoall[bytes=8]*10)*50,alltoall[bytes=512KiB],(shift[bytes=8]*200,alltoall[bytes=8]*10)*50",
        ),
        ("8", "xgft[m=4:2,w=1:2]", "(shift[bytes=8]*200,alltoall[bytes=8]*10)*80,alltoall[bytes=512KiB]"),
        ("8", "xgft[m=4:2,w=1:2]", "((shift[bytes=8]*200,alltoall[bytes=8]*10)*25,shift[bytes=1MiB])*4"),
    ];
    let mut sampled = 0;
    for (ranks, topology, pattern) in generated {
        let trace = collect(&["--pattern", pattern, "--ranks", ranks, "--gap", "5us", "--jitter", "0.3"]);
        for model in ["flow", "packet"] {
            sampled += covered(pattern, &trace, "rounds", topology, model);
        }
    }
    assert!(sampled > 0, "all of them were simulated whole");
}

/// An alltoall leaves the ranks apart, and they gather in the allreduce after it. A piece of the
/// allreduce begins with ranks further apart than they are there in the run.
#[test]
fn ranks_that_gather_take_no_longer() {
    let pattern = "(halo3d*10,alltoall*2,allreduce*40)*6";
    let trace = collect(&["--pattern", pattern, "--ranks", "64", "--jitter", "0.02"]);
    assert!(covered(pattern, &trace, "rounds", "xgft[m=8:8,w=1:4]", "flow") > 0, "it was simulated whole");
}

/// Checks a recording from samples under both models.
fn recording_is_covered(path: &Path) {
    let trace = std::fs::read(path).unwrap();
    for model in ["flow", "packet"] {
        covered(&path.to_string_lossy(), &trace, "rounds", "xgft[m=4:3,w=1:2]", model);
    }
}

#[test]
fn the_bundled_recording_from_samples_is_as_near_as_it_says() {
    recording_is_covered(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings/lammps.trace.tar.gz"),
    );
}

#[test]
#[ignore = "reads recordings of other programs in ../shared/data; tests/run runs it where they are"]
fn shared_data_recordings_from_samples_are_as_near_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/applications");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let traces: Vec<_> = paths.filter(|path| path.to_string_lossy().ends_with(".trace.tar.gz")).collect();
    assert!(!traces.is_empty());
    traces.iter().for_each(|path| recording_is_covered(path));
}

/// Ten thousand equal steps on a ring: a few blocks are simulated, one of them for nearly all, and
/// nothing is lost.
#[test]
fn a_loop_of_equal_rounds_is_simulated_once() {
    for pattern in ["shift*10000", "allreduce*500"] {
        let trace = collect(&["--pattern", pattern, "--ranks", "16", "--gap", "20us"]);
        let [on, off] = on_and_off(&trace, "marks", "star[hosts=16]", "flow");
        let [sampled, whole] = [&on[0], &off[0]].map(|row| number(row, "makespan_s"));
        assert!(
            (sampled / whole - 1.0).abs() < 1e-9,
            "{pattern}: {sampled} s, the whole run takes {whole} s"
        );
        assert_eq!(number(&on[0], "makespan_error"), 0.0, "{pattern}");
        assert!(number(&on[0], "simulated") <= 6.0, "{pattern}: {}", on[0]["simulated"]);
    }
}
