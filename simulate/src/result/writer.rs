//! Writing a result archive: topologies and workloads first, then one run after the other.
//!
//! Rows of text go as NDJSON into members of a few megabytes, long columns of numbers into
//! [`columns`]: whatever the size of a result, no member is large. A float in a column is stored as
//! its IEEE 754 bits, taken for a signed integer; an unsigned 64-bit number likewise as its bits.
//! docs/formats.md has the layout.
//!
//! [`columns`]: phaseflow_collect::archive::columns

use std::io::Write;

use phaseflow_collect::archive::ArchiveWriter;
use phaseflow_collect::archive::columns::{BlockWriter, LARGEST_BLOCK, Transform, UNKNOWN};
use phaseflow_collect::trace::write_matrix;
use phaseflow_collect::{At, Error, Result};
use phaseflow_segment::Header as SegmentationHeader;
use serde::{Deserialize, Serialize};

use super::{
    LinkPackets, LinkTable, Network, ResultHeader, RunLabels, RunResult, RunStatistics, Series,
    SeriesSummary, Snapshot,
};
use crate::topology::PortOrder;
use crate::workload::Workload;

/// A member of lines ends with the line that passes this many bytes.
const LINES_BYTES: usize = 4 << 20;

/// `topologies/N.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct NetworkEntry {
    pub label: String,
    pub switch_latency_ps: u64,
    #[serde(default)]
    pub port_order: PortOrder,
    pub nodes: usize,
    pub links: usize,
}

/// `workloads/N.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct WorkloadEntry {
    pub name: String,
    pub segmentation: SegmentationHeader,
    pub phases: Vec<PhaseEntry>,
    pub occurrences: usize,
}

/// A phase of a workload, without its matrix.
#[derive(Serialize, Deserialize)]
pub(super) struct PhaseEntry {
    pub name: String,
    #[serde(default)]
    pub title: Option<String>,
    pub occurrences: u64,
    pub duration_ns: Option<u64>,
    pub bytes: u64,
}

/// `runs/N.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct RunEntry {
    pub labels: RunLabels,
    pub topology: usize,
    pub statistics: RunStatistics,
    pub jobs: usize,
    pub phases: usize,
    #[serde(default)]
    pub ranks: usize,
    #[serde(default)]
    pub path: usize,
    #[serde(default)]
    pub blame: usize,
    pub links: usize,
    pub series: Vec<SeriesEntry>,
    pub snapshots: Vec<f64>,
}

/// A series, without its points.
#[derive(Serialize, Deserialize)]
pub(super) struct SeriesEntry {
    pub name: String,
    pub points: usize,
    pub summary: Option<SeriesSummary>,
}

/// `summary.json`.
#[derive(Serialize, Deserialize, Default, PartialEq, Eq, Debug)]
pub(super) struct Summary {
    pub topologies: usize,
    pub workloads: usize,
    pub runs: usize,
}

/// Writes a result archive; nothing of a run is kept once it is written.
#[derive(Debug)]
pub struct ResultWriter<W: Write> {
    archive: ArchiveWriter<W>,
    summary: Summary,
    last: Option<u32>,
}

