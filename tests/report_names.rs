//! Names that would be markup, commands or line ends elsewhere: a report says them as they are, in
//! every format, and GEXF is as its schema asks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod example;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

/// Markup, quotes, line ends, a formula, right-to-left, beyond the basic plane.
const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"quoted\" 'single' & ]]> &amp;",
    "two\nlines\r\nand\ta tab",
    "=cmd|' /C calc'!A0",
    "\u{202e}right-to-left\u{202c} \u{5d0}\u{5d1}",
    "\u{1f642} \u{1d54f}, comma; semicolon",
    "</svg><svg onload=alert(2)>",
    "../../etc/passwd%00",
];

/// Writes the report of the example with hostile names of nodes, phases and workload.
fn report(directory: &Path) {
    let mut network = example::network();
    for (node, name) in network.nodes.iter_mut().zip(HOSTILE) {
        node.name = name.into();
    }
    let mut workload = example::workload();
    workload.name = HOSTILE[0].into();
    let mut runs = example::runs();
    for (at, name) in [(0, HOSTILE[2]), (1, HOSTILE[1])] {
        workload.segmentation.phases[at].name = name.into();
        runs.iter_mut().for_each(|run| run.phases[at].phase = name.into());
    }
    runs.iter_mut().for_each(|run| run.labels.router = format!("{}{}", run.labels.router, HOSTILE[6]));
    let archive = example::archive_of(json!({}), &network, &workload, &runs);
    fs::write(directory.join("r.tar.gz"), archive).unwrap();
    fs::write(directory.join("names.json"), json!(HOSTILE).to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_pf-report"))
        .args(["r.tar.gz", "-o", "out"])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A terminal is not commanded either.
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
}

/// Runs a Python program in the directory; what it prints.
fn python(program: &str, directory: &Path, arguments: &[&Path]) -> String {
    let interpreter = std::env::var("PHASEFLOW_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(interpreter);
    let output = command.arg("-c").arg(program).args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hostile_names_come_back_from_every_format() {
    let directory = tempfile::tempdir().unwrap();
    report(directory.path());
    let program = r#"
import csv, glob, json, networkx, igraph
names = json.load(open("names.json"))
with open("out/links.csv", newline="", encoding="utf-8") as file:
    links = list(csv.DictReader(file))
ends = {(row["src"], row["dst"]) for row in links}
assert {end for pair in ends for end in pair} <= set(names) and len(ends) == 9, ends
assert {row["phase"] for row in links} == {names[2], names[1]}
hot = max(links, key=lambda row: float(row["utilization"]))
for path in glob.glob("out/graphml/0-[!s]*.graphml"):
    graph = networkx.read_graphml(path)
    assert set(graph.nodes) == set(names), set(graph.nodes) ^ set(names)
    assert graph.graph["phase"] in names, graph.graph
    # igraph leaves an ampersand in attributes as the reference that its parser hands on.
    ids = [name.replace("&#38;", "&") for name in igraph.Graph.Read_GraphML(path).vs["id"]]
    assert set(ids) == set(names), set(ids) ^ set(names)
graph = networkx.read_gexf("out/fabric.gexf", version="1.3")
assert [d["label"] for _, d in graph.nodes(data=True)] == names, [d["label"] for _, d in graph.nodes(data=True)]
print(len(graph.edges))
"#;
    assert_eq!(python(program, directory.path(), &[]), "16\n");
}

#[test]
fn hostile_names_are_shown_and_never_run() {
    let directory = tempfile::tempdir().unwrap();
    report(directory.path());
    let html = fs::read_to_string(directory.path().join("out/index.html")).unwrap();
    for markup in ["<script>alert", "onload=alert(2)>", "</svg><svg onload"] {
        assert!(!html.contains(markup), "{markup}");
    }
    for shown in
        ["&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;/svg&gt;&lt;svg onload=alert(2)&gt;", "\u{1f642}"]
    {
        assert!(html.contains(shown), "{shown}");
    }
}

/// `tests/data/gexf-subset.xsd` asks for more than the schema of GEXF 1.3.
#[test]
fn gexf_is_as_its_schema_asks() {
    let directory = tempfile::tempdir().unwrap();
    report(directory.path());
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gexf-subset.xsd");
    let program = r#"
import sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[1]))
document = etree.parse("out/fabric.gexf")
schema.assertValid(document)
# A schema that takes anything would say so too.
next(document.iter("{*}edge")).set("target", "99")
print(schema.validate(document), len(document.findall(".//{*}edge")))
"#;
    assert_eq!(python(program, directory.path(), &[&schema]), "False 16\n");
}

/// Every link of the network, its type and its values in time are what the tables say.
#[test]
fn networkx_reads_every_value_of_the_dynamic_graph() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("r.tar.gz"), example::example()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_pf-report"))
        .args(["r.tar.gz", "-o", "out"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(output.status.success());
    let program = r#"
import csv, networkx
graph = networkx.read_gexf("out/fabric.gexf", version="1.3")
name = {n: d["label"] for n, d in graph.nodes(data=True)}
kinds = {d["label"]: d["typ"] for _, d in graph.nodes(data=True)}
assert kinds == {n: "host" if n[0] == "h" else "switch" for n in kinds} and len(kinds) == 8
links = [row for row in csv.DictReader(open("out/links.csv")) if row["run"] == "0"]
values = {}
for row in links:
    values.setdefault((row["src"], row["dst"]), set()).add((float(row["load"]), float(row["utilization"])))
assert graph.is_directed() and graph.number_of_edges() == 16
spells = 0
for u, v, d in graph.edges(data=True):
    assert d["capacity"] == 10.0 and d["label"] == f"{name[u]} → {name[v]}", d
    # Times start from the job's start, 0.5 s; 25 rounds of two phases.
    load = [(value, start, end) for value, start, end in d.get("load", [])]
    used = [value for value, _, _ in d.get("utilization", [])]
    assert set(zip((value for value, _, _ in load), used)) == values.get((name[u], name[v]), set()), d
    assert all(0.5 <= start < end <= 5.5 for _, start, end in load), load
    spells += len(load)
print(spells, 25 * len(links))
"#;
    let read = python(program, directory.path(), &[]);
    let (found, expected) = read.trim().split_once(' ').unwrap();
    assert_eq!(found, expected);
}
