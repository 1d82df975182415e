//! pf-simulate as a user calls it: a closed form, the order of runs, the same bytes for every kind
//! of input, and messages about bad input.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "a test that cannot go on says so and fails"
)]

mod stages;

use std::path::Path;

use stages::{Row, collect, number, output, run, segment, simulate, table};
use tempfile::TempDir;

/// Bytes of a message of the two-phase trace, rounds of each phase, and nanoseconds of one step of
/// a round. A byte takes 1 ns to leave, and a message 1000 ns more to arrive.
const BYTES: f64 = 65536.0;
const ROUNDS: f64 = 20.0;
const STEP_S: f64 = (BYTES + 1000.0) / 1e9;

/// A run of a 4 × 4 halo exchange with open edges (20 rounds of 4 steps), then of an all-to-all of
/// 16 ranks (20 rounds of 15 steps). It is segmented at the marks that the generator sets.
fn two_phases() -> Vec<u8> {
    let trace =
        collect(&["--pattern", "halo2d,alltoall", "--ranks", "16", "--bytes", "64KiB", "--repeat", "20"]);
    segment(&["--method", "marks"], &trace)
}

/// The network: `xgft[m=4:4,w=1:2]`, 4 edge switches with 4 hosts each, 2 core switches, all links
/// alike. Rank r is on host r, so a row of the grid hangs on one edge switch. D-mod-K sends what is
/// for host d over core d mod 2.
///
/// Halo, per round, B bytes a message:
/// - a host sends to its 2, 3 or 4 neighbours: 4 B at most, on the links of inner hosts, for
///   example host 5;
/// - only the exchange along columns leaves an edge switch. An inner row sends a message per column
///   up and one down: 8, of which 4 have an even column and thus an even destination. So its links
///   to and from each core carry 4 B, an outer row's 2 B. The maximum is 4 B.
///
/// All-to-all, per round:
/// - a host sends 15 B and receives 15 B;
/// - an edge switch sends from each of its 4 hosts to each of the 12 others, 6 of which are even:
///   24 B to each core, and 24 B from it. The maximum is 24 B, on links between switches.
///
/// A phase's load is its bytes over its duration; the averaged view puts 4 B + 24 B on the links of
/// inner edge switches and divides by the time of both phases.
#[test]
fn a_two_phase_trace_has_the_hot_spots_of_the_closed_form() {
    let arguments = ["--topology", "xgft[m=4:4,w=1:2]", "--phases", "segmented,merged"];
    let results = output(simulate(&arguments), &two_phases());
    let rows = table("phases", &results);
    let [halo, alltoall, merged] = &rows[..] else { panic!("{rows:?}") };
    let expect = |row: &Row, run: &str, link_messages: f64, steps: f64| {
        assert_eq!(row["run"], run);
        let duration = ROUNDS * steps * STEP_S;
        let bytes = link_messages * ROUNDS * BYTES;
        let load = bytes / duration;
        for (column, expected) in [
            ("duration_s", duration),
            ("max_link_bytes", bytes),
            ("max_link_load", load),
            // 10 Gbit/s.
            ("max_utilization", load * 8.0 / 10e9),
        ] {
            let found = number(row, column);
            assert!((found - expected).abs() <= 1e-9 * expected, "{column} is {found}, expected {expected}");
        }
    };
    expect(halo, "0", 4.0, 4.0);
    expect(alltoall, "0", 24.0, 15.0);
    expect(merged, "1", 28.0, 19.0);
    assert!(number(merged, "max_link_load") < number(alltoall, "max_link_load"));
    // The links table agrees on the link that the phases table names.
    let links = table("links", &results);
    for row in [halo, alltoall, merged] {
        let same = |link: &&Row| {
            ["run", "job", "phase"].iter().all(|column| link[*column] == row[*column])
                && (&link["src"], &link["dst"]) == (&row["bottleneck_src"], &row["bottleneck_dst"])
        };
        let link = links.iter().find(same).unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!(link["bytes"], row["max_link_bytes"]);
        assert!((number(link, "load") - number(row, "max_link_load")).abs() <= 1e-6);
    }
    // The 16 links between edge and core switches carry the all-to-all evenly.
    let core = links.iter().filter(|link| link["phase"] == alltoall["phase"] && link["run"] == "0");
    assert_eq!(core.filter(|link| number(link, "bytes") > 20.0 * ROUNDS * BYTES).count(), 16);
}

