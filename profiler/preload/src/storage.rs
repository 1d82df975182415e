//! The file of a recording: a shared mapping that grows by segments and is never unmapped while the
//! process lives.
//!
//! Space is reserved and pages are made present before records are written, so recording neither
//! fails on a full disk nor waits for a page.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::format::{self, CHUNK, HEADER, SLOT, Slot, at};
use crate::{clock, system};

/// Chunks of the first segment; every further one has twice as many, up to [`MOST_CHUNKS`].
const FIRST_CHUNKS: usize = 16;
/// Most chunks of a segment: 16 MiB.
const MOST_CHUNKS: usize = 1024;
/// Bytes made present at once.
const AHEAD: usize = 16 * CHUNK;

static STORAGE: Mutex<Option<Storage>> = Mutex::new(None);

struct Storage {
    file: File,
    header: *mut u8,
    segments: Vec<(*mut u8, usize)>,
    /// Bytes of the last segment that chunks were taken from, and that are present.
    used: usize,
    present: usize,
    /// Bytes of all segments before the last.
    before: u64,
}

// SAFETY: the pointers are to mappings of this process that no thread owns.
unsafe impl Send for Storage {}

fn locked<T>(body: impl FnOnce(&mut Option<Storage>) -> T) -> T {
    body(&mut STORAGE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Creates the file; from now on chunks can be [taken](take).
pub(crate) fn create(path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    let full = || io::Error::other("no space left on the device");
    let mut storage = if system::reserve(&file, 0, HEADER) {
        let header = system::map_shared(file.as_raw_fd(), 0, HEADER).ok_or_else(io::Error::last_os_error)?;
        Storage { file, header, segments: Vec::new(), used: 0, present: 0, before: 0 }
    } else {
        let _ = std::fs::remove_file(path);
        return Err(full());
    };
    if !storage.grow() {
        let _ = std::fs::remove_file(path);
        return Err(full());
    }
    locked(|slot| *slot = Some(storage));
    header(at::MAGIC, &format::MAGIC);
    header(at::VERSION, &format::VERSION.to_le_bytes());
    header(at::SLOT, &(SLOT as u32).to_le_bytes());
    header(at::CHUNK, &(CHUNK as u32).to_le_bytes());
    Ok(())
}

/// Writes a field of the header; the caller truncates longer values.
pub(crate) fn header(offset: usize, bytes: &[u8]) {
    locked(|storage| {
        if let Some(storage) = storage.as_ref()
            && offset + bytes.len() <= HEADER
        {
            // SAFETY: the header is mapped, HEADER bytes long, and written under the lock only.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), storage.header.add(offset), bytes.len()) };
        }
    });
}

/// A new chunk for a lane with its header; `None` if the disk is full or recording is off.
pub(crate) fn take(lane: u32, number: u32) -> Option<*mut u8> {
    let chunk = locked(|storage| storage.as_mut()?.take())?;
    let [ticks, monotonic, _] = clock::triple();
    // SAFETY: the chunk is mapped, ours alone, CHUNK bytes long and aligned to a page.
    unsafe {
        chunk.add(16).cast::<u64>().write(ticks.to_le());
        chunk.add(24).cast::<u64>().write(monotonic.to_le());
        chunk.add(4).cast::<u32>().write(lane.to_le());
        chunk.add(8).cast::<u32>().write(number.to_le());
        chunk.cast::<u32>().write(format::CHUNK_MAGIC.to_le());
    }
    Some(chunk)
}

/// Truncates the file to its written part. The mappings stay, without the file behind them.
pub(crate) fn close() {
    locked(|storage| {
        let Some(mut storage) = storage.take() else { return };
        let length = HEADER as u64 + storage.before + storage.last_byte() as u64;
        for (start, len) in std::mem::take(&mut storage.segments) {
            // SAFETY: a mapping of `grow`.
            unsafe { system::unshare(start, len) };
        }
        let _ = storage.file.set_len(length);
    });
}

/// Drops the file without a write: in a forked child, whose parent continues to write.
pub(crate) fn abandon() {
    if let Ok(mut storage) = STORAGE.try_lock() {
        std::mem::forget(storage.take());
    }
}

impl Storage {
    fn grow(&mut self) -> bool {
        use std::os::fd::AsRawFd;
        let old = self.segments.last().map_or(0, |segment| segment.1);
        let len = (old * 2).clamp(FIRST_CHUNKS * CHUNK, MOST_CHUNKS * CHUNK);
        let offset = HEADER as u64 + self.before + old as u64;
        if !system::reserve(&self.file, offset, len) {
            return false;
        }
        let Some(start) = system::map_shared(self.file.as_raw_fd(), offset, len) else { return false };
        if let Some((start, len)) = self.segments.iter().rev().nth(1) {
            // SAFETY: a mapping of ours; late completions that still go there fault it in again.
            unsafe { system::release(*start, *len) };
        }
        self.before += old as u64;
        self.segments.push((start, len));
        (self.used, self.present) = (0, 0);
        true
    }

    fn take(&mut self) -> Option<*mut u8> {
        if self.segments.last().is_none_or(|segment| self.used + CHUNK > segment.1) && !self.grow() {
            return None;
        }
        let (start, len) = *self.segments.last()?;
        if self.used == self.present {
            let ahead = AHEAD.min(len - self.present);
            // SAFETY: inside the segment, not yet used.
            unsafe { system::populate(start.add(self.present), ahead) };
            self.present += ahead;
        }
        // SAFETY: inside the segment.
        let chunk = unsafe { start.add(self.used) };
        self.used += CHUNK;
        Some(chunk)
    }

    /// End of the last record in the last segment.
    fn last_byte(&self) -> usize {
        let Some((start, _)) = self.segments.last().filter(|_| self.used > 0) else { return 0 };
        let first = self.used - CHUNK + format::CHUNK_HEADER;
        let slots = (CHUNK - format::CHUNK_HEADER) / SLOT;
        // SAFETY: the slots of the last chunk taken.
        let written = |i: &usize| unsafe { start.add(first + i * SLOT).cast::<Slot>().read_volatile() }.code() != 0;
        first + (0..slots).rev().find(written).map_or(0, |last| (last + 1) * SLOT)
    }
}
