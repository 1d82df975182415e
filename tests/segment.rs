//! pf-segment as a user calls it: lists, matrices and scores, the same bytes for every kind of
//! input, and messages about bad input.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use phaseflow_collect::archive::{ArchiveReader, ArchiveWriter};
use phaseflow_collect::trace::{
    Header, Kind, Mark, Message, MessageBlock, Rank, RunFacts, Summary, TraceWriter,
};
use phaseflow_segment::read_segmentation;
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

/// Exit code and standard error of a call that has to fail with empty standard output.
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
    // A step takes 65 536 + 1000 ns. A halo exchange has 4 steps and 48 messages, an alltoall 15
    // steps and 240 messages.
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
    // Covering: each true stretch overlaps the one phase by its own part of the run, .210526 and
    // .789474.
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
    let directory = tempfile::tempdir().unwrap();
    let sums = collect(&["--pattern", "halo2d*5", "--ranks", "16", "--to", "pfprof"]);
    // Archives of other tools state no duration.
    let sums = String::from_utf8(sums).unwrap().replace("\"duration\"", "\"unstated\"");
    let sums = file(&directory, "sums.tar", sums.as_bytes());
    let done = segment(&["--list", name(&sums)], b"");
    assert_eq!(String::from_utf8(done.stdout).unwrap().lines().count(), 1);
    let notes = "pf-segment: only sums over the run are known: it is one phase\n\
                 pf-segment: the duration of the run is not known\n";
    assert_eq!(String::from_utf8(done.stderr).unwrap(), notes);
    let archive = collect(&[name(&sums)]);
    assert_eq!(
        text(&["--matrix", "0"], &archive),
        String::from_utf8(collect(&["--pairs", name(&sums)])).unwrap()
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
        (&["--method", "rounds[k=1]"], "--method: unknown parameter of `rounds` `k` (there is none)"),
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
    let mut damaged = two_phases();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    for (input, message) in [
        (&phases[..], "standard input: is a phase archive, expected a trace archive; pf-simulate reads it"),
        (
            b"no trace\n",
            "standard input: is of no known format (recognised by content: phaseflow, pfprof, ndjson, csv, dumpi, otf2, simgrid, goal, chakra, liballprof, paraver)",
        ),
        (b"", "standard input: is empty, expected a trace"),
    ] {
        assert_eq!(failure(&["--list"], input), (1, format!("pf-segment: {message}\n")));
    }
    let (code, message) = failure(&["--list"], &damaged);
    assert_eq!(code, 1);
    assert!(
        message.starts_with("pf-segment: standard input: messages/000003: has the checksum "),
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

/// A trace of messages (time, source, destination) of 8 bytes, as CSV.
fn csv(messages: &[(i64, u32, u32)]) -> Vec<u8> {
    let rows = messages.iter().map(|(time, src, dst)| format!("{time},{src},{dst},8\n"));
    format!("t_ns,src,dst,bytes\n{}", rows.collect::<String>()).into_bytes()
}

/// The lines of `--list` below the header, and standard error.
fn list(input: &Path) -> (Vec<String>, String) {
    let done = segment(&[name(input), "--list"], b"");
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{said}");
    let rows = String::from_utf8(done.stdout).unwrap();
    (rows.lines().skip(1).map(String::from).collect(), said)
}

#[test]
fn traces_of_next_to_nothing_have_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let at_once: Vec<_> = (0..50).map(|rank| (7, rank, rank + 1)).collect();
    let alone: Vec<_> = (0..50).map(|i| (10 * i, 0, 0)).collect();
    let none = "the trace has no messages: there are no phases";
    let one_time = "all messages have one time: they are one phase of unknown duration";
    for (what, messages, rows, note, phases) in [
        ("empty", &[][..], &[][..], none, 0),
        ("one", &[(5, 0, 1)], &["0,0,0,0,0,1,8"], one_time, 1),
        ("at-once", &at_once, &["0,0,0,0,0,50,400"], one_time, 1),
        ("alone", &alone, &["0,0,0,0,490,50,400"], "", 1),
        ("two", &[(0, 0, 1), (9, 1, 0)], &["0,0,0,0,9,2,16"], "", 1),
    ] {
        let trace = file(&directory, &format!("{what}.csv"), &csv(messages));
        let (listed, said) = list(&trace);
        assert_eq!(listed, rows, "{what}");
        assert!(said.contains(note), "{what}: {said}");
        let archive = output(&[name(&trace)], b"");
        let found = read_segmentation(ArchiveReader::open(&archive[..]).unwrap()).unwrap();
        assert_eq!((found.phases.len(), found.occurrences.len()), (phases, rows.len()), "{what}");
        let sent: u64 = found.phases.iter().map(|phase| phase.matrix.messages()).sum();
        assert_eq!(sent, messages.len() as u64);
    }
}

#[test]
fn times_that_run_backwards_are_refused_with_rank_and_record() {
    let message = |t, src| Message { send_post_ns: t, src: Rank(src), bytes: 8, ..Message::default() };
    // Within a block, and from one block to the next.
    for (blocks, problem) in [
        (
            vec![vec![message(5, 2), message(9, 3), message(8, 1)]],
            "messages/000000: row 2: time 8 ns of rank 1 is before 9",
        ),
        (
            vec![vec![message(9, 3)], vec![message(4, 7), message(5, 1)]],
            "messages/000001: row 0: time 4 ns of rank 7 is before 9",
        ),
    ] {
        let mut archive = ArchiveWriter::new(Vec::new(), false, &Header::new(Kind::Timed, "test")).unwrap();
        for (number, messages) in blocks.iter().enumerate() {
            let mut block = MessageBlock::default();
            messages.iter().for_each(|message| block.push(message));
            archive.member(&format!("messages/{number:06}"), &block.encode(Vec::new())).unwrap();
        }
        let bytes = archive.finish(&Summary::default()).unwrap();
        let expected = format!("pf-segment: standard input: {problem} ns of the row before it\n");
        for arguments in [&[][..], &["--list"], &["--method", "none"]] {
            assert_eq!(failure(arguments, &bytes), (1, expected.clone()));
        }
    }
}

#[test]
fn a_hundred_thousand_phases() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    for time_ns in 0..100_001 {
        writer.mark(&Mark { time_ns, rank: Rank(0), level: i32::try_from(time_ns).unwrap() }).unwrap();
        let message = Message { send_post_ns: time_ns, dst: Rank(1), bytes: 8, ..Message::default() };
        writer.message(&message).unwrap();
    }
    let trace = file(&directory, "marks.tar", &writer.finish(&RunFacts::default()).unwrap().1);
    let phases = directory.path().join("phases.tar");
    output(&[name(&trace), "--method", "marks", "-o", name(&phases)], b"");
    let archive = ArchiveReader::open(std::io::BufReader::new(fs::File::open(&phases).unwrap())).unwrap();
    let found = read_segmentation(archive).unwrap();
    assert_eq!((found.phases.len(), found.occurrences.len()), (100_000, 100_000));
    assert!(found.phases[..99_999].iter().all(|phase| phase.matrix.messages() == 1));
    // The default method has no room for as many phases; its segmentation still covers the run.
    let pattern = ["--pattern", "(halo2d,shift)*50000", "--ranks", "4", "--bytes", "64"];
    let short = file(&directory, "short.tar", &collect(&pattern));
    let (rows, _) = list(&short);
    let mut reached = 0;
    for row in &rows {
        let fields: Vec<u64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        if fields[2] == 0 {
            assert_eq!(fields[3], reached, "{row}");
            reached = fields[4];
        }
    }
    assert!(reached > 50_000 && !rows.is_empty());
}

