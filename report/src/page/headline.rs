//! The answer first: the hottest link of all runs, the choice that keeps it coolest, and on what
//! that was found.

use std::fmt::Write;

use phaseflow_simulate::result::Network;
use phaseflow_simulate::workload::Workload;

use super::hotspots::measure;
use super::kept::{KeptRun, KeptSpot};
use super::text::{counted, escape, shortened};
use crate::axes;
use crate::number;

/// Tiles with one sentence each.
pub(super) fn headline(
    runs: &[KeptRun],
    differ: &[usize],
    networks: &[Network],
    workloads: &[Workload],
) -> String {
    let mut html = String::from("<div class=\"tiles\">");
    let peaks: Vec<(&KeptRun, &KeptSpot)> = runs.iter().filter_map(|run| Some((run, peak(run)?))).collect();
    if let Some((run, spot)) = hottest(&peaks) {
        let _ = write!(
            html,
            "<div class=\"tile\"><h2>Hottest link</h2><p class=\"big\">{}</p><p>{}{}: {}{}</p></div>",
            escape(&shortened(&spot.link, 40)),
            phase(spot),
            choice(run, differ),
            number::load(spot.spot.load, spot.spot.rates),
            spot.spot
                .utilization
                .map_or_else(String::new, |u| format!(", {} of its capacity", number::percent(u))),
        );
        html.push_str(&coolest(&peaks, spot, differ));
    }
    for network in networks.iter().take(3) {
        let hosts = network.nodes.iter().filter(|node| node.slots.is_some()).count();
        let _ = write!(
            html,
            "<div class=\"tile\"><h2>Network</h2><p class=\"big\">{}</p><p>{}, {}, {}</p></div>",
            escape(&shortened(&network.label, 40)),
            counted(hosts, "host"),
            counted(network.nodes.len() - hosts, "switch").replace("switchs", "switches"),
            counted(network.links.len(), "directed link"),
        );
    }
    for workload in workloads.iter().take(3) {
        let header = &workload.segmentation.header;
        let _ = write!(
            html,
            "<div class=\"tile\"><h2>Workload</h2><p class=\"big\">{}</p><p>{}, {}{}</p></div>",
            escape(&shortened(&workload.name, 40)),
            counted(header.ranks as usize, "rank"),
            counted(workload.segmentation.phases.len(), "phase"),
            header
                .duration_ns
                .map_or_else(String::new, |ns| format!(", {}", number::seconds(ns as f64 * 1e-9))),
        );
    }
    html.push_str("</div>");
    html
}

/// The run whose highest peak is lowest, where runs differ. An averaged run hides its peaks and is
/// no choice that anyone could make: it counts only among its like.
fn coolest(peaks: &[(&KeptRun, &KeptSpot)], hottest: &KeptSpot, differ: &[usize]) -> String {
    let lowest =
        peaks.iter().copied().reduce(|a, b| if b.1.spot.congestion < a.1.spot.congestion { b } else { a });
    let Some((run, spot)) = lowest.filter(|(_, spot)| spot.spot.congestion < hottest.spot.congestion) else {
        return String::new();
    };
    let less = 1.0 - spot.spot.congestion / hottest.spot.congestion;
    format!(
        "<div class=\"tile\"><h2>Lowest peak</h2><p class=\"big\">{}</p><p>run {}: {} on {}, {} less than the hottest</p></div>",
        escape(&shortened(&axes::told_by(&run.choices, differ), 60)),
        run.labels.run,
        measure(spot),
        escape(&shortened(&spot.link, 40)),
        number::percent(less),
    )
}

/// Number of the workload and name of the phase that loads a link most in any run.
pub(super) fn hottest_phase(runs: &[KeptRun]) -> Option<(usize, &str)> {
    let spots = runs.iter().flat_map(|run| &run.spots).map(|kept| &kept.spot);
    let named = spots.filter_map(|spot| Some((spot.congestion, (spot.workload?, spot.phase.as_deref()?))));
    named.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|hottest| hottest.1)
}

/// The hottest of a run's hot spots.
fn peak(run: &KeptRun) -> Option<&KeptSpot> {
    let spots = run.spots.iter().filter(|kept| kept.spot.link.is_some());
    spots.reduce(|a, b| if b.spot.congestion > a.spot.congestion { b } else { a })
}

fn hottest<'r>(peaks: &[(&'r KeptRun, &'r KeptSpot)]) -> Option<(&'r KeptRun, &'r KeptSpot)> {
    peaks.iter().copied().reduce(|a, b| if b.1.spot.congestion > a.1.spot.congestion { b } else { a })
}

fn phase(spot: &KeptSpot) -> String {
    escape(&shortened(&spot.spot.name(), 80))
}

fn choice(run: &KeptRun, differ: &[usize]) -> String {
    let told = axes::told_by(&run.choices, differ);
    if told.is_empty() { told } else { format!(" under {}", escape(&shortened(&told, 80))) }
}
