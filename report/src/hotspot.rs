//! Hot spots: where each phase of a run loads the network most.

use std::collections::HashMap;

use phaseflow_simulate::topology::LinkId;

use crate::makespan::Makespan;
use crate::view::{RunView, rates};

/// The most loaded link of a phase, or of the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct HotSpot {
    /// Name of the phase; `None` for all of the run.
    pub phase: Option<String>,
    /// What the phase does, in a few words; empty if that is not known.
    pub title: String,
    /// Number of the workload that the phase is of.
    pub workload: Option<usize>,
    /// Jobs that the phase was seen in.
    pub jobs: usize,
    /// The job in which it was worst, which is the one described, and the phase's position in it.
    pub worst: Option<(u32, u32)>,
    /// Occurrences of the phase in a job.
    pub occurrences: Option<u64>,
    /// Recorded time of the phase in a job, seconds.
    pub duration_s: Option<f64>,
    /// Simulated time of the phase in a job.
    pub makespan: Option<Makespan>,
    /// Bytes of the phase in a job, or over the link in the whole run.
    pub bytes: u64,
    /// The link; `None` if the network carried nothing.
    pub link: Option<LinkId>,
    /// What the link carries.
    pub load: f64,
    /// True if loads are bytes per second, false if they are bytes.
    pub rates: bool,
    /// Used / available on the link.
    pub utilization: Option<f64>,
    /// Load / capacity, load in its unit, capacity in Gbit/s: what makes loads of unlike links
    /// comparable.
    pub congestion: f64,
}

impl HotSpot {
    /// `phase 3 (alltoall · 64 KiB · 64 ranks)`.
    pub fn name(&self) -> String {
        match &self.phase {
            None => "all jobs together".into(),
            Some(phase) if self.title.is_empty() => format!("phase {phase}"),
            Some(phase) => format!("phase {phase} ({})", self.title),
        }
    }
}

/// The hot spot of the whole run where the run says so (jobs together), then of each phase: phases
/// in order of workload, then as the workload has them.
pub fn hot_spots(view: &RunView<'_>) -> Vec<HotSpot> {
    let mut spots: Vec<HotSpot> = Vec::new();
    let mut known: HashMap<(usize, &str), usize> = HashMap::new();
    for job in &view.run.jobs {
        for (position, phase) in (0..).zip(view.phases_of(job.job)) {
            let load = phase.max_link_load.unwrap_or(0.0);
            let link = phase.bottleneck;
            let spot = HotSpot {
                phase: Some(phase.phase.clone()),
                title: view.title(job.workload, &phase.phase).to_string(),
                workload: Some(job.workload),
                jobs: 1,
                worst: Some((job.job, position)),
                occurrences: Some(phase.occurrences),
                duration_s: phase.duration_s,
                makespan: Makespan::of_phase(phase),
                bytes: phase.bytes,
                link,
                load,
                rates: rates(phase),
                utilization: phase.max_utilization,
                congestion: link.map_or(0.0, |link| load / view.network.link(link).capacity),
            };
            match known.get(&(job.workload, phase.phase.as_str())) {
                None => {
                    known.insert((job.workload, &phase.phase), spots.len());
                    spots.push(spot);
                }
                Some(at) => {
                    let jobs = spots[*at].jobs + 1;
                    if spot.congestion > spots[*at].congestion {
                        spots[*at] = spot;
                    }
                    spots[*at].jobs = jobs;
                }
            }
        }
    }
    spots.sort_by_key(|spot| spot.workload);
    if let Some(whole) = whole_run(view) {
        spots.insert(0, whole);
    }
    spots
}

/// The most loaded link of the rows that take all jobs together.
fn whole_run(view: &RunView<'_>) -> Option<HotSpot> {
    let table = &view.run.links;
    let congestion = |row: usize| table.load[row] / view.network.link(table.link[row]).capacity;
    let rows = (0..table.link.len()).filter(|row| table.job[*row].is_none());
    let row = rows.reduce(|best, row| if congestion(row) > congestion(best) { row } else { best })?;
    let (link, load) = (table.link[row], table.load[row]);
    Some(HotSpot {
        phase: None,
        title: String::new(),
        workload: None,
        jobs: view.run.jobs.len(),
        worst: None,
        occurrences: None,
        duration_s: None,
        makespan: Makespan::of_run(view),
        bytes: table.bytes[row],
        link: Some(link),
        load,
        rates: view.rates(),
        utilization: view.utilization(link, load, view.rates()),
        congestion: congestion(row),
    })
}

/// The highest load of each link in the run, links without traffic 0; empty if the run tells
/// nothing of links.
pub(crate) fn peak_loads(view: &RunView<'_>) -> Vec<f64> {
    let table = &view.run.links;
    if table.link.is_empty() {
        return Vec::new();
    }
    let mut peaks = vec![0.0; view.network.links.len()];
    for (link, load) in table.link.iter().zip(&table.load) {
        let peak: &mut f64 = &mut peaks[link.0 as usize];
        *peak = peak.max(*load);
    }
    peaks
}
