//! The page as a browser shows it. The pages stay in the target directory (`tmp/report-page`) for
//! inspection.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod example;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use phaseflow_collect::trace::Rank;
use phaseflow_collect::{Cell, TrafficMatrix};
use phaseflow_segment::{Occurrence, Phase};
use phaseflow_simulate::result::{BlameRow, Cause, Network, PathRow, Replayed, RunResult, StepKind};
use phaseflow_simulate::topology::LinkId;
use phaseflow_simulate::workload::Workload;
use serde_json::json;

/// Names that would be markup, script or style without escaping.
const HOSTILE: &str = "</script><img src=http://example.org/x onerror=alert(1)>\"'&<style>*{display:none}";

/// Writes the report of an archive into a directory of its own. Returns the path of the page.
fn page(name: &str, archive: &[u8]) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-page").join(name);
    fs::create_dir_all(&directory).unwrap();
    let results = directory.join("results.tar.gz");
    fs::write(&results, archive).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_pf-report"))
        .arg(&results)
        .arg("-o")
        .arg(&directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    directory.join("index.html")
}

/// The page as the browser builds it, and the browser's complaints about it.
fn browsed(page: &Path) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output();
    let output = output.unwrap_or_else(|error| panic!("chromium: {error}; tests/install installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "chromium: {said}");
    // The browser also reports on itself; complaints about the page come from its console.
    let complaints = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), complaints)
}

/// 96 runs of a workload of 20 phases, 300 ranks and 40 000 occurrences, hostile names throughout.
fn large() -> Vec<u8> {
    let mut network = example::network();
    network.label = HOSTILE.into();
    network.nodes.iter_mut().for_each(|node| node.name.push_str(HOSTILE));
    let mut workload = example::workload();
    workload.name = HOSTILE.into();
    let matrix = |k: u32| {
        let cells = (0..300u32).flat_map(move |src| {
            (0..300u32).filter(move |dst| (src * 7 + dst * (k + 3)).is_multiple_of(5)).map(move |dst| Cell {
                src: Rank(src),
                dst: Rank(dst),
                messages: 1,
                bytes: u64::from(src * 977 + dst * 131 + k) % 10_007 + 1,
            })
        });
        TrafficMatrix::from_cells(cells).unwrap()
    };
    let phase = |k: u32| Phase {
        title: String::new(),
        name: format!("{k}{HOSTILE}"),
        occurrences: 2000,
        duration_ns: Some(2_000_000_000),
        matrix: matrix(k),
    };
    workload.segmentation.header.ranks = 300;
    workload.segmentation.phases = (0..20).map(phase).collect();
    let occurrence = |i: u64| Occurrence {
        phase: (i % 21 != 20).then_some((i % 21) as u32),
        depth: 0,
        start_ns: i * 1_000_003,
        end_ns: (i + 1) * 1_000_003,
        messages: 1,
        bytes: 1,
    };
    workload.segmentation.occurrences = (0..40_000).map(occurrence).collect();
    let runs: Vec<RunResult> = (0..96).map(many_phases).collect();
    example::archive_of(json!({"note": HOSTILE}), &network, &workload, &runs)
}

/// A run whose phases repeat those of the example 10 times, with a long series.
fn many_phases(number: u32) -> RunResult {
    let mut run = example::run(number, ["dmodk", "smodk", "greedy"][number as usize % 3], "c1");
    run.labels.process_mapper = format!("mapper-{}", number / 3);
    run.labels.router.push_str(HOSTILE);
    let (phases, links) = (run.phases.clone(), run.links.clone());
    for copy in 1..10 {
        run.phases.extend(phases.iter().cloned());
        run.links.job.extend(&links.job);
        run.links.phase.extend(links.phase.iter().map(|phase| phase.map(|phase| phase + 2 * copy)));
        run.links.link.extend(&links.link);
        run.links.bytes.extend(&links.bytes);
        run.links.flows.extend(&links.flows);
        run.links
            .load
            .extend(links.load.iter().map(|load| load * f64::from(number % 7 + 1) / f64::from(copy + 1)));
    }
    for (k, phase) in run.phases.iter_mut().enumerate() {
        phase.phase = format!("{k}{HOSTILE}");
    }
    blame(&mut run);
    run.series[0].time_s = (0..20_000).map(|i| f64::from(i) * 0.01).collect();
    run.series[0].value = (0..20_000).map(|i| f64::from(i * 7919 % 1000)).collect();
    run
}

