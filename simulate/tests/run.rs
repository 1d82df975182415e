//! Whole runs against closed forms, against each other, and against a slow account of who used
//! which link when.

#![allow(clippy::unwrap_used, clippy::panic, clippy::float_cmp, reason = "tests")]

mod point;

use phaseflow_collect::trace::Rank;
use phaseflow_collect::{Cell, TrafficMatrix};
use phaseflow_segment::{Header, Occurrence, Phase, Segmentation};
use phaseflow_simulate::distribution::Distribution;
use phaseflow_simulate::result::{RunResult, Series};
use phaseflow_simulate::run::{JobSource, LinkStatistics, Reroute, Setup, Submission, run};
use phaseflow_simulate::topology::{Failure, LinkId, Topology, TopologyChoice, TopologyOptions, topology};
use phaseflow_simulate::workload::Workload;
use point::algorithms;
use proptest::prelude::*;

fn network(text: &str) -> Topology {
    topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
}

fn matrix(cells: &[(u32, u32, u64)]) -> TrafficMatrix {
    let cell = |(src, dst, bytes): &(u32, u32, u64)| Cell {
        src: Rank(*src),
        dst: Rank(*dst),
        messages: 1,
        bytes: *bytes,
    };
    TrafficMatrix::from_cells(cells.iter().map(cell)).unwrap()
}

/// Phases by their cells, and stretches of (phase, nanoseconds) that follow each other.
fn workload(ranks: u32, phases: &[&[(u32, u32, u64)]], stretches: &[(Option<u32>, u64)]) -> Workload {
    let mut end_ns = 0;
    let occurrences: Vec<Occurrence> = stretches
        .iter()
        .map(|(phase, duration)| {
            let start_ns = end_ns;
            end_ns += duration;
            Occurrence { phase: *phase, depth: 0, start_ns, end_ns, messages: 0, bytes: 0 }
        })
        .collect();
    let of = |number: u32| stretches.iter().filter(move |stretch| stretch.0 == Some(number));
    let timed = !stretches.is_empty();
    let phases = phases.iter().zip(0..).map(|(cells, number)| Phase {
        title: String::new(),
        name: number.to_string(),
        occurrences: of(number).count() as u64,
        duration_ns: timed.then(|| of(number).map(|stretch| stretch.1).sum()),
        matrix: matrix(cells),
    });
    let header = Header {
        format: phaseflow_segment::FORMAT.into(),
        version: phaseflow_segment::VERSION,
        source: "test".into(),
        method: "none".into(),
        ranks,
        duration_ns: timed.then_some(end_ns),
        unmatched_receives: Default::default(),
    };
    Workload::new("work", Segmentation { header, phases: phases.collect(), occurrences })
}

fn fixed(workload: usize, at_s: f64, duration_s: Option<f64>) -> JobSource {
    JobSource { workload, submission: Submission::Fixed { at_s, duration_s } }
}

fn setup<'a>(topology: &'a Topology, workloads: &'a [Workload], jobs: &'a [JobSource]) -> Setup<'a> {
    Setup { record_routes: true, ..point::setup(topology, workloads, jobs) }
}

fn simulate(setup: &Setup<'_>) -> RunResult {
    run(setup, algorithms("fcfs", "linear", "dmodk")).unwrap()
}

fn series<'a>(result: &'a RunResult, name: &str) -> &'a Series {
    result.series.iter().find(|series| series.name == name).unwrap()
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} instead of {expected}");
}

/// Two edge switches of two hosts, one core: the link between switches in each direction is shared
/// by all that crosses.
const TWO_BY_TWO: &str = "xgft[m=2:2,w=1:1]";

/// 2 ms of a crossing pair at 1 GB/s, 1 ms idle, 1 ms of two crossing pairs at 2 GB/s each, 2 ms of
/// the first again.
fn two_phases() -> Workload {
    let ms = 1_000_000;
    workload(
        4,
        &[&[(0, 2, 4_000_000)], &[(0, 2, 2_000_000), (1, 3, 2_000_000)]],
        &[(Some(0), 2 * ms), (None, ms), (Some(1), ms), (Some(0), 2 * ms)],
    )
}

