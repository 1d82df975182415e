//! What slowed the critical path, and what jobs cost each other, as a user sees it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use stages::{Row, collect, number, output, run, segment, simulate, table};

/// Hosts on two switches, left and right in turn. So jobs of two neighbours each meet on the one
/// link between the switches.
const DUMBBELL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="t" for="node" attr.name="typ" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="h0"><data key="t">host</data></node><node id="h1"><data key="t">host</data></node>
    <node id="h2"><data key="t">host</data></node><node id="h3"><data key="t">host</data></node>
    <node id="h4"><data key="t">host</data></node><node id="h5"><data key="t">host</data></node>
    <node id="left"><data key="t">switch</data></node><node id="right"><data key="t">switch</data></node>
    <edge source="h0" target="left"/><edge source="h2" target="left"/><edge source="h4" target="left"/>
    <edge source="h1" target="right"/><edge source="h3" target="right"/><edge source="h5" target="right"/>
    <edge source="left" target="right"/>
  </graph>
</graphml>
"#;

/// Three links of 1 µs; a megabyte at 10 Gbit/s.
const LATENCY: f64 = 3e-6;
const BYTES: f64 = 1e6 * 0.8e-9;

const ROUNDS: f64 = 4.0;

struct Files {
    _folder: tempfile::TempDir,
    network: PathBuf,
    phases: PathBuf,
}

/// Two ranks that send each other a megabyte, four times.
fn files() -> Files {
    let folder = tempfile::tempdir().unwrap();
    let (network, phases) = (folder.path().join("dumbbell.graphml"), folder.path().join("phases.tar"));
    std::fs::write(&network, DUMBBELL).unwrap();
    let trace = collect(&["--pattern", "shift", "--ranks", "2", "--bytes", "1MB", "--repeat", "4"]);
    std::fs::write(&phases, segment(&["--method", "none", "--keep-messages"], &trace)).unwrap();
    Files { _folder: folder, network, phases }
}

fn results(files: &Files, jobs: usize, options: &[&str]) -> Vec<u8> {
    let network = files.network.to_str().unwrap();
    let fixed = [
        "--topology",
        network,
        "--capacity",
        "10",
        "--latency",
        "1us",
        "--compute-scale",
        "0",
        "--slots",
        "1",
    ];
    let phases = vec![files.phases.to_str().unwrap(); jobs];
    output(simulate(&[&fixed, options, &phases].concat()), b"")
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-12 + 1e-9 * expected, "{found} instead of {expected}");
}

/// Seconds by cause and by the job that caused them.
fn blame(rows: &[Row], job: &str) -> BTreeMap<(String, String), f64> {
    let mut sums = BTreeMap::new();
    for row in rows.iter().filter(|row| row["job"] == job) {
        *sums.entry((row["cause"].clone(), row["by_job"].clone())).or_insert(0.0) += number(row, "path_s");
    }
    sums
}

