//! Hot spots as tables: runs against phases, then each with all that is known.

use std::fmt::Write;

use super::kept::{KeptRun, KeptSpot};
use super::text::{counted, escape, shortened};
use crate::axes;
use crate::makespan::Makespan;
use crate::number;

/// Columns and rows of the comparison.
const PHASES: usize = 12;
const ROWS: usize = 200;

/// Rows of the list.
const LISTED: usize = 1000;

/// Values nearer than this read alike in three digits.
const ALIKE: f64 = 1.001;

/// What a column of the comparison is of: workload and name of the phase, `None` for the whole run.
type Column<'r> = (Option<usize>, Option<&'r str>);

/// What a hot spot is called by: utilization, or load where loads are bytes.
pub(super) fn measure(spot: &KeptSpot) -> String {
    match (spot.spot.link, spot.spot.utilization) {
        (None, _) => "no load".into(),
        (_, Some(utilization)) => number::percent(utilization),
        (_, None) => number::load(spot.spot.load, spot.spot.rates),
    }
}

/// Runs against phases: how much of its hottest link each uses, and which link that is.
pub(super) fn comparison(runs: &[KeptRun], differ: &[usize], workloads: &[&str]) -> String {
    let mut columns = columns(runs);
    let all = columns.len();
    columns.truncate(PHASES);
    let shown = || runs.iter().take(ROWS).flat_map(|run| &run.spots);
    let most = shown().map(|spot| spot.spot.congestion).fold(0.0, f64::max);
    let mut html = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"spots\"><caption>The most loaded link of every phase, run by run</caption><thead><tr><th scope=\"col\">run</th>",
    );
    for axis in differ {
        let _ = write!(html, "<th scope=\"col\">{}</th>", axes::AXES[*axis]);
    }
    let several = columns
        .iter()
        .filter_map(|column| column.0)
        .any(|load| Some(load) != columns.iter().find_map(|c| c.0));
    for (workload, phase) in &columns {
        let name = phase.map_or("all jobs".into(), |phase| format!("phase {}", shortened(phase, 24)));
        let of = workload.and_then(|load| workloads.get(load)).filter(|_| several);
        let of = of.map_or(String::new(), |of| format!("<small>{}</small>", escape(&shortened(of, 32))));
        let title = runs.iter().find_map(|run| find(run, (*workload, *phase)));
        let title = title.map(|kept| &kept.spot.title[..]).filter(|title| !title.is_empty());
        let title = title.map_or(String::new(), |title| {
            // Narrow columns: a part of the title stands on each line.
            let parts: Vec<String> = title.split(" · ").map(|part| escape(&shortened(part, 32))).collect();
            format!("<small>{}</small>", parts.join("<br>"))
        });
        let _ = write!(html, "<th scope=\"col\">{}{title}{of}</th>", escape(&name));
    }
    html.push_str("</tr></thead><tbody>");
    let least: Vec<Option<f64>> = columns.iter().map(|column| lowest(runs, *column)).collect();
    for run in runs.iter().take(ROWS) {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", run.labels.run);
        for axis in differ {
            let _ = write!(html, "<td>{}</td>", escape(&shortened(&run.choices[*axis], 48)));
        }
        for (column, least) in columns.iter().zip(&least) {
            html.push_str(&cell(run, *column, *least, most));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if all > PHASES {
        let rest = counted(all - PHASES, "cooler phase");
        let _ = write!(html, "<p>{rest} in <a href=\"phases.csv\">phases.csv</a>.</p>");
    }
    if runs.len() > ROWS {
        let rest = counted(runs.len() - ROWS, "further run");
        let _ = write!(html, "<p>{rest} in <a href=\"phases.csv\">phases.csv</a>.</p>");
    }
    html
}

fn cell(run: &KeptRun, column: Column<'_>, least: Option<f64>, most: f64) -> String {
    let Some(kept) = find(run, column) else { return "<td></td>".into() };
    let share = if most > 0.0 { kept.spot.congestion / most * 100.0 } else { 0.0 };
    let best = least.is_some_and(|least| kept.spot.congestion <= least * ALIKE);
    let best = if best { " <span class=\"best\">lowest</span>" } else { "" };
    format!(
        "<td class=\"bar\" style=\"--v:{share:.1}%\"><b>{}</b>{best}<small>{}</small></td>",
        measure(kept),
        escape(&shortened(&kept.link, 40)),
    )
}

/// Phases in order of first appearance; if there are more than fit, the hottest of them.
fn columns(runs: &[KeptRun]) -> Vec<Column<'_>> {
    let mut columns: Vec<(Column<'_>, f64)> = Vec::new();
    for kept in runs.iter().take(ROWS).flat_map(|run| &run.spots) {
        let column = (kept.spot.workload, kept.spot.phase.as_deref());
        match columns.iter_mut().find(|known| known.0 == column) {
            Some(known) => known.1 = known.1.max(kept.spot.congestion),
            None => columns.push((column, kept.spot.congestion)),
        }
    }
    if columns.len() > PHASES {
        columns.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    columns.into_iter().map(|(column, _)| column).collect()
}

fn find<'r>(run: &'r KeptRun, column: Column<'_>) -> Option<&'r KeptSpot> {
    run.spots.iter().find(|kept| (kept.spot.workload, kept.spot.phase.as_deref()) == column)
}

/// The lowest value of a column, if there is anything to choose between.
fn lowest(runs: &[KeptRun], column: Column<'_>) -> Option<f64> {
    let values = || runs.iter().filter_map(|run| Some(find(run, column)?.spot.congestion));
    let (least, most) = values().fold((f64::MAX, 0.0f64), |(least, most), v| (least.min(v), most.max(v)));
    (most > least * ALIKE).then_some(least)
}

/// Every hot spot with all that is known of it.
pub(super) fn list(runs: &[KeptRun], differ: &[usize]) -> String {
    let mut html = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table><caption>Hot spots</caption><thead><tr><th scope=\"col\">run</th><th scope=\"col\">choice</th>\
         <th scope=\"col\">phase</th><th scope=\"col\">jobs</th><th scope=\"col\">occurrences</th><th scope=\"col\">duration</th><th scope=\"col\">simulated</th>\
         <th scope=\"col\">bytes</th><th scope=\"col\">hottest link</th><th scope=\"col\">load</th><th scope=\"col\">utilization</th></tr></thead><tbody>",
    );
    let rows = || runs.iter().flat_map(|run| run.spots.iter().map(move |spot| (run, spot)));
    for (run, kept) in rows().take(LISTED) {
        let spot = &kept.spot;
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            run.labels.run,
            escape(&shortened(&axes::told_by(&run.choices, differ), 60)),
            escape(&shortened(&spot.name(), 80)),
            spot.jobs,
            spot.occurrences.map_or_else(String::new, |n| n.to_string()),
            spot.duration_s.map_or_else(String::new, number::seconds),
            spot.makespan.map_or_else(String::new, Makespan::text),
            number::scaled(spot.bytes as f64, "B"),
            escape(&shortened(&kept.link, 60)),
            number::load(spot.load, spot.rates),
            spot.utilization.map_or_else(String::new, number::percent),
        );
    }
    html.push_str("</tbody></table></div>");
    if rows().count() > LISTED {
        let _ =
            write!(html, "<p>{} more in <a href=\"phases.csv\">phases.csv</a>.</p>", rows().count() - LISTED);
    }
    html
}
