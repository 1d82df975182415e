//! Messages a second from the trace archive to the phase archive, on one thread, archives in files.

use std::fs::File;
use std::io::{BufWriter, sink};
use std::time::Instant;

use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{LabelledRun, Program};
use phaseflow_segment::{Method, Options, Rewind, segment, write_segmentation};

/// Prints a line for each length, number of ranks and method: reading, splitting, writing.
pub(crate) fn print(lengths: &[u64], methods: &[Method]) {
    println!("| messages | ranks | method | s | M messages/s | phases |");
    println!("|---|---|---|---|---|---|");
    for messages in lengths {
        for ranks in [64, 1024] {
            let (count, trace) = trace(ranks, *messages);
            for method in methods {
                let options = Options { method: *method, ..Options::default() };
                let begin = Instant::now();
                let outcome = segment(&mut Rewind(trace.try_clone().unwrap()), &options).unwrap();
                write_segmentation(sink(), false, &outcome.segmentation).unwrap();
                let seconds = begin.elapsed().as_secs_f64();
                let speed = count as f64 / seconds / 1e6;
                let phases = outcome.segmentation.phases.len();
                println!("| {count} | {ranks} | {} | {seconds:.2} | {speed:.1} | {phases} |", method.name());
            }
        }
    }
}

/// A run of halo exchanges, shifts and transposes in turn, in a temporary file.
fn trace(ranks: u32, messages: u64) -> (u64, File) {
    let rounds = (messages / u64::from(ranks) / 24).max(1);
    let text = format!("(halo2d*{rounds},shift*{rounds},transpose*{rounds})*4");
    let run = LabelledRun {
        gap_ns: 100_000,
        bytes: 16 << 10,
        ..LabelledRun::new(Program::parse(&text).unwrap(), ranks)
    };
    let file = tempfile::tempfile().unwrap();
    let out = BufWriter::new(file.try_clone().unwrap());
    let summary = run.generate(&mut ArchiveExport::new(out, false), &mut |_| Ok(())).unwrap();
    (summary.messages, file)
}
