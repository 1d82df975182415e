//! Charts that compare runs: those that differ on one axis only share a chart, the router's if
//! routers differ.

use std::fmt::Write;

use phaseflow_simulate::result::Network;

use super::chart::{COLOURS, Chart, Scale, ends, legend};
use super::hotspots::measure;
use super::kept::{KeptRun, KeptSpot};
use super::map::Layout;
use super::text::{counted, escape, shortened};
use crate::axes::{self, AXES};

/// Lines a chart: more cannot be told apart.
const LINES: usize = COLOURS;

/// Maps a group, and groups with maps.
const MAPS: usize = 4;
const MAPPED: usize = 6;

/// Groups drawn.
const GROUPS: usize = 50;

/// Axes in the order in which comparing them is of interest.
const INTEREST: [usize; AXES.len()] = [4, 3, 2, 8, 7, 6, 5, 1, 0, 9];

/// All groups, the first one open.
pub(super) fn comparisons(runs: &[KeptRun], differ: &[usize], networks: &[Network]) -> String {
    let axis = INTEREST.into_iter().find(|axis| differ.contains(axis));
    let others: Vec<usize> = differ.iter().copied().filter(|other| Some(*other) != axis).collect();
    let mut groups: Vec<(String, Vec<&KeptRun>)> = Vec::new();
    for run in runs {
        let named = others.iter().map(|axis| format!("{} {}", AXES[*axis], run.choices[*axis]));
        let name = named.collect::<Vec<_>>().join(" · ");
        match groups.iter_mut().find(|group| group.0 == name) {
            Some(group) => group.1.push(run),
            None => groups.push((name, vec![run])),
        }
    }
    let mut html = String::new();
    for (number, (name, members)) in groups.iter().take(GROUPS).enumerate() {
        let heading = match (name.is_empty(), axis) {
            (true, Some(axis)) => format!("Comparing {}s", AXES[axis]),
            (true, None) => "The run".into(),
            (false, _) => escape(&shortened(name, 120)),
        };
        let open = if number == 0 { " open" } else { "" };
        let count = counted(members.len(), "run");
        let _ = write!(html, "<details{open}><summary>{heading} <small>{count}</small></summary>");
        html.push_str(&group(members, axis, networks, number < MAPPED));
        html.push_str("</details>");
    }
    if groups.len() > GROUPS {
        let rest = counted(groups.len() - GROUPS, "further group");
        let _ = write!(html, "<p>{rest} of runs in <a href=\"links.csv\">links.csv</a>.</p>");
    }
    html
}

fn group(members: &[&KeptRun], axis: Option<usize>, networks: &[Network], mapped: bool) -> String {
    let drawn: Vec<(usize, &KeptRun)> = members.iter().copied().take(LINES).enumerate().collect();
    let names: Vec<(usize, String)> = drawn
        .iter()
        .map(|(colour, run)| {
            let choice = axis.map_or(String::new(), |axis| format!("{} · ", run.choices[axis]));
            (*colour, format!("{choice}run {}", run.labels.run))
        })
        .collect();
    let mut html = legend(names.iter().map(|(colour, name)| (*colour, name.as_str())));
    if members.len() > LINES {
        let _ = write!(html, "<p>{} not drawn.</p>", counted(members.len() - LINES, "further run"));
    }
    if mapped {
        html.push_str(&maps(&drawn, &names, networks));
    }
    html.push_str("<h4>Links of each phase, from the most loaded to the least</h4><div class=\"figures\">");
    charts(&drawn).iter().for_each(|(_, figure)| html.push_str(figure));
    html.push_str("</div>");
    html.push_str(&over_time(&drawn));
    html
}

/// The name of a phase, and its chart.
type Named = (String, String);

