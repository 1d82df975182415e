//! Receives whose message arrived before they were posted.
//!
//! Such a receive is complete when its start returns, but the program learns it only from its wait.
//! With the time of the start, a later send would seem to depend on the message, and an exchange
//! would look like a chain. So the receive counts as complete at its wait, which is recorded even
//! if it is short: the time before it is computation.
//!
//! Open MPI waits by a table of functions, the global `ompi_request_functions`. Its wait functions
//! are replaced if they are those of a known version. Otherwise, and for programs that test instead
//! of waiting, the time of the start remains.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::lane;
use crate::message::Posted;
use crate::system;

/// Bytes of the table: functions to test and to wait for one, any, all, some.
const SIZE: u64 = 64;

/// The replaced functions: names, and places in the table.
const WAITS: [(&CStr, usize); 4] = [
    (c"ompi_request_default_wait", 4),
    (c"ompi_request_default_wait_any", 5),
    (c"ompi_request_default_wait_all", 6),
    (c"ompi_request_default_wait_some", 7),
];

/// The original functions of the table.
static REAL: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Receives that were complete at once and have no wait yet, each at the hash of its request. Of
/// two with the same hash, the later one stays.
struct Early(UnsafeCell<[(usize, Posted); 1 << PLACES]>);
// SAFETY: used only while MPI calls do not overlap.
unsafe impl Sync for Early {}
/// Logarithm of their number.
const PLACES: u32 = 12;
static EARLY: Early = Early(UnsafeCell::new([(0, Posted::NONE); 1 << PLACES]));
/// Their number.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Puts the hooks in place where the table is as expected.
pub(super) fn patch() {
    let table = table();
    // SAFETY: the table has this many entries.
    let is_known = |(name, place): &(&CStr, usize)| unsafe { table.add(*place).read() } == system::variable(name);
    if table.is_null() || !WAITS.iter().all(is_known) {
        return;
    }
    let hooks = [
        wait as *const () as usize,
        wait_any as *const () as usize,
        wait_all as *const () as usize,
        wait_some as *const () as usize,
    ];
    for (((_, place), real), hook) in WAITS.iter().zip(&REAL).zip(hooks) {
        // SAFETY: as above; the global is writable, and no other thread calls MPI during MPI_Init.
        unsafe {
            real.store(table.add(*place).read(), Relaxed);
            table.add(*place).write(hook);
        }
    }
}

/// Puts back what was there.
pub(super) fn undo() {
    for ((_, place), real) in WAITS.iter().zip(&REAL) {
        let real = real.load(Relaxed);
        if real != 0 {
            // SAFETY: as in `patch`, which stored it.
            unsafe { table().add(*place).write(real) };
        }
    }
}

/// The table, if it has the expected size.
fn table() -> *mut usize {
    let address = system::variable(c"ompi_request_functions");
    let is_known = address != 0 && system::symbol_size(address) == Some(SIZE);
    if is_known { std::ptr::with_exposed_provenance_mut(address) } else { std::ptr::null_mut() }
}

/// The entry of a request.
///
/// # Safety
/// MPI calls do not overlap, and this is inside one; no other place is in use.
#[inline(always)]
unsafe fn place(request: usize) -> &'static mut (usize, Posted) {
    let scattered = (request as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES);
    // SAFETY: the caller's promise.
    unsafe { &mut (*EARLY.0.get())[scattered as usize] }
}

/// A receive was complete when its start returned.
#[inline(never)]
pub(super) fn early(request: usize, posted: Posted) {
    if REAL[0].load(Relaxed) == 0 || lane::may_overlap() {
        return;
    }
    // SAFETY: as asked for.
    let place = unsafe { place(request) };
    if place.0 == 0 {
        COUNT.fetch_add(1, Relaxed);
    }
    *place = (request, posted);
}

/// A request is another one now.
#[inline(always)]
pub(super) fn begins(request: usize) {
    if COUNT.load(Relaxed) > 0 {
        take(request);
    }
}

/// The receive of a request, which is not kept any longer.
#[inline(never)]
fn take(request: usize) -> Option<Posted> {
    if lane::may_overlap() {
        return None;
    }
    // SAFETY: as asked for.
    let place = unsafe { place(request) };
    if place.0 != request {
        return None;
    }
    COUNT.fetch_sub(1, Relaxed);
    Some(std::mem::replace(place, (0, Posted::NONE)).1)
}

/// A request is waited for, now.
fn waited(request: usize) {
    if let Some(posted) = take(request) {
        posted.complete_later();
        // SAFETY: MPI calls do not overlap, and this is inside one.
        unsafe { (*lane::single()).has_complete_wait = true };
    }
}

/// Waits for some of `count` requests; the completed ones are those that are no longer in their
/// places.
fn some(count: usize, requests: *mut usize, wait: impl FnOnce() -> c_int) -> c_int {
    if COUNT.load(Relaxed) == 0 {
        return wait();
    }
    // SAFETY: Open MPI hands `count` requests.
    let read = || (0..count).map(|i| unsafe { requests.add(i).read() });
    let before: Vec<usize> = read().collect();
    let result = wait();
    before.into_iter().zip(read()).filter(|(before, now)| before != now).for_each(|(before, _)| waited(before));
    result
}

extern "C" fn wait(request: *mut usize, status: usize) -> c_int {
    if COUNT.load(Relaxed) > 0 {
        // SAFETY: Open MPI hands a request.
        waited(unsafe { request.read() });
    }
    // SAFETY: the function that was in the table, of these arguments.
    unsafe {
        let real: unsafe extern "C" fn(*mut usize, usize) -> c_int =
            std::mem::transmute(REAL[0].load(Relaxed));
        real(request, status)
    }
}

extern "C" fn wait_any(count: usize, requests: *mut usize, index: usize, status: usize) -> c_int {
    // SAFETY: as above.
    some(count, requests, || unsafe {
        let real: unsafe extern "C" fn(usize, *mut usize, usize, usize) -> c_int =
            std::mem::transmute(REAL[1].load(Relaxed));
        real(count, requests, index, status)
    })
}

extern "C" fn wait_all(count: usize, requests: *mut usize, statuses: usize) -> c_int {
    if COUNT.load(Relaxed) > 0 {
        // SAFETY: Open MPI hands `count` requests.
        (0..count).for_each(|i| waited(unsafe { requests.add(i).read() }));
    }
    // SAFETY: as above.
    unsafe {
        let real: unsafe extern "C" fn(usize, *mut usize, usize) -> c_int =
            std::mem::transmute(REAL[2].load(Relaxed));
        real(count, requests, statuses)
    }
}

extern "C" fn wait_some(
    count: usize,
    requests: *mut usize,
    done: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    // SAFETY: as above.
    some(count, requests, || unsafe {
        let real: unsafe extern "C" fn(usize, *mut usize, usize, usize, usize) -> c_int =
            std::mem::transmute(REAL[3].load(Relaxed));
        real(count, requests, done, indices, statuses)
    })
}
