//! The phase archive: a segmentation and the traffic matrix of each phase.

use std::io::{BufRead, Write};

use phaseflow_collect::archive::{ArchiveReader, ArchiveWriter, SUMMARY};
use phaseflow_collect::trace::{read_cells, write_matrix};
use phaseflow_collect::{At, Error, MatrixBuilder, Result, TrafficMatrix};
use serde::{Deserialize, Serialize};

/// Name of the format.
pub const FORMAT: &str = "phaseflow.phases";
/// Version written; readers accept it and all before.
pub const VERSION: u32 = 1;

/// `header.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// At most [`VERSION`].
    pub version: u32,
    /// Where the trace came from, as its header says.
    pub source: String,
    /// The method and its effective parameters: `kmeans[k=3,windows=512]`.
    pub method: String,
    /// Number of ranks of the run.
    pub ranks: u32,
    /// Length of the run; unknown for aggregate traces without a duration.
    pub duration_ns: Option<u64>,
}

/// A kind of communication behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name: `0`, `1`, … in order of first occurrence.
    pub name: String,
    /// How often it occurs.
    pub occurrences: u64,
    /// Time of all its occurrences together; unknown for aggregate traces without a duration.
    pub duration_ns: Option<u64>,
    /// Demand of all its occurrences together.
    pub matrix: TrafficMatrix,
}

/// One stretch of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occurrence {
    /// Index of the phase; `None` where the run is idle.
    pub phase: Option<u32>,
    /// 0 for those that tile the run; deeper ones lie inside one of the level above.
    pub depth: u32,
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// End, nanoseconds since the start of the run; not before the start.
    pub end_ns: u64,
    /// Messages posted in it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A run split into phases: what pf-segment writes and pf-simulate reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// What was split, and how.
    pub header: Header,
    /// Phases in order of first occurrence.
    pub phases: Vec<Phase>,
    /// Occurrences by start, then depth; those of depth 0 tile the run. Empty if nothing is known of time.
    pub occurrences: Vec<Occurrence>,
}

