//! How commands behave when something outside of them is wrong: pipes, disks, signals.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]
#![cfg(unix)]

mod stages;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use stages::{collect, run, segment, simulate};
use tempfile::TempDir;

const COMMANDS: [(&str, &str); 5] = [
    ("pf-collect", env!("CARGO_BIN_EXE_pf-collect")),
    ("pf-profile", env!("CARGO_BIN_EXE_pf-profile")),
    ("pf-report", env!("CARGO_BIN_EXE_pf-report")),
    ("pf-segment", env!("CARGO_BIN_EXE_pf-segment")),
    ("pf-simulate", env!("CARGO_BIN_EXE_pf-simulate")),
];

/// A line of a shell in a folder; it calls commands by their names.
fn shell(folder: &Path, line: &str) -> Output {
    let bin = Path::new(COMMANDS[0].1).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", line]).current_dir(folder).env("PATH", path).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn each_command_knows_its_name() {
    for (name, binary) in COMMANDS {
        let ask = |option: &str| {
            let done = Command::new(binary).arg(option).output().unwrap();
            assert!(done.status.success(), "{name} {option}");
            String::from_utf8(done.stdout).unwrap()
        };
        assert_eq!(ask("--version"), format!("{name} {}\n", env!("CARGO_PKG_VERSION")));
        let man = ask("--man");
        assert!(man.contains(&format!("\n.TH {name} 1 ")), "{}", &man[..man.len().min(300)]);
        assert!(ask("--help").contains(&format!("Usage: {name} ")), "{name}");
    }
}

#[test]
fn one_fault_in_a_pipe_gives_one_message() {
    let folder = TempDir::new().unwrap();
    let rest = "pf-segment - | pf-simulate - --topology 'star[hosts=4]' | pf-report";
    let done = shell(folder.path(), &format!("pf-collect missing | {rest}"));
    assert_eq!(said(&done), "pf-collect: missing: No such file or directory (os error 2)\n");
    assert_eq!((done.status.code(), done.stdout.len()), (Some(1), 0));
    // A simulation that fails.
    std::fs::write(folder.path().join("run.csv"), "t_ns,src,dst,bytes\n0,0,9,8\n5,9,0,8\n").unwrap();
    let done = shell(folder.path(), &format!("pf-collect run.csv | {rest}"));
    assert_eq!(
        said(&done),
        "pf-simulate: run 0: job 0 (csv) has 10 processes, the topology star[hosts=4] 4 slots\n"
    );
    assert_eq!((done.status.code(), done.stdout.len()), (Some(1), 0));
}

