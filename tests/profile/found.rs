//! How near the default method comes to the marks of real programs.
//!
//! Runs are recorded with more ranks than the machine has cores, so that waiting times differ from run to run, and other work on the
//! machine shows: the best of a few recordings counts. benches/real.sh has figures of many.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::mpi::{self, Recorded};

/// Recordings at most.
const TRIES: usize = 4;

/// Standard output of a command that has to succeed.
fn text(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A recorded run as a trace and its truth.
struct Labelled {
    trace: String,
    truth: String,
    _recorded: Recorded,
}

fn labelled(recorded: Recorded) -> Labelled {
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let place = |name: &str| recorded.directory.path().join(name).to_str().unwrap().to_owned();
    let (run, trace, truth) = (place("run"), place("t.tar"), place("truth.csv"));
    text(env!("CARGO_BIN_EXE_pf-collect"), &["--quiet", &run, "-o", &trace, "--truth", &truth]);
    Labelled { trace, truth, _recorded: recorded }
}

impl Labelled {
    /// What `--score` says.
    fn scores(&self) -> BTreeMap<String, f64> {
        let scores =
            text(env!("CARGO_BIN_EXE_pf-segment"), &["--quiet", &self.trace, "--score", &self.truth]);
        let lines = scores.lines().filter_map(|line| line.split_once(": "));
        lines.filter_map(|(name, value)| Some((name.into(), value.parse().ok()?))).collect()
    }

    /// Rows of depth 0, in order: begin and messages.
    fn rows(&self) -> Vec<(u64, u64)> {
        let list = text(env!("CARGO_BIN_EXE_pf-segment"), &["--quiet", &self.trace, "--list"]);
        let fields = list.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        let outer = fields.filter(|row| row[2] == "0");
        outer.map(|row| (row[3].parse().unwrap(), row[5].parse().unwrap())).collect()
    }

    /// The truth's stretches.
    fn stretches(&self) -> Vec<Stretch> {
        let mut reader = csv::Reader::from_path(&self.truth).unwrap();
        let stretch = |row: csv::StringRecord| {
            let number = |at: usize| row[at].parse::<u64>().ok();
            (number(0).unwrap(), number(1).unwrap(), number(4).zip(number(5)))
        };
        reader.records().map(|row| stretch(row.unwrap())).collect()
    }
}

/// Begin, end, first and last message.
type Stretch = (u64, u64, Option<(u64, u64)>);

/// Records `program` until the scores reach `least`: of boundaries, of exact ones, of the covering.
fn marks_are_found(program: &str, ranks: u32, least: [f64; 3]) {
    let Some(mpi) = mpi::debian() else { return };
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let scores = labelled(mpi.record("phases.c", ranks, &[], &["-c", "50", program])).scores();
        let found = ["boundary_f1", "exact_f1", "covering"].map(|name| scores[name]);
        if found.iter().zip(least).all(|(found, least)| *found >= least) {
            return;
        }
        seen.push(found);
    }
    panic!("{program} on {ranks} ranks: {seen:?}, expected {least:?}");
}

#[test]
fn a_sequence_and_what_comes_before_it() {
    marks_are_found("halo*200,alltoall*60,transpose*200,hotspot:1024*200", 8, [0.7, 0.6, 0.75]);
}

#[test]
fn two_phases_that_take_turns() {
    marks_are_found("halo*100,alltoall*30,halo*100,alltoall*30,halo*100", 8, [0.7, 0.6, 0.85]);
}

#[test]
fn a_loop_of_short_phases() {
    marks_are_found("shift*100,(halo*20,allreduce:64*20)*6,transpose*100", 8, [0.7, 0.6, 0.8]);
}

#[test]
fn phases_of_a_few_rounds() {
    marks_are_found("halo*400,hotspot:512*15,halo*400,alltoall:256*8,halo*400", 8, [0.7, 0.6, 0.85]);
}

#[test]
fn idle_stretches_between_phases() {
    marks_are_found(
        "alltoall*40,idle:30,halo*200,idle:30,alltoall*40,idle:30,shift*200",
        8,
        [0.85, 0.85, 0.95],
    );
}

#[test]
fn more_ranks_than_cores_take_turns() {
    marks_are_found("halo*100,alltoall*30,halo*100,alltoall*30", 24, [0.7, 0.7, 0.9]);
    marks_are_found("alltoall*30,shift*200,halo*100", 16, [0.7, 0.6, 0.85]);
}

