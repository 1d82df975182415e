//! Reading a result archive, one run in memory at a time.
//!
//! Numbers that a run refers to (topology, workloads, links) are checked when the run is read, so
//! users of a [`RunResult`] may index with them.

use std::collections::HashMap;
use std::io::BufRead;

use phaseflow_collect::archive::columns::{BlockReader, LARGEST_BYTES, UNKNOWN};
use phaseflow_collect::archive::{ArchiveReader, MemberInfo, SUMMARY};
use phaseflow_collect::trace::read_cells;
use phaseflow_collect::{At, Error, ErrorKind, MatrixBuilder, Result};
use phaseflow_segment::{Phase, Segmentation};
use serde::de::DeserializeOwned;

use super::writer::{NetworkEntry, PhaseEntry, RunEntry, Summary, WorkloadEntry};
use super::{FORMAT, Network, ResultHeader, RunResult, Series, Snapshot, VERSION};
use crate::topology::{LinkId, NodeId};
use crate::workload::Workload;

/// Largest member of lines, bytes: a writer ends one at 4 MiB plus a line.
const LARGEST_LINES: u64 = 64 << 20;

/// Reads a result archive front to back.
pub struct ResultReader<R: BufRead> {
    archive: ArchiveReader<R>,
    header: ResultHeader,
    networks: Vec<Network>,
    workloads: Vec<Workload>,
    /// The member after those that were read, the first of the next run or the summary.
    ahead: MemberInfo,
    runs: usize,
    last: Option<u32>,
    finished: bool,
    /// Whether a truncated archive is accepted, and whether this one is truncated.
    partial: bool,
    cut: bool,
    bytes: Vec<u8>,
}

/// `runs/3/links/000000` is part `links/000000` of number 3 in folder `runs`; `runs/3.json` is its
/// empty part.
struct Place<'a> {
    folder: &'a str,
    number: u32,
    part: &'a str,
}

impl<'a> Place<'a> {
    fn of(member: &'a str) -> Option<Self> {
        let (folder, rest) = member.split_once('/')?;
        let (number, part) = match rest.split_once('/') {
            Some((number, part)) => (number, part),
            None => (rest.strip_suffix(".json")?, ""),
        };
        Some(Self { folder, number: number.parse().ok()?, part })
    }

    /// `series/2/000000` is of `series` number 2.
    fn numbered(&self) -> Option<(&'a str, usize)> {
        let (kind, rest) = self.part.split_once('/')?;
        Some((kind, rest.split('/').next()?.parse().ok()?))
    }
}

impl<R: BufRead> ResultReader<R> {
    /// Opens an archive, gzip'ed or not, and reads what its runs refer to.
    ///
    /// # Errors
    /// Input that is no result archive, a later version, or a damaged one.
    pub fn open(input: R) -> Result<Self> {
        Self::begin(input, false)
    }

    /// As [`open`](Self::open) for an archive that may be truncated: its complete runs are read,
    /// and the rest is skipped.
    ///
    /// # Errors
    /// As [`open`](Self::open); an archive that ends before its first run could begin.
    pub fn open_partial(input: R) -> Result<Self> {
        Self::begin(input, true)
    }

    fn begin(input: R, partial: bool) -> Result<Self> {
        let archive = ArchiveReader::open(input)?;
        let header = archive.header(FORMAT, VERSION)?;
        let mut reader = Self {
            archive,
            header,
            networks: Vec::new(),
            workloads: Vec::new(),
            ahead: nothing(),
            runs: 0,
            last: None,
            finished: false,
            partial,
            cut: false,
            bytes: Vec::new(),
        };
        match reader.subjects() {
            Err(_) if reader.cut => Err(Error::truncated("is truncated before its first run")),
            outcome => outcome.map(|()| reader),
        }
    }

    /// Reads what runs refer to.
    fn subjects(&mut self) -> Result<()> {
        self.advance()?;
        while self.ahead.name != SUMMARY && !self.cut {
            let member = self.ahead.clone();
            match Place::of(&member.name) {
                Some(Place { folder: "runs", .. }) => break,
                Some(Place { folder: "topologies", number, part: "" }) => self.network(&member, number)?,
                Some(Place { folder: "workloads", number, part: "" }) => self.workload(&member, number)?,
                _ => self.advance()?,
            }
        }
        Ok(())
    }

