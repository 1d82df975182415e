//! A schedule of GOAL, text or binary.

#![no_main]

use libfuzzer_sys::fuzz_target;
use phaseflow_collect::export::SimgridExport;
use phaseflow_collect::import::{Format, Input, Reading, import};

fuzz_target!(|bytes: &[u8]| {
    // It has no collectives, so nothing is expanded.
    let reading = Reading { format: Some(Format::Goal), ..Reading::new(tempfile::tempfile) };
    let input = Input::Stream(Box::new(std::io::Cursor::new(bytes.to_vec())));
    let _ = import(input, reading, &mut SimgridExport::new(std::io::sink()));
});
