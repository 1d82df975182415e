//! DUMPI files of other writers and by hand, against readings of other readers and closed forms.

#![allow(clippy::cast_possible_wrap, reason = "numbers of tests are small")]

use std::path::{Path, PathBuf};

use super::functions::{ALL_FUNCTIONS, FUNCTIONS, Kind as FieldKind};
use super::record::{Layout, Record, Span, Stamp, Stop, Version};
use super::*;
use crate::export::ArchiveExport;
use crate::import::{Input, import};
use crate::trace::{Block, Call, Message, Operation, Rank, TraceReader};
use dumpi_files::{Arg, BYTE, INT, RankFile, WORLD, write_run};

#[path = "../../../tests/dumpi_files/mod.rs"]
mod dumpi_files;

mod damage;
mod records;

/// A trace that was imported.
struct Trace {
    imported: Imported,
    messages: Vec<Message>,
    calls: Vec<Call>,
}

fn collect(input: Input, expand: Option<crate::expand::Rules>) -> Result<Trace> {
    let mut archive = Vec::new();
    let reading = Reading { expand, ..Reading::new(tempfile::tempfile) };
    let imported = import(input, reading, &mut ArchiveExport::new(&mut archive, false))?;
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    let mut reader = TraceReader::open(&archive[..])?;
    while let Some(block) = reader.next_block()? {
        match block {
            Block::Messages(block) => messages.extend(block.iter()),
            Block::Calls(block) => calls.extend_from_slice(block),
            _ => {}
        }
    }
    Ok(Trace { imported, messages, calls })
}

fn run(files: &[RankFile]) -> Result<Trace> {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<Vec<u8>> = files.iter().map(RankFile::finish).collect();
    write_run(folder.path(), "run", &files);
    collect(Input::Directory(folder.path().into()), None)
}

/// The number of a function.
fn number(name: &str) -> u16 {
    FUNCTIONS.iter().position(|function| function.name == name).unwrap() as u16
}

/// An argument of each kind, the bytes that it takes, for the version.
fn argument(kind: FieldKind, version: [u8; 3], number: i32) -> Arg {
    let ints = vec![number, -number, 7];
    match kind {
        FieldKind::Int => Arg::Int(number),
        FieldKind::Long => Arg::Long(i64::from(number) << 20),
        FieldKind::Handle | FieldKind::GatheredType => Arg::Handle(number as u16),
        FieldKind::Code => Arg::Code(number as u8),
        FieldKind::Ints => Arg::Ints(ints),
        FieldKind::Rows => Arg::Rows(vec![ints, vec![], vec![1]]),
        FieldKind::Handles => Arg::Handles(vec![3, number as u16]),
        FieldKind::Bytes => Arg::Bytes(vec![number as u8; 5]),
        FieldKind::Texts => Arg::Texts(vec!["a", "", "bcd"]),
        FieldKind::TextLists => Arg::TextLists(vec![vec!["a"], vec![], vec!["", "xy"]]),
        FieldKind::Arguments if version < [0, 6, 2] => {
            Arg::Raw([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, b'a', b'b'].to_vec())
        }
        FieldKind::Arguments => Arg::Texts(vec!["ab"]),
        FieldKind::Statuses => Arg::Statuses(vec![(number, 1, 2), (3, 4, 5)]),
        FieldKind::IntsSince068 if version < [0, 6, 8] => Arg::Int(number),
        FieldKind::IntsSince069 if version < [0, 6, 9] => Arg::Int(number),
        FieldKind::IntsSince068 | FieldKind::IntsSince069 => Arg::Ints(ints),
    }
}

/// A second in nanoseconds.
const S: u64 = 1_000_000_000;

/// Two ranks that begin at 100 s.
fn two() -> [RankFile; 2] {
    [(); 2].map(|()| {
        let mut file = RankFile::new(100);
        file.init(100 * S, 100 * S + 1);
        file
    })
}