    /// Goes to the next member. The last one is the summary, except in a truncated archive.
    fn advance(&mut self) -> Result<()> {
        let next = self.archive.next_member().and_then(|member| {
            member.ok_or_else(|| {
                Error::truncated(format!("ends without `{SUMMARY}`: the archive is truncated"))
            })
        });
        self.ahead = self.unless_cut(next)?.unwrap_or_else(nothing);
        Ok(())
    }

    /// `None` for failures by truncation, if the archive may be truncated.
    fn unless_cut<T>(&mut self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Err(error) if self.partial && (self.cut || error.kind() == ErrorKind::Truncated) => {
                self.cut = true;
                Ok(None)
            }
            outcome => outcome.map(Some),
        }
    }

    /// True if the archive is truncated.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The simulated part.
    pub fn header(&self) -> &ResultHeader {
        &self.header
    }

    /// The topologies, by the number that runs name.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// The workloads, by the number that jobs name.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// The next run; `None` after the last.
    ///
    /// # Errors
    /// A damaged, truncated or contradictory archive.
    pub fn next_run(&mut self) -> Result<Option<RunResult>> {
        while !self.finished && !self.cut {
            let member = self.ahead.clone();
            if member.name == SUMMARY {
                let end = self.end(&member);
                self.unless_cut(end)?;
                break;
            }
            match Place::of(&member.name) {
                Some(Place { folder: "runs", number, part: "" }) => {
                    // A run states its sizes, so the last one of a truncated archive may be
                    // complete.
                    let run = self.run(&member, number);
                    let run = self.unless_cut(run)?;
                    self.runs += usize::from(run.is_some());
                    return Ok(run);
                }
                _ => self.advance()?,
            }
        }
        Ok(None)
    }

    fn end(&mut self, member: &MemberInfo) -> Result<()> {
        let summary: Summary = self.archive.json(member)?;
        let seen =
            Summary { topologies: self.networks.len(), workloads: self.workloads.len(), runs: self.runs };
        if summary != seen {
            let problem = format!(
                "says {} topologies, {} workloads and {} runs, the archive holds {}, {} and {}",
                summary.topologies,
                summary.workloads,
                summary.runs,
                seen.topologies,
                seen.workloads,
                seen.runs
            );
            return Err(Error::data(problem).at(SUMMARY));
        }
        self.finished = true;
        self.archive.next_member()?;
        Ok(())
    }

    /// Passes the members of the entry at `head` to `part`, which returns whether it knows the
    /// member.
    fn parts(
        &mut self,
        head: &MemberInfo,
        mut part: impl FnMut(&mut ArchiveReader<R>, &mut Vec<u8>, &MemberInfo, &Place<'_>) -> Result<()>,
    ) -> Result<()> {
        let entry = Place::of(&head.name).map(|place| (place.folder, place.number));
        loop {
            self.advance()?;
            let Some(place) = Place::of(&self.ahead.name) else { return Ok(()) };
            if Some((place.folder, place.number)) != entry || place.part.is_empty() {
                return Ok(());
            }
            part(&mut self.archive, &mut self.bytes, &self.ahead, &place)?;
        }
    }

    fn network(&mut self, member: &MemberInfo, number: u32) -> Result<()> {
        in_order(member, number, self.networks.len())?;
        let entry: NetworkEntry = self.archive.json(member)?;
        let (mut nodes, mut links) = (Vec::new(), Vec::new());
        self.parts(member, |archive, _, member, place| match place.part.split_once('/') {
            Some(("nodes", _)) => lines(archive, member, &mut nodes),
            Some(("links", _)) => lines(archive, member, &mut links),
            _ => Ok(()),
        })?;
        let NetworkEntry { label, switch_latency_ps, port_order, .. } = entry;
        let network = Network { label, switch_latency_ps, port_order, nodes, links };
        let check = || {
            count("nodes", entry.nodes, network.nodes.len())?;
            count("links", entry.links, network.links.len())?;
            let nodes = network.nodes.len();
            match network.links.iter().position(|link| (link.src.0.max(link.dst.0) as usize) >= nodes) {
                Some(at) => Err(Error::data(format!("link {at} ends at no node of the {nodes}"))),
                None => Ok(()),
            }
        };
        check().at(|| &member.name)?;
        self.networks.push(network);
        Ok(())
    }

    fn workload(&mut self, member: &MemberInfo, number: u32) -> Result<()> {
        in_order(member, number, self.workloads.len())?;
        let entry: WorkloadEntry = self.archive.json(member)?;
        let mut occurrences = Vec::new();
        let mut matrices: Vec<_> = entry.phases.iter().map(|_| MatrixBuilder::default()).collect();
        let mut cells = Vec::new();
        self.parts(member, |archive, bytes, member, place| match place.numbered() {
            Some(("occurrences", _)) => lines(archive, member, &mut occurrences),
            Some(("matrix", phase)) => {
                read_cells(archive, member, bytes, &mut cells)?;
                let matrix = matrices.get_mut(phase);
                let matrix = matrix
                    .ok_or_else(|| Error::data("is of a phase that does not exist").at(&member.name))?;
                let ranks = entry.segmentation.ranks;
                if let Some(cell) = cells.iter().find(|cell| cell.src.0.max(cell.dst.0) >= ranks) {
                    let rank = cell.src.0.max(cell.dst.0);
                    return Err(Error::data(format!(
                        "rank {rank} sends or receives, the run has {ranks} ranks"
                    ))
                    .at(&member.name));
                }
                cells.iter().try_for_each(|cell| matrix.add(*cell)).at(|| &member.name)
            }
            _ => Ok(()),
        })?;
        let phases =
            entry.phases.into_iter().zip(matrices).map(|(phase, matrix)| checked_phase(phase, matrix));
        let phases = phases.collect::<Result<Vec<_>>>().at(|| &member.name)?;
        count("occurrences", entry.occurrences, occurrences.len()).at(|| &member.name)?;
        let segmentation = Segmentation { header: entry.segmentation, phases, occurrences };
        let known = segmentation.phases.len();
        for (row, occurrence) in segmentation.occurrences.iter().enumerate() {
            let named = occurrence.phase.is_none_or(|phase| (phase as usize) < known);
            if !named || occurrence.end_ns < occurrence.start_ns {
                let problem =
                    format!("occurrence {row} names none of {known} phases or ends before it starts");
                return Err(Error::data(problem).at(&member.name));
            }
        }
        self.workloads.push(Workload::new(entry.name, segmentation));
        Ok(())
    }

    fn run(&mut self, member: &MemberInfo, number: u32) -> Result<RunResult> {
        let entry: RunEntry = self.archive.json(member)?;
        let ordered = self.last.is_none_or(|last| last < number);
        if entry.labels.run != number || !ordered {
            let last = self.last.map_or("none".into(), |last| last.to_string());
            let problem =
                format!("is of run {}, the one before it of {last}: not ascending", entry.labels.run);
            return Err(Error::data(problem).at(&member.name));
        }
        self.last = Some(number);
        let series = entry.series.iter().map(|series| Series {
            name: series.name.clone(),
            time_s: Vec::new(),
            value: Vec::new(),
            summary: series.summary,
        });
        let snapshots = entry.snapshots.iter();
        let mut run = RunResult {
            labels: entry.labels.clone(),
            topology: entry.topology,
            statistics: entry.statistics,
            jobs: Vec::new(),
            phases: Vec::new(),
            ranks: Vec::new(),
            path: Vec::new(),
            blame: Vec::new(),
            links: super::LinkTable::default(),
            series: series.collect(),
            snapshots: snapshots
                .map(|t| Snapshot { time_s: *t, load: Vec::new(), flows: Vec::new() })
                .collect(),
            routes: Vec::new(),
            flow_ends: Vec::new(),
        };
        self.parts(member, |archive, bytes, member, place| match place.numbered() {
            Some(("jobs", _)) => lines(archive, member, &mut run.jobs),
            Some(("phases", _)) => lines(archive, member, &mut run.phases),
            Some(("ranks", _)) => lines(archive, member, &mut run.ranks),
            Some(("path", _)) => lines(archive, member, &mut run.path),
            Some(("blame", _)) => lines(archive, member, &mut run.blame),
            Some(("links", _)) => block(archive, member, bytes, |block| link_rows(block, &mut run.links)),
            Some(("series", at)) => block(archive, member, bytes, |block| {
                let series = run.series.get_mut(at).ok_or_else(unlisted)?;
                floats(block, 1, "time_s", &mut series.time_s)?;
                floats(block, 2, "value", &mut series.value)
            }),
            Some(("snapshots", at)) => block(archive, member, bytes, |block| {
                let snapshot = run.snapshots.get_mut(at).ok_or_else(unlisted)?;
                floats(block, 1, "load", &mut snapshot.load)?;
                unsigned(block, 2, "flows", &mut snapshot.flows)
            }),
            _ => Ok(()),
        })?;
        self.check(&entry, &run).at(|| &member.name)?;
        Ok(run)
    }

    fn check(&self, entry: &RunEntry, run: &RunResult) -> Result<()> {
        let Some(network) = self.networks.get(run.topology) else {
            let known = self.networks.len();
            return Err(Error::data(format!("topology is {}, the archive has {known}", run.topology)));
        };
        let links = network.links.len();
        count("jobs", entry.jobs, run.jobs.len())?;
        count("phases", entry.phases, run.phases.len())?;
        count("ranks", entry.ranks, run.ranks.len())?;
        count("rows of path", entry.path, run.path.len())?;
        count("rows of blame", entry.blame, run.blame.len())?;
        count("links", entry.links, run.links.link.len())?;
        for (series, stated) in run.series.iter().zip(&entry.series) {
            count(&format!("points of series {}", stated.name), stated.points, series.time_s.len())?;
        }
        for snapshot in &run.snapshots {
            count("links of a snapshot", links, snapshot.load.len())?;
        }
        if let Some(job) = run.jobs.iter().find(|job| job.workload >= self.workloads.len()) {
            let known = self.workloads.len();
            return Err(Error::data(format!(
                "job {}: workload is {}, the archive has {known}",
                job.job, job.workload
            )));
        }
        let nodes = network.nodes.len();
        let hosts = run
            .jobs
            .iter()
            .flat_map(|job| job.hosts.iter().chain(&job.ranks))
            .chain(run.ranks.iter().map(|rank| &rank.host))
            .chain(
                run.phases.iter().flat_map(|phase| &phase.senders).flat_map(|pair| [&pair.src, &pair.dst]),
            );
        if let Some(NodeId(node)) = hosts.into_iter().find(|node| node.0 as usize >= nodes) {
            return Err(Error::data(format!("host is node {node}, the topology has {nodes}")));
        }
        check_phases(run)?;
        let bottlenecks = run.phases.iter().filter_map(|phase| phase.bottleneck);
        let of_paths = run.path.iter().filter_map(|row| row.link);
        let blamed = run.blame.iter().filter_map(|row| row.link);
        let named = run.links.link.iter().copied().chain(bottlenecks).chain(of_paths).chain(blamed);
        match named.into_iter().find(|link| link.0 as usize >= links) {
            Some(LinkId(link)) => Err(Error::data(format!("link is {link}, the topology has {links}"))),
            None => Ok(()),
        }
    }
}

