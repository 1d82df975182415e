//! What a terminal shows: the verdict, then the hot spot of every phase of every run.

use std::fmt::Write;

use crate::axes::{self, Choices};
use crate::disagreement::Disagreements;
use crate::hotspot::{HotSpot, hot_spots};
use crate::makespan::Makespan;
use crate::negligible::negligible;
use crate::number;
use crate::spread::Spreads;
use crate::terminal::{aligned, printable};
use crate::verdict::Verdict;
use crate::view::RunView;

/// Rows of phases shown; where runs have more, phases are told over all runs.
const ROWS: usize = 40;

/// Runs ranked on a screen: of more, the best ones.
const RANKED: usize = 16;

/// Characters of a cell shown.
const WIDEST: usize = 60;

/// Columns of the summary; the fourth has no heading and says how often a phase occurs.
const COLUMNS: usize = 8;
const HEADING: [&str; COLUMNS] = ["run", "choice", "phase", "", "time", "hottest link", "load", "used"];

/// Columns of numbers.
const NUMBERS: [usize; 5] = [0, 3, 4, 6, 7];

/// A row; the column `choice` is filled when all runs are known.
type Row = [String; COLUMNS];

/// Collects the rows of [`hot_spots`] run by run, and what there is to say of all.
#[derive(Debug, Default)]
pub struct Summary {
    runs: Vec<RunRows>,
    /// Rows of all runs.
    total: usize,
    verdict: Verdict,
    disagreements: Disagreements,
    spreads: Spreads,
}

/// What is shown of a run.
#[derive(Debug)]
struct RunRows {
    choices: Choices,
    /// What runs are ranked by: seconds if the model gives them, else load / capacity.
    rank: f64,
    /// Simulated time of the run; `None` if the model takes the recorded one.
    seconds: Option<f64>,
    /// The hottest phase.
    peak: Option<Row>,
    /// All phases that count; left out where there are too many runs to show them.
    rows: Vec<Row>,
}

impl Summary {
    /// Takes note of a run.
    pub fn run(&mut self, view: &RunView<'_>) {
        self.disagreements.run(view);
        self.verdict.run(view);
        let spots = hot_spots(view);
        let again = |spot: &HotSpot| {
            spots.iter().any(|s| s.phase.is_some() && s.link == spot.link && s.congestion >= spot.congestion)
        };
        // All jobs together are worth a line where they are hotter than each alone.
        let shown: Vec<&HotSpot> = spots.iter().filter(|spot| spot.phase.is_some() || !again(spot)).collect();
        let folded = negligible(&shown);
        for (spot, folded) in shown.iter().zip(&folded) {
            self.spreads.spot(view, spot, *folded);
        }
        let kept = shown.iter().zip(&folded).filter(|(_, folded)| !**folded).map(|(spot, _)| *spot);
        let mut rows: Vec<Row> = kept.clone().map(|spot| row(view, spot)).collect();
        let count = folded.iter().filter(|folded| **folded).count();
        if count > 0 {
            let mut row = Row::default();
            row[0] = view.run.labels.run.to_string();
            row[2] = format!("{count} others, under 1 % of bytes and time together");
            rows.push(row);
        }
        let peak = kept.reduce(|a, b| if b.congestion > a.congestion { b } else { a });
        let mut peak_row = peak.map(|spot| row(view, spot));
        let makespan = Makespan::of_run(view);
        if let (Some(row), Some(makespan)) = (&mut peak_row, makespan) {
            row[4] = makespan.text();
        }
        let is_timed = view.run.labels.model != "traffic";
        let seconds = makespan.filter(|_| is_timed).map(|makespan| makespan.seconds);
        self.total += rows.len();
        self.runs.push(RunRows {
            choices: axes::choices(&view.run.labels),
            rank: seconds.or(peak.map(|spot| spot.congestion)).unwrap_or(f64::INFINITY),
            seconds,
            peak: peak_row,
            rows: if self.total > ROWS { Vec::new() } else { rows },
        });
    }

