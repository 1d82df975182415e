//! Runs of other tools in every place where they may be, through the commands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dumpi_files::{RankFile, write_run};
use flate2::Compression;
use flate2::write::GzEncoder;

#[path = "../collect/tests/dumpi_files/mod.rs"]
mod dumpi_files;

/// A second in nanoseconds.
const S: u64 = 1_000_000_000;

/// Four ranks of which each sends 4096 bytes to the next one, 50 times.
fn ring() -> Vec<Vec<u8>> {
    let ranks = 4;
    let file = |rank: i32| {
        let mut file = RankFile::new(1000);
        file.init(1000 * S, 1000 * S + 10);
        for round in 0..50 {
            let at = 1000 * S + 1_000_000 * (round + 1);
            file.send(at, at + 900, 4096, (rank + 1) % ranks, 7);
            file.receive(at + 1000, at + 2000, 4096, (rank + ranks - 1) % ranks, 7);
        }
        file.finalize(1001 * S, 1001 * S + 10);
        file.finish()
    };
    (0..ranks).map(file).collect()
}

fn collect(arguments: &[&str], folder: &Path, input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-collect"));
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its input may not read it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn text(output: &Output) -> (String, String) {
    let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (utf8(&output.stdout), utf8(&output.stderr))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn tar(folder: &Path, names: &[&str]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for name in names {
        tar.append_file(format!("run/{name}"), &mut File::open(folder.join(name)).unwrap()).unwrap();
    }
    tar.into_inner().unwrap()
}

#[test]
fn a_run_is_read_wherever_its_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    write_run(&run, "ring", &ring());
    fs::write(run.join("LICENSE"), "text").unwrap();
    let names = ["ring-0002.bin", "ring.meta", "ring-0000.bin", "LICENSE", "ring-0003.bin", "ring-0001.bin"];
    let packed = tar(&run, &names);
    fs::write(folder.path().join("run.tar"), &packed).unwrap();
    fs::write(folder.path().join("run.tar.gz"), gzip(&packed)).unwrap();
    let gzipped = folder.path().join("gzipped");
    fs::create_dir(&gzipped).unwrap();
    for name in names {
        fs::write(gzipped.join(format!("{name}.gz")), gzip(&fs::read(run.join(name)).unwrap())).unwrap();
    }
    let expected = "ranks: 4\nmessages: 200\nbytes: 819200\ncalls: 404\nmarks: 0\nunmatched: 0\n\
        duration_ns: 999000010\nclock_error_ns: 0\nsource: dumpi ring\n";
    let several: Vec<String> = names.iter().map(|name| format!("run/{name}")).collect();
    let several: Vec<&str> =
        several.iter().filter(|name| !name.ends_with("LICENSE")).map(String::as_str).collect();
    let places: [(&[&str], &[u8]); 9] = [
        (&["run"], b""),
        (&["gzipped"], b""),
        (&["run.tar"], b""),
        (&["run.tar.gz"], b""),
        (&several, b""),
        (&["run/ring.meta"], b""),
        (&["run/ring-0001.bin"], b""),
        (&["--from", "dumpi", "run"], b""),
        (&["-"], &packed),
    ];
    for (arguments, input) in places {
        let (out, err) = text(&collect(&[arguments, &["--summary"]].concat(), folder.path(), input));
        assert_eq!((out.as_str(), err.as_str()), (expected, ""), "{arguments:?}");
    }
    // The same bytes from all of them, and phases from the next command.
    let archive = |arguments: &[&str]| collect(arguments, folder.path(), b"").stdout;
    assert_eq!(archive(&["run"]), archive(&["run.tar.gz"]));
    let segment = Command::new(env!("CARGO_BIN_EXE_pf-segment")).arg(&run).arg("--list").output().unwrap();
    let (out, err) = text(&segment);
    assert!(err.is_empty() && out.lines().count() > 1, "{err}{out}");
}

#[test]
fn a_run_that_is_not_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = ring();
    let place = |name: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let refuse = |arguments: &[&str], expected: &str| {
        let output = collect(arguments, folder.path(), b"");
        let (out, err) = text(&output);
        assert_eq!((out.as_str(), err.as_str()), ("", format!("pf-collect: {expected}\n").as_str()));
        assert_eq!(output.status.code(), Some(1));
    };
    let missing = place("missing");
    write_run(&missing, "ring", &files);
    fs::remove_file(missing.join("ring-0001.bin")).unwrap();
    fs::remove_file(missing.join("ring-0002.bin")).unwrap();
    refuse(&["missing"], "missing: the files of ranks 1-2 are missing: the run has 4 ranks (ring.meta)");
    let mixed = place("mixed");
    write_run(&mixed, "ring", &files);
    fs::write(mixed.join("x.prv"), "#Paraver (1/1/01 at 0:0):5_ns:0:1:1(1:1)\n").unwrap();
    refuse(
        &["mixed"],
        "mixed: has files of two formats: ring-0000.bin is dumpi, x.prv is paraver; expected one run; \
         --from takes the files of one format",
    );
    assert!(collect(&["mixed", "--from", "dumpi"], folder.path(), b"").status.success());
    let cut = place("cut");
    let mut short = files;
    let length = short[3].len() - 700;
    short[3].truncate(length);
    write_run(&cut, "ring", &short);
    refuse(
        &["cut"],
        &format!(
            "cut: ring-0003.bin: rank 3: byte {length}: ends without an index: the file is truncated, or its \
             program did not call MPI_Finalize"
        ),
    );
}
