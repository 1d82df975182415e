//! Collectives: blocking, non-blocking, over neighbours, persistent. Each records its part in the operation (see
//! [`format`](crate::format)); where messages below are not seen, alltoallv and alltoallw also what goes to each peer.

use super::{functions, int_of};
use crate::call::{Call, counts, recorded, recorded_with};
use crate::communicator::{self, Communicator};
use crate::lane;
use crate::mpi::library;
use crate::operation::Operation::{self, *};
use crate::pmpi::bytes;
use crate::session;

functions! {
    MPI_Barrier PMPI_Barrier(comm) |real| recorded(|| Call::of(Barrier).on(comm), real);
    MPI_Bcast PMPI_Bcast(buffer, count, datatype, root, comm)
        |real| recorded(|| bcast(count, datatype, root, comm), real);
    MPI_Gather PMPI_Gather(from, count, datatype, to, to_count, to_type, root, comm)
        |real| recorded(|| given(Gather, from, count, datatype, to_count, to_type, comm).root(root), real);
    MPI_Gatherv PMPI_Gatherv(from, count, datatype, to, to_counts, places, to_type, root, comm)
        |real| recorded(|| gatherv(from, count, datatype, to_counts, to_type, root, comm), real);
    MPI_Scatter PMPI_Scatter(from, from_count, from_type, to, count, datatype, root, comm)
        |real| recorded(|| given(Scatter, to, count, datatype, from_count, from_type, comm).root(root), real);
    MPI_Scatterv PMPI_Scatterv(from, from_counts, places, from_type, to, count, datatype, root, comm)
        |real| recorded(|| scatterv(to, count, datatype, from_counts, from_type, root, comm), real);
    MPI_Allgather PMPI_Allgather(from, count, datatype, to, to_count, to_type, comm)
        |real| recorded(|| given(Allgather, from, count, datatype, to_count, to_type, comm), real);
    MPI_Allgatherv PMPI_Allgatherv(from, count, datatype, to, to_counts, places, to_type, comm)
        |real| recorded(|| allgatherv(from, count, datatype, to_counts, to_type, comm), real);
    MPI_Alltoall PMPI_Alltoall(from, count, datatype, to, to_count, to_type, comm)
        |real| recorded(|| alltoall(from, count, datatype, to_count, to_type, comm), real);
    MPI_Alltoallv PMPI_Alltoallv(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm)
        |real| all_to_all_v(Peers::one_type(Alltoallv, from, from_counts, from_type, to_counts, to_type), comm, false, real);
    MPI_Alltoallw PMPI_Alltoallw(from, from_counts, from_places, from_types, to, to_counts, to_places, to_types, comm)
        |real| all_to_all_v(Peers::many_types(from, from_counts, from_types, to_counts, to_types), comm, false, real);
    MPI_Reduce PMPI_Reduce(from, to, count, datatype, op, root, comm)
        |real| recorded(|| vector(Reduce, count, datatype, comm).root(root), real);
    MPI_Allreduce PMPI_Allreduce(from, to, count, datatype, op, comm)
        |real| recorded(|| vector(Allreduce, count, datatype, comm), real);
    MPI_Reduce_scatter PMPI_Reduce_scatter(from, to, counts, datatype, op, comm)
        |real| recorded(|| reduce_scatter(counts, datatype, comm), real);
    MPI_Reduce_scatter_block PMPI_Reduce_scatter_block(from, to, count, datatype, op, comm)
        |real| recorded(|| vector(ReduceScatterBlock, count, datatype, comm), real);
    MPI_Scan PMPI_Scan(from, to, count, datatype, op, comm)
        |real| recorded(|| vector(Scan, count, datatype, comm), real);
    MPI_Exscan PMPI_Exscan(from, to, count, datatype, op, comm)
        |real| recorded(|| vector(Exscan, count, datatype, comm), real);

    MPI_Ibarrier PMPI_Ibarrier(comm, request) |real| recorded(|| Call::of(Barrier).on(comm).nonblocking(), real);
    MPI_Ibcast PMPI_Ibcast(buffer, count, datatype, root, comm, request)
        |real| recorded(|| bcast(count, datatype, root, comm).nonblocking(), real);
    MPI_Igather PMPI_Igather(from, count, datatype, to, to_count, to_type, root, comm, request)
        |real| recorded(|| given(Gather, from, count, datatype, to_count, to_type, comm).root(root).nonblocking(), real);
    MPI_Igatherv PMPI_Igatherv(from, count, datatype, to, to_counts, places, to_type, root, comm, request)
        |real| recorded(|| gatherv(from, count, datatype, to_counts, to_type, root, comm).nonblocking(), real);
    MPI_Iscatter PMPI_Iscatter(from, from_count, from_type, to, count, datatype, root, comm, request)
        |real| recorded(|| given(Scatter, to, count, datatype, from_count, from_type, comm).root(root).nonblocking(), real);
    MPI_Iscatterv PMPI_Iscatterv(from, from_counts, places, from_type, to, count, datatype, root, comm, request)
        |real| recorded(|| scatterv(to, count, datatype, from_counts, from_type, root, comm).nonblocking(), real);
    MPI_Iallgather PMPI_Iallgather(from, count, datatype, to, to_count, to_type, comm, request)
        |real| recorded(|| given(Allgather, from, count, datatype, to_count, to_type, comm).nonblocking(), real);
    MPI_Iallgatherv PMPI_Iallgatherv(from, count, datatype, to, to_counts, places, to_type, comm, request)
        |real| recorded(|| allgatherv(from, count, datatype, to_counts, to_type, comm).nonblocking(), real);
    MPI_Ialltoall PMPI_Ialltoall(from, count, datatype, to, to_count, to_type, comm, request)
        |real| recorded(|| alltoall(from, count, datatype, to_count, to_type, comm).nonblocking(), real);
    MPI_Ialltoallv PMPI_Ialltoallv(from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm, request)
        |real| all_to_all_v(Peers::one_type(Alltoallv, from, from_counts, from_type, to_counts, to_type), comm, true, real);
    MPI_Ialltoallw PMPI_Ialltoallw(from, from_counts, from_places, from_types, to, to_counts, to_places, to_types, comm, request)
        |real| all_to_all_v(Peers::many_types(from, from_counts, from_types, to_counts, to_types), comm, true, real);
    MPI_Ireduce PMPI_Ireduce(from, to, count, datatype, op, root, comm, request)
        |real| recorded(|| vector(Reduce, count, datatype, comm).root(root).nonblocking(), real);
    MPI_Iallreduce PMPI_Iallreduce(from, to, count, datatype, op, comm, request)
        |real| recorded(|| vector(Allreduce, count, datatype, comm).nonblocking(), real);
    MPI_Ireduce_scatter PMPI_Ireduce_scatter(from, to, counts, datatype, op, comm, request)
        |real| recorded(|| reduce_scatter(counts, datatype, comm).nonblocking(), real);
    MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block(from, to, count, datatype, op, comm, request)
        |real| recorded(|| vector(ReduceScatterBlock, count, datatype, comm).nonblocking(), real);
    MPI_Iscan PMPI_Iscan(from, to, count, datatype, op, comm, request)
        |real| recorded(|| vector(Scan, count, datatype, comm).nonblocking(), real);
    MPI_Iexscan PMPI_Iexscan(from, to, count, datatype, op, comm, request)
        |real| recorded(|| vector(Exscan, count, datatype, comm).nonblocking(), real);

    MPI_Neighbor_allgather PMPI_Neighbor_allgather(from, count, datatype, to, to_count, to_type, comm)
        |real| recorded(|| vector(NeighborAllgather, count, datatype, comm), real);
    MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv(from, count, datatype, to, to_counts, places, to_type, comm)
        |real| recorded(|| vector(NeighborAllgatherv, count, datatype, comm), real);
    MPI_Neighbor_alltoall PMPI_Neighbor_alltoall(from, count, datatype, to, to_count, to_type, comm)
        |real| recorded(|| vector(NeighborAlltoall, count, datatype, comm), real);
    MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv(
        from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm
    ) |real| recorded(|| Call::of(NeighborAlltoallv).on(comm), real);
    MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw(
        from, from_counts, from_places, from_types, to, to_counts, to_places, to_types, comm
    ) |real| recorded(|| Call::of(NeighborAlltoallw).on(comm), real);
    MPI_Ineighbor_allgather PMPI_Ineighbor_allgather(from, count, datatype, to, to_count, to_type, comm, request)
        |real| recorded(|| vector(NeighborAllgather, count, datatype, comm).nonblocking(), real);
    MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv(from, count, datatype, to, to_counts, places, to_type, comm, request)
        |real| recorded(|| vector(NeighborAllgatherv, count, datatype, comm).nonblocking(), real);
    MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall(from, count, datatype, to, to_count, to_type, comm, request)
        |real| recorded(|| vector(NeighborAlltoall, count, datatype, comm).nonblocking(), real);
    MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv(
        from, from_counts, from_places, from_type, to, to_counts, to_places, to_type, comm, request
    ) |real| recorded(|| Call::of(NeighborAlltoallv).on(comm).nonblocking(), real);
    MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw(
        from, from_counts, from_places, from_types, to, to_counts, to_places, to_types, comm, request
    ) |real| recorded(|| Call::of(NeighborAlltoallw).on(comm).nonblocking(), real);

    MPI_Barrier_init PMPI_Barrier_init(comm, info, request) |real| recorded(|| Call::of(Barrier).on(comm).persistent(), real);
    MPI_Bcast_init PMPI_Bcast_init(buffer, count, datatype, root, comm, info, request)
        |real| recorded(|| bcast(count, datatype, root, comm).persistent(), real);
    MPI_Allreduce_init PMPI_Allreduce_init(from, to, count, datatype, op, comm, info, request)
        |real| recorded(|| vector(Allreduce, count, datatype, comm).persistent(), real);
    MPI_Alltoall_init PMPI_Alltoall_init(from, count, datatype, to, to_count, to_type, comm, info, request)
        |real| recorded(|| alltoall(from, count, datatype, to_count, to_type, comm).persistent(), real);
    MPI_Allgather_init PMPI_Allgather_init(from, count, datatype, to, to_count, to_type, comm, info, request)
        |real| recorded(|| given(Allgather, from, count, datatype, to_count, to_type, comm).persistent(), real);
    MPI_Reduce_init PMPI_Reduce_init(from, to, count, datatype, op, root, comm, info, request)
        |real| recorded(|| vector(Reduce, count, datatype, comm).root(root).persistent(), real);
}