    /// The text: what there is to say, then the table, aligned; lines ended.
    pub fn text(&self) -> String {
        if self.runs.iter().all(|run| run.peak.is_none()) {
            return "No phase put a load on the network.\n".into();
        }
        let mut text = String::new();
        for sentence in self.verdict.sentences() {
            let _ = writeln!(text, "{}", printable(&sentence));
        }
        text.push('\n');
        let differ = axes::differing(&self.runs.iter().map(|run| &run.choices).collect::<Vec<_>>());
        let told = |run: &RunRows, row: &Row| {
            let mut row = row.clone();
            row[1] = axes::told_by(&run.choices, &differ);
            row.map(|cell| shown(&cell))
        };
        if self.runs.len() > 1 {
            self.ranking(&mut text, &told);
            text.push('\n');
        }
        if self.runs.len() > RANKED {
            self.effects(&mut text);
        }
        if self.total <= ROWS {
            let all = self.runs.iter().flat_map(|run| run.rows.iter().map(move |row| told(run, row)));
            let rows: Vec<Row> = std::iter::once(HEADING.map(String::from)).chain(all).collect();
            aligned(&mut text, &rows, &NUMBERS);
        } else {
            self.phases(&mut text, &differ);
        }
        for sentence in self.disagreements.sentences() {
            text.push_str(&printable(&sentence));
            text.push('\n');
        }
        text
    }
}

impl Summary {
    /// Appends the runs with their hottest phases, the best run first.
    fn ranking(&self, text: &mut String, told: &impl Fn(&RunRows, &Row) -> Row) {
        let mut heading = HEADING.map(String::from);
        heading[2] = "hottest phase".into();
        heading[3] = "speed-up".into();
        // Times of another model are another claim.
        let model = |run: &RunRows| axes::MODEL.map(|axis| run.choices[axis].clone());
        let first = self.runs.first();
        let mut order: Vec<&RunRows> = self.runs.iter().collect();
        order.sort_by(|a, b| a.rank.total_cmp(&b.rank));
        let rows = order.into_iter().filter_map(|run| {
            let mut row = told(run, run.peak.as_ref()?);
            let first_s = first.filter(|first| model(first) == model(run)).and_then(|first| first.seconds);
            let speed_up = first_s.zip(run.seconds).filter(|(_, own)| *own > 0.0);
            row[3] = speed_up.map_or_else(String::new, |(first, own)| number::significant(first / own));
            Some(row)
        });
        let rows: Vec<Row> = std::iter::once(heading).chain(rows.take(RANKED)).collect();
        aligned(text, &rows, &NUMBERS);
        if self.runs.len() > RANKED {
            let _ = writeln!(text, "… and {} more runs: --table runs, or -o DIR", self.runs.len() - RANKED);
        }
    }

    /// Appends the alternatives of each axis beside each other, and a blank line.
    fn effects(&self, text: &mut String) {
        for (model, is_time, effects) in self.verdict.effects() {
            let above = format!("median {} above best", if is_time { "time" } else { "peak" });
            let mut rows = vec![["axis".into(), "choice".into(), "best in".into(), above]];
            for effect in &effects {
                rows.extend(effect.alternatives.iter().map(|own| {
                    [
                        effect.name().into(),
                        shown(&own.choice),
                        format!("{} of {}", own.wins, effect.comparisons),
                        own.above_best_text(),
                    ]
                }));
            }
            if self.verdict.has_several_models() {
                let _ = writeln!(text, "By {}:", printable(&model));
            }
            aligned(text, &rows, &[2, 3]);
            text.push('\n');
        }
    }

    /// Appends the phases over all runs.
    fn phases(&self, text: &mut String, differ: &[usize]) {
        let heading = ["phase", "time", "used", "hottest link", "best choice"].map(String::from);
        let rows = self.spreads.rows(differ).into_iter().map(|row| row.map(|cell| shown(&cell)));
        let rows: Vec<[String; 5]> = std::iter::once(heading).chain(rows).collect();
        aligned(text, &rows[..rows.len().min(ROWS + 1)], &[1, 2]);
        if rows.len() > ROWS + 1 {
            let _ = writeln!(text, "… and {} more phases", rows.len() - ROWS - 1);
        }
        let _ = writeln!(text, "Each phase of each run, {} rows: --table phases, or -o DIR", self.total);
    }
}

fn row(view: &RunView<'_>, spot: &HotSpot) -> Row {
    let (link, load) = match spot.link {
        Some(link) => {
            let (_, src, dst) = view.link(link);
            (format!("{src} → {dst}"), number::load(spot.load, spot.rates))
        }
        None => ("none".into(), String::new()),
    };
    let phase = spot.phase.as_deref().unwrap_or("all");
    [
        view.run.labels.run.to_string(),
        String::new(),
        if spot.title.is_empty() { phase.to_string() } else { format!("{phase}  {}", spot.title) },
        spot.occurrences.map_or_else(String::new, |n| format!("{n} ×")),
        spot.makespan.map_or_else(String::new, Makespan::text),
        link,
        load,
        spot.utilization.map_or_else(String::new, number::percent),
    ]
}

/// The beginning of a cell.
fn shown(cell: &str) -> String {
    let cell = printable(cell);
    if cell.chars().count() <= WIDEST { cell } else { cell.chars().take(WIDEST - 1).chain(['…']).collect() }
}
