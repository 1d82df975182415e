//! The phase archive: a segmentation and the traffic matrix of each phase.

use std::io::{BufRead, Write};

use phaseflow_collect::archive::columns::{
    BlockReader, BlockWriter, LARGEST_BLOCK, LARGEST_BYTES, Transform, UNKNOWN,
};
use phaseflow_collect::archive::{ArchiveReader, ArchiveWriter, HEADER, MemberInfo, SUMMARY};
use phaseflow_collect::trace::{
    Call, Details, MOST_RANKS, MessageBlock, UnmatchedReceives, decode_calls, read_cells, write_matrix,
};
use phaseflow_collect::{At, Error, MatrixBuilder, Result, TrafficMatrix};
use serde::{Deserialize, Serialize};

use crate::agreement::{Sent, Told};
use crate::critical::Critical;
use crate::excerpt;
use crate::replay::Replay;
use crate::representative::Representatives;
use crate::sample::{Samples, Span};

/// Name of the format.
pub const FORMAT: &str = "phaseflow.phases";
/// Version written; readers accept it and all before.
pub const VERSION: u32 = 1;
/// Name of the member that says what is simulated for all of the run.
const SAMPLES: &str = "samples.json";

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
    /// Receives without a known send.
    #[serde(default, skip_serializing_if = "UnmatchedReceives::is_none")]
    pub unmatched_receives: UnmatchedReceives,
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
    /// Row of the occurrence that stands for all.
    #[serde(default)]
    representative: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct Summary {
    phases: usize,
    occurrences: usize,
}

/// Writes a phase archive without messages.
///
/// # Errors
/// What the output reports.
pub fn write_segmentation<W: Write>(out: W, gzip: bool, segmentation: &Segmentation) -> Result<W> {
    write_parts(out, gzip, segmentation, &Representatives::default(), None, |_| Ok(()))
}

/// Writes a phase archive with the messages and calls of each phase's representative occurrence and of the windows around [samples](Samples),
/// or of the whole run with `all`; `trace`, the one that was segmented, is read once more, as far as the last of these. Memory beside the
/// segmentation: a block for each depth, and one for a window.
///
/// # Errors
/// A damaged trace, or what the output reports.
pub fn write_with_messages<W: Write>(
    out: W,
    gzip: bool,
    segmentation: &Segmentation,
    representatives: &Representatives,
    all: bool,
    trace: &mut dyn Replay,
) -> Result<W> {
    let critical = if Samples::wants_critical(segmentation, representatives) {
        let messages = segmentation.phases.iter().map(|phase| phase.matrix.messages()).sum();
        Critical::read(trace, representatives.start_ns, segmentation.header.ranks, messages)?
    } else {
        None
    };
    // A run of one time has no windows: its messages are those of its only occurrence.
    let samples = match segmentation.header.duration_ns {
        Some(_) => Samples::choose(segmentation, representatives, critical.as_ref()),
        None => Samples::default(),
    };
    write_parts(out, gzip, segmentation, representatives, Some(&samples), |archive| {
        excerpt::write(archive, segmentation, representatives, (!all).then_some(&samples.windows), trace)
    })
}

fn write_parts<W: Write>(
    out: W,
    gzip: bool,
    segmentation: &Segmentation,
    representatives: &Representatives,
    samples: Option<&Samples>,
    messages: impl FnOnce(&mut ArchiveWriter<W>) -> Result<()>,
) -> Result<W> {
    let mut archive = ArchiveWriter::new(out, gzip, &segmentation.header)?;
    let entries: Vec<PhaseEntry> = segmentation
        .phases
        .iter()
        .enumerate()
        .map(|(number, phase)| PhaseEntry {
            representative: representatives.of_phase.get(number).copied().flatten(),
            name: phase.name.clone(),
            occurrences: phase.occurrences,
            duration_ns: phase.duration_ns,
            messages: phase.matrix.messages(),
            bytes: phase.matrix.bytes(),
        })
        .collect();
    archive.json("phases.json", &entries)?;
    for (number, chunk) in segmentation.occurrences.chunks(LARGEST_BLOCK).enumerate() {
        let first = number * LARGEST_BLOCK;
        let deviation = representatives.deviation.get(first..first + chunk.len());
        archive.member(&format!("occurrences/{number:06}"), &occurrence_block(chunk, deviation))?;
    }
    for (number, phase) in segmentation.phases.iter().enumerate() {
        write_matrix(&mut archive, &format!("matrix-{number}"), &phase.matrix)?;
    }
    if let Some(samples) = samples {
        archive.json(SAMPLES, samples)?;
    }
    messages(&mut archive)?;
    archive
        .finish(&Summary { phases: segmentation.phases.len(), occurrences: segmentation.occurrences.len() })
}

