//! Sweeps in shards, by the pipelines for them: a task is killed, the same command goes on, and the
//! report equals that of the sweep in one piece.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod slurm;
mod stages;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use slurm::Cluster;
use stages::{collect, output, run, segment, simulate};
use tempfile::TempDir;

const SHARDS: &str = "7";

/// A sweep of 2 networks × 4 process mappers × 3 routers, one of which is a program. `once` is a
/// shell line of that program, which acts once, in a shard.
struct Sweep {
    folder: TempDir,
    options: Vec<String>,
}

impl Sweep {
    fn new(once: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let trace = collect(&["--pattern", "halo2d,alltoall", "--ranks", "16", "--repeat", "2"]);
        std::fs::write(at("phases.tar"), segment(&[], &trace)).unwrap();
        let router = pipelines().join("plugins/router.py");
        let script =
            format!("#!/bin/sh\ncd {}\n{once}\nexec {}\n", folder.path().display(), router.display());
        std::fs::write(at("router.sh"), script).unwrap();
        std::fs::set_permissions(at("router.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        // The program has no time limit, as it may wait for long.
        let routers = format!("dmodk,ecmp,exec:{}[timeout=100000s]", at("router.sh"));
        let mut options = vec![at("phases.tar")];
        options.extend(["--topology", "xgft[m=4:4,w=1:2],torus[dims=4x4]"].map(String::from));
        options.extend(["--process-mapper", "block,cyclic,random,greedy", "--router"].map(String::from));
        options.push(routers);
        Self { folder, options }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn there(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Runs `sweep-NAME.sh sweep 7 …` in the folder, in the environment of `command`.
    fn begin(&self, mut command: Command) -> Output {
        command.args(["sweep", SHARDS]).args(&self.options);
        run(self.with_environment(command), b"")
    }

    fn with_environment(&self, mut command: Command) -> Command {
        let commands = Path::new(env!("CARGO_BIN_EXE_pf-simulate")).parent().unwrap();
        command
            .current_dir(self.folder.path())
            .env("PHASEFLOW_BIN", commands)
            .env("HOME", self.folder.path());
        command
    }

    /// Checks that the report of the shards in `sweep` is byte for byte the report of the sweep in
    /// one piece.
    fn is_that_of_one_piece(&self) {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let results = output(simulate(&options), b"");
        let mut report = Command::new(env!("CARGO_BIN_EXE_pf-report"));
        output(
            self.with_environment({
                report.args(["-o", "whole"]);
                report
            }),
            &results,
        );
        let (whole, merged) = (files(&self.path("whole")), files(&self.path("sweep/report")));
        assert_eq!(merged.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
        for (name, bytes) in &whole {
            assert!(merged[name] == *bytes, "{} differs", name.display());
        }
        let runs = String::from_utf8(whole[Path::new("runs.csv")].clone()).unwrap();
        assert_eq!(runs.lines().count(), 1 + 24, "{runs}");
    }
}

fn pipelines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines")
}

/// All files in a folder and below, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(inner, bytes)| (name.join(inner), bytes)));
        } else {
            found.insert(name, std::fs::read(path).unwrap());
        }
    }
    found
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Task 2 has points 1, 8, 15 and 22; the program is the router of point 8 and stops there until
/// the task is killed.
#[test]
fn a_slurm_array_goes_on_after_a_killed_task() {
    let sweep = Sweep::new(
        "[ \"$SLURM_ARRAY_TASK_ID\" = 2 ] && mkdir held 2>/dev/null && touch waits && exec cat >answers",
    );
    let mut cluster = Cluster::up();
    let script = pipelines().join("sweep-slurm.sh");
    let begun = sweep.begin(cluster.command(script.to_str().unwrap()));
    assert!(begun.status.success(), "{}", text(&begun.stderr));
    assert_eq!(text(&begun.stdout), "shards: job 1, tasks 1,2,3,4,5,6,7\nmerge: job 2\n");
    cluster.until("the second task came to its second point", || sweep.there("waits"));
    let mut kill = cluster.command("scancel");
    kill.args(["--full", "--signal=KILL", "1_2"]);
    output(kill, b"");
    cluster.drain();
    let read = |name: &str| std::fs::read_to_string(sweep.path(name)).unwrap();
    assert_eq!(
        read("sweep/logs/merge.txt"),
        "sweep-merge.sh: sweep: not finished: shards 2 of 7; begin the sweep again to go on with them\n"
    );
    assert!(!sweep.there("sweep/report"));

    let again = sweep.begin(cluster.command(script.to_str().unwrap()));
    assert!(again.status.success(), "{}", text(&again.stderr));
    // Every task of the first array has a job number, too.
    let [array, merge] = [0, 1].map(|line| text(&again.stdout).lines().nth(line).unwrap());
    assert!(array.starts_with("shards: job ") && array.ends_with(", tasks 2"), "{array}");
    assert!(merge.starts_with("merge: job "), "{merge}");
    cluster.drain();
    let told = read("sweep/logs/shard-2.txt");
    assert!(told.contains("1 of 4 runs are taken over from sweep/shards/2.tar.gz.partial\n"), "{told}");
    sweep.is_that_of_one_piece();

    // All shards are there, so only the merge is done again.
    let merged = sweep.begin(cluster.command(script.to_str().unwrap()));
    assert!(text(&merged.stdout).starts_with("merge: job "), "{}", text(&merged.stdout));
    cluster.drain();
}

/// Kills the command that calls the program, once.
const KILL: &str = "mkdir killed 2>/dev/null && kill -KILL $PPID";

#[test]
fn gnu_parallel_goes_on_after_a_killed_shard() {
    let sweep = Sweep::new(KILL);
    let script = pipelines().join("sweep-parallel.sh");
    let killed = sweep.begin(Command::new(&script));
    assert_eq!(killed.status.code(), Some(1), "{}", text(&killed.stderr));
    let last = "sweep-parallel.sh: sweep: not all shards are finished, see jobs.tsv there; the same command goes on with them\n";
    assert!(text(&killed.stderr).ends_with(last), "{}", text(&killed.stderr));
    assert!(!sweep.there("sweep/report"));
    let done = sweep.begin(Command::new(&script));
    assert!(done.status.success(), "{}", text(&done.stderr));
    sweep.is_that_of_one_piece();
}

#[test]
fn snakemake_goes_on_after_a_killed_shard() {
    let sweep = Sweep::new(KILL);
    let python = std::env::var_os("PHASEFLOW_TEST_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-python/bin/python"),
        PathBuf::from,
    );
    let begin = || {
        let mut command = Command::new(&python);
        command.args(["-m", "snakemake", "--cores", "2", "--directory", "sweep", "--snakefile"]);
        command.arg(pipelines().join("Snakefile")).arg("--config");
        command.arg(format!("input={}", sweep.options[0])).arg(format!("shards={SHARDS}"));
        command.arg(format!("options={}", sweep.options[1..].join(" ")));
        run(sweep.with_environment(command), b"")
    };
    let killed = begin();
    assert!(sweep.there("killed"), "tests/install installs snakemake: {}", text(&killed.stderr));
    assert_eq!(killed.status.code(), Some(1), "{}", text(&killed.stderr));
    assert!(!sweep.there("sweep/report"));
    let done = begin();
    assert!(done.status.success(), "{}", text(&done.stderr));
    sweep.is_that_of_one_piece();
}

/// Shards with other options are refused, not merged.
#[test]
fn a_merge_refuses_what_is_of_another_sweep() {
    let mut sweep = Sweep::new("");
    let done = sweep.begin(Command::new(pipelines().join("sweep-parallel.sh")));
    assert!(done.status.success(), "{}", text(&done.stderr));
    sweep.options.extend(["--capacity", "40"].map(String::from));
    let merge = sweep.begin(Command::new(pipelines().join("sweep-merge.sh")));
    assert_eq!(merge.status.code(), Some(1));
    let expected =
        "pf-simulate: sweep/shards/1.tar.gz: is of another sweep: other options, networks or traces\n";
    assert_eq!(text(&merge.stderr), expected);
}