#[derive(Serialize, Deserialize)]
struct PhaseEntry {
    name: String,
    occurrences: u64,
    duration_ns: Option<u64>,
    messages: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Summary {
    phases: usize,
    occurrences: usize,
}

/// Writes a phase archive.
///
/// # Errors
/// What the output reports.
pub fn write_segmentation<W: Write>(out: W, gzip: bool, segmentation: &Segmentation) -> Result<W> {
    let mut archive = ArchiveWriter::new(out, gzip, &segmentation.header)?;
    let entries: Vec<PhaseEntry> = segmentation
        .phases
        .iter()
        .map(|phase| PhaseEntry {
            name: phase.name.clone(),
            occurrences: phase.occurrences,
            duration_ns: phase.duration_ns,
            messages: phase.matrix.messages(),
            bytes: phase.matrix.bytes(),
        })
        .collect();
    archive.json("phases.json", &entries)?;
    archive.json("occurrences.json", &segmentation.occurrences)?;
    for (number, phase) in segmentation.phases.iter().enumerate() {
        write_matrix(&mut archive, &format!("matrix-{number}"), &phase.matrix)?;
    }
    archive
        .finish(&Summary { phases: segmentation.phases.len(), occurrences: segmentation.occurrences.len() })
}

/// Reads a phase archive.
///
/// # Errors
/// A damaged, truncated or contradictory archive.
pub fn read_segmentation<R: BufRead>(mut archive: ArchiveReader<R>) -> Result<Segmentation> {
    let header: Header = archive.header(FORMAT, VERSION)?;
    let mut entries: Vec<PhaseEntry> = Vec::new();
    let mut occurrences: Vec<Occurrence> = Vec::new();
    let mut matrices: Vec<MatrixBuilder> = Vec::new();
    let (mut bytes, mut cells) = (Vec::new(), Vec::new());
    loop {
        let Some(member) = archive.next_member()? else {
            return Err(Error::data(format!("ends without `{SUMMARY}`: the archive is truncated")));
        };
        match member.name.as_str() {
            "phases.json" => {
                entries = archive.json(&member)?;
                matrices = entries.iter().map(|_| MatrixBuilder::default()).collect();
            }
            "occurrences.json" => occurrences = archive.json(&member)?,
            SUMMARY => {
                let summary: Summary = archive.json(&member)?;
                if (summary.phases, summary.occurrences) != (entries.len(), occurrences.len()) {
                    let (phases, found) = (entries.len(), occurrences.len());
                    let problem = format!(
                        "says {} phases and {} occurrences, the archive holds {phases} and {found}",
                        summary.phases, summary.occurrences
                    );
                    return Err(Error::data(problem).at(SUMMARY));
                }
                break;
            }
            name => {
                let Some(number) = name.strip_prefix("matrix-").and_then(|rest| rest.split('/').next())
                else {
                    continue;
                };
                let builder = number.parse().ok().and_then(|n: usize| matrices.get_mut(n));
                let builder = builder
                    .ok_or_else(|| Error::data("is the matrix of a phase that phases.json lacks").at(name))?;
                read_cells(&mut archive, &member, &mut bytes, &mut cells)?;
                for cell in &cells {
                    builder.add(*cell).at(|| name)?;
                }
            }
        }
    }
    archive.next_member()?;
    let matrices = matrices.into_iter().map(MatrixBuilder::finish);
    let phases =
        entries.into_iter().zip(matrices).map(|(entry, matrix)| checked_phase(&header, entry, matrix));
    let phases = phases.collect::<Result<Vec<_>>>()?;
    for (row, occurrence) in occurrences.iter().enumerate() {
        let known = occurrence.phase.is_none_or(|phase| (phase as usize) < phases.len());
        if !known || occurrence.end_ns < occurrence.start_ns {
            let problem =
                format!("entry {row}: {occurrence:?} names no phase of the archive or ends before it starts");
            return Err(Error::data(problem).at("occurrences.json"));
        }
    }
    Ok(Segmentation { header, phases, occurrences })
}

fn checked_phase(header: &Header, entry: PhaseEntry, matrix: TrafficMatrix) -> Result<Phase> {
    if (matrix.messages(), matrix.bytes()) != (entry.messages, entry.bytes) {
        let problem = format!(
            "phase {} has {} messages and {} bytes, its matrix {} and {}",
            entry.name,
            entry.messages,
            entry.bytes,
            matrix.messages(),
            matrix.bytes()
        );
        return Err(Error::data(problem).at("phases.json"));
    }
    if matrix.ranks() > header.ranks {
        let problem =
            format!("phase {} has rank {}, the run {} ranks", entry.name, matrix.ranks() - 1, header.ranks);
        return Err(Error::data(problem).at("phases.json"));
    }
    Ok(Phase { name: entry.name, occurrences: entry.occurrences, duration_ns: entry.duration_ns, matrix })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::Cell;
    use phaseflow_collect::trace::Rank;

    #[test]
    fn a_segmentation_comes_back() {
        let cell = |src, dst| Cell { src: Rank(src), dst: Rank(dst), messages: 1, bytes: 10 };
        let phase = |name: &str, cells: &[Cell]| Phase {
            name: name.into(),
            occurrences: 1,
            duration_ns: Some(5),
            matrix: TrafficMatrix::from_cells(cells.iter().copied()).unwrap(),
        };
        let occurrence = |phase, start_ns, end_ns| Occurrence {
            phase,
            depth: 0,
            start_ns,
            end_ns,
            messages: 1,
            bytes: 10,
        };
        let segmentation = Segmentation {
            header: Header {
                format: FORMAT.into(),
                version: VERSION,
                source: "test".into(),
                method: "none".into(),
                ranks: 4,
                duration_ns: Some(12),
            },
            phases: vec![phase("0", &[cell(0, 1)]), phase("1", &[cell(2, 3), cell(3, 2)])],
            occurrences: vec![occurrence(Some(0), 0, 5), occurrence(None, 5, 7), occurrence(Some(1), 7, 12)],
        };
        let bytes = write_segmentation(Vec::new(), true, &segmentation).unwrap();
        assert_eq!(read_segmentation(ArchiveReader::open(&bytes[..]).unwrap()).unwrap(), segmentation);
    }
}