/// Runs something with the communicator of a handle, as this thread knows it.
fn known(comm: usize) -> Option<&'static Communicator> {
    let lane = lane::current();
    // SAFETY: the calling thread's lane; a communicator that MPI is given too.
    (!lane.is_null()).then(|| unsafe { communicator::of(lane, library().handle(comm)) })
}

fn is_in_place(buffer: usize) -> bool {
    buffer == library().in_place
}

fn vector(operation: Operation, count: usize, datatype: usize, comm: usize) -> Call {
    Call::of(operation).on(comm).bytes(bytes(count, datatype))
}

fn bcast(count: usize, datatype: usize, root: usize, comm: usize) -> Call {
    vector(Bcast, count, datatype, comm).root(root)
}

/// A part of which the other side's count and type tell the size too: they do where the own buffer is in place.
fn given(
    operation: Operation,
    own: usize,
    count: usize,
    datatype: usize,
    other_count: usize,
    other_type: usize,
    comm: usize,
) -> Call {
    if is_in_place(own) {
        vector(operation, other_count, other_type, comm)
    } else {
        vector(operation, count, datatype, comm)
    }
}

fn alltoall(from: usize, count: usize, datatype: usize, to_count: usize, to_type: usize, comm: usize) -> Call {
    let each = given(Alltoall, from, count, datatype, to_count, to_type, comm);
    let one = if is_in_place(from) { bytes(to_count, to_type) } else { bytes(count, datatype) };
    each.bytes(one * u64::from(known(comm).map_or(0, Communicator::size)))
}