#[test]
fn phases_load_links_while_they_run() {
    let topology = network(TWO_BY_TWO);
    let (workloads, jobs) = ([two_phases()], [fixed(0, 0.001, None)]);
    let snapshots_s = [0.0, 0.001, 0.003, 0.0045, 0.005, 0.007, 0.1];
    let result = simulate(&Setup { snapshots_s: &snapshots_s, ..setup(&topology, &workloads, &jobs) });

    let [first, second] = &result.phases[..] else { panic!("{:?}", result.phases) };
    assert_eq!((first.phase.as_str(), first.occurrences, first.bytes), ("0", 2, 4_000_000));
    close(first.duration_s, 0.004);
    close(first.makespan_s, 0.004);
    close(first.max_link_load, 1e9);
    close(first.max_utilization, 0.8);
    close(second.max_link_load, 4e9);
    close(second.max_utilization, 3.2);
    assert_eq!(second.max_link_bytes, Some(4_000_000));
    assert!(topology.between_switches(second.bottleneck.unwrap()));
    // 12 links: 8 of hosts, 4 of switches. Phase 1 uses 2 links up, 2 through the core and 2 down.
    close(second.mean_link_load, (2.0 * 2e9 + 2.0 * 4e9 + 2.0 * 2e9) / 12.0);
    let mean: f64 = 4.0 / 3.0;
    let variance =
        (4.0 * (2.0_f64 - mean).powi(2) + 2.0 * (4.0_f64 - mean).powi(2) + 6.0 * mean.powi(2)) / 12.0;
    close(second.variance_link_load, variance * 1e18);
    assert_eq!(second.min_link_load, Some(0.0));

    let congestion = series(&result, "max_congestion");
    assert_eq!(congestion.time_s, [0.0, 0.001, 0.003, 0.004, 0.005, 0.007]);
    assert_eq!(congestion.value, [0.0, 1e8, 0.0, 4e8, 1e8, 0.0]);
    let summary = congestion.summary.unwrap();
    close(Some(summary.mean), (4.0 * 1e8 + 4e8) / 7.0);
    // Of the four links between switches two are used.
    close(result.statistics.mean_congestion, (4.0 * 1e8 + 4e8) / 7.0 / 2.0);
    close(result.statistics.max_congestion, 4e8);
    close(result.statistics.max_utilization, 3.2);
    close(result.statistics.makespan_s, 0.007);
    assert_eq!((result.statistics.max_flows, result.statistics.jobs_finished), (Some(2), 1));

    let highest = |load: &Vec<f64>| load.iter().copied().fold(0.0, f64::max);
    let loads: Vec<f64> = result.snapshots.iter().map(|snapshot| highest(&snapshot.load)).collect();
    assert_eq!(loads, [0.0, 1e9, 0.0, 4e9, 1e9, 0.0, 0.0]);
    assert_eq!(result.links.link.len(), 4 + 6);
    assert_eq!(result.routes.len(), 2);
}

#[test]
fn a_run_that_is_cut_tells_of_what_began() {
    let topology = network(TWO_BY_TWO);
    // Phase 1 comes first, and phase 0 after the end.
    let work =
        workload(4, &[&[(0, 2, 40)], &[(1, 3, 80)]], &[(Some(1), 1_000_000_000), (Some(0), 1_000_000_000)]);
    let (workloads, jobs) = ([work], [fixed(0, 0.0, None)]);
    let result = simulate(&Setup { duration_s: Some(0.5), ..setup(&topology, &workloads, &jobs) });
    assert_eq!(result.phases.iter().map(|row| row.phase.as_str()).collect::<Vec<_>>(), ["1"]);
    assert_eq!((result.phases[0].makespan_s, result.jobs[0].finished_s), (None, None));
    // Rows of links name the phase by its place among the job's rows.
    assert!(result.links.phase.iter().all(|phase| *phase == Some(0)));
    close(series(&result, "max_congestion").summary.map(|summary| summary.mean), 8.0);
}

