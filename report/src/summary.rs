//! What a terminal shows: the hot spot of every phase of every run.

use std::fmt::Write;

use crate::axes::{self, Choices};
use crate::disagreement::Disagreements;
use crate::hotspot::{HotSpot, hot_spots};
use crate::makespan::Makespan;
use crate::number;
use crate::view::RunView;

/// Rows shown; the rest is in the tables.
const ROWS: usize = 40;

/// Characters of a cell shown.
const WIDEST: usize = 60;

/// Columns of the summary; the fourth has no heading and says how often a phase occurs.
const COLUMNS: usize = 8;
const HEADING: [&str; COLUMNS] = ["run", "choice", "phase", "", "time", "hottest link", "load", "used"];

/// Collects the rows of [`hot_spots`] run by run.
#[derive(Debug, Default)]
pub struct Summary {
    /// The choices of a row's run and its cells; the column `choice` is filled when all runs are
    /// known.
    rows: Vec<(Choices, [String; COLUMNS])>,
    total: usize,
    disagreements: Disagreements,
}

impl Summary {
    /// Takes note of a run.
    pub fn run(&mut self, view: &RunView<'_>) {
        self.disagreements.run(view);
        let spots = hot_spots(view);
        let again = |spot: &HotSpot| {
            spots.iter().any(|s| s.phase.is_some() && s.link == spot.link && s.congestion >= spot.congestion)
        };
        // All jobs together are worth a line where they are hotter than each alone.
        for spot in spots.iter().filter(|spot| spot.phase.is_some() || !again(spot)).cloned() {
            self.total += 1;
            if self.rows.len() == ROWS {
                continue;
            }
            let (link, load) = match spot.link {
                Some(link) => {
                    let (_, src, dst) = view.link(link);
                    (format!("{src} → {dst}"), number::load(spot.load, spot.rates))
                }
                None => ("none".into(), String::new()),
            };
            let cells = [
                view.run.labels.run.to_string(),
                String::new(),
                spot.phase.unwrap_or_else(|| "all".into()),
                spot.occurrences.map_or_else(String::new, |n| format!("{n} ×")),
                spot.makespan.map_or_else(String::new, Makespan::text),
                link,
                load,
                spot.utilization.map_or_else(String::new, number::percent),
            ];
            self.rows.push((axes::choices(&view.run.labels), cells));
        }
    }

    /// The text, aligned, lines ended.
    pub fn text(&self) -> String {
        if self.rows.is_empty() {
            return "No phase put a load on the network.\n".into();
        }
        let differ = axes::differing(&self.rows.iter().map(|(choices, _)| choices).collect::<Vec<_>>());
        let mut rows = vec![HEADING.map(String::from)];
        for (choices, cells) in &self.rows {
            let mut cells = cells.clone();
            cells[1] = axes::told_by(choices, &differ);
            rows.push(cells.map(|cell| shown(&cell)));
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; COLUMNS] = std::array::from_fn(width);
        let used: Vec<usize> =
            (0..COLUMNS).filter(|c| rows[1..].iter().any(|row| !row[*c].is_empty())).collect();
        let mut text = String::new();
        for row in &rows {
            let mut line = String::new();
            for column in &used {
                let (cell, width) = (&row[*column], widths[*column]);
                // Numbers to the right, words to the left.
                let _ = match column {
                    0 | 3 | 4 | 6 | 7 => write!(line, "{cell:>width$}  "),
                    _ => write!(line, "{cell:<width$}  "),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if self.total > self.rows.len() {
            let _ = writeln!(text, "… and {} more: --table phases, or -o DIR", self.total - self.rows.len());
        }
        for sentence in self.disagreements.sentences() {
            text.push_str(&printable(&sentence));
            text.push('\n');
        }
        text
    }
}

/// A terminal obeys control characters; a name has no business commanding it.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The beginning of a cell.
fn shown(cell: &str) -> String {
    let cell = printable(cell);
    if cell.chars().count() <= WIDEST { cell } else { cell.chars().take(WIDEST - 1).chain(['…']).collect() }
}
