//! A time-independent trace of SimGrid, in one file for all ranks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

fuzz_target!(|bytes: &[u8]| phaseflow_fuzz::read(Format::Simgrid, bytes.to_vec()));
