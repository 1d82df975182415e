//! What the command line of `pf-simulate` can say, and the scenario that it makes of it.

use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use phaseflow::command::Common;
use phaseflow::input::Input;
use phaseflow::offered::Offered;
use phaseflow::output;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::pattern::Program;
use phaseflow_collect::units::{parse_rate_gbps, parse_time_ns};
use phaseflow_collect::{At, Error, Result};
use phaseflow_simulate::run::Reroute;
use phaseflow_simulate::scenario::{Axes, Axis, JobLog, NetworkChoice, Scenario};
use phaseflow_simulate::sweep::{self, Plan, Selection};
use phaseflow_simulate::topology::{Failure, Scale, TopologyOptions};

use crate::model_options::{FlowOptions, PacketOptions, complete};

/// Runs the phases of parallel programs on networks and says which link carries what
///
/// Every axis of choice takes a comma-separated list; all combinations are run. Parameters of a
/// choice follow in brackets. What the command line says replaces what a scenario says.
#[derive(Parser, Debug)]
#[command(name = "pf-simulate", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Phase archives; also trace archives and other traces that pf-collect reads, as one phase.
    /// Each is a job that is submitted at time 0, unless the scenario has jobs. `-` or nothing is
    /// standard input
    #[arg(value_name = "PHASES")]
    inputs: Vec<PathBuf>,

    /// Scenario file (docs/scenarios.md; PFSim's files run unchanged)
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// Run the jobs of a log in the Standard Workload Format (SWF). Each runs the one of PHASES
    /// that has as many ranks as the job has processors. Without one it runs --job-pattern, or the
    /// largest of PHASES that it has processors for
    #[arg(long, value_name = "LOG.swf", conflicts_with = "flows")]
    jobs: Option<PathBuf>,

    /// What jobs of --jobs do for which PHASES have none of their size: a program as pf-collect
    /// --pattern takes it
    #[arg(long, value_name = "PATTERN", requires = "jobs")]
    job_pattern: Option<String>,

    /// Number of jobs of --jobs, from the first on [default: all]
    #[arg(long, value_name = "N", requires = "jobs", value_parser = clap::value_parser!(u32).range(1..))]
    first_jobs: Option<u32>,

    /// Run a list of flows instead of PHASES, each independent of the others: CSV lines
    /// src,dst,bytes and, if they differ, start_ns, hosts by number or name. For --model flow,
    /// which is the default here, and packet
    #[arg(long, value_name = "LIST.csv", conflicts_with = "inputs")]
    pub(crate) flows: Option<PathBuf>,

    /// Write the end and the duration of each flow of --flows as CSV, in the order of the list:
    /// end_s,duration_s, seconds
    #[arg(long, value_name = "FILE", requires = "flows", conflicts_with = "resume")]
    pub(crate) ends: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,

    #[command(flatten)]
    axes: AxisOptions,

    #[command(flatten)]
    pub(crate) network: NetworkOptions,

    #[command(flatten)]
    flow: FlowOptions,

    #[command(flatten)]
    pub(crate) runs: RunOptions,

    #[command(flatten)]
    pub(crate) sweep: SweepOptions,

    #[command(flatten)]
    packet: PacketOptions,
}

const EXAMPLES: &str = r"Examples:
  pf-collect messages.csv | pf-segment |
    pf-simulate --topology cluster.graphml --router dmodk,greedy | pf-report -o out/
  pf-simulate phases.tar.gz --topology 'xgft[m=16:16:8,w=1:16:16],torus[dims=8x8x8]' \
    --capacity 100 -o results.tar.gz
  pf-simulate --flows flows.csv --topology 'star[hosts=8]' --ends ends.csv -o results.tar.gz
  pf-simulate --topology 'xgft[m=4:4,w=1:2]' --write-topology cluster.graphml
  pf-simulate --scenario scenario.yml --list";

#[derive(Args, Debug)]
#[command(next_help_heading = "Axes")]
pub(crate) struct AxisOptions {
    /// GraphML files or star, fat-tree, xgft, leaf-spine, torus, mesh, hyperx, dragonfly,
    /// jellyfish, slimfly: `fat-tree[k=8]`
    #[arg(long, value_name = "LIST")]
    topology: Option<String>,