#[test]
fn requests_complete_at_their_waits() {
    let mut files = two();
    let isend = |bytes, request| {
        [Arg::Int(bytes), Arg::Handle(BYTE), Arg::Int(1), Arg::Int(7), Arg::Handle(WORLD), Arg::Int(request)]
    };
    // Waitsome finds the second and third of four, Waitany the last, a test nothing, Waitall the
    // rest.
    for request in 0..4 {
        let at = 100 * S + 10 + request;
        files[0].call(number("MPI_Isend"), at, at + 1, &isend(10 + request as i32, 2 + request as i32));
    }
    let requests = || Arg::Ints(vec![2, 3, 4, 5]);
    let statuses = Arg::Statuses(vec![(-5, 99, -3); 2]);
    files[0].call(
        number("MPI_Waitsome"),
        100 * S + 20,
        100 * S + 30,
        &[Arg::Int(4), requests(), Arg::Int(2), Arg::Ints(vec![1, 2]), statuses],
    );
    files[0].call(
        number("MPI_Testany"),
        100 * S + 31,
        100 * S + 32,
        &[Arg::Int(4), requests(), Arg::Int(-3), Arg::Int(0), Arg::Statuses(vec![])],
    );
    files[0].call(
        number("MPI_Waitany"),
        100 * S + 33,
        100 * S + 40,
        &[Arg::Int(4), requests(), Arg::Int(3), Arg::Statuses(vec![])],
    );
    files[0].call(
        number("MPI_Waitall"),
        100 * S + 41,
        100 * S + 50,
        &[Arg::Int(4), Arg::Ints(vec![2, 1, 1, 1]), Arg::Statuses(vec![])],
    );
    // Receives of any source and tag; the statuses tell.
    for message in 0..4 {
        let at = 100 * S + 60 + 10 * message;
        let status = Arg::Statuses(vec![(10 + message as i32, 0, 7)]);
        let any = [Arg::Int(99), Arg::Handle(BYTE), Arg::Int(-1), Arg::Int(-1), Arg::Handle(WORLD), status];
        files[1].call(number("MPI_Recv"), at, at + 5, &any);
    }
    let trace = run(&files).unwrap();
    let at = |ns: i64| Some(100 * S.cast_signed() + ns);
    let found: Vec<_> = trace
        .messages
        .iter()
        .map(|m| (m.bytes, m.send_complete_ns, m.receive_post_ns, m.receive_complete_ns))
        .collect();
    let expected = [
        (10, at(50), at(60), at(65)),
        (11, at(30), at(70), at(75)),
        (12, at(30), at(80), at(85)),
        (13, at(40), at(90), at(95)),
    ];
    assert_eq!(found, expected);
    assert_eq!((trace.imported.summary.unmatched, trace.imported.remarks), (Some(0), vec![]));
    let tests = trace.calls.iter().filter(|call| call.operation == Operation::Test).count();
    assert_eq!(tests, 0, "a test that finds nothing is no call that waits");
}

#[test]
fn persistent_requests_are_sent_as_often_as_they_are_started() {
    let mut files = two();
    let template =
        |peer| [Arg::Int(3), Arg::Handle(INT), Arg::Int(peer), Arg::Int(7), Arg::Handle(WORLD), Arg::Int(9)];
    files[0].call(number("MPI_Send_init"), 100 * S + 2, 100 * S + 3, &template(1));
    files[1].call(number("MPI_Recv_init"), 100 * S + 2, 100 * S + 3, &template(0));
    for round in 0..3 {
        let at = 100 * S + 100 * (round + 1);
        files[0].call(number("MPI_Start"), at, at + 1, &[Arg::Int(9)]);
        files[0].call(number("MPI_Wait"), at + 2, at + 10, &[Arg::Int(9), Arg::Statuses(vec![])]);
        files[1].call(number("MPI_Startall"), at, at + 1, &[Arg::Int(1), Arg::Ints(vec![9])]);
        files[1].call(number("MPI_Wait"), at + 2, at + 20, &[Arg::Int(9), Arg::Statuses(vec![(12, 0, 7)])]);
    }
    files[0].call(number("MPI_Request_free"), 101 * S, 101 * S, &[Arg::Int(9)]);
    let trace = run(&files).unwrap();
    let found: Vec<_> =
        trace.messages.iter().map(|m| (m.bytes, m.send_post_ns, m.receive_complete_ns)).collect();
    let expected = [1, 2, 3].map(|round| {
        let at = 100 * S.cast_signed() + 100 * round;
        (12, at, Some(at + 20))
    });
    assert_eq!(found, expected);
    assert_eq!(trace.imported.summary.unmatched, Some(0));
}

