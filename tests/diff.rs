//! `pf-report --diff` on results worked out by hand (tests/example).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod example;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use phaseflow_simulate::result::{Network, RunResult};
use phaseflow_simulate::workload::Workload;
use serde_json::json;

fn diff(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    command.arg("--diff").args(arguments).current_dir(directory).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A directory with the results `a` and `b`.
fn results(a: Vec<u8>, b: Vec<u8>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a"), a).unwrap();
    fs::write(directory.path().join("b"), b).unwrap();
    directory
}

fn of(network: &Network, workload: &Workload, runs: &[RunResult]) -> Vec<u8> {
    example::archive_of(json!({}), network, workload, runs)
}

fn routers() -> tempfile::TempDir {
    let [dmodk, greedy] = example::runs();
    results(example::archive(json!({}), &[dmodk]), example::archive(json!({}), &[greedy]))
}

#[test]
fn what_another_router_changes_to_the_letter() {
    let directory = routers();
    let output = diff(directory.path(), &["a", "b", "-o", "out"]);
    // Greedy routing moves h1 → h3 from c0 to c1; the halo stays as it is.
    let expected = "\
dmodk → greedy: 5 s → 5 s (±0); peak 200 % → 100 % (−50 %).

runs   phase   peak         on
0 → 1  a/2a   200 %  100 %  e0 → c0, now h0 → e0
";
    assert_eq!(text(&output), expected);
    assert_eq!(
        said(&output),
        "pf-report: no run chose the same in both results: they are compared in order\n"
    );
    let expected = "\
run,other_run,job,phase,title,src,dst,makespan_s,other_makespan_s,makespan_ratio,bytes,other_bytes,bytes_ratio,utilization,other_utilization,utilization_ratio
0,1,,,,,,5,5,1,,,,2,1,0.5
0,1,0,halo,halo 1-D · 1 MB,,,,,,1250000000,1250000000,1,0.5,0.5,1
0,1,0,a/2a,,,,,,,5000000000,2500000000,0.5,2,1,0.5
0,1,0,a/2a,,e0,c0,,,,5000000000,2500000000,0.5,2,1,0.5
0,1,0,a/2a,,e0,c1,,,,0,2500000000,,0,1,
0,1,0,a/2a,,c0,e1,,,,5000000000,2500000000,0.5,2,1,0.5
0,1,0,a/2a,,c1,e1,,,,0,2500000000,,0,1,
";
    assert_eq!(fs::read_to_string(directory.path().join("out/diff.csv")).unwrap(), expected);
    let page = fs::read_to_string(directory.path().join("out/index.html")).unwrap();
    assert!(page.contains("<li>dmodk → greedy: 5 s → 5 s (±0); peak 200 % → 100 % (−50 %).</li>"), "{page}");
}

/// networkx reads each link with what it carried and carries.
#[test]
fn graphs_have_both_sides() {
    let directory = routers();
    text(&diff(directory.path(), &["a", "b", "-o", "out"]));
    let program = "
import sys, networkx
graph = networkx.read_graphml(sys.argv[1])
print(graph.graph['phase'], graph.graph['run'], graph.graph['other_run'])
for src, dst in (('e0', 'c0'), ('e0', 'c1'), ('h0', 'e0')):
    link = graph.edges[src, dst]
    print(link['bytes'], link['other_bytes'], link['utilization'], link['other_utilization'], link['change'])
";
    let python = std::env::var_os("PHASEFLOW_TEST_PYTHON").expect("tests/run sets PHASEFLOW_TEST_PYTHON");
    let graph = directory.path().join("out/graphml/0-a%2F2a.graphml");
    let output = Command::new(python).args(["-c", program]).arg(graph).output().unwrap();
    let expected = "a/2a 0 1\n5000000000 2500000000 2.0 1.0 -1.0\n0 2500000000 0.0 1.0 1.0\n2500000000 2500000000 1.0 1.0 0.0\n";
    assert_eq!(text(&output), expected);
}

/// Runs that chose the same are compared, wherever they stand; the others are counted.
#[test]
fn runs_are_paired_by_what_they_chose() {
    let [dmodk, mut greedy] = example::runs();
    greedy.labels.run = 0;
    let both = example::archive(json!({}), &example::runs());
    let directory = results(both, example::archive(json!({}), &[greedy]));
    let output = diff(directory.path(), &["a", "b"]);
    assert_eq!(text(&output), "greedy: 5 s → 5 s (±0); peak 100 % → 100 % (±0).\nNo phase changed.\n");
    assert_eq!(said(&output), "pf-report: 1 of 2 runs of the first result have no like\n");
    let directory = results(example::example(), example::archive(json!({}), &[dmodk]));
    let output = diff(directory.path(), &["b", "a"]);
    assert_eq!(said(&output), "pf-report: 1 of 2 runs of the second result have no like\n");
}

/// Links are the same by the names of their ends. Where a link is not there, nothing is said of it:
/// unknown is empty, not 0.
#[test]
fn networks_may_differ() {
    let [dmodk, mut greedy] = example::runs();
    let mut other = example::network();
    other.nodes[7].name = "c9".into();
    greedy.labels.topology = "other".into();
    let load = example::workload();
    let directory = results(of(&example::network(), &load, &[dmodk]), of(&other, &load, &[greedy]));
    text(&diff(directory.path(), &["a", "b", "-o", "out"]));
    let table = fs::read_to_string(directory.path().join("out/diff.csv")).unwrap();
    assert!(table.contains("0,1,0,a/2a,,e0,c0,,,,5000000000,2500000000,0.5,2,1,0.5\n"), "{table}");
    assert!(table.contains("0,1,0,a/2a,,e0,c9,,,,,2500000000,,,1,\n"), "{table}");
}

#[test]
fn hostile_names_are_shown_and_never_run() {
    let [dmodk, greedy] = example::runs();
    let mut load = example::workload();
    load.segmentation.phases[1].title = "<script>alert(1)</script>\u{1b}[2J".into();
    let network = example::network();
    let directory = results(of(&network, &load, &[dmodk]), of(&network, &load, &[greedy]));
    let output = diff(directory.path(), &["a", "b", "-o", "out"]);
    assert!(!text(&output).contains('\u{1b}'));
    let page = fs::read_to_string(directory.path().join("out/index.html")).unwrap();
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let directory = routers();
    let output = diff(directory.path(), &["a", "lost"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("lost: No such file"), "{}", said(&output));
    let output = diff(directory.path(), &["a", "b", "--table", "runs"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
