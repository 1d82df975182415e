//! Reads a phase archive and checks that it does not contradict itself.

use std::io::BufRead;

use phaseflow_collect::archive::columns::LARGEST_BYTES;
use phaseflow_collect::archive::{ArchiveReader, HEADER, MemberInfo, SUMMARY};
use phaseflow_collect::trace::{Call, Details, MOST_RANKS, MessageBlock, decode_calls, read_cells};
use phaseflow_collect::{At, Error, MatrixBuilder, Result, TrafficMatrix};

use super::agreement::{Sent, Told};
use super::contents::{Chosen, Place};
use super::members::{PhaseEntry, SAMPLES, Summary};
use super::occurrences;
use crate::samples::{Samples, Span};
use crate::segmentation::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};
use crate::title::title_of_matrix;

/// Reads a phase archive.
///
/// # Errors
/// A damaged, truncated or contradictory archive; one whose messages are not those of its matrices.
pub fn read_segmentation<R: BufRead>(archive: ArchiveReader<R>) -> Result<Segmentation> {
    Ok(read_with_messages(archive, false, &mut |_, _| Ok(()))?.segmentation)
}

/// Reads a phase archive with the messages and calls that it holds, which go to `take` block by
/// block; those of representatives are passed over where there are windows, unless
/// `representatives` are wanted.
///
/// # Errors
/// A damaged, truncated or contradictory archive, one whose messages are not those of its matrices,
/// or what `take` reports.
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
    let mut rows: Vec<Occurrence> = Vec::new();
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
                check_summary(&archive.json(&member)?, entries.len(), rows.len())?;
                break;
            }
            name if name.starts_with("occurrences/") => {
                archive.bytes_into(&member, LARGEST_BYTES, &mut bytes)?;
                occurrences::decode(&bytes, &mut rows).at(|| name)?;
            }
            name => {
                let Some(number) = name.strip_prefix("matrix-").and_then(|rest| rest.split('/').next())
                else {
                    let windows = samples.as_ref().map_or(&[][..], |samples| &samples.windows);
                    let is_all = |only: &Span| only.start_ns == 0 && Some(only.end_ns) == header.duration_ns;
                    let window_is_all = matches!(windows, [only] if is_all(only));
                    let told = Told { occurrences: &rows, window_is_all };
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
    check_occurrences(&header, phases.len(), &rows)?;
    if let Some(samples) = &samples {
        samples.check(phases.len()).at(|| SAMPLES)?;
    }
    Ok(Chosen { segmentation: Segmentation { header, phases, occurrences: rows }, representatives, samples })
}

/// The summary says how many phases and occurrences the archive holds.
fn check_summary(summary: &Summary, phases: usize, occurrences: usize) -> Result<()> {
    if (summary.phases, summary.occurrences) == (phases, occurrences) {
        return Ok(());
    }
    let problem = format!(
        "says {} phases and {} occurrences, the archive holds {phases} and {occurrences}",
        summary.phases, summary.occurrences
    );
    Err(Error::data(problem).at(SUMMARY))
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
    // Archives of earlier versions have no titles.
    let title = entry.title.unwrap_or_else(|| title_of_matrix(&matrix, header.ranks));
    Ok(Phase {
        name: entry.name,
        title,
        occurrences: entry.occurrences,
        duration_ns: entry.duration_ns,
        matrix,
    })
}
