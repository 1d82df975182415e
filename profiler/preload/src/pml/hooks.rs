//! Hooks in Open MPI's table of functions: each one records, and calls the original function.

use std::ffi::c_int;
use std::sync::atomic::Ordering::Relaxed;

use super::request::{self, bytes_of};
use super::{Entry, REAL, short};
use crate::communicator_table;
use crate::matched;
use crate::format::{Kind, flags};
use crate::message::{Envelope, Posted};
use crate::mpi::{SUCCESS, int};

/// The hooks and their places, by closures, as addresses of functions are no constants.
pub(super) const ALL: [(Entry, fn() -> usize); 13] = [
    (Entry::AddCommunicator, || add_comm as *const () as usize),
    (Entry::DelCommunicator, || del_comm as *const () as usize),
    (Entry::IrecvInit, || irecv_init as *const () as usize),
    (Entry::Irecv, || irecv as *const () as usize),
    (Entry::Recv, || recv as *const () as usize),
    (Entry::IsendInit, || isend_init as *const () as usize),
    (Entry::Isend, || isend as *const () as usize),
    (Entry::Send, || send as *const () as usize),
    (Entry::Start, || start as *const () as usize),
    (Entry::Improbe, || improbe as *const () as usize),
    (Entry::Mprobe, || mprobe as *const () as usize),
    (Entry::Imrecv, || imrecv as *const () as usize),
    (Entry::Mrecv, || mrecv as *const () as usize),
];

/// Calls the function that was at a place of the table.
macro_rules! real {
    ($place:ident, $($argument:expr),*) => {{
        // SAFETY: the table holds functions of this many integer and pointer arguments, at this
        // place.
        unsafe {
            let function: unsafe extern "C" fn($(real!(@usize $argument)),*) -> c_int =
                std::mem::transmute(REAL[Entry::$place as usize].load(Relaxed));
            function($($argument),*)
        }
    }};
    (@usize $argument:expr) => { usize };
}

#[inline(always)]
fn envelope(kind: Kind, count: usize, datatype: usize, peer: usize, tag: usize, comm: usize) -> Envelope {
    let bytes = bytes_of(count, datatype);
    Envelope { kind, bytes, peer: int(peer), tag: int(tag), communicator: comm, flags: 0 }
}

extern "C" fn add_comm(comm: usize) -> c_int {
    communicator_table::forget(comm);
    real!(AddCommunicator, comm)
}

extern "C" fn del_comm(comm: usize) -> c_int {
    communicator_table::forget(comm);
    real!(DelCommunicator, comm)
}

extern "C" fn send(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    mode: usize,
    comm: usize,
) -> c_int {
    let posted = short::post(Kind::Send, 0, count, datatype, peer, tag, comm);
    if posted == Posted::NONE {
        return send_long(buffer, count, datatype, peer, tag, mode, comm);
    }
    let result = real!(Send, buffer, count, datatype, peer, tag, mode, comm);
    // SAFETY: the slot of the short way.
    unsafe { short::completed(posted) };
    result
}

#[inline(never)]
extern "C" fn send_long(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    mode: usize,
    comm: usize,
) -> c_int {
    let posted = envelope(Kind::Send, count, datatype, peer, tag, comm).post();
    let result = real!(Send, buffer, count, datatype, peer, tag, mode, comm);
    posted.complete();
    result
}

extern "C" fn isend(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    mode: usize,
    comm: usize,
    to: *mut usize,
) -> c_int {
    let posted = short::post(Kind::Send, flags::NONBLOCKING, count, datatype, peer, tag, comm);
    if posted == Posted::NONE {
        return isend_long(buffer, count, datatype, peer, tag, mode, comm, to);
    }
    let result = real!(Isend, buffer, count, datatype, peer, tag, mode, comm, to.expose_provenance());
    request::watch_alone(result, to, posted, Kind::Send, buffered(mode));
    result
}

#[inline(never)]
extern "C" fn isend_long(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    mode: usize,
    comm: usize,
    to: *mut usize,
) -> c_int {
    let mut envelope = envelope(Kind::Send, count, datatype, peer, tag, comm);
    envelope.flags = flags::NONBLOCKING;
    let posted = envelope.post();
    let result = real!(Isend, buffer, count, datatype, peer, tag, mode, comm, to.expose_provenance());
    request::watch(result, to, posted, buffered(mode));
    result
}

/// A buffered send is complete when it returns, for any state of its request.
fn buffered(mode: usize) -> bool {
    mode as u32 == 2
}

extern "C" fn recv(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let posted = short::post(Kind::Receive, 0, count, datatype, peer, tag, comm);
    if posted == Posted::NONE {
        return recv_long(buffer, count, datatype, peer, tag, comm, status);
    }
    let mut own = request::Status::default();
    let filled = if status == 0 { own.place() } else { status };
    let result = real!(Recv, buffer, count, datatype, peer, tag, comm, filled);
    // SAFETY: a status that MPI just filled; the slot of the short way.
    unsafe { short::received(posted, request::Status::at(filled).bytes as u64) };
    result
}

