//! Input beyond what a command can count or hold ends with one sentence, before it takes memory or
//! time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use std::process::Command;

use stages::{number, output, run, simulate, table};
use tempfile::TempDir;

const DAY_NS: u64 = 24 * 3_600_000_000_000;

/// Two messages from one rank to another, `apart_ns` apart.
fn two_messages(apart_ns: u64, bytes: u64) -> Vec<u8> {
    format!("t_ns,src,dst,bytes\n0,0,1,{bytes}\n{apart_ns},0,1,{bytes}\n").into_bytes()
}

/// Standard error of a command that has to end with this exit code and without output.
fn refused(mut command: Command, input: &[u8], code: i32) -> String {
    command.arg("--quiet");
    let shown = format!("{command:?}");
    let done = run(command, input);
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(code), "{shown}: {error}");
    assert!(done.stdout.is_empty(), "{shown} wrote {} bytes: {error}", done.stdout.len());
    error
}

/// A command that may take at most 2 GB of memory.
fn small(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let binary = match program {
        "pf-collect" => env!("CARGO_BIN_EXE_pf-collect"),
        "pf-segment" => env!("CARGO_BIN_EXE_pf-segment"),
        _ => env!("CARGO_BIN_EXE_pf-simulate"),
    };
    command.args(["-c", "ulimit -v 2000000; exec \"$@\"", "sh", binary]).args(arguments);
    command
}

/// 2⁶⁴ ps are 213.5 days.
#[test]
fn a_run_longer_than_the_clock_is_refused_by_every_model() {
    let trace = two_messages(214 * DAY_NS, 1000);
    let network = ["-", "--topology", "star[hosts=2]"];
    let end = "ends after 18446744 s (213 days), when the clock does; simulate a part of it, or less computation \
               (--compute-scale)\n";
    for (model, place) in [
        ("traffic", "pf-simulate: run 0: job 0 (csv): "),
        ("flow", "pf-simulate: run 0: job 0 (csv): phase 0: "),
        ("packet", "pf-simulate: run 0: job 0 (csv): phase 0: "),
        ("flow[sampling=off]", "pf-simulate: run 0: job 0 (csv): "),
        ("packet[sampling=off]", "pf-simulate: run 0: job 0 (csv): "),
    ] {
        let mut command = simulate(&network);
        command.args(["--model", model]);
        assert_eq!(refused(command, &trace, 1), format!("{place}{end}"), "{model}");
    }
}

/// Times within the clock's range are right to the microsecond: 213 days and a remainder.
#[test]
fn a_run_as_long_as_the_clock_is_right() {
    let trace = two_messages(213 * DAY_NS, 1000);
    // Two messages of 1000 bytes at 10 Gbit/s over two links of 1 µs; packets are stored and
    // forwarded.
    for (model, after_us) in [("flow", 2.8), ("packet", 3.6)] {
        let mut command = simulate(&["-", "--topology", "star[hosts=2]"]);
        command.args(["--model", model]);
        let runs = table("runs", &output(command, &trace));
        let makespan = number(&runs[0], "makespan_s");
        let expected = 213.0 * 86_400.0 + after_us * 1e-6;
        assert!((makespan - expected).abs() < 1e-6, "{model}: {makespan}, expected {expected}");
    }
}

#[test]
fn links_and_messages_that_take_longer_than_the_clock_are_refused() {
    let end = "ends after 18446744 s (213 days), when the clock does; simulate a part of it, or less computation \
               (--compute-scale)\n";
    let of = |model: &str, capacity: &str, bytes: u64| {
        let command =
            simulate(&["-", "--topology", "star[hosts=2]", "--model", model, "--capacity", capacity]);
        refused(command, &two_messages(1000, bytes), 1)
    };
    assert_eq!(of("flow", "1e-15", 1000), format!("pf-simulate: run 0: job 0 (csv): phase 0: {end}"));
    assert_eq!(
        of("packet", "1e-15", 1000),
        "pf-simulate: run 0: star[hosts=2]: link `h0 → s1.0` has capacity 0.000000000000001, packets need 0.000000001 Gbit/s \
         (1 bit/s) or more; the flow model does not\n"
    );
    let huge = 4_500_000_000_000_000_000;
    assert_eq!(of("flow", "1", huge), format!("pf-simulate: run 0: job 0 (csv): phase 0: {end}"));
    assert_eq!(
        of("packet", "1", huge),
        "pf-simulate: run 0: job 0 (csv): phase 0: more than 2^32 packets from host 0 to host 1: a larger MTU is needed\n"
    );
}

