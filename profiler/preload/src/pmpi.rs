//! Point-to-point messages from calls, for MPICH, and for Open MPI if the guards fail.
//!
//! Requests are followed from the call that starts them to the wait or test that reports them: a
//! completion time is that of this wait or test.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::{self, Call};
use crate::count::bytes;
use crate::format::{Kind, flags};
use crate::message::{Envelope, Posted};
use crate::mpi::{SUCCESS, int, library, mpi, out};
use crate::{clock, matched};

/// The arguments of a send or receive: count, datatype, peer, tag, communicator.
pub(crate) type Transfer = (u64, usize, usize, usize, usize);

/// The message of a call's arguments; `None` to `MPI_PROC_NULL`.
fn envelope(kind: Kind, (count, datatype, peer, tag, comm): Transfer) -> Option<Envelope> {
    let library = library();
    let peer = int(peer);
    let communicator = library.handle(comm);
    let (tag, bytes) = (int(tag), bytes(count, datatype));
    let envelope = Envelope { kind, bytes, peer, tag, communicator, flags: 0 };
    if peer == library.any_source {
        return Some(Envelope { peer: -1, ..envelope });
    }
    (peer >= 0).then_some(envelope)
}

fn post(envelope: Option<Envelope>) -> Posted {
    envelope.map_or(Posted::NONE, Envelope::post)
}

/// A blocking send.
pub(crate) fn send(
    transfer: Transfer,
    run: impl FnOnce() -> c_int,
) -> c_int {
    let posted = post(envelope(Kind::Send, transfer));
    let result = run();
    posted.complete();
    result
}

/// A blocking receive; `run` gets the status to fill.
pub(crate) fn receive(
    transfer: Transfer,
    status: usize,
    run: impl FnOnce(usize) -> c_int,
) -> c_int {
    receive_into(post(envelope(Kind::Receive, transfer)), status, run)
}

fn receive_into(posted: Posted, status: usize, run: impl FnOnce(usize) -> c_int) -> c_int {
    let mut own = [0_u64; 8];
    let status = if status == library().no_status && posted != Posted::NONE { out(&mut own) } else { status };
    let result = run(status);
    if result == SUCCESS {
        received(posted, status);
    }
    result
}

/// `MPI_Sendrecv`: both at once.
pub(crate) fn exchange(
    send: Transfer,
    receive: Transfer,
    status: usize,
    run: impl FnOnce(usize) -> c_int,
) -> c_int {
    let sent = post(envelope(Kind::Send, send));
    let posted = post(envelope(Kind::Receive, receive));
    let result = receive_into(posted, status, run);
    sent.complete();
    result
}

/// Fills in what a status says.
fn received(posted: Posted, status: usize) {
    if posted == Posted::NONE {
        return;
    }
    let library = library();
    let (mut bytes, mut cancelled) = (0_i64, 0 as c_int);
    mpi!(PMPI_Get_elements_x(status, library.byte, out(&mut bytes)));
    mpi!(PMPI_Test_cancelled(status, out(&mut cancelled)));
    // SAFETY: a status that MPI filled; its fields are at these places.
    let (source, tag) = unsafe {
        let field = |at: usize| std::ptr::with_exposed_provenance::<i32>(status + at).read_unaligned();
        (field(library.source_at), field(library.tag_at))
    };
    posted.received(source, tag, u64::try_from(bytes).unwrap_or(0), cancelled != 0);
    posted.complete();
}

/// A request that is not reported to the program yet.
#[derive(Clone, Copy)]
struct Pending {
    posted: Posted,
    receive: bool,
    /// Time at which its starting call returned.
    returned: u64,
    /// The operation of a persistent request.
    repeats: Option<Envelope>,
}

static PENDING: Mutex<BTreeMap<usize, Pending>> = Mutex::new(BTreeMap::new());

fn pending() -> MutexGuard<'static, BTreeMap<usize, Pending>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(request: usize, pending_now: Pending) {
    // SAFETY: MPI stored the request there.
    let handle = unsafe { library().handle_at(request) };
    let before = pending().insert(handle, pending_now);
    if let Some(before) = before.filter(|before| !before.receive) {
        // MPICH has one request for all sends that complete at once.
        before.posted.complete_at(before.returned);
    }
}

/// A call that starts a transfer.
pub(crate) fn start(
    kind: Kind,
    transfer: Transfer,
    request: usize,
    run: impl FnOnce() -> c_int,
) -> c_int {
    let envelope = envelope(kind, transfer);
    let posted = post(envelope.map(|envelope| Envelope { flags: flags::NONBLOCKING, ..envelope }));
    started(posted, kind == Kind::Receive, request, run)
}

/// `MPI_Isendrecv`: both in one request. Its status should be the receive's, but MPICH 5.0.2 fills
/// it with other numbers. The receive's record therefore has no completion.
pub(crate) fn start_exchange(
    send: Transfer,
    receive: Transfer,
    request: usize,
    run: impl FnOnce() -> c_int,
) -> c_int {
    let [sent, _] = [(Kind::Send, send), (Kind::Receive, receive)].map(|(kind, transfer)| {
        post(envelope(kind, transfer).map(|envelope| Envelope { flags: flags::NONBLOCKING, ..envelope }))
    });
    started(sent, false, request, run)
}

fn started(posted: Posted, receive: bool, request: usize, run: impl FnOnce() -> c_int) -> c_int {
    let result = run();
    if result == SUCCESS && posted != Posted::NONE {
        watch(request, Pending { posted, receive, returned: clock::now(), repeats: None });
    }
    result
}

