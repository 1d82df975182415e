//! The runs of a sweep, the best first, and what each axis does.

use maud::{Markup, html};

use super::headline::peak;
use super::kept::{KeptRun, KeptSpot};
use super::text::shortened;
use crate::axes;
use crate::makespan::Makespan;
use crate::number;
use crate::verdict::Verdict;

/// Runs listed; the others are in runs.csv.
const RUNS: usize = 1000;

/// A table of the runs by time where models give one, else by the use of their hottest link; empty
/// for one run. The speed-up is that against the first run, of runs of its model.
pub(super) fn ranking(runs: &[KeptRun], differ: &[usize], verdict: &Verdict) -> Markup {
    if runs.len() < 2 {
        return Markup::default();
    }
    let seconds = KeptRun::simulated_s;
    let is_timed = runs.iter().all(|run| seconds(run).is_some());
    let rank = |run: &KeptRun| {
        let by = if is_timed { seconds(run) } else { peak(run).map(|kept| kept.spot.congestion) };
        by.unwrap_or(f64::INFINITY)
    };
    let mut order: Vec<&KeptRun> = runs.iter().collect();
    order.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let headings = ["time", "speed-up", "hottest link used", "hottest link", "in phase"];
    html! {
        section {
            h2 { "Runs" }
            div.wide tabindex="0" { table.sortable {
                caption { "The runs, the best first" }
                thead { tr {
                    th scope="col" { "run" }
                    @for axis in differ { th scope="col" { (axes::AXES[*axis]) } }
                    @for name in headings { th scope="col" { (name) } }
                } }
                tbody { @for run in order.iter().take(RUNS) { (row(run, &runs[0], differ)) } }
            } }
            @if runs.len() > RUNS { p { (runs.len() - RUNS) " more in " a href="runs.csv" { "runs.csv" } "." } }
            (effects(verdict))
        }
    }
}

fn row(run: &KeptRun, first: &KeptRun, differ: &[usize]) -> Markup {
    let is_like_first = axes::MODEL.iter().all(|axis| run.choices[*axis] == first.choices[*axis]);
    let times = first.simulated_s().zip(run.simulated_s()).filter(|(_, own)| is_like_first && *own > 0.0);
    let speed_up = times.map(|(first, own)| first / own);
    let hottest = peak(run);
    let phase = |kept: &KeptSpot| kept.spot.phase.clone().unwrap_or_else(|| "all".into());
    html! { tr {
        th scope="row" { (run.labels.run) }
        @for axis in differ { td { (shortened(&run.choices[*axis], 60)) } }
        td.n data-v=[run.makespan.map(|time| time.seconds)] { (run.makespan.map_or_else(String::new, Makespan::text)) }
        td.n data-v=[speed_up] { (speed_up.map_or_else(String::new, number::significant)) }
        td.n data-v=[hottest.map(|kept| kept.spot.congestion)] { (hottest.map_or_else(String::new, KeptSpot::measure)) }
        td { (hottest.map_or_else(String::new, |kept| shortened(&kept.link, 40))) }
        td { (hottest.map_or_else(String::new, |kept| shortened(&phase(kept), 24))) }
    } }
}

/// The alternatives of each axis beside each other.
fn effects(verdict: &Verdict) -> Markup {
    let several = verdict.has_several_models();
    html! { @for (model, is_time, effects) in verdict.effects() {
        div.wide tabindex="0" { table.sortable {
            caption { "What each choice does, all else equal" @if several { ", by " (model) } }
            thead { tr {
                th scope="col" { "axis" } th scope="col" { "choice" } th scope="col" { "best in" }
                th scope="col" { "median " (if is_time { "time" } else { "peak" }) " above the best" }
            } }
            tbody { @for (effect, own) in effects.iter().flat_map(|effect| effect.alternatives.iter().map(move |own| (effect, own))) { tr {
                td { (effect.name()) }
                td { (shortened(&own.choice, 60)) }
                td.n data-v=(own.wins) { (own.wins) " of " (effect.comparisons) }
                td.n data-v=(own.above_best) { (own.above_best_text()) }
            } } }
        } }
    } }
}
