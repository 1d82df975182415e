//! The record of a run: rows and statistics while it is simulated.

use super::fidelity;
use super::job::{Job, PhaseOfJob};
use super::load_summary::LoadSummary;
use super::phase_replays::PhaseReplays;
use super::program::Program;
use super::time_series::{Population, RunSeries};
use super::{LinkStatistics, Model, Setup, Submission, clock_time};
use crate::engine::Picoseconds;
use crate::link_bytes::LinkBytes;
use crate::phase_packets::PhasePackets;
use crate::process_mapping::Placement;
use crate::replay::Account;
use crate::result::{
    Chosen, JobRow, LinkPackets, LinkTable, PhaseRow, RankRow, RunResult, RunStatistics, Snapshot,
};
use crate::statistics::seconds;
use crate::topology::{HostId, LinkId};
use crate::traffic::{LinkLoads, LinkShare};
use phaseflow_collect::{Error, Result};

/// Values of snapshots, one a link, at most: 3 GB.
const MOST_VALUES: u64 = 1 << 28;

/// Rows, series and snapshots.
pub(super) struct Record<'a> {
    setup: &'a Setup<'a>,
    series: RunSeries,
    /// Those still to come, latest first.
    snapshot_times: Vec<Picoseconds>,
    link_rows: Vec<LinkRows>,
    /// By link: bytes of all phases that began.
    link_bytes: Vec<u64>,
    last_finish: Option<Picoseconds>,
    /// False once a job of nominal length has finished.
    timed: bool,
    result: RunResult,
}

/// A phase of a job in the table of links.
struct LinkRows {
    /// `None` for all phases together, which come last.
    job: Option<u32>,
    phase: Option<u32>,
    divisor: f64,
    shares: Vec<LinkShare>,
    /// In the packet model.
    packets: Vec<LinkPackets>,
}

/// A job whose rows are written.
struct EndedJob<'j> {
    number: u32,
    timed: bool,
    /// False if it still ran when the run ended.
    is_finished: bool,
    are_rates: bool,
    /// True if its routes may have changed.
    changes_routes: bool,
    program: &'j Program<'j>,
    placement: &'j Placement,
}

impl EndedJob<'_> {
    /// The row of a phase without its link statistics.
    fn phase_row(&self, number: usize, phase: &PhaseOfJob) -> PhaseRow {
        let of_program = &self.program.phases[number];
        let packets = phase.packets.as_ref();
        let replays = phase.replays.as_ref().filter(|_| self.is_finished);
        PhaseRow {
            job: self.number,
            phase: of_program.name.into(),
            occurrences: of_program.occurrences,
            duration_s: of_program.duration_ns.map(|ns| ns as f64 / 1e9),
            makespan_s: (self.is_finished && self.timed).then(|| seconds(phase.time)),
            bytes: of_program.bytes,
            drops: packets.map(|packets| packets.counts.drops),
            retransmits: packets.map(|packets| packets.counts.retransmits),
            replayed: replays.map(|replays| replays.sum),
            packets: packets.map(|packets| packets.counts),
            changed_routes: self.changes_routes.then_some(phase.changed_routes),
            chosen: phase.chosen.clone().map(|chosen| {
                if phase.met_others {
                    Chosen { model: fidelity::PACKET.into(), reason: "other jobs were there".into() }
                } else {
                    chosen
                }
            }),
            ..PhaseRow::default()
        }
    }
}

/// The packets of a phase that met no other jobs, those of samples included.
fn packets_alone(phase: &mut PhaseOfJob) -> Option<PhasePackets> {
    let mut packets = phase.packets.take().filter(|_| !phase.met_others);
    let sampled = phase.replays.as_ref().and_then(PhaseReplays::packets);
    if let Some(sampled) = sampled.filter(|_| !phase.met_others) {
        packets.get_or_insert_default().add(&sampled);
    }
    packets
}

