//! pf-collect as a user calls it: round trips, equal bytes for every kind of input, and one clear
//! sentence for each bad input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

/// Runs pf-collect in `folder` with `input` on standard input.
fn collect(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pf-collect"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that fails early does not read everything, which is no error.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

/// Standard output of a run that has to succeed with empty standard error.
fn stdout(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let output = collect(folder, arguments, input);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

fn text(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    String::from_utf8(stdout(folder, arguments, input)).unwrap()
}

/// Checks that `arguments` fail with `code` and exactly this line, and leave no file behind.
fn refused(folder: &Path, arguments: &[&str], input: &[u8], code: i32, line: &str) {
    let before = listing(folder);
    let output = collect(folder, &[arguments, &["-o", "out.tar"]].concat(), input);
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("pf-collect: {line}\n"), "{arguments:?}");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    assert_eq!(listing(folder), before, "{arguments:?} left something behind");
}

fn listing(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A tar of these members.
fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        // Unlike `set_path`, this accepts the names of a hostile archive.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// The PFProf file of one of two ranks: rank 0 sends 3 messages of 100 bytes to rank 1, of which 2
/// arrive.
fn rank_file(rank: usize) -> String {
    let pick = |there: &'static str| if rank == 0 { format!("[0, {there}]") } else { "[0, 0]".into() };
    let received = |there: &'static str| if rank == 1 { format!("[{there}, 0]") } else { "[0, 0]".into() };
    format!(
        "{{\n  \"n_procs\": 2,\n  \"rank\": {rank},\n  \"tx_bytes\": {},\n  \"tx_messages\": {},\n  \"rx_bytes\": {},\n  \
         \"rx_messages\": {},\n  \"tx_message_sizes\": [],\n  \"rx_message_sizes\": []\n}}\n",
        pick("300"),
        pick("3"),
        received("200"),
        received("2"),
    )
}

fn pfprof(change: impl Fn(usize, String) -> String) -> Vec<u8> {
    let files: Vec<String> = (0..2).map(|rank| change(rank, rank_file(rank))).collect();
    tar(&[("run/r1.json", files[1].as_bytes()), ("run/r0.json", files[0].as_bytes())])
}

#[test]
fn csv_comes_back_as_it_was() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let canonical = "t_ns,src,dst,bytes,tag,op\n-5,3,1,0,,\n7,0,1,8,-12,allreduce\n7,0,2,9,4,\n7,2,0,9223372036854775000,,bcast\n";
    let archive = stdout(folder, &["-"], canonical.as_bytes());
    assert_eq!(text(folder, &["--to", "csv"], &archive), canonical);
    // Through NDJSON, and through a file, with and without gzip.
    let ndjson = stdout(folder, &["--to", "ndjson"], &archive);
    assert_eq!(text(folder, &["--to", "csv"], &ndjson), canonical);
    stdout(folder, &["-o", "a.tgz"], &gzip(canonical.as_bytes()));
    assert_eq!(fs::read(folder.join("a.tgz")).unwrap()[..2], [0x1f, 0x8b]);
    assert_eq!(text(folder, &["a.tgz", "--to", "csv"], b""), canonical);
}

#[test]
fn messages_in_any_order_become_sorted() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let lines = ["9,1,0,1", "3,2,0,2", "3,1,0,3", "9,1,0,4", "3,2,1,5", "-1,0,1,6"];
    let unsorted = format!("t_ns,src,dst,bytes\n{}", lines.join("\n"));
    // By time, then source, then position in the file.
    let sorted =
        "t_ns,src,dst,bytes,tag,op\n-1,0,1,6,,\n3,1,0,3,,\n3,2,0,2,,\n3,2,1,5,,\n9,1,0,1,,\n9,1,0,4,,\n";
    fs::write(folder.join("in.csv"), &unsorted).unwrap();
    assert_eq!(text(folder, &["in.csv", "--to", "csv"], b""), sorted);
    assert_eq!(text(folder, &["--to", "csv"], unsorted.as_bytes()), sorted);
}

