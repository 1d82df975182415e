//! Changes in words and as a table for a terminal.

use std::fmt::Write;

use super::{Both, Change, Diff, changes, ratio};
use crate::number;
use crate::terminal::{aligned, printable};

/// Rows shown; the rest is in the table.
const ROWS: usize = 40;
/// A phase changed if one of its figures differs by this part at least: three digits show less.
const CHANGED: f64 = 0.001;

impl Diff<'_> {
    /// A sentence for each pair of runs, then the phases that changed, the most changed first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for sentence in self.sentences() {
            let _ = writeln!(text, "{}", printable(&sentence));
        }
        let rows = self.phase_rows();
        let all = rows.len();
        if all == 0 {
            text.push_str("No phase changed.\n");
            return text;
        }
        text.push('\n');
        let heading = ["runs", "phase", "time", "", "", "peak", "", "on"].map(String::from);
        let rows: Vec<[String; 8]> = std::iter::once(heading).chain(rows.into_iter().take(ROWS)).collect();
        aligned(&mut text, &rows, &[2, 3, 4, 5, 6]);
        if all > ROWS {
            let _ = writeln!(text, "… and {} more: -o DIR writes diff.csv", all - ROWS);
        }
        text
    }

    /// What became of each pair of runs.
    pub(super) fn sentences(&self) -> Vec<String> {
        let of_pair = |pair: &(usize, usize)| {
            let change = changes(&self.views(*pair)).into_iter().next()?;
            let mut parts = Vec::new();
            if let Some(part) = told(change.makespan_s, number::seconds) {
                parts.push(part);
            }
            if let Some(part) = told(change.utilization, number::percent) {
                parts.push(format!("peak {part}"));
            }
            Some(format!("{}: {}.", self.name(*pair), parts.join("; ")))
        };
        self.pairs.iter().filter_map(of_pair).collect()
    }

    /// Cells of the phases that changed.
    pub(super) fn phase_rows(&self) -> Vec<[String; 8]> {
        // By seconds, then by points of use: a phase that takes no time changes nothing.
        let mut rows: Vec<((f64, f64), [String; 8])> = Vec::new();
        for pair in &self.pairs {
            let views = self.views(*pair);
            for change in changes(&views).into_iter().filter(|change| change.link.is_none()) {
                let Some((job, phase)) = &change.phase else { continue };
                if weight(&change) < CHANGED {
                    continue;
                }
                let apart = |both: Both<f64>| (both[1].unwrap_or(0.0) - both[0].unwrap_or(0.0)).abs();
                let weight = (apart(change.makespan_s), apart(change.utilization));
                let place = |side: usize| {
                    let row = views[side].phases_of(*job).iter().find(|row| row.phase == *phase)?;
                    let (src, dst) = views[side].ends(row.bottleneck);
                    Some(format!("{src} → {dst}")).filter(|_| row.bottleneck.is_some())
                };
                let places = [place(0), place(1)].map(Option::unwrap_or_default);
                let jobs = views.iter().any(|view| view.run.jobs.len() > 1);
                let name = if jobs { format!("{job}: {phase}") } else { phase.clone() };
                let cell = |value: Option<f64>, text: fn(f64) -> String| value.map_or_else(String::new, text);
                let more = ratio(change.makespan_s).map(|ratio| ratio - 1.0);
                rows.push((
                    weight,
                    [
                        format!("{} → {}", change.runs[0], change.runs[1]),
                        if change.title.is_empty() { name } else { format!("{name}  {}", change.title) },
                        cell(change.makespan_s[0], number::seconds),
                        cell(change.makespan_s[1], number::seconds),
                        more.map_or_else(String::new, signed),
                        cell(change.utilization[0], number::percent),
                        cell(change.utilization[1], number::percent),
                        if places[0] == places[1] { places[0].clone() } else { places.join(", now ") },
                    ],
                ));
            }
        }
        rows.sort_by(|(a, _), (b, _)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// By how much of itself a phase changed, in time or in its peak; more than everything if only one
/// result has it.
fn weight(change: &Change) -> f64 {
    let part = |both: Both<f64>| match both {
        [None, None] => 0.0,
        [Some(first), Some(second)] => {
            (second - first).abs() / first.abs().max(second.abs()).max(f64::MIN_POSITIVE)
        }
        _ => f64::INFINITY,
    };
    part(change.makespan_s).max(part(change.utilization)).max(part(change.bytes.map(|b| Some(b? as f64))))
}

/// `290 ms → 232 ms (−20 %)`; `None` if neither is known.
fn told(both: Both<f64>, text: impl Fn(f64) -> String) -> Option<String> {
    let word = |value: Option<f64>| value.map_or_else(|| "unknown".to_string(), &text);
    if both == [None, None] {
        return None;
    }
    let change = ratio(both).map_or_else(String::new, |ratio| format!(" ({})", signed(ratio - 1.0)));
    Some(format!("{} → {}{change}", word(both[0]), word(both[1])))
}

/// `+3.2 %`, `−20 %`, `±0`.
fn signed(part: f64) -> String {
    if part.abs() < CHANGED {
        "±0".into()
    } else if part < 0.0 {
        format!("−{}", number::percent(-part))
    } else {
        format!("+{}", number::percent(part))
    }
}
