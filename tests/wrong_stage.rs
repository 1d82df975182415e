//! Each command's message about input that another stage wrote.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use std::process::Command;

use stages::{collect, output, run, segment, simulate};

#[test]
fn a_wrong_stage_says_which_command_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let trace = collect(&["--pattern", "halo2d", "--ranks", "16"]);
    let phases = segment(&[], &trace);
    let results = output(simulate(&["--topology", "star[hosts=16]"]), &phases);
    for (name, bytes) in [("trace.tar", &trace), ("phases.tar", &phases), ("results.tar", &results)] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let star: &[&str] = &["--topology", "star[hosts=16]"];
    let commands: [(&str, &str, &[&str]); 4] = [
        ("pf-collect", env!("CARGO_BIN_EXE_pf-collect"), &[]),
        ("pf-segment", env!("CARGO_BIN_EXE_pf-segment"), &[]),
        ("pf-simulate", env!("CARGO_BIN_EXE_pf-simulate"), star),
        ("pf-report", env!("CARGO_BIN_EXE_pf-report"), &[]),
    ];
    let table = [
        ("pf-collect", "phases.tar", "is a phase archive, expected a trace archive; pf-simulate reads it"),
        ("pf-collect", "results.tar", "is a result archive, expected a trace archive; pf-report reads it"),
        ("pf-segment", "phases.tar", "is a phase archive, expected a trace archive; pf-simulate reads it"),
        ("pf-segment", "results.tar", "is a result archive, expected a trace archive; pf-report reads it"),
        ("pf-simulate", "results.tar", "is a result archive, expected a trace archive; pf-report reads it"),
        ("pf-report", "trace.tar", "is a trace archive; run pf-segment and pf-simulate first"),
        ("pf-report", "phases.tar", "is a phase archive; run pf-simulate first"),
        ("pf-report", "empty", "is a directory, expected a result archive of pf-simulate"),
    ];
    for (name, input, problem) in table {
        let (_, program, options) = commands.iter().find(|command| command.0 == name).unwrap();
        let mut command = Command::new(program);
        command.current_dir(folder.path()).arg(input).args(*options);
        let done = run(command, b"");
        assert_eq!(done.status.code(), Some(1), "{name} {input}");
        assert_eq!(String::from_utf8(done.stderr).unwrap(), format!("{name}: {input}: {problem}\n"));
        assert!(done.stdout.is_empty(), "{name} {input}");
    }
    // A run directory is recognised by the names of its files.
    std::fs::create_dir(folder.path().join("run")).unwrap();
    let recording = format!("run/rank-0.{}", phaseflow_profiler::format::EXTENSION);
    std::fs::write(folder.path().join(recording), b"").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-report"));
    command.current_dir(folder.path()).arg("run");
    let problem = "is a run directory; run pf-collect, pf-segment and pf-simulate first";
    let done = run(command, b"");
    assert_eq!(String::from_utf8(done.stderr).unwrap(), format!("pf-report: run: {problem}\n"));
}
