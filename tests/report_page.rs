//! The page as a browser shows it. The pages stay in the target directory (`tmp/report-page`) for
//! inspection.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod example;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use phaseflow_collect::trace::Rank;
use phaseflow_collect::{Cell, TrafficMatrix};
use phaseflow_segment::{Occurrence, Phase};
use phaseflow_simulate::result::{BlameRow, Cause, Network, PathRow, Replayed, RunResult, StepKind};
use phaseflow_simulate::topology::{LinkId, NodeId};
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

/// The results of the quickstart: what `pipelines/quickstart.sh` simulates.
fn quickstart() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let run = |command: &str, arguments: &[&str], input: &Path, output: &Path| {
        let output = Command::new(command).args(arguments).arg(input).arg("-o").arg(output).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    run(
        env!("CARGO_BIN_EXE_pf-segment"),
        &[],
        &root.join("tests/data/quickstart.trace.tar.gz"),
        &at("phases"),
    );
    let pipeline = fs::read_to_string(root.join("pipelines/quickstart.sh")).unwrap();
    let options = pipeline.split("pf-simulate").nth(1).unwrap().split('|').next().unwrap();
    let options: Vec<&str> =
        options.split_whitespace().filter(|word| *word != "\\").map(|word| word.trim_matches('\'')).collect();
    run(env!("CARGO_BIN_EXE_pf-simulate"), &options, &at("phases"), &at("results"));
    fs::read(at("results")).unwrap()
}

#[test]
fn the_page_of_the_quickstart_shows_what_its_tables_say() {
    let said = browse(&page("quickstart", &quickstart()));
    assert!(said.contains("1200-dark: fits, the console is empty"), "{said}");
}

type Row = BTreeMap<String, String>;

fn rows(path: &Path) -> Vec<Row> {
    csv::Reader::from_path(path).unwrap().deserialize().map(|row| row.unwrap()).collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or(0.0)
}

/// Three significant digits.
fn three(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// What the tables of the quickstart answer to ten questions, in words of a report; docs/report.md
/// lists the questions.
fn answers(directory: &Path) -> Vec<String> {
    let (runs, phases) = (rows(&directory.join("runs.csv")), rows(&directory.join("phases.csv")));
    let links = rows(&directory.join("links.csv"));
    let hottest = |a: &&Row, b: &&Row| number(a, "max_utilization").total_cmp(&number(b, "max_utilization"));
    let hot = phases.iter().max_by(hottest).unwrap();
    let seconds = |run: &&Row| number(run, "makespan_s");
    let best = runs.iter().min_by(|a, b| seconds(a).total_cmp(&seconds(b))).unwrap();
    let of_run: Vec<&Row> = phases.iter().filter(|row| row["run"] == hot["run"]).collect();
    let time: f64 = of_run.iter().map(|row| number(row, "makespan_s") - number(row, "unlimited_s")).sum();
    let run = runs.iter().find(|run| run["run"] == hot["run"]).unwrap();
    // All bytes of a link over all of the time.
    let mut bytes: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for row in links.iter().filter(|row| row["run"] == hot["run"]) {
        *bytes.entry((&row["src"], &row["dst"])).or_default() +=
            number(row, "bytes") * 8.0 / 1e9 / number(row, "capacity");
    }
    let averaged = bytes.values().copied().fold(0.0, f64::max) / seconds(&run);
    // How often greedy, and links of twice the capacity, win with all else equal.
    let wins = |axis: &str, other: &str, choice: &str| {
        let chosen = runs.iter().filter(|run| run[axis] == choice);
        let beats = |run: &&Row| {
            let like = runs.iter().filter(|like| like[other] == run[other] && like[axis] != run[axis]);
            like.into_iter().all(|like| seconds(run) < seconds(&like))
        };
        format!(
            "{choice} is best in {} of {} comparisons",
            chosen.clone().filter(beats).count(),
            chosen.count()
        )
    };
    vec![
        format!("Phase {} ({})", hot["phase"], hot["title"]),
        format!("{} → {}", hot["bottleneck_src"], hot["bottleneck_dst"]),
        "rank ".into(),
        format!("uses {} %", three(100.0 * number(hot, "max_utilization"))),
        format!(
            "Links of unlimited capacity would save {} % of the time",
            three(100.0 * time / seconds(&run))
        ),
        wins("router", "topology", "greedy"),
        wins("topology", "router", "fat-tree[k=4,capacity=2]"),
        format!("{} · {} is fastest: {} ms", best["topology"], best["router"], three(1e3 * seconds(&best))),
        "times have no error of sampling".into(),
        format!("is used {} %: the average hides", three(100.0 * averaged)),
    ]
}

#[test]
fn the_first_screen_answers_ten_questions() {
    let page = page("questions", &quickstart());
    let directory = page.parent().unwrap();
    let terminal =
        Command::new(env!("CARGO_BIN_EXE_pf-report")).arg(directory.join("results.tar.gz")).output().unwrap();
    let terminal = String::from_utf8(terminal.stdout).unwrap();
    // Before any table: lines of 80 columns.
    let first: Vec<&str> = terminal.lines().take_while(|line| !line.is_empty()).collect();
    let lines: usize = first.iter().map(|line| line.chars().count().div_ceil(80)).sum();
    assert!(lines <= 24, "{lines} lines of 80 columns: {first:?}");
    let html = fs::read_to_string(&page).unwrap();
    let verdict = &html[html.find("<ul class=\"verdict\">").unwrap()..html.find("<h2>Runs").unwrap()];
    let questions = answers(directory);
    assert_eq!(questions.len(), 10);
    for answer in questions {
        assert!(first.iter().any(|line| line.contains(&answer)), "{answer}: {first:#?}");
        assert!(verdict.contains(&answer), "{answer}: {verdict}");
    }
    // Whose messages: pairs that send in that phase.
    let phases = rows(&directory.join("phases.csv"));
    let senders = first[0].split("rank ").nth(1).unwrap();
    let pair: Vec<u32> =
        senders.split(" (").next().unwrap().split(" → ").map(|rank| rank.parse().unwrap()).collect();
    assert!(pair.len() == 2 && pair[0] != pair[1] && !phases.is_empty(), "{pair:?}");
}

/// 1 000 links, 20 phases, 12 runs: 400 hosts at 25 edge switches, four core switches.
fn thousand_links() -> Vec<u8> {
    let (hosts, edges, cores) = (400u32, 25u32, 4u32);
    let mut network = example::network();
    let node =
        |name: String, slots| phaseflow_simulate::topology::Node { name, slots, mac: None, dpid: None };
    network.nodes = (0..hosts).map(|i| node(format!("host{i}"), Some(1))).collect();
    network.nodes.extend((0..edges).map(|i| node(format!("edge{i}"), None)));
    network.nodes.extend((0..cores).map(|i| node(format!("core{i}"), None)));
    let template = network.links[0].clone();
    let link = |src: u32, dst: u32| {
        let mut link = template.clone();
        (link.src, link.dst) = (NodeId(src), NodeId(dst));
        link
    };
    let to_edge = (0..hosts).map(|host| (host, hosts + host / 16));
    let to_core =
        (0..edges).flat_map(|edge| (0..cores).map(move |core| (hosts + edge, hosts + edges + core)));
    network.links = to_edge.chain(to_core).flat_map(|(a, b)| [link(a, b), link(b, a)]).collect();
    assert_eq!(network.links.len(), 1000);
    let mut workload = example::workload();
    workload.segmentation.header.ranks = hosts;
    workload.segmentation.phases = (0..20)
        .map(|k| {
            let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst)));
            let used = pairs.filter(|(src, dst)| src != dst && (src * 31 + dst * (k + 7)).is_multiple_of(3));
            let cell = |(src, dst): (u32, u32)| Cell {
                src: Rank(src),
                dst: Rank(dst),
                messages: 1 + u64::from(dst % 5),
                bytes: 1 + u64::from((src * 7919 + dst * 104_729 + k * 31) % 65_536),
            };
            Phase {
                title: format!("irregular · {k} partners"),
                name: k.to_string(),
                occurrences: 500,
                duration_ns: Some(2_000_000_000),
                matrix: TrafficMatrix::from_cells(used.map(cell)).unwrap(),
            }
        })
        .collect();
    let occurrence = |i: u64| Occurrence {
        phase: (i % 21 != 20).then_some((i % 21) as u32),
        depth: 0,
        start_ns: i * 4_000_000,
        end_ns: (i + 1) * 4_000_000,
        messages: 1,
        bytes: 1,
    };
    workload.segmentation.occurrences = (0..10_500).map(occurrence).collect();
    let runs: Vec<RunResult> = (0..12).map(|run| dense(run, 1000, 20)).collect();
    example::archive_of(json!({}), &network, &workload, &runs)
}