#[test]
fn ranks_that_no_machine_has_are_refused_before_tables_of_them_are_made() {
    let text = b"t_ns,src,dst,bytes\n0,0,4294967294,8\n5,4294967294,0,8\n";
    let said =
        "standard input: line 2: dst: found `4294967294`, expected a whole number from 0 to 16777215\n";
    for program in ["pf-collect", "pf-simulate"] {
        let arguments: &[&str] = match program {
            "pf-simulate" => &["--topology", "star[hosts=2]"],
            _ => &[],
        };
        assert_eq!(refused(small(program, arguments), text, 1), format!("{program}: {said}"));
    }
    let lines = b"{\"t_ns\":0,\"src\":16777216,\"dst\":1,\"bytes\":8}\n";
    assert_eq!(
        refused(small("pf-collect", &[]), lines, 1),
        "pf-collect: standard input: line 1: src: found `16777216`, expected a whole number from 0 to 16777215\n"
    );
}

#[test]
fn jobs_without_number_are_refused_before_the_first_one() {
    let folder = TempDir::new().unwrap();
    let trace = two_messages(1000, 1000);
    let scenario = folder.path().join("scenario.yml");
    let text = "duration: 1000\njobs: [{submit: {constant: {value: 1e-9}}}]\n";
    std::fs::write(&scenario, text).unwrap();
    let arguments = ["-", "--topology", "star[hosts=2]", "--scenario", scenario.to_str().unwrap()];
    assert_eq!(
        refused(small("pf-simulate", &arguments), &trace, 2),
        "pf-simulate: run 0: job 0: about 1000000000000 jobs would be submitted within 1000 s, expected at most 1000000\n"
    );
}

#[test]
fn files_without_end_are_not_read_to_it() {
    let network = ["--topology", "star[hosts=2]"];
    let mut command = small("pf-simulate", &["--scenario", "/dev/zero"]);
    command.args(network);
    assert_eq!(
        refused(command, b"", 2),
        "pf-simulate: /dev/zero: is longer than 4194304 bytes, the most of a scenario\n"
    );
    let trace = two_messages(1000, 1000);
    assert_eq!(
        refused(small("pf-segment", &["--score", "/dev/zero"]), &trace, 1),
        "pf-segment: /dev/zero: is longer than 134217728 bytes, the most of a truth\n"
    );
    assert_eq!(
        refused(small("pf-simulate", &["-", "--topology", "/dev/zero"]), &trace, 1),
        "pf-simulate: /dev/zero: line 1, byte 1114112: has a tag or text of more than 1048576 bytes\n"
    );
}

#[test]
fn networks_beyond_any_machine_are_refused_before_they_are_built() {
    let trace = two_messages(1000, 1000);
    for (topology, nodes) in [
        ("xgft[m=4000000000:4000000000,w=1:1]", "16000000004000000001"),
        ("star[hosts=4194304]", "4194305"),
        ("fat-tree[k=4000000000]", "18446744073709551615"),
        ("torus[dims=100000x100000x100000]", "2000000000000000"),
    ] {
        assert_eq!(
            refused(small("pf-simulate", &["-", "--topology", topology]), &trace, 2),
            format!("pf-simulate: `{topology}` has {nodes} nodes, at most 4194304 are possible\n")
        );
    }
}
