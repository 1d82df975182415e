//! The product of alternatives: which runs there are, and running them.
//!
//! A [`Scenario`](crate::scenario::Scenario) becomes a [`Plan`] when its choices are known to
//! exist, and a [`Sweep`] when its networks and traces are loaded. A sweep is the cartesian product
//! of its axes; its points are numbered from 0, the topology slowest, then the axes in the order of
//! [`Axis::ALL`]. A number belongs to the whole product: a shard runs some of the points under the
//! numbers they have in the whole. A point also has an identifier that depends on what is simulated
//! alone, see [`Sweep::id`].
//!
//! CORRECTNESS: points share nothing that changes, every random stream starts from the seed and
//! what the stream is for, and results leave in the order of run numbers; so the output does not
//! depend on the number of threads or shards.

mod estimate;
mod execute;
mod identity;
mod logged_jobs;
mod plan;
mod resume;
mod route_checks;
mod selection;

pub use estimate::Estimate;
pub use plan::{Plan, Settings, names};
pub use route_checks::RouteCheck;
pub use selection::Selection;

use std::collections::BTreeMap;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::import::{Input, Scratch};
use phaseflow_collect::{At, Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use crate::flow_list::FlowList;
use crate::result::RunLabels;
use crate::routing::RouterPool;
use crate::run::{JobSource, KnownReplays, Submission, refusal};
use crate::scenario::{Axes, Axis, Job};
use crate::topology::Topology;
use crate::workload::{Reading, Workload};

/// A loaded sweep: all networks, workloads and points.
#[derive(Debug)]
pub struct Sweep {
    topologies: Vec<Topology>,
    topology_digests: Vec<String>,
    workloads: Vec<Workload>,
    /// The list of flows that is run in place of jobs, if any.
    flows: Option<FlowList>,
    workload_digests: Vec<String>,
    jobs_digest: String,
    recordings_digest: String,
    axes: Axes,
    /// Digests of the forwarding tables that routers take, by file.
    table_digests: BTreeMap<String, String>,
    /// Routers for the next run.
    routers: RouterPool,
    /// Replays that points share.
    known_replays: KnownReplays,
    jobs: Vec<JobSource>,
    settings: Settings,
    repeat: u32,
    points: u32,
}

/// One combination of alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its number in the product.
    pub run: u32,
    /// Index of its topology.
    pub topology: usize,
    /// Index of its alternative on each axis.
    choices: [usize; Axis::ALL.len()],
    /// Its seed.
    pub seed: u64,
}

impl Sweep {
    /// Loads the networks and traces of a plan. `inputs` are what jobs without a trace of their own
    /// run: as many as there are such jobs, or one for all of them; in a plan without jobs each is
    /// a job submitted at time 0.
    ///
    /// # Errors
    /// A network or trace that cannot be read, or more or fewer inputs than jobs that run one.
    pub fn load(plan: Plan, inputs: Vec<Workload>, scratch: Scratch) -> Result<Self> {
        let topologies = plan.topologies()?;
        let reading = plan.reading(inputs.len());
        let (workloads, jobs) = match &plan.log {
            Some(log) => logged_jobs::assign(log, inputs, scratch, reading)?,
            None => assign(&plan.jobs, inputs, scratch, reading)?,
        };
        let recordings = identity::of_recordings(&workloads);
        Ok(Self::loaded(plan, topologies, (workloads, jobs), recordings))
    }

    /// Loads the networks of a plan on which a list of flows is run, in place of jobs.
    ///
    /// # Errors
    /// A network that cannot be read or lacks a host of the list; a plan with jobs, a duration, or
    /// a model that has no messages.
    pub fn load_flows(plan: Plan, list: FlowList) -> Result<Self> {
        if !plan.jobs.is_empty() || plan.log.is_some() {
            return Err(Error::usage(
                "a scenario has jobs and there is a list of flows, expected one of them",
            ));
        }
        if plan.settings.duration_s.is_some() {
            return Err(Error::usage("a list of flows ends with its last flow, expected no duration"));
        }
        let has_messages = |model: &Choice| ["flow", "packet"].contains(&model.name());
        let is_recorded = |collective: &Choice| collective.name() == "recorded";
        if !plan.axes.get(Axis::Model).iter().all(has_messages)
            || !plan.axes.get(Axis::Collective).iter().all(is_recorded)
        {
            return Err(refusal());
        }
        let topologies = plan.topologies()?;
        topologies.iter().try_for_each(|topology| list.hosts(topology).map(drop))?;
        let work = assign(&[], vec![list.workload()?], no_scratch, Reading::Matrices)?;
        let recordings = identity::of_flows(&list);
        let sweep = Self::loaded(plan, topologies, work, recordings);
        Ok(Self { flows: Some(list), ..sweep })
    }

