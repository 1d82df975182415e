//! What the page keeps of a run: little enough for a hundred runs, whatever their size.

use phaseflow_simulate::result::{RunLabels, RunStatistics, Series};

use super::jobs::KeptJob;
use super::network_map::NetworkMap;
use super::path::{self, KeptPath};
use super::text::shortened;
use crate::axes::{self, Choices};
use crate::hotspot::{HotSpot, hot_spots};
use crate::makespan::Makespan;
use crate::negligible::negligible;
use crate::number;
use crate::senders::senders;
use crate::view::RunView;

/// Points of a curve of link loads.
const CURVE_POINTS: usize = 64;

/// Points of a series: about one per pixel of its chart.
const SERIES_POINTS: usize = 300;

/// Hot spots of a run, the hottest if there are more.
const SPOTS: usize = 256;

/// Phases of a run whose links are kept, the hottest if there are more.
const DETAILED: usize = 64;

/// Links of a phase that are listed, the most loaded first.
const LISTED: usize = 10;

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
    pub(super) jobs: Vec<KeptJob>,
    pub(super) job_count: usize,
    pub(super) spots: Vec<KeptSpot>,
    pub(super) series: Vec<KeptSeries>,
    pub(super) paths: Vec<KeptPath>,
    /// Simulated seconds of the phases of the first job, by position; empty if its model takes the
    /// recorded ones.
    pub(super) phase_seconds: Vec<(String, f64)>,
}

/// A hot spot, and what is known of the links of its phase.
#[derive(Debug)]
pub(super) struct KeptSpot {
    pub(super) spot: HotSpot,
    /// `a → b`.
    pub(super) link: String,
    /// Who sends over the link; empty if not known.
    pub(super) senders: String,
    /// Packets dropped, and sent again; unknown where there were none.
    pub(super) lost: Option<(u64, u64)>,
    /// Under 1 % of its run's bytes and time together with all others that are so.
    pub(super) is_negligible: bool,
    pub(super) details: Option<Details>,
}

/// The links of a phase.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// How many links are more loaded, utilization (or load, where loads are bytes) of the next
    /// one: a step function that ends with 0 at the number of links with traffic.
    pub(super) curve: Vec<(f64, f64)>,
    /// The most loaded links: name, load, utilization in words.
    pub(super) listed: Vec<[String; 3]>,
    /// Values of the network map's lines, utilization or load as in `curve`.
    pub(super) map: Vec<f32>,
}

/// A series, thinned out.
#[derive(Debug)]
pub(super) struct KeptSeries {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl KeptRun {
    /// Keeps what the page shows of a run; links, series and jobs only if `details` are wanted.
    pub(super) fn new(view: &RunView<'_>, map: Option<&NetworkMap>, details: bool) -> Self {
        let run = view.run;
        let mut spots = hot_spots(view);
        if spots.len() > SPOTS {
            spots.sort_by(|a, b| b.congestion.total_cmp(&a.congestion));
            spots.truncate(SPOTS);
        }
        let folded = negligible(&spots.iter().collect::<Vec<_>>());
        let mut hottest: Vec<usize> = (0..spots.len()).collect();
        hottest.sort_by(|a, b| spots[*b].congestion.total_cmp(&spots[*a].congestion));
        hottest.truncate(if details { DETAILED } else { 0 });
        let spots = spots.into_iter().zip(folded).enumerate().map(|(at, (spot, is_negligible))| {
            let phase = spot.worst.and_then(|(job, position)| view.phase(Some(job), Some(position)));
            KeptSpot {
                link: spot.link.map_or_else(String::new, |link| name_of(view, link)),
                senders: phase.map_or_else(String::new, |phase| senders(view, phase)),
                lost: phase.and_then(|phase| phase.drops.zip(phase.retransmits)),
                is_negligible,
                details: hottest.contains(&at).then(|| Details::new(view, &spot, map)),
                spot,
            }
        });
        let end_s = run.statistics.makespan_s;
        // How many jobs wait and run says nothing where there is one.
        let counts_jobs = |series: &Series| series.name.starts_with("jobs_");
        let tells =
            |series: &&Series| !series.time_s.is_empty() && (run.jobs.len() > 1 || !counts_jobs(series));
        let series = run.series.iter().filter(tells).take(SERIES);
        let series =
            series.map(|series| KeptSeries { name: series.name.clone(), points: thinned(series, end_s) });
        Self {
            labels: run.labels.clone(),
            choices: axes::choices(&run.labels),
            topology: run.topology,
            statistics: run.statistics,
            makespan: Makespan::of_run(view),
            jobs: if details { KeptJob::of_run(view) } else { Vec::new() },
            job_count: run.jobs.len(),
            spots: spots.collect(),
            series: if details { series.collect() } else { Vec::new() },
            paths: path::paths(view),
            phase_seconds: if details { phase_seconds(view) } else { Vec::new() },
        }
    }

