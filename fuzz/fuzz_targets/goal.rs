//! A schedule of GOAL, text or binary.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

fuzz_target!(|bytes: &[u8]| phaseflow_fuzz::read(Format::Goal, bytes.to_vec()));