#[test]
fn the_same_bytes_from_files_pipes_threads_and_runs() {
    let folder = TempDir::new().unwrap();
    let phases = two_phases();
    let file = folder.path().join("phases.tar");
    std::fs::write(&file, &phases).unwrap();
    let axes = [
        "--topology",
        "xgft[m=4:4,w=1:2],star[hosts=16]",
        "--router",
        "dmodk,random,greedy",
        "--phases",
        "segmented,merged",
    ];
    let piped = output(simulate(&axes), &phases);
    for threads in ["1", "2", "7"] {
        let results = folder.path().join("results.tar");
        let rest = [file.to_str().unwrap(), "-o", results.to_str().unwrap(), "--threads", threads];
        output(simulate(&[&axes[..], &rest].concat()), b"");
        assert!(std::fs::read(&results).unwrap() == piped, "{threads} threads");
    }
    // A trace that is no archive of ours is one phase, wherever it is read from.
    let csv = folder.path().join("run.csv");
    std::fs::write(&csv, "t_ns,src,dst,bytes,tag,op\n0,0,1,100,0,\n30,1,0,50,0,\n").unwrap();
    let star = ["--topology", "star[hosts=2]"];
    let from_file = output(simulate(&[&star[..], &[csv.to_str().unwrap()]].concat()), b"");
    assert!(from_file == output(simulate(&star), &std::fs::read(&csv).unwrap()));
}

#[test]
fn shards_together_are_the_whole() {
    let phases = two_phases();
    let axes = [
        "--topology",
        "xgft[m=4:4,w=1:2]",
        "--router",
        "dmodk,smodk,ecmp,greedy,greedy-max",
        "--process-mapper",
        "block,cyclic",
    ];
    let whole = table("runs", &output(simulate(&axes), &phases));
    assert_eq!(whole.len(), 10);
    let mut union: Vec<Row> = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let results = output(simulate(&[&axes[..], &["--shard", shard]].concat()), &phases);
        union.extend(table("runs", &results));
    }
    union.sort_by_key(|row| row["run"].parse::<u32>().unwrap());
    assert_eq!(union, whole);
    // The list names the same points; two of them keep their numbers when run alone.
    let list = String::from_utf8(output(simulate(&[&axes[..], &["--list"]].concat()), &phases)).unwrap();
    let points: Vec<serde_json::Value> =
        list.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let labels = |point: &serde_json::Value| {
        ["process_mapper", "router"].map(|axis| point[axis].as_str().unwrap().to_string())
    };
    assert!(points.iter().zip(&whole).all(|(point, row)| {
        point["run"].as_u64() == row["run"].parse().ok()
            && labels(point) == [row["process_mapper"].clone(), row["router"].clone()]
    }));
    let only = format!("{},{}", points[7]["id"].as_str().unwrap(), points[2]["id"].as_str().unwrap());
    let results = output(simulate(&[&axes[..], &["--only", &only]].concat()), &phases);
    assert_eq!(table("runs", &results), [whole[2].clone(), whole[7].clone()]);
}

#[test]
fn a_dry_run_counts_what_a_run_would_do() {
    let arguments = ["--topology", "xgft[m=4:4,w=1:2]", "--router", "dmodk,greedy", "--dry-run"];
    let text = String::from_utf8(output(simulate(&arguments), &two_phases())).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(names, ["points", "jobs", "events", "rows", "memory_bytes", "hops"]);
    assert!(text.starts_with("points: 2\njobs: 2\n") && text.ends_with("\nhops: 0\n"), "{text}");
}

/// Each of 8 ranks sends 7 messages of 10 000 bytes over two links, in packets of 4096 bytes.
#[test]
fn a_dry_run_counts_packets() {
    let trace = collect(&["--pattern", "alltoall", "--ranks", "8", "--bytes", "10000"]);
    let arguments = ["--topology", "star[hosts=8]", "--model", "packet", "--sampling", "off"];
    let dry = output(simulate(&[&arguments[..], &["--dry-run"]].concat()), &trace);
    assert!(String::from_utf8(dry).unwrap().ends_with("\nhops: 336\n"));
    let links = table("links", &output(simulate(&arguments), &trace));
    assert_eq!(links.iter().map(|row| number(row, "packets")).sum::<f64>(), 336.0);
}

