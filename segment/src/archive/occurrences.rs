//! Occurrences as blocks of columns.

use phaseflow_collect::archive::columns::{BlockReader, BlockWriter, Transform, UNKNOWN};
use phaseflow_collect::{Error, Result};

use crate::segmentation::Occurrence;

/// Columns phase 1 (absent values are idle), depth 2, start_ns 3, end_ns 4, messages 5, bytes 6,
/// deviation 7 in millionths.
pub(super) fn encode(chunk: &[Occurrence], deviation: Option<&[Option<f64>]>) -> Vec<u8> {
    let mut block = BlockWriter::new(chunk.len(), Vec::new());
    block
        .column(1, Transform::Plain, chunk.iter().map(|o| o.phase.map_or(UNKNOWN, i64::from)))
        .column(2, Transform::Plain, chunk.iter().map(|o| i64::from(o.depth)))
        .column(3, Transform::Delta, chunk.iter().map(|o| o.start_ns.cast_signed()))
        .column(4, Transform::Delta, chunk.iter().map(|o| o.end_ns.cast_signed()))
        .column(5, Transform::Plain, chunk.iter().map(|o| o.messages.cast_signed()))
        .column(6, Transform::Plain, chunk.iter().map(|o| o.bytes.cast_signed()));
    if let Some(deviation) = deviation {
        let millionths =
            deviation.iter().map(|part| part.map_or(UNKNOWN, |part| (part * 1e6).round() as i64));
        block.column(7, Transform::Plain, millionths);
    }
    block.finish()
}

/// Appends the rows of a block.
///
/// # Errors
/// A damaged block, a lacking column or a phase that is no number.
pub(super) fn decode(bytes: &[u8], occurrences: &mut Vec<Occurrence>) -> Result<()> {
    let block = BlockReader::new(bytes)?;
    let (mut phase, mut depth) = <(Vec<i64>, Vec<u32>)>::default();
    let (mut start, mut end, mut messages, mut volume) =
        <(Vec<u64>, Vec<u64>, Vec<u64>, Vec<u64>)>::default();
    block.required(1, "phase", &mut phase)?;
    block.required(2, "depth", &mut depth)?;
    block.required(3, "start_ns", &mut start)?;
    block.required(4, "end_ns", &mut end)?;
    block.required(5, "messages", &mut messages)?;
    block.required(6, "bytes", &mut volume)?;
    for row in 0..block.rows() {
        let phase = match phase[row] {
            UNKNOWN => None,
            number => {
                let number = u32::try_from(number);
                Some(
                    number
                        .map_err(|_| Error::data(format!("row {row}: phase {} is no number", phase[row])))?,
                )
            }
        };
        occurrences.push(Occurrence {
            phase,
            depth: depth[row],
            start_ns: start[row],
            end_ns: end[row],
            messages: messages[row],
            bytes: volume[row],
        });
    }
    Ok(())
}
