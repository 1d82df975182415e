//! Traces of other tools whose content is known, whole and damaged; what we write for other tools.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod otf2_files;

use std::io::Cursor;
use std::path::Path;

use otf2_files::{Records, byte, trace};
use phaseflow_collect::Result;
use phaseflow_collect::expand::Rules;
use phaseflow_collect::export::{
    ArchiveExport, CsvExport, GoalExport, NdjsonExport, PairsExport, SimgridExport, SummaryExport,
};
use phaseflow_collect::import::{Format, Imported, Input, Reading, import};
use phaseflow_collect::pattern::{PatternName, Run};
use phaseflow_collect::trace::{Block, Header, Message, RunFacts, Sink, Summary};

/// Keeps all messages.
#[derive(Default)]
struct Kept(Vec<Message>);

impl Sink for Kept {
    fn begin(&mut self, _: &Header) -> Result<()> {
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        if let Block::Messages(messages) = block {
            self.0.extend(messages.iter());
        }
        Ok(())
    }

    fn finish(&mut self, _: &RunFacts) -> Result<Summary> {
        Ok(Summary::default())
    }
}

fn reading(expand: Option<Rules>) -> Reading {
    Reading { expand, ..Reading::new(tempfile::tempfile) }
}

fn read(path: &Path, expand: Option<Rules>, sink: &mut dyn Sink) -> Result<Imported> {
    import(Input::open(path)?, reading(expand), sink)
}

fn read_stream(bytes: &[u8], format: Option<Format>, sink: &mut dyn Sink) -> Result<Imported> {
    let input = Input::Stream(Box::new(Cursor::new(bytes.to_vec())));
    import(input, Reading { format, ..reading(None) }, sink)
}

fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    tar.into_inner().unwrap()
}

/// Rank 0 sends to 1 in a blocking and two non-blocking ways; 1 completes its receives in the other
/// order; both reduce. Times are ticks of half a nanosecond from 1000 on.
fn events(rank: u64, records: &mut Records) {
    // An unknown record, and one that is longer than 254 bytes.
    records.time(1000);
    records.raw(200, &[9; 300]);
    if rank == 0 {
        records.single(12, 3);
        records.time(1010);
        records.record(14, &[1, 0, 5, 100]);
        records.time(1020);
        records.single(13, 3);
        records.time(1030);
        records.record(15, &[1, 0, 6, 200, 77]);
        records.time(1040);
        records.record(15, &[1, 0, 6, 300, 78]);
        records.time(1050);
        records.single(16, 78);
        records.time(1060);
        records.single(16, 77);
    } else {
        records.time(1002);
        records.single(17, 1);
        records.time(1004);
        records.single(17, 2);
        records.time(1070);
        records.record(19, &[0, 0, 6, 300, 2]);
        records.time(1072);
        records.record(19, &[0, 0, 6, 200, 1]);
        records.time(1074);
        records.single(12, 4);
        records.time(1080);
        records.record(18, &[0, 0, 5, 100]);
    }
    records.time(1100 + rank);
    records.raw(22, &[]);
    records.time(1200);
    records.mixed(23, &[byte(11), 0, i64::from(u32::MAX), 80, 80]);
}

