//! Series of runs over time: runs that differ on one axis only share a chart, the router's if
//! routers differ.

use maud::{Markup, html};

use super::chart::{COLOURS, Chart, Scale, ends, legend};
use super::kept::KeptRun;
use super::text::{counted, shortened};
use crate::axes::AXES;

/// Lines a chart: more cannot be told apart.
const LINES: usize = COLOURS;

/// Groups drawn.
const GROUPS: usize = 50;

/// Axes in the order in which comparing them is of interest.
const INTEREST: [usize; AXES.len()] = [4, 3, 2, 8, 7, 6, 5, 1, 0, 9];

/// Runs that differ on one axis only.
struct Group<'r> {
    name: String,
    runs: Vec<&'r KeptRun>,
}

/// All groups that have series, the first one open.
pub(super) fn series(runs: &[KeptRun], differ: &[usize]) -> Markup {
    let axis = INTEREST.into_iter().find(|axis| differ.contains(axis));
    let others: Vec<usize> = differ.iter().copied().filter(|other| Some(*other) != axis).collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for run in runs.iter().filter(|run| !run.series.is_empty()) {
        let named = others.iter().map(|axis| format!("{} {}", AXES[*axis], run.choices[*axis]));
        let name = named.collect::<Vec<_>>().join(" · ");
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { name, runs: vec![run] }),
        }
    }
    html! { @if !groups.is_empty() { section {
        h2 { "Over time" }
        @for (number, group) in groups.iter().take(GROUPS).enumerate() {
            details open[number == 0] {
                summary {
                    @match (group.name.is_empty(), axis) {
                        (true, Some(axis)) => { "Comparing " (AXES[axis]) "s" }
                        (true, None) => { "The run" }
                        (false, _) => { (shortened(&group.name, 120)) }
                    }
                    " " small { (counted(group.runs.len(), "run")) }
                }
                (charts(&group.runs, axis))
            }
        }
        @if groups.len() > GROUPS { p { (counted(groups.len() - GROUPS, "further group")) " of runs in " a href="series.csv" { "series.csv" } "." } }
    } } }
}

fn charts(members: &[&KeptRun], axis: Option<usize>) -> Markup {
    let drawn = &members[..members.len().min(LINES)];
    let line = |run: &KeptRun| {
        let choice = axis.map_or(String::new(), |axis| format!("{} · ", run.choices[axis]));
        format!("{choice}run {}", run.labels.run)
    };
    let lines: Vec<String> = drawn.iter().map(|run| line(run)).collect();
    let mut names: Vec<&str> = Vec::new();
    for series in drawn.iter().flat_map(|run| &run.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    html! {
        (legend(lines.iter().enumerate().map(|(colour, name)| (colour, name.as_str()))))
        @if members.len() > LINES { p { (counted(members.len() - LINES, "further run")) " not drawn." } }
        div.figures { @for name in names { (chart(drawn, name).figure()) } }
    }
}

fn chart<'r>(drawn: &[&'r KeptRun], name: &'r str) -> Chart<'r> {
    let of = |(colour, run): (usize, &&'r KeptRun)| {
        Some((colour, run.series.iter().find(|series| series.name == name)?.points.as_slice()))
    };
    let lines: Vec<_> = drawn.iter().enumerate().filter_map(of).collect();
    Chart {
        title: shortened(&name.replace('_', " "), 60),
        x_label: "time",
        x: Scale::Seconds,
        y: Scale::Plain,
        ends: ends(lines.iter().flat_map(|(_, points)| *points)),
        lines,
    }
}