/// A schedule has an order and no times. Its phases are those of the program, to a round or so;
/// what needs times is refused.
#[test]
fn a_schedule_is_split_by_position() {
    let program = "halo2d[bytes=4KiB]*40,alltoall[bytes=1KiB]*6,halo2d[bytes=4KiB]*40";
    let goal = collect(&["--pattern", program, "--ranks", "16", "--jitter", "0.05", "--to", "goal"]);
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "run.goal", &goal);
    let path = name(&path);
    let list = text(&["--quiet", "--list", path], &[]);
    let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let phases: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(phases, ["0", "1", "0"], "{list}");
    assert!(rows.iter().all(|row| row[3].is_empty() && row[4].is_empty()), "{list}");
    // A halo exchange of 4 × 4 ranks has 48 messages, an alltoall 240.
    let messages: Vec<u64> = rows.iter().map(|row| row[5].parse().unwrap()).collect();
    assert_eq!(messages.iter().sum::<u64>(), 40 * 48 + 6 * 240 + 40 * 48);
    for (found, expected) in messages.iter().zip([40 * 48, 6 * 240, 40 * 48]) {
        assert!(found.abs_diff(expected) <= 48, "{messages:?}");
    }
    // Standard input may have any form that a file may have.
    assert_eq!(text(&["--quiet", "--list"], &goal), list);
    let csv = collect(&["--quiet", "--to", "csv", path]);
    let of_lines = text(&["--quiet", "--list"], &csv);
    let of_lines: u64 =
        of_lines.lines().skip(1).map(|line| line.split(',').nth(5).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(of_lines, messages.iter().sum::<u64>());
    let without = "the trace has an order but no times";
    let (status, error) = failure(&["--quiet", "--method", "kmeans", path], &[]);
    assert_eq!(status, 2);
    assert!(error.contains(&format!("`kmeans` needs times, and {without}")), "{error}");
    let (status, error) = failure(&["--quiet", "--min-duration", "1ms", path], &[]);
    assert_eq!(status, 2);
    assert!(error.contains(&format!("needs times, and {without}")), "{error}");
    let archive = output(&["--quiet", path], &[]);
    let segmentation = read_segmentation(ArchiveReader::open(&archive[..]).unwrap()).unwrap();
    assert!(segmentation.phases.iter().all(|phase| phase.duration_ns.is_none()));
    assert!(segmentation.occurrences.is_empty());
}
