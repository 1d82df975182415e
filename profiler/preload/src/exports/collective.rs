//! Collectives: blocking, non-blocking and persistent, over all members or over neighbours, with counts of either
//! width. Each records
//! its part in the operation (see [`format`](mod@crate::format)); where messages below are not seen, alltoallv and
//! alltoallw also what goes
//! to each peer, and a persistent one again whenever it is started.

use super::functions;
use crate::call::{Call, counts, recorded_with};
use crate::communicator::{self, Communicator};
use crate::lane;
use crate::mpi::{SUCCESS, int, library};
use crate::operation::Operation::{self, *};
use crate::pmpi::{self, Counts, Width, bytes};
use crate::session;

/// Defines one collective: its three functions with their profiling names, its arguments, and what a rank's part in
/// it is, with the
/// width of its counts.
macro_rules! collectives {
    ($($name:ident $profiling:ident $started:ident $started_profiling:ident $prepared:ident $prepared_profiling:ident
        ($($argument:ident),*) |$of:ident $width:ident| $part:expr;)*) => { functions! { $(
        $name $profiling($($argument),*) |real| blocking(|| { let $of = Width::$width; $part.into() }, real);
        $started $started_profiling($($argument),*, request)
            |real| nonblocking(|| { let $of = Width::$width; $part.into() }, real);
        $prepared $prepared_profiling($($argument),*, info, request)
            |real| persistent(|| { let $of = Width::$width; $part.into() }, request, real);
    )* } };
}