#[inline(never)]
extern "C" fn recv_long(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let posted = envelope(Kind::Receive, count, datatype, peer, tag, comm).post();
    let mut own = request::Status::default();
    let filled = if status == 0 { own.place() } else { status };
    let result = real!(Recv, buffer, count, datatype, peer, tag, comm, filled);
    received(posted, filled);
    result
}

fn received(posted: Posted, status: usize) {
    // SAFETY: a status that MPI just filled.
    let status = unsafe { request::Status::at(status) };
    posted.received(status.source, status.tag, status.bytes as u64, status.cancelled != 0);
    posted.complete();
}

extern "C" fn irecv(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
    to: *mut usize,
) -> c_int {
    let posted = short::post(Kind::Receive, flags::NONBLOCKING, count, datatype, peer, tag, comm);
    if posted == Posted::NONE {
        return irecv_long(buffer, count, datatype, peer, tag, comm, to);
    }
    let result = real!(Irecv, buffer, count, datatype, peer, tag, comm, to.expose_provenance());
    request::watch_alone(result, to, posted, Kind::Receive, false);
    result
}

#[inline(never)]
extern "C" fn irecv_long(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
    to: *mut usize,
) -> c_int {
    let mut envelope = envelope(Kind::Receive, count, datatype, peer, tag, comm);
    envelope.flags = flags::NONBLOCKING;
    let posted = envelope.post();
    let result = real!(Irecv, buffer, count, datatype, peer, tag, comm, to.expose_provenance());
    request::watch(result, to, posted, false);
    result
}

extern "C" fn isend_init(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    mode: usize,
    comm: usize,
    to: *mut usize,
) -> c_int {
    let result = real!(IsendInit, buffer, count, datatype, peer, tag, mode, comm, to.expose_provenance());
    if result == SUCCESS {
        let envelope = envelope(Kind::Send, count, datatype, peer, tag, comm);
        request::prepared(to, envelope, buffered(mode));
    }
    result
}

extern "C" fn irecv_init(
    buffer: usize,
    count: usize,
    datatype: usize,
    peer: usize,
    tag: usize,
    comm: usize,
    to: *mut usize,
) -> c_int {
    let result = real!(IrecvInit, buffer, count, datatype, peer, tag, comm, to.expose_provenance());
    if result == SUCCESS {
        request::prepared(to, envelope(Kind::Receive, count, datatype, peer, tag, comm), false);
    }
    result
}

extern "C" fn start(count: usize, requests: *mut usize) -> c_int {
    request::started(count, requests, |count, requests| real!(Start, count, requests))
}

extern "C" fn improbe(
    peer: usize,
    tag: usize,
    comm: usize,
    matched: *mut c_int,
    message: *mut usize,
    status: usize,
) -> c_int {
    let (flag, to) = (matched.expose_provenance(), message.expose_provenance());
    let result = real!(Improbe, peer, tag, comm, flag, to, status);
    // SAFETY: MPI filled both.
    unsafe {
        if result == SUCCESS && *matched != 0 {
            matched::insert(*message, comm);
        }
    }
    result
}

extern "C" fn mprobe(peer: usize, tag: usize, comm: usize, message: *mut usize, status: usize) -> c_int {
    let result = real!(Mprobe, peer, tag, comm, message.expose_provenance(), status);
    if result == SUCCESS {
        // SAFETY: MPI filled it.
        matched::insert(unsafe { *message }, comm);
    }
    result
}

/// A receive of a probed message; its source and tag are in the status at the end.
fn taken(count: usize, datatype: usize, message: *mut usize, bits: u8) -> Posted {
    /// MPI_ANY_SOURCE and MPI_ANY_TAG of Open MPI.
    const ANY: i32 = -1;
    // SAFETY: the handle that the caller gave to MPI.
    let Some(comm) = matched::take(unsafe { *message }) else { return Posted::NONE };
    let bytes = bytes_of(count, datatype);
    Envelope { kind: Kind::Receive, bytes, peer: ANY, tag: ANY, communicator: comm, flags: bits }.post()
}

extern "C" fn imrecv(
    buffer: usize,
    count: usize,
    datatype: usize,
    message: *mut usize,
    to: *mut usize,
) -> c_int {
    let posted = taken(count, datatype, message, flags::NONBLOCKING);
    let result = real!(Imrecv, buffer, count, datatype, message.expose_provenance(), to.expose_provenance());
    request::watch(result, to, posted, false);
    result
}

extern "C" fn mrecv(buffer: usize, count: usize, datatype: usize, message: *mut usize, status: usize) -> c_int {
    let posted = taken(count, datatype, message, 0);
    let mut own = request::Status::default();
    let filled = if status == 0 { own.place() } else { status };
    let result = real!(Mrecv, buffer, count, datatype, message.expose_provenance(), filled);
    received(posted, filled);
    result
}
