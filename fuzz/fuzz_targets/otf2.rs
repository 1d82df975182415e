//! The files of an OTF2 trace in a tar: the sample's names, so that a corpus of such tars works.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::import::Format;

fuzz_target!(|bytes: &[u8]| phaseflow_fuzz::read(Format::Otf2, bytes.to_vec()));