impl<'a> Record<'a> {
    pub(super) fn new(setup: &'a Setup<'a>) -> Result<Self> {
        let values = setup.snapshots_s.len() as u64 * setup.topology.link_count() as u64;
        if values > MOST_VALUES {
            let (snapshots, links) = (setup.snapshots_s.len(), setup.topology.link_count());
            let problem =
                format!("{snapshots} snapshots of {links} links, expected at most {MOST_VALUES} values");
            return Err(Error::usage(problem));
        }
        let times = setup.snapshots_s.iter().map(|time| clock_time("the time of a snapshot", *time));
        let mut snapshot_times = times.collect::<Result<Vec<_>>>()?;
        snapshot_times.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Self {
            setup,
            series: RunSeries::default(),
            snapshot_times,
            link_rows: Vec::new(),
            link_bytes: vec![0; setup.topology.link_count()],
            last_finish: None,
            timed: true,
            result: RunResult {
                labels: setup.labels.clone(),
                topology: setup.topology_index,
                statistics: RunStatistics::default(),
                jobs: Vec::new(),
                phases: Vec::new(),
                ranks: Vec::new(),
                path: Vec::new(),
                blame: Vec::new(),
                links: LinkTable::default(),
                series: Vec::new(),
                snapshots: Vec::new(),
                routes: Vec::new(),
                flow_ends: Vec::new(),
            },
        })
    }

    /// Nothing changes from `now` until `time`.
    pub(super) fn delay(
        &mut self,
        now: Picoseconds,
        time: Picoseconds,
        loads: &mut LinkLoads,
        population: Population,
    ) {
        self.series.set(now, &loads.usage(), population);
        self.take_snapshots(loads, |at| at < time);
    }

    fn take_snapshots(&mut self, loads: &LinkLoads, is_due: impl Fn(Picoseconds) -> bool) {
        while let Some(at) = self.snapshot_times.pop_if(|at| is_due(*at)) {
            let (load, flows) = (loads.load().to_vec(), loads.flows().to_vec());
            self.result.snapshots.push(Snapshot { time_s: seconds(at), load, flows });
        }
    }

    /// Gives a job its number.
    pub(super) fn submitted(&mut self, workload: usize, now: Picoseconds) -> u32 {
        let job = self.result.jobs.len() as u32;
        self.result.jobs.push(JobRow {
            job,
            workload,
            submitted_s: seconds(now),
            started_s: None,
            finished_s: None,
            hosts: Vec::new(),
            ranks: Vec::new(),
            alone_s: None,
        });
        job
    }

    pub(super) fn started(&mut self, job: u32, hosts: &[HostId], of_rank: &[HostId], now: Picoseconds) {
        let topology = self.setup.topology;
        let row = &mut self.result.jobs[job as usize];
        row.started_s = Some(seconds(now));
        let nodes = |hosts: &[HostId]| hosts.iter().map(|host| topology.host(*host)).collect();
        row.hosts = nodes(hosts);
        if self.setup.link_statistics == LinkStatistics::Jobs {
            row.ranks = nodes(of_rank);
        }
    }

    /// A job finished, or still runs when the run ends.
    pub(super) fn ended(
        &mut self,
        job: Job,
        program: &Program<'_>,
        are_rates: bool,
        finished: Option<Picoseconds>,
    ) {
        if let Some(now) = finished {
            let row = &mut self.result.jobs[job.number as usize];
            row.finished_s = Some(seconds(now));
            let alone = job.delay.map(|delay| i128::from(now - job.started) - delay);
            row.alone_s = alone.and_then(|alone| u64::try_from(alone).ok()).map(seconds);
            self.last_finish = Some(now);
        }
        self.timed &= job.timed;
        let Job { number, timed, placement, phases, .. } = job;
        let is_finished = finished.is_some();
        let changes_routes = self.setup.changes_routes();
        let ended = EndedJob {
            changes_routes,
            number,
            timed,
            is_finished,
            are_rates,
            program,
            placement: &placement,
        };
        let begun = phases.into_iter().enumerate();
        let begun = begun.filter_map(|(number, phase)| Some((number, phase?)));
        for (position, (number, phase)) in (0..).zip(begun) {
            self.phase_ended(&ended, position, number, *phase);
        }
    }

    /// Adds the rows of a phase of a job, which has a position among those that began.
    fn phase_ended(&mut self, job: &EndedJob<'_>, position: u32, number: usize, mut phase: PhaseOfJob) {
        phase.packets = packets_alone(&mut phase);
        let mut row = job.phase_row(number, &phase);
        let replays = phase.replays.as_ref().filter(|_| job.is_finished);
        if let Some(replays) = replays {
            self.critical_paths(job.number, position, replays);
        }
        let of_phase = (!job.program.merged).then_some(position);
        let accounts = replays.map(|replays| &replays.accounts[..]);
        self.ranks(job.number, of_phase, accounts.unwrap_or_default(), job.placement);
        let time = phase.time;
        let (load_summary, routes) = (phase.load_summary, phase.routes.take());
        let mut senders = std::mem::take(&mut phase.senders);
        let (shares, packets) = self.link_shares(phase);
        // Rates over the simulated time; unknown for a time of 0.
        let simulated = self.setup.model.replay().map(|_| seconds(time));
        if let Some(seconds) = simulated {
            let rate = |bytes: u64| bytes as f64 / seconds;
            let load_summary = LoadSummary::of(self.setup.topology, &shares, rate);
            if time > 0 && !shares.is_empty() {
                load_summary.describe(true, &mut row);
            }
        } else if let Some(load_summary) = load_summary {
            load_summary.describe(job.are_rates, &mut row);
        }
        if self.setup.model.keeps_messages()
            && let Some(link) = row.bottleneck
        {
            row.senders = senders.of(link);
        }
        self.result.phases.push(row);
        self.result.routes.extend(routes);
        match self.setup.link_statistics {
            LinkStatistics::Jobs if simulated == Some(0.0) => {}
            LinkStatistics::Jobs => self.link_rows.push(LinkRows {
                job: Some(job.number),
                phase: of_phase,
                divisor: simulated.unwrap_or_else(|| job.program.divisor(number, job.are_rates)),
                shares,
                packets,
            }),
            LinkStatistics::Run => {
                for share in shares {
                    let bytes = &mut self.link_bytes[share.link.0 as usize];
                    *bytes = bytes.saturating_add(share.bytes);
                }
            }
        }
    }

    /// Adds the rows of the critical paths of a phase.
    fn critical_paths(&mut self, job: u32, position: u32, replays: &PhaseReplays) {
        let options = self.setup.model.replay().unwrap_or_default();
        let PhaseReplays { paths, sum, .. } = replays;
        // Endless jobs have sums only.
        let is_detailed = self.setup.link_statistics == LinkStatistics::Jobs;
        let steps = if is_detailed { options.path_steps } else { 0 };
        self.result.path.extend(paths.path_rows(job, position, sum, steps));
        self.result.blame.extend(paths.blame_rows(job, position, sum, is_detailed));
    }

    /// Bytes and packets of links in a phase.
    fn link_shares(&self, phase: PhaseOfJob) -> (Vec<LinkShare>, Vec<LinkPackets>) {
        let PhaseOfJob { shares, recorded, carried, packets, chosen, met_others, .. } = phase;
        let shares = if self.setup.changes_routes() { recorded } else { shares };
        let chosen = chosen.as_ref().filter(|_| !met_others).map(|chosen| &chosen.model[..]);
        // Packets of concurrent jobs are not counted by job.
        match (&self.setup.model, chosen, &packets) {
            (Model::Traffic, ..) | (_, Some(fidelity::TRAFFIC), _) => (shares, Vec::new()),
            (Model::Flow(..), ..) | (_, Some(fidelity::FLOW), _) => {
                (carried.shares(shares.iter().map(|share| share.link), &shares), Vec::new())
            }
            (Model::Packet(_), _, Some(packets)) => {
                let shares = packets.shares(&carried, &shares);
                let of_links = packets.of_links(&shares);
                (shares, of_links)
            }
            (Model::Packet(_), _, None) => (Vec::new(), Vec::new()),
        }
    }

    /// Packets of concurrent jobs, until `end`: one row per link.
    pub(super) fn packets_together(&mut self, packets: &PhasePackets, end: Picoseconds) {
        if packets.links.is_empty() {
            return;
        }
        let mut carried = LinkBytes::default();
        carried.add(packets.carried(), 1.0);
        let shares = packets.shares(&carried, &[]);
        self.link_rows.push(LinkRows {
            job: None,
            phase: None,
            divisor: seconds(end).max(f64::MIN_POSITIVE),
            packets: packets.of_links(&shares),
            shares,
        });
    }

    /// The account of each rank.
    pub(super) fn ranks(
        &mut self,
        job: u32,
        phase: Option<u32>,
        accounts: &[Account],
        placement: &Placement,
    ) {
        let topology = self.setup.topology;
        let rows = (0..).zip(accounts.iter().zip(&placement.hosts)).map(|(rank, (account, host))| RankRow {
            job,
            phase,
            rank,
            host: topology.host(*host),
            compute_s: seconds(account.compute),
            overhead_s: seconds(account.overhead),
            late_sender_s: seconds(account.late_sender),
            late_receiver_s: seconds(account.late_receiver),
            network_s: seconds(account.network),
        });
        self.result.ranks.extend(rows);
    }

    /// The result of a run that ends at `end`.
    pub(super) fn into_result(
        mut self,
        end: Picoseconds,
        mut loads: LinkLoads,
        population: Population,
        are_rates: bool,
    ) -> RunResult {
        // The last state counts for the extremes even if it lasts no time.
        self.series.set(end, &loads.usage(), population);
        self.series.finish(end);
        // A run that ends with its last job leaves an empty network.
        let goes_on = self.setup.duration_s.is_none();
        self.take_snapshots(&loads, |at| at <= end || goes_on);

        let mut result = self.result;
        let endless = |submission: &Submission| matches!(submission, Submission::Endless { .. });
        let is_open = self.setup.jobs.iter().any(|source| endless(&source.submission));
        result.statistics = RunStatistics {
            makespan_s: self.last_finish.filter(|_| self.timed && !is_open).map(seconds),
            jobs_finished: population.finished,
            ..self.series.statistics(are_rates)
        };
        result.series = self.series.into_series();
        if self.setup.model.replay().is_some() {
            // With timed models, loads at the rates of the trace only serve routers; they are not
            // results.
            let RunStatistics { makespan_s, jobs_finished, .. } = result.statistics;
            result.statistics = RunStatistics { makespan_s, jobs_finished, ..RunStatistics::default() };
            result.series.retain(|series| series.name.starts_with("jobs_"));
            result.snapshots.clear();
        }
        // Jobs end in an order of their own; the phases of a job are in order.
        result.phases.sort_by_key(|row| row.job);
        result.ranks.sort_by_key(|row| row.job);
        result.path.sort_by_key(|row| row.job);
        result.blame.sort_by_key(|row| row.job);
        result.routes.sort_by_key(|routes| routes.job);
        result.links = match self.setup.link_statistics {
            LinkStatistics::Jobs => links_by_job(self.link_rows),
            LinkStatistics::Run => links_of_run(&loads, &self.link_bytes),
        };
        result
    }
}