#[test]
fn bytes_do_not_depend_on_how_the_command_is_fed() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let pattern = ["--pattern", "random,permutation,sweep", "--ranks", "60", "--repeat", "40", "--seed", "7"];
    let archive = stdout(folder, &pattern, b"");
    assert_eq!(stdout(folder, &[&pattern[..], &["--threads", "2"]].concat(), b""), archive);
    fs::write(folder.join("a.tar"), &archive).unwrap();
    stdout(folder, &["a.tar", "-o", "b.tar"], b"");
    assert_eq!(fs::read(folder.join("b.tar")).unwrap(), archive, "our own archive passes unchanged");
    let csv = stdout(folder, &["--to", "csv"], &archive);
    fs::write(folder.join("a.csv"), &csv).unwrap();
    let from_file = stdout(folder, &["a.csv"], b"");
    assert_eq!(stdout(folder, &[], &csv), from_file);
    assert_eq!(stdout(folder, &["--threads", "1"], &gzip(&csv)), from_file);
}

#[test]
fn pfprof_comes_as_tar_directory_or_files() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let archive = pfprof(|_, text| text);
    let summary = "ranks: 2\nmessages: 3\nbytes: 300\ncalls: 0\nmarks: 0\nunmatched: 1\nduration_ns:\nclock_error_ns:\nsource: pfprof\n";
    assert_eq!(text(folder, &["--summary"], &archive), summary);
    let zipped = gzip(&archive);
    assert_eq!(text(folder, &["--summary"], &zipped), summary);
    // Compressed by gzip in two pieces, as parallel compressors do.
    let pieces = [gzip(&archive[..700]), gzip(&archive[700..])].concat();
    assert_eq!(text(folder, &["--summary"], &pieces), summary);
    fs::create_dir(folder.join("run")).unwrap();
    for rank in 0..2 {
        fs::write(folder.join(format!("run/r{rank}.json")), rank_file(rank)).unwrap();
    }
    fs::write(folder.join("run/notes.txt"), "not a rank").unwrap();
    assert_eq!(text(folder, &["run", "--summary"], b""), summary);
    assert_eq!(text(folder, &["run/r1.json", "run/r0.json", "--summary"], b""), summary);
    assert_eq!(text(folder, &["run", "--pairs"], b""), "src,dst,messages,bytes\n0,1,3,300\n");
    // The longest duration counts, if any is stated.
    let timed = pfprof(|rank, text| text.replace("{\n", &format!("{{\n  \"duration\": {rank}.5,\n")));
    assert!(text(folder, &["--summary"], &timed).contains("duration_ns: 1500000000\n"));
    let trace = stdout(folder, &[], &timed);
    assert_eq!(stdout(folder, &[], &trace), trace, "an aggregate trace passes unchanged");
    refused(
        folder,
        &["--to", "csv"],
        &trace,
        2,
        "standard input: the trace has sums only, no single messages for CSV; use --pairs or --to archive",
    );
}

#[test]
#[ignore = "reads PFSim's archives in ../shared/data; tests/run runs it where they are"]
fn shared_data_pfprof_archives() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/pfsim");
    // Sums that another program computed from the JSON files.
    for (name, messages, bytes, unmatched) in [
        ("cg-c-128.tar.gz", 1_780_871, 94_852_203_096u64, 1_547_255),
        ("milc-128.tar.gz", 10_123_389, 82_027_254_272, 19_405_828),
    ] {
        let summary = text(&data, &[name, "--summary"], b"");
        let expected = format!(
            "ranks: 128\nmessages: {messages}\nbytes: {bytes}\ncalls: 0\nmarks: 0\nunmatched: {unmatched}\n"
        );
        assert!(summary.starts_with(&expected), "{summary}");
        let pairs = text(&data, &[name, "--pairs"], b"");
        let sum: u64 =
            pairs.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(sum, bytes);
    }
}

/// Expects that an archive of PFProf is refused, as a file and from a pipe.
fn refuse_archive(folder: &Path, bytes: &[u8], line: &str) {
    fs::write(folder.join("bad.tar"), bytes).unwrap();
    refused(folder, &["bad.tar"], b"", 1, &format!("bad.tar: {line}"));
    refused(folder, &["-"], bytes, 1, &format!("standard input: {line}"));
}

/// An archive with one change in the file of rank 0.
fn in_rank_0(from: &'static str, to: &'static str) -> Vec<u8> {
    pfprof(move |rank, text| if rank == 0 { text.replacen(from, to, 1) } else { text })
}