    /// fcfs, easy, conservative, exec:PROGRAM [default: fcfs]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::Scheduler), hide_possible_values = true)]
    scheduler: Option<String>,

    /// linear, random, compact, scattered, aware, exec:PROGRAM [default: linear]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::HostSelector), hide_possible_values = true)]
    host_selector: Option<String>,

    /// block, cyclic, random, greedy, bisection, aware, file:PATH (Open MPI rankfile, or lines
    /// rank,host), exec:PROGRAM [default: block]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::ProcessMapper), hide_possible_values = true)]
    process_mapper: Option<String>,

    /// dmodk, smodk, random, ecmp, greedy, greedy-max, minimal, valiant, ugal, table:FILE,
    /// exec:PROGRAM [default: dmodk]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::Router), hide_possible_values = true)]
    router: Option<String>,

    /// traffic, flow, packet; auto: for each phase the cheapest that can be trusted, see the column
    /// `reason` [default: traffic]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::Model), hide_possible_values = true)]
    model: Option<String>,

    /// How messages become packets: ideal; usnic-2013 and usnic-4.1 with
    /// [pass,timeout,fast-retransmit,ack-delay,window,credits,tiny]; dctcp with
    /// [initial-window,least-timeout]; roce with [timeout,rate-control]; tcp with
    /// [congestion,initial-window,least-timeout,ack-delay,window,host-queue]; flows have its
    /// headers [default: ideal]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::Transport), hide_possible_values = true)]
    transport: Option<String>,

    /// How MPI_Allreduce is carried out: as recorded, ring, recursive-doubling, halving-doubling,
    /// binomial, ps; by the network: switchml, switchml-lab, atp [default: recorded]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::Collective), hide_possible_values = true)]
    collective: Option<String>,

    /// segmented, merged into one averaged phase [default: segmented]
    #[arg(long, value_name = "LIST", value_parser = offered(Axis::Phases), hide_possible_values = true)]
    phases: Option<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Networks")]
pub(crate) struct NetworkOptions {
    /// Processes per host [default: as the file says; 1 for generated networks]
    #[arg(long, value_name = "N")]
    slots: Option<u32>,

    /// Capacity of every link, Gbit/s: 10, 400G [default: as the file says; 10 for generated
    /// networks]
    #[arg(long, value_name = "RATE")]
    capacity: Option<String>,

    /// Run each network also with a faster link: leaf0>spine1×2, or leaf0<>spine1×2 for both
    /// directions; several changes make several networks
    #[arg(long, value_name = "LINK×F", value_delimiter = ',')]
    what_if: Vec<String>,

    /// Take out links, switches or hosts: leaf0<>spine1, leaf0>spine1 for one direction,
    /// leaf0<>spine1#1 for the second of parallel links, spine1; with @TIME it fails at that time
    /// of the run
    #[arg(long, value_name = "LINK,…", value_delimiter = ',')]
    fail: Vec<String>,

    /// Latency of every link [default: 1us]
    #[arg(long, value_name = "TIME")]
    latency: Option<String>,

    /// Time in a switch [default: 0s]
    #[arg(long, value_name = "TIME")]
    switch_latency: Option<String>,

    /// Write the network as GraphML that --topology reads as the same network. Without PHASES (`-`
    /// for standard input), a scenario or --flows that is all
    #[arg(long, value_name = "FILE")]
    write_topology: Option<PathBuf>,

    /// Print the effective bisection bandwidth of each network and router as CSV, over N random
    /// divisions of the hosts into halves, and end: means are parts of the capacity of host links
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) bisections: Option<u32>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Runs")]
pub(crate) struct RunOptions {
    /// End of each run, for jobs without end [default: when all jobs are finished]
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,

    /// Times of snapshots of all link loads: 1s,2s
    #[arg(long, value_name = "TIME,…")]
    snapshot: Option<String>,

    /// Choose routes once a `job` or once a `phase` [default: job]
    #[arg(long, value_name = "WHEN", value_parser = Offered::new(["job", "phase"]), hide_possible_values = true)]
    reroute: Option<String>,

