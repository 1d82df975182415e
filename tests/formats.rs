//! docs/formats.md is enough to read the archives in another language: `read_archives.py` was
//! written from it alone and has to read the same as the commands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

use std::path::Path;
use std::process::Command;

/// Runs a command and gives its standard output.
fn output(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn python(kind: &str, archive: &Path) -> String {
    let interpreter = std::env::var("PHASEFLOW_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_archives.py");
    output(Command::new(interpreter).arg(script).arg(kind).arg(archive))
}

#[test]
fn python_reads_what_the_commands_read() {
    let directory = tempfile::tempdir().unwrap();
    let collect = || Command::new(env!("CARGO_BIN_EXE_pf-collect"));
    let segment = || Command::new(env!("CARGO_BIN_EXE_pf-segment"));
    for suffix in ["tar", "tar.gz"] {
        let (trace, phases) =
            (directory.path().join(format!("t.{suffix}")), directory.path().join(format!("p.{suffix}")));
        let pattern =
            ["--pattern", "halo2d,alltoall", "--ranks", "16", "--bytes", "64KiB", "--repeat", "30", "-o"];
        output(collect().args(pattern).arg(&trace));
        output(segment().args(["--method", "none"]).arg(&trace).arg("-o").arg(&phases));

        let csv = output(collect().args(["--to", "csv"]).arg(&trace));
        let first_four = |line: &str| line.split(',').take(4).collect::<Vec<_>>().join(",");
        assert_eq!(
            csv.lines().map(first_four).collect::<Vec<_>>(),
            python("trace", &trace).lines().collect::<Vec<_>>()
        );

        let pairs = output(collect().arg("--pairs").arg(&trace));
        let matrix = python("phases", &phases);
        let without_phase: Vec<&str> = matrix.lines().map(|line| line.split_once(',').unwrap().1).collect();
        assert_eq!(pairs.lines().collect::<Vec<_>>(), without_phase);

        // The only phase has one occurrence, which stands for all of the run, so --keep-messages
        // keeps the same.
        let kept = directory.path().join(format!("k.{suffix}"));
        output(segment().args(["--method", "none", "--keep-messages"]).arg(&trace).arg("-o").arg(&kept));
        let of_phase = python("messages", &phases);
        let rows = |text: &str| {
            text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(rows(&of_phase), csv.lines().skip(1).map(first_four).collect::<Vec<_>>());
        assert_eq!(rows(&python("messages", &kept)), rows(&of_phase));
    }
}
