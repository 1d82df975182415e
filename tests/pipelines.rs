//! Each pipeline is run as a user runs it, on the commands built for these tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a pipeline script in an empty directory. Returns its standard output and the directory.
fn pipeline(script: &str, arguments: &[&str]) -> (String, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let commands = Path::new(env!("CARGO_BIN_EXE_pf-collect")).parent().unwrap();
    let run = |name: &Path| -> Output {
        Command::new(name)
            .args(arguments)
            .env("PHASEFLOW_BIN", commands)
            .env("PYTHON", PYTHON)
            .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")])
            .current_dir(directory.path())
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", name.display()))
    };
    let output = run(&root().join("pipelines").join(script));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {}: {errors}", output.status);
    (String::from_utf8(output.stdout).unwrap(), directory)
}

/// Has mpi4py, installed by tests/install.
const PYTHON: &str = "/usr/bin/python3";

fn rows(csv_text: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    csv::Reader::from_reader(csv_text.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

fn bundled(name: &str) -> String {
    root().join("tests/data").join(name).to_str().unwrap().to_owned()
}

#[test]
fn quickstart_says_what_hurts_and_what_helps() {
    // It comes with every copy of the project.
    assert!(fs::metadata(bundled("quickstart.trace.tar.gz")).unwrap().len() < 400_000);
    let (text, directory) = pipeline("quickstart.sh", &[]);
    // Ranks across the diagonal of a 4 × 4 grid exchange blocks. D-mod-K chooses by destination, so
    // that three of these exchanges share a link to the core.
    for expected in [
        "Phase 1 (transpose · 144 KiB · 12 of 16 ranks) uses ",
        " under fat-tree[k=4,capacity=1] · dmodk: rank ",
        "the average hides a factor of 2.",
        "Of 4 choices, fat-tree[k=4,capacity=2] · greedy is fastest: ",
        "index.html",
    ] {
        assert!(text.contains(expected), "`{expected}` is missing in:\n{text}");
    }
    // The page has the verdict, and the runs with the best one first.
    let page = fs::read_to_string(directory.path().join("phaseflow-quickstart/index.html")).unwrap();
    assert!(page.contains("Of 4 choices, fat-tree[k=4,capacity=2] · greedy is fastest: "), "{page}");
    let (_, ranking) = page.split_once("The runs, the best first").unwrap();
    let (ranking, _) = ranking.split_once("</table>").unwrap();
    let order = ["2]</td><td>greedy", "1]</td><td>greedy", "2]</td><td>dmodk", "1]</td><td>dmodk"];
    let places = order.map(|name| ranking.find(name).unwrap());
    assert!(places.is_sorted(), "{ranking}");
    // README quotes the verdict.
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let quoted = readme.lines().filter_map(|line| line.strip_prefix("> "));
    let quoted: Vec<&str> = quoted.map(|line| line.trim_end_matches('\\')).collect();
    let verdict: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(quoted.join(" "), verdict.join(" "));
    let phases = fs::read_to_string(directory.path().join("phaseflow-quickstart/phases.csv")).unwrap();
    let phases = rows(&phases);
    let transpose = |run: &str, column: &str| {
        let row = phases.iter().find(|row| row["run"] == run && row["title"].starts_with("transpose"));
        row.unwrap()[column].parse::<f64>().unwrap()
    };
    // The network saturates: the hottest link is used nearly all of the phase's time.
    let used = transpose("0", "max_utilization");
    assert!(used > 0.9, "{used}");
    let time = |run: &str| transpose(run, "makespan_s");
    // Greedy routing gives each exchange links of its own: at the same speed, it helps as much as
    // links twice as fast, and three flows that no longer share take far less time.
    assert!(time("1") < 0.65 * time("0"), "{} {}", time("1"), time("0"));
    assert!(time("1") < 1.1 * time("2"), "{} {}", time("1"), time("2"));
    for file in ["index.html", "runs.csv", "phases.csv", "links.csv"] {
        assert!(directory.path().join("phaseflow-quickstart").join(file).is_file(), "{file}");
    }
}

#[test]
fn phase_what_if_compares_routers_phase_by_phase() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.tar.gz");
    let generated = Command::new(env!("CARGO_BIN_EXE_pf-collect"))
        .args([
            "--pattern",
            "halo2d*20,alltoall*5,halo2d*20",
            "--ranks",
            "128",
            "--repeat",
            "4",
            "--gap",
            "200us",
            "-o",
        ])
        .arg(&trace)
        .status();
    assert!(generated.unwrap().success());
    let trace = trace.to_str().unwrap();
    let (text, _directory) =
        pipeline("phase-what-if.sh", &[trace, &bundled("cluster.graphml"), "dmodk,greedy-max"]);
    let rows = rows(&text);
    let load = |router: &str, kind: &str| -> Vec<f64> {
        let of = rows.iter().filter(|row| row["router"] == router && row["phases"] == kind);
        of.map(|row| row["max_link_load"].parse().unwrap()).collect()
    };
    // The trace has two kinds of phases (halo exchange and all-to-all), the average view one.
    assert_eq!((load("dmodk", "segmented").len(), load("dmodk", "merged").len()), (2, 1), "{text}");
    for router in ["dmodk", "greedy-max"] {
        let peak = load(router, "segmented").into_iter().fold(0.0, f64::max);
        // An average over time never exceeds its peak.
        assert!(peak >= load(router, "merged")[0], "{router}: {text}");
    }
}

#[test]
fn pfsim_scenario_runs_every_combination() {
    let (text, directory) = pipeline("pfsim-scenario.sh", &[]);
    let rows = rows(&text);
    // 1 scheduler × 2 host selectors × 2 process mappers × 3 routers, numbered in that order with
    // routers fastest.
    assert_eq!(rows.len(), 12, "{text}");
    let routers: Vec<&str> = rows.iter().take(4).map(|row| row["router"].as_str()).collect();
    assert_eq!(routers, ["dmodk", "greedy", "greedy-max", "dmodk"]);
    assert!(directory.path().join("phaseflow-scenario/index.html").is_file());
}

#[test]
fn stages_by_hand_leaves_every_stage_in_a_file() {
    let (text, directory) = pipeline("stages-by-hand.sh", &[]);
    // 20 rounds of 64 KiB messages: an open 4 × 4 grid has 2·4·3 pairs of neighbours, each
    // exchanging both ways; then 16 ranks all to all.
    let messages = 20 * (2 * 4 * 3 * 2 + 16 * 15);
    assert!(text.contains(&format!("messages: {messages}\n")), "{text}");
    assert!(text.contains(&format!("bytes: {}\n", messages * 65_536)), "{text}");
    let stages: [PathBuf; 4] =
        ["trace.tar.gz", "phases.tar.gz", "results.tar.gz", "report/index.html"].map(PathBuf::from);
    for stage in stages {
        assert!(directory.path().join("phaseflow-stages").join(&stage).is_file(), "{}", stage.display());
    }
}

/// Every collective in one phase of a recorded program. A ring moves the least between hosts,
/// 2(p−1)/p of the vector each way. A network that sums moves the vector itself. One server takes
/// in all vectors. Workers of SwitchML send again while they wait for a late one.
#[test]
fn in_network_what_if_compares_collectives_in_a_recorded_program() {
    let (text, _) = pipeline("in-network-what-if.sh", &[&bundled("recordings/training.trace.tar.gz")]);
    let rows = rows(&text);
    let names: Vec<&str> = rows.iter().map(|row| &row["collective"][..]).collect();
    let known =
        ["recorded", "ring", "recursive-doubling", "halving-doubling", "binomial", "ps", "switchml", "atp"];
    assert_eq!(names, known);
    let number = |row: usize, column: &str| rows[row][column].parse::<f64>().unwrap();
    for row in 0..rows.len() {
        assert_eq!(rows[row]["phase"], rows[0]["phase"]);
        assert!(number(row, "makespan_s") > 0.0 && rows[row]["drops"] == "0", "{:?}", rows[row]);
    }
    let [ring, doubling, server, switchml, atp] = [1, 2, 5, 6, 7].map(|row| number(row, "max_link_bytes"));
    assert!(atp < ring && ring < switchml && switchml < doubling && doubling < server, "{text}");
}

/// Without a trace, the pipeline records one; the machine then decides which messages fall into
/// which phase.
#[test]
fn in_network_what_if_records_a_program() {
    let (text, _) = pipeline("in-network-what-if.sh", &["", "star[hosts=9]", "recorded,ring"]);
    let names: Vec<String> =
        rows(&text).into_iter().map(|mut row| row.remove("collective").unwrap()).collect();
    assert_eq!(names, ["recorded", "ring"], "{text}");
}

/// What calibrate.py says of messages on standard input: its standard output, or its error.
fn calibrate(messages: &str, arguments: &[&str]) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), messages).unwrap();
    let output = Command::new(PYTHON)
        .arg(root().join("pipelines/calibrate.py"))
        .args(["--capacity", "0.1", "--latency", "10us"])
        .args(arguments)
        .stdin(fs::File::open(file.path()).unwrap())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Ten round trips of each size: 10 µs of latency and 25 µs at each side, 94 % of 0.1 Gbit/s, and
