//! Run directories made by hand against an obvious reading of what was written into them.

use std::collections::BTreeMap;
use std::path::Path;

use phaseflow_profiler::format::{Kind, Slot, flags};
use proptest::prelude::*;

use super::process::Process as Reader;
use super::*;
use crate::export::ArchiveExport;
use crate::import::ranks::{Leaving, Matching};
use crate::trace::{Block, Call, Mark, Message, Operation, Rank, TraceReader};
use run_directory::{Process, message};

#[path = "../../../tests/run_directory/mod.rs"]
mod run_directory;

const END: u64 = 1_000_000;

/// The results of a directory.
struct Trace {
    imported: Imported,
    messages: Vec<Message>,
    calls: Vec<Call>,
    marks: Vec<Mark>,
}

fn collect(directory: &Path, expand: Option<Rules>) -> Result<Trace> {
    let mut archive = Vec::new();
    let imported = read(directory, expand, &mut ArchiveExport::new(&mut archive, false))?;
    let (mut messages, mut calls, mut marks) = (Vec::new(), Vec::new(), Vec::new());
    let mut reader = TraceReader::open(&archive[..])?;
    while let Some(block) = reader.next_block()? {
        match block {
            Block::Messages(block) => messages.extend(block.iter()),
            Block::Calls(block) => calls.extend_from_slice(block),
            Block::Marks(block) => marks.extend_from_slice(block),
            Block::Matrix(_) | Block::Sizes(_) => panic!("not timed"),
        }
    }
    Ok(Trace { imported, messages, calls, marks })
}

/// A message as both sides saw it: source, destination, tag; when sent, when its receive was
/// posted, when completed.
type Seen = (u32, u32, i32, u64, u64, u64);

const RANKS: u32 = 4;

/// Writes what each rank did in the order of its times.
fn write(directory: &Path, seen: &[Seen]) {
    let mut slots: BTreeMap<u32, Vec<(u64, usize, Slot)>> =
        (0..RANKS).map(|rank| (rank, Vec::new())).collect();
    for (i, (src, dst, tag, sent, posted, completed)) in seen.iter().enumerate() {
        let bytes = i as u64;
        let send = message(Kind::Send, *sent, *sent, bytes, *dst, *tag);
        slots.get_mut(src).unwrap().push((*sent, 2 * i, send));
        let receive = message(Kind::Receive, *posted, *completed, bytes, *src, *tag);
        slots.get_mut(dst).unwrap().push((*posted, 2 * i + 1, receive));
    }
    for (rank, mut slots) in slots {
        let mut process = Process::new(directory, rank, RANKS, false, END);
        slots.sort_by_key(|(time, number, _)| (*time, *number));
        slots.into_iter().for_each(|(_, _, slot)| process.push(slot));
        process.finish();
    }
}

/// Messages whose sends and receives are in the same order for each pair and tag, as MPI promises.
fn exchange() -> impl Strategy<Value = Vec<Seen>> {
    let one = (0..RANKS, 0..RANKS, 0..2_i32, 1..500_u64, 1..500_u64, 0..500_u64);
    prop::collection::vec(one, 0..120).prop_map(|mut seen| {
        let mut last: BTreeMap<(u32, u32, i32), (u64, u64)> = BTreeMap::new();
        for (src, dst, tag, sent, posted, completed) in &mut seen {
            let last = last.entry((*src, *dst, *tag)).or_default();
            (*sent, *posted) = (*sent + last.0, *posted + last.1);
            *last = (*sent, *posted);
            *completed += (*sent).max(*posted) + 1;
        }
        seen
    })
}

