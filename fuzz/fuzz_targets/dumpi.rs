//! Two ranks' files of DUMPI.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

fuzz_target!(|bytes: &[u8]| {
    let names = ["run-0000.bin", "run-0001.bin"];
    phaseflow_fuzz::read(Format::Dumpi, phaseflow_fuzz::two_ranks(bytes, names));
});