#[test]
fn forwarding_tables_and_snapshots_where_asked_for() {
    let folder = TempDir::new().unwrap();
    let tables = folder.path().join("tables");
    let arguments = [
        "--topology",
        "xgft[m=4:4,w=1:2]",
        "--reroute",
        "phase",
        "--snapshot",
        "1ms,10ms",
        "--forwarding-tables",
    ];
    output(simulate(&[&arguments[..], &[tables.to_str().unwrap()]].concat()), &two_phases());
    let mut names: Vec<_> = std::fs::read_dir(&tables)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["0-0.yml", "0-1.yml"]);
    assert!(std::fs::read_to_string(tables.join("0-1.yml")).unwrap().contains("fdb:"));
}

/// The tables of one run route the next one; they lie beside the scenario.
#[test]
fn forwarding_tables_lead_the_same_ways_again() {
    let folder = TempDir::new().unwrap();
    let tree = ["--topology", "fat-tree[k=4]", "--phases", "merged", "--router"];
    let tables = ["smodk", "--forwarding-tables", folder.path().to_str().unwrap()];
    let first = output(simulate(&[&tree[..], &tables].concat()), &two_phases());
    let written = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let name = written.file_name().unwrap().to_str().unwrap();
    let scenario = folder.path().join("scenario.yml");
    let text = format!("topology: 'fat-tree[k=4]'\nphases: merged\nrouter: 'table:{name}'\n");
    std::fs::write(&scenario, text).unwrap();
    let again = output(simulate(&["--scenario", scenario.to_str().unwrap()]), &two_phases());
    assert_eq!(table("links", &first), table("links", &again));
    let runs = table("runs", &again);
    assert_eq!(runs[0]["router"], format!("table:{name}"));
    // Other tables under the same name are another point.
    let id = || {
        let list = output(simulate(&["--scenario", scenario.to_str().unwrap(), "--list"]), &two_phases());
        serde_json::from_slice::<serde_json::Value>(&list).unwrap()["id"].to_string()
    };
    let before = id();
    std::fs::write(&written, "s1.0: {fdb: {}}\n").unwrap();
    assert_ne!(id(), before);
    let error = run(simulate(&["--scenario", scenario.to_str().unwrap()]), &two_phases());
    let error = String::from_utf8(error.stderr).unwrap();
    assert!(error.contains(&format!("{name}: from `h")) && error.contains("has no entry for it"), "{error}");
}

#[test]
fn routes_are_checked_without_a_run() {
    let arguments = ["--topology", "fat-tree[k=4],torus[dims=5]", "--router", "dmodk,greedy", "--check"];
    let lines = String::from_utf8(output(simulate(&arguments), b"")).unwrap();
    let checks: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys = |check: &serde_json::Value| format!("{} {}", check["topology"], check["router"]);
    assert_eq!(
        checks.iter().map(keys).collect::<Vec<_>>(),
        [
            "\"fat-tree[k=4]\" \"dmodk\"",
            "\"fat-tree[k=4]\" \"greedy\"",
            "\"torus[dims=5]\" \"dmodk\"",
            "\"torus[dims=5]\" \"greedy\""
        ]
    );
    assert_eq!((&checks[0]["pairs"], &checks[0]["longest"]), (&240.into(), &6.into()));
    assert!(checks[0]["circle"].is_null());
    assert!(checks[2]["circle"].as_str().unwrap().contains(" → "));
    // A network that pauses is warned of.
    let ring = ["--topology", "torus[dims=16]", "--model", "packet", "--pause", "64KiB"];
    let done = run(simulate(&ring), &two_phases());
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(told.contains("torus[dims=16]: with router dmodk and --pause, links can wait"), "{told}");
}