#[test]
fn the_stages_of_lammps_are_seen_and_few_enough_to_read() {
    let Some(mpi) = mpi::debian() else { return };
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let directory = tempfile::tempdir().unwrap();
        let Ok(program) = mpi.compile_with("stages.c", "-l:liblammps.so.0", directory.path()) else {
            mpi::skip::<()>("the library of LAMMPS (apt: liblammps0)");
            return;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/stages.lammps");
        let mut words = mpi.launch(4, &[]);
        words.extend([program.to_str().unwrap().to_owned(), script.to_owned()]);
        let run = labelled(mpi::record(directory, &[], &words));
        let rows = run.rows();
        assert!(rows.len() <= 32, "{} rows", rows.len());
        let stretches = run.stretches();
        let end = stretches.last().unwrap().1;
        // Minimizing ends, long-range forces come and go.
        let near = |start: u64| rows.iter().any(|row| row.0.abs_diff(start) <= end / 50);
        let found = stretches[2..].iter().filter(|stretch| near(stretch.0)).count();
        if found == 3 {
            return;
        }
        seen.push((found, rows));
    }
    panic!("stages found, and rows: {seen:?}");
}

/// HPCC with its sections as marks, if it is there, on a small problem.
fn hpcc(ranks: u32) -> Option<Labelled> {
    let input = Path::new("/usr/share/doc/hpcc/examples/_hpccinf.txt");
    let (Some(mpi), Ok(input)) = (mpi::debian(), std::fs::read_to_string(input)) else {
        return mpi::skip("HPCC (apt: hpcc)");
    };
    let directory = tempfile::tempdir().unwrap();
    let small = input.replace("1000         Ns", "400         Ns");
    std::fs::write(directory.path().join("hpccinf.txt"), small).unwrap();
    let library = directory.path().join("announce.so");
    let compiled = Command::new("mpicc.openmpi")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mpi/announce.c"))
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success());
    let run = directory.path().join("run");
    let mut command = mpi::pf_profile();
    command.env("LD_PRELOAD", &library).arg("-o").arg(run).arg("--").args(mpi.launch(ranks, &[])).arg("hpcc");
    let output = command.current_dir(directory.path()).output().unwrap();
    Some(labelled(Recorded { output, directory }))
}

/// How many boundaries of sections with at least a hundredth of the messages there are, and how many of them are found: within a
/// hundredth of the run, or between the last message of one section and the first of the next.
fn sections(run: &Labelled) -> (usize, usize) {
    let stretches = run.stretches();
    let end = stretches.last().unwrap().1;
    let traffic: Vec<u64> =
        stretches.iter().map(|s| s.2.map_or(0, |(first, last)| last + 1 - first)).collect();
    let total: u64 = traffic.iter().sum();
    let mut before = 0;
    let rows: Vec<(u64, u64)> = run
        .rows()
        .into_iter()
        .map(|(start, messages)| {
            before += messages;
            (start, before - messages)
        })
        .collect();
    let (mut wanted, mut found) = (0, 0);
    for i in 1..stretches.len() {
        if traffic[i].max(traffic[i - 1]) < total / 100 {
            continue;
        }
        let between = |at: u64| match (stretches[i - 1].2, stretches[i].2) {
            (Some((_, last)), Some((first, _))) => (last + 1..=first).contains(&at),
            _ => false,
        };
        wanted += 1;
        found +=
            usize::from(rows.iter().any(|row| row.0.abs_diff(stretches[i].0) <= end / 100 || between(row.1)));
    }
    (wanted, found)
}

/// At least two thirds of the boundaries are found, in at most three times as many rows as there are sections.
fn most_sections_are_seen(ranks: u32) {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let Some(run) = hpcc(ranks) else { return };
        let rows = run.rows().len();
        assert!(rows <= 3 * run.stretches().len(), "{rows} rows");
        let (wanted, found) = sections(&run);
        if 3 * found >= 2 * wanted {
            return;
        }
        seen.push((wanted, found));
    }
    panic!("{ranks} ranks: boundaries of sections with traffic, and found ones: {seen:?}");
}

#[test]
fn most_sections_of_hpcc_are_seen_in_few_rows() {
    most_sections_are_seen(4);
}

#[test]
fn most_sections_of_hpcc_are_seen_on_more_ranks() {
    most_sections_are_seen(8);
}