/// Every row of the link table that names a job names one of its phases, or none.
fn check_phases(run: &RunResult) -> Result<()> {
    let mut phases: HashMap<u32, u32> = HashMap::new();
    for phase in &run.phases {
        *phases.entry(phase.job).or_default() += 1;
    }
    let named = run.links.job.iter().zip(&run.links.phase);
    let ranks = run.ranks.iter().filter_map(|row| Some((row.job, row.phase?)));
    let of_paths = run.path.iter().map(|row| (row.job, row.phase));
    let blamed = run.blame.iter().map(|row| (row.job, row.phase));
    let named = named.filter_map(|(job, phase)| Some(((*job)?, (*phase)?))).chain(ranks);
    let named = named.chain(of_paths).chain(blamed);
    for (job, phase) in named {
        let known = phases.get(&job).copied().unwrap_or(0);
        if phase >= known {
            return Err(Error::data(format!(
                "table of links, ranks, path or blame: phase is {phase}, job {job} has {known}"
            )));
        }
    }
    Ok(())
}

/// A place without a member.
fn nothing() -> MemberInfo {
    MemberInfo { name: String::new(), size: 0 }
}

fn unlisted() -> Error {
    Error::data("is not listed in its run")
}

fn in_order(member: &MemberInfo, number: u32, expected: usize) -> Result<()> {
    if number as usize == expected {
        return Ok(());
    }
    Err(Error::data(format!("comes where number {expected} was expected")).at(&member.name))
}

