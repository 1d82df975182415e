//! Traces that other tools make agree with what they print themselves, and with pf-profile on the
//! same program; what is written for SimGrid is replayed by it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Messages and bytes by source and destination.
type Pairs = BTreeMap<(u32, u32), (u64, u64)>;

fn run(command: &mut Command) -> Output {
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}: tests/install installs it"));
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {problem}");
    output
}

fn text(command: &mut Command) -> String {
    String::from_utf8(run(command).stdout).unwrap()
}

fn collect(input: &Path, options: &[&str]) -> String {
    text(Command::new(env!("CARGO_BIN_EXE_pf-collect")).arg(input).args(options))
}

/// The messages that a program itself sent: those of no collective.
fn own_messages(input: &Path) -> Pairs {
    let mut pairs = Pairs::new();
    for line in collect(input, &["--to", "csv"]).lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if let [_, src, dst, bytes, _, "" | "sendrecv"] = fields[..] {
            let pair = pairs.entry((src.parse().unwrap(), dst.parse().unwrap())).or_default();
            *pair = (pair.0 + 1, pair.1 + bytes.parse::<u64>().unwrap());
        }
    }
    assert!(!pairs.is_empty());
    pairs
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The program of known phases, compiled. Its marks are left out, as SimGrid has no `MPI_Pcontrol`.
fn phases(compiler: &str, into: &Path) -> PathBuf {
    let (program, source) = (into.join("phases"), into.join("phases.c"));
    let text = std::fs::read_to_string(root("tests/mpi/phases.c")).unwrap();
    std::fs::write(&source, text.replace("MPI_Pcontrol(", "(void)(")).unwrap();
    let mut command = Command::new(compiler);
    run(command.args(["-O1", "-o"]).args([&program, &source]).current_dir(into));
    program
}

/// What pf-profile sees of four ranks.
fn profiled(program: &Path, what: &str, into: &Path) -> Pairs {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pf-profile"));
    command.arg("-o").arg(into.join("run")).args(["--", "mpirun.openmpi", "--oversubscribe", "-n", "4"]);
    run(command.arg(program).arg(what).current_dir(into));
    own_messages(&into.join("run"))
}

/// EZTrace leaves out `MPI_Sendrecv`, so this program has none.
#[test]
fn eztrace_agrees_with_pf_profile() {
    let folder = tempfile::tempdir().unwrap();
    let what = "halo:300*3,hotspot:70*2,alltoall:10,allreduce:8";
    let program = phases("mpicc.openmpi", folder.path());
    let mut command = Command::new("mpirun.openmpi");
    command.args(["--oversubscribe", "-n", "4", "eztrace", "-t", "openmpi"]);
    run(command.arg(&program).arg(what).current_dir(folder.path()));
    let traced = own_messages(&folder.path().join("phases_trace"));
    assert_eq!(traced, profiled(&program, what, folder.path()));
}

const PLATFORM: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" bw="125MBps" lat="50us"/>
</platform>"#;

/// `smpirun` on four hosts, which writes its trace to `trace.ti`.
fn smpirun(folder: &Path) -> Command {
    std::fs::write(folder.join("platform.xml"), PLATFORM).unwrap();
    std::fs::write(folder.join("hosts"), "h0\nh1\nh2\nh3\n").unwrap();
    let mut command = Command::new("smpirun");
    command.args(["-np", "4", "-platform", "platform.xml", "-hostfile", "hosts", "-trace-ti"]);
    command.arg("--cfg=tracing/filename:trace.ti").current_dir(folder);
    command
}

/// SimGrid loses starts of persistent requests, of which this program has none.
#[test]
fn simgrid_agrees_with_pf_profile_and_replays_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let what = "halo:300*3,hotspot:70*2,shift:500*2,alltoall:10,allreduce:8";
    let program = phases("smpicc", folder.path());
    run(smpirun(folder.path()).arg(&program).arg(what));
    let list = folder.path().join("trace.ti");
    let expected = profiled(&phases("mpicc.openmpi", folder.path()), what, folder.path());
    assert_eq!(own_messages(&list), expected);

    // Its own trace, and a recording with the messages of its collectives, written for it.
    for (name, input) in [("first", list), ("second", folder.path().join("run"))] {
        let again = folder.path().join(name);
        std::fs::create_dir(&again).unwrap();
        std::fs::write(again.join("written"), collect(&input, &["--to", "simgrid"])).unwrap();
        std::fs::write(again.join("list"), "written\n").unwrap();
        run(smpirun(&again).args([OsStr::new("-replay"), OsStr::new("list")]));
        let replayed = collect(&again.join("trace.ti"), &["--pairs"]);
        assert_eq!(replayed, collect(&input, &["--pairs"]));
    }
}

