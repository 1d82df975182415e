//! Two ranks' files of liballprof.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

fuzz_target!(|bytes: &[u8]| {
    let names = ["pmpi-trace-rank-0.txt", "pmpi-trace-rank-1.txt"];
    phaseflow_fuzz::read(Format::Liballprof, phaseflow_fuzz::two_ranks(bytes, names));
});