    fn loaded(
        plan: Plan,
        topologies: Vec<Topology>,
        (workloads, jobs): (Vec<Workload>, Vec<JobSource>),
        recordings_digest: String,
    ) -> Self {
        let workload_digests: Vec<String> = workloads.par_iter().map(identity::of_workload).collect();
        let points = plan.points();
        Self {
            topology_digests: topologies.iter().map(identity::of_topology).collect(),
            topologies,
            jobs_digest: identity::of_jobs(&jobs, &workload_digests),
            recordings_digest,
            workloads,
            flows: None,
            workload_digests,
            table_digests: identity::of_tables(plan.axes.get(Axis::Router)),
            routers: RouterPool::default(),
            known_replays: KnownReplays::default(),
            axes: plan.axes,
            jobs,
            settings: plan.settings,
            repeat: plan.repeat,
            points,
        }
    }

    /// The networks, in the order of the first axis.
    pub fn topologies(&self) -> &[Topology] {
        &self.topologies
    }

    /// The workload of jobs.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// Number of points.
    pub fn len(&self) -> u32 {
        self.points
    }

    /// Never true: every axis has an alternative.
    pub fn is_empty(&self) -> bool {
        self.points == 0
    }

    /// True if some workload has no duration, so that its loads are bytes instead of bytes per
    /// second.
    pub fn loads_are_bytes(&self) -> bool {
        self.flows.is_none()
            && self.jobs.iter().any(|job| {
                self.workloads[job.workload]
                    .segmentation
                    .phases
                    .iter()
                    .any(|phase| phase.duration_ns.is_none())
            })
    }

    /// Remarks on the workloads, a sentence each.
    pub fn remarks(&self) -> impl Iterator<Item = &str> {
        self.workloads.iter().flat_map(|workload| &workload.remarks).map(String::as_str)
    }

    /// The point of a run number below [`len`](Self::len): the digits of the number, the repetition
    /// the lowest digit, then the last axis.
    pub fn point(&self, run: u32) -> Point {
        let seed = self.settings.seed.wrapping_add(u64::from(run % self.repeat));
        let mut rest = (run / self.repeat) as usize;
        let mut choices = [0; Axis::ALL.len()];
        for axis in Axis::ALL.into_iter().rev() {
            let alternatives = self.axes.get(axis).len();
            choices[axis as usize] = rest % alternatives;
            rest /= alternatives;
        }
        Point { run, topology: rest, choices, seed }
    }

    /// A point's alternative on an axis.
    pub fn choice(&self, point: &Point, axis: Axis) -> &Choice {
        &self.axes.get(axis)[point.choices[axis as usize]]
    }

    /// The labels of a point in tables.
    pub fn labels(&self, point: &Point) -> RunLabels {
        let label = |axis| self.choice(point, axis).label().to_string();
        RunLabels {
            run: point.run,
            topology: self.topologies[point.topology].label().to_string(),
            scheduler: label(Axis::Scheduler),
            host_selector: label(Axis::HostSelector),
            process_mapper: label(Axis::ProcessMapper),
            router: label(Axis::Router),
            model: label(Axis::Model),
            transport: self.transport_label(point),
            collective: label(Axis::Collective),
            phases: label(Axis::Phases),
            seed: point.seed,
        }
    }