#[test]
fn merged_is_the_average() {
    let topology = network(TWO_BY_TWO);
    let (workloads, jobs) = ([two_phases()], [fixed(0, 0.0, None)]);
    let result = simulate(&Setup { merged: true, ..setup(&topology, &workloads, &jobs) });
    let [row] = &result.phases[..] else { panic!("{:?}", result.phases) };
    assert_eq!((row.phase.as_str(), row.bytes), ("merged", 8_000_000));
    close(row.max_link_load, 8e6 / 0.006);
    close(result.statistics.max_congestion, 8e6 / 0.006 / 10.0);
    assert!(result.links.phase.iter().all(Option::is_none));
}

#[test]
fn a_drawn_duration_stretches_time_but_not_rates() {
    let topology = network(TWO_BY_TWO);
    let (workloads, jobs) = ([two_phases()], [fixed(0, 0.0, Some(6.0))]);
    let result = simulate(&setup(&topology, &workloads, &jobs));
    assert_eq!(series(&result, "max_congestion").time_s, [0.0, 2.0, 3.0, 4.0, 6.0]);
    close(result.statistics.max_congestion, 4e8);
    close(result.phases[0].makespan_s, 4.0);
    close(result.phases[0].duration_s, 0.004);
}

#[test]
fn without_any_time_loads_are_bytes_and_nothing_is_claimed_of_time() {
    let topology = network(TWO_BY_TWO);
    let cells: [&[(u32, u32, u64)]; 2] = [&[(0, 2, 40)], &[(0, 2, 20), (1, 3, 30)]];
    let (workloads, jobs) = ([workload(4, &cells, &[])], [fixed(0, 0.0, None)]);
    let result = simulate(&setup(&topology, &workloads, &jobs));
    assert_eq!(series(&result, "max_congestion").value, [4.0, 5.0, 0.0]);
    assert_eq!(series(&result, "max_congestion").time_s, [0.0, 1.0, 2.0]);
    assert_eq!(result.phases[1].max_link_load, Some(50.0));
    assert_eq!((result.phases[1].makespan_s, result.phases[1].max_utilization), (None, None));
    assert_eq!((result.statistics.makespan_s, result.statistics.max_utilization), (None, None));
}

#[test]
fn jobs_wait_for_whole_hosts() {
    // Four hosts of one slot; jobs of 3, 2 and 1 ranks for 10 s each, submitted at 0, 1 and 2 s.
    let topology = network(TWO_BY_TWO);
    let job = |ranks| workload(ranks, &[&[(0, 0, 1)]], &[(Some(0), 1)]);
    let workloads = [job(3), job(2), job(1)];
    let jobs = [fixed(0, 0.0, Some(10.0)), fixed(1, 1.0, Some(10.0)), fixed(2, 2.0, Some(4.0))];
    let started = |scheduler: &str| {
        let result =
            run(&setup(&topology, &workloads, &jobs), algorithms(scheduler, "linear", "dmodk")).unwrap();
        let rows = result.jobs.iter();
        (rows.map(|row| row.started_s.unwrap()).collect::<Vec<_>>(), result)
    };
    let (starts, result) = started("fcfs");
    assert_eq!(starts, [0.0, 10.0, 10.0]);
    assert_eq!(series(&result, "jobs_waiting").value, [0.0, 1.0, 2.0, 0.0]);
    assert_eq!(series(&result, "jobs_running").value, [1.0, 2.0, 1.0, 0.0]);
    assert_eq!(series(&result, "jobs_finished").value, [0.0, 1.0, 2.0, 3.0]);
    close(series(&result, "jobs_in_system").summary.map(|summary| summary.mean), (10.0 + 19.0 + 12.0) / 20.0);
    assert_eq!(started("fcfs[variant=pfsim]").0, [0.0, 10.0, 20.0]);
    assert_eq!(started("easy").0, [0.0, 10.0, 2.0]);
    assert_eq!(result.jobs[0].hosts.len(), 3);
}