#[test]
fn failures_take_links_out() {
    let tree = ["--topology", "xgft[m=4:4,w=1:2]", "--fail"];
    let results = output(simulate(&[&tree[..], &["s1.1<>s2.0"]].concat()), &two_phases());
    let runs = table("runs", &results);
    assert_eq!(runs[0]["topology"], "xgft[m=4:4,w=1:2] without s1.1<>s2.0");
    // All that the hosts of the leaf exchange with the 12 others goes over the other spine.
    let links = table("links", &results);
    let whole = |src: &str, dst: &str| -> f64 {
        let of = |row: &&Row| row["phase"] == "1" && row["src"] == src && row["dst"] == dst;
        links.iter().filter(of).map(|row| number(row, "bytes")).sum()
    };
    assert!((whole("s1.1", "s2.1") - 48.0 * ROUNDS * BYTES).abs() < 1.0);
    assert!(whole("s1.1", "s2.0").abs() < 1e-9);
    for (late, expected) in [
        (&["--model", "packet"][..], "transport `ideal` cannot recover the packets"),
        (&["--model", "flow", "--interference"], "leave it out"),
        (
            &["--model", "packet", "--transport", "dctcp", "--collective", "switchml"],
            "sums in the network keep their switches",
        ),
    ] {
        let done = run(simulate(&[&tree[..], &["s2.0@1ms"], late].concat()), &two_phases());
        let told = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success(), "{told}");
        assert!(told.contains("links fail at 0.001 s: ") && told.contains(expected), "{told}");
    }
    let cut = run(simulate(&[&tree[..], &["s2.0,s2.1"]].concat()), &two_phases());
    let told = String::from_utf8(cut.stderr).unwrap();
    assert!(told.contains("host `h4` cannot reach host `h0`: there is no path"), "{told}");
    let changed = output(simulate(&[&tree[..], &["s2.0@1ms"]].concat()), &two_phases());
    let phases = table("phases", &changed);
    assert!(number(&phases[0], "changed_routes") > 0.0);
}

/// The archive of a recording has samples for jobs alone in the network; a stage in which links
/// fail is replayed by itself, from the messages of its phase.
#[test]
fn a_recorded_job_ends_though_links_fail_in_it() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/quickstart.trace.tar.gz");
    let phases = segment(&[], &std::fs::read(recording).unwrap());
    let tree = ["--topology", "fat-tree[k=4,capacity=1]"];
    let end = |failure: &[&str], model: &[&str]| {
        let results = output(simulate(&[&tree[..], failure, model].concat()), &phases);
        number(&table("jobs", &results)[0], "finished_s")
    };
    for model in [&["--model", "flow"][..], &["--model", "packet", "--transport", "dctcp"]] {
        let (whole, without) = (end(&[], model), end(&["--fail", "s2.7"], model));
        for time in ["1ms", "10ms", "100ms", "300ms", "700ms"] {
            let failed = end(&["--fail", &format!("s2.7@{time}")], model);
            // Stages that are replayed by themselves are not those of the samples to the last
            // digit.
            let (least, most) = (whole.min(without) * 0.9, whole.max(without) * 1.1);
            assert!((least..most).contains(&failed), "{model:?}, {time}: {failed}, {whole}, {without}");
        }
        // After its end, nothing has failed.
        assert_eq!(end(&["--fail", "s2.7@20s"], model), whole);
    }
}

/// A program of the user's, named relative to the scenario, on a network with only one path.
#[test]
fn a_scenarios_own_router_lies_beside_it() {
    let folder = TempDir::new().unwrap();
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/plugins/router.py");
    std::fs::copy(plugin, folder.path().join("router.py")).unwrap();
    let scenario = folder.path().join("scenario.yml");
    let text = "topology: star[hosts=16]\nrouter: [dmodk, {exec: [python3, router.py]}]\njobs: [{at: 0}, {at: 1s, duration: 2}]\n";
    std::fs::write(&scenario, text).unwrap();
    let results =
        output(simulate(&["--scenario", scenario.to_str().unwrap(), "--slots", "2"]), &two_phases());
    let runs = table("runs", &results);
    let routers: Vec<&str> = runs.iter().map(|row| row["router"].as_str()).collect();
    assert_eq!(routers, ["dmodk", "exec:python3 router.py"]);
    let mut phases = table("phases", &results);
    // Two jobs of two phases in each run.
    assert_eq!(phases.len(), 8);
    phases.iter_mut().for_each(|row| drop(row.remove("run")));
    assert_eq!(phases[..4], phases[4..]);
    let jobs = table("jobs", &results);
    let times: Vec<[&str; 3]> = jobs[..2]
        .iter()
        .map(|row| ["submitted_s", "started_s", "finished_s"].map(|column| row[column].as_str()))
        .collect();
    assert_eq!(times, [["0", "0", "0.02528368"], ["1", "1", "3"]]);
}