    /// Packets have a transport; flows have the headers of one, if it is named.
    fn transport_label(&self, point: &Point) -> String {
        match (self.choice(point, Axis::Model).name(), self.choice(point, Axis::Transport).label()) {
            ("packet" | "auto", "") => "ideal".into(),
            ("packet" | "auto" | "flow", label) => label.into(),
            _ => String::new(),
        }
    }

    /// The configuration of the whole sweep with all defaults, for the header of the result
    /// archive. It is equal for all shards, and for a trace from a file or a pipe.
    pub fn configuration(&self) -> serde_json::Value {
        let axes: serde_json::Map<String, serde_json::Value> = Axis::ALL
            .into_iter()
            .map(|axis| {
                let spellings: Vec<String> = self.axes.get(axis).iter().map(Choice::spelling).collect();
                (axis.key().into(), spellings.into())
            })
            .collect();
        let topologies: Vec<&str> = self.topologies.iter().map(Topology::label).collect();
        serde_json::json!({
            "generation": identity::GENERATION,
            "points": self.points,
            "repeat": self.repeat,
            "topology": topologies,
            "axes": axes,
            "settings": self.settings,
            "digests": {
                "topologies": self.topology_digests,
                "workloads": self.workload_digests,
                "jobs": self.jobs_digest,
                "recordings": self.recordings_digest,
            },
        })
    }
}

/// A list of flows has no trace.
fn no_scratch() -> std::io::Result<std::fs::File> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The workloads of all jobs, each trace once, and the jobs that run them.
fn assign(
    lines: &[Job],
    inputs: Vec<Workload>,
    scratch: Scratch,
    reading: Reading,
) -> Result<(Vec<Workload>, Vec<JobSource>)> {
    let given = inputs.len();
    let mut workloads = inputs;
    let mut jobs = Vec::new();
    if lines.is_empty() {
        let at_once = || Submission::Fixed { at_s: 0.0, duration_s: None };
        jobs.extend((0..given).map(|workload| JobSource { workload, submission: at_once() }));
        return Ok((workloads, jobs));
    }
    let open = lines.iter().filter(|line| line.trace.is_none()).count();
    if given != open && !(given == 1 && open > 0) {
        let problem = format!(
            "inputs: {given}, jobs without a `trace`: {open}; expected one input, or one for each such job"
        );
        return Err(Error::usage(problem));
    }
    let mut next_input = 0;
    let mut read: Vec<&std::path::Path> = Vec::new();
    for line in lines {
        let workload = match &line.trace {
            None => {
                next_input += 1;
                (next_input - 1).min(given - 1)
            }
            Some(trace) => {
                let known = read.iter().position(|path| *path == trace.path);
                let number = known.unwrap_or(read.len());
                if known.is_none() {
                    read.push(&trace.path);
                    let workload = Input::open(&trace.path)
                        .and_then(|input| Workload::read(input, scratch, reading))
                        .at(|| trace.path.display())?;
                    workloads.push(workload.named(&trace.label));
                }
                given + number
            }
        };
        let source = JobSource { workload, submission: line.submission.clone() };
        jobs.extend(std::iter::repeat_n(source, line.count as usize));
    }
    Ok((workloads, jobs))
}

/// A line of `--list`.
#[derive(Serialize)]
struct Listed<'a> {
    id: String,
    #[serde(flatten)]
    labels: &'a RunLabels,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<bool>,
}

