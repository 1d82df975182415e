//! Sweeps that end before they are finished: what remains, what can be read of it, and how they go
//! on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use stages::{collect, output, run, segment, simulate};
use tempfile::TempDir;

/// 40 runs; each calls a program that selects its hosts and has no time limit.
const SWEEP: [&str; 9] = [
    "phases.tar",
    "--topology",
    "xgft[m=8:8,w=1:4]",
    "--model",
    "flow[noise=0.1]",
    "--repeat",
    "40",
    "--host-selector",
    "exec:sh select.sh[timeout=100000s]",
];

/// Selects hosts in their order. In a folder `asked`, it counts the runs, and stops at the fifth
/// until it is killed.
const SELECT: &str = "read -r greeting
if [ -d asked ]; then
  run=1
  until mkdir asked/$run; do run=$((run + 1)); done 2>/dev/null
  [ $run -lt 5 ] || exec cat >/dev/null
fi
echo '{\"phaseflow\": 1}'
read -r question
echo \"{\\\"hosts\\\": [$(seq -s, -f '\"h%g\"' 0 63)]}\"
read -r end
";

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let trace = collect(&["--pattern", "alltoall", "--ranks", "64", "--bytes", "64KiB", "--repeat", "2"]);
    std::fs::write(folder.path().join("phases.tar"), segment(&[], &trace)).unwrap();
    folder
}

/// The sweep in `folder` with further options.
fn sweep(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = simulate(&[&SWEEP, arguments].concat());
    command.current_dir(folder);
    command
}

fn report(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    command.current_dir(folder).args(arguments);
    run(command, b"")
}

/// Lines of a table of the complete runs in a file that may be incomplete.
fn lines(folder: &Path, table: &str, file: &str) -> Vec<String> {
    let done = report(folder, &["--quiet", "--partial", "--table", table, file]);
    String::from_utf8(done.stdout).unwrap().lines().map(String::from).collect()
}

fn errors(done: &Output) -> String {
    String::from_utf8(done.stderr.clone()).unwrap()
}