fn own_count(counts: usize, comm: usize) -> usize {
    known(comm).map_or(0, |found| int_of(counts, found.rank)) as usize
}

fn gatherv(
    from: usize,
    count: usize,
    datatype: usize,
    to_counts: usize,
    to_type: usize,
    root: usize,
    comm: usize,
) -> Call {
    let call = if is_in_place(from) {
        vector(Gatherv, own_count(to_counts, comm), to_type, comm)
    } else {
        vector(Gatherv, count, datatype, comm)
    };
    call.root(root)
}

fn scatterv(
    to: usize,
    count: usize,
    datatype: usize,
    from_counts: usize,
    from_type: usize,
    root: usize,
    comm: usize,
) -> Call {
    let call = if is_in_place(to) {
        vector(Scatterv, own_count(from_counts, comm), from_type, comm)
    } else {
        vector(Scatterv, count, datatype, comm)
    };
    call.root(root)
}

fn allgatherv(from: usize, count: usize, datatype: usize, to_counts: usize, to_type: usize, comm: usize) -> Call {
    if is_in_place(from) {
        vector(Allgatherv, own_count(to_counts, comm), to_type, comm)
    } else {
        vector(Allgatherv, count, datatype, comm)
    }
}

fn reduce_scatter(counts: usize, datatype: usize, comm: usize) -> Call {
    vector(ReduceScatter, own_count(counts, comm), datatype, comm)
}