fn expected(seen: &[Seen]) -> Vec<Message> {
    let mut messages: Vec<_> = seen
        .iter()
        .enumerate()
        .map(|(i, (src, dst, tag, sent, posted, completed))| Message {
            send_post_ns: sent.cast_signed(),
            src: Rank(*src),
            dst: Rank(*dst),
            bytes: i as u64,
            tag: Some(*tag),
            communicator: Some(0),
            operation: Operation::PointToPoint,
            send_complete_ns: Some(sent.cast_signed()),
            receive_post_ns: Some(posted.cast_signed()),
            receive_complete_ns: Some(completed.cast_signed()),
        })
        .collect();
    messages.sort_by_key(|message| (message.send_post_ns, message.src));
    messages
}

proptest! {
    #[test]
    fn sends_get_the_receives_that_took_them(seen in exchange()) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &seen);
        let trace = collect(directory.path(), None).unwrap();
        prop_assert_eq!(trace.messages, expected(&seen));
        prop_assert_eq!(trace.imported.summary.unmatched, Some(0));
        prop_assert_eq!(trace.imported.remarks, Vec::<String>::new());
    }

    /// With little room receives lose their messages, but nothing is counted wrongly and nothing is
    /// mixed up.
    #[test]
    fn little_room_costs_times_and_nothing_else(seen in exchange(), room in 0_usize..6) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &seen);
        let run = Run::open(directory.path()).unwrap();
        let processes = Reader::all(&run);
        let mut matching = Matching::with_room(&processes, room).unwrap();
        let mut owed = 0;
        for whole in expected(&seen) {
            let bare = Message { receive_post_ns: None, receive_complete_ns: None, ..whole };
            let mut leaving = Leaving { message: bare, is_received: true, is_sized: true };
            matching.complete(&mut leaving).unwrap();
            let is_bare = leaving.message == bare;
            prop_assert!(is_bare || leaving.message == whole, "{:?} {:?}", leaving.message, whole);
            owed += u64::from(is_bare);
        }
        let remarks = matching.finish().unwrap();
        prop_assert_eq!((remarks.unsent, remarks.unreceived, remarks.owed), (0, 0, owed));
    }

    #[test]
    fn no_damage_makes_reading_panic(
        seen in exchange(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &seen);
        let path = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        for (place, byte) in damage {
            // Most of a file is empty: aim at its slots.
            let place = place.index(bytes.len().min(40_000));
            bytes[place] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        std::fs::write(&path, bytes).unwrap();
        for expand in [None, Some(Rules::Basic)] {
            let _ = collect(directory.path(), expand);
        }
    }
}

#[test]
fn what_has_no_other_side_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut sender = Process::new(directory.path(), 0, 3, false, END);
    sender.push(message(Kind::Send, 10, 10, 8, 1, 1)); // received
    sender.push(message(Kind::Send, 20, 20, 8, 1, 2)); // never received
    sender.push(message(Kind::Send, 30, 30, 8, 2, 3)); // rank 2 left nothing
    sender.finish();
    let mut receiver = Process::new(directory.path(), 1, 3, false, END);
    receiver.push(message(Kind::Receive, 5, 40, 9, 0, 1)); // more than was sent
    receiver.push(message(Kind::Receive, 6, 41, 8, 2, 4)); // from rank 2
    receiver.push(message(Kind::Receive, 7, 0, 64, 0, 9)); // pending
    receiver.die();
    let trace = collect(directory.path(), None).unwrap();
    let received: Vec<_> = trace.messages.iter().map(|message| message.receive_complete_ns).collect();
    assert_eq!(received, [Some(40), None, None]);
    assert_eq!((trace.imported.summary.ranks, trace.imported.summary.unmatched), (3, Some(3)));
    assert_eq!(
        trace.imported.remarks,
        [
            "rank 1 ended early, before MPI_Finalize; all that was recorded until then is in the trace",
            "rank 2 of 3 left no recording: what only they saw is missing",
            "2 receives have no known send: rank 1, receive 2 (of rank 2, tag 4, 8 bytes), rank 1, receive 3 (of rank 0, tag 9, never \
             completed)",
            "1 messages were received with another size than they were sent; the sender's counts",
        ]
    );
}

