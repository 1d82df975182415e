//! Records of MPI calls: times of entry and exit, operation and arguments.

use std::ffi::c_int;

use crate::communicator::Communicator;
use crate::communicator_table;
use crate::format::{Kind, NO_RANK, Slot, flags};
use crate::lane::{self, Lane};
use crate::message::Posted;
use crate::mpi::{int, library};
use crate::operation::Operation;
use crate::{clock, recording};

/// The recorded data of a call; computed only if it is recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    operation: Operation,
    communicator: usize,
    root: i32,
    bytes: u64,
    value: i32,
    flags: u8,
}

impl Call {
    /// A call that names no communicator.
    #[inline(always)]
    pub(crate) fn of(operation: Operation) -> Self {
        Self { operation, communicator: 0, root: -1, bytes: 0, value: 0, flags: 0 }
    }

    /// Its communicator or window.
    #[inline(always)]
    pub(crate) fn on(self, handle: usize) -> Self {
        Self { communicator: library().handle(handle), ..self }
    }

    /// Its root, a rank of the communicator; `MPI_ROOT` and `MPI_PROC_NULL` are none.
    #[inline(always)]
    pub(crate) fn root(self, rank: usize) -> Self {
        Self { root: int(rank), ..self }
    }

    /// This rank's part.
    #[inline(always)]
    pub(crate) fn bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }

    /// Number of requests or the like.
    #[inline(always)]
    pub(crate) fn value(self, value: usize) -> Self {
        Self { value: int(value), ..self }
    }

    /// The call only starts the operation.
    #[inline(always)]
    pub(crate) fn nonblocking(self) -> Self {
        Self { flags: self.flags | flags::NONBLOCKING, ..self }
    }

    /// The call only prepares the operation.
    #[inline(always)]
    pub(crate) fn persistent(self) -> Self {
        Self { flags: self.flags | flags::PERSISTENT, ..self }
    }

    /// Writes the record.
    ///
    /// # Safety
    /// `lane` is the calling thread's.
    #[inline]
    pub(crate) unsafe fn record(self, lane: *mut Lane) -> Posted {
        // SAFETY: the caller's promise; the communicator is one that MPI was given too.
        unsafe {
            let (mut number, mut root) = (NO_RANK, NO_RANK);
            if self.communicator != 0 && self.communicator != library().no_communicator {
                let known: &Communicator = communicator_table::of(lane, self.communicator);
                number = known.number;
                root = known.world(self.root);
            }
            let slot = Slot::new(
                Kind::Call,
                clock::now(),
                self.operation as u8,
                self.bytes,
                root,
                self.value,
                number,
                self.flags,
            );
            Posted((*lane).push(slot))
        }
    }
}

/// Runs an MPI call with a record around it. Calls of MPI itself inside another call are not
/// recorded.
#[inline(always)]
pub(crate) fn recorded(describe: impl FnOnce() -> Call, run: impl FnOnce() -> c_int) -> c_int {
    recorded_with(|| (describe(), ()), |()| (), run)
}

/// [`recorded`], with an action between the record and the call.
#[inline(always)]
pub(crate) fn recorded_with<T>(
    describe: impl FnOnce() -> (Call, T),
    more: impl FnOnce(T),
    run: impl FnOnce() -> c_int,
) -> c_int {
    if !recording::is_on() {
        return run();
    }
    let lane = lane::current();
    // SAFETY: the calling thread's lane, not held over the call.
    if lane.is_null() || unsafe { (*lane).depth } > 0 {
        return run();
    }
    let (call, known) = describe();
    // SAFETY: as above.
    let posted = unsafe {
        let posted = call.record(lane);
        ((*lane).depth, (*lane).operation, (*lane).inside) = (1, call.operation as u8, true);
        (*lane).has_complete_wait = false;
        posted
    };
    more(known);
    let result = run();
    posted.complete();
    // SAFETY: as above; the thread is the same.
    unsafe {
        ((*lane).depth, (*lane).operation, (*lane).inside) = (0, 0, false);
        if call.operation == Operation::Wait && !(*lane).has_complete_wait {
            (*lane).forget_if_short(posted.0);
        }
    }
    result
}

/// Runs a call without a record of its own, as its messages have its operation.
#[inline(always)]
pub(crate) fn told_by_messages(operation: Operation, run: impl FnOnce() -> c_int) -> c_int {
    let lane = lane::current();
    // SAFETY: the calling thread's lane, not held over the call.
    if !recording::is_on() || lane.is_null() || unsafe { (*lane).depth } > 0 {
        return run();
    }
    // SAFETY: as above.
    unsafe { ((*lane).depth, (*lane).operation) = (1, operation as u8) };
    let result = run();
    // SAFETY: as above.
    unsafe { ((*lane).depth, (*lane).operation) = (0, 0) };
    result
}

/// Runs a polling call. Only success is recorded, with one time: programs poll thousands of times
/// for one message.
#[inline(always)]
pub(crate) fn polled(
    operation: Operation,
    run: impl FnOnce() -> c_int,
    succeeded: impl FnOnce() -> bool,
) -> c_int {
    if !recording::is_on() {
        return run();
    }
    let lane = lane::current();
    // SAFETY: the calling thread's lane, not held over the call.
    if lane.is_null() || unsafe { (*lane).depth } > 0 {
        return run();
    }
    // SAFETY: as above.
    unsafe { ((*lane).depth, (*lane).operation) = (1, operation as u8) };
    let result = run();
    // SAFETY: as above.
    unsafe {
        if succeeded() {
            Call::of(operation).record(lane).complete();
        } else {
            (*lane).polled();
        }
        ((*lane).depth, (*lane).operation) = (0, 0);
    }
    result
}

/// Adds to the call just recorded the bytes for each peer.
pub(crate) fn counts(bytes: &[u64]) {
    let lane = lane::current();
    if lane.is_null() {
        return;
    }
    for (i, three) in bytes.chunks(3).enumerate() {
        // SAFETY: the calling thread's lane.
        unsafe { (*lane).push(Slot::counts(i as u32 * 3, three)) };
    }
}

/// Records a call that has returned already, with its counts.
pub(crate) fn record_returned(call: Call, bytes: &[u64]) {
    let lane = lane::current();
    if recording::is_on() && !lane.is_null() {
        // SAFETY: the calling thread's lane.
        unsafe { call.record(lane).complete_at_once() };
        counts(bytes);
    }
}
