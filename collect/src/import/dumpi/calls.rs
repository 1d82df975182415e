//! Calls that communicate or wait, and the bytes that a collective has of each rank.
//!
//! Bytes are those of [`Call::bytes`](crate::trace::Call::bytes): a rank's contribution; what it
//! receives in scatters; what it sends to all in an all-to-all.

use super::functions::number as n;
use super::record::Record;
use super::types::Types;
use crate::trace::Operation;

/// A call as a trace has it.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) operation: Operation,
    /// Where among the arguments its communicator is.
    pub(super) comm: Option<usize>,
    /// Where its root is.
    pub(super) root: Option<usize>,
    pub(super) bytes: Bytes,
}

/// A rank's own bytes.
#[derive(Clone, Copy)]
pub(super) enum Bytes {
    /// They have no meaning.
    None,
    /// As counted from the arguments.
    Own(Own),
}

/// How bytes are counted; numbers are places of arguments.
#[derive(Clone, Copy)]
pub(super) enum Own {
    Nothing,
    /// Count and type.
    Product(usize, usize),
    /// Count and type; where the type is none (in place), those of the other side.
    Either([usize; 4]),
    /// As `Either`, for each member.
    EachMember([usize; 4]),
    /// Counts for all members, and a type.
    Sum(usize, usize),
    /// The own one of counts for all members, and a type.
    Part(usize, usize),
    /// Count and type; in place, the own one of counts for all members and a type.
    EitherPart([usize; 4]),
    /// Counts and types for all members.
    Pairs(usize, usize),
}

impl Kind {
    const fn plain(operation: Operation) -> Self {
        Self { operation, comm: None, root: None, bytes: Bytes::None }
    }

    const fn on(operation: Operation, comm: usize) -> Self {
        Self { operation, comm: Some(comm), root: None, bytes: Bytes::None }
    }

    const fn all(operation: Operation, comm: usize, own: Own) -> Self {
        Self { operation, comm: Some(comm), root: None, bytes: Bytes::Own(own) }
    }

    const fn rooted(operation: Operation, comm: usize, root: usize, own: Own) -> Self {
        Self { operation, comm: Some(comm), root: Some(root), bytes: Bytes::Own(own) }
    }

    /// Messages can be made of it.
    pub(super) fn is_collective(&self) -> bool {
        (Operation::Barrier..=Operation::NeighborAlltoallw).contains(&self.operation)
    }
}

/// The call of a record; `None` for those that neither communicate nor wait: starts, and tests that
/// found nothing.
pub(super) fn kind(record: &Record<'_>) -> Option<Kind> {
    use Operation as Op;
    use Own as O;
    let flag = |place| record.int(place) != 0;
    Some(match record.function() {
        n::SEND | n::BSEND | n::SSEND | n::RSEND => Kind::on(Op::Send, 4),
        n::RECV => Kind::on(Op::Recv, 4),
        n::SENDRECV => Kind::on(Op::Sendrecv, 8),
        n::SENDRECV_REPLACE => Kind::on(Op::Sendrecv, 6),
        n::WAIT | n::WAITANY | n::WAITALL | n::WAITSOME => Kind::plain(Op::Wait),
        n::TEST if flag(1) => Kind::plain(Op::Test),
        n::TESTANY if flag(3) => Kind::plain(Op::Test),
        n::TESTALL if flag(2) => Kind::plain(Op::Test),
        n::TESTSOME if record.int(2) > 0 => Kind::plain(Op::Test),
        n::PROBE => Kind::on(Op::Probe, 2),
        n::IPROBE if flag(3) => Kind::on(Op::Probe, 2),
        n::BARRIER => Kind::all(Op::Barrier, 0, O::Nothing),
        n::BCAST => Kind::rooted(Op::Bcast, 3, 2, O::Product(0, 1)),
        n::GATHER => Kind::rooted(Op::Gather, 4, 3, O::Either([1, 2, 5, 6])),
        n::GATHERV => Kind::rooted(Op::Gatherv, 5, 4, O::EitherPart([2, 3, 6, 8])),
        n::SCATTER => Kind::rooted(Op::Scatter, 4, 3, O::Either([1, 2, 5, 6])),
        n::SCATTERV => Kind::rooted(Op::Scatterv, 6, 5, O::EitherPart([3, 4, 7, 2])),
        n::ALLGATHER => Kind::all(Op::Allgather, 4, O::Either([0, 1, 2, 3])),
        n::ALLGATHERV => Kind::all(Op::Allgatherv, 6, O::EitherPart([1, 2, 3, 5])),
        n::ALLTOALL => Kind::all(Op::Alltoall, 4, O::EachMember([0, 1, 2, 3])),
        n::ALLTOALLV => Kind::all(Op::Alltoallv, 7, O::Sum(1, 3)),
        n::ALLTOALLW => Kind::all(Op::Alltoallw, 7, O::Pairs(1, 3)),
        n::REDUCE => Kind::rooted(Op::Reduce, 4, 3, O::Product(0, 1)),
        n::ALLREDUCE => Kind::all(Op::Allreduce, 3, O::Product(0, 1)),
        n::REDUCE_SCATTER => Kind::all(Op::ReduceScatter, 4, O::Part(1, 2)),
        n::SCAN => Kind::all(Op::Scan, 3, O::Product(0, 1)),
        n::EXSCAN => Kind::all(Op::Exscan, 3, O::Product(0, 1)),
        n::COMM_DUP | n::COMM_CREATE | n::COMM_SPLIT | n::CART_CREATE | n::INTERCOMM_CREATE => {
            Kind::on(Op::Communicator, 0)
        }
        n::COMM_FREE | n::COMM_DISCONNECT | n::INTERCOMM_MERGE => Kind::on(Op::Communicator, 0),
        n::GRAPH_CREATE | n::CART_SUB => Kind::on(Op::Communicator, 1),
        n::COMM_ACCEPT | n::COMM_CONNECT => Kind::on(Op::Communicator, 3),
        n::COMM_SPAWN => Kind::on(Op::Spawn, 2),
        n::COMM_SPAWN_MULTIPLE => Kind::on(Op::Spawn, 3),
        n::WIN_CREATE => Kind::on(Op::Window, 3),
        n::WIN_FREE => Kind::plain(Op::Window),
        n::WIN_FENCE => Kind::plain(Op::Fence),
        n::WIN_LOCK | n::WIN_UNLOCK => Kind::plain(Op::WindowLock),
        n::WIN_START | n::WIN_COMPLETE | n::WIN_POST | n::WIN_WAIT => Kind::plain(Op::WindowEpoch),
        n::WIN_TEST if flag(1) => Kind::plain(Op::WindowEpoch),
        n::FILE_OPEN => Kind::on(Op::File, 0),
        n::FILE_CLOSE | n::FILE_SYNC => Kind::plain(Op::File),
        n::FINALIZE => Kind::plain(Op::Finalize),
        function => return file_transfer(function),
    })
}

