//! A rank's part in a collective, from the call's arguments; see [`format`](mod@crate::format) for
//! its definition. Arguments without a meaning on this rank are not read, as a null datatype there
//! would end the program.

use crate::call::Call;
use crate::communicator::Communicator;
use crate::communicator_table;
use crate::lane;
use crate::mpi::{int, library};
use crate::operation::Operation::{self, *};
use crate::count::{Counts, bytes};
use crate::recording;

/// The record of the call, and the bytes for each peer if they differ.
pub(super) struct Part {
    pub(super) call: Call,
    pub(super) to: Option<(Peers, u32)>,
}

impl From<Call> for Part {
    fn from(call: Call) -> Self {
        Self { call, to: None }
    }
}

impl Part {
    /// Bytes for each peer, if no messages are recorded.
    pub(super) fn counts(to: Option<(Peers, u32)>) -> Vec<u64> {
        match to {
            Some((peers, size)) if !recording::sees_messages() => (0..size).map(|peer| peers.bytes(peer)).collect(),
            _ => Vec::new(),
        }
    }
}

/// The communicator of a handle, as this thread knows it.
fn known(comm: usize) -> Option<&'static Communicator> {
    let lane = lane::current();
    // SAFETY: the calling thread's lane; a communicator that MPI is given too.
    (!lane.is_null()).then(|| unsafe { communicator_table::of(lane, library().handle(comm)) })
}

fn is_in_place(buffer: usize) -> bool {
    buffer == library().in_place
}

pub(super) fn own_count(counts: Counts, comm: usize) -> u64 {
    known(comm).map_or(0, |found| counts.at(found.rank))
}

pub(super) fn vector(operation: Operation, count: u64, datatype: usize, comm: usize) -> Call {
    Call::of(operation).on(comm).bytes(bytes(count, datatype))
}

/// Bytes that a rank contributes or, in a scatter, receives.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) buffer: usize,
    pub(super) count: u64,
    pub(super) datatype: usize,
}

impl Own {
    /// Its bytes; for a buffer in place by the other side's count and type.
    fn part(self, operation: Operation, other: impl FnOnce() -> u64, other_type: usize, comm: usize) -> Call {
        if is_in_place(self.buffer) {
            vector(operation, other(), other_type, comm)
        } else {
            vector(operation, self.count, self.datatype, comm)
        }
    }
}

/// Across an intercommunicator the root's own side has no part, and its arguments are not read.
fn rooted(operation: Operation, root: usize, comm: usize, part: impl FnOnce() -> Call) -> Call {
    let library = library();
    let call = if int(root) == library.root || int(root) == library.proc_null {
        Call::of(operation).on(comm)
    } else {
        part()
    };
    call.root(root)
}

pub(super) fn bcast(count: u64, datatype: usize, root: usize, comm: usize) -> Call {
    // There the root has all bytes.
    if int(root) == library().root {
        return vector(Bcast, count, datatype, comm).root(root);
    }
    rooted(Bcast, root, comm, || vector(Bcast, count, datatype, comm))
}

pub(super) fn reduce(count: u64, datatype: usize, root: usize, comm: usize) -> Call {
    rooted(Reduce, root, comm, || vector(Reduce, count, datatype, comm))
}

pub(super) fn gather(own: Own, to_count: u64, to_type: usize, root: usize, comm: usize) -> Call {
    rooted(Gather, root, comm, || own.part(Gather, || to_count, to_type, comm))
}

pub(super) fn gatherv(own: Own, to_counts: Counts, to_type: usize, root: usize, comm: usize) -> Call {
    rooted(Gatherv, root, comm, || own.part(Gatherv, || own_count(to_counts, comm), to_type, comm))
}

pub(super) fn scatter(own: Own, from_count: u64, from_type: usize, root: usize, comm: usize) -> Call {
    rooted(Scatter, root, comm, || own.part(Scatter, || from_count, from_type, comm))
}

pub(super) fn scatterv(own: Own, from_counts: Counts, from_type: usize, root: usize, comm: usize) -> Call {
    rooted(Scatterv, root, comm, || own.part(Scatterv, || own_count(from_counts, comm), from_type, comm))
}

pub(super) fn allgather(own: Own, to_count: u64, to_type: usize, comm: usize) -> Call {
    own.part(Allgather, || to_count, to_type, comm)
}

pub(super) fn allgatherv(own: Own, to_counts: Counts, to_type: usize, comm: usize) -> Call {
    own.part(Allgatherv, || own_count(to_counts, comm), to_type, comm)
}

pub(super) fn alltoall(own: Own, to_count: u64, to_type: usize, comm: usize) -> Call {
    let size = u64::from(known(comm).map_or(0, Communicator::size));
    let all = Own { count: own.count.saturating_mul(size), ..own };
    all.part(Alltoall, || to_count.saturating_mul(size), to_type, comm)
}

/// Bytes for each peer of an alltoallv or alltoallw.
#[derive(Clone, Copy)]
pub(super) struct Peers {
    counts: Counts,
    /// One datatype, or the address of an array of them.
    datatype: usize,
    many: bool,
}

impl Peers {
    pub(super) fn one_type(from: usize, own: (Counts, usize), other: (Counts, usize)) -> Self {
        let (counts, datatype) = if is_in_place(from) { other } else { own };
        Self { counts, datatype, many: false }
    }

    pub(super) fn many_types(from: usize, own: (Counts, usize), other: (Counts, usize)) -> Self {
        Self { many: true, ..Self::one_type(from, own, other) }
    }

    fn bytes(self, peer: u32) -> u64 {
        let count = self.counts.at(peer);
        let datatype = if self.many && count > 0 {
            // SAFETY: an array of one datatype a peer, which MPI is given too.
            unsafe { library().handle_at(self.datatype + peer as usize * library().handle_size()) }
        } else {
            self.datatype
        };
        bytes(count, datatype)
    }

    pub(super) fn call(self, operation: Operation, comm: usize) -> Part {
        let size = known(comm).map_or(0, Communicator::size);
        let total = (0..size).map(|peer| self.bytes(peer)).fold(0, u64::saturating_add);
        Part { call: Call::of(operation).on(comm).bytes(total), to: Some((self, size)) }
    }
}
