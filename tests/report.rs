//! pf-report on results worked out by hand: tables to the letter, graphs as networkx reads them,
//! merging, bad input.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod example;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use phaseflow_simulate::result::{BlameRow, Cause, PathRow, StepKind};
use serde_json::json;

fn report(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    command.args(arguments).current_dir(directory).output().unwrap()
}

fn text(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

/// A directory with archives, name by name.
fn files(archives: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in archives {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn table(name: &str) -> String {
    let directory = files(&[("r.tar.gz", example::example())]);
    text(&report(directory.path(), &["r.tar.gz", "--table", name])).to_owned()
}

/// Peaks of dmodk: 4 × 1.25, 1 × 0.625, 2 × 2.5 GB/s and 9 × 0; of greedy: 8 × 1.25, 1 × 0.625 and
/// 7 × 0, whose variance is 0.364685058593750 in exact arithmetic.
#[test]
fn runs_to_the_letter() {
    let expected = "\
run,topology,scheduler,host_selector,process_mapper,router,model,transport,collective,phases,seed,makespan_s,max_congestion,\
mean_congestion,stddev_congestion,max_utilization,max_flows,jobs_finished,\
max_link_load,min_link_load,mean_link_load,variance_link_load,makespan_error
0,\"xgft[m=2:2,w=1:2]\",fcfs,linear,block,dmodk,traffic,ideal,recorded,segmented,1,5,250000000,0.30000000000000004,,2,2,1,\
2500000000,0,664062500,755310058593750000,
1,\"xgft[m=2:2,w=1:2]\",fcfs,linear,block,greedy,traffic,ideal,recorded,segmented,1,5,125000000,0.30000000000000004,,1,2,1,\
1250000000,0,664062500,364685058593749800,
";
    assert_eq!(table("runs"), expected);
}

#[test]
fn phases_to_the_letter() {
    let expected = "\
run,job,phase,occurrences,duration_s,makespan_s,bytes,max_link_bytes,max_link_load,max_utilization,mean_utilization,\
bottleneck_src,bottleneck_dst,drops,retransmits,min_link_load,mean_link_load,variance_link_load,\
simulated,compute_s,overhead_s,late_sender_s,late_receiver_s,network_s,path_ranks_s,path_network_s,unshared_s,unlimited_s,makespan_error,\
hops,losses,marks,pauses,checked_sums,wrong_sums,fallbacks,model,reason,duplicates,path_same_job_s,path_other_jobs_s,slowed_by,title,changed_routes
0,0,halo,25,2,,1250000000,1250000000,625000000,0.5,0.0625,h0,e0,,,0,78125000,,,,,,,,,,,,,,,,,,,,,,,,,,halo 1-D · 1 MB,
0,0,a/2a,25,2,,5000000000,5000000000,2500000000,2,0.5,e0,c0,,,0,625000000,,,,,,,,,,,,,,,,,,,,,,,,,,,
1,0,halo,25,2,,1250000000,1250000000,625000000,0.5,0.0625,h0,e0,,,0,78125000,,,,,,,,,,,,,,,,,,,,,,,,,,halo 1-D · 1 MB,
1,0,a/2a,25,2,,5000000000,2500000000,1250000000,1,0.5,h0,e0,,,0,625000000,,,,,,,,,,,,,,,,,,,,,,,,,,,
";
    assert_eq!(table("phases"), expected);
}

#[test]
fn links_jobs_series_and_statistics_to_the_letter() {
    let expected = "\
run,job,phase,src,dst,capacity,bytes,flows,load,utilization,link,\
packets,drops,losses,marks,queue_median,queue_p99,queue_max,pauses,paused_ps,duplicates,path_s
0,0,halo,h0,e0,10,1250000000,1,625000000,0.5,0,,,,,,,,,,,
0,0,halo,e0,h1,10,1250000000,1,625000000,0.5,3,,,,,,,,,,,
0,0,a/2a,h0,e0,10,2500000000,1,1250000000,1,0,,,,,,,,,,,
0,0,a/2a,h1,e0,10,2500000000,1,1250000000,1,2,,,,,,,,,,,
0,0,a/2a,e1,h2,10,2500000000,1,1250000000,1,5,,,,,,,,,,,
0,0,a/2a,e1,h3,10,2500000000,1,1250000000,1,7,,,,,,,,,,,
0,0,a/2a,e0,c0,10,5000000000,2,2500000000,2,8,,,,,,,,,,,
0,0,a/2a,c0,e1,10,5000000000,2,2500000000,2,13,,,,,,,,,,,
";
    assert!(table("links").starts_with(expected), "{}", table("links"));
    let expected = "\
run,job,submitted_s,started_s,finished_s,wait_s,run_s,response_s,hosts,workload,alone_s,slowdown,bounded_slowdown
0,0,0,0.5,5.5,0.5,5,5.5,h0 h1 h2 h3,app.tar.gz,,,1
1,0,0,0.5,5.5,0.5,5,5.5,h0 h1 h2 h3,app.tar.gz,,,1
";
    assert_eq!(table("jobs"), expected);
    assert!(table("series").starts_with("run,series,time_s,value\n0,max_congestion,0,0\n"));
    let expected = "run,series,max,min,mean,variance\n0,max_congestion,250000000,0,83333333.33333333,0.25\n";
    assert!(table("statistics").starts_with(expected), "{}", table("statistics"));
}

#[test]
fn path_and_blame_to_the_letter() {
    let mut run = example::run(0, "dmodk", "c0");
    let link = run.links.link[4];
    let step = |kind, start_s, rank, peer| PathRow {
        job: 0,
        phase: 1,
        kind,
        time_s: 0.25,
        rank,
        peer,
        start_s,
        bytes: peer.map(|_| 4096),
        link: peer.map(|_| link),
        shared_s: peer.map(|_| 0.125),
        by_job: peer.map(|_| 3),
        by_rank: peer.map(|_| 6),
        by_peer: peer.map(|_| 7),
    };
    run.path = vec![
        step(StepKind::Rank, Some(0.5), Some(2), None),
        step(StepKind::Message, Some(0.75), Some(2), Some(1)),
        step(StepKind::Rank, None, None, None),
    ];
    let row = |cause, by_job, link, path_s| BlameRow { job: 0, phase: 1, cause, by_job, link, path_s };
    run.blame = vec![
        row(Cause::Latency, None, None, 1e-6),
        row(Cause::Transfer, None, Some(link), 0.125),
        row(Cause::Sharing, Some(0), Some(link), 0.25),
        row(Cause::Sharing, Some(3), Some(link), 0.5),
    ];
    run.jobs[0].alone_s = Some(2.5);
    let directory = files(&[("r.tar.gz", example::archive(json!({}), &[run]))]);
    let table = |name| text(&report(directory.path(), &["r.tar.gz", "--table", name])).to_owned();
    let expected = "\
run,job,phase,step,kind,rank,peer,start_s,end_s,time_s,bytes,link_src,link_dst,link,shared_s,by_job,by_rank,by_peer
0,0,a/2a,1,rank,2,,0.5,0.75,0.25,,,,,,,,
0,0,a/2a,2,message,2,1,0.75,1,0.25,4096,e1,h2,5,0.125,3,6,7
0,0,a/2a,,rank,,,,,0.25,,,,,,,,
";
    assert_eq!(table("path"), expected);
    let expected = "\
run,job,phase,cause,by_job,link_src,link_dst,link,path_s
0,0,a/2a,latency,,,,,0.000001
0,0,a/2a,transfer,,e1,h2,5,0.125
0,0,a/2a,sharing,0,e1,h2,5,0.25
0,0,a/2a,sharing,3,e1,h2,5,0.5
";
    assert_eq!(table("blame"), expected);
    // Nothing is known of the other phase; of this one, the other links are not on the path.
    let ends: Vec<String> =
        table("links").lines().map(|row| row.rsplit_once(',').unwrap().1.to_owned()).collect();
    assert_eq!(ends[..6], ["path_s", "", "", "0", "0", "0.875"]);
    assert!(table("phases").lines().nth(2).unwrap().ends_with(",0.25,0.5,3,,"), "{}", table("phases"));
    assert!(table("jobs").ends_with(",2.5,2,1\n"), "{}", table("jobs"));
}

/// An unknown value is an empty cell: loads in bytes have no utilization, and a job that did not
/// end has no end.
#[test]
fn unknowns_are_empty_cells() {
    let mut run = example::run(0, "dmodk", "c0");
    run.statistics = Default::default();
    run.jobs[0].finished_s = None;
    run.phases.iter_mut().for_each(|phase| (phase.duration_s, phase.max_utilization) = (None, None));
    let directory = files(&[("r.tar.gz", example::archive(json!({}), &[run]))]);
    let table = |name| text(&report(directory.path(), &["r.tar.gz", "--table", name])).to_owned();
    assert!(table("runs").contains(",segmented,1,,,,,,,0,"), "{}", table("runs"));
    assert!(
        table("links").contains("0,0,halo,h0,e0,10,1250000000,1,625000000,,0,,,,,,,,,,,\n"),
        "{}",
        table("links")
    );
    assert!(table("jobs").contains("0,0,0,0.5,,0.5,,,h0 h1 h2 h3,"), "{}", table("jobs"));
}

#[test]
fn the_terminal_shows_the_hot_spots() {
    let directory = files(&[("r.tar.gz", example::example())]);
    // 5 GB over 5 s are 80 % of 10 Gbit/s; the traffic model takes the recorded time for granted.
    let expected = "\
Phase a/2a asks e0 → c0 for 200 % of its capacity under dmodk.
Averaged over the whole run, that link is used 80 %: the average hides a factor of 2.5.
Of 2 choices, greedy keeps the peak lowest: 100 %, 50 % less than dmodk (200 %).

run  choice  hottest phase  time  hottest link       load   used
  1  greedy  a/2a            5 s  h0 → e0       1.25 GB/s  100 %
  0  dmodk   a/2a            5 s  e0 → c0        2.5 GB/s  200 %

run  choice  phase                        hottest link       load   used
  0  dmodk   halo  halo 1-D · 1 MB  25 ×  h0 → e0        625 MB/s   50 %
  0  dmodk   a/2a                   25 ×  e0 → c0        2.5 GB/s  200 %
  1  greedy  halo  halo 1-D · 1 MB  25 ×  h0 → e0        625 MB/s   50 %
  1  greedy  a/2a                   25 ×  h0 → e0       1.25 GB/s  100 %
";
    assert_eq!(text(&report(directory.path(), &["r.tar.gz"])), expected);
    assert_eq!(text(&report(directory.path(), &["r.tar.gz", "-o", "out"])), expected);
    let expected = [
        "agreement.csv",
        "blame.csv",
        "fabric.gexf",
        "graphml",
        "index.html",
        "intervals.csv",
        "jobs.csv",
        "links.csv",
        "loads.csv",
        "path.csv",
        "phases.csv",
        "ranks.csv",
        "runs.csv",
        "series.csv",
        "statistics.csv",
    ];
    assert_eq!(names(&directory.path().join("out")), expected);
    let expected = [
        "0-a%2F2a.graphml",
        "0-halo.graphml",
        "0-snapshot-0.5.graphml",
        "1-a%2F2a.graphml",
        "1-halo.graphml",
        "1-snapshot-0.5.graphml",
    ];
    assert_eq!(names(&directory.path().join("out/graphml")), expected);
    for name in ["runs", "phases", "links", "jobs", "series", "statistics"] {
        let file = fs::read_to_string(directory.path().join("out").join(format!("{name}.csv"))).unwrap();
        assert_eq!(file, table(name), "{name}");
    }
}

#[test]
fn times_that_are_not_sure_and_models_that_disagree_say_so() {
    let directory = files(&[("r.tar.gz", example::archive(json!({}), &example::models()))]);
    // 96 % of 342 ms are 328 ms, more than the difference of 316 ms.
    // Times of different models are not ranked against each other.
    let expected = "\
Phase a/2a asks e0 → c0 for 200 % of its capacity under flow.
Averaged over the whole run, that link is used 80 %: the average hides a factor of 2.5.
Times are estimates from samples, off by 6.57 % at most (98 % confidence).

run  choice          hottest phase  speed-up  time  hottest link       load   used
  0  flow            a/2a                  1   5 s  e0 → c0        2.5 GB/s  200 %
  1  packet · ideal  a/2a                      5 s  h0 → e0       1.25 GB/s  100 %

run  choice          phase                                 time  hottest link       load   used
  0  flow            halo  halo 1-D · 1 MB  25 ×  342 ms ± 96 %  h0 → e0        625 MB/s   50 %
  0  flow            a/2a                   25 ×          80 ms  e0 → c0        2.5 GB/s  200 %
  1  packet · ideal  halo  halo 1-D · 1 MB  25 ×          26 ms  h0 → e0        625 MB/s   50 %
  1  packet · ideal  a/2a                   25 ×         120 ms  h0 → e0       1.25 GB/s  100 %
phase halo: 342 ms ± 96 % by flow (run 0), 26 ms by packet, ideal (run 1), 13.2 times apart. \
The stated error covers that: trust packet, ideal, or ask with --sampling off
";
    assert_eq!(text(&report(directory.path(), &["r.tar.gz"])), expected);
    // The run's error: 0.96 × 0.342 s of its 5 s.
    let errors = |name, column| -> Vec<String> {
        let all = rows(text(&report(directory.path(), &["r.tar.gz", "--table", name])));
        all.into_iter().map(|mut row| row.remove(column).unwrap()).collect()
    };
    assert_eq!(errors("runs", "makespan_error"), ["0.065664", ""]);
    let of_phases = errors("agreement", "reference_makespan_error");
    assert_eq!(of_phases.iter().filter(|error| !error.is_empty()).collect::<Vec<_>>(), ["0.96"]);
    // The graph of the phase has the error beside the time.
    text(&report(directory.path(), &["r.tar.gz", "-o", "out"]));
    let program = "
import sys, networkx
g = networkx.read_graphml(sys.argv[1]).graph
print(g['makespan_s'], g['makespan_error'])
";
    let graph = directory.path().join("out/graphml/0-halo.graphml");
    assert_eq!(python("networkx", program, &[&graph]), "0.342 0.96\n");
}

#[test]
fn shards_merge_whatever_their_order() {
    let configuration = json!({"routers": ["dmodk", "greedy"]});
    let [first, second] = example::runs();
    let directory = files(&[
        ("all.tar.gz", example::example()),
        ("1.tar.gz", example::archive(configuration.clone(), std::slice::from_ref(&first))),
        ("2.tar.gz", example::archive(configuration, &[first, second])),
    ]);
    for name in ["runs", "phases", "links", "jobs", "series", "statistics"] {
        let merged = report(directory.path(), &["2.tar.gz", "1.tar.gz", "--table", name]);
        assert_eq!(text(&merged), table(name), "{name}");
        assert_eq!(String::from_utf8_lossy(&merged.stderr), "");
    }
}

#[test]
fn a_run_told_in_two_ways_names_both_files() {
    let [first, mut other] = example::runs();
    other.labels.run = 0;
    let directory = files(&[
        ("a.tar.gz", example::archive(json!({}), &[first])),
        ("b.tar.gz", example::archive(json!({}), &[other])),
    ]);
    let output = report(directory.path(), &["a.tar.gz", "b.tar.gz", "-o", "out"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "pf-report: b.tar.gz: run 0 is not the run 0 of a.tar.gz\n"
    );
    assert!(!directory.path().join("out").exists());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "no draft is left");
}

#[test]
fn another_sweep_is_numbered_on() {
    let [_, greedy] = example::runs();
    let directory = files(&[
        ("a.tar.gz", example::example()),
        (
            "b.tar.gz",
            example::archive(json!({"routers": ["greedy"]}), &[example::run(0, "smodk", "c1"), greedy]),
        ),
    ]);
    let output = report(directory.path(), &["a.tar.gz", "b.tar.gz", "--table", "runs"]);
    let rows = rows(text(&output));
    let runs: Vec<_> = rows.iter().map(|row| (row["run"].as_str(), row["router"].as_str())).collect();
    assert_eq!(runs, [("0", "dmodk"), ("1", "greedy"), ("2", "smodk"), ("3", "greedy")]);
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "pf-report: b.tar.gz: not the configuration of a.tar.gz: its runs are numbered from 2\n"
    );
}

#[test]
fn a_truncated_archive_is_named_and_leaves_nothing() {
    let mut bytes = example::example();
    bytes.truncate(bytes.len() * 2 / 3);
    let directory = files(&[("cut.tar.gz", bytes)]);
    for arguments in [&["cut.tar.gz", "-o", "out"][..], &["cut.tar.gz", "--table", "runs", "-o", "out"]] {
        let output = report(directory.path(), arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.starts_with("pf-report: cut.tar.gz: "), "{errors}");
        assert!(errors.contains("truncated") && errors.lines().count() == 1, "{errors}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left");
    }
}

#[test]
fn an_unknown_table_offers_the_near_one() {
    let directory = files(&[("r.tar.gz", example::example())]);
    let output = report(directory.path(), &["r.tar.gz", "--table", "phase"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("phases"));
}

fn rows(csv_text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(csv_text.as_bytes()).deserialize().map(|row| row.unwrap()).collect()
}

/// Runs a Python program with the modules from tests/install. Returns its standard output.
fn python(modules: &str, program: &str, arguments: &[&Path]) -> String {
    let python = std::env::var("PHASEFLOW_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let there = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    let is_there = there.is_ok_and(|output| output.status.success());
    assert!(is_there, "{python} cannot import {modules}; tests/install installs it");
    let output = Command::new(&python).args(["-c", program]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `src,dst,capacity,bytes,flows,load,utilization` of the links with traffic in a phase, from
/// links.csv.
fn traffic(directory: &Path, run: &str, phase: &str) -> Vec<Vec<String>> {
    let links = rows(&fs::read_to_string(directory.join("out/links.csv")).unwrap());
    let links = links.iter().filter(|row| row["run"] == run && row["phase"] == phase);
    let columns = ["src", "dst", "capacity", "bytes", "flows", "load", "utilization"];
    let mut links: Vec<Vec<String>> =
        links.map(|row| columns.map(|name| row[name].clone()).to_vec()).collect();
    links.sort();
    links
}

fn numbers(line: &str) -> Vec<String> {
    let cell = |cell: &str| cell.parse::<f64>().map_or(cell.to_owned(), |value| value.to_string());
    line.split(',').map(cell).collect()
}

#[test]
fn networkx_and_igraph_read_the_graphs() {
    // A second cable between e0 and c0: parallel links stay apart.
    let mut network = example::network();
    network.links.push(network.links[8].clone());
    let mut runs = example::runs();
    // The example's snapshots are for 16 links.
    runs.iter_mut().for_each(|run| run.snapshots.clear());
    let archive = example::archive_of(json!({}), &network, &example::workload(), &runs);
    let directory = files(&[("r.tar.gz", archive)]);
    text(&report(directory.path(), &["r.tar.gz", "-o", "out"]));
    let graph = directory.path().join("out/graphml/1-a%2F2a.graphml");
    let networkx = "
import sys, networkx
g = networkx.read_graphml(sys.argv[1])
assert g.is_directed() and g.is_multigraph() and g.graph['phase'] == 'a/2a' and g.graph['load_unit'] == 'bytes/s', g.graph
assert g.graph['model'] == 'traffic' and g.graph['router'] == 'greedy' and g.graph['process_mapper'] == 'block', g.graph
assert g.number_of_nodes() == 8 and g.number_of_edges() == 17 and g.number_of_edges('e0', 'c0') == 2
assert g.nodes['h1'] == {'typ': 'host', 'capacity': 1, 'mac': '02:00:00:00:00:01', 'ranks': '1'}, g.nodes['h1']
assert g.nodes['c0'] == {'typ': 'switch', 'dpid': 7}, g.nodes['c0']
for u, v, d in g.edges(data=True):
    assert set(d) == {'capacity', 'latency_ps', 'port', 'bytes', 'load', 'utilization', 'flows'}, d
    if d['bytes']:
        print(u, v, d['capacity'], d['bytes'], d['flows'], d['load'], d['utilization'], sep=',')
";
    let igraph = "
import sys, igraph
g = igraph.Graph.Read_GraphML(sys.argv[1])
assert g.is_directed() and g.vcount() == 8 and g.ecount() == 17
for e in g.es:
    if e['bytes']:
        print(g.vs[e.source]['id'], g.vs[e.target]['id'], e['capacity'], e['bytes'], e['flows'], e['load'], e['utilization'], sep=',')
";
    for (module, program) in [("networkx", networkx), ("igraph", igraph)] {
        let read = python(module, program, &[&graph]);
        let mut read: Vec<_> = read.lines().map(numbers).collect();
        read.sort();
        let expected = traffic(directory.path(), "1", "a/2a");
        assert_eq!(expected.len(), 8);
        assert_eq!(read, expected, "{module}");
    }
}

/// Numbers that no simulation gives make an odd report, but no failure, whoever wrote the archive.
#[test]
fn absurd_numbers_are_no_reason_to_fail() {
    let mut network = example::network();
    network.links[0].capacity = 0.0;
    network.links[1].capacity = -1.0;
    network.links[2].capacity = 1e-308;
    let mut workload = example::workload();
    workload.segmentation.header.ranks = u32::MAX;
    workload.segmentation.occurrences[0].end_ns = u64::MAX;
    let mut run = example::run(u32::MAX - 2, "dmodk", "c0");
    run.links.load[0] = f64::NAN;
    run.links.load[1] = f64::INFINITY;
    run.links.load[2] = -f64::MAX;
    run.links.bytes[3] = u64::MAX;
    run.links.link[5] = run.links.link[4];
    run.phases[0].max_link_load = Some(-f64::MAX);
    run.phases[1].duration_s = Some(0.0);
    run.series[0].value[3] = f64::NAN;
    run.series[0].time_s[4] = f64::INFINITY;
    run.series[0].time_s[5] = -f64::INFINITY;
    run.snapshots[0].load[0] = f64::NAN;
    run.jobs[0].started_s = Some(f64::MAX);
    run.jobs.push(run.jobs[0].clone());
    let directory = files(&[("r.tar.gz", example::archive_of(json!({}), &network, &workload, &[run]))]);
    text(&report(directory.path(), &["r.tar.gz", "-o", "out"]));
    let again = text(&report(directory.path(), &["r.tar.gz", "--table", "links"])).to_owned();
    assert!(again.starts_with("run,") && !again.contains("NaN") && !again.contains("inf"), "{again}");
}

/// docs/formats.md is enough to read a result archive in another language.
#[test]
fn a_reader_in_python_finds_the_same_links() {
    let directory = files(&[("r.tar.gz", example::example())]);
    let program =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_archives.py")).unwrap();
    let arguments = [Path::new("results"), &directory.path().join("r.tar.gz")];
    let read = python("tarfile", &program, &arguments);
    let mut lines = read.lines();
    assert_eq!(lines.next(), Some("run,src,dst,bytes,flows,load"));
    let links = table("links");
    let columns = ["run", "src", "dst", "bytes", "flows", "load"];
    let expected =
        rows(&links).iter().map(|row| columns.map(|name| row[name].clone()).to_vec()).collect::<Vec<_>>();
    assert_eq!(lines.map(numbers).collect::<Vec<_>>(), expected);
}

#[test]
fn the_dynamic_graph_has_a_spell_per_occurrence() {
    let directory = files(&[("r.tar.gz", example::example())]);
    text(&report(directory.path(), &["r.tar.gz", "-o", "out"]));
    let program = "
import sys, xml.etree.ElementTree as tree
name = {'g': 'http://gexf.net/1.3'}
g = tree.parse(sys.argv[1]).getroot().find('g:graph', name)
assert g.get('mode') == 'dynamic' and g.get('timerepresentation') == 'interval'
edge = next(e for e in g.iter('{http://gexf.net/1.3}edge') if e.get('label') == 'e0 → c0')
spells = [v for v in edge.iter('{http://gexf.net/1.3}attvalue') if v.get('for') == 'load']
print(len(spells), spells[1].get('value'), spells[1].get('start'), spells[1].get('end'))
";
    let read = python("xml", program, &[&directory.path().join("out/fabric.gexf")]);
    // The job starts at 0.5 s; in its second round of 0.2 s, the phase begins at 0.12 s.
    let [spells, load, start, end] = read.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{read}")
    };
    assert_eq!((spells, load), ("25", "2500000000"));
    let near = |text: &str, value: f64| (text.parse::<f64>().unwrap() - value).abs() < 1e-9;
    assert!(near(start, 0.82) && near(end, 0.9), "{read}");
}