/// A transfer of a file that the call itself waits for.
fn file_transfer(function: u16) -> Option<Kind> {
    let (operation, own) = match function {
        n::FILE_READ_AT | n::FILE_READ_AT_ALL => (Operation::FileRead, Own::Product(2, 3)),
        n::FILE_WRITE_AT | n::FILE_WRITE_AT_ALL => (Operation::FileWrite, Own::Product(2, 3)),
        n::FILE_READ | n::FILE_READ_ALL | n::FILE_READ_SHARED | n::FILE_READ_ORDERED => {
            (Operation::FileRead, Own::Product(1, 2))
        }
        n::FILE_WRITE | n::FILE_WRITE_ALL | n::FILE_WRITE_SHARED | n::FILE_WRITE_ORDERED => {
            (Operation::FileWrite, Own::Product(1, 2))
        }
        _ => return None,
    };
    Some(Kind { operation, comm: None, root: None, bytes: Bytes::Own(own) })
}

impl Own {
    /// The bytes; `None` if a size is unknown. `size` members has the communicator, `place` tells
    /// the rank's among them.
    pub(super) fn count(
        self,
        record: &Record<'_>,
        types: &Types,
        size: Option<u64>,
        place: &dyn Fn() -> Option<usize>,
    ) -> Option<u64> {
        let product = |count, datatype| types.bytes(record.int(count), record.handle(datatype));
        let own_part =
            |counts, datatype| types.bytes(record.ints(counts).nth(place()?)?, record.handle(datatype));
        let either = |[count, datatype, other, other_datatype]: [usize; 4]| {
            product(count, datatype)
                .or_else(|| record.has(other).then(|| product(other, other_datatype)).flatten())
        };
        match self {
            Own::Nothing => Some(0),
            Own::Product(count, datatype) => product(count, datatype),
            Own::Either(places) => either(places),
            Own::EachMember(places) => either(places)?.checked_mul(size?),
            Own::Sum(counts, datatype) => {
                sum(record.ints(counts).map(|count| types.bytes(count, record.handle(datatype))))
            }
            Own::Part(counts, datatype) => own_part(counts, datatype),
            Own::EitherPart([count, datatype, counts, other]) => {
                product(count, datatype).or_else(|| own_part(counts, other))
            }
            Own::Pairs(counts, datatypes) => sum(pairs(record, types, counts, datatypes)),
        }
    }
}

fn pairs<'a>(
    record: &Record<'a>,
    types: &'a Types,
    counts: usize,
    datatypes: usize,
) -> impl Iterator<Item = Option<u64>> + 'a {
    record.ints(counts).zip(record.handles(datatypes)).map(|(count, datatype)| types.bytes(count, datatype))
}

fn sum(mut bytes: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    bytes.try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))
}

/// Bytes to each member of an alltoallv or alltoallw; nothing for other calls, and where a size is
/// unknown.
pub(super) fn counts(record: &Record<'_>, types: &Types) -> Vec<u64> {
    let all: Option<Vec<u64>> = match record.function() {
        n::ALLTOALLV => record.ints(1).map(|count| types.bytes(count, record.handle(3))).collect(),
        n::ALLTOALLW => pairs(record, types, 1, 3).collect(),
        _ => None,
    };
    all.unwrap_or_default()
}
