//! A trace of two ranks of which one file is damaged: the first byte says which, the second where
//! it ends, and each three after these are a place and a new byte.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

#[allow(dead_code, reason = "tests use more of it")]
#[path = "../../collect/tests/otf2_files/mod.rs"]
mod otf2_files;

/// A send to the other rank and a receive from it, each in its function.
fn events(rank: u64, records: &mut otf2_files::Records) {
    for (time, kind) in [(1000, 12), (1100, 14), (1200, 13), (1300, 12), (1400, 18), (1500, 13)] {
        records.time(time);
        match kind {
            14 | 18 => records.record(kind, &[1 - rank, 0, 5, 4096]),
            kind => records.single(kind, 190),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [which, end, edits @ ..] = bytes else { return };
    let mut files = otf2_files::trace(which & 128 != 0, 2, "Score-P 8", &events);
    let number = usize::from(which & 127) % files.len();
    let content = &mut files[number].1;
    for edit in edits.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % content.len();
        content[place] = edit[2];
    }
    if *end > 0 {
        let length = content.len() * usize::from(*end) / 256;
        content.truncate(length);
    }
    phaseflow_fuzz::read(Format::Otf2, phaseflow_fuzz::tar_of(&files));
});