/// Reads a phase archive.
///
/// # Errors
/// A damaged, truncated or contradictory archive; one whose messages are not those of its matrices.
pub fn read_segmentation<R: BufRead>(archive: ArchiveReader<R>) -> Result<Segmentation> {
    Ok(read_with_messages(archive, false, &mut |_, _| Ok(()))?.segmentation)
}

/// Reads a phase archive with the messages and calls that it holds, which go to `take` block by block; those of representatives are passed over where
/// there are windows, unless `representatives` are wanted.
///
/// # Errors
/// A damaged, truncated or contradictory archive, one whose messages are not those of its matrices, or what `take` reports.
pub fn read_with_messages<R: BufRead>(
    archive: ArchiveReader<R>,
    representatives: bool,
    take: &mut dyn FnMut(Place, Records<'_>) -> Result<()>,
) -> Result<Chosen> {
    let (mut bytes, mut messages, mut calls) = (Vec::new(), MessageBlock::default(), Vec::new());
    let mut sent = Sent::default();
    let parts = read_parts(archive, |archive, member, known| {
        let folder = member.name.split('/').next().unwrap_or_default();
        let (folder, in_window) = folder.strip_prefix("window-").map_or((folder, false), |rest| (rest, true));
        let (kind, number) =
            folder.split_once('-').map_or((folder, None), |(kind, number)| (kind, Some(number)));
        if !matches!(kind, "messages" | "calls" | "margin") {
            return Ok(());
        }
        let (most, of) = if in_window {
            (known.windows, "a window that samples.json")
        } else {
            (known.phases, "a phase that phases.json")
        };
        let lacking = || Error::data(format!("is of {of} lacks")).at(&member.name);
        let place = match number {
            None => Place::Run,
            Some(text) => {
                let number = text.parse().ok().filter(|number: &usize| *number < most).ok_or_else(lacking)?;
                if in_window { Place::Window(number) } else { Place::Phase(number) }
            }
        };
        if matches!(place, Place::Phase(_)) && known.windows > 0 && !representatives {
            return Ok(());
        }
        archive.bytes_into(member, LARGEST_BYTES, &mut bytes)?;
        if kind == "calls" {
            calls.clear();
            decode_calls(&bytes, &mut calls).at(|| &member.name)?;
            return take(place, Records::Calls(&calls)).at(|| &member.name);
        }
        messages.decode(&bytes, Details::ALL).at(|| &member.name)?;
        if kind == "messages" {
            sent.add(place, &messages, &known.told).at(|| &member.name)?;
        }
        let records =
            if kind == "margin" { Records::Margin(&messages) } else { Records::Messages(&messages) };
        take(place, records).at(|| &member.name)
    })?;
    for (phase, row) in parts.representatives.iter().enumerate() {
        let stands =
            |row: usize| parts.segmentation.occurrences.get(row).and_then(|occurrence| occurrence.phase);
        if let Some(row) = row.filter(|row| stands(*row) != u32::try_from(phase).ok()) {
            let problem =
                format!("phase {phase}: its representative is row {row}, which is no occurrence of it");
            return Err(Error::data(problem).at("phases.json"));
        }
    }
    sent.check(&parts)?;
    Ok(parts)
}

/// A segmentation, and what stands for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The phases of the run.
    pub segmentation: Segmentation,
    /// By phase: which row of the occurrences stands for it.
    pub representatives: Vec<Option<usize>>,
    /// What is simulated for all of the run, if the archive says so.
    pub samples: Option<Samples>,
}

/// Which part of a run messages and calls in a phase archive are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole run.
    Run,
    /// The representative of a phase.
    Phase(usize),
    /// A [window](Samples).
    Window(usize),
}

/// How much there is of what members are numbered by.
struct Known<'a> {
    phases: usize,
    windows: usize,
    told: Told<'a>,
}