/// CORRECTNESS: three jobs share one link. Each needs a third of the time and loses a third to each
/// of the others. With `interference`, the report says that each would take a third alone.
#[test]
fn jobs_on_one_link_slow_each_other() {
    let files = files();
    for (jobs, sampling) in [(2, "on"), (2, "off"), (3, "on"), (3, "off")] {
        let options = ["--model", "flow", "--blame", "--interference", "--sampling", sampling];
        let archive = results(&files, jobs, &options);
        let (together, alone) = (LATENCY + jobs as f64 * BYTES, LATENCY + BYTES);
        for row in table("jobs", &archive) {
            close(number(&row, "run_s"), ROUNDS * together);
            close(number(&row, "alone_s"), ROUNDS * alone);
            close(number(&row, "slowdown"), together / alone);
        }
        let rows = table("blame", &archive);
        for job in 0..jobs {
            let mut found = blame(&rows, &job.to_string());
            let mut take = |cause: &str, by: String| found.remove(&(cause.to_owned(), by)).unwrap();
            close(take("latency", String::new()), ROUNDS * LATENCY);
            close(take("transfer", String::new()), ROUNDS * BYTES);
            for other in (0..jobs).filter(|other| *other != job) {
                close(take("sharing", other.to_string()), ROUNDS * BYTES);
            }
            assert!(found.is_empty(), "{found:?}");
        }
        let between =
            |row: &Row| row["link_src"].starts_with(['l', 'r']) && row["link_dst"].starts_with(['l', 'r']);
        assert!(rows.iter().all(|row| row["cause"] == "latency" || between(row)), "{rows:?}");
        for row in table("phases", &archive) {
            close(number(&row, "path_same_job_s"), 0.0);
            close(number(&row, "path_other_jobs_s"), ROUNDS * (jobs - 1) as f64 * BYTES);
            let other = if row["job"] == "0" { "1" } else { "0" };
            assert_eq!(row["slowed_by"], other);
        }
        // The times of links add up to the time without latency.
        let links = table("links", &archive);
        let of_links: f64 =
            links.iter().filter(|row| row["job"] == "0").map(|row| number(row, "path_s")).sum();
        close(of_links, ROUNDS * jobs as f64 * BYTES);
        let path = table("path", &archive);
        let steps: Vec<&Row> = path.iter().filter(|row| row["job"] == "0").collect();
        assert_eq!(steps.len(), ROUNDS as usize);
        for (at, row) in steps.iter().enumerate() {
            close(number(row, "start_s"), at as f64 * together);
            close(number(row, "time_s"), together);
            close(number(row, "shared_s"), (jobs - 1) as f64 * BYTES);
            // Messages of the same ranks of the other jobs take the same path.
            assert_eq!((&row["by_rank"], &row["by_peer"]), (&row["rank"], &row["peer"]));
            assert_eq!(
                (&row["kind"][..], &row["bytes"][..], number(row, "step")),
                ("message", "1000000", at as f64 + 1.0)
            );
        }
    }
}

/// A job that comes when the other is half done is slowed while both are there, in two rounds each.
#[test]
fn a_job_that_comes_later_slows_from_then_on() {
    let files = files();
    let scenario = files.network.with_file_name("later.yml");
    // Two rounds of 803 µs.
    std::fs::write(&scenario, "jobs:\n  - trace: phases.tar\n  - trace: phases.tar\n    at: 1606us\n")
        .unwrap();
    let options = ["--scenario", scenario.to_str().unwrap(), "--model", "flow", "--sampling", "off"];
    let archive = results(&files, 0, &[&options[..], &["--blame", "--interference"]].concat());
    let rows = table("blame", &archive);
    for (job, other) in [("0", "1"), ("1", "0")] {
        let found = blame(&rows, job);
        close(found[&("transfer".into(), String::new())], ROUNDS * BYTES);
        close(found[&("sharing".into(), other.into())], 2.0 * BYTES);
    }
    for row in table("jobs", &archive) {
        close(number(&row, "run_s"), 4.0 * LATENCY + 6.0 * BYTES);
        close(number(&row, "alone_s"), 4.0 * LATENCY + 4.0 * BYTES);
    }
}

/// A job whose messages share the link with a short and a long message of another job loses most to
/// the long one. The loss goes to its ranks, not only to the job.
#[test]
fn the_ranks_that_slowed_most_are_told() {
    let files = files();
    let folder = files.network.parent().unwrap();
    // Ranks 0 and 2 are left of the link, 1 and 3 right of it.
    let other = "t_ns,src,dst,bytes,tag\n0,0,1,100000,0\n1000,2,3,3000000,0\n";
    let mut reading = Command::new(env!("CARGO_BIN_EXE_pf-collect"));
    reading.args(["--from", "csv"]);
    let trace = output(reading, other.as_bytes());
    let phases = segment(&["--method", "none", "--keep-messages"], &trace);
    std::fs::write(folder.join("other.tar"), phases).unwrap();
    let scenario = folder.join("two.yml");
    std::fs::write(&scenario, "jobs:\n  - trace: phases.tar\n  - trace: other.tar\n").unwrap();
    let options =
        ["--scenario", scenario.to_str().unwrap(), "--model", "flow", "--blame", "--sampling", "off"];
    let archive = results(&files, 0, &options);
    let path = table("path", &archive);
    let lost: Vec<&Row> = path.iter().filter(|row| row["job"] == "0" && row["by_job"] == "1").collect();
    assert!(!lost.is_empty(), "{path:?}");
    assert!(lost.iter().all(|row| (&row["by_rank"][..], &row["by_peer"][..]) == ("2", "3")), "{lost:?}");
}

