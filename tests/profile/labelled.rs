//! Recorded runs of programs that mark their phases, with the marks as truth.

use std::collections::BTreeMap;
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

impl Labelled {
    /// What `--score` says.
    pub(crate) fn scores(&self) -> BTreeMap<String, f64> {
        let scores =
            text(env!("CARGO_BIN_EXE_pf-segment"), &["--quiet", &self.trace, "--score", &self.truth]);
        let lines = scores.lines().filter_map(|line| line.split_once(": "));
        lines.filter_map(|(name, value)| Some((name.into(), value.parse().ok()?))).collect()
    }

    /// Rows of depth 0, in order: begin and messages.
    pub(crate) fn rows(&self) -> Vec<(u64, u64)> {
        let list = text(env!("CARGO_BIN_EXE_pf-segment"), &["--quiet", &self.trace, "--list"]);
        let fields = list.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        let outer = fields.filter(|row| row[2] == "0");
        outer.map(|row| (row[3].parse().unwrap(), row[5].parse().unwrap())).collect()
    }

    /// The truth's stretches.
    pub(crate) fn stretches(&self) -> Vec<Stretch> {
        let mut reader = csv::Reader::from_path(&self.truth).unwrap();
        let stretch = |row: csv::StringRecord| {
            let number = |at: usize| row[at].parse::<u64>().ok();
            (number(0).unwrap(), number(1).unwrap(), number(4).zip(number(5)))
        };
        reader.records().map(|row| stretch(row.unwrap())).collect()
    }
}

/// Begin, end, first and last message.
pub(crate) type Stretch = (u64, u64, Option<(u64, u64)>);

/// LAMMPS in four stages on four ranks, if its library is there.
pub(crate) fn lammps() -> Option<Recorded> {
    let mpi = mpi::debian()?;
    let directory = tempfile::tempdir().unwrap();
    let Ok(program) = mpi.compile_with("stages.c", "-l:liblammps.so.0", directory.path()) else {
        return mpi::skip("the library of LAMMPS (apt: liblammps0)");
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stages.lammps");
    let mut words = mpi.launch(4, &[]);
    words.extend([program.to_str().unwrap().to_owned(), script.to_owned()]);
    Some(mpi::record(directory, &[], &words))
}
