//! Whether the messages in a phase archive are those of its matrices.
//!
//! What the whole run sends, or a phase with one occurrence, or a window as long as the run, has to be what the matrices say, pair by pair;
//! what a part of them sends must not be more. Memory: as much again as the matrices of phases whose messages are there.

use phaseflow_collect::trace::MessageBlock;
use phaseflow_collect::{Cell, Error, MatrixBuilder, Result, TrafficMatrix};

use crate::archive::{Chosen, Occurrence, Place};

/// What was sent in each phase, by where the archive has it.
#[derive(Default)]
pub(crate) struct Sent {
    /// Of the run, of representatives, in windows.
    of: [Vec<MatrixBuilder>; 3],
}

impl Sent {
    /// Adds messages in order of time; `occurrences` is all of them.
    pub(crate) fn add(
        &mut self,
        place: Place,
        block: &MessageBlock,
        occurrences: &[Occurrence],
    ) -> Result<()> {
        let columns = block.columns();
        let (kind, mut row) = match place {
            Place::Run => (0, 0),
            Place::Phase(phase) => {
                let builder = builder(&mut self.of[1], phase);
                return builder.add_messages(&columns.src, &columns.dst, &columns.bytes);
            }
            Place::Window(_) => (2, 0),
        };
        let rows = columns.send_post_ns.len();
        let mut last = 0;
        while row < rows {
            let post_ns = u64::try_from(columns.send_post_ns[row]).unwrap_or(0).max(last);
            last = post_ns;
            let (phase, end_ns) = innermost(occurrences, post_ns);
            let same = columns.send_post_ns[row..]
                .iter()
                .take_while(|post| end_ns.is_none_or(|end_ns| u64::try_from(**post).unwrap_or(0) < end_ns))
                .count();
            let own = row..row + same.max(1);
            if let Some(phase) = phase {
                builder(&mut self.of[kind], phase).add_messages(
                    &columns.src[own.clone()],
                    &columns.dst[own.clone()],
                    &columns.bytes[own.clone()],
                )?;
            }
            row = own.end;
        }
        Ok(())
    }

    /// Compares with the matrices.
    ///
    /// # Errors
    /// The first pair of which there are more messages or bytes than its matrix says, or less where all are there.
    pub(crate) fn check(self, chosen: &Chosen) -> Result<()> {
        let segmentation = &chosen.segmentation;
        let mut rows = vec![0; segmentation.phases.len()];
        for phase in segmentation.leaves().filter_map(|(_, row)| row.phase) {
            rows[phase as usize] += 1;
        }
        let duration_ns = segmentation.header.duration_ns;
        let windows = chosen.samples.iter().flat_map(|samples| &samples.windows);
        let is_all = windows.clone().any(|window| window.start_ns == 0 && Some(window.end_ns) == duration_ns);
        for (kind, mut builders) in self.of.into_iter().enumerate() {
            // Where all is there, a phase without messages lacks its own.
            if !builders.is_empty() && (kind == 0 || kind == 2 && is_all) {
                builders.resize_with(segmentation.phases.len(), MatrixBuilder::default);
            }
            for (number, builder) in builders.into_iter().enumerate() {
                let Some(phase) = segmentation.phases.get(number) else { continue };
                // Earlier versions have matrices of outermost occurrences alone.
                let counts_all = rows[number] == phase.occurrences && rows[number] > 0
                    || segmentation.occurrences.is_empty();
                if !counts_all {
                    continue;
                }
                let (member, is_whole) = match kind {
                    0 => ("messages".into(), true),
                    1 => (format!("messages-{number}"), phase.occurrences == 1),
                    _ => ("window-messages".into(), is_all),
                };
                let found = builder.finish();
                if let Some([matrix, own]) = contradiction(&phase.matrix, &found, is_whole) {
                    let problem = format!(
                        "from rank {} to rank {} it has {} messages of {} bytes, `{member}` has {} of {}: the archive contradicts itself",
                        own.src.0, own.dst.0, matrix.messages, matrix.bytes, own.messages, own.bytes
                    );
                    return Err(Error::data(problem).at(format!("matrix-{number}")));
                }
            }
        }
        Ok(())
    }
}

fn builder(builders: &mut Vec<MatrixBuilder>, phase: usize) -> &mut MatrixBuilder {
    if builders.len() <= phase {
        builders.resize_with(phase + 1, MatrixBuilder::default);
    }
    &mut builders[phase]
}

/// The phase of what is posted at a time, and when its innermost occurrence ends; `None`: with the run.
fn innermost(occurrences: &[Occurrence], time_ns: u64) -> (Option<usize>, Option<u64>) {
    if occurrences.is_empty() {
        return (Some(0), None);
    }
    // Rows are in order of start; the last that has begun is the innermost.
    let begun = occurrences.partition_point(|row| row.start_ns <= time_ns);
    let Some(row) = begun.checked_sub(1).and_then(|row| occurrences.get(row)) else { return (None, None) };
    let end_ns = occurrences.get(begun).map(|next| next.start_ns);
    (row.phase.map(|phase| phase as usize), end_ns)
}

/// The first pair for which `found` is more than `matrix`, or less where it `is_whole`: its cells in both.
fn contradiction(matrix: &TrafficMatrix, found: &TrafficMatrix, is_whole: bool) -> Option<[Cell; 2]> {
    let none = |cell: Cell| Cell { messages: 0, bytes: 0, ..cell };
    let (mut expected, mut actual) = (matrix.cells().peekable(), found.cells().peekable());
    loop {
        let key = |cell: &Cell| (cell.src, cell.dst);
        let pair = match (expected.peek().map(key), actual.peek().map(key)) {
            (None, None) => return None,
            (Some(one), Some(other)) => one.min(other),
            (Some(one), None) | (None, Some(one)) => one,
        };
        let one = expected.next_if(|cell| key(cell) == pair);
        let other = actual.next_if(|cell| key(cell) == pair);
        let both = match (one, other) {
            (Some(one), Some(other)) => [one, other],
            (Some(one), None) => [one, none(one)],
            (None, Some(other)) => [none(other), other],
            (None, None) => return None,
        };
        let [one, other] = both;
        let is_more = other.messages > one.messages || other.bytes > one.bytes;
        if is_more || is_whole && (other.messages, other.bytes) != (one.messages, one.bytes) {
            return Some(both);
        }
    }
}