/// Four ranks: a split into even and odd with reversed order, a dup of that, a 2×2 grid and its
/// rows, a group of ranks 3 and 1, and a pair of intercommunicator and merge.
#[test]
fn communicators_are_replayed() {
    let at = 100 * S;
    let mut files: Vec<RankFile> = (0..4)
        .map(|rank: i32| {
            let mut file = RankFile::new(100);
            file.call(
                number("MPI_Comm_split"),
                at,
                at,
                &[Arg::Handle(WORLD), Arg::Int(rank % 2), Arg::Int(-rank), Arg::Handle(10)],
            );
            file.call(number("MPI_Comm_dup"), at, at, &[Arg::Handle(10), Arg::Handle(11)]);
            let (dims, no) = (Arg::Ints(vec![2, 2]), Arg::Ints(vec![0, 0]));
            file.call(
                number("MPI_Cart_create"),
                at,
                at,
                &[Arg::Handle(WORLD), Arg::Int(2), dims, no, Arg::Int(0), Arg::Handle(12)],
            );
            file.call(
                number("MPI_Cart_sub"),
                at,
                at,
                &[Arg::Int(2), Arg::Handle(12), Arg::Ints(vec![0, 1]), Arg::Handle(13)],
            );
            file.call(number("MPI_Comm_group"), at, at, &[Arg::Handle(WORLD), Arg::Handle(5)]);
            file.call(
                number("MPI_Group_incl"),
                at,
                at,
                &[Arg::Handle(5), Arg::Int(2), Arg::Ints(vec![3, 1]), Arg::Handle(6)],
            );
            let member = if rank % 2 == 1 { 14 } else { 1 };
            file.call(
                number("MPI_Comm_create"),
                at,
                at,
                &[Arg::Handle(WORLD), Arg::Handle(6), Arg::Handle(member)],
            );
            // Leaders are rank 2 (of 2, 0) and rank 3 (of 3, 1), each at place 0 of its side.
            let other = if rank % 2 == 0 { 3 } else { 2 };
            let sides = [
                Arg::Handle(10),
                Arg::Int(0),
                Arg::Handle(WORLD),
                Arg::Int(other),
                Arg::Int(5),
                Arg::Handle(15),
            ];
            file.call(number("MPI_Intercomm_create"), at, at, &sides);
            file.call(
                number("MPI_Intercomm_merge"),
                at,
                at,
                &[Arg::Handle(15), Arg::Int(i32::from(rank % 2 == 0)), Arg::Handle(16)],
            );
            file
        })
        .collect();
    let mut tag = 0;
    let mut expected = Vec::new();
    let mut send = |src: usize, comm: u16, place: i32, dst: u32| {
        tag += 1;
        let arguments = [Arg::Int(8), Arg::Handle(BYTE), Arg::Int(place), Arg::Int(tag), Arg::Handle(comm)];
        files[src].call(number("MPI_Send"), at + tag as u64, at + tag as u64, &arguments);
        expected.push((tag, src as u32, dst));
    };
    send(0, 10, 0, 2); // evens in the order 2, 0
    send(1, 11, 0, 3); // odds in the order 3, 1, by the dup
    send(0, 12, 3, 3); // the grid as the world
    send(2, 13, 1, 3); // the row of rank 2: 2, 3
    send(1, 14, 0, 3); // the group 3, 1
    send(0, 15, 1, 1); // the other side: 3, 1
    send(3, 15, 0, 2); // and back: 2, 0
    send(0, 16, 0, 3); // odds are the low side: 3, 1, 2, 0
    send(0, 16, 3, 0);
    send(0, 3, 0, 0); // MPI_COMM_SELF
    let trace = run(&files).unwrap();
    let found: Vec<_> = trace.messages.iter().map(|m| (m.tag.unwrap(), m.src.0, m.dst.0)).collect();
    assert_eq!(found, expected);
    let numbers: std::collections::BTreeSet<_> = trace.messages.iter().map(|m| m.communicator).collect();
    assert_eq!(numbers.len(), 8, "the grid's row, sides and others are all different: {numbers:?}");
}

