//! The hold model (Jones, *An empirical comparison of priority-queue and event-set
//! implementations*, 1986): a queue of n pending events; each step takes the earliest and adds one
//! an exponential time later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use phaseflow_simulate::engine::EventQueue;
use rand::{Rng, SeedableRng};
use rand_distr::Exp1;
use rand_xoshiro::Xoshiro256PlusPlus;

/// As large as the events of the models: a tag and two ids.
type Payload = [u32; 3];

const STEPS: usize = 10_000;

fn delays() -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..STEPS).map(|_| (rng.sample::<f64, _>(Exp1) * 1e6) as u64).collect()
}

fn hold(criterion: &mut Criterion) {
    let delays = delays();
    let mut group = criterion.benchmark_group("hold");
    group.throughput(Throughput::Elements(STEPS as u64));
    for pending in [100, 1_000, 10_000, 100_000, 1_000_000] {
        group.bench_function(BenchmarkId::new("engine", pending), |bencher| {
            let mut queue = EventQueue::<Payload>::default();
            (0..pending).for_each(|i| queue.push(delays[i % STEPS], [i as u32; 3]));
            bencher.iter(|| {
                for delay in &delays {
                    if let Some((time, event)) = queue.pop() {
                        queue.push(time + delay, black_box(event));
                    }
                }
            });
        });
        group.bench_function(BenchmarkId::new("engine-cancellable", pending), |bencher| {
            let mut queue = EventQueue::<Payload>::default();
            (0..pending).for_each(|i| {
                queue.push_cancellable(delays[i % STEPS], [i as u32; 3]);
            });
            bencher.iter(|| {
                for delay in &delays {
                    if let Some((time, event)) = queue.pop() {
                        queue.push_cancellable(time + delay, black_box(event));
                    }
                }
            });
        });
        group.bench_function(BenchmarkId::new("binary-heap", pending), |bencher| {
            let mut queue = BinaryHeap::<Reverse<(u64, u64, Payload)>>::new();
            let mut sequence = 0;
            for i in 0..pending {
                queue.push(Reverse((delays[i % STEPS], sequence, [i as u32; 3])));
                sequence += 1;
            }
            bencher.iter(|| {
                for delay in &delays {
                    if let Some(Reverse((time, _, event))) = queue.pop() {
                        queue.push(Reverse((time + delay, sequence, black_box(event))));
                        sequence += 1;
                    }
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