/// For each phase a chart of the loads of its links, a line a run; with the name of the phase.
fn charts(drawn: &[(usize, &KeptRun)]) -> Vec<Named> {
    let spots = || drawn.iter().flat_map(|(_, run)| &run.spots);
    let mut phases: Vec<(Option<usize>, Option<&str>)> = Vec::new();
    for kept in spots().filter(|kept| !kept.curve.is_empty()) {
        let phase = (kept.spot.workload, kept.spot.phase.as_deref());
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    let shares = spots().all(|kept| kept.spot.utilization.is_some());
    let all = ends(spots().flat_map(|kept| &kept.curve));
    let mut charts = Vec::new();
    for phase in phases {
        let is_of = |kept: &&KeptSpot| (kept.spot.workload, kept.spot.phase.as_deref()) == phase;
        let lines = drawn
            .iter()
            .filter_map(|(colour, run)| Some((*colour, run.spots.iter().find(is_of)?.curve.as_slice())));
        let title = spots().find(is_of).map_or_else(String::new, |kept| shortened(&kept.spot.name(), 60));
        let chart = Chart {
            title: &title,
            x_label: "links, most loaded first",
            x: Scale::Plain,
            y: if shares { Scale::Share } else { Scale::Bytes },
            lines: lines.collect(),
            ends: all,
        };
        let figure = chart.figure();
        charts.push((title, figure));
    }
    charts
}

/// The charts of [`comparisons`] for the first runs, each with the name of its phase, and the names
/// of their lines by colour.
pub(super) fn link_loads(runs: &[KeptRun], differ: &[usize]) -> (Vec<Named>, Vec<(usize, String)>) {
    let drawn: Vec<(usize, &KeptRun)> = runs.iter().take(LINES).enumerate().collect();
    let name = |run: &KeptRun| match axes::told_by(&run.choices, differ) {
        told if told.is_empty() => format!("run {}", run.labels.run),
        told => told,
    };
    let names = drawn.iter().map(|(colour, run)| (*colour, name(run))).collect();
    (charts(&drawn), names)
}

/// The hottest phase of the group on the network, run by run, where the network is one that can be
/// drawn.
fn maps(drawn: &[(usize, &KeptRun)], names: &[(usize, String)], networks: &[Network]) -> String {
    let spots = || drawn.iter().flat_map(|(_, run)| &run.spots).filter(|kept| !kept.congestion.is_empty());
    let Some(hottest) = spots().reduce(|a, b| if b.spot.congestion > a.spot.congestion { b } else { a })
    else {
        return String::new();
    };
    let of = |kept: &&KeptSpot| {
        (kept.spot.workload, &kept.spot.phase) == (hottest.spot.workload, &hottest.spot.phase)
    };
    let chosen =
        || drawn.iter().filter_map(|(colour, run)| Some((*colour, run.topology, run.spots.iter().find(of)?)));
    let most =
        chosen().flat_map(|(_, _, kept)| &kept.congestion).fold(0.0, |most: f64, load| most.max(*load));
    let mut figures = String::new();
    for (colour, topology, kept) in chosen().take(MAPS) {
        if let Some(layout) = Layout::new(&networks[topology]) {
            let title = format!("{}: {} at {}", names[colour].1, shortened(&kept.link, 60), measure(kept));
            figures.push_str(&layout.figure(&title, &networks[topology], &kept.congestion, most));
        }
    }
    if figures.is_empty() {
        return figures;
    }
    let phase = shortened(&hottest.spot.name(), 80);
    format!("<h4>The network under {}</h4><div class=\"figures\">{figures}</div>", escape(&phase))
}

fn over_time(drawn: &[(usize, &KeptRun)]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for series in drawn.iter().flat_map(|(_, run)| &run.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let mut html = String::from("<h4>Over time</h4><div class=\"figures\">");
    for name in names {
        let lines = drawn.iter().filter_map(|(colour, run)| {
            Some((*colour, run.series.iter().find(|series| series.name == name)?.points.as_slice()))
        });
        let lines: Vec<_> = lines.collect();
        let title = shortened(&name.replace('_', " "), 60);
        let chart = Chart {
            title: &title,
            x_label: "time",
            x: Scale::Seconds,
            y: Scale::Plain,
            ends: ends(lines.iter().flat_map(|(_, points)| *points)),
            lines,
        };
        html.push_str(&chart.figure());
    }
    html.push_str("</div>");
    html
}
