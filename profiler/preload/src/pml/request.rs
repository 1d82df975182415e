//! Open MPI's requests: their completion, the result of a receive, and persistent requests.
//!
//! Offsets hold for x86-64, Open MPI 3.1 to main, non-debug; the guard is the size of
//! `ompi_request_empty`. Offsets that differ between versions or transport layers (communicators,
//! PML requests) are not used.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::waits;
use crate::format::{Kind, Slot, flags};
use crate::lane;
use crate::message::{Envelope, Posted};
use crate::mpi::{self, SUCCESS};

/// Bytes of `ompi_request_t`.
pub(super) const SIZE: u64 = 160;
/// Offset of the status, bytes.
const STATUS: usize = 64;
/// Offset of the completion word, bytes.
const COMPLETE: usize = 88;
/// Offset of the start function, bytes.
const START: usize = 112;
/// Offset of the callback of a completion, bytes.
const CALLBACK: usize = 136;
/// Offset of its argument, bytes.
const CALLBACK_DATA: usize = 144;
/// Value of the completion word of a request that is done.
const DONE: usize = 1;
/// In Open MPI 5 the callback of a request that is done.
const CALLBACK_DONE: usize = 1;
/// Size field of `opal_datatype_t`.
const DATATYPE_SIZE: usize = 24;

type Start = unsafe extern "C" fn(usize, *mut usize) -> c_int;

/// Open MPI's status.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Status {
    pub(super) source: i32,
    pub(super) tag: i32,
    error: i32,
    pub(super) cancelled: i32,
    pub(super) bytes: usize,
}

impl Status {
    pub(super) fn place(&mut self) -> usize {
        mpi::out(self)
    }

    /// # Safety
    /// `at` is the address of a status.
    pub(super) unsafe fn at(at: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::with_exposed_provenance::<Self>(at).read() }
    }
}

static SIZE_IS_READ: AtomicBool = AtomicBool::new(false);

/// Checks the offset of a datatype's size, for types of different sizes.
pub(super) fn learn_datatype_layout() {
    let names = [c"ompi_mpi_byte", c"ompi_mpi_int", c"ompi_mpi_double", c"ompi_mpi_short", c"ompi_mpi_2int"];
    let types = names.map(crate::system::variable);
    // SAFETY: predefined datatypes are objects far larger than the offset read.
    let agrees = |datatype: &usize| *datatype != 0 && unsafe { size_field(*datatype) } == mpi::type_size(*datatype);
    SIZE_IS_READ.store(types.iter().all(agrees), Ordering::Relaxed);
}

/// True if the size of a datatype is where it is expected.
pub(super) fn size_is_read() -> bool {
    SIZE_IS_READ.load(Ordering::Relaxed)
}

/// # Safety
/// `datatype` is a datatype of Open MPI, and its size [is read](size_is_read).
#[inline(always)]
pub(super) unsafe fn size_field(datatype: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::with_exposed_provenance::<u64>(datatype + DATATYPE_SIZE).read() }
}

/// Payload of `count` elements.
#[inline(always)]
pub(super) fn bytes_of(count: usize, datatype: usize) -> u64 {
    // SAFETY: MPI is given the same datatype.
    let size = if SIZE_IS_READ.load(Ordering::Relaxed) { unsafe { size_field(datatype) } } else { mpi::type_size(datatype) };
    size.saturating_mul(count as u64)
}

/// A request as memory.
#[derive(Clone, Copy)]
struct Request(usize);

impl Request {
    #[inline(always)]
    fn word(self, offset: usize) -> &'static AtomicUsize {
        // SAFETY: a request is SIZE bytes of memory of Open MPI, which it keeps in free lists for
        // ever; its words are aligned.
        unsafe { AtomicUsize::from_ptr(std::ptr::with_exposed_provenance_mut(self.0 + offset)) }
    }

    #[inline(always)]
    fn is_done(self) -> bool {
        self.word(COMPLETE).load(Ordering::Acquire) == DONE
    }

    #[inline(always)]
    fn status(self) -> Status {
        // SAFETY: the status lies inside the request.
        unsafe { Status::at(self.0 + STATUS) }
    }
}