collectives! {
    MPI_Barrier PMPI_Barrier MPI_Ibarrier PMPI_Ibarrier MPI_Barrier_init PMPI_Barrier_init
        (comm) |of Int| Call::of(Barrier).on(comm);
    MPI_Bcast PMPI_Bcast MPI_Ibcast PMPI_Ibcast MPI_Bcast_init PMPI_Bcast_init
        (buffer, count, datatype, root, comm) |of Int|
        bcast(of.count(count), datatype, root, comm);
    MPI_Bcast_c PMPI_Bcast_c MPI_Ibcast_c PMPI_Ibcast_c MPI_Bcast_init_c PMPI_Bcast_init_c
        (buffer, count, datatype, root, comm) |of Count|
        bcast(of.count(count), datatype, root, comm);
    MPI_Gather PMPI_Gather MPI_Igather PMPI_Igather MPI_Gather_init PMPI_Gather_init
        (from, count, datatype, to, to_count, to_type, root, comm) |of Int|
        gather(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type, root, comm);
    MPI_Gather_c PMPI_Gather_c MPI_Igather_c PMPI_Igather_c MPI_Gather_init_c PMPI_Gather_init_c
        (from, count, datatype, to, to_count, to_type, root, comm) |of Count|
        gather(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type, root, comm);
    MPI_Gatherv PMPI_Gatherv MPI_Igatherv PMPI_Igatherv MPI_Gatherv_init PMPI_Gatherv_init
        (from, count, datatype, to, to_counts, places, to_type, root, comm) |of Int|
        gatherv(Own { buffer: from, count: of.count(count), datatype }, of.array(to_counts), to_type, root, comm);
    MPI_Gatherv_c PMPI_Gatherv_c MPI_Igatherv_c PMPI_Igatherv_c MPI_Gatherv_init_c PMPI_Gatherv_init_c
        (from, count, datatype, to, to_counts, places, to_type, root, comm) |of Count|
        gatherv(Own { buffer: from, count: of.count(count), datatype }, of.array(to_counts), to_type, root, comm);
    MPI_Scatter PMPI_Scatter MPI_Iscatter PMPI_Iscatter MPI_Scatter_init PMPI_Scatter_init
        (from, from_count, from_type, to, count, datatype, root, comm) |of Int|
        scatter(Own { buffer: to, count: of.count(count), datatype }, of.count(from_count), from_type, root, comm);
    MPI_Scatter_c PMPI_Scatter_c MPI_Iscatter_c PMPI_Iscatter_c MPI_Scatter_init_c PMPI_Scatter_init_c
        (from, from_count, from_type, to, count, datatype, root, comm) |of Count|
        scatter(Own { buffer: to, count: of.count(count), datatype }, of.count(from_count), from_type, root, comm);
    MPI_Scatterv PMPI_Scatterv MPI_Iscatterv PMPI_Iscatterv MPI_Scatterv_init PMPI_Scatterv_init
        (from, from_counts, places, from_type, to, count, datatype, root, comm) |of Int|
        scatterv(Own { buffer: to, count: of.count(count), datatype }, of.array(from_counts), from_type, root, comm);
    MPI_Scatterv_c PMPI_Scatterv_c MPI_Iscatterv_c PMPI_Iscatterv_c MPI_Scatterv_init_c PMPI_Scatterv_init_c
        (from, from_counts, places, from_type, to, count, datatype, root, comm) |of Count|
        scatterv(Own { buffer: to, count: of.count(count), datatype }, of.array(from_counts), from_type, root, comm);
    MPI_Allgather PMPI_Allgather MPI_Iallgather PMPI_Iallgather MPI_Allgather_init PMPI_Allgather_init
        (from, count, datatype, to, to_count, to_type, comm) |of Int|
        allgather(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type, comm);
    MPI_Allgather_c PMPI_Allgather_c MPI_Iallgather_c PMPI_Iallgather_c MPI_Allgather_init_c PMPI_Allgather_init_c
        (from, count, datatype, to, to_count, to_type, comm) |of Count|
        allgather(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type, comm);
    MPI_Allgatherv PMPI_Allgatherv MPI_Iallgatherv PMPI_Iallgatherv MPI_Allgatherv_init PMPI_Allgatherv_init
        (from, count, datatype, to, to_counts, places, to_type, comm) |of Int|
        allgatherv(Own { buffer: from, count: of.count(count), datatype }, of.array(to_counts), to_type, comm);
    MPI_Allgatherv_c PMPI_Allgatherv_c MPI_Iallgatherv_c PMPI_Iallgatherv_c MPI_Allgatherv_init_c PMPI_Allgatherv_init_c
        (from, count, datatype, to, to_counts, places, to_type, comm) |of Count|
        allgatherv(Own { buffer: from, count: of.count(count), datatype }, of.array(to_counts), to_type, comm);
    MPI_Alltoall PMPI_Alltoall MPI_Ialltoall PMPI_Ialltoall MPI_Alltoall_init PMPI_Alltoall_init
        (from, count, datatype, to, to_count, to_type, comm) |of Int|
        alltoall(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type, comm);
    MPI_Alltoall_c PMPI_Alltoall_c MPI_Ialltoall_c PMPI_Ialltoall_c MPI_Alltoall_init_c PMPI_Alltoall_init_c
        (from, count, datatype, to, to_count, to_type, comm) |of Count|
        alltoall(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type, comm);
    MPI_Alltoallv PMPI_Alltoallv MPI_Ialltoallv PMPI_Ialltoallv MPI_Alltoallv_init PMPI_Alltoallv_init
        (from, counts, places, datatype, to, to_counts, to_places, to_type, comm) |of Int|
        Peers::one_type(from, (of.array(counts), datatype), (of.array(to_counts), to_type)).call(Alltoallv, comm);
    MPI_Alltoallv_c PMPI_Alltoallv_c MPI_Ialltoallv_c PMPI_Ialltoallv_c MPI_Alltoallv_init_c PMPI_Alltoallv_init_c
        (from, counts, places, datatype, to, to_counts, to_places, to_type, comm) |of Count|
        Peers::one_type(from, (of.array(counts), datatype), (of.array(to_counts), to_type)).call(Alltoallv, comm);
    MPI_Alltoallw PMPI_Alltoallw MPI_Ialltoallw PMPI_Ialltoallw MPI_Alltoallw_init PMPI_Alltoallw_init
        (from, counts, places, types, to, to_counts, to_places, to_types, comm) |of Int|
        Peers::many_types(from, (of.array(counts), types), (of.array(to_counts), to_types)).call(Alltoallw, comm);
    MPI_Alltoallw_c PMPI_Alltoallw_c MPI_Ialltoallw_c PMPI_Ialltoallw_c MPI_Alltoallw_init_c PMPI_Alltoallw_init_c
        (from, counts, places, types, to, to_counts, to_places, to_types, comm) |of Count|
        Peers::many_types(from, (of.array(counts), types), (of.array(to_counts), to_types)).call(Alltoallw, comm);
    MPI_Reduce PMPI_Reduce MPI_Ireduce PMPI_Ireduce MPI_Reduce_init PMPI_Reduce_init
        (from, to, count, datatype, op, root, comm) |of Int|
        reduce(of.count(count), datatype, root, comm);
    MPI_Reduce_c PMPI_Reduce_c MPI_Ireduce_c PMPI_Ireduce_c MPI_Reduce_init_c PMPI_Reduce_init_c
        (from, to, count, datatype, op, root, comm) |of Count|
        reduce(of.count(count), datatype, root, comm);
    MPI_Allreduce PMPI_Allreduce MPI_Iallreduce PMPI_Iallreduce MPI_Allreduce_init PMPI_Allreduce_init
        (from, to, count, datatype, op, comm) |of Int|
        vector(Allreduce, of.count(count), datatype, comm);
    MPI_Allreduce_c PMPI_Allreduce_c MPI_Iallreduce_c PMPI_Iallreduce_c MPI_Allreduce_init_c PMPI_Allreduce_init_c
        (from, to, count, datatype, op, comm) |of Count|
        vector(Allreduce, of.count(count), datatype, comm);
    MPI_Reduce_scatter PMPI_Reduce_scatter MPI_Ireduce_scatter PMPI_Ireduce_scatter MPI_Reduce_scatter_init
      PMPI_Reduce_scatter_init
        (from, to, counts, datatype, op, comm) |of Int|
        vector(ReduceScatter, own_count(of.array(counts), comm), datatype, comm);
    MPI_Reduce_scatter_c PMPI_Reduce_scatter_c MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c
      MPI_Reduce_scatter_init_c PMPI_Reduce_scatter_init_c
        (from, to, counts, datatype, op, comm) |of Count|
        vector(ReduceScatter, own_count(of.array(counts), comm), datatype, comm);
    MPI_Reduce_scatter_block PMPI_Reduce_scatter_block MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block
      MPI_Reduce_scatter_block_init PMPI_Reduce_scatter_block_init
        (from, to, count, datatype, op, comm) |of Int|
        vector(ReduceScatterBlock, of.count(count), datatype, comm);
    MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c
      MPI_Reduce_scatter_block_init_c PMPI_Reduce_scatter_block_init_c
        (from, to, count, datatype, op, comm) |of Count|
        vector(ReduceScatterBlock, of.count(count), datatype, comm);
    MPI_Scan PMPI_Scan MPI_Iscan PMPI_Iscan MPI_Scan_init PMPI_Scan_init
        (from, to, count, datatype, op, comm) |of Int|
        vector(Scan, of.count(count), datatype, comm);
    MPI_Scan_c PMPI_Scan_c MPI_Iscan_c PMPI_Iscan_c MPI_Scan_init_c PMPI_Scan_init_c
        (from, to, count, datatype, op, comm) |of Count|
        vector(Scan, of.count(count), datatype, comm);
    MPI_Exscan PMPI_Exscan MPI_Iexscan PMPI_Iexscan MPI_Exscan_init PMPI_Exscan_init
        (from, to, count, datatype, op, comm) |of Int|
        vector(Exscan, of.count(count), datatype, comm);
    MPI_Exscan_c PMPI_Exscan_c MPI_Iexscan_c PMPI_Iexscan_c MPI_Exscan_init_c PMPI_Exscan_init_c
        (from, to, count, datatype, op, comm) |of Count|
        vector(Exscan, of.count(count), datatype, comm);
    MPI_Neighbor_allgather PMPI_Neighbor_allgather MPI_Ineighbor_allgather PMPI_Ineighbor_allgather
      MPI_Neighbor_allgather_init PMPI_Neighbor_allgather_init
        (from, count, datatype, to, to_count, to_type, comm) |of Int|
        vector(NeighborAllgather, of.count(count), datatype, comm);
    MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c
      MPI_Neighbor_allgather_init_c PMPI_Neighbor_allgather_init_c
        (from, count, datatype, to, to_count, to_type, comm) |of Count|
        vector(NeighborAllgather, of.count(count), datatype, comm);
    MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv
      MPI_Neighbor_allgatherv_init PMPI_Neighbor_allgatherv_init
        (from, count, datatype, to, to_counts, places, to_type, comm) |of Int|
        vector(NeighborAllgatherv, of.count(count), datatype, comm);
    MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c
      MPI_Neighbor_allgatherv_init_c PMPI_Neighbor_allgatherv_init_c
        (from, count, datatype, to, to_counts, places, to_type, comm) |of Count|
        vector(NeighborAllgatherv, of.count(count), datatype, comm);
    MPI_Neighbor_alltoall PMPI_Neighbor_alltoall MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall
      MPI_Neighbor_alltoall_init PMPI_Neighbor_alltoall_init
        (from, count, datatype, to, to_count, to_type, comm) |of Int|
        vector(NeighborAlltoall, of.count(count), datatype, comm);
    MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c
      MPI_Neighbor_alltoall_init_c PMPI_Neighbor_alltoall_init_c
        (from, count, datatype, to, to_count, to_type, comm) |of Count|
        vector(NeighborAlltoall, of.count(count), datatype, comm);
    MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv
      MPI_Neighbor_alltoallv_init PMPI_Neighbor_alltoallv_init
        (from, counts, places, datatype, to, to_counts, to_places, to_type, comm) |of Int|
        Call::of(NeighborAlltoallv).on(comm);
    MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c
      MPI_Neighbor_alltoallv_init_c PMPI_Neighbor_alltoallv_init_c
        (from, counts, places, datatype, to, to_counts, to_places, to_type, comm) |of Count|
        Call::of(NeighborAlltoallv).on(comm);
    MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw
      MPI_Neighbor_alltoallw_init PMPI_Neighbor_alltoallw_init
        (from, counts, places, types, to, to_counts, to_places, to_types, comm) |of Int|
        Call::of(NeighborAlltoallw).on(comm);
    MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c
      MPI_Neighbor_alltoallw_init_c PMPI_Neighbor_alltoallw_init_c
        (from, counts, places, types, to, to_counts, to_places, to_types, comm) |of Count|
        Call::of(NeighborAlltoallw).on(comm);
}

