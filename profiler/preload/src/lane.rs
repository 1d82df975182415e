//! Lanes: the recording state of one thread, with a cursor into its current chunk and its present
//! call.
//!
//! Below `MPI_THREAD_MULTIPLE` MPI calls never overlap, so one lane serves the process without
//! thread-local storage.

use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::communicator::Communicator;
use crate::format::{CHUNK, CHUNK_HEADER, Slot};
use crate::{recording, storage};

/// Longest wait that counts as none, in ticks: some hundred nanoseconds, the cost of a wait for a
/// complete request.
const SHORT_TICKS: u64 = 1000;

/// Most receives with the time of an earlier one: with eight per clock read, the read costs a
/// nanosecond each.
const SERIES: u32 = 7;

/// State of a lane. The fields of the [short path](crate::pml) of a message come first, in one
/// cache line.
#[repr(C, align(64))]
pub(crate) struct Lane {
    cursor: *mut Slot,
    end: *mut Slot,
    /// The data of the short path.
    pub(crate) near: Near,
    /// Nesting depth of interposed calls.
    pub(crate) depth: u32,
    /// Operation code of the outermost one, 0 for none.
    pub(crate) operation: u8,
    /// The outermost one is recorded.
    pub(crate) inside: bool,
    /// True if the present wait is for a receive that was complete before.
    pub(crate) has_complete_wait: bool,
    /// The end of the last record if it is a receive that has just started, its time, and the
    /// number of receives that share it.
    series: (*mut Slot, u64, u32),
    chunk: *mut u8,
    number: u32,
    chunks: u32,
    /// The communicator used last, and the state of the table when it was looked up.
    pub(crate) handle: usize,
    pub(crate) communicator: Option<&'static Communicator>,
    pub(crate) generation: u64,
}

/// The communicator of the last message, for the short path: messages are recorded, with the
/// counter as clock, on one lane, and the communicator is the program's own.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Near {
    /// Its handle; 0 if the short path is not possible.
    pub(crate) handle: usize,
    /// World ranks of its members; null where they are 0, 1, 2, …
    pub(crate) peers: *const u32,
    /// How many.
    pub(crate) size: u32,
    pub(crate) number: u32,
}

impl Near {
    /// No communicator: every message takes the long path.
    pub(crate) const NOTHING: Self = Self { handle: 0, peers: std::ptr::null(), size: 0, number: 0 };
}

impl Lane {
    pub(crate) const fn new() -> Self {
        Self {
            cursor: null_mut(),
            end: null_mut(),
            near: Near::NOTHING,
            depth: 0,
            operation: 0,
            inside: false,
            has_complete_wait: false,
            series: (null_mut(), 0, 0),
            chunk: null_mut(),
            number: u32::MAX - 1,
            chunks: 0,
            handle: 0,
            communicator: None,
            generation: 0,
        }
    }

    /// The lane of communicators.
    pub(crate) const fn control() -> Self {
        Self { number: crate::format::CONTROL_LANE, ..Self::new() }
    }

    /// Appends a record; null if the recording has stopped. The slot stays valid until the process
    /// ends.
    #[inline(always)]
    pub(crate) fn push(&mut self, slot: Slot) -> *mut Slot {
        if self.cursor == self.end && !self.refill() {
            return null_mut();
        }
        // SAFETY: there is room.
        unsafe { self.push_into_room(slot) }
    }

    /// [`push`](Self::push), where there is room.
    ///
    /// # Safety
    /// The lane's chunk has a free slot: [`has_room`](Self::has_room).
    #[inline(always)]
    pub(crate) unsafe fn push_into_room(&mut self, slot: Slot) -> *mut Slot {
        let place = self.cursor;
        // SAFETY: cursor and end delimit the free slots of the lane's chunk, which only this thread
        // writes. The kind is written last, so that an incomplete record does not count after a
        // crash.
        unsafe {
            self.cursor = place.add(1);
            #[cfg(target_arch = "x86_64")]
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(place.wrapping_add(8).cast());
            let words = place.cast::<u64>();
            words.add(1).write(slot.0[1]);
            words.add(2).write(slot.0[2]);
            words.add(3).write(slot.0[3]);
            std::sync::atomic::compiler_fence(Ordering::Release);
            words.write_volatile(slot.0[0]);
        }
        place
    }