/// Completes the slot of a request that is done.
#[inline(always)]
fn finish(request: Request, posted: Posted) {
    if posted == Posted::NONE {
        return;
    }
    // SAFETY: the slot is valid until the process ends.
    let kind = unsafe { posted.0.read_volatile() }.code();
    let status = request.status();
    if kind == Kind::Receive as u8 {
        posted.received(status.source, status.tag, status.bytes as u64, status.cancelled != 0);
    } else if status.cancelled != 0 {
        posted.cancelled();
    }
    posted.complete();
}

/// [`watch`], of a message of the [short](super::short) way: no other thread completes requests.
#[inline(always)]
pub(super) fn watch_alone(result: c_int, to: *mut usize, posted: Posted, kind: Kind, at_once: bool) {
    if result != SUCCESS {
        return;
    }
    // SAFETY: MPI stored the request there.
    let request = Request(unsafe { *to });
    let done = request.is_done();
    if kind as u8 == Kind::Send as u8 && (done || at_once) {
        posted.complete_at_once();
    } else if !done && request.word(CALLBACK).load(Ordering::Relaxed) == 0 {
        waits::begins(request.0);
        request.word(CALLBACK_DATA).store(posted.0.expose_provenance(), Ordering::Relaxed);
        request.word(CALLBACK).store(completed as *const () as usize, Ordering::Relaxed);
    } else {
        watch(result, to, posted, at_once);
    }
}

/// Makes a request that has just started complete its slot.
#[inline(never)]
pub(super) fn watch(result: c_int, to: *mut usize, posted: Posted, at_once: bool) {
    if posted == Posted::NONE || result != SUCCESS {
        return;
    }
    // SAFETY: MPI stored the request there.
    let request = Request(unsafe { *to });
    waits::begins(request.0);
    if at_once {
        posted.complete_at_once();
    } else if request.is_done() {
        // It may be the shared request for transfers that complete at once, which must not be
        // written. SAFETY: the slot is valid.
        if unsafe { posted.0.read_volatile() }.code() == Kind::Send as u8 {
            posted.complete_at_once();
        } else {
            finish(request, posted);
            waits::early(request.0, posted);
        }
    } else if lane::may_overlap() {
        watch_overlapping(request, posted);
    } else if request.word(CALLBACK).load(Ordering::Relaxed) == 0 {
        request.word(CALLBACK_DATA).store(posted.0.expose_provenance(), Ordering::Relaxed);
        request.word(CALLBACK).store(completed as *const () as usize, Ordering::Relaxed);
    } else {
        chain(request, posted);
    }
}

/// As [`watch`], while another thread may complete the request at any moment.
fn watch_overlapping(request: Request, posted: Posted) {
    let ours = completed as *const () as usize;
    let callback = request.word(CALLBACK);
    match callback.load(Ordering::Acquire) {
        0 => {
            request.word(CALLBACK_DATA).store(posted.0.expose_provenance(), Ordering::Release);
            if callback.compare_exchange(0, ours, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                if request.is_done() {
                    // It may have completed before the callback was set.
                    let _ = callback.compare_exchange(ours, 0, Ordering::AcqRel, Ordering::Acquire);
                    finish(request, posted);
                }
            } else {
                finish_when_done(request, posted);
            }
        }
        CALLBACK_DONE => finish_when_done(request, posted),
        _ => chain(request, posted),
    }
}

/// A concurrent completion on another thread has taken the callback.
fn finish_when_done(request: Request, posted: Posted) {
    while !request.is_done() {
        std::hint::spin_loop();
    }
    finish(request, posted);
}

/// The callback of a watched request.
extern "C" fn completed(request: usize) -> c_int {
    let request = Request(request);
    let slot: *mut Slot = std::ptr::with_exposed_provenance_mut(request.word(CALLBACK_DATA).load(Ordering::Relaxed));
    finish(request, Posted(slot));
    0
}

/// A callback that was set before ours.
struct Link {
    posted: Posted,
    callback: usize,
    data: usize,
}

/// Watches a request with another callback, as one-sided communication over point-to-point sets
/// one.
#[cold]
fn chain(request: Request, posted: Posted) {
    let (callback, data) = (request.word(CALLBACK), request.word(CALLBACK_DATA));
    let link = Link { posted, callback: callback.load(Ordering::Acquire), data: data.load(Ordering::Acquire) };
    let link = Box::into_raw(Box::new(link));
    data.store(link.expose_provenance(), Ordering::Release);
    callback.store(chained as *const () as usize, Ordering::Release);
}

