//! What the targets share: an import of bytes that nobody wrote.

use std::io::{self, Cursor};

use phaseflow_collect::expand::Rules;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::import::{Format, Input, Reading, import};

/// Imports bytes as a format; an error is as good as a trace.
pub fn read(format: Format, bytes: Vec<u8>) {
    let expand = (format != Format::Paraver).then_some(Rules::Basic);
    let reading = Reading { format: Some(format), expand, ..Reading::new(tempfile::tempfile) };
    let input = Input::Stream(Box::new(Cursor::new(bytes)));
    let _ = import(input, reading, &mut ArchiveExport::new(io::sink(), false));
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