#[test]
fn bad_pfprof_archives() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let refuse = |bytes: &[u8], line: &str| refuse_archive(folder, bytes, line);
    let whole = pfprof(|_, text| text);
    let truncated = "ends too early: the file is truncated";
    refuse(&whole[..whole.len() - 1024], truncated);
    refuse(&whole[..600], &format!("run/r1.json: {truncated}"));
    let zipped = gzip(&whole);
    refuse(&zipped[..zipped.len() - 4], truncated);
    refuse(
        &in_rank_0("{", "hello {"),
        "run/r0.json: line 1, column 1: is not JSON: found `h`, expected an object, `{`",
    );
    refuse(
        &in_rank_0("[0, 3]", "[0, 3"),
        "run/r0.json: line 6, column 3: is not JSON: found `\"`, expected a number",
    );
}

#[test]
fn pfprof_archives_with_wrong_ranks_or_counts() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let refuse = |bytes: &[u8], line: &str| refuse_archive(folder, bytes, line);
    let alone = |rank: usize| tar(&[("a.json", rank_file(rank).as_bytes())]);
    refuse(&alone(0), "rank 1 is missing, expected all of 0 to 1");
    refuse(&alone(1), "rank 0 is missing, expected all of 0 to 1");
    let many = rank_file(1).replace("\"n_procs\": 2", "\"n_procs\": 6").replace("0]", "0, 0, 0, 0, 0]");
    refuse(
        &tar(&[("a.json", many.as_bytes())]),
        "ranks 0, 2, 3 and 2 more are missing, expected all of 0 to 5",
    );
    refuse(
        &in_rank_0("\"rank\": 0", "\"rank\": 1"),
        "run/r0.json: holds rank 1 again, which run/r1.json holds already",
    );
    refuse(
        &in_rank_0("[0, 300]", "[300]"),
        "run/r0.json: line 4: tx_bytes has 1 entries, expected 2 (n_procs)",
    );
    refuse(
        &in_rank_0("\"n_procs\": 2", "\"n_procs\": 1"),
        "run/r0.json: line 4: tx_bytes has 2 entries, expected 1 (n_procs)",
    );
    let smaller = rank_file(0).replace("\"n_procs\": 2", "\"n_procs\": 1").replace("[0, ", "[");
    refuse(
        &tar(&[("r1.json", rank_file(1).as_bytes()), ("r0.json", smaller.as_bytes())]),
        "r0.json: n_procs is 1, expected 2 as in r1.json",
    );
    refuse(
        &in_rank_0("300", "-300"),
        "run/r0.json: line 4, column 19: tx_bytes[1] is -300, expected a whole number from 0 to 9223372036854775807",
    );
    refuse(
        &in_rank_0("300", "9223372036854775808"),
        "run/r0.json: line 4, column 19: tx_bytes[1] is 9223372036854775808, expected a whole number from 0 to 9223372036854775807",
    );
    let both = pfprof(|rank, text| match rank {
        0 => text.replace("300", "9223372036854775807"),
        _ => text.replacen("[0, 0]", "[1, 0]", 2),
    });
    refuse(&both, "bytes sum up to more than 2^63-1: 9223372036854775807 + 1");
    for name in ["../r0.json", "/r0.json", "run/../../r0.json"] {
        refuse(&tar(&[(name, rank_file(0).as_bytes())]), &format!("member name {name} leaves the archive"));
    }
    refuse(
        &tar(&[("readme.txt", b"hello")]),
        "holds no trace: neither recordings of pf-profile (*.pfr) nor files of a known format (recognised by content: phaseflow, pfprof, ndjson, csv, dumpi, otf2, simgrid, goal, chakra, liballprof, paraver)",
    );
    fs::create_dir(folder.join("empty")).unwrap();
    refused(
        folder,
        &["empty"],
        b"",
        1,
        "empty: holds no trace: neither recordings of pf-profile (*.pfr) nor files of a known format (recognised by content: phaseflow, pfprof, ndjson, csv, dumpi, otf2, simgrid, goal, chakra, liballprof, paraver)",
    );
}

