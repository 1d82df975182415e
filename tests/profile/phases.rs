//! Programs that mark their phases: the marks, as a truth, are what the program was told to do, and splitting at marks finds
//! them to the message.

use std::process::Command;

use crate::mpi::{self, Recorded};

/// Standard output of a command that has to succeed.
fn text(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The labels of a recorded run's truth; splitting at the marks has found it.
fn labels(recorded: &Recorded) -> Vec<String> {
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let place = |name: &str| recorded.directory.path().join(name).to_str().unwrap().to_owned();
    let (run, trace, truth) = (place("run"), place("t.tar"), place("truth.csv"));
    text(env!("CARGO_BIN_EXE_pf-collect"), &[&run, "-o", &trace, "--truth", &truth]);
    let rows = std::fs::read_to_string(&truth).unwrap();
    let arguments = [&trace, "--method", "marks", "--score", &truth];
    let scores = text(env!("CARGO_BIN_EXE_pf-segment"), &arguments);
    let exact = scores.lines().find_map(|line| line.strip_prefix("exact_f1: ")).unwrap();
    assert_eq!(exact, "1.000000", "{scores}{rows}");
    rows.lines().skip(1).map(|row| row.split(',').nth(2).unwrap().into()).collect()
}

#[test]
fn the_marks_of_a_real_run_are_its_truth() {
    for (program, ranks) in [
        ("halo*40,alltoall*10,halo*40,alltoall*10", 8),
        ("halo*30,(transpose*10,hotspot:1024*10)*4,idle:20,shift*30", 9),
    ] {
        let Some(mpi) = mpi::debian() else { return };
        let recorded = mpi.record("phases.c", ranks, &[], &[program]);
        let labels = labels(&recorded);
        // What rank 0 printed: level, then the phase.
        let printed = String::from_utf8_lossy(&recorded.output.stdout).into_owned();
        let levels = printed.lines().map(|line| line.split(' ').next().unwrap().replace('0', "idle"));
        // Nothing but a barrier comes before the first mark.
        assert_eq!(labels[0], "idle");
        assert_eq!(labels[1..], levels.collect::<Vec<_>>());
    }
}

#[test]
fn the_stages_of_lammps() {
    let Some(mpi) = mpi::debian() else { return };
    let directory = tempfile::tempdir().unwrap();
    let Ok(program) = mpi.compile_with("stages.c", "-l:liblammps.so.0", directory.path()) else {
        mpi::skip::<()>("the library of LAMMPS (apt: liblammps0)");
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stages.lammps");
    let mut words = mpi.launch(4, &[]);
    words.extend([program.to_str().unwrap().to_owned(), script.to_owned()]);
    let recorded = mpi::record(directory, &[], &words);
    // Setting up sends messages, too.
    assert_eq!(labels(&recorded), ["unmarked", "1", "2", "3", "2"]);
}