#[test]
fn what_cannot_be_run_is_said() {
    let topology = network(TWO_BY_TWO);
    let fails = |workloads: &[Workload], jobs: &[JobSource], duration_s| {
        let setup = Setup { duration_s, ..setup(&topology, workloads, jobs) };
        run(&setup, algorithms("fcfs", "linear", "dmodk")).unwrap_err().to_string()
    };
    let small = &[workload(2, &[&[(0, 1, 1)]], &[(Some(0), 1)])];
    assert_eq!(
        fails(&[workload(5, &[], &[])], &[fixed(0, 0.0, None)], None),
        format!("job 0 (work) has 5 processes, the topology {TWO_BY_TWO} 4 slots")
    );
    assert_eq!(fails(&[workload(0, &[], &[])], &[], None), "work: has no ranks, expected one at least");
    let endless = |seconds| JobSource {
        workload: 0,
        submission: Submission::Endless { submit: Distribution::constant(seconds), duration: None },
    };
    assert_eq!(
        fails(small, &[endless(1.0)], None),
        "job 0 is submitted without end, so the run needs a duration"
    );
    assert_eq!(
        fails(small, &[fixed(0, -1.0, None)], None),
        "the submission of job 0 is -1 s, expected 0 to 18446744 s (213 days)"
    );
    let mut gap = workload(2, &[&[(0, 1, 1)]], &[(Some(0), 5), (Some(0), 5)]);
    gap.segmentation.occurrences[1].start_ns = 6;
    assert_eq!(
        fails(&[gap], &[fixed(0, 0.0, None)], None),
        "work: occurrence 1: runs from 6 to 10 ns, the one before it ends at 5 ns"
    );
}

#[test]
fn endless_jobs_come_as_drawn_and_the_run_ends_in_time() {
    let topology = network("xgft[m=4:4,w=1:2]");
    let workloads = [workload(4, &[&[(0, 1, 100), (2, 3, 100)]], &[(Some(0), 2_000_000_000)])];
    let line = |seconds| JobSource {
        workload: 0,
        submission: Submission::Endless { submit: Distribution::constant(seconds), duration: None },
    };
    let jobs = [line(1.0), line(3.0)];
    let setup = Setup {
        duration_s: Some(9.5),
        link_statistics: LinkStatistics::Run,
        ..setup(&topology, &workloads, &jobs)
    };
    let result = run(&setup, algorithms("fcfs", "random", "ecmp")).unwrap();
    let mut times: Vec<f64> = result.jobs.iter().map(|row| row.submitted_s).collect();
    times.sort_by(f64::total_cmp);
    assert_eq!(times, [1.0, 2.0, 3.0, 3.0, 4.0, 5.0, 6.0, 6.0, 7.0, 8.0, 9.0, 9.0]);
    assert_eq!(result.statistics.makespan_s, None);
    assert!(result.links.job.iter().all(Option::is_none));
    let unfinished = result.jobs.iter().filter(|row| row.finished_s.is_none()).count();
    assert_eq!(result.statistics.jobs_finished as usize, times.len() - unfinished);
    assert_eq!(run(&setup, algorithms("fcfs", "random", "ecmp")).unwrap(), result);
}

/// A workload of up to three phases on four ranks.
fn any_workload() -> impl Strategy<Value = Workload> {
    let cells = prop::collection::vec((0_u32..4, 0_u32..4, 0_u64..1000), 0..8);
    let stretches = prop::collection::vec((prop::option::of(0_u32..3), 0_u64..5), 1..8);
    (prop::collection::vec(cells, 3), stretches).prop_map(|(phases, mut stretches)| {
        stretches[0].1 += 1; // a run of no length cannot be stretched
        let phases: Vec<&[(u32, u32, u64)]> = phases.iter().map(Vec::as_slice).collect();
        workload(4, &phases, &stretches)
    })
}