/// Runs a command that has to fail with `code` in an empty folder with `files`, and leave no file
/// behind. Returns standard error.
fn refused(files: &[(&str, &str)], arguments: &[&str], code: i32) -> String {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = simulate(arguments);
    command.current_dir(folder.path()).args(["-o", "results.tar.gz", "--quiet"]);
    let done = run(command, b"");
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(code), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), files.len(), "something is left: {error}");
    error
}

const CSV: (&str, &str) = ("run.csv", "t_ns,src,dst,bytes,tag,op\n0,0,1,100,0,\n10,1,2,100,0,\n");

/// Hosts a and b on a switch s, with these edges and this document type.
fn network(doctype: &str, edges: &[(&str, &str, &str)]) -> String {
    let edges: String = edges
        .iter()
        .map(|(src, dst, data)| format!("    <edge source=\"{src}\" target=\"{dst}\">{data}</edge>\n"))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{doctype}<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n  \
         <key id=\"c\" for=\"all\" attr.name=\"capacity\" attr.type=\"double\"/>\n  \
         <key id=\"t\" for=\"node\" attr.name=\"typ\" attr.type=\"string\"/>\n  <graph edgedefault=\"directed\">\n    \
         <node id=\"a\"><data key=\"t\">host</data><data key=\"c\">1</data></node>\n    \
         <node id=\"b\"><data key=\"t\">host</data><data key=\"c\">1</data></node>\n    \
         <node id=\"s\"><data key=\"t\">switch</data></node>\n    <node id=\"t\"><data key=\"t\">switch</data></node>\n\
         {edges}  </graph>\n</graphml>\n"
    )
}

#[test]
fn choices_that_do_not_exist_are_named_with_their_neighbours() {
    let star = ["--topology", "star[hosts=4]"];
    for (arguments, expected) in [
        (
            &["--router", "dmodkk"][..],
            "unknown router `dmodkk`; did you mean dmodk or smodk? (known: dmodk, smodk, random, ecmp, greedy, greedy-max, minimal, valiant, ugal, table, exec)",
        ),
        (
            &["--scheduler", "fcsf"],
            "unknown scheduler `fcsf`; did you mean fcfs? (known: fcfs, easy, conservative, exec)",
        ),
        (
            &["--fail", "a<>"],
            "--fail: `a<>` is no link or node; write leaf0<>spine1, leaf0>spine1, leaf0<>spine1#1 or spine1, then @5ms for a time",
        ),
        (&["--model", "flow", "--tolerance", "0.5"], "`flow`: tolerance is 0.5, expected 0 to 0.1"),
        (&["--mtu", "4096"], "--mtu is a parameter of another model: add --model packet or auto"),
        (&["--transport", "ideal"], "transport `ideal` is for messages: add --model flow or packet"),
        (
            &["--collective", "ring"],
            "the traffic model has the matrices of the trace: collective `ring` needs --model flow or packet",
        ),
        (&["--router", "dmodk["], "--router: `dmodk[` is not a list of choices; write a,b[key=value],c"),
        (&["--shard", "3/2"], "--shard: `3/2` is not a shard; write 1/4 for the first of four"),
        (&["--duration", "5"], "--duration: `5` is not a time; write 250ns, 5us, 1ms or 2s"),
        (
            &["--topology", "xgtf[m=4,w=1]"],
            "--topology: unknown topology `xgtf`; did you mean xgft? (known: star, xgft, fat-tree, leaf-spine, torus, mesh, hyperx, dragonfly, jellyfish, slimfly)",
        ),
    ] {
        let network: &[&str] = if arguments[0] == "--topology" { &[] } else { &star };
        // The error comes before any input is read: there is no input of that name.
        let error = refused(&[], &[network, arguments, &["no-such-input"]].concat(), 2);
        assert_eq!(error, format!("pf-simulate: {expected}\n"));
    }
    let error = refused(&[CSV], &["run.csv"], 2);
    assert_eq!(
        error,
        "pf-simulate: no network: give --topology cluster.graphml, --topology 'xgft[m=4:4,w=1:2]' or a --scenario that \
         names one\n"
    );
}