/// A rank's part in a collective: the record of the call, and what goes to each peer if that differs.
struct Part {
    call: Call,
    to: Option<(Peers, u32)>,
}

impl From<Call> for Part {
    fn from(call: Call) -> Self {
        Self { call, to: None }
    }
}

impl Part {
    /// Bytes for each peer, where no messages will tell.
    fn counts(to: Option<(Peers, u32)>) -> Vec<u64> {
        match to {
            Some((peers, size)) if !session::sees_messages() => (0..size).map(|peer| peers.bytes(peer)).collect(),
            _ => Vec::new(),
        }
    }
}

fn blocking(part: impl FnOnce() -> Part, real: impl FnOnce() -> i32) -> i32 {
    let describe = || {
        let part = part();
        (part.call, part.to)
    };
    recorded_with(describe, |to| counts(&Part::counts(to)), real)
}

fn nonblocking(part: impl FnOnce() -> Part, real: impl FnOnce() -> i32) -> i32 {
    let part = || {
        let part = part();
        Part { call: part.call.nonblocking(), ..part }
    };
    blocking(part, real)
}

fn persistent(part: impl FnOnce() -> Part, request: usize, real: impl FnOnce() -> i32) -> i32 {
    let mut prepared = None;
    let describe = || {
        let part = part();
        prepared = Some((part.call, part.to));
        (part.call.persistent(), ())
    };
    let result = recorded_with(describe, |()| (), real);
    if let Some((call, to)) = prepared
        && result == SUCCESS
        && !session::sees_messages()
    {
        pmpi::prepare_collective(request, call.persistent().nonblocking(), Part::counts(to));
    }
    result
}