/// Load of each link at a time between events, from the rows alone: which stretch each job is in,
/// and its recorded routes.
fn loads_at(time_s: f64, setup: &Setup<'_>, result: &RunResult) -> Vec<f64> {
    let mut load = vec![0.0; setup.topology.link_count()];
    for job in &result.jobs {
        let (Some(start), Some(end)) = (job.started_s, job.finished_s) else { continue };
        if time_s < start || time_s > end {
            continue;
        }
        let segmentation = &setup.workloads[job.workload].segmentation;
        let ns = (time_s - start) / (end - start) * segmentation.header.duration_ns.unwrap() as f64;
        let now =
            segmentation.occurrences.iter().find(|it| (it.start_ns as f64) < ns && ns < it.end_ns as f64);
        let Some(phase) = now.and_then(|occurrence| occurrence.phase) else { continue };
        let phase = &segmentation.phases[phase as usize];
        let routes = result.routes.iter().find(|it| it.job == job.job && it.phase == phase.name).unwrap();
        // One slot a host: ranks and hosts are in the same order.
        let node = |rank: Rank| job.hosts[rank.0 as usize];
        let node_of = |host| setup.topology.host(host);
        for cell in phase.matrix.cells().filter(|cell| cell.src != cell.dst) {
            let pair = (node(cell.src), node(cell.dst));
            let number =
                routes.pairs.iter().position(|(src, dst)| (node_of(*src), node_of(*dst)) == pair).unwrap();
            for link in routes.routes.get(number) {
                load[link.0 as usize] += cell.bytes as f64 / (phase.duration_ns.unwrap() as f64 / 1e9);
            }
        }
    }
    load
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // CORRECTNESS: links carry the phases of the jobs that run, and nothing else, at any time.
    #[test]
    fn loads_are_those_of_a_slow_account(
        workloads in prop::collection::vec(any_workload(), 1..3),
        times in prop::collection::vec((0_u64..40, 1_u64..30), 1..6),
        router in prop::sample::select(vec!["dmodk", "greedy", "greedy-max", "random"]),
        scheduler in prop::sample::select(vec!["fcfs", "easy"]),
    ) {
        let topology = network("xgft[m=4:3,w=1:2]");
        let jobs: Vec<JobSource> = times.iter().enumerate().map(|(i, (at, duration))| {
            fixed(i % workloads.len(), *at as f64, Some(*duration as f64))
        }).collect();
        // Moments at which nothing begins or ends.
        let snapshots_s: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.731 + 0.0137).collect();
        let setup = Setup { snapshots_s: &snapshots_s, ..setup(&topology, &workloads, &jobs) };
        let result = run(&setup, algorithms(scheduler, "linear", router)).unwrap();
        let mut highest = 0.0_f64;
        for snapshot in &result.snapshots {
            let expected = loads_at(snapshot.time_s, &setup, &result);
            for (link, (found, expected)) in snapshot.load.iter().zip(&expected).enumerate() {
                prop_assert!((found - expected).abs() <= 1e-9 * expected, "{} {} {}", link, found, expected);
                if topology.between_switches(LinkId(link as u32)) {
                    highest = highest.max(*found);
                }
            }
        }
        prop_assert!(result.statistics.max_congestion.unwrap() * 10.0 >= highest * (1.0 - 1e-12));
        let empty = result.statistics.makespan_s.is_some_and(|end| end < snapshots_s[99]);
        prop_assert!(!empty || result.snapshots[99].load.iter().all(|load| load.to_bits() == 0));
        prop_assert_eq!(result.statistics.jobs_finished as usize, jobs.len());
    }

    /// A router that looks at nothing but source and destination says the same however often it is
    /// asked.
    #[test]
    fn asking_an_oblivious_router_again_changes_nothing(
        workloads in prop::collection::vec(any_workload(), 1..3),
        times in prop::collection::vec((0_u64..40, prop::option::of(1_u64..30)), 1..6),
    ) {
        let topology = network("xgft[m=4:3,w=1:2]");
        let jobs: Vec<JobSource> = times.iter().enumerate().map(|(i, (at, duration))| {
            fixed(i % workloads.len(), *at as f64, duration.map(|duration| duration as f64))
        }).collect();
        let once = simulate(&setup(&topology, &workloads, &jobs));
        let mut again = simulate(&Setup { reroute: Reroute::Phase, ..setup(&topology, &workloads, &jobs) });
        for phase in &mut again.phases {
            prop_assert_eq!(phase.changed_routes.take(), Some(0));
        }
        prop_assert_eq!(once, again);
    }
}