#[test]
fn networks_that_are_none_are_refused() {
    let c = "<data key=\"c\">1</data>";
    let both = [("a", "s", c), ("s", "a", c), ("b", "t", c), ("t", "b", c)];
    let one_way = [&both[..], &[("s", "t", c)]].concat();
    let no_capacity = [&both[..], &[("s", "t", c), ("t", "s", "")]].concat();
    let bomb = "<!DOCTYPE g [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n";
    for (text, expected) in [
        (network("", &one_way), "host `b` cannot reach host `a`: there is no path"),
        (network("", &no_capacity), "line 15, byte 853: link `t → s`: has no `capacity` (Gbit/s)"),
        (
            network(bomb, &both),
            "line 2, byte 116: declares a document type: entities are not expanded; remove the DOCTYPE declaration",
        ),
    ] {
        let error = refused(&[CSV, ("net.graphml", &text)], &["run.csv", "--topology", "net.graphml"], 1);
        assert_eq!(error, format!("pf-simulate: net.graphml: {expected}\n"));
    }
}

#[test]
fn more_processes_than_slots_are_refused() {
    let error = refused(&[CSV], &["run.csv", "--topology", "star[hosts=2]"], 1);
    assert_eq!(
        error,
        "pf-simulate: run 0: job 0 (csv) has 3 processes, the topology star[hosts=2] 2 slots\n"
    );
}

#[test]
fn a_damaged_input_is_named() {
    let folder = TempDir::new().unwrap();
    let phases = two_phases();
    for (name, bytes, expected) in [
        ("cut.tar", &phases[..phases.len() / 2], "ends too early: the file is truncated"),
        ("empty", &[][..], "is empty, expected a trace"),
        (
            "noise",
            &b"\x00\x01\x02"[..],
            "is of no known format (recognised by content: phaseflow, pfprof, ndjson, csv, dumpi, otf2, simgrid, goal, chakra, liballprof, paraver)",
        ),
    ] {
        let input = folder.path().join(name);
        std::fs::write(&input, bytes).unwrap();
        let input = input.to_str().unwrap();
        let error = refused(&[], &[input, "--topology", "star[hosts=16]"], 1);
        assert!(
            error.starts_with(&format!("pf-simulate: {input}: "))
                && error.ends_with(&format!("{expected}\n")),
            "{error}"
        );
    }
}

#[test]
fn scenarios_that_are_wrong_say_where() {
    for (text, code, expected) in [
        (
            "topology: star[hosts=4]\nalgorithms:\n  routre: dmodk\n",
            2,
            "s.yml: line 3, column 3: unknown key of algorithms `routre`; did you mean router? (known: scheduler, \
             host_selector, process_mapper, router, model, transport, collective, phases, node_selector)",
        ),
        (
            "topology: star[hosts=4]\nsnapshots: [1s, soon]\n",
            2,
            "s.yml: line 2, column 17: a snapshot's time is `soon`, expected a time: seconds as a number, or 250ns, 5us, \
             1ms, 2s",
        ),
        (
            "topology: star[hosts=4]\njobs: [{trace: gone.tar}]\n",
            1,
            "gone.tar: No such file or directory (os error 2)",
        ),
        (
            "topology: [gone.graphml]\njobs: [{trace: run.csv}]\n",
            1,
            "gone.graphml: No such file or directory (os error 2)",
        ),
        (
            "topology: [star\n",
            2,
            "s.yml: line 1, column 11: is not a readable YAML document: unclosed bracket '['",
        ),
    ] {
        let error = refused(&[CSV, ("s.yml", text)], &["--scenario", "s.yml"], code);
        assert_eq!(error, format!("pf-simulate: {expected}\n"));
    }
    let own = "topology: star[hosts=4]\njobs: [{trace: run.csv}]\n";
    let error = refused(&[CSV, ("s.yml", own)], &["--scenario", "s.yml", "run.csv"], 2);
    assert_eq!(
        error,
        "pf-simulate: run.csv: every job of the scenario names its own trace, expected no input\n"
    );
}

