//! Transfers written a second, by pattern: dense, ring, and a tree that has to be built first.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use phaseflow_collect::expand::{Algorithm, Collective, Counts, Rules, expand_with};
use phaseflow_collect::trace::Operation;

fn expansions(c: &mut Criterion) {
    let mut group = c.benchmark_group("expand");
    for (operation, algorithm, ranks, transfers) in [
        (Operation::Alltoall, Algorithm::Pairwise, 1024, 1024 * 1023),
        (Operation::Allreduce, Algorithm::Ring, 512, 2 * 512 * 511),
        (Operation::Allreduce, Algorithm::Rabenseifner, 65_536, 65_536 * 32),
        (Operation::Bcast, Algorithm::Binomial, 4096, 4095),
    ] {
        let collective = Collective::new(operation, ranks, Counts::Each(1 << 20));
        group.throughput(Throughput::Elements(transfers));
        group.bench_function(format!("{} {} {ranks}", operation.name(), algorithm.name()), |b| {
            b.iter(|| {
                let mut bytes = 0u64;
                let sink = &mut |transfer: phaseflow_collect::expand::Transfer| bytes += transfer.bytes;
                expand_with(&collective, algorithm, Rules::OpenMpi41, sink).map(|_| bytes)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, expansions);
criterion_main!(benches);