/// `MPI_Comm_rank` of all members says that a library has reordered a grid.
#[test]
fn ranks_that_members_know_count_more_than_the_order_of_the_old_communicator() {
    let mut files = two();
    let at = 100 * S + 9;
    for (rank, file) in files.iter_mut().enumerate() {
        let (dims, no) = (Arg::Ints(vec![2]), Arg::Ints(vec![0]));
        file.call(
            number("MPI_Cart_create"),
            at,
            at,
            &[Arg::Handle(WORLD), Arg::Int(1), dims, no, Arg::Int(1), Arg::Handle(12)],
        );
        file.call(number("MPI_Comm_rank"), at, at, &[Arg::Handle(12), Arg::Int(1 - rank as i32)]);
        file.call(
            number("MPI_Send"),
            at,
            at,
            &[Arg::Int(8), Arg::Handle(BYTE), Arg::Int(0), Arg::Int(1), Arg::Handle(12)],
        );
    }
    let found: Vec<_> = run(&files).unwrap().messages.iter().map(|m| (m.src.0, m.dst.0)).collect();
    assert_eq!(found, [(0, 1), (1, 1)]);
}

#[test]
fn user_types_have_the_size_that_they_were_made_with() {
    let mut files = two();
    let at = 100 * S + 9;
    let file = &mut files[0];
    file.call(number("MPI_Type_contiguous"), at, at, &[Arg::Int(3), Arg::Handle(INT), Arg::Handle(40)]);
    file.call(
        number("MPI_Type_vector"),
        at,
        at,
        &[Arg::Int(2), Arg::Int(5), Arg::Int(9), Arg::Handle(40), Arg::Handle(41)],
    );
    let (two, types) = (|| Arg::Ints(vec![1, 2]), Arg::Handles(vec![41, BYTE]));
    file.call(number("MPI_Type_struct"), at, at, &[Arg::Int(2), two(), two(), types, Arg::Handle(42)]);
    file.call(
        number("MPI_Type_indexed"),
        at,
        at,
        &[Arg::Int(2), two(), two(), Arg::Handle(42), Arg::Handle(43)],
    );
    let size: i32 = 3 * (2 * 5 * 12 + 2);
    let mut send = |count: i32, datatype| {
        file.call(
            number("MPI_Send"),
            at,
            at,
            &[Arg::Int(count), Arg::Handle(datatype), Arg::Int(1), Arg::Int(1), Arg::Handle(WORLD)],
        );
    };
    send(2, 43);
    // A type that nobody made, as Fortran's; the receiver knows its size, once.
    send(1, 77);
    send(1, 77);
    for (bytes, tag) in [(2 * size, 1), (24, 1)] {
        files[1].receive(at + 1, at + 2, bytes, 0, tag);
    }
    let trace = run(&files).unwrap();
    assert_eq!(trace.messages.iter().map(|m| m.bytes).collect::<Vec<_>>(), [2 * size as u64, 24]);
    assert_eq!(trace.imported.remarks, ["1 messages are left out: their size is unknown to both sides"]);
}

