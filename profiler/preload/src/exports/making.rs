//! Calls that make and free communicators.

use super::functions;
use crate::call::{Call, recorded};
use crate::communicator_table;
use crate::mpi::{SUCCESS, library};
use crate::operation::Operation::{Communicator, Spawn};
use crate::recording;

functions! {
    MPI_Comm_dup PMPI_Comm_dup(comm, new) |real| making(comm, new, real);
    MPI_Comm_dup_with_info PMPI_Comm_dup_with_info(comm, info, new) |real| making(comm, new, real);
    MPI_Comm_idup PMPI_Comm_idup(comm, new, request) |real| recorded(|| Call::of(Communicator).on(comm).nonblocking(), real);
    MPI_Comm_create PMPI_Comm_create(comm, group, new) |real| making(comm, new, real);
    MPI_Comm_create_group PMPI_Comm_create_group(comm, group, tag, new) |real| making(comm, new, real);
    MPI_Comm_split PMPI_Comm_split(comm, color, key, new) |real| making(comm, new, real);
    MPI_Comm_split_type PMPI_Comm_split_type(comm, kind, key, info, new) |real| making(comm, new, real);
    MPI_Cart_create PMPI_Cart_create(comm, ndims, dims, periods, reorder, new) |real| making(comm, new, real);
    MPI_Cart_sub PMPI_Cart_sub(comm, remain, new) |real| making(comm, new, real);
    MPI_Graph_create PMPI_Graph_create(comm, nodes, index, edges, reorder, new) |real| making(comm, new, real);
    MPI_Dist_graph_create PMPI_Dist_graph_create(comm, n, sources, degrees, targets, weights, info, reorder, new)
        |real| making(comm, new, real);
    MPI_Dist_graph_create_adjacent PMPI_Dist_graph_create_adjacent(
        comm, indegree, sources, source_weights, outdegree, targets, target_weights, info, reorder, new
    ) |real| making(comm, new, real);
    MPI_Intercomm_create PMPI_Intercomm_create(local, leader, peer, remote_leader, tag, new) |real| making(local, new, real);
    MPI_Intercomm_merge PMPI_Intercomm_merge(comm, high, new) |real| making(comm, new, real);
    MPI_Comm_spawn PMPI_Comm_spawn(command, argv, most, info, root, comm, new, codes) |real| spawning(comm, new, real);
    MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple(n, commands, argvs, most, infos, root, comm, new, codes)
        |real| spawning(comm, new, real);
    MPI_Comm_accept PMPI_Comm_accept(port, info, root, comm, new) |real| spawning(comm, new, real);
    MPI_Comm_connect PMPI_Comm_connect(port, info, root, comm, new) |real| spawning(comm, new, real);
    MPI_Comm_free PMPI_Comm_free(comm) |real| freeing(comm, real);
    MPI_Comm_disconnect PMPI_Comm_disconnect(comm) |real| freeing(comm, real);
}

fn making(comm: usize, new: usize, real: impl FnOnce() -> i32) -> i32 {
    made(recorded(|| Call::of(Communicator).on(comm), real), new)
}

fn spawning(comm: usize, new: usize, real: impl FnOnce() -> i32) -> i32 {
    made(recorded(|| Call::of(Spawn).on(comm), real), new)
}

fn made(result: i32, new: usize) -> i32 {
    if result == SUCCESS && recording::is_on() {
        // SAFETY: MPI stored the new communicator there.
        communicator_table::created(unsafe { library().handle_at(new) }, 0);
    }
    result
}

fn freeing(comm: usize, real: impl FnOnce() -> i32) -> i32 {
    if !recording::is_on() {
        return real();
    }
    recorded(
        || {
            // SAFETY: the program's communicator variable.
            let handle = unsafe { library().handle_at(comm) };
            Call::of(Communicator).on(handle)
        },
        || {
            // SAFETY: as above.
            communicator_table::forget(unsafe { library().handle_at(comm) });
            real()
        },
    )
}
