//! Run directories as pf-collect reads them.

use std::collections::BTreeMap;
use std::process::Command;

use phaseflow_profiler::Sum;

use crate::mpi::{self, Recorded};

/// A run directory read by pf-collect.
pub(crate) struct Collected {
    summary: BTreeMap<String, String>,
    pub(crate) pairs: BTreeMap<(u32, u32), Sum>,
    pub(crate) stderr: String,
}

impl Collected {
    /// A line of `--summary`.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.summary[name].parse().unwrap_or_else(|_| panic!("{name}: {:?}", self.summary))
    }

    /// Checks that it holds what the recordings say was sent, that every message was received, and
    /// that there are no remarks.
    pub(crate) fn is_whole(&self, sent: &BTreeMap<(u32, u32), Sum>, what: &str) {
        assert_eq!(self.stderr, "", "{what}");
        assert_eq!(&self.pairs, sent, "{what}");
        assert_eq!(self.number("unmatched"), 0, "{what}");
    }
}

fn run(recorded: &Recorded, options: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-collect"));
    let output = command.arg(recorded.run_directory()).args(options).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    (String::from_utf8(output.stdout).unwrap(), stderr)
}

impl Recorded {
    pub(crate) fn collected(&self, options: &[&str]) -> Collected {
        let (text, stderr) = run(self, &[options, &["--summary"]].concat());
        let lines = text.lines().map(|line| line.split_once(':').unwrap());
        let summary = lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        let (text, _) = run(self, &[options, &["--pairs"]].concat());
        let pairs = text.lines().skip(1).map(|line| {
            let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let [src, dst, messages, bytes] = cells[..] else { panic!("{line}") };
            ((u32::try_from(src).unwrap(), u32::try_from(dst).unwrap()), Sum { messages, bytes })
        });
        Collected { summary, pairs: pairs.collect(), stderr }
    }
}

/// One program under MPICH, of which only calls are seen, and under Open MPI, whose algorithms the
/// expansion computes. Both have the same messages between every pair of ranks.
#[test]
fn expanded_collectives_of_mpich_are_those_that_open_mpi_sends() {
    let open = mpi::debian();
    for (mpich, ranks) in mpi::mpichs().iter().flat_map(|mpich| [3, 5, 8].map(|ranks| (mpich, ranks))) {
        let of = |mpi: &mpi::Mpi| mpi.record("subjects.c", ranks, &[], &["collectives"]);
        let (calls, messages) = (of(mpich), of(&open));
        let none = calls.collected(&[]);
        assert_eq!(none.number("messages"), 0);
        assert!(
            none.stderr.contains("collective calls were recorded without their messages"),
            "{}",
            none.stderr
        );
        let expanded = calls.collected(&["--expand", "open-mpi"]);
        expanded.is_whole(&messages.collected(&[]).pairs, &format!("{ranks} ranks"));
        assert_eq!(expanded.number("calls"), none.number("calls"));
        // The textbook's algorithms send other messages, so only their presence is checked.
        let basic = calls.collected(&["--expand", "basic"]);
        assert!(basic.stderr.is_empty() && basic.number("bytes") > 0, "{}", basic.stderr);
    }
}

/// Sends and receives without another side are named by rank and position, by each reader of the
/// recording or of the trace.
#[test]
fn what_has_no_other_side_is_named() {
    for mpi in mpi::all() {
        let recorded = mpi.record("unmatched.c", 3, &[], &[]);
        let receives = "2 receives have no known send: rank 1, receive 8 (of rank 2, tag 4, never completed), rank 1, receive 9 (never \
                        completed)\n";
        let sends = "1 sends have no known receive: rank 0, send 6 (24 bytes to rank 2)\n";
        let collected = recorded.collected(&[]);
        assert!(collected.stderr.contains(receives), "{mpi:?}: {}", collected.stderr);
        assert_eq!((collected.number("messages"), collected.number("unmatched")), (18, 1), "{mpi:?}");

        let folder = recorded.directory.path();
        let said = |command: &str, arguments: &[&str]| {
            let output = Command::new(command).current_dir(folder).args(arguments).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{mpi:?}: {arguments:?}: {stderr}");
            stderr
        };
        let simulate = |input| {
            let options = ["--topology", "star[hosts=3]", "--model", "flow", "-o", "results.tar"];
            said(env!("CARGO_BIN_EXE_pf-simulate"), &[&[input], &options[..]].concat())
        };
        said(env!("CARGO_BIN_EXE_pf-collect"), &["run", "-o", "trace.tar"]);
        said(env!("CARGO_BIN_EXE_pf-segment"), &["trace.tar", "-o", "phases.tar"]);
        for input in ["run", "trace.tar", "phases.tar"] {
            let stderr = simulate(input);
            assert_eq!(stderr.matches(receives).count(), 1, "{mpi:?}: {input}: {stderr}");
            assert_eq!(stderr.matches(sends).count(), 1, "{mpi:?}: {input}: {stderr}");
        }
    }
}

/// Messages of several threads, persistent requests, wildcards and probes are all matched.
#[test]
fn both_sides_of_a_message_are_put_together() {
    for mpi in mpi::all() {
        for subject in ["point_to_point", "persistent", "all"] {
            let recorded = mpi.record("subjects.c", 4, &[], &[subject]);
            let options: &[&str] = if mpi.open { &[] } else { &["--expand", "open-mpi"] };
            assert_eq!(recorded.collected(options).number("unmatched"), 0, "{subject} {mpi:?}");
            let (lines, _) = run(&recorded, &["--to", "csv"]);
            assert!(lines.lines().count() > 1, "{subject} {mpi:?}");
        }
    }
}
