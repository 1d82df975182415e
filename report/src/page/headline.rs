//! The answer first: the hottest link of all runs, the choice that keeps it coolest, and on what
//! that was found.

use maud::{Markup, html};
use phaseflow_simulate::result::Network;
use phaseflow_simulate::workload::Workload;

use super::kept::{KeptRun, KeptSpot};
use super::text::{counted, shortened};
use crate::axes;
use crate::number;

/// Tiles with one sentence each.
pub(super) fn headline(
    runs: &[KeptRun],
    differ: &[usize],
    networks: &[Network],
    workloads: &[Workload],
) -> Markup {
    let peaks: Vec<(&KeptRun, &KeptSpot)> = runs.iter().filter_map(|run| Some((run, peak(run)?))).collect();
    let hottest = hottest(&peaks);
    html! { div.tiles {
        @if let Some((run, spot)) = hottest {
            (tile("Hottest link", &shortened(&spot.link, 40), &format!(
                "{}{}: {}{}",
                shortened(&spot.spot.name(), 80),
                choice(run, differ),
                number::load(spot.spot.load, spot.spot.rates),
                spot.spot.utilization.map_or_else(String::new, |u| format!(", {} of its capacity", number::percent(u))),
            )))
            (coolest(&peaks, spot, differ))
        }
        @for network in networks.iter().take(3) {
            @let hosts = network.nodes.iter().filter(|node| node.slots.is_some()).count();
            (tile("Network", &shortened(&network.label, 40), &format!(
                "{}, {}, {}",
                counted(hosts, "host"),
                counted(network.nodes.len() - hosts, "switch").replace("switchs", "switches"),
                counted(network.links.len(), "directed link"),
            )))
        }
        @for workload in workloads.iter().take(3) {
            @let header = &workload.segmentation.header;
            (tile("Workload", &shortened(&workload.name, 40), &format!(
                "{}, {}{}",
                counted(header.ranks as usize, "rank"),
                counted(workload.segmentation.phases.len(), "phase"),
                header.duration_ns.map_or_else(String::new, |ns| format!(", {}", number::seconds(ns as f64 * 1e-9))),
            )))
        }
    } }
}

fn tile(heading: &str, value: &str, about: &str) -> Markup {
    html! { div.tile { h2 { (heading) } p.big { (value) } p { (about) } } }
}

/// The run whose highest peak is lowest, where runs differ. An averaged run hides its peaks and is
/// no choice that anyone could make: it counts only among its like.
fn coolest(peaks: &[(&KeptRun, &KeptSpot)], hottest: &KeptSpot, differ: &[usize]) -> Markup {
    let lowest =
        peaks.iter().copied().reduce(|a, b| if b.1.spot.congestion < a.1.spot.congestion { b } else { a });
    let Some((run, spot)) = lowest.filter(|(_, spot)| spot.spot.congestion < hottest.spot.congestion) else {
        return Markup::default();
    };
    let less = 1.0 - spot.spot.congestion / hottest.spot.congestion;
    let about = format!(
        "run {}: {} on {}, {} less than the hottest",
        run.labels.run,
        spot.measure(),
        shortened(&spot.link, 40),
        number::percent(less),
    );
    tile("Lowest peak", &shortened(&axes::told_by(&run.choices, differ), 60), &about)
}

/// The run and the spot that are shown first: the hottest phase of all, of those that are not
/// negligible if there are any.
pub(super) fn first_shown(runs: &[KeptRun]) -> Option<(usize, usize)> {
    let all =
        || runs.iter().enumerate().flat_map(|(at, run)| (0..run.spots.len()).map(move |spot| (at, spot)));
    let kept = |(run, spot): &(usize, usize)| &runs[*run].spots[*spot];
    let hotter = |a: (usize, usize), b: (usize, usize)| {
        if kept(&b).spot.congestion > kept(&a).spot.congestion { b } else { a }
    };
    let phases = || all().filter(|at| kept(at).spot.phase.is_some());
    let counting = phases().filter(|at| !kept(at).is_negligible).reduce(hotter);
    counting.or_else(|| phases().reduce(hotter)).or_else(|| all().reduce(hotter))
}

/// Number of the workload and name of the phase of [`first_shown`].
pub(super) fn hottest_phase(runs: &[KeptRun]) -> Option<(usize, &str)> {
    let (run, spot) = first_shown(runs)?;
    let spot = &runs[run].spots[spot].spot;
    Some((spot.workload?, spot.phase.as_deref()?))
}

/// The hottest of a run's hot spots, of those that are not negligible if there are any.
pub(super) fn peak(run: &KeptRun) -> Option<&KeptSpot> {
    let spots = || run.spots.iter().filter(|kept| kept.spot.link.is_some());
    let hotter = |a: &'_ KeptSpot, b: &'_ KeptSpot| b.spot.congestion > a.spot.congestion;
    let reduce = |a, b| if hotter(a, b) { b } else { a };
    spots().filter(|kept| !kept.is_negligible).reduce(reduce).or_else(|| spots().reduce(reduce))
}

fn hottest<'r>(peaks: &[(&'r KeptRun, &'r KeptSpot)]) -> Option<(&'r KeptRun, &'r KeptSpot)> {
    peaks.iter().copied().reduce(|a, b| if b.1.spot.congestion > a.1.spot.congestion { b } else { a })
}

fn choice(run: &KeptRun, differ: &[usize]) -> String {
    let told = axes::told_by(&run.choices, differ);
    if told.is_empty() { told } else { format!(" under {}", shortened(&told, 80)) }
}
