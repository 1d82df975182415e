//! Scripts of the gallery record real programs, at a small size: nothing is unmatched, and each row
//! of results is whole. What is in a row is said by docs/gallery.md.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Has mpi4py and numpy, installed by tests/install.
const PYTHON: &str = "/usr/bin/python3";

fn gallery() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/gallery")
}

fn run(script: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let commands = Path::new(env!("CARGO_BIN_EXE_pf-collect")).parent().unwrap();
    Command::new(script)
        .args(arguments)
        .env("PHASEFLOW_BIN", commands)
        .env("PYTHON", PYTHON)
        // Other tests run beside these.
        .env("TURNS", "no")
        .envs(settings.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", script.display()))
}

fn rows(csv_text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv_text.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

/// Records an application: its row, the labels of the sections that its log tells, and the log.
fn record(name: &str, settings: &[(&str, &str)]) -> (BTreeMap<String, String>, Vec<String>, String) {
    let all = std::fs::read_to_string(gallery().join("all.sh")).unwrap();
    let columns = all.lines().find_map(|line| line.trim().strip_prefix("echo \"application")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = gallery().join(name).with_extension("sh");
    let done = run(&script, &[folder.path().to_str().unwrap()], settings);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {}: {errors}", done.status);
    let text = format!("application{}\n", columns.trim_end_matches('"'))
        + std::str::from_utf8(&done.stdout).unwrap();
    let mut table = rows(&text);
    assert_eq!(table.len(), 1, "{text}");
    let truth = std::fs::read_to_string(folder.path().join(name).join("truth.csv")).unwrap();
    let labels = rows(&truth).into_iter().map(|row| row["label"].clone()).collect();
    // HPCC writes its sections into a file of its own.
    let logs = ["sections.log", "log"].map(|log| folder.path().join(name).join(log));
    let log = std::fs::read_to_string(logs.iter().find(|log| log.exists()).unwrap()).unwrap();
    (table.remove(0), labels, log)
}

fn is_whole(row: &BTreeMap<String, String>, name: &str, labels: &[String]) {
    assert_eq!(
        (&row["application"][..], &row["ranks"][..], &row["unmatched"][..]),
        (name, "4", "0"),
        "{row:?}"
    );
    assert_eq!(row["sections"], labels.len().to_string(), "{row:?}");
    let number = |column: &str| row[column].parse::<f64>().unwrap();
    for column in ["seconds", "phases", "rows"] {
        assert!(number(column) > 0.0, "{column}: {row:?}");
    }
    for measure in ["f1", "covering", "ari"] {
        for level in ["auto", "leaf"] {
            let value = number(&format!("{measure}_{level}"));
            // The adjusted Rand index is negative where labels agree less than by chance.
            assert!((-1.0..=1.0).contains(&value), "{measure} {level}: {row:?}");
        }
    }
}

/// Each of two rounds sends, on 4 ranks: 20 steps with two exchanges of all with all (4 · 3
/// messages), 20 with both neighbours (4 · 2) and a maximum (4 · 2 at least), and a gather (3).
#[test]
fn a_transform_of_slabs() {
    let (row, labels, log) = record("mpi4py-fft", &[("RANKS", "4"), ("POINTS", "32")]);
    is_whole(&row, "mpi4py-fft", &labels);
    let least = 2 * (20 * (2 * 12 + 8 + 8) + 3);
    assert!(row["messages"].parse::<u64>().unwrap() >= least, "{least} messages: {row:?}");
    let round = ["transform", "differences", "output"];
    let announced: Vec<&str> =
        log.lines().filter_map(|line| line.split_once("section: ")).map(|(_, name)| name).collect();
    assert_eq!(announced, [&round[..], &round, &["end"]].concat());
    are_announced(&labels, &announced);
}

/// The truth has sections that the log announces, in their order. Of sections whose lines are read
/// at once, the earlier ones have no length and are left out.
fn are_announced(labels: &[String], announced: &[&str]) {
    let [first, sections @ .., _] = labels else { panic!("{labels:?}") };
    assert_eq!(first, "start");
    assert!(!sections.is_empty(), "{labels:?}");
    let mut rest = announced.iter();
    for label in sections {
        assert!(rest.any(|section| section == label), "{label}: {labels:?}, {announced:?}");
    }
}

#[test]
fn sections_of_hpcc() {
    let (row, labels, log) = record("hpcc", &[("RANKS", "4"), ("SIZE", "200")]);
    is_whole(&row, "hpcc", &labels);
    let begins = log.lines().filter_map(|line| line.split_once("Begin of ")?.1.strip_suffix(" section."));
    let announced: Vec<&str> = begins.collect();
    for section in ["MPIRandomAccess", "PTRANS", "StarDGEMM", "MPIFFT", "LatencyBandwidth", "HPL"] {
        assert!(announced.contains(&section), "{section}: {announced:?}");
    }
    are_announced(&labels, &announced);
}

/// Status 77, as other collections of tests have it, and the package to install.
#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("nobody.sh");
    let recording = gallery().join("recording.sh");
    let lines =
        format!("source {}\napplication nobody some-package sh no-such-program\n", recording.display());
    std::fs::write(&script, lines).unwrap();
    let done = run(Path::new("bash"), &[script.to_str().unwrap(), folder.path().to_str().unwrap()], &[]);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(77), "{errors}");
    assert_eq!(errors.trim(), "nobody: not run, as no-such-program is not there: apt install some-package");
}

/// A link that carries b bytes in a phase carries at least as many in the run. So the average is at
/// least the peak times the phase's share of the time, if routes are the same in both.
#[test]
fn an_average_hides_at_most_what_its_phase_takes() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("two.trace.tar.gz");
    let pattern =
        ["--pattern", "halo2d*20,alltoall*3,incast*20", "--ranks", "16", "--repeat", "3", "--gap", "200us"];
    let made = Command::new(env!("CARGO_BIN_EXE_pf-collect")).args(pattern).arg("-o").arg(&trace).status();
    assert!(made.unwrap().success());
    let out = folder.path().join("out");
    let [out_name, first] = [&out, &trace].map(|path| path.to_str().unwrap().to_owned());
    let script = gallery().join("per-phase.sh");
    let done = run(&script, &[&out_name, &first, &format!("again={first}")], &[]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let table = rows(&std::fs::read_to_string(out.join("per-phase.csv")).unwrap());
    assert_eq!(table.len(), 2 * 2 * 2, "two archives, two networks, two routers each");
    for row in &table {
        let [ratio, time, found] =
            ["ratio", "time", "found"].map(|column| row[column].parse::<f64>().unwrap());
        assert!(ratio > 1.0 && (0.0..=1.0).contains(&found), "{row:?}");
        if row["router"] == "dmodk" {
            assert!(ratio <= 1.01 / time, "{row:?}");
        }
    }
    // The same archive under another name has the same results.
    let of = |name: &str| -> Vec<&String> {
        let own = table.iter().filter(|row| row["recording"] == name);
        own.flat_map(|row| row.iter().filter(|(column, _)| *column != "recording").map(|(_, cell)| cell))
            .collect()
    };
    assert_eq!(of("two"), of("again"));
    let picture = std::fs::read_to_string(out.join("per-phase.svg")).unwrap();
    assert!(picture.contains("again") && picture.trim_end().ends_with("</svg>"), "{picture}");
    // One name for two archives is refused.
    let done = run(&script, &[&out_name, &first, &first], &[]);
    assert_eq!(done.status.code(), Some(2), "{}", String::from_utf8_lossy(&done.stderr));
}