impl<W: Write> ResultWriter<W> {
    /// Starts an archive with what its runs refer to. `topologies` are
    /// [`Topology`](crate::topology::Topology)s or what an archive remembers of them.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new<T>(
        out: W,
        gzip: bool,
        header: &ResultHeader,
        topologies: &[T],
        workloads: &[Workload],
    ) -> Result<Self>
    where
        Network: for<'t> From<&'t T>,
    {
        let mut archive = ArchiveWriter::new(out, gzip, header)?;
        for (number, topology) in topologies.iter().enumerate() {
            write_network(&mut archive, number, &Network::from(topology))?;
        }
        for (number, workload) in workloads.iter().enumerate() {
            write_workload(&mut archive, number, workload)?;
        }
        let summary = Summary { topologies: topologies.len(), workloads: workloads.len(), runs: 0 };
        Ok(Self { archive, summary, last: None })
    }

    /// Appends a run; runs come in ascending order of their number.
    ///
    /// # Errors
    /// A number not above that of the previous run, a time that is not finite, or an error of the
    /// output.
    pub fn run(&mut self, run: &RunResult) -> Result<()> {
        let number = run.labels.run;
        if let Some(last) = self.last.filter(|last| *last >= number) {
            return Err(Error::data(format!("run {number} comes after run {last}")));
        }
        self.last = Some(number);
        self.summary.runs += 1;
        checked(run).at(|| format!("run {number}"))?;
        let series = run.series.iter();
        let entry = RunEntry {
            labels: run.labels.clone(),
            topology: run.topology,
            statistics: run.statistics,
            jobs: run.jobs.len(),
            phases: run.phases.len(),
            ranks: run.ranks.len(),
            path: run.path.len(),
            blame: run.blame.len(),
            links: run.links.link.len(),
            series: series
                .map(|s| SeriesEntry { name: s.name.clone(), points: s.time_s.len(), summary: s.summary })
                .collect(),
            snapshots: run.snapshots.iter().map(|snapshot| snapshot.time_s).collect(),
        };
        let archive = &mut self.archive;
        archive.json(&format!("runs/{number}.json"), &entry)?;
        write_lines(archive, &format!("runs/{number}/jobs"), &run.jobs)?;
        write_lines(archive, &format!("runs/{number}/phases"), &run.phases)?;
        write_lines(archive, &format!("runs/{number}/ranks"), &run.ranks)?;
        write_lines(archive, &format!("runs/{number}/path"), &run.path)?;
        write_lines(archive, &format!("runs/{number}/blame"), &run.blame)?;
        write_links(archive, &format!("runs/{number}/links"), &run.links)?;
        for (at, series) in run.series.iter().enumerate() {
            write_series(archive, &format!("runs/{number}/series/{at}"), series)?;
        }
        for (at, snapshot) in run.snapshots.iter().enumerate() {
            write_snapshot(archive, &format!("runs/{number}/snapshots/{at}"), snapshot)?;
        }
        Ok(())
    }

    /// The output of the archive.
    pub fn output(&mut self) -> &mut W {
        self.archive.output()
    }

    /// Ends the archive and returns the output.
    ///
    /// # Errors
    /// An error of the output.
    pub fn finish(self) -> Result<W> {
        self.archive.finish(&self.summary)
    }
}

/// Refuses results that cannot be read back: parallel columns of unequal length, and NaN, which
/// JSON lacks, for values that cannot be unknown.
fn checked(run: &RunResult) -> Result<()> {
    let links = &run.links;
    let columns =
        [links.job.len(), links.phase.len(), links.bytes.len(), links.flows.len(), links.load.len()];
    let packets = links.packets.is_empty() || links.packets.len() == links.link.len();
    let series = run.series.iter().all(|series| series.time_s.len() == series.value.len());
    let snapshots = run.snapshots.iter().all(|snapshot| snapshot.load.len() == snapshot.flows.len());
    if columns.iter().any(|length| *length != links.link.len()) || !series || !snapshots || !packets {
        return Err(Error::data("has columns of unequal length"));
    }
    let jobs = run.jobs.iter().map(|job| ("submitted_s of a job", job.submitted_s));
    let summaries = run.series.iter().filter_map(|series| series.summary);
    let summaries =
        summaries.flat_map(|s| [s.max, s.min, s.mean, s.variance]).map(|v| ("summary of a series", v));
    let snapshots = run.snapshots.iter().map(|snapshot| ("time of a snapshot", snapshot.time_s));
    match jobs.chain(summaries).chain(snapshots).find(|(_, value)| !value.is_finite()) {
        Some((what, value)) => Err(Error::data(format!("{what} is {value}, expected a finite number"))),
        None => Ok(()),
    }
}

fn write_network<W: Write>(archive: &mut ArchiveWriter<W>, number: usize, network: &Network) -> Result<()> {
    let entry = NetworkEntry {
        label: network.label.clone(),
        switch_latency_ps: network.switch_latency_ps,
        port_order: network.port_order,
        nodes: network.nodes.len(),
        links: network.links.len(),
    };
    archive.json(&format!("topologies/{number}.json"), &entry)?;
    write_lines(archive, &format!("topologies/{number}/nodes"), &network.nodes)?;
    write_lines(archive, &format!("topologies/{number}/links"), &network.links)
}

