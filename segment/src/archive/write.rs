//! Writes a phase archive.

use std::io::Write;

use phaseflow_collect::Result;
use phaseflow_collect::archive::ArchiveWriter;
use phaseflow_collect::archive::columns::LARGEST_BLOCK;
use phaseflow_collect::trace::write_matrix;

use super::members::{PhaseEntry, SAMPLES, Summary};
use super::{occurrences, records};
use crate::input::Rewindable;
use crate::samples::Samples;
use crate::sampling::{self, Critical};
use crate::second_pass::representative::Representatives;
use crate::segmentation::Segmentation;

/// Writes a phase archive without messages.
///
/// # Errors
/// What the output reports.
pub fn write_segmentation<W: Write>(out: W, gzip: bool, segmentation: &Segmentation) -> Result<W> {
    write_parts(out, gzip, segmentation, &Representatives::default(), None, |_| Ok(()))
}

/// Writes a phase archive with the messages and calls of each phase's representative occurrence and
/// of the windows around [samples](Samples), or of the whole run with `all`; `trace`, the one that
/// was segmented, is read once more, as far as the last of these. Memory beside the segmentation: a
/// block for each depth, and one for a window.
///
/// # Errors
/// A damaged trace, or what the output reports.
pub fn write_with_messages<W: Write>(
    out: W,
    gzip: bool,
    segmentation: &Segmentation,
    representatives: &Representatives,
    all: bool,
    trace: &mut dyn Rewindable,
) -> Result<W> {
    let critical = if sampling::wants_critical(segmentation, representatives) {
        let messages = segmentation.phases.iter().map(|phase| phase.matrix.messages()).sum();
        Critical::read(trace, representatives.start_ns, segmentation.header.ranks, messages)?
    } else {
        None
    };
    // A run of one time has no windows: its messages are those of its only occurrence.
    let samples = match segmentation.header.duration_ns {
        Some(_) => sampling::choose(segmentation, representatives, critical.as_ref()),
        None => Samples::default(),
    };
    write_parts(out, gzip, segmentation, representatives, Some(&samples), |archive| {
        records::write(archive, segmentation, representatives, (!all).then_some(&samples.windows), trace)
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
            title: Some(phase.title.clone()),
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
        archive.member(&format!("occurrences/{number:06}"), &occurrences::encode(chunk, deviation))?;
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
