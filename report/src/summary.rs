//! What a terminal shows: the hot spot of every phase of every run.

use std::fmt::Write;

use crate::hotspot::hot_spots;
use crate::number;
use crate::view::RunView;

/// Rows shown; the rest is in the tables.
const ROWS: usize = 40;

/// Collects the rows of [`hot_spots`] run by run.
#[derive(Debug, Default)]
pub struct Summary {
    rows: Vec<[String; 7]>,
    labels: Vec<[String; 8]>,
    total: usize,
}

/// Axes of choice, as a table's heading and from the labels of a run.
fn axes(view: &RunView<'_>) -> [String; 8] {
    let labels = view.run.labels.clone();
    [
        labels.topology,
        labels.scheduler,
        labels.host_selector,
        labels.process_mapper,
        labels.router,
        labels.transport,
        labels.collective,
        labels.phases,
    ]
}

impl Summary {
    /// Takes note of a run.
    pub fn run(&mut self, view: &RunView<'_>) {
        for spot in hot_spots(view) {
            self.total += 1;
            if self.rows.len() == ROWS {
                continue;
            }
            let link = spot.link.map_or("–".into(), |link| {
                let (_, src, dst) = view.link(link);
                format!("{src} → {dst}")
            });
            let carries = spot.link.is_some();
            self.labels.push(axes(view));
            self.rows.push([
                view.run.labels.run.to_string(),
                String::new(),
                spot.phase.unwrap_or_else(|| "all".into()),
                spot.occurrences.map_or_else(String::new, |n| format!("{n} ×")),
                link,
                if carries { number::load(spot.load, spot.rates) } else { "–".into() },
                spot.utilization.map_or_else(String::new, number::percent),
            ]);
        }
    }

    /// The text, aligned, lines ended.
    pub fn text(&self) -> String {
        let mut rows = self.rows.clone();
        // Runs are told apart by the choices in which they differ.
        let differ: Vec<usize> =
            (0..8).filter(|axis| self.labels.iter().any(|l| l[*axis] != self.labels[0][*axis])).collect();
        for (row, labels) in rows.iter_mut().zip(&self.labels) {
            row[1] = differ.iter().map(|axis| labels[*axis].as_str()).collect::<Vec<_>>().join(" ");
        }
        let heading = ["run", "choice", "phase", "", "hottest link", "load", "used"].map(String::from);
        let mut text = String::new();
        if rows.is_empty() {
            text.push_str("No phase put a load on the network.\n");
            return text;
        }
        rows.insert(0, heading);
        let width =
            |column: usize| rows.iter().map(|row| shown(&row[column]).chars().count()).max().unwrap_or(0);
        let widths: [usize; 7] = std::array::from_fn(width);
        let used: Vec<usize> = (0..7).filter(|c| rows[1..].iter().any(|row| !row[*c].is_empty())).collect();
        for row in &rows {
            let mut line = String::new();
            for column in &used {
                let (cell, width) = (shown(&row[*column]), widths[*column]);
                // Numbers to the right, words to the left.
                let _ = match column {
                    0 | 3 | 5 | 6 => write!(line, "{cell:>width$}  "),
                    _ => write!(line, "{cell:<width$}  "),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if self.total > self.rows.len() {
            let _ = writeln!(text, "… and {} more: --table phases, or -o DIR", self.total - self.rows.len());
        }
        text
    }
}

/// A terminal obeys control characters; a name has no business commanding it.
fn shown(cell: &str) -> String {
    let cell: String = cell.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if cell.chars().count() > 60 { cell.chars().take(59).chain(['…']).collect() } else { cell }
}
