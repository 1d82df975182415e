//! Whether the messages in a phase archive are those of its matrices.
//!
//! Where an archive has the messages of the whole run, those of each phase have to be what its
//! matrix says, pair by pair. Which phase a message is of is told by how many each occurrence has:
//! at one moment an occurrence can end and the next begin. Where it has a part of the run, no pair
//! may send more in it than in all matrices. Memory: as much again as the matrices.

use phaseflow_collect::trace::MessageBlock;
use phaseflow_collect::{Cell, Error, MatrixBuilder, Result, TrafficMatrix};

use crate::archive::contents::{Chosen, Place};
use crate::segmentation::Occurrence;

/// What an archive tells of itself before its messages come.
pub(crate) struct Told<'a> {
    /// All occurrences.
    pub(crate) occurrences: &'a [Occurrence],
    /// True if its only window is as long as the run.
    pub(crate) window_is_all: bool,
}

/// What was sent, by where the archive has it.
#[derive(Default)]
pub(crate) struct Sent {
    /// In the whole run, by phase.
    whole: Vec<MatrixBuilder>,
    /// Where the whole run is.
    whole_in: Option<&'static str>,
    /// The row that the next message of the run is of, and how many of it have come.
    row: usize,
    taken: u64,
    /// In representatives, and in windows that are a part of the run.
    parts: [MatrixBuilder; 2],
}

impl Sent {
    /// Adds messages in the order of the trace.
    pub(crate) fn add(&mut self, place: Place, block: &MessageBlock, told: &Told<'_>) -> Result<()> {
        let columns = block.columns();
        let part = match place {
            Place::Run => None,
            Place::Window(_) => (!told.window_is_all).then_some(1),
            Place::Phase(_) => Some(0),
        };
        if let Some(part) = part {
            return self.parts[part].add_messages(&columns.src, &columns.dst, &columns.bytes);
        }
        self.whole_in = Some(if matches!(place, Place::Run) { "messages" } else { "window-messages" });
        let rows = columns.src.len();
        let mut from = 0;
        while from < rows {
            let (phase, left) = self.next_row(told.occurrences);
            let to = left.map_or(rows, |left| rows.min(from.saturating_add(left as usize))); // 64 bits
            if let Some(phase) = phase {
                if self.whole.len() <= phase {
                    self.whole.resize_with(phase + 1, MatrixBuilder::default);
                }
                self.whole[phase].add_messages(
                    &columns.src[from..to],
                    &columns.dst[from..to],
                    &columns.bytes[from..to],
                )?;
            }
            self.taken += (to - from) as u64;
            from = to;
        }
        Ok(())
    }

    /// The phase that the next message is of, and how many more of that occurrence there are;
    /// `None`: without end.
    fn next_row(&mut self, occurrences: &[Occurrence]) -> (Option<usize>, Option<u64>) {
        if occurrences.is_empty() {
            return (Some(0), None);
        }
        while let Some(row) = occurrences.get(self.row) {
            // What deeper rows hold is counted there.
            let is_leaf = occurrences.get(self.row + 1).is_none_or(|next| next.depth <= row.depth);
            if is_leaf && self.taken < row.messages {
                return (row.phase.map(|phase| phase as usize), Some(row.messages - self.taken));
            }
            (self.row, self.taken) = (self.row + 1, 0);
        }
        // More than all occurrences have: with the last phase, whose matrix they are not in.
        (occurrences.iter().rev().find_map(|row| row.phase).map(|phase| phase as usize), None)
    }

    /// Compares with the matrices.
    ///
    /// # Errors
    /// The first pair of which there is something else than its matrix says, or in a part more than
    /// in all matrices.
    pub(crate) fn check(self, chosen: &Chosen) -> Result<()> {
        let segmentation = &chosen.segmentation;
        let mut rows = vec![0; segmentation.phases.len()];
        for phase in segmentation.leaves().filter_map(|(_, row)| row.phase) {
            rows[phase as usize] += 1;
        }
        // Earlier versions have matrices of outermost occurrences alone.
        let is_counted = |number: usize| {
            segmentation.occurrences.is_empty()
                || rows[number] > 0 && rows[number] == segmentation.phases[number].occurrences
        };
        if let Some(whole_in) = self.whole_in {
            let mut whole: Vec<TrafficMatrix> = self.whole.into_iter().map(MatrixBuilder::finish).collect();
            whole.resize_with(segmentation.phases.len().max(whole.len()), TrafficMatrix::default);
            for (number, phase) in
                segmentation.phases.iter().enumerate().filter(|(number, _)| is_counted(*number))
            {
                if let Some(cells) = contradiction(&phase.matrix, &whole[number], true) {
                    return Err(told_twice(&cells, "it has", whole_in).at(format!("matrix-{number}")));
                }
            }
        }
        // What is sent while a run is idle is in no matrix.
        let is_known = |row: &Occurrence| row.phase.is_some() || row.messages == 0;
        if !segmentation.leaves().all(|(_, row)| is_known(row)) {
            return Ok(());
        }
        let mut all = MatrixBuilder::default();
        let leaves = segmentation.phases.iter().enumerate().filter(|(number, _)| rows[*number] > 0);
        leaves.flat_map(|(_, phase)| phase.matrix.cells()).try_for_each(|cell| all.add(cell))?;
        let all = all.finish();
        for (part, name) in self.parts.into_iter().zip(["messages-N", "window-messages-N"]) {
            if let Some(cells) = contradiction(&all, &part.finish(), false) {
                return Err(told_twice(&cells, "all of them have", name).at("matrix-N"));
            }
        }
        Ok(())
    }
}

fn told_twice([matrix, own]: &[Cell; 2], has: &str, member: &str) -> Error {
    Error::data(format!(
        "from rank {} to rank {} {has} {} messages of {} bytes, `{member}` has {} of {}: the archive contradicts itself",
        own.src.0, own.dst.0, matrix.messages, matrix.bytes, own.messages, own.bytes
    ))
}

/// The first pair for which `found` is more than `matrix`, or less where it `is_whole`: its cells
/// in both.
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