/// Two leaves of two hosts under two spines. D-mod-K sends to host 2 by the first spine, to host 3
/// by the second one.
const TWO_SPINES: &str = "leaf-spine[leaves=2,spines=2,hosts=2]";

fn load_of(topology: &Topology, loads: &[f64], src: &str, dst: &str) -> f64 {
    let name = |node| topology.node(node).name.as_str();
    let mut links = (0..topology.link_count() as u32).map(LinkId);
    let link = links.find(|link| (name(topology.src(*link)), name(topology.dst(*link))) == (src, dst));
    loads[link.unwrap().0 as usize]
}

#[test]
fn links_that_fail_in_the_run_send_pairs_another_way() {
    let failures = ["s1.0<>s2.0@3ms", "s1.1>s2.0@1s"].map(|text| Failure::parse(text).unwrap());
    let failing = network(TWO_SPINES).with_failures(&failures).unwrap();
    let ms = 1_000_000;
    let workloads = [workload(4, &[&[(0, 2, 4_000_000), (1, 3, 4_000_000)]], &[(Some(0), 4 * ms)])];
    let jobs = [fixed(0, 0.0, None)];
    let snapshots_s = [0.001, 0.0035];
    let result = simulate(&Setup { snapshots_s: &snapshots_s, ..setup(&failing, &workloads, &jobs) });
    let [before, after] = &result.snapshots[..] else { panic!("{:?}", result.snapshots) };
    for (snapshot, spine, expected) in
        [(before, "s2.0", 1e9), (before, "s2.1", 1e9), (after, "s2.0", 0.0), (after, "s2.1", 2e9)]
    {
        assert_eq!(load_of(&failing, &snapshot.load, "s1.0", spine), expected, "{spine}");
    }
    let [phase] = &result.phases[..] else { panic!("{:?}", result.phases) };
    assert_eq!((phase.changed_routes, phase.max_link_load), (Some(1), Some(2e9)));
    // What fails after the last job is nobody's business: the run is over after 4 ms.
    close(result.statistics.makespan_s, 0.004);
    let whole = network(TWO_SPINES);
    let mean = simulate(&setup(&whole, &workloads, &jobs)).statistics.mean_congestion;
    assert_eq!(result.statistics.mean_congestion, mean);
}

/// The heavier pair takes the first spine, the lighter one the other; which is which changes with
/// the phase.
#[test]
fn rerouting_counts_the_pairs_that_move() {
    let topology = network(TWO_SPINES);
    let ms = 1_000_000;
    let phases: [&[(u32, u32, u64)]; 2] =
        [&[(0, 2, 8_000_000), (1, 3, 4_000_000)], &[(0, 2, 2_000_000), (1, 3, 4_000_000)]];
    let workloads = [workload(4, &phases, &[(Some(0), 2 * ms), (Some(1), 2 * ms), (Some(0), 2 * ms)])];
    let jobs = [fixed(0, 0.0, None)];
    let changed = |router: &str, reroute: Reroute| -> Vec<Option<u64>> {
        let setup = Setup { reroute, ..setup(&topology, &workloads, &jobs) };
        let result = run(&setup, algorithms("fcfs", "linear", router)).unwrap();
        result.phases.iter().map(|phase| phase.changed_routes).collect()
    };
    assert_eq!(changed("greedy", Reroute::Phase), [Some(2), Some(2)]);
    assert_eq!(changed("dmodk", Reroute::Phase), [Some(0), Some(0)]);
    assert_eq!(changed("greedy", Reroute::Job), [None, None]);
}
