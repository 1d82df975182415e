//! A run together with what its numbers refer to.

use std::collections::HashMap;
use std::ops::Range;

use phaseflow_simulate::result::{BlameRow, JobRow, Link, Network, PhaseRow, RunResult};
use phaseflow_simulate::topology::LinkId;
use phaseflow_simulate::workload::Workload;

use crate::blame::Slowed;

/// A run, its network, the workloads of all runs.
#[derive(Debug)]
pub struct RunView<'a> {
    /// The run.
    pub run: &'a RunResult,
    /// Its network.
    pub network: &'a Network,
    /// Workloads by the number that jobs name.
    pub workloads: &'a [Workload],
    /// Rows of `run.phases` by job.
    phases: HashMap<u32, Range<usize>>,
    /// Rows of `run.jobs` by number.
    jobs: HashMap<u32, usize>,
    /// Rows of `run.links` by job and phase.
    links: HashMap<(Option<u32>, Option<u32>), Vec<usize>>,
    /// What is known of the critical path, by job and phase.
    slowed: HashMap<(u32, u32), Slowed>,
}

impl<'a> RunView<'a> {
    /// Joins `run`, which has to come from the reader or merger that knows `networks` and
    /// `workloads`.
    pub fn new(run: &'a RunResult, networks: &'a [Network], workloads: &'a [Workload]) -> Self {
        let mut phases: HashMap<u32, Range<usize>> = HashMap::new();
        for (row, phase) in run.phases.iter().enumerate() {
            phases.entry(phase.job).or_insert(row..row).end = row + 1;
        }
        let jobs = run.jobs.iter().enumerate().map(|(row, job)| (job.job, row)).collect();
        let mut links: HashMap<_, Vec<usize>> = HashMap::new();
        let mut blame: HashMap<(u32, u32), Vec<&BlameRow>> = HashMap::new();
        run.blame.iter().for_each(|row| blame.entry((row.job, row.phase)).or_default().push(row));
        let slowed = blame.into_iter().filter_map(|(place, rows)| Some((place, Slowed::new(rows)?)));
        let slowed = slowed.collect();
        let network = &networks[run.topology];
        let mut view = Self { run, network, workloads, phases, jobs, links: HashMap::new(), slowed };
        for (row, (job, phase)) in run.links.job.iter().zip(&run.links.phase).enumerate() {
            links.entry((*job, view.position(*job, *phase))).or_default().push(row);
        }
        view.links = links;
        view
    }

    /// Position of a phase among its job's: all phases of a job together are its only one.
    fn position(&self, job: Option<u32>, phase: Option<u32>) -> Option<u32> {
        phase.or_else(|| job.filter(|job| self.phases_of(*job).len() == 1).map(|_| 0))
    }

    /// Rows of the phases of a job.
    pub fn phases_of(&self, job: u32) -> &'a [PhaseRow] {
        self.phases.get(&job).map_or(&[], |rows| &self.run.phases[rows.clone()])
    }

    /// The row of phase `phase` of job `job`, numbers as in the link table.
    pub fn phase(&self, job: Option<u32>, phase: Option<u32>) -> Option<&'a PhaseRow> {
        self.phases_of(job?).get(self.position(job, phase)? as usize)
    }

    /// Rows of the link table that are of one phase of one job; without both, those of the whole
    /// run.
    pub fn links_of(&self, job: Option<u32>, phase: Option<u32>) -> &[usize] {
        self.links.get(&(job, phase)).map_or(&[], Vec::as_slice)
    }

    /// What slowed the critical path of a phase of a job, numbers as in the link table.
    pub(crate) fn slowed(&self, job: Option<u32>, phase: Option<u32>) -> Option<&Slowed> {
        self.slowed.get(&(job?, self.position(job, phase)?))
    }

    /// A job's row.
    pub fn job(&self, job: u32) -> Option<&'a JobRow> {
        self.jobs.get(&job).map(|row| &self.run.jobs[*row])
    }

    /// The workload that a job runs.
    pub fn workload_of(&self, job: u32) -> Option<&'a Workload> {
        self.workloads.get(self.job(job)?.workload)
    }

    /// What a phase of a workload does, in a few words; empty for all phases together.
    pub fn title(&self, workload: usize, phase: &str) -> &'a str {
        let phases = self.workloads.get(workload).map_or(&[][..], |workload| &workload.segmentation.phases);
        phases.iter().find(|known| known.name == phase).map_or("", |known| &known.title)
    }

    /// A link and the names of its ends.
    pub fn link(&self, link: LinkId) -> (&'a Link, &'a str, &'a str) {
        let found = self.network.link(link);
        (found, self.network.name(found.src), self.network.name(found.dst))
    }

    /// The names of the ends of a link, empty without one.
    pub fn ends(&self, link: Option<LinkId>) -> (&'a str, &'a str) {
        link.map_or(("", ""), |link| {
            let (_, src, dst) = self.link(link);
            (src, dst)
        })
    }

    /// True if the loads of the whole run are bytes per second, false if they are bytes.
    pub fn rates(&self) -> bool {
        self.run.statistics.max_utilization.is_some()
    }

    /// Used / available of a link under a load; unknown if loads are bytes (`rates` false).
    pub fn utilization(&self, link: LinkId, load: f64, rates: bool) -> Option<f64> {
        rates.then(|| load * 8.0 / (self.network.link(link).capacity * 1e9))
    }
}

/// True if the loads of a phase are bytes per second: it has a duration to divide by.
pub(crate) fn rates(phase: &PhaseRow) -> bool {
    phase.duration_s.is_some()
}