impl Sweep {
    /// A point as one line of JSON: its identifier and its labels, and whether it is done, where
    /// that is asked.
    ///
    /// # Errors
    /// None that data can cause.
    pub fn listed(&self, point: &Point, done: Option<bool>) -> Result<String> {
        let labels = self.labels(point);
        let listed = Listed { id: self.id(point), labels: &labels, done };
        serde_json::to_string(&listed).map_err(|error| Error::data(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Progress;
    use crate::scenario::Scenario;
    use phaseflow_collect::{Cell, TrafficMatrix, trace::Rank};
    use phaseflow_segment::{FORMAT, Header, Phase, Segmentation, VERSION};
    use std::collections::HashSet;
    use std::path::Path;

    fn workload(name: &str, bytes: u64) -> Workload {
        let cell = Cell { src: Rank(0), dst: Rank(1), messages: 1, bytes };
        let matrix = TrafficMatrix::from_cells([cell]).unwrap();
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            source: name.into(),
            method: "none".into(),
            ranks: 2,
            duration_ns: None,
            unmatched_receives: Default::default(),
        };
        let phases =
            vec![Phase { name: "0".into(), title: String::new(), occurrences: 1, duration_ns: None, matrix }];
        Workload::new(name, Segmentation { header, phases, occurrences: Vec::new() })
    }

    fn sweep_of(scenario: &str, inputs: Vec<Workload>) -> Result<Sweep> {
        let plan = Plan::new(Scenario::parse(scenario, Path::new("")).unwrap())?;
        Sweep::load(plan, inputs, tempfile::tempfile)
    }

    fn sweep(scenario: &str) -> Sweep {
        sweep_of(scenario, vec![workload("a", 10)]).unwrap()
    }

    const PRODUCT: &str = "topology: ['star[hosts=2]', 'star[hosts=3]']\nscheduler: [fcfs, easy]\n\
        host_selector: [linear, random]\nprocess_mapper: [block, cyclic]\nrouter: [dmodk, greedy, greedy-max]\n\
        phases: [segmented, merged]\n";

    #[test]
    fn runs_come_in_order_and_progress_ends_at_their_work() {
        let sweep = sweep(PRODUCT);
        let (mut seen, progress) = (Vec::new(), Progress::default());
        let runs = (0..sweep.len()).filter(|run| run % 5 != 1);
        let sink = |result: crate::result::RunResult| {
            seen.push(result.labels.run);
            Ok(())
        };
        sweep.execute(runs.clone(), false, &progress, sink).unwrap();
        assert_eq!(seen, runs.collect::<Vec<_>>());
        assert_eq!(progress.done(), seen.iter().map(|run| sweep.work(&sweep.point(*run))).sum::<u64>());
    }

    #[test]
    fn numbers_count_the_last_axis_fastest() {
        let sweep = sweep(PRODUCT);
        assert_eq!(sweep.len(), 2 * 2 * 2 * 2 * 3 * 2);
        let mut run = 0;
        for topology in ["star[hosts=2]", "star[hosts=3]"] {
            for scheduler in ["fcfs", "easy"] {
                for selector in ["linear", "random"] {
                    for mapper in ["block", "cyclic"] {
                        for router in ["dmodk", "greedy", "greedy-max"] {
                            for phases in ["segmented", "merged"] {
                                let found = sweep.labels(&sweep.point(run));
                                let found = [
                                    found.topology,
                                    found.scheduler,
                                    found.host_selector,
                                    found.process_mapper,
                                    found.router,
                                    found.phases,
                                ];
                                assert_eq!(found, [topology, scheduler, selector, mapper, router, phases]);
                                run += 1;
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn identifiers_say_what_is_simulated_and_nothing_else() {
        let whole = sweep(PRODUCT);
        let ids: Vec<String> = (0..whole.len()).map(|run| whole.id(&whole.point(run))).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        let one = |text: &str, workload: Workload| {
            let sweep = sweep_of(text, vec![workload]).unwrap();
            sweep.id(&sweep.point(0))
        };
        let last = "topology: star[hosts=3]\nscheduler: easy\nhost_selector: random\nprocess_mapper: cyclic\n\
                    router: greedy-max\nphases: merged\n";
        assert_eq!(&one(last, workload("another name", 10)), ids.last().unwrap());
        assert!(!ids.contains(&one(last, workload("a", 11))), "another content");
        assert!(!ids.contains(&one(&format!("{last}seed: 2\n"), workload("a", 10))), "another seed");
        assert!(!ids.contains(&one(&format!("{last}slots: 2\n"), workload("a", 10))), "another network");
        assert!(!ids.contains(&one(&format!("{last}jobs: [{{at: 1}}]\n"), workload("a", 10))), "another job");
    }

    #[test]
    fn shards_are_disjoint_and_complete_and_keep_the_numbers() {
        let sweep = sweep(PRODUCT);
        let runs = |selection: &Selection| {
            selection.points(&sweep).unwrap().map(|point| point.run).collect::<Vec<_>>()
        };
        let all = runs(&Selection::default());
        assert_eq!(all, (0..sweep.len()).collect::<Vec<_>>());
        for shards in [1, 2, 5, 97] {
            let mut union: Vec<u32> = (1..=shards)
                .flat_map(|shard| runs(&Selection { shard: Some((shard, shards)), only: Vec::new() }))
                .collect();
            union.sort_unstable();
            assert_eq!(union, all);
        }
        let only = vec![sweep.id(&sweep.point(40)), sweep.id(&sweep.point(7))];
        assert_eq!(runs(&Selection { shard: None, only: only.clone() }), [7, 40]);
        assert_eq!(runs(&Selection { shard: Some((1, 2)), only }), [40]);
        let unknown = Selection { shard: None, only: vec!["0".into()] };
        let error = unknown.points(&sweep).err().unwrap();
        assert_eq!(error.to_string(), "no point has the identifier `0`; --list shows them");
    }

    #[test]
    fn inputs_and_jobs_have_to_match() {
        let star = "topology: star[hosts=2]\n";
        let two = || vec![workload("a", 1), workload("b", 2)];
        let jobs = |sweep: &Sweep| sweep.jobs.iter().map(|job| job.workload).collect::<Vec<_>>();
        assert_eq!(jobs(&sweep_of(star, two()).unwrap()), [0, 1]);
        let lines = format!("{star}jobs: [{{at: 1, count: 2}}, {{at: 0}}]\n");
        assert_eq!(jobs(&sweep_of(&lines, two()).unwrap()), [0, 0, 1]);
        assert_eq!(jobs(&sweep_of(&lines, vec![workload("a", 1)]).unwrap()), [0, 0, 0]);
        let error = sweep_of(&format!("{star}jobs: [{{at: 1}}]\n"), two()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "inputs: 2, jobs without a `trace`: 1; expected one input, or one for each such job"
        );
    }

    #[test]
    fn what_is_not_there_is_said_before_anything_is_read() {
        for (text, expected) in [
            (
                "router: dmodkk\n",
                "unknown router `dmodkk`; did you mean dmodk or smodk? (known: dmodk, smodk, random, ecmp, greedy, greedy-max, minimal, valiant, ugal, table, exec)",
            ),
            (
                "model: trafic\n",
                "unknown model `trafic`; did you mean traffic? (known: traffic, flow, packet, auto)",
            ),
            ("transport: ideal\n", "transport `ideal` is for messages: add --model flow or packet"),
            (
                "model: packet\ntransport: idea\n",
                "unknown transport `idea`; did you mean ideal? (known: ideal, usnic-2013, usnic-4.1, dctcp, roce, tcp)",
            ),
            (
                "collective: ring\n",
                "the traffic model has the matrices of the trace: collective `ring` needs --model flow or packet",
            ),
            (
                "model: flow\ncollective: switchml\n",
                "collective `switchml` sums packets on their way: it needs --model packet",
            ),
            (
                "model: 'packet[rendezvous=put]'\ntransport: usnic-4.1\n",
                "transport `usnic-4.1` asks the receivers of long messages itself: without rendezvous",
            ),
            ("model: 'packet[loss=2]'\n", "loss is 2, expected a probability below 1"),
            (
                "model: 'packet[fairness=rtt]'\n",
                "unknown parameter of `packet` `fairness` (known: compute-scale, host-speed, send-overhead, receive-overhead, eager, rendezvous, sampling, blame, path-steps, interference, memory, noise, stragglers, slowdown, mtu, buffer, shared, pause, ecn, loss, duplicate, reorder, paths, verify, allow-hang)",
            ),
            ("phases: merged[x=1]\n", "unknown parameter of `merged` `x` (there is none)"),
            (
                "jobs: [{submit: {exponential: {lambd: 1}}}]\n",
                "jobs are submitted without end: a `duration` (--duration) is needed",
            ),
        ] {
            let scenario =
                Scenario::parse(&format!("topology: no-such-file.graphml\n{text}"), Path::new("")).unwrap();
            assert_eq!(Plan::new(scenario).unwrap_err().to_string(), expected);
        }
    }
}