/// A run in which every phase loads every link, each otherwise.
fn dense(number: u32, links: u32, phases: u32) -> RunResult {
    let mut run = example::run(number, ["dmodk", "greedy", "ecmp"][number as usize % 3], "c1");
    run.labels.process_mapper = format!("mapper-{}", number / 3);
    run.snapshots.clear();
    let row = run.phases[0].clone();
    let table = &mut run.links;
    *table = Default::default();
    for phase in 0..phases {
        for link in 0..links {
            let bytes =
                1 + u64::from((link * 7919 + phase * 104_729 + number * 1_299_709) % 1_000_003) * 1000;
            table.job.push(Some(0));
            table.phase.push(Some(phase));
            table.link.push(LinkId(link));
            table.bytes.push(bytes);
            table.flows.push(1);
            table.load.push(bytes as f64 / 2.0);
        }
    }
    run.phases = (0..phases)
        .map(|phase| {
            let mut row = row.clone();
            let rows = (phase * links) as usize..((phase + 1) * links) as usize;
            let most = run.links.bytes[rows.clone()].iter().copied().max().unwrap();
            let at = run.links.bytes[rows].iter().position(|bytes| *bytes == most).unwrap();
            row.phase = phase.to_string();
            row.max_link_bytes = Some(most);
            row.max_link_load = Some(most as f64 / 2.0);
            row.max_utilization = Some(most as f64 / 2.0 * 8.0 / 10e9);
            row.bottleneck = Some(LinkId(at as u32));
            row
        })
        .collect();
    run.jobs[0].hosts = (0..400).map(NodeId).collect();
    run.jobs[0].ranks = run.jobs[0].hosts.clone();
    run
}

#[test]
fn a_thousand_links_twenty_phases_and_twelve_runs_fit_two_megabytes() {
    let page = page("thousand-links", &thousand_links());
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
    let (dom, complaints) = browsed(&page);
    assert_eq!(complaints, "");
    // Every phase of every run can be chosen.
    assert_eq!(dom.matches("data-run=").count(), 12);
    assert_eq!(dom.matches("data-phase=").count(), 20);
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
