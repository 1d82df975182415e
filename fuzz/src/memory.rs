//! Memory that an importer holds at one time, beside the size of its input.
//!
//! Every allocation of the process is counted, live bytes and their peak; a block that grows counts
//! twice while it is copied. An input that makes an importer hold more than it may is a finding.

use std::sync::atomic::{AtomicUsize, Ordering};

use peak_alloc::PeakAlloc;

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

/// Bytes held for each byte of input, at most.
const PER_BYTE: usize = 10;

/// Bytes of buffers that an importer has for any input, however small: 256 KiB to read a stream and
/// 256 KiB more where it is gzip'ed, 64 KiB to write a temporary file, the rest for smaller ones.
const BUFFERS: usize = 768 << 10;

/// The most that was held for an input so far.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Runs an import of `size` bytes.
///
/// # Panics
/// It held more than its buffers and ten times its input; so the fuzzer keeps the input.
pub(crate) fn bounded(size: usize, import: impl FnOnce()) {
    COUNTED.reset_peak_usage();
    let before = COUNTED.current_usage();
    import();
    let held = COUNTED.peak_usage().saturating_sub(before);
    if held > MOST.fetch_max(held, Ordering::Relaxed) {
        eprintln!("held {held} bytes for an input of {size}");
    }
    let most = BUFFERS + PER_BYTE * size;
    assert!(held <= most, "held {held} bytes for an input of {size}, expected at most {most}");
}