#[test]
fn collectives_have_the_bytes_of_each_rank() {
    use crate::expand::Rules;
    let mut files = two();
    for (rank, file) in files.iter_mut().enumerate() {
        let at = 100 * S + 10;
        file.call(
            number("MPI_Bcast"),
            at,
            at + 5,
            &[Arg::Int(10), Arg::Handle(INT), Arg::Int(1), Arg::Handle(WORLD)],
        );
        let counts = |a, b| Arg::Ints(vec![a, b]);
        let row = if rank == 0 { counts(1, 2) } else { counts(3, 4) };
        let none = || counts(0, 0);
        let arguments = [
            Arg::Int(2),
            row,
            none(),
            Arg::Handle(INT),
            none(),
            none(),
            Arg::Handle(INT),
            Arg::Handle(WORLD),
        ];
        file.call(number("MPI_Alltoallv"), at + 10, at + 15, &arguments);
        let parts = counts(100, 200);
        file.call(
            number("MPI_Reduce_scatter"),
            at + 20,
            at + 25,
            &[Arg::Int(2), parts, Arg::Handle(BYTE), Arg::Code(3), Arg::Handle(WORLD)],
        );
    }
    let folder = tempfile::tempdir().unwrap();
    write_run(folder.path(), "run", &files.each_ref().map(RankFile::finish));
    let trace = collect(Input::Directory(folder.path().into()), Some(Rules::Basic)).unwrap();
    let of = |rank: u32| {
        let own = trace.calls.iter().filter(move |call| call.rank == Rank(rank));
        own.map(|call| (call.operation, call.root, call.bytes)).collect::<Vec<_>>()
    };
    let bcast = (Operation::Bcast, Some(Rank(1)), Some(40));
    assert_eq!(
        of(0),
        [bcast, (Operation::Alltoallv, None, Some(12)), (Operation::ReduceScatter, None, Some(100))]
    );
    assert_eq!(
        of(1),
        [bcast, (Operation::Alltoallv, None, Some(28)), (Operation::ReduceScatter, None, Some(200))]
    );
    let messages = |operation| {
        let of = trace.messages.iter().filter(move |m| m.operation == operation);
        of.map(|m| (m.src.0, m.dst.0, m.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(messages(Operation::Bcast), [(1, 0, 40)]);
    assert_eq!(messages(Operation::Alltoallv), [(0, 1, 8), (1, 0, 12)]);
}

/// Host b's clock began 1000 s later than host a's; messages take 50 ns one way, 30 the other.
#[test]
fn monotonic_clocks_of_two_hosts_are_aligned() {
    let mut files = two();
    files[1] = RankFile::new(1100);
    files[1].init(1100 * S + 400, 1100 * S + 500);
    for (file, host) in files.iter_mut().zip(["a", "b"]) {
        file.hostname = host.into();
        file.starttime = 1_700_000_000;
    }
    let behind = 1000 * S;
    for round in 0..10 {
        let at = 100 * S + 1000 * (round + 1);
        files[0].send(at, at + 1, 8, 1, 0);
        files[1].receive(at + behind, at + behind + 50, 8, 0, 0);
        files[1].send(at + behind + 60, at + behind + 61, 8, 0, 0);
        files[0].receive(at + 2, at + 90, 8, 1, 0);
    }
    let trace = run(&files).unwrap();
    // The truth is at one end of an interval of 80 ns; its middle is 10 ns off.
    let summary = &trace.imported.summary;
    assert_eq!(summary.clock_error_ns, Some(40));
    for message in &trace.messages {
        assert_eq!(message.receive_complete_ns.unwrap() - message.send_post_ns, 40);
    }
    assert_eq!(trace.messages.len(), 20);
}

#[test]
fn what_is_wrong_is_named() {
    let message = |files: &[RankFile]| run(files).map(|trace| trace.messages.len()).unwrap_err().to_string();
    let mut files = two();
    files[1].call(number("MPI_Pcontrol"), 100 * S, 100 * S, &[]);
    assert_eq!(
        message(&files),
        "run-0001.bin: rank 1: byte 37: found MPI_Pcontrol (number 128), which has no records: damaged"
    );
    let mut files = two();
    files[0].call(number("MPI_Waitall"), 100 * S, 100 * S, &[Arg::Int(1), Arg::Int(-7)]);
    assert_eq!(
        message(&files),
        "run-0000.bin: rank 0: byte 37: reading requests of MPI_Waitall: found -7 entries: damaged"
    );
    let mut files = two();
    files[0].call(number("MPI_Waitall"), 100 * S, 100 * S, &[Arg::Int(1), Arg::Int(70_000)]);
    let error = message(&files);
    assert!(error.starts_with("run-0000.bin: rank 0: byte 37: reading requests of MPI_Waitall: needs 280025 bytes, the records end at byte "), "{error}");
    let mut files = two();
    files[0].mask = 4;
    files[0].send(100 * S, 100 * S, 8, 1, 0);
    let error = message(&files);
    assert!(error.contains("has no wall-clock times"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let bytes = two()[0].finish();
    write_run(folder.path(), "run", &[bytes.clone(), bytes[..60].to_vec()]);
    let error = collect(Input::Directory(folder.path().into()), None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        "run-0001.bin: rank 1: byte 60: ends without an index: the file is truncated, or its program did not call MPI_Finalize"
    );
    std::fs::remove_file(folder.path().join("run-0001.bin")).unwrap();
    let error = collect(Input::Directory(folder.path().into()), None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "the files of rank 1 are missing: the run has 2 ranks (run.meta)");
    write_run(folder.path(), "other", &[bytes]);
    let error = collect(Input::Directory(folder.path().into()), None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        "holds files of two runs, other-0000.bin and run-0000.bin; name the .meta file or a .bin file of one"
    );
}
