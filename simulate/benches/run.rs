//! Whole runs: PFSim's CG scenario, and the same trace on a fat tree of 2 048 hosts with 40 jobs at
//! a time.

mod pfsim_data;

use criterion::{Criterion, criterion_group, criterion_main};
use pfsim_data::{algorithms, cluster, line, setup, workload};
use phaseflow_simulate::run::run;
use phaseflow_simulate::topology::{TopologyChoice, TopologyOptions, topology};

const ROUTERS: [&str; 3] = ["dmodk[variant=pfsim]", "greedy", "greedy-max"];

fn cg(criterion: &mut Criterion) {
    let (Some(milk), Some(cg)) = (cluster("milk.graphml"), workload("cg-c-128.tar.gz")) else { return };
    let (workloads, jobs) = ([cg], [line(0, 0.1, 0.2)]);
    let setup = setup(&milk, &workloads, &jobs, 1000.0);
    criterion.bench_function("cg, 12 runs", |bencher| {
        bencher.iter(|| {
            for selector in ["linear", "random"] {
                for mapper in ["block", "cyclic"] {
                    for router in ROUTERS {
                        let algorithms = algorithms("fcfs[variant=pfsim]", selector, mapper, router);
                        assert!(run(&setup, algorithms).is_ok_and(|result| result.jobs.len() > 50));
                    }
                }
            }
        });
    });
}

fn fat_tree(criterion: &mut Criterion) {
    let Some(cg) = workload("cg-c-128.tar.gz") else { return };
    // 4 slots a host: a job takes 32 hosts, so 40 jobs leave some free. With 8 times as many
    // arrivals as ends at the start, 40 jobs on average run at a time (Little: 2 jobs/s · 20 s).
    let choice = TopologyChoice::parse("xgft[m=16:16:8,w=1:16:16]").ok();
    let options = TopologyOptions { slots: Some(4), ..TopologyOptions::default() };
    let Some(network) = choice.and_then(|choice| topology(&choice, &options).ok()) else { return };
    let (workloads, jobs) = ([cg], [line(0, 2.0, 0.05)]);
    let setup = setup(&network, &workloads, &jobs, 1000.0);
    let mut group = criterion.benchmark_group("2048 hosts, 40 jobs at a time");
    group.sample_size(10);
    for selector in ["linear", "random", "compact"] {
        for router in ROUTERS {
            group.bench_function(format!("{selector} {router}"), |bencher| {
                bencher.iter(|| {
                    let result = run(&setup, algorithms("fcfs", selector, "block", router));
                    assert!(result.is_ok_and(|result| result.jobs.len() > 1500));
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, cg, fat_tree);
criterion_main!(benches);
