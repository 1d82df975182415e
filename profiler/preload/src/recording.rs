//! State of the recording of this process: active or not, and the level of messages.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::format::at;
use crate::{storage, system};

static ON: AtomicBool = AtomicBool::new(false);
static SEES_MESSAGES: AtomicBool = AtomicBool::new(false);
static NONBLOCKING_TAG: AtomicI32 = AtomicI32::new(i32::MIN);
static ONE_SIDED: AtomicBool = AtomicBool::new(false);
static FILE_FLAGS: AtomicU32 = AtomicU32::new(0);
/// The run directory, from the start of the recording to its end.
static DIRECTORY: Mutex<Option<PathBuf>> = Mutex::new(None);

/// True while calls and messages are recorded.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// Switches recording on or off. Use [`set_on`](crate::lane::set_on), which also informs the lanes.
pub(crate) fn store_on(on: bool) {
    ON.store(on, Relaxed);
}

/// Sets whether messages are recorded below the collectives, and the first tag of non-blocking
/// ones.
pub(crate) fn set_messages(seen: bool, nonblocking_tag: i32) {
    SEES_MESSAGES.store(seen, Relaxed);
    NONBLOCKING_TAG.store(nonblocking_tag, Relaxed);
}

/// Notes the run directory of a recording that starts; `None` when it ends.
pub(crate) fn set_directory(directory: Option<PathBuf>) {
    *DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner) = directory;
}

/// Forgets the directory in a forked child, where another thread may have held the lock.
pub(crate) fn abandon() {
    if let Ok(mut directory) = DIRECTORY.try_lock() {
        directory.take();
    }
}

/// True if messages are recorded below the collectives; false if they follow from calls.
#[inline(always)]
pub(crate) fn sees_messages() -> bool {
    SEES_MESSAGES.load(Relaxed)
}

/// Tags from here down are those of non-blocking collectives.
#[inline(always)]
pub(crate) fn nonblocking_tag() -> i32 {
    NONBLOCKING_TAG.load(Relaxed)
}

/// Sets that one-sided operations also appear as messages.
pub(crate) fn one_sided_as_messages() {
    if !ONE_SIDED.swap(true, Relaxed) {
        let flags = FILE_FLAGS.fetch_or(1, Relaxed) | 1;
        storage::header(at::FLAGS, &u64::from(flags).to_le_bytes());
    }
}

/// Stops the recording, as the disk is full. False if it had stopped already.
pub(crate) fn stop() -> bool {
    ON.swap(false, Relaxed)
}

/// Writes into the file and, once per run, on standard error that the recording has
/// [stopped](stop).
pub(crate) fn report_stop() {
    storage::header(at::STATE, &2_u32.to_le_bytes());
    let directory = DIRECTORY.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(directory) = directory.as_ref() else { return };
    // The process that creates the marker reports; without a marker, each process reports.
    let marker = directory.join("recording-stopped");
    let first = std::fs::OpenOptions::new().write(true).create_new(true).open(marker);
    if !first.is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
        system::say(&format!("{}: no space left: recording stops here, the program runs on", directory.display()));
    }
}