/// `step_ns` above 65 472 bytes. Times are off by up to 3 %, alike for all sizes in the median.
fn ping_pong(step_ns: f64) -> String {
    let mut text = String::from("t_ns,src,dst,bytes,tag,op\n");
    let mut now = 0.0;
    for power in 0..20 {
        let bytes = 1_u64 << power;
        for size in [bytes.saturating_sub(64), bytes, bytes + bytes / 2] {
            for trip in 0..10 {
                let above = if size > 65_472 { step_ns } else { 0.0 };
                let noise = 1.0 + f64::from(trip % 3 - 1) * 0.03;
                let half = (60_000.0 + above + size as f64 * 8.0 / 0.094) * noise;
                for (rank, time) in [(0, now), (1, now + half)] {
                    text.push_str(&format!("{time:.0},{rank},{},{size},0,\n", 1 - rank));
                }
                now += 2.0 * half;
            }
        }
    }
    text
}

#[test]
fn calibrate_finds_the_parameters_of_a_ping_pong() {
    let value = |text: &str, name: &str| -> f64 {
        let mut words = text.split_whitespace().skip_while(|word| *word != name).skip(1);
        words
            .next()
            .unwrap_or_else(|| panic!("{name} is missing in {text}"))
            .trim_end_matches("ns")
            .parse()
            .unwrap()
    };
    let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.02;
    let text = calibrate(&ping_pong(120_000.0), &["--plain"]).unwrap();
    assert!(close(value(&text, "--send-overhead"), 25_000.0), "{text}");
    assert!(close(value(&text, "--receive-overhead"), 25_000.0), "{text}");
    assert!(close(value(&text, "--goodput"), 0.94), "{text}");
    assert!(text.ends_with("--rendezvous put\n"), "{text}");
    assert!(close(value(&text, "--eager"), 65_472.0), "{text}");
    // Without a step there is no limit to be found; a known one is handed on.
    let text = calibrate(&ping_pong(0.0), &["--plain"]).unwrap();
    assert!(!text.contains("--eager") && close(value(&text, "--goodput"), 0.94), "{text}");
    let text = calibrate(&ping_pong(0.0), &["--plain", "--eager", "65536"]).unwrap();
    assert!(text.ends_with("--eager 65536 --rendezvous free\n"), "{text}");
}

#[test]
fn calibrate_refuses_what_is_no_ping_pong() {
    let header = "t_ns,src,dst,bytes,tag,op\n";
    let one_way: String = (0..100).map(|i| format!("{},0,1,{},0,\n", i * 1000, i % 10)).collect();
    let error = calibrate(&format!("{header}{one_way}"), &[]).unwrap_err();
    assert!(error.contains("found 0 sizes with 5 round trips or more between ranks 0 and 1"), "{error}");
    let error = calibrate(&ping_pong(0.0), &["--latency", "10"]).unwrap_err();
    assert!(error.contains("`10` has no unit, expected ns, us, ms or s"), "{error}");
}
