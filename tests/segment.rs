//! pf-segment as a user calls it: lists, matrices and scores, the same bytes however it is fed, and what it says of bad input.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn collect(arguments: &[&str]) -> Vec<u8> {
    let done = Command::new(env!("CARGO_BIN_EXE_pf-collect")).args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

fn segment(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pf-segment"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early does not read all of it.
    let feeder = std::thread::spawn(move || stdin.write_all(&input).ok());
    let done = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    done
}

/// Standard output of a call that has to succeed.
fn output(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let done = segment(arguments, input);
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

fn text(arguments: &[&str], input: &[u8]) -> String {
    String::from_utf8(output(arguments, input)).unwrap()
}

/// Exit code and standard error of a call that has to fail, without a word on standard output.
fn failure(arguments: &[&str], input: &[u8]) -> (i32, String) {
    let done = segment(arguments, input);
    assert!(done.stdout.is_empty(), "{arguments:?}");
    (done.status.code().unwrap(), String::from_utf8(done.stderr).unwrap())
}

/// Twenty rounds of a halo exchange, then twenty alltoalls, 16 ranks.
fn two_phases() -> Vec<u8> {
    collect(&["--pattern", "halo2d,alltoall", "--ranks", "16", "--bytes", "64KiB", "--repeat", "20"])
}

fn file(directory: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn two_phases_are_listed_to_the_nanosecond() {
    let trace = two_phases();
    // A step takes 65 536 + 1000 ns; a halo exchange has 4 steps and 48 messages, an alltoall 15 and 240.
    let expected = "occurrence,phase,depth,start_ns,end_ns,messages,bytes\n\
                    0,0,0,0,5322880,960,62914560\n\
                    1,1,0,5322880,25283680,4800,314572800\n";
    assert_eq!(text(&["--list"], &trace), expected);
    assert_eq!(text(&["--list", "--level", "outer", "--method", "marks"], &trace), expected);
    let matrix = text(&["--matrix", "1"], &trace);
    let mut rows = matrix.lines();
    assert_eq!(rows.next(), Some("src,dst,messages,bytes"));
    assert_eq!(rows.next(), Some("0,1,20,1310720"));
    assert_eq!(rows.count(), 239);
}

#[test]
fn scores_against_a_truth() {
    let directory = tempfile::tempdir().unwrap();
    let truth = "start_ns,end_ns,label\n0,5322880,halo\n5322880,25283680,alltoall\n";
    let truth = file(&directory, "truth.csv", truth.as_bytes());
    let scores = text(&["--score", name(&truth)], &two_phases());
    assert_eq!(scores, "boundary_f1: 1.000000\ncovering: 1.000000\nlabel_ari: 1.000000\n");
    let scores = text(&["--score", name(&truth), "--method", "none"], &two_phases());
    // Covering: each true stretch overlaps the one phase by its own part of the run, .210526 and .789474.
    assert_eq!(scores, "boundary_f1: 0.000000\ncovering: 0.667590\nlabel_ari: 0.000000\n");
    let broken = file(&directory, "broken.csv", b"start_ns,end_ns,label\n0,10,a\n5,20,b\n");
    let problem = "line 3: from 5 to 20 ns, expected a start not before 10 ns and an end after it";
    let expected = (1, format!("pf-segment: {}: {problem}\n", broken.display()));
    assert_eq!(failure(&["--score", name(&broken)], &two_phases()), expected);
}

#[test]
fn exact_scores_where_the_truth_knows_its_messages() {
    let directory = tempfile::tempdir().unwrap();
    let truth = directory.path().join("truth.csv");
    let run = ["--pattern", "halo2d,alltoall", "--ranks", "16", "--repeat", "20", "--truth", name(&truth)];
    let trace = collect(&run);
    let scores = text(&["--score", name(&truth)], &trace);
    assert!(scores.ends_with("label_ari: 1.000000\nexact_f1: 1.000000\n"), "{scores}");
    // Three boundaries at quarters of the run, none of them at the one true boundary.
    let quarters = text(&["--score", name(&truth), "--method", "windows", "--windows", "4"], &trace);
    assert!(quarters.ends_with("\nexact_f1: 0.000000\n"), "{quarters}");
}

#[test]
fn threads_files_and_pipes_give_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let trace =
        collect(&["--pattern", "halo3d,allreduce,random", "--ranks", "27", "--repeat", "30", "--gap", "1ms"]);
    let plain = file(&directory, "t.tar", &trace);
    for method in ["rounds", "kmeans", "dbscan", "optics", "gmm", "jsd", "marks", "windows", "none"] {
        let arguments = ["--method", method, "--windows", "256"];
        let bytes = output(&arguments, &trace);
        for extra in
            [&["--threads", "1"][..], &["--threads", "2"], &[name(&plain), "--threads", "2"], &[name(&plain)]]
        {
            let arguments = [&arguments[..], extra].concat();
            assert!(output(&arguments, &trace) == bytes, "{arguments:?}");
        }
    }
    let out = directory.path().join("p.tar.gz");
    output(&[name(&plain), "-o", name(&out)], b"");
    assert!(fs::read(&out).unwrap().starts_with(&[0x1f, 0x8b]));
}

#[test]
fn other_formats_are_read_too() {
    let directory = tempfile::tempdir().unwrap();
    let csv = "t_ns,src,dst,bytes\n".to_string()
        + &(0..100).map(|i| format!("{},{},{},64\n", i * 10, i % 4, (i + 1) % 4)).collect::<String>();
    let csv = file(&directory, "t.csv", csv.as_bytes());
    assert_eq!(text(&["--list", name(&csv)], b"").lines().nth(1), Some("0,0,0,0,990,100,6400"));
}

#[test]
fn sums_pass_as_one_phase_with_a_note() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/pfsim/cg-c-128.tar.gz");
    if !directory.exists() {
        eprintln!("skipped: {} is not there", directory.display());
        return;
    }
    let done = segment(&["--list", name(&directory)], b"");
    assert_eq!(String::from_utf8(done.stdout).unwrap().lines().count(), 1);
    let notes = "pf-segment: only sums over the run are known: it is one phase\n\
                 pf-segment: the duration of the run is not known\n";
    assert_eq!(String::from_utf8(done.stderr).unwrap(), notes);
    let archive = collect(&[name(&directory)]);
    assert_eq!(
        text(&["--matrix", "0"], &archive),
        String::from_utf8(collect(&["--pairs", name(&directory)])).unwrap()
    );
}

