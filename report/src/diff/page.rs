//! Changes as a page: one file, nothing outside of it, no script.

use maud::html;

use super::{Diff, changes};
use crate::number;
use crate::page::{POLICY, document};

/// Rows of each table.
const ROWS: usize = 500;

impl Diff<'_> {
    /// The page: a sentence for each pair of runs, phases that changed, links that changed most.
    pub fn html(&self) -> String {
        let phases = self.phase_rows();
        let mut links: Vec<(f64, [String; 6])> = Vec::new();
        for pair in &self.pairs {
            for change in changes(&self.views(*pair)) {
                let (Some((src, dst)), Some((_, phase))) = (&change.link, &change.phase) else { continue };
                let [Some(before), Some(after)] = change.utilization else { continue };
                let cells = [
                    format!("{} → {}", change.runs[0], change.runs[1]),
                    if change.title.is_empty() {
                        phase.clone()
                    } else {
                        format!("{phase} ({})", change.title)
                    },
                    format!("{src} → {dst}"),
                    number::percent(before),
                    number::percent(after),
                    format!("{:+.1}", (after - before) * 100.0),
                ];
                links.push(((after - before).abs(), cells));
            }
        }
        links.sort_by(|a, b| b.0.total_cmp(&a.0));
        let body = html! { main {
                    header { h1 { "What changed" } }
                    ul.verdict { @for sentence in self.sentences() { li { (sentence) } } }
                    @for note in &self.notes { p.note { (note) } }
                    section {
                        h2 { "Phases" }
                        @if phases.is_empty() { p { "No phase changed." } } @else {
                            div.wide tabindex="0" { table {
                                caption { "Phases that changed, the most changed first" }
                                thead { tr { @for name in ["runs", "phase", "time", "now", "", "peak", "now", "on"] { th scope="col" { (name) } } } }
                                tbody { @for row in phases.iter().take(ROWS) { tr { @for cell in row { td { (cell) } } } } }
                            } }
                        }
                    }
                    section {
                        h2 { "Links" }
                        @if links.is_empty() { p { "No link is used more or less than before." } } @else {
                            div.wide tabindex="0" { table {
                                caption { "Links whose use changed most" }
                                thead { tr { @for name in ["runs", "phase", "link", "used", "now", "points"] { th scope="col" { (name) } } } }
                                tbody { @for (_, row) in links.iter().take(ROWS) { tr { @for cell in row { td { (cell) } } } } }
                            } }
                        }
                    }
                    p { "All of it: " a href="diff.csv" { "diff.csv" } "; graphs of each phase: graphml/." }
        } };
        document("PhaseFlow: what changed", POLICY, &body)
    }
}