fn count(what: &str, stated: usize, found: usize) -> Result<()> {
    if stated == found {
        return Ok(());
    }
    Err(Error::data(format!("says {stated} {what}, the archive holds {found}")))
}

fn checked_phase(entry: PhaseEntry, matrix: MatrixBuilder) -> Result<Phase> {
    let matrix = matrix.finish();
    if matrix.bytes() != entry.bytes {
        let problem =
            format!("phase {} has {} bytes, its matrix {}", entry.name, entry.bytes, matrix.bytes());
        return Err(Error::data(problem));
    }
    let title = entry.title.unwrap_or_default();
    let PhaseEntry { name, occurrences, duration_ns, .. } = entry;
    Ok(Phase { name, title, occurrences, duration_ns, matrix })
}

/// Appends the values of a member of lines.
fn lines<R: BufRead, T: DeserializeOwned>(
    archive: &mut ArchiveReader<R>,
    member: &MemberInfo,
    rows: &mut Vec<T>,
) -> Result<()> {
    let text = archive.bytes(member, LARGEST_LINES)?;
    for (number, line) in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        let row = serde_json::from_slice(line);
        let wrong = |error| Error::data(format!("line {}: is not the expected JSON: {error}", number + 1));
        rows.push(row.map_err(wrong).at(|| &member.name)?);
    }
    Ok(())
}