#[test]
fn claims_in_a_tar_header_are_not_believed() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // 10 GB in a header, for a rank file and for the long name of one, with nearly nothing behind
    // it.
    for (kind, line) in [
        (
            tar::EntryType::Regular,
            "standard input: r0.json: claims 10000000000 bytes, a rank file has at most 134217728",
        ),
        (
            tar::EntryType::GNULongName,
            "standard input: a long member name: has more than 65536 bytes, the most of a file of this kind",
        ),
        (
            tar::EntryType::XHeader,
            "standard input: an extended member header: has more than 65536 bytes, the most of a file of this kind",
        ),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_path("r0.json").unwrap();
        header.set_size(10_000_000_000);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&[b'7'; 100_000]);
        refused(folder, &[], &bytes, 1, line);
    }
    // Our own archive, too.
    let archive = stdout(folder, &["--pattern", "shift", "--ranks", "2"], b"");
    let at = archive.windows(9).position(|bytes| bytes == b"messages/").unwrap();
    let mut header = tar::Header::from_byte_slice(&archive[at..at + 512]).clone();
    header.set_size(10_000_000_000);
    header.set_cksum();
    let bytes = [&archive[..at], header.as_bytes(), &archive[at + 512..]].concat();
    let line = format!(
        "standard input: messages/000000: claims 10000000000 bytes, a member of this kind has at most {}",
        phaseflow_collect::archive::columns::LARGEST_BYTES
    );
    refused(folder, &[], &bytes, 1, &line);
}

#[test]
fn bad_messages() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let refuse = |text: &str, line: &str| {
        fs::write(folder.join("bad"), text).unwrap();
        refused(folder, &["bad"], b"", 1, &format!("bad: {line}"));
        refused(folder, &[], text.as_bytes(), 1, &format!("standard input: {line}"));
    };
    refuse("", "is empty, expected a trace");
    refuse(
        "hello\n",
        "is of no known format (recognised by content: phaseflow, pfprof, ndjson, csv, dumpi, otf2, simgrid, goal, chakra, liballprof, paraver)",
    );
    refuse(
        "time,src,dst,bytes\n",
        "line 1: the header `time,src,dst,bytes` lacks `t_ns`, expected t_ns,src,dst,bytes[,tag][,op]",
    );
    refuse("t_ns,src,dst,bytes\n1,0,1,2\n2,0,1\n", "line 3: has 3 fields, expected 4 (t_ns,src,dst,bytes)");
    refuse(
        "t_ns,src,dst,bytes\n1,0,1,2\n2,0,1,-1",
        "line 3: bytes: found `-1`, expected a whole number from 0 to 9223372036854775807",
    );
    refuse(
        "t_ns,src,dst,bytes\n2,0,4294967295,1\n",
        "line 2: dst: found `4294967295`, expected a whole number from 0 to 16777215",
    );
    refuse(
        "{\"t_ns\":1,\"src\":0,\"dst\":1,\"bytes\":8}\n{\"t_ns\":1,\"src\":0,\"dst\":1}\n",
        "line 2: lacks `bytes`, expected t_ns, src, dst, bytes",
    );
    refuse(
        "{\"t_ns\":1,\"src\":0,\"dst\":1,\"bytes\":8}\n{\"t_ns\":1,\"src\":0,",
        "line 2: column 18: is not a message in JSON: EOF while parsing a value",
    );
    refuse(
        "{\"t_ns\":1,\"src\":-1,\"dst\":1,\"bytes\":8}\n",
        "line 1: src: found `-1`, expected a whole number from 0 to 16777215",
    );
    refuse(
        "t_ns,src,dst,bytes\n1,0,1,9223372036854775807\n1,0,1,1\n",
        "all messages together have more than 2^63-1 bytes",
    );
}

#[test]
fn damaged_archives() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let archive = stdout(folder, &["--pattern", "shift", "--ranks", "4"], b"");
    let cut = |bytes: &[u8], line: &str| refused(folder, &[], bytes, 1, &format!("standard input: {line}"));
    cut(&archive[..1000], "ends too early: the file is truncated");
    let at = archive.windows(9).position(|bytes| bytes == b"messages/").unwrap();
    cut(&archive[..at + 600], "messages/000000: ends too early: the file is truncated");
    let mut flipped = archive.clone();
    flipped[at + 512 + 40] ^= 1;
    let output = collect(folder, &[], &flipped);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with("pf-collect: standard input: messages/000000: has the checksum "),
        "{message}"
    );
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&archive).unwrap();
    let zipped = encoder.finish().unwrap();
    cut(&zipped[..zipped.len() - 9], "ends too early: the file is truncated");
}