    /// The phase that a spot of this run is of: workload and name; `None` for all jobs together.
    pub(super) fn find(&self, workload: Option<usize>, phase: Option<&str>) -> Option<&KeptSpot> {
        self.spots.iter().find(|kept| (kept.spot.workload, kept.spot.phase.as_deref()) == (workload, phase))
    }

    /// Simulated time of the run; `None` if its model takes the recorded one.
    pub(super) fn simulated_s(&self) -> Option<f64> {
        self.makespan.filter(|_| self.labels.model != "traffic").map(|makespan| makespan.seconds)
    }
}

impl KeptSpot {
    /// What a hot spot is called by: utilization, or load where loads are bytes.
    pub(super) fn measure(&self) -> String {
        match (self.spot.link, self.spot.utilization) {
            (None, _) => "no load".into(),
            (_, Some(utilization)) => number::percent(utilization),
            (_, None) => number::load(self.spot.load, self.spot.rates),
        }
    }
}

impl Details {
    fn new(view: &RunView<'_>, spot: &HotSpot, map: Option<&NetworkMap>) -> Self {
        let table = &view.run.links;
        let mut rows: Vec<(usize, f64)> =
            rows(view, spot).iter().map(|row| (*row, value(view, spot, *row))).collect();
        let values = rows.iter().map(|(row, value)| (table.link[*row].0 as usize, *value));
        let map = map.map_or_else(Vec::new, |map| map.values(values));
        // The first of equals is the one with the lower number, as among hot spots.
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        let listed = rows.iter().take(LISTED).map(|(row, _)| {
            let (link, load) = (table.link[*row], table.load[*row]);
            let used = view.utilization(link, load, spot.rates);
            [
                shortened(&name_of(view, link), 60),
                number::load(load, spot.rates),
                used.map_or_else(String::new, number::percent),
            ]
        });
        Self { listed: listed.collect(), curve: curve(&rows), map }
    }
}

fn name_of(view: &RunView<'_>, link: phaseflow_simulate::topology::LinkId) -> String {
    let (_, src, dst) = view.link(link);
    format!("{src} → {dst}")
}

/// Rows of the link table that a hot spot is of.
fn rows<'v>(view: &'v RunView<'_>, spot: &HotSpot) -> &'v [usize] {
    match spot.worst {
        Some((job, position)) => view.links_of(Some(job), Some(position)),
        None => view.links_of(None, None),
    }
}

/// Utilization of the link of a row; load where loads are bytes.
fn value(view: &RunView<'_>, spot: &HotSpot, row: usize) -> f64 {
    let (link, load) = (view.run.links.link[row], view.run.links.load[row]);
    view.utilization(link, load, spot.rates).unwrap_or(load)
}

/// The curve of rows that are sorted, the most loaded first.
fn curve(rows: &[(usize, f64)]) -> Vec<(f64, f64)> {
    let last = rows.len().saturating_sub(1);
    let mut picks: Vec<usize> = (0..CURVE_POINTS).map(|i| i * last / (CURVE_POINTS - 1)).collect();
    picks.dedup();
    let points = picks.into_iter().filter_map(|at| Some((at as f64, rows.get(at)?.1)));
    points.chain((!rows.is_empty()).then_some((rows.len() as f64, 0.0))).collect()
}

/// Simulated seconds of the phases of the only job; of several jobs none, as they share the
/// network.
fn phase_seconds(view: &RunView<'_>) -> Vec<(String, f64)> {
    let [job] = &view.run.jobs[..] else { return Vec::new() };
    if view.run.labels.model == "traffic" {
        return Vec::new();
    }
    let seconds = view.phases_of(job.job).iter();
    seconds.map(|row| Some((row.phase.clone(), row.makespan_s?))).collect::<Option<_>>().unwrap_or_default()
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