/// Blame: each phase takes 4 s, 3 s of them in the network, where 2 s were lost on link 8. Of
/// these, the run's own job caused 0.5 s, job 7 the rest.
fn blame(run: &mut RunResult) {
    for (phase, row) in (0..).zip(&mut run.phases) {
        row.replayed = Some(Replayed { path_ranks_s: 1.0, path_network_s: 3.0, ..Replayed::default() });
        let row = |cause, by_job, path_s| {
            let link = (cause != Cause::Latency).then_some(LinkId(8));
            BlameRow { job: 0, phase, cause, by_job, link, path_s }
        };
        run.blame.push(row(Cause::Latency, None, 0.5));
        run.blame.push(row(Cause::Transfer, None, 0.5));
        run.blame.push(row(Cause::Sharing, Some(0), 0.5));
        run.blame.push(row(Cause::Sharing, Some(7), 1.5));
        // Two steps together lost more to ranks 4 → 5 than one step lost to 2 → 3.
        for (by_rank, shared_s) in [(4, 0.5), (2, 0.625), (4, 0.25)] {
            run.path.push(PathRow {
                job: 0,
                phase,
                kind: StepKind::Message,
                time_s: 1.0,
                rank: Some(0),
                peer: Some(1),
                start_s: Some(0.0),
                bytes: Some(1),
                link: Some(LinkId(8)),
                shared_s: Some(shared_s),
                by_job: Some(7),
                by_rank: Some(by_rank),
                by_peer: Some(by_rank + 1),
            });
        }
    }
}

#[test]
fn the_page_says_what_slowed_the_critical_path() {
    let mut run = example::run(0, "dmodk", "c0");
    blame(&mut run);
    let html = fs::read_to_string(page("blame", &example::archive(json!({}), &[run]))).unwrap();
    assert!(html.contains("<h2>What slowed the critical path</h2>"));
    let row = "<td>halo</td><td class=\"n\" data-v=\"4\">4 s</td><td class=\"n\" data-v=\"0.75\">75 %</td>\
               <td class=\"n\" data-v=\"0.125\">12.5 %</td><td class=\"n\" data-v=\"0.375\">37.5 %</td>\
               <td>job 7</td><td>job 7, rank 4 → 5</td><td>e0 → c0</td><td class=\"n\" data-v=\"0.625\">62.5 %</td>";
    assert!(html.contains(row), "no row of halo");
    let plain = fs::read_to_string(page("example-blame", &example::example())).unwrap();
    assert!(!plain.contains("What slowed the critical path"));
}

#[test]
fn the_page_says_how_sure_times_are_and_where_models_disagree() {
    let html = fs::read_to_string(page("models", &example::archive(json!({}), &example::models()))).unwrap();
    let note = "<p class=\"note\">Models disagree on phase halo: 342 ms ± 96 % by flow (run 0), 26 ms by packet, ideal (run 1), \
                13.2 times apart. The stated error covers that: trust packet, ideal, or ask with --sampling off.</p>";
    assert!(html.contains(note), "no note");
    assert_eq!(html.matches("Models disagree on").count(), 1);
    // Phase by phase, and for the run, whose 5 s may be off by the phase's 328 ms, which is 6.6 %.
    assert!(html.contains(">342 ms ± 96 %</td>") && html.contains("data-v=\"5\">5 s</td>"), "no times");
}

