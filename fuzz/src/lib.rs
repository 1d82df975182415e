//! What the targets share: an import of bytes that nobody wrote, in memory that is counted.

mod memory;

use std::io::{self, Cursor};

use phaseflow_collect::expand::Rules;
use phaseflow_collect::export::{ArchiveExport, SimgridExport};
use phaseflow_collect::import::{Format, Input, Reading, import};
use phaseflow_collect::trace::Sink;

/// Imports bytes as a format; an error is as good as a trace.
pub fn read(format: Format, bytes: Vec<u8>) {
    // Neither has calls to expand.
    let has_calls = !matches!(format, Format::Paraver | Format::Goal);
    let expand = has_calls.then_some(Rules::Basic);
    let size = bytes.len();
    memory::bounded(size, || {
        // The writer of programs reads orders without times, which the archive passes on as they
        // are.
        let (mut archive, mut program);
        let sink: &mut dyn Sink = if format == Format::Goal {
            program = SimgridExport::new(io::sink());
            &mut program
        } else {
            archive = ArchiveExport::new(io::sink(), false);
            &mut archive
        };
        let reading = Reading { format: Some(format), expand, ..Reading::new(tempfile::tempfile) };
        let input = Input::Stream(Box::new(Cursor::new(bytes)));
        let _ = import(input, reading, sink);
    });
}

/// A tar of two ranks' files: the bytes divided at their middle.
pub fn two_ranks(bytes: &[u8], names: [&str; 2]) -> Vec<u8> {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    tar_of(&[(names[0].into(), first.to_vec()), (names[1].into(), second.to_vec())])
}

/// A tar of files, given as names and contents.
pub fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Memory does not fail.
        let _ = tar.append_data(&mut header, name, &content[..]);
    }
    tar.into_inner().unwrap_or_default()
}