fn write_workload<W: Write>(
    archive: &mut ArchiveWriter<W>,
    number: usize,
    workload: &Workload,
) -> Result<()> {
    let segmentation = &workload.segmentation;
    let phases = segmentation.phases.iter().map(|phase| PhaseEntry {
        name: phase.name.clone(),
        title: Some(phase.title.clone()),
        occurrences: phase.occurrences,
        duration_ns: phase.duration_ns,
        bytes: phase.matrix.bytes(),
    });
    let entry = WorkloadEntry {
        name: workload.name.clone(),
        segmentation: segmentation.header.clone(),
        phases: phases.collect(),
        occurrences: segmentation.occurrences.len(),
    };
    archive.json(&format!("workloads/{number}.json"), &entry)?;
    write_lines(archive, &format!("workloads/{number}/occurrences"), &segmentation.occurrences)?;
    for (at, phase) in segmentation.phases.iter().enumerate() {
        write_matrix(archive, &format!("workloads/{number}/matrix/{at}"), &phase.matrix)?;
    }
    Ok(())
}

/// One JSON value a line, in members `prefix/000000`, `prefix/000001`, …
fn write_lines<W: Write>(
    archive: &mut ArchiveWriter<W>,
    prefix: &str,
    rows: &[impl Serialize],
) -> Result<()> {
    let (mut text, mut members) = (Vec::new(), 0);
    for (at, row) in rows.iter().enumerate() {
        serde_json::to_writer(&mut text, row).map_err(|error| Error::data(error.to_string()).at(prefix))?;
        text.push(b'\n');
        if text.len() >= LINES_BYTES || at + 1 == rows.len() {
            archive.member(&format!("{prefix}/{members:06}"), &text)?;
            text.clear();
            members += 1;
        }
    }
    Ok(())
}

fn write_links<W: Write>(archive: &mut ArchiveWriter<W>, prefix: &str, table: &LinkTable) -> Result<()> {
    let optional =
        |values: &[Option<u32>]| values.iter().map(|v| v.map_or(UNKNOWN, i64::from)).collect::<Vec<_>>();
    let rows = table.link.len();
    for (number, start) in (0..rows).step_by(LARGEST_BLOCK).enumerate() {
        let part = start..rows.min(start + LARGEST_BLOCK);
        let mut block = BlockWriter::new(part.len(), Vec::new());
        for (id, values) in [(1, &table.job[part.clone()]), (2, &table.phase[part.clone()])] {
            if values.iter().any(Option::is_some) {
                block.column(id, Transform::Plain, optional(values).into_iter());
            }
        }
        block
            .column(3, Transform::Delta, table.link[part.clone()].iter().map(|link| i64::from(link.0)))
            .column(4, Transform::Plain, table.bytes[part.clone()].iter().map(|v| v.cast_signed()))
            .column(5, Transform::Plain, table.flows[part.clone()].iter().map(|v| v.cast_signed()))
            .column(6, Transform::Plain, bits(&table.load[part.clone()]));
        let packets = table.packets.get(part).unwrap_or_default();
        if packets.iter().any(Option::is_some) {
            for (id, _, value) in LinkPackets::COLUMNS {
                let values =
                    packets.iter().map(|row| row.map_or(UNKNOWN, |mut row| value(&mut row).cast_signed()));
                block.column(id, Transform::Plain, values);
            }
        }
        archive.member(&format!("{prefix}/{number:06}"), &block.finish())?;
    }
    Ok(())
}

fn write_series<W: Write>(archive: &mut ArchiveWriter<W>, prefix: &str, series: &Series) -> Result<()> {
    let blocks = series.time_s.chunks(LARGEST_BLOCK).zip(series.value.chunks(LARGEST_BLOCK));
    for (number, (time, value)) in blocks.enumerate() {
        let mut block = BlockWriter::new(time.len(), Vec::new());
        block.column(1, Transform::Delta, bits(time)).column(2, Transform::Plain, bits(value));
        archive.member(&format!("{prefix}/{number:06}"), &block.finish())?;
    }
    Ok(())
}

fn write_snapshot<W: Write>(archive: &mut ArchiveWriter<W>, prefix: &str, snapshot: &Snapshot) -> Result<()> {
    let blocks = snapshot.load.chunks(LARGEST_BLOCK).zip(snapshot.flows.chunks(LARGEST_BLOCK));
    for (number, (load, flows)) in blocks.enumerate() {
        let mut block = BlockWriter::new(load.len(), Vec::new());
        block.column(1, Transform::Plain, bits(load)).column(
            2,
            Transform::Plain,
            flows.iter().map(|v| v.cast_signed()),
        );
        archive.member(&format!("{prefix}/{number:06}"), &block.finish())?;
    }
    Ok(())
}

/// Floats as integers of a column: their bits, which preserve every value.
fn bits(values: &[f64]) -> impl ExactSizeIterator<Item = i64> + '_ {
    values.iter().map(|value| value.to_bits().cast_signed())
}
