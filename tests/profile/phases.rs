//! Programs that mark their phases. The marks, as a truth, are the phases that the program was told
//! to run, and splitting at marks finds them to the message.

use crate::labelled::{labelled, lammps, text};
use crate::mpi::{self, Recorded};

/// The output of a recorded run, and the labels of its truth, which splitting at the marks has
/// found.
fn labels(recorded: Recorded) -> (String, Vec<String>) {
    let run = labelled(recorded);
    let rows = std::fs::read_to_string(&run.truth).unwrap();
    let arguments = [&run.trace, "--method", "marks", "--score", &run.truth];
    let scores = text(env!("CARGO_BIN_EXE_pf-segment"), &arguments);
    let exact = scores.lines().find_map(|line| line.strip_prefix("exact_f1: ")).unwrap();
    assert_eq!(exact, "1.000000", "{scores}{rows}");
    let labels = rows.lines().skip(1).map(|row| row.split(',').nth(2).unwrap().into()).collect();
    (String::from_utf8_lossy(&run.recorded.output.stdout).into_owned(), labels)
}

#[test]
fn the_marks_of_a_real_run_are_its_truth() {
    for (program, ranks) in [
        ("halo*40,alltoall*10,halo*40,alltoall*10", 8),
        ("halo*30,(transpose*10,hotspot:1024*10)*4,idle:20,shift*30", 9),
    ] {
        let mpi = mpi::debian();
        // Rank 0 prints the level, then the phase.
        let (printed, labels) = labels(mpi.record("phases.c", ranks, &[], &[program]));
        let levels = printed.lines().map(|line| line.split(' ').next().unwrap().replace('0', "idle"));
        // Only a barrier comes before the first mark.
        assert_eq!(labels[0], "idle");
        assert_eq!(labels[1..], levels.collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "needs the library of LAMMPS; tests/run runs it where that is installed"]
fn the_stages_of_lammps() {
    let recorded = lammps();
    // Setting up sends messages, too.
    assert_eq!(labels(recorded).1, ["unmarked", "1", "2", "3", "2"]);
}
