//! Recorded runs of programs that mark their phases, with the marks as truth.

use std::process::Command;

use crate::mpi::{self, Recorded};

/// Standard output of a command that has to succeed.
pub(crate) fn text(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A recorded run as a trace and its truth.
pub(crate) struct Labelled {
    pub(crate) trace: String,
    pub(crate) truth: String,
    pub(crate) recorded: Recorded,
}

/// Collects a run and takes the truth from its marks.
pub(crate) fn labelled(recorded: Recorded) -> Labelled {
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let place = |name: &str| recorded.directory.path().join(name).to_str().unwrap().to_owned();
    let (run, trace, truth) = (place("run"), place("t.tar"), place("truth.csv"));
    text(env!("CARGO_BIN_EXE_pf-collect"), &["--quiet", &run, "-o", &trace, "--truth", &truth]);
    Labelled { trace, truth, recorded }
}

/// LAMMPS in four stages on four ranks.
pub(crate) fn lammps() -> Recorded {
    let mpi = mpi::debian();
    let directory = tempfile::tempdir().unwrap();
    let program = mpi
        .compile_with("stages.c", "-l:liblammps.so.0", directory.path())
        .unwrap_or_else(|problem| panic!("needs the library of LAMMPS (apt: liblammps0): {problem}"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stages.lammps");
    let mut words = mpi.launch(4, &[]);
    words.extend([program.to_str().unwrap().to_owned(), script.to_owned()]);
    mpi::record(directory, &[], &words)
}
