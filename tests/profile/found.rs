//! How near the default method comes to the marks of real programs.
//!
//! Runs are recorded with more ranks than the machine has cores, so that waiting times differ from run to run, and other work on the
//! machine shows: these tests run alone (.config/nextest.toml), and the best of a few recordings counts. benches/real.sh has figures
//! of many.

use std::path::Path;
use std::process::Command;

use crate::labelled::{Labelled, labelled, lammps};
use crate::mpi::{self, Recorded};

/// Recordings at most.
const TRIES: usize = 8;

/// Scores of one of them, at least: of boundaries, of exact ones, of the covering. Asked are 0.98 for exact ones, in the mean of many
/// recordings (benches/README.md).
const LEAST: [f64; 3] = [0.9, 0.9, 0.97];

/// Records `program` until the scores reach [`LEAST`].
fn marks_are_found(program: &str, ranks: u32) {
    let Some(mpi) = mpi::debian() else { return };
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let scores = labelled(mpi.record("phases.c", ranks, &[], &["-c", "50", program])).scores();
        let found = ["boundary_f1", "exact_f1", "covering"].map(|name| scores[name]);
        if found.iter().zip(LEAST).all(|(found, least)| *found >= least) {
            return;
        }
        seen.push(found);
    }
    panic!("{program} on {ranks} ranks: {seen:?}, expected {LEAST:?}");
}

#[test]
fn a_sequence_and_what_comes_before_it() {
    marks_are_found("halo*200,alltoall*60,transpose*200,hotspot:1024*200", 8);
}

#[test]
fn two_phases_that_take_turns() {
    marks_are_found("halo*100,alltoall*30,halo*100,alltoall*30,halo*100", 8);
}

#[test]
fn a_loop_of_short_phases() {
    marks_are_found("shift*100,(halo*20,allreduce:64*20)*6,transpose*100", 8);
}

#[test]
fn phases_of_a_few_rounds() {
    marks_are_found("halo*400,hotspot:512*15,halo*400,alltoall:256*8,halo*400", 8);
}

#[test]
fn idle_stretches_between_phases() {
    marks_are_found("alltoall*40,idle:30,halo*200,idle:30,alltoall*40,idle:30,shift*200", 8);
}

#[test]
fn more_ranks_than_cores_take_turns() {
    marks_are_found("halo*100,alltoall*30,halo*100,alltoall*30", 24);
    marks_are_found("alltoall*30,shift*200,halo*100", 16);
}

#[test]
fn the_stages_of_lammps_are_seen_and_few_enough_to_read() {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let Some(run) = lammps() else { return };
        let run = labelled(run);
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