/// For jobs without end, only sums are given.
#[test]
fn endless_jobs_have_sums() {
    let files = files();
    let scenario = files.network.with_file_name("endless.yml");
    std::fs::write(&scenario, "jobs:\n  - trace: phases.tar\n    submit: {exponential: {lambd: 1000}}\n")
        .unwrap();
    let options =
        ["--scenario", scenario.to_str().unwrap(), "--duration", "50ms", "--model", "flow", "--blame"];
    let archive = results(&files, 0, &options);
    assert!(table("path", &archive).is_empty());
    let blame = table("blame", &archive);
    assert!(blame.iter().all(|row| row["link"].is_empty()));
    let phases = table("phases", &archive);
    let finished: Vec<&Row> = phases.iter().filter(|row| !row["path_network_s"].is_empty()).collect();
    assert!(finished.len() > 5, "{phases:?}");
    for phase in finished {
        let rows = blame.iter().filter(|row| row["job"] == phase["job"]);
        close(rows.map(|row| number(row, "path_s")).sum(), number(phase, "path_network_s"));
    }
    let lost =
        |row: &Row| row["cause"] == "sharing" && row["by_job"] != row["job"] && number(row, "path_s") > 0.0;
    assert!(blame.iter().any(lost));
}

#[test]
fn what_is_not_asked_for_is_empty() {
    let files = files();
    let archive = results(&files, 2, &["--model", "flow"]);
    assert!(table("path", &archive).is_empty() && table("blame", &archive).is_empty());
    for (name, columns) in [
        ("phases", &["path_same_job_s", "path_other_jobs_s", "slowed_by"][..]),
        ("links", &["path_s"]),
        ("jobs", &["alone_s", "slowdown"]),
    ] {
        let rows = table(name, &archive);
        assert!(rows.iter().all(|row| columns.iter().all(|column| row[*column].is_empty())), "{rows:?}");
    }
    // Options that report more do not change the results.
    let asked = results(&files, 2, &["--model", "flow", "--blame", "--interference"]);
    let times = |archive: &[u8]| -> Vec<(String, String)> {
        let rows = table("phases", archive).into_iter();
        rows.map(|row| (row["makespan_s"].clone(), row["path_network_s"].clone())).collect()
    };
    assert_eq!(times(&archive), times(&asked));
    assert_eq!(table("runs", &archive)[0]["max_flows"], table("runs", &asked)[0]["max_flows"]);
    // Traffic has no critical path.
    let refused = run(simulate(&["--topology", "star[hosts=2]", "--blame"]), b"");
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(
        text,
        "pf-simulate: --blame is a parameter of another model: add --model flow or packet or auto\n"
    );
}

/// Packets have a path and a time alone; what held them up is unknown.
#[test]
fn packets_tell_their_path() {
    let files = files();
    let archive = results(&files, 2, &["--model", "packet", "--blame", "--interference"]);
    let path = table("path", &archive);
    assert!(!path.is_empty() && path.iter().all(|row| row["link"].is_empty() && row["shared_s"].is_empty()));
    assert!(table("blame", &archive).is_empty());
    let alone = table("jobs", &results(&files, 1, &["--model", "packet"]));
    for row in table("jobs", &archive) {
        close(number(&row, "alone_s"), number(&alone[0], "run_s"));
        assert!(number(&row, "slowdown") > 1.9, "{row:?}");
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let files = files();
    let options = ["--model", "flow,packet", "--blame", "--interference", "--path-steps", "3"];
    let one = results(&files, 3, &[&options[..], &["--threads", "1"]].concat());
    let many = results(&files, 3, &[&options[..], &["--threads", "4"]].concat());
    assert!(one == many);
    assert!(table("path", &one).iter().all(|row| row["step"].is_empty() || number(row, "step") <= 3.0));
}
