//! Records a second of OTF2: ranks in a ring, six records a message, read by one thread.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench")]

#[path = "../tests/otf2_files/mod.rs"]
mod otf2_files;

use std::hint::black_box;
use std::io;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use otf2_files::Records;
use phaseflow_collect::export::SummaryExport;
use phaseflow_collect::import::{Input, Reading, import};

/// Ranks of the run, and messages that each sends and receives: six records each.
const RANKS: u64 = 16;
const MESSAGES: u64 = 20_000;

/// A send to the next rank and a receive from the one before, each in its function.
fn events(rank: u64, records: &mut Records) {
    let (next, before) = ((rank + 1) % RANKS, (rank + RANKS - 1) % RANKS);
    for round in 0..MESSAGES {
        let start = 1000 + round * 10_000 + rank;
        for (offset, kind) in [(0, 12), (100, 14), (200, 13), (300, 12), (1000, 18), (1100, 13)] {
            records.time(start + offset);
            match kind {
                14 => records.record(kind, &[next, 0, 5, 4096]),
                18 => records.record(kind, &[before, 0, 5, 4096]),
                kind => records.single(kind, 190),
            }
        }
    }
}

fn benches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    otf2_files::write(folder.path(), &otf2_files::trace(false, RANKS, "Score-P 8", &events));
    let mut group = criterion.benchmark_group("otf2");
    group.sample_size(10).throughput(Throughput::Elements(RANKS * MESSAGES * 6));
    group.bench_function("records", |bencher| {
        bencher.iter(|| {
            let input = Input::open(&folder.path().join("x.otf2")).unwrap();
            let mut sink = SummaryExport::new(io::sink());
            black_box(import(input, Reading::new(tempfile::tempfile), &mut sink).unwrap())
        });
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