/// Time of entering and leaving, operation, own part, root.
fn call(enter: u64, leave: u64, operation: Operation, bytes: u64, root: u32) -> Slot {
    let mut slot = Slot::new(Kind::Call, enter, operation as u8, bytes, root, 0, 0, 0);
    slot.0[1] |= leave;
    slot
}

#[test]
fn a_collective_is_expanded_inside_its_calls() {
    let directory = tempfile::tempdir().unwrap();
    for (rank, enter) in [(0, 100), (1, 300), (2, 200), (3, 400)] {
        let mut process = Process::new(directory.path(), rank, 4, true, END);
        process.push(Slot::new(Kind::Mark, 50, 0, 0, 0, 7, 0, 0));
        process.push(call(enter, enter + 100, Operation::Allreduce, 8, 0));
        process.finish();
    }
    let none = collect(directory.path(), None).unwrap();
    assert_eq!((none.messages.len(), none.calls.len(), none.marks.len()), (0, 4, 4));
    let hint =
        "4 collective calls were recorded without their messages; --expand open-mpi or basic computes them";
    assert_eq!(none.imported.remarks, [hint]);
    // Open MPI takes a ring for so few ranks: three steps to reduce, three to spread, a quarter of
    // the vector each.
    let trace = collect(directory.path(), Some(Rules::OpenMpi41)).unwrap();
    let found: Vec<_> =
        trace.messages.iter().map(|m| (m.send_post_ns, m.src.0, m.dst.0, m.bytes, m.operation)).collect();
    let steps = |src: u32, enter: i64| {
        (0..6).map(move |step| (enter + 100 * step / 6, src, (src + 1) % 4, 2, Operation::Allreduce))
    };
    let by_enter = [(0, 100), (2, 200), (1, 300), (3, 400)];
    let expected: Vec<_> = by_enter.into_iter().flat_map(|(src, enter)| steps(src, enter)).collect();
    assert_eq!(found, expected);
    assert_eq!((trace.calls, trace.imported.remarks), (none.calls, vec![]));
}

#[test]
fn what_cannot_be_expanded_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    for rank in 0..2 {
        let mut process = Process::new(directory.path(), rank, 2, true, END);
        process.push(call(10, 20, Operation::NeighborAlltoall, 8, 0));
        // Prepared, never started.
        process.push(Slot::new(Kind::Call, 30, Operation::Bcast as u8, 8, 0, 0, 0, flags::PERSISTENT));
        if rank == 0 {
            process.push(call(40, 50, Operation::Barrier, 0, 0));
        }
        process.finish();
    }
    let trace = collect(directory.path(), Some(Rules::Basic)).unwrap();
    assert_eq!(trace.messages, []);
    let remark = "3 collective calls could not be expanded: on a neighbourhood or an intercommunicator, or not entered by all \
                  members";
    assert_eq!(trace.imported.remarks, [remark]);
}

#[test]
fn a_little_back_in_time_is_an_error_of_the_clock_much_is_damage() {
    let of = |second: u64| {
        let directory = tempfile::tempdir().unwrap();
        let mut process = Process::new(directory.path(), 0, 1, false, END);
        process.push(Slot::new(Kind::Mark, 5_000_000, 0, 0, 0, 1, 0, 0));
        process.push(Slot::new(Kind::Mark, second, 0, 0, 0, 2, 0, 0));
        process.finish();
        collect(directory.path(), None)
    };
    let near = of(4_999_900).unwrap();
    assert_eq!(near.marks.iter().map(|mark| mark.time_ns).collect::<Vec<_>>(), [5_000_000, 5_000_000]);
    assert_eq!(near.imported.summary.clock_error_ns, Some(100));
    let problem = of(3_000_000).err().unwrap().to_string();
    assert!(problem.contains("job.0.host.1000.pfr: record 2 "), "{problem}");
    assert!(
        problem.ends_with("goes back in time by 2000000 ns, expected ascending times: the file is damaged")
    );
}