extern "C" fn chained(request: usize) -> c_int {
    let own = Request(request);
    let link: *mut Link = std::ptr::with_exposed_provenance_mut(own.word(CALLBACK_DATA).load(Ordering::Acquire));
    // SAFETY: `chain` made it for this one completion.
    let link = unsafe { Box::from_raw(link) };
    finish(own, link.posted);
    own.word(CALLBACK_DATA).store(link.data, Ordering::Release);
    // SAFETY: the address of the callback that was registered first.
    unsafe {
        let callback: unsafe extern "C" fn(usize) -> c_int = std::mem::transmute(link.callback);
        callback(request)
    }
}

/// A persistent request.
#[derive(Clone, Copy)]
struct Prepared {
    envelope: Envelope,
    buffered: bool,
    start: usize,
}

static PREPARED: Mutex<BTreeMap<usize, Prepared>> = Mutex::new(BTreeMap::new());
/// The start function of requests, for those that are not in the table.
static START_FUNCTION: AtomicUsize = AtomicUsize::new(0);

fn prepared_requests() -> std::sync::MutexGuard<'static, BTreeMap<usize, Prepared>> {
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a persistent request. MPI_Start calls a function of the request itself instead of the
/// table, so that function is replaced as well. A request keeps the replacement in the free list,
/// so its original function is stored only once.
pub(super) fn prepared(to: *mut usize, envelope: Envelope, buffered: bool) {
    // SAFETY: MPI stored the request there.
    let request = Request(unsafe { *to });
    if request.is_done() && request.word(START).load(Ordering::Relaxed) == 0 {
        return;
    }
    let ours = start_hook as *const () as usize;
    let mut start = request.word(START).swap(ours, Ordering::AcqRel);
    if start == ours {
        start = START_FUNCTION.load(Ordering::Relaxed);
    } else {
        START_FUNCTION.store(start, Ordering::Relaxed);
    }
    let envelope = Envelope { flags: flags::PERSISTENT | flags::NONBLOCKING, ..envelope };
    prepared_requests().insert(request.0, Prepared { envelope, buffered, start });
}

/// The start function of a persistent request; MPI_Startall passes it all neighbours with the same
/// function.
unsafe extern "C" fn start_hook(count: usize, requests: *mut usize) -> c_int {
    // SAFETY: Open MPI hands `count` requests.
    let first = if count == 0 { None } else { prepared_requests().get(&unsafe { *requests }).copied() };
    let start = first.map_or_else(|| START_FUNCTION.load(Ordering::Relaxed), |prepared| prepared.start);
    started(count, requests, |count, requests| {
        // SAFETY: the function that was in the request.
        unsafe { std::mem::transmute::<usize, Start>(start)(count, std::ptr::with_exposed_provenance_mut(requests)) }
    })
}

/// Records the starts of persistent requests.
pub(super) fn started(count: usize, requests: *mut usize, real: impl FnOnce(usize, usize) -> c_int) -> c_int {
    // SAFETY: Open MPI hands `count` requests.
    let all = || (0..count).map(|i| unsafe { requests.add(i) });
    let posted: Vec<(usize, Option<Prepared>, Posted)> = {
        // SAFETY: as above.
        let known: Vec<_> = all().map(|at| unsafe { *at }).collect();
        let templates: Vec<_> = {
            let table = prepared_requests();
            known.iter().map(|request| table.get(request).copied()).collect()
        };
        let post = |template: &Option<Prepared>| template.map_or(Posted::NONE, |t| t.envelope.post());
        known.into_iter().zip(templates).map(|(request, template)| (request, template, post(&template))).collect()
    };
    let result = real(count, requests.expose_provenance());
    for (at, (old, template, posted)) in all().zip(posted) {
        let Some(template) = template else { continue };
        // SAFETY: as above. A request that is still busy inside is replaced by a copy of itself.
        let now = unsafe { *at };
        if now != old {
            Request(now).word(START).store(start_hook as *const () as usize, Ordering::Release);
            prepared_requests().insert(now, template);
        }
        watch(result, at, posted, template.buffered);
    }
    result
}
