//! Messages per second of the passes over a trace in memory, on one core.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::Cursor;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{PatternName, Run};
use phaseflow_collect::trace::TraceReader;
use phaseflow_segment::{Method, Options, Rewind, segment};

/// About two million messages in two phases: 64 or 1024 ranks.
fn trace(ranks: u32, repeat: u64) -> (u64, Vec<u8>) {
    let run = Run {
        patterns: PatternName::parse_list("halo2d,alltoall").unwrap(),
        ranks,
        bytes: 64 << 10,
        repeat,
        gap_ns: 100_000,
        seed: 1,
    };
    let mut archive = Vec::new();
    let summary = run.generate(&mut ArchiveExport::new(&mut archive, false)).unwrap();
    (summary.messages, archive)
}

fn passes(criterion: &mut Criterion) {
    for (ranks, repeat) in [(64, 470), (1024, 2)] {
        let (messages, archive) = trace(ranks, repeat);
        let mut group = criterion.benchmark_group(format!("segment-{ranks}-ranks"));
        group.sample_size(10);
        group.throughput(Throughput::Elements(messages));
        group.bench_function("read", |bencher| {
            bencher.iter(|| {
                let mut reader = TraceReader::open(&archive[..]).unwrap();
                while reader.next_block().unwrap().is_some() {}
            });
        });
        for method in ["none", "kmeans"] {
            let options = Options {
                method: Method::parse(&Choice::parse(method).unwrap()).unwrap(),
                ..Options::default()
            };
            group.bench_function(method, |bencher| {
                bencher.iter(|| segment(&mut Rewind(Cursor::new(&archive)), &options).unwrap());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, passes);
criterion_main!(benches);