#[test]
fn otf2_is_read_in_both_orders_of_bytes() {
    for is_big in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        otf2_files::write(folder.path(), &trace(is_big, 2, "Score-P 8", &events));
        let mut kept = Kept::default();
        let imported = read(&folder.path().join("x.otf2"), None, &mut kept).unwrap();
        assert_eq!(imported.remarks.len(), 1, "{:?}", imported.remarks);
        let facts = |message: &Message| {
            let Message { send_post_ns, bytes, tag, .. } = *message;
            let ends = [message.send_complete_ns, message.receive_post_ns, message.receive_complete_ns];
            (send_post_ns, bytes, tag, ends)
        };
        let expected = [
            (5, 100, Some(5), [Some(10), Some(37), Some(40)]),
            (15, 200, Some(6), [Some(30), Some(1), Some(36)]),
            (20, 300, Some(6), [Some(25), Some(2), Some(35)]),
        ];
        assert_eq!(kept.0.iter().map(facts).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn collectives_of_otf2_become_messages() {
    let folder = tempfile::tempdir().unwrap();
    otf2_files::write(folder.path(), &trace(false, 2, "Score-P 8", &events));
    let mut pairs = Vec::new();
    read(folder.path(), Some(Rules::Basic), &mut PairsExport::new(&mut pairs)).unwrap();
    // Score-P counts the vector of 40 bytes once for each rank.
    assert_eq!(String::from_utf8(pairs).unwrap(), "src,dst,messages,bytes\n0,1,4,640\n1,0,1,40\n");
}

#[test]
fn what_is_missing_of_otf2_is_named() {
    let files = trace(false, 2, "x", &events);
    for (missing, expected) in [
        ("x.otf2", "the anchor file (*.otf2) of the trace is missing"),
        ("x.def", "the file of definitions x.def is missing: x.otf2 needs it"),
        ("x/101.evt", "the file of events x/101.evt is missing: it is of rank 1"),
    ] {
        let rest: Vec<_> = files.iter().filter(|(name, _)| name != missing).cloned().collect();
        let error = read_stream(&tar_of(&rest), None, &mut Kept::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn cut_files_of_otf2_say_where() {
    let files = trace(false, 2, "x", &events);
    for (at, (name, bytes)) in files.iter().enumerate() {
        for length in 20..bytes.len() - 2 {
            let mut cut = files.clone();
            cut[at].1.truncate(length);
            let Err(error) = read_stream(&tar_of(&cut), None, &mut Kept::default()) else {
                panic!("{name} of {length} bytes was read")
            };
            let text = error.to_string();
            let has_rank = !name.starts_with("x/") || text.contains("rank ");
            assert!(text.starts_with(name.as_str()) && text.contains("byte ") && has_rank, "{text}");
        }
    }
}

/// A program whose messages cross.
fn pattern(sink: &mut dyn Sink) {
    let patterns = vec![PatternName::Halo2d, PatternName::Alltoall];
    Run { patterns, ranks: 9, bytes: 1000, repeat: 2, gap_ns: 500, seed: 1 }.generate(sink).unwrap();
}

/// The same as a schedule, which has an order and no times.
fn pattern_without_times(sink: &mut dyn Sink) {
    let mut goal = Vec::new();
    pattern(&mut GoalExport::new(&mut goal, tempfile::tempfile));
    read_stream(&goal, None, sink).unwrap();
}

/// Source, receiver, bytes and tag of messages, in the order of each sender.
fn order(messages: &[Message]) -> Vec<(u32, u32, u64, Option<i32>)> {
    let of =
        |message: &Message| (message.src.0, message.dst.0, message.bytes, Some(message.tag.unwrap_or(0)));
    let mut all: Vec<_> = messages.iter().map(of).collect();
    all.sort_by_key(|message| message.0);
    all
}

#[test]
fn programs_come_back_as_they_were_written() {
    let mut expected = Kept::default();
    pattern(&mut expected);
    let (mut goal, mut simgrid) = (Vec::new(), Vec::new());
    pattern(&mut GoalExport::new(&mut goal, tempfile::tempfile));
    pattern(&mut SimgridExport::new(&mut simgrid));
    for text in [goal, simgrid] {
        let mut kept = Kept::default();
        read_stream(&text, None, &mut kept).unwrap();
        assert_eq!(order(&kept.0), order(&expected.0));
        // What comes in without times goes out without computation.
        let mut again = Vec::new();
        read_stream(&text, None, &mut SimgridExport::new(&mut again)).unwrap();
        assert!(!String::from_utf8(again).unwrap().contains("compute"));
    }
}

#[test]
fn orders_have_no_times() {
    let text = b"num_ranks 2\nrank 0 {\na: calc 9\nb: send 8b to 1 tag 4294967284\nb requires a\n}\n\
        rank 1 { /* a\n comment */ recv 8b from -1 tag -1 // any\n}\n";
    let mut summary = Vec::new();
    read_stream(text, None, &mut SummaryExport::new(&mut summary)).unwrap();
    let summary = String::from_utf8(summary).unwrap();
    assert!(summary.contains("duration_ns:\n") && summary.contains("unmatched: 0\n"), "{summary}");
    let mut csv = Vec::new();
    read_stream(text, None, &mut CsvExport::new(&mut csv)).unwrap();
    assert_eq!(String::from_utf8(csv).unwrap(), "t_ns,src,dst,bytes,tag,op\n,0,1,8,-12,\n");
    // Texts without times are read back as what they are.
    for format in [Format::Csv, Format::Ndjson] {
        let (mut text, mut again) = (Vec::new(), Vec::new());
        match format {
            Format::Csv => pattern_without_times(&mut CsvExport::new(&mut text)),
            _ => pattern_without_times(&mut NdjsonExport::new(&mut text)),
        }
        let mut kept = Kept::default();
        let imported = read_stream(&text, Some(format), &mut kept).unwrap();
        let mut expected = Kept::default();
        pattern_without_times(&mut expected);
        assert_eq!(order(&kept.0), order(&expected.0));
        let (mut summary, mut expected) = (Vec::new(), Vec::new());
        read_stream(&text, None, &mut SummaryExport::new(&mut summary)).unwrap();
        pattern_without_times(&mut SummaryExport::new(&mut expected));
        // Neither text says whether all was received, nor where it came from.
        let known = |summary: Vec<u8>| {
            let text = String::from_utf8(summary).unwrap();
            let lines =
                text.lines().filter(|line| !line.starts_with("unmatched") && !line.starts_with("source"));
            lines.map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(known(summary), known(expected));
        assert_eq!(imported.remarks.len(), 1);
        // And written as they were.
        let sink: &mut dyn Sink = match format {
            Format::Csv => &mut CsvExport::new(&mut again),
            _ => &mut NdjsonExport::new(&mut again),
        };
        read_stream(&text, None, sink).unwrap();
        assert_eq!(again, text);
    }
    // An archive of it is one of an order, too.
    let mut archive = Vec::new();
    read_stream(text, None, &mut ArchiveExport::new(&mut archive, false)).unwrap();
    let mut again = Vec::new();
    read_stream(&archive, None, &mut SummaryExport::new(&mut again)).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), summary);
}

#[test]
fn mistakes_in_goal_are_named() {
    let error =
        |text: &str| read_stream(text.as_bytes(), Some(Format::Goal), &mut Kept::default()).unwrap_err();
    for (text, expected) in [
        ("num_ranks 2\nrank 0 {\n}\n", "the operations of rank 1 are missing, expected 2 ranks"),
        ("num_ranks 1\nrank 0 {\na: calc 1", "line 3: ends at byte 30 within the operations of rank 0"),
        ("num_ranks 1\nrank 0 {\nsend 8 to 1\n}", "line 3: found `to`, expected `b`"),
        ("num_ranks 1\nrank 0 {\nsend 8b to 1\n}", "line 3: names rank 1, expected less than 1"),
        ("num_ranks 1\nrank 0 {\na requires b\n}", "line 4: the label a of line 3 is of no operation"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}",
            "operations of rank 0 wait for each other, number 1 is one of them",
        ),
        ("num_ranks 1\nrank 3 {\n}", "line 2: is of rank 3, expected less than 1"),
    ] {
        assert_eq!(error(text).to_string(), expected, "{text}");
    }
}

/// A binary schedule: rank 0 sends 8 bytes after it has computed, rank 1 receives them.
fn binary_goal() -> Vec<u8> {
    let operation = |waits: u32, kind: u8, peer: u32, bytes: u64, after: u32| {
        let mut all = waits.to_le_bytes().to_vec();
        all.push(kind);
        all.extend(peer.to_le_bytes());
        all.extend(bytes.to_le_bytes());
        all.extend(3u32.to_le_bytes());
        all.extend([0, 0]);
        all.extend([after, 0, 0, after].map(u32::to_le_bytes).concat());
        all
    };
    let head = |operations: u32| [operations, 1, 0].map(u32::to_le_bytes).concat();
    let zero =
        [head(2), operation(0, 3, 0, 5, 1), operation(1, 1, 1, 8, 0), 1u32.to_le_bytes().to_vec()].concat();
    let one = [head(1), operation(0, 2, 0, 8, 0)].concat();
    let start = 4 + 2 + 2 * 16;
    let middle = start + zero.len() as u64;
    let table = [start, middle, middle, middle + one.len() as u64].map(u64::to_le_bytes).concat();
    let magic = 4223u64.to_le_bytes().to_vec();
    [magic, 2u32.to_le_bytes().to_vec(), vec![0, 0], table, zero, one].concat()
}

#[test]
fn binary_goal_is_as_text() {
    let mut csv = Vec::new();
    read_stream(&binary_goal(), None, &mut CsvExport::new(&mut csv)).unwrap();
    assert_eq!(String::from_utf8(csv).unwrap(), "t_ns,src,dst,bytes,tag,op\n,0,1,8,3,\n");
    for length in 12..binary_goal().len() {
        let cut = &binary_goal()[..length];
        let error = read_stream(cut, None, &mut Kept::default()).unwrap_err().to_string();
        assert!(error.contains("byte "), "{length}: {error}");
    }
}

/// Two ranks by hand; the exchange that rank 1 begins is never answered.
const SIMGRID: &[u8] =
    b"0 init\n0 isend 1 7 10 1\n0 compute 5e3\n0 waitall\n0 allreduce 8 0 2 \n0 finalize\n\
    1 init\n1 irecv 0 7 10 1\n1 wait 0 1 7\n1 sendRecv 4 0 4 0 2 2\n1 allreduce 8 0 2\n1 finalize\n";

#[test]
fn who_waits_in_vain_goes_on() {
    let mut csv = Vec::new();
    let imported = read_stream(SIMGRID, None, &mut CsvExport::new(&mut csv)).unwrap();
    // Rank 0 never answers the exchange.
    assert_eq!(String::from_utf8(csv).unwrap(), "t_ns,src,dst,bytes,tag,op\n,0,1,40,7,\n,1,0,4,0,\n");
    assert_eq!(imported.summary.unmatched, Some(2));
}

/// Numbers that follow from a seed (SplitMix64, Steele et al. 2014).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}

/// Changes bytes, moves pieces, cuts.
fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = numbers.below(bytes.len());
        match numbers.below(6) {
            0 => bytes[at] ^= 1 << numbers.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'0', b'9', b'-', b' ', b'\n'][numbers.below(11)],
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, numbers.below(256) as u8),
            4 => {
                let piece = bytes[at..(at + 1 + numbers.below(20)).min(bytes.len())].to_vec();
                let to = numbers.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
}

/// A schedule by hand: rank 0 computes, then sends to rank 1, which receives from anyone.
const GOAL: &[u8] =
    b"num_ranks 2\nrank 0 {\na: calc 9\nb: send 8b to 1 tag 3 cpu 1\nb requires a\nb irequires a\n}\n\
    rank 1 { /* x */\nc: recv 8b from -1 tag 3 // any\n}\n";

/// A send of Chakra and its receive, after metadata.
fn chakra() -> [Vec<u8>; 2] {
    [(5, "comm_dst"), (6, "comm_src")].map(|(kind, peer): (u8, &str)| {
        let peer = [&[0x0a, 8][..], peer.as_bytes(), &[0x48, u8::from(kind == 5)]].concat();
        let node = [&[0x08, 1, 0x18, kind, 0x52, peer.len() as u8][..], &peer].concat();
        [b"\x07\x0a\x050.0.4", &[node.len() as u8][..], &node].concat()
    })
}

/// A cut is an error with its place, or is said. (A file of Chakra is a list of nodes without an
/// end: a cut between two nodes cannot be seen.)
#[test]
fn cut_files_of_schedules_say_where() {
    for length in 10..GOAL.len() - 1 {
        let error = read_stream(&GOAL[..length], Some(Format::Goal), &mut Kept::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("line ") || error.contains("the operations of rank"), "{length}: {error}");
    }
    // Without the other rank's file, messages name a rank that is not there.
    let start = memchr::memmem::find(SIMGRID, b"1 init").unwrap() + 7;
    for length in start..SIMGRID.len() - 1 {
        match read_stream(&SIMGRID[..length], Some(Format::Simgrid), &mut Kept::default()) {
            Err(error) => assert!(error.to_string().contains("rank 1: line "), "{length}: {error}"),
            Ok(imported) => {
                let said = "the traces of rank 1 have no finalize: they may be cut";
                assert!(imported.remarks.iter().any(|remark| remark == said), "{length}: {imported:?}");
            }
        }
    }
    let [send, receive] = chakra();
    for length in (2..receive.len()).filter(|length| *length != 8) {
        let files = [("x.0.et".into(), send.clone()), ("x.1.et".into(), receive[..length].to_vec())];
        let error = read_stream(&tar_of(&files), Some(Format::Chakra), &mut Kept::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("x.1.et: rank 1: byte ") && error.contains("truncated"), "{error}");
    }
}

/// Each of these is read 3000 times, each time with other damage; that ends, and does not panic.
#[test]
fn no_damage_makes_an_importer_of_other_tools_panic() {
    let folder = |files: &[(&str, &[u8])]| {
        files.iter().map(|(name, bytes)| ((*name).to_string(), bytes.to_vec())).collect::<Vec<_>>()
    };
    let [send, receive] = chakra();
    /// Name and contents.
    type File = (String, Vec<u8>);
    let subjects: [(Format, Vec<File>); 5] = [
        (Format::Otf2, trace(false, 2, "Score-P", &events)),
        (Format::Goal, folder(&[("x", GOAL)])),
        (Format::Goal, folder(&[("x", &binary_goal())])),
        (Format::Simgrid, folder(&[("x", SIMGRID)])),
        (Format::Chakra, folder(&[("x.0.et", &send), ("x.1.et", &receive)])),
    ];
    let mut numbers = Numbers(17);
    for (format, files) in &subjects {
        let mut fine = 0;
        for round in 0..3000 {
            let mut damaged = files.clone();
            let at = numbers.below(files.len());
            if round > 0 {
                mutate(&mut damaged[at].1, &mut numbers);
            }
            let bytes = match &damaged[..] {
                [(_, only)] => only.clone(),
                several => tar_of(several),
            };
            let input = Input::Stream(Box::new(Cursor::new(bytes)));
            // GOAL has no collectives.
            let expand = (*format != Format::Goal).then_some(Rules::Basic);
            let reading = Reading { format: Some(*format), ..reading(expand) };
            let outcome = import(input, reading, &mut ArchiveExport::new(std::io::sink(), false));
            assert!(round > 0 || outcome.is_ok(), "{format:?}: {outcome:?}");
            fine += u32::from(outcome.is_ok());
        }
        println!("{format:?}: {fine} of 3000 are still traces");
    }
}