/// `tests/browse_page.py`: chooses every phase of every run and compares what is shown with the
/// tables; values at pointer and keyboard; sorting; narrow, dark and on paper.
fn browse(page: &Path) -> String {
    let interpreter = std::env::var("PHASEFLOW_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browse_page.py");
    let report = page.parent().unwrap();
    let output =
        Command::new(interpreter).arg(script).arg(report).arg(report.join("shots")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn choosing_a_phase_changes_matrix_map_loads_and_tables() {
    let [mut slow, mut fast] = example::runs();
    for (run, seconds) in [(&mut slow, 4.0), (&mut fast, 2.0)] {
        run.labels.model = "flow".into();
        run.statistics.makespan_s = Some(seconds);
    }
    let said = browse(&page("browsed", &example::archive(json!({}), &[slow, fast])));
    assert!(said.contains("selection: 4 phases show what the tables say"), "{said}");
}

#[test]
fn the_page_of_the_quickstart_shows_what_its_tables_say() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let run = |command: &str, arguments: &[&str], input: &Path, output: &Path| {
        let output = Command::new(command).args(arguments).arg(input).arg("-o").arg(output).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/quickstart.trace.tar.gz");
    run(env!("CARGO_BIN_EXE_pf-segment"), &[], &recording, &at("phases"));
    let choices =
        "--model flow --compute-scale 0.125 --router dmodk,greedy --topology fat-tree[k=4,capacity=1]";
    let choices: Vec<&str> = choices.split(' ').collect();
    run(env!("CARGO_BIN_EXE_pf-simulate"), &choices, &at("phases"), &at("results"));
    let said = browse(&page("quickstart", &fs::read(at("results")).unwrap()));
    assert!(said.contains("1200-dark: fits, the console is empty"), "{said}");
}

#[test]
fn the_page_says_what_the_tables_say() {
    let page = page("example", &example::example());
    let html = fs::read_to_string(&page).unwrap();
    for expected in
        ["e0 → c0", "phase a/2a", "2.5 GB/s, 200 % of its capacity", "greedy", "50 % less than the hottest"]
    {
        assert!(html.contains(expected), "{expected}");
    }
    let (dom, complaints) = browsed(&page);
    assert_eq!(complaints, "");
    for expected in [
        "<svg class=\"timeline items\"",
        "data:image/png;base64,",
        "class=\"line l1\"",
        "<h3>Who sends to whom</h3>",
    ] {
        assert!(dom.contains(expected), "{expected}");
    }
}

#[test]
fn hostile_names_stay_text_and_a_hundred_runs_stay_small() {
    let page = page("large", &large());
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    // The page's own data and script; it has no image but those inside of drawings.
    assert_eq!(html.matches("</script").count(), 2, "a name became markup");
    assert!(!html.contains("<img"), "a name became markup");
    assert!(!html.contains("=\"http") && !html.contains("url(http"), "a reference to the outside");
    let (dom, complaints) = browsed(&page);
    assert_eq!(complaints, "");
    assert!(dom.contains("&lt;/script&gt;&lt;img src=http") && !dom.contains("<img"));
}

/// A trace without times: loads are bytes, there is no timeline, and the page says so.
#[test]
fn loads_in_bytes_are_called_so() {
    let mut workload: Workload = example::workload();
    workload.segmentation.occurrences.clear();
    let mut run = example::run(0, "dmodk", "c0");
    run.statistics.max_utilization = None;
    run.phases.iter_mut().for_each(|phase| (phase.duration_s, phase.max_utilization) = (None, None));
    let network: Network = example::network();
    let page = page("bytes", &example::archive_of(json!({}), &network, &workload, &[run]));
    let html = fs::read_to_string(page).unwrap();
    for expected in ["2.5 GB<", "its loads are bytes", "Its trace does not say when messages were sent"] {
        assert!(html.contains(expected), "{expected}");
    }
    assert!(!html.contains("GB/s"));
}
