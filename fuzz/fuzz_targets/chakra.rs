//! Two ranks' execution traces of Chakra.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

fuzz_target!(|bytes: &[u8]| {
    phaseflow_fuzz::read(Format::Chakra, phaseflow_fuzz::two_ranks(bytes, ["x.0.et", "x.1.et"]));
});
