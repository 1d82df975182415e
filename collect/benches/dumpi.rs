//! What reading DUMPI promises: 10 million records a second and core, and memory that does not grow
//! with the length of the trace.
//!
//! `cargo bench -p phaseflow-collect --bench dumpi [RANKS [ROUNDS]]` writes a run in which each
//! rank sends to the next: per round an irecv, an isend, a wait and a wait, or a waitall.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench may stop, and says what it found")]

use std::io;
use std::path::Path;
use std::time::Instant;

use dumpi_files::{Arg, BYTE, RankFile, WORLD, write_run};
use phaseflow_collect::export::{ArchiveExport, SummaryExport};
use phaseflow_collect::import::{Input, Reading, import};
use phaseflow_collect::trace::Sink;

#[path = "../tests/dumpi_files/mod.rs"]
mod dumpi_files;

/// A second in nanoseconds.
const S: u64 = 1_000_000_000;

/// Writes a run; returns the number of records.
fn generate(folder: &Path, ranks: u32, rounds: u64) -> u64 {
    let mut files = Vec::new();
    for rank in 0..ranks {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let mut file = RankFile::new(1_700_000_000);
        let start = 1_700_000_000 * S;
        file.init(start, start + 1);
        let envelope = |peer: u32, request: i32| {
            let (bytes, tag) = (Arg::Int(4096), Arg::Int(7));
            [
                bytes,
                Arg::Handle(BYTE),
                Arg::Int(peer.cast_signed()),
                tag,
                Arg::Handle(WORLD),
                Arg::Int(request),
            ]
        };
        let wait = |request: i32, status: Arg| [Arg::Int(request), status];
        for round in 0..rounds {
            // Ranks are a little apart.
            let at = start + 10_000 * (round + 1) + u64::from(rank % 97);
            file.call(12, at, at + 100, &envelope(before, 2));
            file.call(8, at + 200, at + 300, &envelope(next, 3));
            let status = Arg::Statuses(vec![(4096, before.cast_signed(), 7)]);
            file.call(13, at + 400, at + 5000, &wait(2, status));
            file.call(13, at + 5100, at + 5200, &wait(3, Arg::Statuses(vec![])));
        }
        file.finalize(start + 20_000 * rounds + S, start + 20_000 * rounds + S + 1);
        files.push(file.finish());
    }
    write_run(folder, "bench", &files);
    u64::from(ranks) * (4 * rounds + 2)
}

/// Most memory of the process so far, gigabytes.
fn most_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e6
}

/// Seconds of processor time that all threads took so far.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
    fields.get(13..15).map_or(f64::NAN, |times| (times[0] + times[1]) / 100.0)
}

fn read(name: &str, folder: &Path, records: u64, sink: &mut dyn Sink) {
    let (start, before) = (Instant::now(), processor_seconds());
    let read = import(Input::Directory(folder.into()), Reading::new(tempfile::tempfile), sink).unwrap();
    let (seconds, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - before);
    assert_eq!((read.summary.unmatched, read.remarks.len()), (Some(0), 0));
    let rate = |seconds: f64| records as f64 / seconds / 1e6;
    println!(
        "{name:<8} {records:>10} {:>8.2} {:>8.2} {:>8.3}",
        rate(seconds),
        rate(processor),
        most_memory()
    );
}

/// Writes the run in a process of its own, whose memory does not count here.
fn main() {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-'));
    let first = words.next();
    if first.as_deref() == Some("write") {
        let folder = words.next().unwrap();
        let mut numbers = words.map(|word| word.parse::<u64>().unwrap());
        generate(Path::new(&folder), numbers.next().unwrap() as u32, numbers.next().unwrap());
        return;
    }
    let ranks: u64 = first.map_or(32, |word| word.parse().unwrap());
    let rounds: u64 = words.next().map_or(40_000, |word| word.parse().unwrap());
    println!("to          records      M/s  M/s/core  GB most");
    for rounds in [rounds / 4, rounds] {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = std::process::Command::new(std::env::current_exe().unwrap());
        writer.arg("write").arg(folder.path()).args([ranks.to_string(), rounds.to_string()]);
        assert!(writer.status().unwrap().success());
        let records = ranks * (4 * rounds + 2);
        read("summary", folder.path(), records, &mut SummaryExport::new(io::sink()));
        read("tar", folder.path(), records, &mut ArchiveExport::new(io::sink(), false));
    }
}