    /// Write the switches' forwarding tables, DIR/RUN-PHASE.yml, or DIR/RUN-JOB-PHASE.yml if there
    /// are several jobs
    #[arg(long, value_name = "DIR")]
    pub(crate) forwarding_tables: Option<PathBuf>,

    /// Seed of all random numbers [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Run each point with N seeds, from the given one on; pf-report --table intervals says how far
    /// they agree [default: 1]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Sweeps")]
pub(crate) struct SweepOptions {
    /// Print the points as JSON, one a line, and end
    #[arg(long, conflicts_with_all = ["dry_run", "status"])]
    pub(crate) list: bool,

    /// Run every N-th point, beginning with the I-th: 1/4 … 4/4
    #[arg(long, value_name = "I/N")]
    shard: Option<String>,

    /// Run the points with these identifiers
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    only: Vec<String>,

    /// Print the points as JSON, one a line, and end; `done` says whether the file that -o names,
    /// or what there is of it so far, has the point
    #[arg(long)]
    pub(crate) status: bool,

    /// Go on where the writing of -o FILE was ended: runs that are complete in FILE.partial are
    /// taken over
    #[arg(long, conflicts_with_all = ["list", "dry_run", "status"])]
    pub(crate) resume: bool,

    /// Check networks and routers and end. Prints as JSON, one a line, how long the routes between
    /// all hosts are and which link most of them take. Names a circle of links that wait for each
    /// other, if there is one
    #[arg(long, conflicts_with_all = ["list", "status", "dry_run", "resume"])]
    pub(crate) check: bool,

    /// Print an estimate of work and memory, and end
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A list of choices on an axis, of which shells offer the names.
fn offered(axis: Axis) -> Offered {
    // A program's name follows.
    let spelled = |name| if name == "exec" { "exec:" } else { name };
    Offered::new(sweep::names(axis).into_iter().map(spelled))
}

impl Arguments {
    /// The file that is written.
    pub(crate) fn output_file(&self) -> Result<Option<&Path>> {
        let output = self.common.output.as_deref();
        let file = output.filter(|path| *path != Path::new("-") && !output::is_stream(path));
        if file.is_none() && (self.sweep.resume || self.sweep.status) {
            return Err(Error::usage("--resume and --status are for a file: name it with -o FILE"));
        }
        Ok(file)
    }

    /// What the scenario file says and the command line, which replaces what that says.
    pub(crate) fn scenario(&self) -> Result<Scenario> {
        let said = self.said()?;
        let written = self.scenario.as_deref().map(Scenario::read).transpose()?.unwrap_or_default();
        let mut scenario = said.or(written).ended();
        if self.flows.is_some() && scenario.axes.get(Axis::Model).is_empty() {
            scenario.axes.set(Axis::Model, vec![Choice::plain("flow")]);
        }
        scenario = complete(scenario, &self.flow, &self.packet)?;
        scenario.networks = self.network.what_if(scenario.networks)?;
        Ok(scenario)
    }

    /// What the command line says, as a scenario.
    fn said(&self) -> Result<Scenario> {
        let mut scenario = Scenario { axes: self.axes.parse()?, seed: self.runs.seed, ..Scenario::default() };
        scenario.repeat = self.runs.repeat;
        scenario.options = self.network.parse()?;
        scenario.failures = self.network.failures()?;
        if let Some(text) = &self.axes.topology {
            scenario.networks = NetworkChoice::parse_list(text, Path::new("")).at(|| "--topology")?;
        }
        scenario.duration_s = self.runs.duration.as_deref().map(seconds).transpose().at(|| "--duration")?;
        if let Some(text) = &self.runs.snapshot {
            scenario.snapshots_s = text.split(',').map(seconds).collect::<Result<_>>().at(|| "--snapshot")?;
            scenario.snapshots_s.sort_by(f64::total_cmp);
        }
        scenario.reroute = self.runs.reroute.as_deref().map(Reroute::parse).transpose().at(|| "--reroute")?;
        scenario.log = self.jobs.as_deref().map(|path| self.log(path)).transpose()?;
        Ok(scenario)
    }