/// The communicator of a handle, as this thread knows it.
fn known(comm: usize) -> Option<&'static Communicator> {
    let lane = lane::current();
    // SAFETY: the calling thread's lane; a communicator that MPI is given too.
    (!lane.is_null()).then(|| unsafe { communicator::of(lane, library().handle(comm)) })
}

fn is_in_place(buffer: usize) -> bool {
    buffer == library().in_place
}

fn own_count(counts: Counts, comm: usize) -> u64 {
    known(comm).map_or(0, |found| counts.at(found.rank))
}

fn vector(operation: Operation, count: u64, datatype: usize, comm: usize) -> Call {
    Call::of(operation).on(comm).bytes(bytes(count, datatype))
}

/// What a rank gives or, in a scatter, gets.
#[derive(Clone, Copy)]
struct Own {
    buffer: usize,
    count: u64,
    datatype: usize,
}

impl Own {
    /// Its bytes; of a buffer in place the other side's count and type tell.
    fn part(self, operation: Operation, other: impl FnOnce() -> u64, other_type: usize, comm: usize) -> Call {
        if is_in_place(self.buffer) {
            vector(operation, other(), other_type, comm)
        } else {
            vector(operation, self.count, self.datatype, comm)
        }
    }
}

/// Across an intercommunicator the root's own side has no part of its own, and arguments that mean nothing: they are
/// not looked at.
fn rooted(operation: Operation, root: usize, comm: usize, part: impl FnOnce() -> Call) -> Call {
    let library = library();
    let call = if int(root) == library.root || int(root) == library.proc_null {
        Call::of(operation).on(comm)
    } else {
        part()
    };
    call.root(root)
}