/// All of this with a real process and SIGKILL, for archives with and without gzip.
#[test]
fn a_killed_sweep_leaves_its_runs_and_goes_on() {
    let folder = folder();
    let folder = folder.path();
    std::fs::write(folder.join("select.sh"), SELECT).unwrap();
    for (file, whole) in [("r.tar", "whole.tar"), ("r.tar.gz", "whole.tar.gz")] {
        output(sweep(folder, &["-o", whole]), b"");
        let partial = format!("{file}.partial");
        std::fs::create_dir(folder.join("asked")).unwrap();
        let mut child = sweep(folder, &["-o", file, "--threads", "1"]).stderr(Stdio::null()).spawn().unwrap();
        while !folder.join("asked/5").exists() {
            assert_eq!(child.try_wait().unwrap(), None, "it asks for the hosts of each run");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_dir_all(folder.join("asked")).unwrap();
        assert!(!folder.join(file).exists());

        // The partial file holds the beginning of the whole one.
        for table in ["runs", "phases", "ranks"] {
            let (found, all) = (lines(folder, table, &partial), lines(folder, table, whole));
            assert!(found.len() > 4 && found.len() < all.len(), "{table}: {} of {}", found.len(), all.len());
            assert_eq!(found, all[..found.len()], "{table}");
        }
        let runs = 4;
        assert_eq!(lines(folder, "runs", &partial).len() - 1, runs);
        let told = errors(&report(folder, &["--partial", &partial]));
        assert_eq!(
            told,
            format!("pf-report: {partial}: ends too early: has {runs} of the sweep's 40 runs\n")
        );
        let refused = report(folder, &[&partial]);
        assert_eq!(refused.status.code(), Some(1));
        let advice = "truncated; --partial reads the runs that are complete\n";
        assert!(errors(&refused).ends_with(advice), "{}", errors(&refused));

        let status = String::from_utf8(output(sweep(folder, &["-o", file, "--status"]), b"")).unwrap();
        let done: Vec<bool> = status.lines().map(|line| line.ends_with("\"done\":true}")).collect();
        assert_eq!(done, (0..40).map(|run| run < runs).collect::<Vec<_>>());

        // The same command again would overwrite it; another command may.
        let again = run(sweep(folder, &["-o", file]), b"");
        let problem = "has finished runs of this sweep: go on after them with --resume, or remove it";
        assert_eq!(errors(&again), format!("pf-simulate: {partial}: {problem}\n"));
        assert_eq!(again.status.code(), Some(2));
        assert_eq!(lines(folder, "runs", &partial).len() - 1, runs);

        let resumed = run(sweep(folder, &["-o", file, "--resume"]), b"");
        assert_eq!(
            errors(&resumed),
            format!("pf-simulate: {runs} of 40 runs are taken over from {partial}\n")
        );
        let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
        assert!(bytes(file) == bytes(whole), "{file}");
        assert!(!folder.join(&partial).exists());
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 6, "nothing else is left");
}

#[test]
fn runs_before_one_that_fails_are_kept() {
    let folder = folder();
    let folder = folder.path();
    let failing = |routers: &str, rest: &[&str]| {
        let arguments = ["phases.tar", "--topology", "star[hosts=64]", "-o", "r.tar", "--router", routers];
        let mut command = simulate(&arguments);
        command.current_dir(folder).args(rest);
        let done = run(command, b"");
        assert_eq!(done.status.code(), Some(1), "{}", errors(&done));
        errors(&done)
    };
    let said = failing("exec:false,dmodk", &[]);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing is left");
    let said = failing("dmodk,smodk,exec:false,ecmp", &[]);
    let kept = "pf-simulate: r.tar.partial has the first 2 of 4 runs: pf-report --partial reads them, --resume goes on after them\n";
    assert!(said.starts_with(kept) && said.contains("run 2: "), "{said}");
    // The command fails again, and again nothing is lost.
    let said = failing("dmodk,smodk,exec:false,ecmp", &["--resume"]);
    assert!(said.contains("2 of 4 runs are taken over") && said.contains(kept), "{said}");
    let routers = lines(folder, "runs", "r.tar.partial");
    assert!(routers.len() == 3 && routers[2].contains(",smodk,"), "{routers:?}");
}

#[test]
fn what_does_not_belong_together_is_not_put_together() {
    let folder = folder();
    let folder = folder.path();
    let star = |arguments: &[&str]| {
        let mut command = simulate(&["phases.tar", "--topology", "star[hosts=64]", "-o", "r.tar"]);
        command.current_dir(folder).args(arguments);
        run(command, b"")
    };
    // There is nothing to resume, so all runs are computed.
    let routers = ["--router", "dmodk,smodk,ecmp", "--resume"];
    assert!(star(&routers).status.success());
    let whole = std::fs::read(folder.join("r.tar")).unwrap();
    // All runs are there.
    let done = star(&routers);
    assert_eq!(errors(&done), "pf-simulate: 3 of 3 runs are taken over from r.tar\n");
    assert!(std::fs::read(folder.join("r.tar")).unwrap() == whole);

    let other = star(&["--router", "dmodk,smodk", "--resume"]);
    assert_eq!(other.status.code(), Some(1));
    assert_eq!(
        errors(&other),
        "pf-simulate: r.tar: is of another sweep: other options, networks or traces\n"
    );
    let other = star(&["--router", "dmodk,smodk", "--status"]);
    assert_eq!(
        errors(&other),
        "pf-simulate: r.tar: is of another sweep: other options, networks or traces\n"
    );
    let shard = star(&[&routers[..], &["--shard", "2/2"]].concat());
    assert_eq!(
        errors(&shard),
        "pf-simulate: r.tar: holds run 0, expected run 1: other points were selected\n"
    );
    assert!(std::fs::read(folder.join("r.tar")).unwrap() == whole);

    for option in ["--resume", "--status"] {
        let piped = run(sweep(folder, &[option]), b"");
        assert_eq!(
            errors(&piped),
            "pf-simulate: --resume and --status are for a file: name it with -o FILE\n"
        );
    }

    // A file that cannot be resumed is replaced, unless another command is writing it.
    std::fs::write(folder.join("r.tar.partial"), "no archive").unwrap();
    let busy = std::fs::File::open(folder.join("r.tar.partial")).unwrap();
    busy.try_lock().unwrap();
    let refused = star(&routers[..2]);
    assert_eq!(errors(&refused), "pf-simulate: r.tar.partial: is being written by another command\n");
    drop(busy);
    assert!(star(&routers[..2]).status.success());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2, "the phases and the result");
}
