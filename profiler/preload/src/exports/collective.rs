//! Collectives: blocking, non-blocking and persistent, over all members or over neighbours, with
//! counts of either width. Each records its [part](super::part) in the operation; without messages
//! below, alltoallv and alltoallw also record the bytes for each peer, and persistent ones record
//! every start.

use super::functions;
use super::part::{
    Own, Part, Peers, allgather, allgatherv, alltoall, bcast, gather, gatherv, own_count, reduce, scatter, scatterv,
    vector,
};
use crate::call::{Call, counts, recorded_with};
use crate::mpi::SUCCESS;
use crate::operation::Operation::*;
use crate::count::Width;
use crate::pmpi;
use crate::recording;

/// Defines collectives: three functions with their profiling names, the same with wide counts,
/// their arguments, and a rank's part in it.
macro_rules! collectives {
    ($($name:ident $profiling:ident $started:ident $started_profiling:ident $prepared:ident $prepared_profiling:ident,
        $name_c:ident $profiling_c:ident $started_c:ident $started_profiling_c:ident $prepared_c:ident
        $prepared_profiling_c:ident
        ($($argument:ident),*) |$of:ident| $part:expr;)*) => { functions! { $(
        $name $profiling($($argument),*) |real| blocking(|| { let $of = Width::Int; $part.into() }, real);
        $started $started_profiling($($argument),*, request)
            |real| nonblocking(|| { let $of = Width::Int; $part.into() }, real);
        $prepared $prepared_profiling($($argument),*, info, request)
            |real| persistent(|| { let $of = Width::Int; $part.into() }, request, real);
        $name_c $profiling_c($($argument),*) |real| blocking(|| { let $of = Width::Count; $part.into() }, real);
        $started_c $started_profiling_c($($argument),*, request)
            |real| nonblocking(|| { let $of = Width::Count; $part.into() }, real);
        $prepared_c $prepared_profiling_c($($argument),*, info, request)
            |real| persistent(|| { let $of = Width::Count; $part.into() }, request, real);
    )* } };
}

functions! {
    MPI_Barrier PMPI_Barrier(comm) |real| blocking(|| Call::of(Barrier).on(comm).into(), real);
    MPI_Ibarrier PMPI_Ibarrier(comm, request) |real| nonblocking(|| Call::of(Barrier).on(comm).into(), real);
    MPI_Barrier_init PMPI_Barrier_init(comm, info, request)
        |real| persistent(|| Call::of(Barrier).on(comm).into(), request, real);
}