/// Checks a member of columns and has it decoded.
fn block<R: BufRead>(
    archive: &mut ArchiveReader<R>,
    member: &MemberInfo,
    bytes: &mut Vec<u8>,
    decode: impl FnOnce(&BlockReader<'_>) -> Result<()>,
) -> Result<()> {
    archive.bytes_into(member, LARGEST_BYTES, bytes)?;
    BlockReader::new(bytes).and_then(|block| decode(&block)).at(|| &member.name)
}

fn link_rows(block: &BlockReader<'_>, table: &mut super::LinkTable) -> Result<()> {
    optional(block, 1, "job", &mut table.job)?;
    optional(block, 2, "phase", &mut table.phase)?;
    let mut links: Vec<u32> = Vec::new();
    block.required(3, "link", &mut links)?;
    table.link.extend(links.into_iter().map(LinkId));
    unsigned(block, 4, "bytes", &mut table.bytes)?;
    unsigned(block, 5, "flows", &mut table.flows)?;
    floats(block, 6, "load", &mut table.load)?;
    let mut values: Vec<i64> = Vec::new();
    for (id, _, value) in super::LinkPackets::COLUMNS {
        if !block.column(id, &mut values)? {
            continue;
        }
        let first = table.link.len() - values.len();
        table.packets.resize(table.link.len(), None);
        let rows = table.packets[first..].iter_mut().zip(&values).filter(|(_, found)| **found != UNKNOWN);
        for (row, found) in rows {
            *value(row.get_or_insert_default()) = found.cast_unsigned();
        }
    }
    // A block may lack a column that others have.
    if !table.packets.is_empty() {
        table.packets.resize(table.link.len(), None);
    }
    Ok(())
}

fn optional(block: &BlockReader<'_>, id: u8, name: &str, out: &mut Vec<Option<u32>>) -> Result<()> {
    let mut values: Vec<i64> = Vec::new();
    if !block.column(id, &mut values)? {
        out.resize(out.len() + block.rows(), None);
        return Ok(());
    }
    for value in values {
        let outside = |_| Error::data(format!("column {id} ({name}): value {value} is out of range"));
        out.push(if value == UNKNOWN { None } else { Some(u32::try_from(value).map_err(outside)?) });
    }
    Ok(())
}

fn unsigned(block: &BlockReader<'_>, id: u8, name: &str, out: &mut Vec<u64>) -> Result<()> {
    let mut values: Vec<i64> = Vec::new();
    block.required(id, name, &mut values)?;
    out.extend(values.into_iter().map(i64::cast_unsigned));
    Ok(())
}

fn floats(block: &BlockReader<'_>, id: u8, name: &str, out: &mut Vec<f64>) -> Result<()> {
    let mut values: Vec<i64> = Vec::new();
    block.required(id, name, &mut values)?;
    out.extend(values.into_iter().map(|bits| f64::from_bits(bits.cast_unsigned())));
    Ok(())
}
