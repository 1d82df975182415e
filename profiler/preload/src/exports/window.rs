//! One-sided communication. The bytes of an operation are recorded here at any level, as they may
//! not appear as messages.

use super::{functions, of_both_widths};
use crate::call::{Call, recorded};
use crate::communicator_table;
use crate::format::{Kind, flags};
use crate::message::Envelope;
use crate::mpi::{SUCCESS, int, library};
use crate::operation::Operation::{self, Accumulate, Fence, Get, Put, Window, WindowEpoch, WindowLock};
use crate::count::bytes;
use crate::recording;

of_both_widths! { functions:
    MPI_Put PMPI_Put MPI_Put_c PMPI_Put_c(
        buffer, count, datatype, target, place, target_count, target_type, win
    ) |real, of| moving(Put, Kind::Put, of.count(count), datatype, target, win, real);
    MPI_Get PMPI_Get MPI_Get_c PMPI_Get_c(
        buffer, count, datatype, target, place, target_count, target_type, win
    ) |real, of| moving(Get, Kind::Get, of.count(count), datatype, target, win, real);
    MPI_Accumulate PMPI_Accumulate MPI_Accumulate_c PMPI_Accumulate_c(
        buffer, count, datatype, target, place, target_count, target_type, op, win
    ) |real, of| moving(Accumulate, Kind::Accumulate, of.count(count), datatype, target, win, real);
    MPI_Rput PMPI_Rput MPI_Rput_c PMPI_Rput_c(
        buffer, count, datatype, target, place, target_count, target_type, win, request
    ) |real, of| moving(Put, Kind::Put, of.count(count), datatype, target, win, real);
    MPI_Rget PMPI_Rget MPI_Rget_c PMPI_Rget_c(
        buffer, count, datatype, target, place, target_count, target_type, win, request
    ) |real, of| moving(Get, Kind::Get, of.count(count), datatype, target, win, real);
    MPI_Raccumulate PMPI_Raccumulate MPI_Raccumulate_c PMPI_Raccumulate_c(
        buffer, count, datatype, target, place, target_count, target_type, op, win, request
    ) |real, of| moving(Accumulate, Kind::Accumulate, of.count(count), datatype, target, win, real);
    MPI_Get_accumulate PMPI_Get_accumulate MPI_Get_accumulate_c PMPI_Get_accumulate_c(
        buffer, count, datatype, result, result_count, result_type, target, place, target_count, target_type, op, win
    ) |real, of| both(bytes(of.count(count), datatype), bytes(of.count(result_count), result_type), target, win, real);
    MPI_Rget_accumulate PMPI_Rget_accumulate MPI_Rget_accumulate_c PMPI_Rget_accumulate_c(
        buffer, count, datatype, result, result_count, result_type, target, place, target_count, target_type, op, win,
        request
    ) |real, of| both(bytes(of.count(count), datatype), bytes(of.count(result_count), result_type), target, win, real);
    MPI_Win_create PMPI_Win_create MPI_Win_create_c PMPI_Win_create_c(
        base, size, unit, info, comm, win
    ) |real, of| making(comm, win, real);
    MPI_Win_allocate PMPI_Win_allocate MPI_Win_allocate_c PMPI_Win_allocate_c(
        size, unit, info, comm, base, win
    ) |real, of| making(comm, win, real);
    MPI_Win_allocate_shared PMPI_Win_allocate_shared MPI_Win_allocate_shared_c PMPI_Win_allocate_shared_c(
        size, unit, info, comm, base, win
    ) |real, of| making(comm, win, real);
}

functions! {
    MPI_Win_create_dynamic PMPI_Win_create_dynamic(info, comm, win) |real| making(comm, win, real);
    MPI_Win_free PMPI_Win_free(win) |real| freeing(win, real);

    MPI_Fetch_and_op PMPI_Fetch_and_op(buffer, result, datatype, target, place, op, win)
        |real| both(bytes(1, datatype), bytes(1, datatype), target, win, real);
    MPI_Compare_and_swap PMPI_Compare_and_swap(buffer, compare, result, datatype, target, place, win)
        |real| both(2 * bytes(1, datatype), bytes(1, datatype), target, win, real);

    MPI_Win_fence PMPI_Win_fence(assertion, win) |real| on(Fence, win, real);
    MPI_Win_lock PMPI_Win_lock(kind, rank, assertion, win) |real| on(WindowLock, win, real);
    MPI_Win_unlock PMPI_Win_unlock(rank, win) |real| on(WindowLock, win, real);
    MPI_Win_lock_all PMPI_Win_lock_all(assertion, win) |real| on(WindowLock, win, real);
    MPI_Win_unlock_all PMPI_Win_unlock_all(win) |real| on(WindowLock, win, real);
    MPI_Win_flush PMPI_Win_flush(rank, win) |real| on(WindowLock, win, real);
    MPI_Win_flush_all PMPI_Win_flush_all(win) |real| on(WindowLock, win, real);
    MPI_Win_flush_local PMPI_Win_flush_local(rank, win) |real| on(WindowLock, win, real);
    MPI_Win_flush_local_all PMPI_Win_flush_local_all(win) |real| on(WindowLock, win, real);
    MPI_Win_post PMPI_Win_post(group, assertion, win) |real| on(WindowEpoch, win, real);
    MPI_Win_start PMPI_Win_start(group, assertion, win) |real| on(WindowEpoch, win, real);
    MPI_Win_complete PMPI_Win_complete(win) |real| on(WindowEpoch, win, real);
    MPI_Win_wait PMPI_Win_wait(win) |real| on(WindowEpoch, win, real);
}

fn on(operation: Operation, win: usize, real: impl FnOnce() -> i32) -> i32 {
    recorded(|| Call::of(operation).on(win), real)
}

fn making(comm: usize, win: usize, real: impl FnOnce() -> i32) -> i32 {
    let result = recorded(|| Call::of(Window).on(comm), real);
    if result == SUCCESS && recording::is_on() {
        // SAFETY: MPI stored the new window there.
        communicator_table::window_created(unsafe { library().handle_at(win) });
    }
    result
}

fn freeing(win: usize, real: impl FnOnce() -> i32) -> i32 {
    if recording::is_on() {
        // SAFETY: the program's window variable.
        communicator_table::forget(unsafe { library().handle_at(win) });
    }
    recorded(|| Call::of(Window), real)
}

fn moving(
    operation: Operation,
    kind: Kind,
    count: u64,
    datatype: usize,
    target: usize,
    win: usize,
    real: impl FnOnce() -> i32,
) -> i32 {
    recorded(|| Call::of(operation).on(win), || {
        if recording::is_on() {
            post(kind, bytes(count, datatype), target, win);
        }
        real()
    })
}

/// An operation that transfers data in both directions.
fn both(there: u64, back: u64, target: usize, win: usize, real: impl FnOnce() -> i32) -> i32 {
    recorded(|| Call::of(Accumulate).on(win), || {
        post(Kind::Accumulate, there, target, win);
        post(Kind::Get, back, target, win);
        real()
    })
}

/// It completes at the end of the epoch, not of the call.
fn post(kind: Kind, bytes: u64, target: usize, win: usize) {
    let peer = int(target);
    if peer >= 0 && recording::is_on() {
        let communicator = library().handle(win);
        Envelope { kind, bytes, peer, tag: 0, communicator, flags: flags::NONBLOCKING }.post();
    }
}