    /// True if the chunk at hand has a free slot.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.cursor != self.end
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> bool {
        if self.number == u32::MAX - 1 {
            self.number = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        let Some(chunk) = storage::take(self.number, self.chunks) else {
            if recording::stop() {
                ask_again();
                recording::report_stop();
            }
            return false;
        };
        self.chunks += 1;
        self.chunk = chunk;
        // SAFETY: the chunk is CHUNK bytes long, its slots start after the header.
        unsafe {
            self.cursor = chunk.add(CHUNK_HEADER).cast();
            self.end = chunk.add(CHUNK).cast();
        }
        true
    }

    /// Appends a receive that is started and not waited for. Programs start them in series; up to
    /// [`SERIES`] in direct succession share one read of the clock, which is half of the cost of a
    /// record.
    #[inline(always)]
    pub(crate) fn push_started_receive(&mut self, mut slot: Slot, now: impl FnOnce() -> u64) -> *mut Slot {
        let (next, time, count) = self.series;
        let follows = next == self.cursor && !next.is_null() && count < SERIES;
        let (time, count) = if follows { (time, count + 1) } else { (now(), 0) };
        slot.0[0] |= time;
        let place = self.push(slot);
        self.series = (self.cursor, time, count);
        place
    }

    /// Removes the records since `mark`, which must be in the same chunk: those of the probe
    /// messages at the start.
    pub(crate) fn rewind(&mut self, mark: *mut Slot) {
        // The next receive does not continue their series.
        self.series.0 = null_mut();
        while self.cursor > mark {
            // SAFETY: between `mark` and the cursor lie slots of the lane's chunk.
            unsafe {
                self.cursor = self.cursor.sub(1);
                self.cursor.write(Slot::default());
            }
        }
    }

    /// Removes the record of a wait for a complete request: most waits are of this kind, and they
    /// contain no information. A wait with records inside it stays.
    #[inline(always)]
    pub(crate) fn forget_if_short(&mut self, slot: *mut Slot) {
        if slot.is_null() || slot.wrapping_add(1) != self.cursor {
            return;
        }
        // SAFETY: the last slot of the lane.
        unsafe {
            let record = slot.read_volatile();
            if record.end().wrapping_sub(record.start()) < SHORT_TICKS {
                slot.cast::<u64>().write_volatile(0);
                self.cursor = slot;
                self.series.0 = null_mut();
            }
        }
    }

    /// Position of the next record.
    pub(crate) fn mark(&mut self) -> *mut Slot {
        if self.cursor == self.end {
            self.refill();
        }
        self.cursor
    }

    /// Counts an unsuccessful poll.
    #[inline]
    pub(crate) fn polled(&mut self) {
        self.series.0 = null_mut();
        if self.mark().is_null() {
            return;
        }
        // SAFETY: the counter is at byte 32 of the chunk header, written by this thread only.
        unsafe {
            let counter = self.chunk.add(32).cast::<u64>();
            counter.write_volatile(counter.read_volatile() + 1);
        }
    }
}

static NEXT: AtomicU32 = AtomicU32::new(0);
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Switches to overlapping MPI calls (`MPI_THREAD_MULTIPLE`).
pub(crate) fn overlap(several: bool) {
    SEVERAL.store(several, Ordering::Relaxed);
}

/// True under `MPI_THREAD_MULTIPLE`.
#[inline(always)]
pub(crate) fn may_overlap() -> bool {
    SEVERAL.load(Ordering::Relaxed)
}

struct Single(UnsafeCell<Lane>);
// SAFETY: used only while MPI calls do not overlap, which the program promised by its thread level.
unsafe impl Sync for Single {}
static SINGLE: Single = Single(UnsafeCell::new(Lane::new()));

/// A thread's own lane, which a later thread reuses after its end.
struct Owned(*mut Lane);
struct Pool(Vec<*mut Lane>);
// SAFETY: a lane in the pool belongs to no thread.
unsafe impl Send for Pool {}
static POOL: Mutex<Pool> = Mutex::new(Pool(Vec::new()));

impl Owned {
    fn take() -> Self {
        let free = POOL.lock().unwrap_or_else(PoisonError::into_inner).0.pop();
        Self(free.unwrap_or_else(|| Box::into_raw(Box::new(Lane::new()))))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        POOL.lock().unwrap_or_else(PoisonError::into_inner).0.push(self.0);
    }
}

thread_local! {
    static OWNED: Owned = Owned::take();
}

/// The only lane while MPI calls do not overlap. With overlapping calls its [`Near`] stays
/// [`Near::NOTHING`].
#[inline(always)]
pub(crate) fn single() -> *mut Lane {
    SINGLE.0.get()
}

/// Lets records pass or not.
pub(crate) fn set_on(on: bool) {
    recording::store_on(on);
    ask_again();
}

/// Invalidates [`Near`].
pub(crate) fn ask_again() {
    if !may_overlap() {
        // SAFETY: MPI calls do not overlap, and this is inside one.
        unsafe { (*single()).near = Near::NOTHING };
    }
}

/// The calling thread's lane; null at the end of the thread. It is valid for the life of the
/// thread. Callers keep no reference over a call into MPI, where hooks use the same lane.
#[inline(always)]
pub(crate) fn current() -> *mut Lane {
    if may_overlap() { OWNED.try_with(|lane| lane.0).unwrap_or(null_mut()) } else { SINGLE.0.get() }
}