/// A foreign program before the pipe reports nothing, so our command has to.
#[test]
fn an_input_that_is_empty_for_another_reason_is_complained_of() {
    let folder = TempDir::new().unwrap();
    for (line, expected) in [
        ("true | pf-segment", "pf-segment: standard input: is empty, expected a trace\n"),
        ("pf-collect </dev/null", "pf-collect: standard input: is empty, expected a trace\n"),
        (
            "true | pf-simulate --topology 'star[hosts=4]'",
            "pf-simulate: standard input: is empty, expected a trace\n",
        ),
    ] {
        let done = shell(folder.path(), line);
        assert_eq!((said(&done).as_str(), done.status.code()), (expected, Some(1)), "{line}");
    }
    let done = shell(folder.path(), "true | pf-report");
    assert!(said(&done).starts_with("pf-report: standard input: "), "{}", said(&done));
    assert_eq!(done.status.code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_the_outputs_fault() {
    let folder = TempDir::new().unwrap();
    let trace = collect(&["--pattern", "halo2d*20,alltoall*5", "--ranks", "16"]);
    std::fs::write(folder.path().join("phases.tar"), segment(&[], &trace)).unwrap();
    std::fs::write(folder.path().join("run.tar"), trace).unwrap();
    let simulate = "pf-simulate phases.tar --topology 'star[hosts=16]'";
    for (line, command, output) in [
        ("pf-collect run.tar -o /dev/full", "pf-collect", "/dev/full"),
        ("pf-segment run.tar -o /dev/full", "pf-segment", "/dev/full"),
        ("pf-segment run.tar >/dev/full", "pf-segment", "standard output"),
        (&format!("{simulate} -o /dev/full"), "pf-simulate", "/dev/full"),
        (&format!("{simulate} | pf-report >/dev/full"), "pf-report", "standard output"),
    ] {
        let done = shell(folder.path(), line);
        assert_eq!(
            said(&done),
            format!("{command}: {output}: No space left on device (os error 28)\n"),
            "{line}"
        );
        assert_eq!(done.status.code(), Some(1), "{line}");
    }
}

/// Waits until `is_so`, for at most 100 s.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let patience = Instant::now();
    while !is_so() {
        assert!(patience.elapsed() < Duration::from_secs(100), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a command that writes in a folder once `has_begun`. Returns how it ended.
fn ended_by(mut command: Command, signal: &str, has_begun: impl FnMut() -> bool) -> Output {
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("nothing is written", has_begun);
    let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    child.wait_with_output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_signal_leaves_no_draft_behind() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let mut command = Command::new(COMMANDS[0].1);
        command
            .args(["--pattern", "halo2d*1000000000", "--ranks", "64", "-o", "run.tar"])
            .current_dir(folder);
        let is_draft = |name: &String| name.starts_with(".phaseflow-");
        let done = ended_by(command, signal, || names(folder).iter().any(is_draft));
        assert_eq!(said(&done), "pf-collect: interrupted: nothing is kept\n");
        assert_eq!(done.status.signal(), Some(number));
        assert_eq!(names(folder), [""; 0]);
    }
}

#[test]
fn a_signal_says_what_is_kept_of_a_sweep() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let trace = collect(&["--pattern", "alltoall", "--ranks", "64", "--bytes", "64KiB", "--repeat", "2"]);
    std::fs::write(folder.join("phases.tar"), segment(&[], &trace)).unwrap();
    let arguments = ["phases.tar", "--topology", "xgft[m=8:8,w=1:4]", "--model", "flow[noise=0.1]"];
    let mut command = simulate(&arguments);
    command.args(["--repeat", "4000", "-o", "r.tar"]).current_dir(folder);
    let mut partial = Command::new(COMMANDS[2].1);
    partial.args(["--quiet", "--partial", "--table", "runs", "r.tar.partial"]).current_dir(folder);
    let done = ended_by(command, "INT", || {
        partial.output().unwrap().stdout.split(|byte| *byte == b'\n').count() > 4
    });
    let said = said(&done);
    let runs = said.strip_prefix("pf-simulate: interrupted: r.tar.partial has the first ").unwrap();
    let (runs, rest) = runs.split_once(' ').unwrap();
    assert!(runs.parse::<u32>().unwrap() >= 3, "{said}");
    assert_eq!(rest, "of 4000 runs: pf-report --partial reads them, --resume goes on after them\n");
    assert_eq!(names(folder), ["phases.tar", "r.tar.partial"]);
    assert_eq!(done.status.signal(), Some(2));
}

#[test]
fn points_that_do_not_fit_are_left_out_of_a_sweep() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("run.csv"), "t_ns,src,dst,bytes\n0,0,9,8\n5,9,0,8\n").unwrap();
    let sweep = |topologies: &str, rest: &[&str]| {
        let mut command = simulate(&["run.csv", "--topology", topologies]);
        command.current_dir(folder).args(rest);
        run(command, b"")
    };
    let done = sweep("star[hosts=4],star[hosts=16]", &["--router", "dmodk,ecmp", "-o", "r.tar"]);
    let why = |run: u32| {
        format!("pf-simulate: run {run}: job 0 (csv) has 10 processes, the topology star[hosts=4] 4 slots")
    };
    let left_out = "; this point is left out\n";
    let whole = "pf-simulate: the whole trace is one phase; pf-segment tells its phases apart (pf-segment TRACE | pf-simulate …)\n";
    assert_eq!(said(&done), format!("{whole}{}{left_out}{}{left_out}", why(0), why(1)));
    assert_eq!(done.status.code(), Some(0));
    let results = std::fs::read(folder.join("r.tar")).unwrap();
    let runs: Vec<String> = stages::table("runs", &results).iter().map(|row| row["run"].clone()).collect();
    assert_eq!(runs, ["2", "3"]);
    // A shard without runs is empty; a whole sweep without runs is an error.
    let shard = sweep("star[hosts=4],star[hosts=16]", &["--shard", "1/2", "-o", "shard.tar"]);
    assert_eq!((said(&shard), shard.status.code()), (format!("{whole}{}{left_out}", why(0)), Some(0)));
    let none = sweep("star[hosts=4],star[hosts=8]", &["-o", "none.tar"]);
    assert_eq!((said(&none), none.status.code()), (format!("{whole}{}\n", why(0)), Some(1)));
    assert_eq!(names(folder), ["r.tar", "run.csv", "shard.tar"]);
}
