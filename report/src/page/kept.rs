//! What the page keeps of a run: little enough for a hundred runs, whatever their size.

use phaseflow_simulate::result::{RunLabels, RunStatistics, Series};

use super::map;
use super::path::{self, KeptPath};
use crate::axes::{self, Choices};
use crate::hotspot::{HotSpot, hot_spots};
use crate::makespan::Makespan;
use crate::view::RunView;

/// Points of a curve of link loads.
const CURVE_POINTS: usize = 64;

/// Points of a series: about one per pixel of its chart.
const SERIES_POINTS: usize = 300;

/// Hot spots of a run, the hottest if there are more.
const SPOTS: usize = 256;

/// Phases of a run that get a curve.
const CURVES: usize = 16;

/// Series of a run that get a chart.
const SERIES: usize = 8;

/// A run on the page.
#[derive(Debug)]
pub(super) struct KeptRun {
    pub(super) labels: RunLabels,
    pub(super) choices: Choices,
    pub(super) topology: usize,
    pub(super) statistics: RunStatistics,
    pub(super) makespan: Option<Makespan>,
    pub(super) jobs: usize,
    pub(super) spots: Vec<KeptSpot>,
    pub(super) series: Vec<KeptSeries>,
    pub(super) paths: Vec<KeptPath>,
}

/// A hot spot, and the links of its phase from the most loaded to the least.
#[derive(Debug)]
pub(super) struct KeptSpot {
    pub(super) spot: HotSpot,
    /// `a → b`.
    pub(super) link: String,
    /// How many links are more loaded, utilization (or load, where loads are bytes) of the next
    /// one: a step function that ends with 0 at the number of links with traffic.
    pub(super) curve: Vec<(f64, f64)>,
    /// Load / capacity by link, for networks that are drawn.
    pub(super) congestion: Vec<f64>,
}

/// A series, thinned out.
#[derive(Debug)]
pub(super) struct KeptSeries {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl KeptRun {
    /// Keeps what the page shows of a run; curves and series only if `details` are wanted.
    pub(super) fn new(view: &RunView<'_>, details: bool) -> Self {
        let run = view.run;
        let mut spots = hot_spots(view);
        if spots.len() > SPOTS {
            spots.sort_by(|a, b| b.congestion.total_cmp(&a.congestion));
            spots.truncate(SPOTS);
        }
        // The hottest ones are drawn.
        let mut hottest: Vec<usize> = (0..spots.len()).collect();
        hottest.sort_by(|a, b| spots[*b].congestion.total_cmp(&spots[*a].congestion));
        hottest.truncate(CURVES);
        let spots = spots.into_iter().enumerate().map(|(at, spot)| {
            let link = spot.link.map_or_else(String::new, |link| {
                let (_, src, dst) = view.link(link);
                format!("{src} → {dst}")
            });
            let values = if details && hottest.contains(&at) { values(view, &spot) } else { Vec::new() };
            let drawn = !values.is_empty() && map::is_small(view.network);
            let congestion = if drawn { congestion(view, &spot) } else { Vec::new() };
            KeptSpot { spot, link, curve: curve(values), congestion }
        });
        let end_s = run.statistics.makespan_s;
        let series = run.series.iter().filter(|series| !series.time_s.is_empty()).take(SERIES);
        let series =
            series.map(|series| KeptSeries { name: series.name.clone(), points: thinned(series, end_s) });
        Self {
            labels: run.labels.clone(),
            choices: axes::choices(&run.labels),
            topology: run.topology,
            statistics: run.statistics,
            makespan: Makespan::of_run(view),
            jobs: run.jobs.len(),
            spots: spots.collect(),
            series: if details { series.collect() } else { Vec::new() },
            paths: path::paths(view),
        }
    }
}

/// Rows of the link table that a hot spot is of.
fn rows<'v>(view: &'v RunView<'_>, spot: &HotSpot) -> &'v [usize] {
    match spot.worst {
        Some((job, position)) => view.links_of(Some(job), Some(position)),
        None => view.links_of(None, None),
    }
}

/// Utilization of the links that carry something; load where loads are bytes.
fn values(view: &RunView<'_>, spot: &HotSpot) -> Vec<f64> {
    let table = &view.run.links;
    let value = |row: &usize| {
        let (link, load) = (table.link[*row], table.load[*row]);
        view.utilization(link, load, spot.rates).unwrap_or(load)
    };
    rows(view, spot).iter().map(value).collect()
}

fn congestion(view: &RunView<'_>, spot: &HotSpot) -> Vec<f64> {
    let table = &view.run.links;
    let mut congestion = vec![0.0; view.network.links.len()];
    for row in rows(view, spot) {
        let link = table.link[*row];
        congestion[link.0 as usize] = table.load[*row] / view.network.link(link).capacity;
    }
    congestion
}

fn curve(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(|a, b| b.total_cmp(a));
    let last = values.len().saturating_sub(1);
    let mut picks: Vec<usize> = (0..CURVE_POINTS).map(|i| i * last / (CURVE_POINTS - 1)).collect();
    picks.dedup();
    let points = picks.into_iter().filter_map(|at| Some((at as f64, *values.get(at)?)));
    points.chain((!values.is_empty()).then_some((values.len() as f64, 0.0))).collect()
}

/// Where points are closer than a pixel, the highest stands for them: peaks are what matters.
fn thinned(series: &Series, end_s: Option<f64>) -> Vec<(f64, f64)> {
    let points = series.time_s.iter().copied().zip(series.value.iter().copied());
    let points = points.filter(|(time, value)| time.is_finite() && value.is_finite());
    let mut points: Vec<(f64, f64)> = points.collect();
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
        return Vec::new();
    };
    if points.len() > SERIES_POINTS {
        let step = (last.0 - first.0) / SERIES_POINTS as f64;
        let mut thin: Vec<(f64, f64)> = Vec::with_capacity(SERIES_POINTS + 1);
        let mut bucket = None;
        for point in points {
            let of = ((point.0 - first.0) / step) as usize;
            match thin.last_mut().filter(|_| bucket == Some(of)) {
                Some(kept) => kept.1 = kept.1.max(point.1),
                None => thin.push(point),
            }
            bucket = Some(of);
        }
        points = thin;
    }
    // The last value holds until the end of the run.
    points.extend(end_s.filter(|end| *end > last.0).map(|end| (end, last.1)));
    points
}