/// A trace by the reference library's own writer: what it holds stands in the script.
#[test]
fn the_reference_librarys_writer_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let python = std::env::var_os("PHASEFLOW_TEST_PYTHON")
        .map_or_else(|| root("target/test-python/bin/python"), PathBuf::from);
    let trace = folder.path().join("trace");
    run(Command::new(python).arg(root("tests/write_otf2.py")).arg(&trace));
    let csv = collect(&trace, &["--to", "csv"]);
    // The first event, at 900 ns, is the origin.
    assert_eq!(
        csv,
        "t_ns,src,dst,bytes,tag,op\n100,0,1,300,7,\n1100,1,2,70,8,\n2100,2,0,5,9,\n3600,0,2,64,,put\n"
    );
    let pairs = collect(&trace, &["--pairs", "--expand", "basic"]);
    // A broadcast of 40 bytes from rank 1, in a tree of three: from the root to each.
    assert_eq!(pairs, "src,dst,messages,bytes\n0,1,1,300\n0,2,1,64\n1,0,1,40\n1,2,2,110\n2,0,1,5\n");
}

/// What `otf2-print` says of the messages in a trace: time in ns, sender, receiver, bytes, tag.
fn printed(anchor: &Path) -> Vec<(i64, u32, u32, u64, i32)> {
    let clock = text(Command::new("otf2-print").arg("-G").arg(anchor));
    let clock = clock.lines().find(|line| line.starts_with("CLOCK_PROPERTIES")).unwrap();
    let number = |text: &str, name: &str| -> u64 {
        let rest = text.split_once(name).unwrap().1.trim_start();
        rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    let (rate, origin) = (number(clock, "Ticks per Seconds:"), number(clock, "Global Offset:"));
    let events = text(Command::new("otf2-print").arg(anchor));
    let sends = events.lines().filter(|line| line.starts_with("MPI_SEND") || line.starts_with("MPI_ISEND "));
    sends
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ticks: u64 = words[2].parse().unwrap();
            let ns = u128::from(ticks - origin) * 1_000_000_000 / u128::from(rate);
            let peer = number(line, "Receiver:") as u32;
            (ns as i64, words[1].parse().unwrap(), peer, number(line, "Length:"), number(line, "Tag:") as i32)
        })
        .collect()
}

#[test]
#[ignore = "needs ../shared/data, files of other projects"]
fn shared_data_sample_of_score_p_is_as_otf2_print_says() {
    let anchor = root("../shared/data/otf2/ping-pong-otf2/traces.otf2");
    let expected = printed(&anchor);
    assert_eq!(expected.len(), 16);
    let csv = collect(&anchor, &["--to", "csv"]);
    let lines =
        expected.iter().map(|(ns, src, dst, bytes, tag)| format!("{ns},{src},{dst},{bytes},{tag},\n"));
    assert_eq!(csv, format!("t_ns,src,dst,bytes,tag,op\n{}", lines.collect::<String>()));
    assert!(collect(&anchor, &["--summary"]).contains("\nunmatched: 0\n"));
}

#[test]
#[ignore = "needs ../shared/data, files of other projects"]
fn shared_data_binary_tree_of_loggopsim_is_read() {
    let schedule = root("../shared/data/goal/binary_tree_32.goal");
    let pairs = collect(&schedule, &["--pairs"]);
    // A binomial tree: rank r gets its message from r without its highest bit.
    let mut expected: Vec<(u32, u32)> = (1..32u32).map(|rank| (rank - (1 << rank.ilog2()), rank)).collect();
    expected.sort_unstable();
    let lines = expected.iter().map(|(src, dst)| format!("{src},{dst},1,1\n"));
    assert_eq!(pairs, format!("src,dst,messages,bytes\n{}", lines.collect::<String>()));
    let folder = tempfile::tempdir().unwrap();
    let again = folder.path().join("again.goal");
    std::fs::write(&again, collect(&schedule, &["--to", "goal"])).unwrap();
    assert_eq!(collect(&again, &["--pairs"]), pairs);
}