collectives! {
    MPI_Bcast PMPI_Bcast MPI_Ibcast PMPI_Ibcast MPI_Bcast_init PMPI_Bcast_init,
    MPI_Bcast_c PMPI_Bcast_c MPI_Ibcast_c PMPI_Ibcast_c MPI_Bcast_init_c PMPI_Bcast_init_c
        (buffer, count, datatype, root, comm) |of| bcast(of.count(count), datatype, root, comm);
    MPI_Gather PMPI_Gather MPI_Igather PMPI_Igather MPI_Gather_init PMPI_Gather_init,
    MPI_Gather_c PMPI_Gather_c MPI_Igather_c PMPI_Igather_c MPI_Gather_init_c PMPI_Gather_init_c
        (from, count, datatype, to, to_count, to_type, root, comm)
        |of| gather(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type,
            root, comm);
    MPI_Gatherv PMPI_Gatherv MPI_Igatherv PMPI_Igatherv MPI_Gatherv_init PMPI_Gatherv_init,
    MPI_Gatherv_c PMPI_Gatherv_c MPI_Igatherv_c PMPI_Igatherv_c MPI_Gatherv_init_c PMPI_Gatherv_init_c
        (from, count, datatype, to, to_counts, places, to_type, root, comm)
        |of| gatherv(Own { buffer: from, count: of.count(count), datatype }, of.array(to_counts), to_type,
            root, comm);
    MPI_Scatter PMPI_Scatter MPI_Iscatter PMPI_Iscatter MPI_Scatter_init PMPI_Scatter_init,
    MPI_Scatter_c PMPI_Scatter_c MPI_Iscatter_c PMPI_Iscatter_c MPI_Scatter_init_c PMPI_Scatter_init_c
        (from, from_count, from_type, to, count, datatype, root, comm)
        |of| scatter(Own { buffer: to, count: of.count(count), datatype }, of.count(from_count), from_type,
            root, comm);
    MPI_Scatterv PMPI_Scatterv MPI_Iscatterv PMPI_Iscatterv MPI_Scatterv_init PMPI_Scatterv_init,
    MPI_Scatterv_c PMPI_Scatterv_c MPI_Iscatterv_c PMPI_Iscatterv_c MPI_Scatterv_init_c PMPI_Scatterv_init_c
        (from, from_counts, places, from_type, to, count, datatype, root, comm)
        |of| scatterv(Own { buffer: to, count: of.count(count), datatype }, of.array(from_counts), from_type,
            root, comm);
    MPI_Allgather PMPI_Allgather MPI_Iallgather PMPI_Iallgather MPI_Allgather_init PMPI_Allgather_init,
    MPI_Allgather_c PMPI_Allgather_c MPI_Iallgather_c PMPI_Iallgather_c MPI_Allgather_init_c
    PMPI_Allgather_init_c
        (from, count, datatype, to, to_count, to_type, comm)
        |of| allgather(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type,
            comm);
    MPI_Allgatherv PMPI_Allgatherv MPI_Iallgatherv PMPI_Iallgatherv MPI_Allgatherv_init PMPI_Allgatherv_init,
    MPI_Allgatherv_c PMPI_Allgatherv_c MPI_Iallgatherv_c PMPI_Iallgatherv_c MPI_Allgatherv_init_c
    PMPI_Allgatherv_init_c
        (from, count, datatype, to, to_counts, places, to_type, comm)
        |of| allgatherv(Own { buffer: from, count: of.count(count), datatype }, of.array(to_counts), to_type,
            comm);
    MPI_Alltoall PMPI_Alltoall MPI_Ialltoall PMPI_Ialltoall MPI_Alltoall_init PMPI_Alltoall_init,
    MPI_Alltoall_c PMPI_Alltoall_c MPI_Ialltoall_c PMPI_Ialltoall_c MPI_Alltoall_init_c PMPI_Alltoall_init_c
        (from, count, datatype, to, to_count, to_type, comm)
        |of| alltoall(Own { buffer: from, count: of.count(count), datatype }, of.count(to_count), to_type,
            comm);
    MPI_Alltoallv PMPI_Alltoallv MPI_Ialltoallv PMPI_Ialltoallv MPI_Alltoallv_init PMPI_Alltoallv_init,
    MPI_Alltoallv_c PMPI_Alltoallv_c MPI_Ialltoallv_c PMPI_Ialltoallv_c MPI_Alltoallv_init_c
    PMPI_Alltoallv_init_c
        (from, counts, places, datatype, to, to_counts, to_places, to_type, comm)
        |of| Peers::one_type(from, (of.array(counts), datatype), (of.array(to_counts),
            to_type)).call(Alltoallv, comm);
    MPI_Alltoallw PMPI_Alltoallw MPI_Ialltoallw PMPI_Ialltoallw MPI_Alltoallw_init PMPI_Alltoallw_init,
    MPI_Alltoallw_c PMPI_Alltoallw_c MPI_Ialltoallw_c PMPI_Ialltoallw_c MPI_Alltoallw_init_c
    PMPI_Alltoallw_init_c
        (from, counts, places, types, to, to_counts, to_places, to_types, comm)
        |of| Peers::many_types(from, (of.array(counts), types), (of.array(to_counts),
            to_types)).call(Alltoallw, comm);
    MPI_Reduce PMPI_Reduce MPI_Ireduce PMPI_Ireduce MPI_Reduce_init PMPI_Reduce_init,
    MPI_Reduce_c PMPI_Reduce_c MPI_Ireduce_c PMPI_Ireduce_c MPI_Reduce_init_c PMPI_Reduce_init_c
        (from, to, count, datatype, op, root, comm) |of| reduce(of.count(count), datatype, root, comm);
    MPI_Allreduce PMPI_Allreduce MPI_Iallreduce PMPI_Iallreduce MPI_Allreduce_init PMPI_Allreduce_init,
    MPI_Allreduce_c PMPI_Allreduce_c MPI_Iallreduce_c PMPI_Iallreduce_c MPI_Allreduce_init_c
    PMPI_Allreduce_init_c
        (from, to, count, datatype, op, comm) |of| vector(Allreduce, of.count(count), datatype, comm);
    MPI_Reduce_scatter PMPI_Reduce_scatter MPI_Ireduce_scatter PMPI_Ireduce_scatter MPI_Reduce_scatter_init
    PMPI_Reduce_scatter_init,
    MPI_Reduce_scatter_c PMPI_Reduce_scatter_c MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c
    MPI_Reduce_scatter_init_c PMPI_Reduce_scatter_init_c
        (from, to, counts, datatype, op, comm)
        |of| vector(ReduceScatter, own_count(of.array(counts), comm), datatype, comm);
    MPI_Reduce_scatter_block PMPI_Reduce_scatter_block MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block
    MPI_Reduce_scatter_block_init PMPI_Reduce_scatter_block_init,
    MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block_c
    PMPI_Ireduce_scatter_block_c MPI_Reduce_scatter_block_init_c PMPI_Reduce_scatter_block_init_c
        (from, to, count, datatype, op, comm) |of| vector(ReduceScatterBlock, of.count(count), datatype, comm);
    MPI_Scan PMPI_Scan MPI_Iscan PMPI_Iscan MPI_Scan_init PMPI_Scan_init,
    MPI_Scan_c PMPI_Scan_c MPI_Iscan_c PMPI_Iscan_c MPI_Scan_init_c PMPI_Scan_init_c
        (from, to, count, datatype, op, comm) |of| vector(Scan, of.count(count), datatype, comm);
    MPI_Exscan PMPI_Exscan MPI_Iexscan PMPI_Iexscan MPI_Exscan_init PMPI_Exscan_init,
    MPI_Exscan_c PMPI_Exscan_c MPI_Iexscan_c PMPI_Iexscan_c MPI_Exscan_init_c PMPI_Exscan_init_c
        (from, to, count, datatype, op, comm) |of| vector(Exscan, of.count(count), datatype, comm);
    MPI_Neighbor_allgather PMPI_Neighbor_allgather MPI_Ineighbor_allgather PMPI_Ineighbor_allgather
    MPI_Neighbor_allgather_init PMPI_Neighbor_allgather_init,
    MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c
    MPI_Neighbor_allgather_init_c PMPI_Neighbor_allgather_init_c
        (from, count, datatype, to, to_count, to_type, comm)
        |of| vector(NeighborAllgather, of.count(count), datatype, comm);
    MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv
    MPI_Neighbor_allgatherv_init PMPI_Neighbor_allgatherv_init,
    MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c MPI_Ineighbor_allgatherv_c
    PMPI_Ineighbor_allgatherv_c MPI_Neighbor_allgatherv_init_c PMPI_Neighbor_allgatherv_init_c
        (from, count, datatype, to, to_counts, places, to_type, comm)
        |of| vector(NeighborAllgatherv, of.count(count), datatype, comm);
    MPI_Neighbor_alltoall PMPI_Neighbor_alltoall MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall
    MPI_Neighbor_alltoall_init PMPI_Neighbor_alltoall_init,
    MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c
    MPI_Neighbor_alltoall_init_c PMPI_Neighbor_alltoall_init_c
        (from, count, datatype, to, to_count, to_type, comm)
        |of| vector(NeighborAlltoall, of.count(count), datatype, comm);
    MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv
    MPI_Neighbor_alltoallv_init PMPI_Neighbor_alltoallv_init,
    MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c
    MPI_Neighbor_alltoallv_init_c PMPI_Neighbor_alltoallv_init_c
        (from, counts, places, datatype, to, to_counts, to_places, to_type, comm)
        |of| Call::of(NeighborAlltoallv).on(comm);
    MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw
    MPI_Neighbor_alltoallw_init PMPI_Neighbor_alltoallw_init,
    MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c
    MPI_Neighbor_alltoallw_init_c PMPI_Neighbor_alltoallw_init_c
        (from, counts, places, types, to, to_counts, to_places, to_types, comm)
        |of| Call::of(NeighborAlltoallw).on(comm);
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
        && !recording::sees_messages()
    {
        pmpi::prepare_collective(request, call.persistent().nonblocking(), Part::counts(to));
    }
    result
}