#[test]
fn a_cut_archive_leaves_no_output() {
    let directory = tempfile::tempdir().unwrap();
    let trace = two_phases();
    let out = directory.path().join("never.tar.gz");
    for cut in [700, 2000, trace.len() / 2, trace.len() - 1200] {
        let path = file(&directory, "cut.tar", &trace[..cut]);
        let (code, message) = failure(&[name(&path), "-o", name(&out)], b"");
        assert_eq!((code, message.lines().count()), (1, 1), "{message}");
        assert!(message.starts_with(&format!("pf-segment: {}: ", path.display())), "{message}");
        assert!(message.ends_with("ends too early: the file is truncated\n"), "{message}");
    }
    let (code, message) = failure(&["-o", name(&out)], &trace[..2000]);
    assert_eq!(code, 1);
    assert_eq!(message, "pf-segment: standard input: calls/000000: ends too early: the file is truncated\n");
    assert!(!out.exists());
    let left: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["cut.tar"]);
}

#[test]
fn wrong_requests_say_what_would_be_right() {
    let trace = two_phases();
    for (arguments, message) in [
        (
            &["--method", "kmean"][..],
            "--method: unknown method `kmean`; did you mean kmeans? (known: rounds, kmeans, dbscan, optics, gmm, jsd, marks, windows, none)",
        ),
        (&["--method", "rounds[k=1]"], "--method: unknown parameter of `rounds` `k` (known: )"),
        (&["--method", "gmm[k=x]"], "--method: `gmm[k=x]`: k is `x`, expected a whole number"),
        (
            &["--method", "dbscan[radius=-1]"],
            "--method: `dbscan[radius=-1]`: radius is -1, expected a positive number",
        ),
        (&["--windows", "1"], "--windows: is 1, expected 2 to 4096"),
        (&["--max-phases", "0"], "--max-phases: is 0, expected at least 1"),
        (&["--min-duration", "5"], "--min-duration: `5` is not a time; write 250ns, 5us, 1ms or 2s"),
        (&["--matrix", "2"], "--matrix: there is no phase `2`; the run has 2, 0 to 1"),
    ] {
        assert_eq!(failure(arguments, &trace), (2, format!("pf-segment: {message}\n")));
    }
}

#[test]
fn damaged_or_foreign_input_is_one_sentence() {
    let phases = output(&[], &two_phases());
    let csv = collect(&["--pattern", "shift", "--ranks", "4", "--repeat", "3", "--to", "csv"]);
    let mut damaged = two_phases();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for (input, message) in [
        (&phases[..], "standard input: header.json: holds `phaseflow.phases`, expected `phaseflow.trace`"),
        (&csv, "standard input: ends too early: the file is truncated"),
        (b"", "standard input: ends too early: the file is truncated"),
    ] {
        assert_eq!(failure(&["--list"], input), (1, format!("pf-segment: {message}\n")));
    }
    let (code, message) = failure(&["--list"], &damaged);
    assert_eq!(code, 1);
    assert!(
        message.starts_with("pf-segment: standard input: messages/000003: is damaged: checksum "),
        "{message}"
    );
    let done = segment(&["--list", "--method", "marks"], &marksless());
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(done.stderr).unwrap(),
        "pf-segment: standard input: the trace has no marks (MPI_Pcontrol), which `--method marks` splits at; use another method\n"
    );
}

/// A trace from CSV has no marks.
fn marksless() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let csv = file(&directory, "t.csv", b"t_ns,src,dst,bytes\n0,0,1,8\n9,1,0,8\n");
    collect(&[name(&csv)])
}
