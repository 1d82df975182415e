//! Reading run directories: messages a second and memory, of a generated run in which every rank
//! exchanges with four neighbours, round after round, and waits for its messages.
//!
//! `cargo bench -p phaseflow-collect --bench recording -- [RANKS [MESSAGES_A_RANK]]`, by default
//! 256 and 100 000. A message takes 64 bytes in the directory, made in the folder for temporary
//! files.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and one that cannot go on fails"
)]

#[path = "../tests/run_directory/mod.rs"]
mod run_directory;

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use phaseflow_collect::export::{ArchiveExport, SummaryExport};
use phaseflow_collect::import::{Input, Reading, import};
use phaseflow_collect::trace::Sink;
use phaseflow_profiler::format::Kind;
use run_directory::{Process, message};

/// Time of a round of four messages each way.
const ROUND_NS: u64 = 20_000;

fn generate(directory: &Path, ranks: u32, rounds: u64) {
    for rank in 0..ranks {
        let end = (rounds + 2) * ROUND_NS;
        let mut process = Process::new(directory, rank, ranks, false, end);
        // Something like the noise of a real machine, without a random number generator.
        let noise = |round: u64, what: u64| {
            let mixed = (u64::from(rank) << 40 ^ round << 8 ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed >> 52
        };
        for round in 0..rounds {
            let start = 1 + round * ROUND_NS + noise(round, 0);
            for neighbour in 0..4_u32 {
                let step = [1, ranks - 1, 16 % ranks, ranks - 16 % ranks][neighbour as usize];
                let peer = (rank + step) % ranks;
                let done = start + 9000 + noise(round, u64::from(neighbour));
                process.push(message(
                    Kind::Receive,
                    start + u64::from(neighbour),
                    done,
                    4096,
                    peer,
                    (neighbour ^ 1).cast_signed(),
                ));
            }
            for neighbour in 0..4_u32 {
                let step = [1, ranks - 1, 16 % ranks, ranks - 16 % ranks][neighbour as usize];
                let peer = (rank + step) % ranks;
                let post = start + 100 + u64::from(neighbour) * 300 + noise(round, 9) / 16;
                process.push(message(Kind::Send, post, post, 4096, peer, neighbour.cast_signed()));
            }
        }
        process.finish();
    }
}

/// Gigabytes of the process at its largest.
fn most_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: f64 =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(f64::NAN);
    kilobytes / 1e6
}

/// Seconds of processor time that all threads took so far.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> = stat.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
    fields.get(13..15).map_or(f64::NAN, |times| (times[0] + times[1]) / 100.0)
}

/// Counts what is written.
#[derive(Default)]
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn read(name: &str, directory: &Path, sink: &mut dyn Sink) {
    let (start, before) = (Instant::now(), processor_seconds());
    let reading = Reading::new(tempfile::tempfile);
    let read = import(Input::Directory(directory.into()), reading, sink).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((read.summary.unmatched, read.remarks.len()), (Some(0), 0));
    let messages = read.summary.messages;
    let each = (processor_seconds() - before) / messages as f64 * 1e9;
    let rate = messages as f64 / seconds / 1e6;
    println!("{name:<10} {messages:>10} {rate:>8.2} {each:>8.0} {:>8.3}", most_memory());
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let ranks = u32::try_from(numbers.next().unwrap_or(256)).unwrap();
    let rounds = numbers.next().unwrap_or(100_000).div_ceil(4);
    let directory = tempfile::tempdir().unwrap();
    generate(directory.path(), ranks, rounds);
    println!("to           messages      M/s   CPU ns  GB most");
    read("summary", directory.path(), &mut SummaryExport::new(io::sink()));
    let mut bytes = Count::default();
    read("tar", directory.path(), &mut ArchiveExport::new(&mut bytes, false));
    println!("           {:.2} bytes a message", bytes.0 as f64 / f64::from(ranks) / (rounds * 4) as f64);
    let mut bytes = Count::default();
    read("tar.gz", directory.path(), &mut ArchiveExport::new(&mut bytes, true));
    println!("           {:.2} bytes a message", bytes.0 as f64 / f64::from(ranks) / (rounds * 4) as f64);
}