fn bcast(count: u64, datatype: usize, root: usize, comm: usize) -> Call {
    // There the root has all of it.
    if int(root) == library().root {
        return vector(Bcast, count, datatype, comm).root(root);
    }
    rooted(Bcast, root, comm, || vector(Bcast, count, datatype, comm))
}

fn reduce(count: u64, datatype: usize, root: usize, comm: usize) -> Call {
    rooted(Reduce, root, comm, || vector(Reduce, count, datatype, comm))
}

fn gather(own: Own, to_count: u64, to_type: usize, root: usize, comm: usize) -> Call {
    rooted(Gather, root, comm, || own.part(Gather, || to_count, to_type, comm))
}

fn gatherv(own: Own, to_counts: Counts, to_type: usize, root: usize, comm: usize) -> Call {
    rooted(Gatherv, root, comm, || own.part(Gatherv, || own_count(to_counts, comm), to_type, comm))
}

fn scatter(own: Own, from_count: u64, from_type: usize, root: usize, comm: usize) -> Call {
    rooted(Scatter, root, comm, || own.part(Scatter, || from_count, from_type, comm))
}

fn scatterv(own: Own, from_counts: Counts, from_type: usize, root: usize, comm: usize) -> Call {
    rooted(Scatterv, root, comm, || own.part(Scatterv, || own_count(from_counts, comm), from_type, comm))
}

fn allgather(own: Own, to_count: u64, to_type: usize, comm: usize) -> Call {
    own.part(Allgather, || to_count, to_type, comm)
}

fn allgatherv(own: Own, to_counts: Counts, to_type: usize, comm: usize) -> Call {
    own.part(Allgatherv, || own_count(to_counts, comm), to_type, comm)
}

fn alltoall(own: Own, to_count: u64, to_type: usize, comm: usize) -> Call {
    let size = u64::from(known(comm).map_or(0, Communicator::size));
    let all = Own { count: own.count.saturating_mul(size), ..own };
    all.part(Alltoall, || to_count.saturating_mul(size), to_type, comm)
}

/// What goes to each peer of an alltoallv or alltoallw.
#[derive(Clone, Copy)]
struct Peers {
    counts: Counts,
    /// One datatype, or the address of an array of them.
    datatype: usize,
    many: bool,
}

impl Peers {
    fn one_type(from: usize, own: (Counts, usize), other: (Counts, usize)) -> Self {
        let (counts, datatype) = if is_in_place(from) { other } else { own };
        Self { counts, datatype, many: false }
    }

    fn many_types(from: usize, own: (Counts, usize), other: (Counts, usize)) -> Self {
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

    fn call(self, operation: Operation, comm: usize) -> Part {
        let size = known(comm).map_or(0, Communicator::size);
        let total = (0..size).map(|peer| self.bytes(peer)).fold(0, u64::saturating_add);
        Part { call: Call::of(operation).on(comm).bytes(total), to: Some((self, size)) }
    }
}
