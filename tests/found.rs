//! How near the default method comes to the marks of real programs, on recordings of them in
//! tests/data. Its result for each is stated here exactly. benches/real.sh records anew and reports
//! the results for all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and fails")]

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A recording as a trace, and the truth of its marks.
struct Recording {
    trace: String,
    truth: String,
    _folder: TempDir,
}

/// Standard output of a command that has to succeed.
fn text(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl Recording {
    fn named(name: &str) -> Self {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings");
        let trace = data.join(format!("{name}.trace.tar.gz")).to_str().unwrap().to_owned();
        let folder = TempDir::new().unwrap();
        let [copy, truth] = ["t.tar", "truth.csv"].map(|name| folder.path().join(name));
        let [copy, truth] = [copy, truth].map(|path| path.to_str().unwrap().to_owned());
        text(env!("CARGO_BIN_EXE_pf-collect"), &["--quiet", &trace, "-o", &copy, "--truth", &truth]);
        Self { trace, truth, _folder: folder }
    }

    /// What `--score` prints: boundary_f1, exact_f1, covering, label_ari.
    fn scores(&self) -> [String; 4] {
        let arguments = ["--quiet", &self.trace, "--score", &self.truth];
        let scores = text(env!("CARGO_BIN_EXE_pf-segment"), &arguments);
        ["boundary_f1", "exact_f1", "covering", "label_ari"].map(|name| {
            let value = scores.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.unwrap().to_owned()
        })
    }
}

fn finds(name: &str, scores: [&str; 4]) {
    assert_eq!(Recording::named(name).scores(), scores, "{name}");
}

const ALL: [&str; 4] = ["1.000000"; 4];

#[test]
fn a_sequence_and_what_comes_before_it() {
    finds("sequence", ["0.888889", "0.888889", "0.923096", "0.880194"]);
    finds("sequence-beside-others", ["0.800000", "0.800000", "0.826517", "0.800833"]);
}

#[test]
fn two_phases_that_take_turns() {
    finds("turns", ALL);
}

#[test]
fn a_loop_of_short_phases() {
    finds("loop", ["0.896552", "0.896552", "0.976530", "0.996557"]);
    finds("loop-beside-others", ["1.000000", "0.928571", "0.999593", "0.999769"]);
}

#[test]
fn phases_of_a_few_rounds() {
    finds("few-rounds", ["1.000000", "0.800000", "0.999642", "0.996834"]);
    finds("few-rounds-beside-others", ALL);
}

#[test]
fn idle_stretches_between_phases() {
    finds("idle", ["0.857143", "0.857143", "0.912839", "0.879243"]);
    finds("idle-beside-others", ["0.923077", "0.923077", "0.977946", "0.978069"]);
}

#[test]
fn more_ranks_than_cores_take_turns() {
    finds("ranks-16", ALL);
    finds("ranks-24", ["1.000000", "0.666667", "0.991890", "0.981818"]);
}

/// HPCC with its sections as marks. Boundaries count if a hundredth of the messages is sent beside
/// them. All of these are found: within a hundredth of the run, or between the last message of one
/// section and the first of the next.
#[test]
fn sections_of_hpcc_are_seen_in_few_rows() {
    let run = Recording::named("hpcc");
    let list = text(env!("CARGO_BIN_EXE_pf-segment"), &["--quiet", &run.trace, "--list"]);
    // For each stretch: its begin, and the number of messages before it.
    let mut before = 0;
    let mut rows = Vec::new();
    for row in csv::Reader::from_reader(list.as_bytes()).records().map(|row| row.unwrap()) {
        if &row[2] == "0" {
            rows.push((row[3].parse::<u64>().unwrap(), before));
            before += row[5].parse::<u64>().unwrap();
        }
    }
    let sections: Vec<Section> =
        csv::Reader::from_path(&run.truth).unwrap().deserialize().map(|row| row.unwrap()).collect();
    let end = sections.last().unwrap().1;
    // The last stretch ends with the run.
    let stretches = rows.len();
    rows.push((end, before));
    let wanted =
        sections.windows(2).filter(|pair| pair.iter().any(|section| 100 * messages(section) >= before));
    let found = |pair: &&[Section]| {
        let between = pair[0].5.zip(pair[1].4);
        rows.iter().any(|(start, at)| {
            start.abs_diff(pair[1].0) <= end / 100
                || between.is_some_and(|(last, first)| (last + 1..=first).contains(at))
        })
    };
    let wanted: Vec<&[Section]> = wanted.collect();
    let missed: Vec<&str> = wanted.iter().filter(|pair| !found(pair)).map(|pair| &pair[1].2[..]).collect();
    assert_eq!((sections.len(), wanted.len(), missed), (18, 5, Vec::new()));
    // A golden of the method as it is: the sections above confirm where rows begin, not how many
    // there are.
    assert_eq!(stretches, 11, "{list}");
}

/// A row of the truth: begin, end, label, outer label, first and last message.
type Section = (u64, u64, String, String, Option<u64>, Option<u64>);

fn messages(section: &Section) -> u64 {
    section.4.zip(section.5).map_or(0, |(first, last)| last + 1 - first)
}