/// Messages or calls out of a phase archive; times are nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug)]
pub enum Records<'a> {
    /// Messages in trace order.
    Messages(&'a MessageBlock),
    /// Messages that are posted outside of an occurrence and [reach](crate::Margins) into it.
    Margin(&'a MessageBlock),
    /// Calls in ascending enter time.
    Calls(&'a [Call]),
}

/// Reads a phase archive; `other` gets the members that are no part of the segmentation.
fn read_parts<R: BufRead>(
    mut archive: ArchiveReader<R>,
    mut other: impl FnMut(&mut ArchiveReader<R>, &MemberInfo, &Known<'_>) -> Result<()>,
) -> Result<Chosen> {
    let header: Header = archive.header(FORMAT, VERSION)?;
    if header.ranks > MOST_RANKS {
        let problem = format!("says ranks {}, expected at most {MOST_RANKS}", header.ranks);
        return Err(Error::data(problem).at(HEADER));
    }
    let mut entries: Vec<PhaseEntry> = Vec::new();
    let mut occurrences: Vec<Occurrence> = Vec::new();
    let mut matrices: Vec<MatrixBuilder> = Vec::new();
    let mut samples: Option<Samples> = None;
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
            SAMPLES => samples = Some(archive.json(&member)?),
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
            name if name.starts_with("occurrences/") => {
                archive.bytes_into(&member, LARGEST_BYTES, &mut bytes)?;
                read_occurrences(&bytes, &mut occurrences).at(|| name)?;
            }
            name => {
                let Some(number) = name.strip_prefix("matrix-").and_then(|rest| rest.split('/').next())
                else {
                    let windows = samples.as_ref().map_or(&[][..], |samples| &samples.windows);
                    let is_all = |only: &Span| only.start_ns == 0 && Some(only.end_ns) == header.duration_ns;
                    let window_is_all = matches!(windows, [only] if is_all(only));
                    let told = Told { occurrences: &occurrences, window_is_all };
                    let known = Known { phases: entries.len(), windows: windows.len(), told };
                    other(&mut archive, &member, &known)?;
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
    let representatives = entries.iter().map(|entry| entry.representative).collect();
    let matrices = matrices.into_iter().map(MatrixBuilder::finish);
    let phases =
        entries.into_iter().zip(matrices).map(|(entry, matrix)| checked_phase(&header, entry, matrix));
    let phases = phases.collect::<Result<Vec<_>>>()?;
    check_occurrences(&header, phases.len(), &occurrences)?;
    if let Some(samples) = &samples {
        samples.check(phases.len()).at(|| SAMPLES)?;
    }
    Ok(Chosen { segmentation: Segmentation { header, phases, occurrences }, representatives, samples })
}

/// Columns phase 1 (absent values are idle), depth 2, start_ns 3, end_ns 4, messages 5, bytes 6, deviation 7 in millionths.
fn occurrence_block(chunk: &[Occurrence], deviation: Option<&[Option<f64>]>) -> Vec<u8> {
    let mut block = BlockWriter::new(chunk.len(), Vec::new());
    block
        .column(1, Transform::Plain, chunk.iter().map(|o| o.phase.map_or(UNKNOWN, i64::from)))
        .column(2, Transform::Plain, chunk.iter().map(|o| i64::from(o.depth)))
        .column(3, Transform::Delta, chunk.iter().map(|o| o.start_ns.cast_signed()))
        .column(4, Transform::Delta, chunk.iter().map(|o| o.end_ns.cast_signed()))
        .column(5, Transform::Plain, chunk.iter().map(|o| o.messages.cast_signed()))
        .column(6, Transform::Plain, chunk.iter().map(|o| o.bytes.cast_signed()));
    if let Some(deviation) = deviation {
        let millionths =
            deviation.iter().map(|part| part.map_or(UNKNOWN, |part| (part * 1e6).round() as i64));
        block.column(7, Transform::Plain, millionths);
    }
    block.finish()
}

fn read_occurrences(bytes: &[u8], occurrences: &mut Vec<Occurrence>) -> Result<()> {
    let block = BlockReader::new(bytes)?;
    let (mut phase, mut depth) = <(Vec<i64>, Vec<u32>)>::default();
    let (mut start, mut end, mut messages, mut volume) =
        <(Vec<u64>, Vec<u64>, Vec<u64>, Vec<u64>)>::default();
    block.required(1, "phase", &mut phase)?;
    block.required(2, "depth", &mut depth)?;
    block.required(3, "start_ns", &mut start)?;
    block.required(4, "end_ns", &mut end)?;
    block.required(5, "messages", &mut messages)?;
    block.required(6, "bytes", &mut volume)?;
    for row in 0..block.rows() {
        let phase = match phase[row] {
            UNKNOWN => None,
            number => {
                let number = u32::try_from(number);
                Some(
                    number
                        .map_err(|_| Error::data(format!("row {row}: phase {} is no number", phase[row])))?,
                )
            }
        };
        occurrences.push(Occurrence {
            phase,
            depth: depth[row],
            start_ns: start[row],
            end_ns: end[row],
            messages: messages[row],
            bytes: volume[row],
        });
    }
    Ok(())
}

/// Occurrences name phases that exist, and those of depth 0 tile the run.
fn check_occurrences(header: &Header, phases: usize, occurrences: &[Occurrence]) -> Result<()> {
    let mut reached_ns = 0;
    for (row, occurrence) in occurrences.iter().enumerate() {
        let wrong = |problem: String| Err(Error::data(format!("occurrence {row} {problem}")));
        let Occurrence { phase, depth, start_ns, end_ns, .. } = *occurrence;
        if let Some(phase) = phase.filter(|phase| *phase as usize >= phases) {
            return wrong(format!("is of phase {phase}, the archive has {phases}"));
        }
        if end_ns < start_ns {
            return wrong(format!("ends at {end_ns} ns, before its start at {start_ns} ns"));
        }
        if depth == 0 {
            if start_ns != reached_ns {
                return wrong(format!(
                    "starts at {start_ns} ns, expected {reached_ns} ns where the last one ends"
                ));
            }
            reached_ns = end_ns;
        }
    }
    // Where a loop is, what it consists of tiles it.
    let mut reached_ns = 0;
    for (row, own) in occurrences.iter().enumerate() {
        if occurrences.get(row + 1).is_some_and(|next| next.depth > own.depth) {
            continue;
        }
        if own.start_ns != reached_ns {
            let (found, depth) = (own.start_ns, own.depth);
            let problem = format!(
                "occurrence {row} of depth {depth} starts at {found} ns, expected {reached_ns} ns where the last one ends"
            );
            return Err(Error::data(problem));
        }
        reached_ns = own.end_ns;
    }
    match header.duration_ns {
        Some(duration_ns) if !occurrences.is_empty() && reached_ns != duration_ns => {
            Err(Error::data(format!("occurrences end at {reached_ns} ns, the run at {duration_ns} ns")))
        }
        _ => Ok(()),
    }
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

    fn sample() -> Segmentation {
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
        Segmentation {
            header: Header {
                format: FORMAT.into(),
                version: VERSION,
                source: "test".into(),
                method: "none".into(),
                ranks: 4,
                duration_ns: Some(12),
                unmatched_receives: Default::default(),
            },
            phases: vec![phase("0", &[cell(0, 1)]), phase("1", &[cell(2, 3), cell(3, 2)])],
            occurrences: vec![occurrence(Some(0), 0, 5), occurrence(None, 5, 7), occurrence(Some(1), 7, 12)],
        }
    }

    fn again(segmentation: &Segmentation) -> Result<Segmentation> {
        let bytes = write_segmentation(Vec::new(), true, segmentation).unwrap();
        read_segmentation(ArchiveReader::open(&bytes[..]).unwrap())
    }

    #[test]
    fn a_segmentation_comes_back() {
        assert_eq!(again(&sample()).unwrap(), sample());
    }

    #[test]
    fn a_hundred_thousand_occurrences_come_back() {
        let mut long = sample();
        let occurrence = |i: u64| Occurrence {
            phase: Some((i % 2) as u32),
            depth: 0,
            start_ns: 3 * i,
            end_ns: 3 * i + 3,
            messages: i,
            bytes: 1 << 40,
        };
        long.occurrences = (0..100_000).map(occurrence).collect();
        long.header.duration_ns = Some(300_000);
        assert_eq!(again(&long).unwrap(), long);
    }

    #[test]
    fn contradictions_are_refused() {
        let broken = |breakage: &dyn Fn(&mut Segmentation)| {
            let mut segmentation = sample();
            breakage(&mut segmentation);
            again(&segmentation).unwrap_err().to_string()
        };
        assert_eq!(
            broken(&|s| s.occurrences[2].phase = Some(2)),
            "occurrence 2 is of phase 2, the archive has 2"
        );
        assert_eq!(
            broken(&|s| s.occurrences[1].start_ns = 6),
            "occurrence 1 starts at 6 ns, expected 5 ns where the last one ends"
        );
        assert_eq!(
            broken(&|s| s.header.duration_ns = Some(13)),
            "occurrences end at 12 ns, the run at 13 ns"
        );
        assert_eq!(broken(&|s| s.header.ranks = 3), "phases.json: phase 1 has rank 3, the run 3 ranks");
    }
}
