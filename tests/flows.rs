//! Lists of flows, networks as files, and messages of one time, as a user passes them to the
//! commands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod stages;

use std::process::Command;

use stages::{collect, number, output, run, segment, simulate, table};
use tempfile::TempDir;

/// Runs a list on a star with links of 10 Gbit/s and 1 µs. Returns its results and the lines of
/// `--ends`.
fn listed(list: &str, arguments: &[&str]) -> (Vec<u8>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("list.csv"), list).unwrap();
    let mut command = simulate(&["--flows", "list.csv", "--topology", "star[hosts=8]", "--ends", "ends.csv"]);
    command.args(arguments).current_dir(folder.path());
    let results = output(command, b"");
    let ends = std::fs::read_to_string(folder.path().join("ends.csv")).unwrap();
    (results, ends.lines().map(String::from).collect())
}

fn refused(list: &str, arguments: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("list.csv"), list).unwrap();
    let mut command = simulate(&["--flows", "list.csv", "--topology", "star[hosts=8]", "-o", "results.tar"]);
    command.args(arguments).current_dir(folder.path());
    let done = run(command, b"");
    assert!(!done.status.success());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "something is left");
    String::from_utf8(done.stderr).unwrap()
}

/// Four flows of 1 MB share the link to h0, so each takes two latencies and 4 MB / 1.25 GB/s. The
/// last flow comes when they are gone and has the link to itself.
#[test]
fn flows_over_one_link_share_it() {
    let list = "src,dst,bytes,start_ns\n1,0,1000000,0\nh2,h0,1000000,\n3,h0,1000000\n4,0,1000000,0\n1,h0,1000000,10000000\n";
    let (results, ends) = listed(list, &[]);
    let together = "0.003202000000,0.003202000000";
    assert_eq!(
        ends,
        ["end_s,duration_s", together, together, together, together, "0.010802000000,0.000802000000"]
    );
    let phases = table("phases", &results);
    assert_eq!(phases.len(), 1);
    assert!((number(&phases[0], "makespan_s") - 0.010802).abs() < 1e-12);
    let (bytes, most) = (number(&phases[0], "bytes"), number(&phases[0], "max_link_bytes"));
    assert_eq!((bytes, most), (5e6, 5e6));
    assert_eq!((phases[0]["bottleneck_src"].as_str(), phases[0]["bottleneck_dst"].as_str()), ("s1.0", "h0"));
    assert_eq!(table("runs", &results)[0]["model"], "flow");
}

/// Full packets of 4096 bytes are stored and forwarded: each takes 3.2768 µs on each of two links
/// of 1 µs. When two meet at the link to h0, one waits for the other. A message that stays on a
/// host takes no time.
#[test]
fn packets_queue_where_flows_share() {
    let (results, ends) = listed("1,0,4096\n2,0,4096\n3,3,4096,5\n", &["--model", "packet"]);
    let mut sorted = ends[1..3].to_vec();
    sorted.sort();
    assert_eq!(sorted, ["0.000008553600,0.000008553600", "0.000011830400,0.000011830400"]);
    assert_eq!(ends[3], "0.000000005000,0.000000000000");
    let links = table("links", &results);
    let last = links.iter().find(|row| row["dst"] == "h0").unwrap();
    assert_eq!((last["packets"].as_str(), last["drops"].as_str(), last["flows"].as_str()), ("2", "0", "2"));
}

#[test]
fn what_is_no_list_is_refused() {
    for (list, arguments, expected) in [
        (
            "0,1,5\n0,h8,5\n",
            &[][..],
            "pf-simulate: list.csv: line 2: host is `h8`, expected the name of a host of star[hosts=8], or a number below 8\n",
        ),
        ("0,1\n", &[], "pf-simulate: list.csv: line 1: has 2 fields, expected src,dst,bytes[,start_ns]\n"),
        (
            "0,1,5\n",
            &["--model", "traffic"],
            "pf-simulate: a list of flows is for --model flow or packet, with --collective recorded\n",
        ),
        (
            "0,1,5\n",
            &["--router", "dmodk,ecmp", "--ends", "ends.csv"],
            "pf-simulate: --ends: is for one run, and there are 2: choose with --only or --shard\n",
        ),
    ] {
        assert_eq!(refused(list, arguments), expected);
    }
}

/// A generated network that is written and read again is the same network. D-mod-K goes by
/// coordinates and not by names: s2.10 comes before s2.2 by name.
#[test]
fn a_network_that_is_written_is_read_back() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("net.graphml");
    let file = file.to_str().unwrap();
    let generated = "xgft[m=4:13,w=1:12,capacity=2.5]";
    let further = ["--latency", "3us", "--switch-latency", "5ns"];
    output(simulate(&[&["--topology", generated, "--write-topology", file], &further[..]].concat()), b"");
    let trace = collect(&["--pattern", "random", "--ranks", "52", "--repeat", "3"]);
    let links = |arguments: &[&str]| {
        let results = output(simulate(&[arguments, &["--model", "flow"]].concat()), &trace);
        table("links", &results)
    };
    let of_generator = links(&[&["--topology", generated], &further[..]].concat());
    assert!(of_generator.len() > 52);
    assert_eq!(links(&["--topology", file]), of_generator);
    // The report's graph of a phase is a network file as well.
    let results = output(simulate(&[&["--topology", generated], &further[..]].concat()), &trace);
    let mut report = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    report.args(["-o", "out"]).current_dir(folder.path());
    output(report, &results);
    let graph = folder.path().join("out/graphml/0-0.graphml");
    assert_eq!(links(&["--topology", graph.to_str().unwrap()]), of_generator);
}

/// The rate of messages of one time is unknown, but the time to send them all at once can be
/// computed.
#[test]
fn messages_of_one_time_are_replayed() {
    let trace = b"t_ns,src,dst,bytes\n5,1,0,1000000\n5,2,0,1000000\n";
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-collect"));
    command.arg("-");
    let archive = output(command, trace);
    let phases = segment(&[], &archive);
    for input in [&trace[..], &archive, &phases] {
        let rows =
            table("phases", &output(simulate(&["--topology", "star[hosts=3]", "--model", "flow"]), input));
        assert_eq!(rows.len(), 1);
        // Two flows share the link to h0, as above: two latencies and 2 MB / 1.25 GB/s.
        assert!((number(&rows[0], "makespan_s") - 0.001602).abs() < 1e-9, "{rows:?}");
        let rows = table("phases", &output(simulate(&["--topology", "star[hosts=3]"]), input));
        assert_eq!((rows[0]["max_link_load"].as_str(), rows[0]["duration_s"].as_str()), ("2000000", ""));
    }
    let listed = String::from_utf8(segment(&["--list"], &archive)).unwrap();
    assert!(listed.ends_with("\n0,0,0,0,0,2,2000000\n"), "{listed}");
}