    fn log(&self, path: &Path) -> Result<JobLog> {
        if let Some(pattern) = &self.job_pattern {
            Program::parse(pattern).at(|| "--job-pattern")?;
        }
        Ok(JobLog {
            label: path.display().to_string(),
            path: path.into(),
            traces: Vec::new(),
            pattern: self.job_pattern.clone(),
            first: self.first_jobs,
        })
    }

    pub(crate) fn selection(&self) -> Result<Selection> {
        let shard = self.sweep.shard.as_deref().map(Selection::parse_shard).transpose().at(|| "--shard")?;
        Ok(Selection { shard, only: self.sweep.only.clone() })
    }

    /// Where the network goes, and whether that is all that is asked for.
    pub(crate) fn written_topology(&self) -> Option<(&Path, bool)> {
        let is_all =
            self.inputs.is_empty() && self.scenario.is_none() && self.flows.is_none() && self.jobs.is_none();
        self.network.write_topology.as_deref().map(|file| (file, is_all))
    }

    /// The inputs that the plan needs; inputs that it would not use are a mistake.
    pub(crate) fn inputs(&self, plan: &Plan) -> Result<Vec<Input>> {
        if plan.needs_inputs() || (plan.takes_inputs() && !self.inputs.is_empty()) {
            return Input::all(&self.inputs);
        }
        match self.inputs.first() {
            None => Ok(Vec::new()),
            Some(input) => Err(Error::usage(format!(
                "{}: every job of the scenario names its own trace, expected no input",
                input.display()
            ))),
        }
    }
}

impl AxisOptions {
    fn parse(&self) -> Result<Axes> {
        let options = [
            (Axis::Scheduler, &self.scheduler),
            (Axis::HostSelector, &self.host_selector),
            (Axis::ProcessMapper, &self.process_mapper),
            (Axis::Router, &self.router),
            (Axis::Model, &self.model),
            (Axis::Transport, &self.transport),
            (Axis::Collective, &self.collective),
            (Axis::Phases, &self.phases),
        ];
        let mut axes = Axes::default();
        for (axis, text) in options {
            if let Some(text) = text {
                let choices =
                    Choice::parse_list(text).at(|| format!("--{}", axis.key().replace('_', "-")))?;
                axes.set(axis, choices);
            }
        }
        Ok(axes)
    }
}

impl NetworkOptions {
    /// The networks, each followed by itself with what is different.
    fn what_if(&self, networks: Vec<NetworkChoice>) -> Result<Vec<NetworkChoice>> {
        let scales = self.what_if.iter().map(|text| Scale::parse(text)).collect::<Result<Vec<_>>>();
        let scales = scales.at(|| "--what-if")?;
        let with = |network: NetworkChoice| {
            let changed: Vec<NetworkChoice> = scales.iter().map(|scale| network.what_if(scale)).collect();
            std::iter::once(network).chain(changed)
        };
        Ok(networks.into_iter().flat_map(with).collect())
    }

    /// What fails.
    fn failures(&self) -> Result<Vec<Failure>> {
        self.fail.iter().map(|text| Failure::parse(text)).collect::<Result<_>>().at(|| "--fail")
    }

    fn parse(&self) -> Result<TopologyOptions> {
        Ok(TopologyOptions {
            slots: self.slots,
            capacity_gbps: self.capacity.as_deref().map(parse_rate_gbps).transpose().at(|| "--capacity")?,
            link_latency_ps: self.latency.as_deref().map(picoseconds).transpose().at(|| "--latency")?,
            switch_latency_ps: self
                .switch_latency
                .as_deref()
                .map(picoseconds)
                .transpose()
                .at(|| "--switch-latency")?,
        })
    }
}

fn seconds(text: &str) -> Result<f64> {
    Ok(parse_time_ns(text)? as f64 / 1e9)
}

fn picoseconds(text: &str) -> Result<u64> {
    let ns = parse_time_ns(text)?;
    ns.checked_mul(1000).ok_or_else(|| Error::usage(format!("`{text}` is more than 213 days")))
}