#[test]
fn requests_that_cannot_be_met() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("a.csv"), "t_ns,src,dst,bytes\n").unwrap();
    let usage = |arguments: &[&str], line: &str| refused(folder, arguments, b"", 2, line);
    usage(
        &["--pattern", "halo2", "--ranks", "4"],
        "--pattern: unknown pattern `halo2`; did you mean halo2d or halo3d? (known: permutation, shift, alltoall, allreduce, halo2d, halo3d, transpose, incast, bisection, random, sweep, broadcast, scatter, rows, columns, contacts, farm, pair, exchange, gather)",
    );
    usage(
        &["--pattern", "transpose", "--ranks", "13"],
        "transpose needs a grid, but 13 ranks, a prime number, only have 1×13",
    );
    usage(&["--pattern", "shift", "--ranks", "1"], "a pattern has 2 to 16777216 ranks, not 1");
    usage(
        &["--pattern", "shift", "--ranks", "2", "--bytes", "many"],
        "--bytes: `many` is not a size; write 4096, 64KiB or 16MB",
    );
    usage(
        &["--pattern", "shift", "--ranks", "2", "--gap", "5"],
        "--gap: `5` is not a time; write 250ns, 5us, 1ms or 2s",
    );
    usage(
        &["a.csv", "--from", "cvs"],
        "--from: unknown format `cvs`; did you mean csv? (known: phaseflow, pfprof, ndjson, csv, recording, dumpi, otf2, simgrid, goal, chakra, liballprof, paraver)",
    );
    usage(&["a.csv", "--expand", "open-mpi"], "a.csv: this format has no calls to expand (--expand)");
    usage(
        &["a.csv", "a.csv"],
        "2 inputs given, expected one (several only if they are the files of one run)",
    );
    refused(folder, &["b.csv"], b"", 1, "b.csv: No such file or directory (os error 2)");
    refused(
        folder,
        &["a.csv", "--from", "ndjson"],
        b"",
        1,
        "a.csv: line 1: is not a message in JSON: expected an object, `{`",
    );
    // clap's own error has exit code 2 as well.
    assert_eq!(collect(folder, &["--pattern", "shift"], b"").status.code(), Some(2));
    assert_eq!(collect(folder, &["--pattern", "shift", "--ranks", "4", "a.csv"], b"").status.code(), Some(2));
}

#[test]
fn a_trace_without_messages_is_a_trace() {
    let folder = TempDir::new().unwrap();
    let summary = text(folder.path(), &["--summary"], b"t_ns,src,dst,bytes\n");
    assert_eq!(
        summary,
        "ranks: 0\nmessages: 0\nbytes: 0\ncalls: 0\nmarks: 0\nunmatched:\nduration_ns:\nclock_error_ns:\nsource: csv\n"
    );
}

#[test]
fn patterns_are_summed_up_by_their_formulas() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let check = |arguments: &[&str], lines: &[&str]| {
        let summary = text(folder, &[arguments, &["--summary"]].concat(), b"");
        for line in lines {
            assert!(summary.lines().any(|found| found == *line), "{arguments:?}: no `{line}` in\n{summary}");
        }
    };
    let ring = ["--pattern", "allreduce", "--ranks", "8", "--bytes", "100MB"];
    check(&ring, &["ranks: 8", "messages: 112", "bytes: 1400000000", "calls: 8", "duration_ns: 175014000"]);
    let shift = ["--pattern", "shift", "--ranks", "2", "--bytes", "1GB"];
    check(&shift, &["messages: 2", "bytes: 2000000000", "duration_ns: 1000001000"]);
    let small = ["--pattern", "allreduce", "--ranks", "2", "--bytes", "25200"];
    check(&small, &["messages: 4", "bytes: 50400"]);
    let two = ["--pattern", "halo2d,alltoall", "--ranks", "16", "--bytes", "64KiB", "--repeat", "20"];
    check(&two, &["messages: 5760", "marks: 32", "source: pattern halo2d,alltoall"]);
    assert_eq!(
        text(folder, &["--pattern", "incast", "--ranks", "3", "--pairs"], b""),
        "src,dst,messages,bytes\n1,0,1,65536\n2,0,1,65536\n"
    );
}