/// The table by job, phase and link.
fn links_by_job(mut rows: Vec<LinkRows>) -> LinkTable {
    rows.sort_by_key(|rows| (rows.job.is_none(), rows.job, rows.phase));
    let has_packets = rows.iter().any(|rows| !rows.packets.is_empty());
    let mut table = LinkTable::default();
    for rows in rows {
        if has_packets {
            // Phases of the flow model have no packets.
            let of_links = (0..rows.shares.len()).map(|place| rows.packets.get(place).copied());
            table.packets.extend(of_links);
        }
        for share in rows.shares {
            table.job.push(rows.job);
            table.phase.push(rows.phase);
            table.link.push(share.link);
            table.bytes.push(share.bytes);
            table.flows.push(share.flows);
            table.load.push(share.bytes as f64 / rows.divisor);
        }
    }
    table
}

/// The table of the whole run; `bytes` by link.
fn links_of_run(loads: &LinkLoads, bytes: &[u64]) -> LinkTable {
    let mut table = LinkTable::default();
    for (link, bytes) in (0..).map(LinkId).zip(bytes) {
        if *bytes > 0 || loads.peak_flows(link) > 0 {
            table.job.push(None);
            table.phase.push(None);
            table.link.push(link);
            table.bytes.push(*bytes);
            table.flows.push(loads.peak_flows(link));
            table.load.push(loads.peak_load(link));
        }
    }
    table
}