/// What goes to each peer of an alltoallv or alltoallw.
#[derive(Clone, Copy)]
struct Peers {
    operation: Operation,
    counts: usize,
    /// One datatype, or the address of an array of them.
    datatype: usize,
    many: bool,
}

impl Peers {
    fn one_type(
        operation: Operation,
        from: usize,
        counts: usize,
        datatype: usize,
        to_counts: usize,
        to_type: usize,
    ) -> Self {
        let (counts, datatype) = if is_in_place(from) { (to_counts, to_type) } else { (counts, datatype) };
        Self { operation, counts, datatype, many: false }
    }

    fn many_types(from: usize, counts: usize, types: usize, to_counts: usize, to_types: usize) -> Self {
        Self { many: true, ..Self::one_type(Alltoallw, from, counts, types, to_counts, to_types) }
    }

    fn bytes(self, peer: u32) -> u64 {
        let datatype = if self.many {
            // SAFETY: an array of one datatype a peer, which MPI is given too.
            unsafe { library().handle_at(self.datatype + peer as usize * library().handle_size()) }
        } else {
            self.datatype
        };
        bytes(int_of(self.counts, peer) as usize, datatype)
    }
}

fn all_to_all_v(peers: Peers, comm: usize, nonblocking: bool, real: impl FnOnce() -> i32) -> i32 {
    recorded_with(
        || {
            let size = known(comm).map_or(0, Communicator::size);
            let total = (0..size).map(|peer| peers.bytes(peer)).sum();
            let call = Call::of(peers.operation).on(comm).bytes(total);
            if nonblocking { call.nonblocking() } else { call }
        },
        || {
            if !session::sees_messages() {
                let size = known(comm).map_or(0, Communicator::size);
                counts((0..size as usize).map(|peer| peers.bytes(peer as u32)));
            }
        },
        real,
    )
}