#[test]
fn a_generated_run_comes_with_its_truth() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // Steps take 65 536 + 1000 ns, and 2000 ns in the small shift. A shift has one step, an
    // exchange on 2×2 ranks four. Between the two lies half of the pause of one.
    let program = "shift*2,(halo2d,shift[bytes=1000,gap=1us])*2,idle[time=9us],halo2d";
    let arguments = ["--pattern", program, "--ranks", "4", "--truth", "truth.csv", "--summary"];
    let summary = text(folder, &arguments, b"");
    assert!(summary.contains("\nmessages: 40\n") && summary.contains("\nmarks: 28\n"), "{summary}");
    let expected = "start_ns,end_ns,label,outer,first_message,last_message
0,133072,shift,shift,0,7
133072,399716,halo2d,\"(halo2d,shift[bytes=1000,gap=1us])\",8,15
399716,402216,\"shift[bytes=1000,gap=1us]\",\"(halo2d,shift[bytes=1000,gap=1us])\",16,19
402216,668860,halo2d,\"(halo2d,shift[bytes=1000,gap=1us])\",20,27
668860,670860,\"shift[bytes=1000,gap=1us]\",\"(halo2d,shift[bytes=1000,gap=1us])\",28,31
670860,679860,idle,idle,,
679860,946004,halo2d,halo2d,32,39
";
    assert_eq!(std::fs::read_to_string(folder.join("truth.csv")).unwrap(), expected);
    // A list of patterns repeated twice is a loop.
    let nested = text(folder, &["--pattern", "shift,halo2d", "--ranks", "4", "--nest", "2", "--pairs"], b"");
    let looped = text(folder, &["--pattern", "(shift,halo2d)*2", "--ranks", "4", "--pairs"], b"");
    assert_eq!(nested, looped);
}

#[test]
fn untidy_runs_are_reproducible() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let run = |seed: &str| {
        let plain = ["--pattern", "halo2d*9,alltoall*3", "--ranks", "16", "--idle", "1ms", "--seed", seed];
        let untidy =
            ["--jitter", "1.5", "--noise", "0.1", "--drift", "0.5", "--skew", "90us", "--truth", "t.csv"];
        let as_real = ["--waits", "--irregular", "pareto", "--imbalance", "0.3", "--renumber"];
        let sizes = ["--heavy", "0.01", "--light", "0.1", "--gap", "20us"];
        let archive = stdout(folder, &[&plain[..], &untidy, &as_real, &sizes].concat(), b"");
        (archive, std::fs::read(folder.join("t.csv")).unwrap())
    };
    let first = run("3");
    assert!(first == run("3"));
    assert!(first != run("4"));
}

#[test]
fn programs_that_cannot_be_run() {
    let folder = TempDir::new().unwrap();
    let refuse = |arguments: &[&str], line: &str| refused(folder.path(), arguments, b"", 2, line);
    let pattern = |text| ["--pattern", text, "--ranks", "4", "--summary"];
    refuse(&pattern("shift*0"), "--pattern: `shift*0`: expected a number from 1 after `*`");
    refuse(&pattern("(shift"), "--pattern: `(shift`: `)` is missing");
    let jitter = [&pattern("shift")[..], &["--jitter", "nan"]].concat();
    refuse(&jitter, "jitter is NaN, expected 0 to 1000");
    let irregular = [&pattern("shift")[..], &["--irregular", "gauss"]].concat();
    refuse(
        &irregular,
        "--irregular: `gauss` is no shape, expected exponential, pareto, or a relative deviation from 0 to 3",
    );
    let heavy = [&pattern("shift")[..], &["--heavy", "2"]].concat();
    refuse(&heavy, "the share of heavy messages is 2, expected 0 to 1");
    let truth = [&pattern("shift")[..], &["--truth", "-"]].concat();
    refuse(&truth, "--truth: is where the trace goes, expected another file");
}