/// A call that prepares a persistent request.
pub(crate) fn prepare(
    kind: Kind,
    transfer: Transfer,
    request: usize,
    run: impl FnOnce() -> c_int,
) -> c_int {
    let result = run();
    if result == SUCCESS
        && let Some(envelope) = envelope(kind, transfer)
    {
        let repeats = Some(Envelope { flags: flags::NONBLOCKING | flags::PERSISTENT, ..envelope });
        let receive = kind == Kind::Receive;
        watch(request, Pending { posted: Posted::NONE, receive, returned: 0, repeats });
    }
    result
}

/// Persistent collectives: the call of a start, and the bytes for each peer.
static COLLECTIVES: Mutex<BTreeMap<usize, (Call, Vec<u64>)>> = Mutex::new(BTreeMap::new());

fn collectives() -> MutexGuard<'static, BTreeMap<usize, (Call, Vec<u64>)>> {
    COLLECTIVES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that prepared a persistent collective.
pub(crate) fn prepare_collective(request: usize, call: Call, counts: Vec<u64>) {
    // SAFETY: MPI stored the request there.
    let handle = unsafe { library().handle_at(request) };
    collectives().insert(handle, (call, counts));
}

/// `MPI_Start` and `MPI_Startall`.
pub(crate) fn start_prepared(count: usize, requests: usize, run: impl FnOnce() -> c_int) -> c_int {
    for handle in handles(count, requests) {
        let collective = collectives().get(&handle).cloned();
        if let Some((call, counts)) = collective {
            call::record_returned(call, &counts);
            continue;
        }
        let repeats = pending().get(&handle).and_then(|entry| entry.repeats);
        if let Some(envelope) = repeats {
            let posted = envelope.post();
            if let Some(entry) = pending().get_mut(&handle) {
                entry.posted = posted;
            }
        }
    }
    run()
}

/// A request is freed; its completion is not recorded.
pub(crate) fn give_up(request: usize) {
    for handle in handles(1, request) {
        pending().remove(&handle);
        collectives().remove(&handle);
    }
}

/// `MPI_Mrecv`.
pub(crate) fn receive_matched(
    (count, datatype, message): (u64, usize, usize),
    status: usize,
    run: impl FnOnce(usize) -> c_int,
) -> c_int {
    receive_into(post(matched_envelope(count, datatype, message, 0)), status, run)
}

/// `MPI_Imrecv`.
pub(crate) fn start_matched(
    (count, datatype, message): (u64, usize, usize),
    request: usize,
    run: impl FnOnce() -> c_int,
) -> c_int {
    let posted = post(matched_envelope(count, datatype, message, flags::NONBLOCKING));
    started(posted, true, request, run)
}

fn matched_envelope(count: u64, datatype: usize, message: usize, flags: u8) -> Option<Envelope> {
    // SAFETY: a message handle variable that MPI was given.
    let communicator = matched::take(unsafe { library().handle_at(message) })?;
    let bytes = bytes(count, datatype);
    Some(Envelope { kind: Kind::Receive, bytes, peer: -1, tag: -1, communicator, flags })
}

fn handles(count: usize, requests: usize) -> Vec<usize> {
    let library = library();
    let count = usize::try_from(int(count)).unwrap_or(0);
    // SAFETY: MPI was given an array of `count` request variables.
    (0..count).map(|i| unsafe { library.handle_at(requests + i * library.handle_size()) }).collect()
}

/// The requests of a list that a wait or test reported.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Done {
    None,
    All,
    /// The one of this index; negative: none.
    One(i32),
    /// This number of requests, with their indices from this address on.
    Some(i32, usize),
}

/// A wait or test; `run` gets the statuses to fill, `done` returns the reported requests.
pub(crate) fn completing(
    count: usize,
    requests: usize,
    statuses: usize,
    run: impl FnOnce(usize) -> c_int,
    done: impl FnOnce() -> Done,
) -> c_int {
    let library = library();
    let handles = handles(count, requests);
    let entries: Vec<Option<Pending>> = {
        let pending = pending();
        let active = |entry: &&Pending| entry.posted != Posted::NONE;
        handles.iter().map(|handle| pending.get(handle).filter(active).copied()).collect()
    };
    let mut own = Vec::new();
    let mut place = statuses;
    if entries.iter().flatten().any(|entry| entry.receive)
        && (statuses == library.no_statuses || statuses == library.no_status)
    {
        own.resize((handles.len() * library.status_size).div_ceil(8), 0_u64);
        place = own.as_mut_ptr().expose_provenance();
    }
    let result = run(place);
    if result != SUCCESS {
        return result;
    }
    let finish = |index: usize, status: usize| {
        let (Some(Some(entry)), Some(handle)) = (entries.get(index), handles.get(index)) else { return };
        if entry.receive {
            received(entry.posted, place + status * library.status_size);
        } else {
            entry.posted.complete();
        }
        let mut pending = pending();
        if entry.repeats.is_none() {
            pending.remove(handle);
        } else if let Some(entry) = pending.get_mut(handle) {
            entry.posted = Posted::NONE;
        }
    };
    match done() {
        Done::None => {}
        Done::All => (0..handles.len()).for_each(|i| finish(i, i)),
        Done::One(index) => {
            if let Ok(index) = usize::try_from(index) {
                finish(index, 0);
            }
        }
        Done::Some(count, indices) => {
            for i in 0..usize::try_from(count).unwrap_or(0) {
                // SAFETY: MPI filled `count` indices.
                let index = unsafe { std::ptr::with_exposed_provenance::<i32>(indices + i * 4).read_unaligned() };
                if let Ok(index) = usize::try_from(index) {
                    finish(index, i);
                }
            }
        }
    }
    result
}