/// n − 1 ranks send S bytes to rank 0 at once: its link takes L + (n − 1)·S/B, and half the second
/// term if the link is twice as fast.
/// All messages go one way, so replies go where no message does. On a star each pair has one route,
/// whether routers are asked again for each message or once for all.
#[test]
fn replies_of_a_rendezvous_have_routes() {
    let trace = collect(&["--pattern", "incast", "--ranks", "5", "--bytes", "1MB", "--repeat", "3"]);
    let archive = segment(&["--method", "none"], &trace);
    let options = "--topology star[hosts=5] --capacity 80 --latency 500ns --compute-scale 0 --model flow --router dmodk,greedy";
    let with = |more: &str| -> Vec<f64> {
        let arguments: Vec<&str> = options.split(' ').chain(more.split(' ')).collect();
        let results = output(simulate(&arguments), &archive);
        table("runs", &results).iter().map(|row| number(row, "makespan_s")).collect()
    };
    let free = with("--rendezvous free");
    let asked = with("--rendezvous handshake --eager 1KiB");
    assert_eq!((free[0], asked[0]), (free[1], asked[1]));
    // A request and its reply take a latency each, at least in the first of three rounds.
    assert!(asked[0] >= free[0] + 2e-6, "{} {}", asked[0], free[0]);
}

#[test]
fn the_flow_model_from_end_to_end() {
    let trace = collect(&["--pattern", "incast,incast", "--ranks", "5", "--bytes", "1MB", "--repeat", "3"]);
    let archive = segment(&["--method", "marks"], &trace);
    let options =
        ["--topology", "star[hosts=5]", "--capacity", "80", "--latency", "500ns", "--compute-scale", "0"];
    let with = |more: &[&str], input: &[u8]| output(simulate(&[&options, more].concat()), input);
    let round = 1e-6 + 4.0 * 1e6 * 8.0 / 80e9;
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() <= 1e-9 * expected, "{found}: {expected}");
    };
    for input in [&archive, &trace] {
        let results = with(&["--model", "flow", "--threads", "1"], input);
        assert_eq!(with(&["--model", "flow", "--threads", "2"], input), results);
        let run = &table("runs", &results)[0];
        near(number(run, "makespan_s"), 6.0 * round);
        assert_eq!((run["model"].as_str(), run["mean_congestion"].as_str()), ("flow", ""));
        near(number(run, "max_utilization"), 1.0);
        let phase = &table("phases", &results)[0];
        near(number(phase, "makespan_s"), 6.0 * round);
        near(number(phase, "unshared_s"), 6.0 * (1e-6 + 1e-4));
        near(number(phase, "unlimited_s"), 6.0 * 1e-6);
        let ranks = table("ranks", &results);
        assert_eq!(ranks.len(), 5);
        near(number(&ranks[0], "network_s"), 6.0 * round);
    }
    let twice = with(&["--model", "traffic,flow", "--what-if", "s1.0>h0×2"], &archive);
    let makespans: Vec<f64> = table("runs", &twice).iter().map(|row| number(row, "makespan_s")).collect();
    near(makespans[1] / makespans[3], round / (1e-6 + (round - 1e-6) / 2.0));
    // A parameter in brackets goes before the option. Without its model, an option has no meaning.
    let both = with(&["--model", "flow,flow[compute-scale=1]"], &archive);
    let makespans: Vec<f64> = table("runs", &both).iter().map(|row| number(row, "makespan_s")).collect();
    assert!(makespans[1] >= makespans[0]);
    let refused = run(simulate(&options), &archive);
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(
        text,
        "pf-simulate: --compute-scale is a parameter of another model: add --model flow or packet or auto\n"
    );
    let sums = "{\"rank\":0,\"n_procs\":1,\"tx_bytes\":[0],\"tx_messages\":[0],\"duration\":1.0}";
    let refused = run(simulate(&["--topology", "star[hosts=2]", "--model", "flow"]), sums.as_bytes());
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("the flow model needs the messages of phase 0"), "{text}");
}
