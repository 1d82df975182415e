//! Jobs whose length comes out of a replay: against formulas, against the traffic model's life of
//! jobs, and against each other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod point;

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::import::Input;
use phaseflow_collect::pattern::{PatternName, Run};
use phaseflow_segment::{Method, Options, Rewind, segment, write_with_messages};
use phaseflow_simulate::result::{Cause, RunResult, StepKind};
use phaseflow_simulate::run::{JobSource, KnownReplays, Model, Setup, Submission, run as run_point};
use phaseflow_simulate::topology::{
    Failure, LinkId, Scale, Topology, TopologyChoice, TopologyOptions, topology,
};
use phaseflow_simulate::workload::{Reading, Workload};
use point::{algorithms, setup};

/// Bytes a picosecond and latency of a route through the star.
const BYTE_PS: u64 = 100;
const L: u64 = 1_000_000;

fn network(text: &str) -> Topology {
    let options = TopologyOptions {
        capacity_gbps: Some(80.0),
        link_latency_ps: Some(L / 2),
        ..TopologyOptions::default()
    };
    topology(&TopologyChoice::parse(text).unwrap(), &options).unwrap()
}

/// A run of patterns, segmented where they change; with all its messages or those of
/// representatives.
fn archive(patterns: &str, ranks: u32, bytes: u64, repeat: u64, all: bool) -> Vec<u8> {
    let mut trace = Vec::new();
    let run = Run {
        patterns: PatternName::parse_list(patterns).unwrap(),
        ranks,
        bytes,
        repeat,
        gap_ns: 0,
        seed: 1,
    };
    run.generate(&mut ArchiveExport::new(&mut trace, false)).unwrap();
    let mut trace = Rewind(Cursor::new(trace));
    let outcome = segment(&mut trace, &Options { method: Method::Marks, ..Options::default() }).unwrap();
    let (found, chosen) = (&outcome.segmentation, &outcome.representatives);
    write_with_messages(Vec::new(), false, found, chosen, all, &mut trace).unwrap()
}

fn read(archive: Vec<u8>, reading: Reading) -> Workload {
    Workload::read(Input::Stream(Box::new(Cursor::new(archive))), tempfile::tempfile, reading).unwrap()
}

fn workload(patterns: &str, ranks: u32, bytes: u64, repeat: u64, all: bool) -> Workload {
    read(archive(patterns, ranks, bytes, repeat, all), Reading::Messages)
}

fn at(workload: usize, at_s: f64) -> JobSource {
    JobSource { workload, submission: Submission::Fixed { at_s, duration_s: None } }
}

fn try_simulate(
    topology: &Topology,
    workloads: &[Workload],
    jobs: &[JobSource],
    model: &str,
) -> phaseflow_collect::Result<RunResult> {
    let model =
        Model::new(&Choice::parse(model).unwrap(), &Choice::plain(""), &Choice::plain("recorded"), 1)?;
    run_point(&Setup { model, ..setup(topology, workloads, jobs) }, algorithms("fcfs", "linear", "dmodk"))
}

fn simulate(topology: &Topology, workloads: &[Workload], jobs: &[JobSource], model: &str) -> RunResult {
    let result = try_simulate(topology, workloads, jobs, model).unwrap();
    for row in &result.phases {
        let (makespan, replayed) = (row.makespan_s.unwrap(), row.replayed.unwrap());
        // CORRECTNESS: the critical path is as long as the phase, and no bound is above it.
        close(replayed.path_ranks_s + replayed.path_network_s, makespan);
        assert!(replayed.unshared_s.unwrap() <= makespan * (1.0 + 1e-9));
        assert!(replayed.unlimited_s.unwrap() <= replayed.unshared_s.unwrap() * (1.0 + 1e-9));
    }
    add_up(&result);
    result
}

/// CORRECTNESS: the steps of a critical path add up to its length, and its delays to its time in
/// the network.
fn add_up(result: &RunResult) {
    let mut positions: Vec<(u32, u32)> = Vec::new();
    for row in &result.phases {
        let position = positions.iter().filter(|(job, _)| *job == row.job).count() as u32;
        positions.push((row.job, position));
        let (makespan, replayed) = (row.makespan_s.unwrap(), row.replayed.unwrap());
        let path: Vec<f64> = result
            .path
            .iter()
            .filter(|r| (r.job, r.phase) == (row.job, position))
            .map(|r| r.time_s)
            .collect();
        let blame: Vec<f64> = result
            .blame
            .iter()
            .filter(|r| (r.job, r.phase) == (row.job, position))
            .map(|r| r.path_s)
            .collect();
        if !path.is_empty() {
            close(path.iter().sum(), makespan);
        }
        if !blame.is_empty() {
            let sum: f64 = blame.iter().sum();
            assert!((sum - replayed.path_network_s).abs() <= 1e-12 + 1e-9 * makespan, "{sum}: {replayed:?}");
            assert!(blame.iter().all(|time| *time >= 0.0));
        }
    }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected, "{found} instead of {expected}");
}

fn seconds(ps: u64) -> f64 {
    ps as f64 / 1e12
}

fn makespans(result: &RunResult) -> Vec<f64> {
    result.phases.iter().map(|row| row.makespan_s.unwrap()).collect()
}

const NO_COMPUTE: &str = "flow[compute-scale=0]";

/// Rings and shifts have a link for each message at a time: their formulas hold where links are
/// shared, too.
#[test]
fn phases_take_what_their_formulas_say_times_their_occurrences() {
    let (ranks, bytes) = (8, 1 << 20);
    // Three occurrences of the ring, of 5 rounds each, and two of the shift.
    let workloads = [workload("allreduce,shift,allreduce,shift,allreduce", ranks, bytes, 5, false)];
    let result = simulate(&network("star[hosts=8]"), &workloads, &[at(0, 2.0)], NO_COMPUTE);
    let ring = 2 * (u64::from(ranks) - 1) * (L + bytes / u64::from(ranks) * BYTE_PS);
    let shift = L + bytes * BYTE_PS;
    let found = makespans(&result);
    close(found[0], seconds(3 * 5 * ring));
    close(found[1], seconds(2 * 5 * shift));
    close(result.statistics.makespan_s.unwrap(), 2.0 + seconds(15 * ring + 10 * shift));
    let simulated: Vec<u64> = result.phases.iter().map(|row| row.replayed.unwrap().simulated).collect();
    // So short a run is simulated whole, and all occurrences of a phase are one unit of it.
    assert_eq!(simulated, [1, 1]);
    // No flows share a link and no rank computes: all of the time is network.
    close(result.phases[0].replayed.unwrap().unshared_s.unwrap(), found[0]);
    close(result.phases[0].replayed.unwrap().network_s, found[0]);
    close(result.phases[0].replayed.unwrap().unlimited_s.unwrap(), seconds(15 * 14 * L));
    // A byte a link and occurrence, over the time that came out: busy all but for the latency.
    let used = (ring - 14 * L) as f64 / ring as f64;
    close(result.phases[0].max_utilization.unwrap(), used);
    close(result.statistics.max_utilization.unwrap(), 1.0);
}

#[test]
fn a_message_each_to_one_host_takes_as_long_as_its_link_needs_for_all() {
    // 7 ranks send 10 000 bytes to rank 0 at once; alone, each would take a seventh of the time.
    let workloads = [workload("incast", 8, 10_000, 1, false)];
    let result = simulate(&network("star[hosts=8]"), &workloads, &[at(0, 0.0)], NO_COMPUTE);
    close(makespans(&result)[0], seconds(L + 7 * 10_000 * BYTE_PS));
    close(result.phases[0].replayed.unwrap().unshared_s.unwrap(), seconds(L + 10_000 * BYTE_PS));
}

/// Whatever ranks carry over from one stage to the next: a run this short is simulated whole, from
/// archives that hold all messages and from those that hold windows.
#[test]
fn short_runs_are_what_they_are_without_sampling() {
    let cases = [
        ("xgft[m=4:4,w=1:2]", "allreduce,alltoall,allreduce,alltoall"),
        ("star[hosts=16]", "allreduce,shift,allreduce,halo2d"),
        ("xgft[m=4:4,w=1:2]", "halo2d,shift,halo2d,sweep"),
    ];
    for (net, patterns) in cases {
        let network = network(net);
        let workloads = [workload(patterns, 16, 30_000, 3, true)];
        let of = |model: &str| simulate(&network, &workloads, &[at(0, 0.0)], model);
        let (on, off) = (of(NO_COMPUTE), of("flow[compute-scale=0,sampling=off]"));
        assert_eq!(makespans(&on), makespans(&off));
        assert_eq!(on.statistics.makespan_s, off.statistics.makespan_s);
        for row in on.phases.iter().chain(&off.phases) {
            assert_eq!(row.replayed.unwrap().makespan_error, Some(0.0));
        }
        // Windows cut out of the whole are those that the archive would hold.
        let alone = [workload(patterns, 16, 30_000, 3, false)];
        assert_eq!(simulate(&network, &alone, &[at(0, 0.0)], NO_COMPUTE), on);
    }
}

/// Eight ranks exchange across two spines, two messages a link and direction. One spine fails when
/// half of the bytes of the second round have passed: from then on there are four a link.
#[test]
fn a_spine_that_fails_in_the_run_halves_what_is_left() {
    let bytes = 1_000_000;
    let whole = || network("leaf-spine[leaves=2,spines=2,hosts=4]");
    let workloads = [workload("bisection", 8, bytes, 3, true)];
    let round = |shared: u64| 2 * L + shared * bytes * BYTE_PS;
    let failing = |ps: u64| {
        let failure = Failure::parse(&format!("s2.1@{}ns", ps / 1000)).unwrap();
        whole().with_failures(&[failure]).unwrap()
    };
    let run = |topology: &Topology, model: &str| simulate(topology, &workloads, &[at(0, 0.0)], model);
    for model in [NO_COMPUTE, "flow[compute-scale=0,sampling=off]", "flow[compute-scale=0,blame=on]"] {
        let half_way = failing(round(2) + 2 * L + bytes * BYTE_PS);
        let result = run(&half_way, model);
        close(makespans(&result)[0], seconds(round(2) + round(3) + round(4)));
        assert_eq!(result.phases[0].changed_routes, Some(4));
        // Before the first byte it is as if the spine had not been there; after the last, as if it
        // had not failed.
        close(makespans(&run(&failing(1000), model))[0], seconds(3 * round(4)));
        close(makespans(&run(&failing(4 * round(2)), model))[0], seconds(3 * round(2)));
    }
    // Routes that were chosen for the pairs are chosen anew, too.
    let half_way = failing(round(2) + 2 * L + bytes * BYTE_PS);
    let model =
        Model::new(&Choice::parse(NO_COMPUTE).unwrap(), &Choice::plain(""), &Choice::plain("recorded"), 1);
    let jobs = [at(0, 0.0)];
    let setup = Setup { model: model.unwrap(), ..setup(&half_way, &workloads, &jobs) };
    let greedy = run_point(&setup, algorithms("fcfs", "linear", "greedy")).unwrap();
    close(makespans(&greedy)[0], seconds(round(2) + round(3) + round(4)));
}

/// A spine fails while no job runs: the next job is as if it had not been there, and the one before
/// as if it had not failed.
#[test]
fn a_job_after_a_failure_finds_the_network_as_it_is_then() {
    let whole = || network("leaf-spine[leaves=2,spines=2,hosts=4]");
    let fail = |text: &str| whole().with_failures(&[Failure::parse(text).unwrap()]).unwrap();
    let workloads = [workload("bisection,shift,bisection", 8, 100_000, 2, true)];
    for router in ["greedy", "dmodk"] {
        let of = |topology: &Topology, jobs: &[JobSource]| -> Vec<f64> {
            let choice = Choice::parse(NO_COMPUTE).unwrap();
            let model = Model::new(&choice, &Choice::plain(""), &Choice::plain("recorded"), 1).unwrap();
            let setup = Setup { model, ..setup(topology, &workloads, jobs) };
            let result = run_point(&setup, algorithms("fcfs", "linear", router)).unwrap();
            result.jobs.iter().map(|job| job.finished_s.unwrap() - job.started_s.unwrap()).collect()
        };
        let both = of(&fail("s2.1@1s"), &[at(0, 0.0), at(0, 2.0)]);
        close(both[0], of(&whole(), &[at(0, 0.0)])[0]);
        close(both[1], of(&fail("s2.1"), &[at(0, 0.0)])[0]);
        assert!(both[1] > 1.2 * both[0], "{both:?}");
    }
}

/// A sweep over each link of a network at twice its capacity: phases whose messages do not take it
/// are simulated once, and no result differs from that of a run of its own.
#[test]
fn replays_are_shared_by_points_that_differ_elsewhere() {
    let whole = network("leaf-spine[leaves=2,spines=2,hosts=4]");
    // The shift crosses the leaves, the pair stays in one.
    let workloads = [workload("shift,pair", 8, 100_000, 3, false)];
    let jobs = [at(0, 0.5)];
    for model in [NO_COMPUTE, "flow[blame=on]", "flow[noise=0.2]", "flow[sampling=off]"] {
        let workloads =
            if model.contains("off") { &[workload("shift,pair", 8, 100_000, 3, true)] } else { &workloads };
        let known = KnownReplays::default();
        let choice = Choice::parse(model).unwrap();
        let mut reused = Vec::new();
        for link in (0..whole.link_count() as u32).map(LinkId) {
            let name = |node| &whole.node(node).name;
            let what = format!("{}>{}×2", name(whole.src(link)), name(whole.dst(link)));
            let mut faster = whole.clone();
            Scale::parse(&what).unwrap().apply(&mut faster).unwrap();
            let of = |known_replays| {
                let model = Model::new(&choice, &Choice::plain(""), &Choice::plain("recorded"), 1).unwrap();
                let setup = Setup { model, known_replays, ..setup(&faster, workloads, &jobs) };
                run_point(&setup, algorithms("fcfs", "linear", "dmodk")).unwrap()
            };
            let before = known.reused();
            assert_eq!(of(None), of(Some(&known)), "{model}: {what}");
            if known.reused() > before {
                reused.push(what);
            }
        }
        // Noise makes each replay another one. Without sampling, the run's own network is used.
        let is_shared = !model.contains("noise") && !model.contains("off");
        // The first link without messages, from s1.0 to s2.1, has the network as it is simulated.
        let unused = ["s2.1>s1.0×2", "s1.1>s2.1×2", "s2.1>s1.1×2"];
        assert_eq!(reused, unused[..if is_shared { 3 } else { 0 }], "{model}");
    }
}

/// Packets on the failed spine are lost and sent again: the run takes longer than that of flows, by
/// less than the timeouts that this takes.
#[test]
fn packets_survive_a_spine_that_fails_in_the_run() {
    let workloads = [workload("bisection", 8, 1_000_000, 3, false)];
    let failure = Failure::parse("s2.1@300us").unwrap();
    let failing = network("leaf-spine[leaves=2,spines=2,hosts=4]").with_failures(&[failure]).unwrap();
    let of = |model: &str, transport: &Choice| {
        let recorded = Choice::plain("recorded");
        let model = Model::new(&Choice::parse(model).unwrap(), transport, &recorded, 1);
        let jobs = [at(0, 0.0)];
        let setup = Setup { model: model.unwrap(), ..setup(&failing, &workloads, &jobs) };
        run_point(&setup, algorithms("fcfs", "linear", "dmodk")).unwrap()
    };
    let flows = makespans(&of(NO_COMPUTE, &Choice::plain("")))[0];
    for transport in ["dctcp", "roce", "usnic-4.1", "tcp[least-timeout=1ms]"] {
        let result = of("packet[compute-scale=0]", &Choice::parse(transport).unwrap());
        let packets = makespans(&result)[0];
        assert!(packets > flows && packets < 4.0 * flows + 0.2, "{transport}: {packets}, flows {flows}");
        let lost: u64 = result.links.packets.iter().flatten().map(|packets| packets.losses).sum();
        assert!(lost > 0, "{transport}");
    }
}

#[test]
fn jobs_share_links_and_wait_for_hosts() {
    // Two jobs of 4 ranks shift across one link of a dumbbell: hosts 0–3 and 4–7 on two leaves with
    // one spine.
    let dumbbell = network("leaf-spine[leaves=2,spines=1,hosts=4]");
    let bytes = 1_000_000;
    let workloads = [workload("bisection", 4, bytes, 3, false), workload("shift", 8, bytes, 2, false)];
    let alone = simulate(&dumbbell, &workloads[..1], &[at(0, 0.0)], NO_COMPUTE);
    let both = simulate(&dumbbell, &workloads, &[at(0, 0.0), at(0, 0.0), at(1, 0.0)], NO_COMPUTE);
    // On leaves of their own they do not meet; the third job needs all hosts and starts when both
    // are done.
    let run = |result: &RunResult, job: usize| {
        result.jobs[job].finished_s.unwrap() - result.jobs[job].started_s.unwrap()
    };
    close(run(&both, 0), run(&alone, 0));
    close(run(&both, 1), run(&alone, 0));
    close(both.jobs[2].started_s.unwrap(), run(&alone, 0));
    // Its occurrences were simulated again, as it did not know of being alone.
    assert_eq!(both.statistics.jobs_finished, 3);
}

const BLAME: &str = "compute-scale=0,blame=on,interference=on";

/// Sums by cause and job of those that caused it, seconds.
fn blame(result: &RunResult, job: u32) -> Vec<(Cause, Option<u32>, f64)> {
    let mut sums: Vec<(Cause, Option<u32>, f64)> = Vec::new();
    for row in result.blame.iter().filter(|row| row.job == job) {
        match sums.iter_mut().find(|sum| (sum.0, sum.1) == (row.cause, row.by_job)) {
            Some(sum) => sum.2 += row.path_s,
            None => sums.push((row.cause, row.by_job, row.path_s)),
        }
    }
    sums
}

#[track_caller]
fn assert_blame(result: &RunResult, job: u32, expected: &[(Cause, Option<u32>, f64)]) {
    let found = blame(result, job);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 + 1e-9 * b;
    let alike = found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| (a.0, a.1) == (b.0, b.1) && near(a.2, b.2));
    assert!(alike, "{found:?} instead of {expected:?}");
}

/// Seven messages into one host: each needs a seventh of the time for itself and loses the rest to
/// the others, on the last link.
#[test]
fn an_incast_slows_itself() {
    let star = network("star[hosts=8]");
    let workloads = [workload("incast", 8, 10_000, 1, true)];
    for model in [format!("flow[{BLAME}]"), format!("flow[{BLAME},sampling=off]")] {
        let result = simulate(&star, &workloads, &[at(0, 0.0)], &model);
        let bytes = seconds(10_000 * BYTE_PS);
        assert_blame(
            &result,
            0,
            &[
                (Cause::Latency, None, seconds(L)),
                (Cause::Transfer, None, bytes),
                (Cause::Sharing, Some(0), 6.0 * bytes),
            ],
        );
        let host = star.host(phaseflow_simulate::topology::HostId(0));
        assert!(result.blame.iter().filter_map(|row| row.link).all(|link| star.dst(link) == host));
        let steps: Vec<_> = result.path.iter().map(|row| (row.kind, row.peer, row.bytes)).collect();
        assert_eq!(steps, [(StepKind::Message, Some(0), Some(10_000))]);
        for row in &result.path {
            close(row.time_s, seconds(L) + 7.0 * bytes);
            close(row.shared_s.unwrap(), 6.0 * bytes);
            assert_eq!((row.by_job, row.link.map(|link| star.dst(link))), (Some(0), Some(host)));
            // All others cost it as much: the first of them is told.
            let first = if row.rank == Some(1) { 2 } else { 1 };
            assert_eq!((row.by_rank, row.by_peer), (Some(first), Some(0)));
        }
        // There are no other flows.
        close(result.jobs[0].alone_s.unwrap(), result.statistics.makespan_s.unwrap());
    }
}

/// Fewer steps than there are: the longest are told, sums of the others follow.
#[test]
fn paths_are_as_long_as_is_asked_for() {
    let star = network("star[hosts=8]");
    let workloads = [workload("allreduce,incast", 8, 10_000, 3, true)];
    for (steps, most) in [(0, 0), (1, 1), (4, 4), (100_000, 100_000)] {
        for sampling in ["on", "off"] {
            let model = format!("flow[path-steps={steps},sampling={sampling}]");
            let result = simulate(&star, &workloads, &[at(0, 0.0)], &model);
            let told = |phase: u32| {
                result.path.iter().filter(move |row| row.phase == phase && row.start_s.is_some())
            };
            assert!((0..2).all(|phase| told(phase).count() <= most), "{result:?}");
            assert_eq!(result.path.is_empty(), steps == 0);
            assert!(result.blame.is_empty() && result.path.iter().all(|row| row.shared_s.is_none()));
            let least = told(0).map(|row| row.time_s).fold(f64::INFINITY, f64::min);
            if steps == 1 {
                let all = simulate(&star, &workloads, &[at(0, 0.0)], &model.replace("=1,", "=1000,"));
                let longest =
                    all.path.iter().filter(|row| row.phase == 0).map(|row| row.time_s).fold(0.0, f64::max);
                close(least, longest);
            }
        }
    }
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let star = network("star[hosts=4]");
    let parts = archive("shift,alltoall", 4, 100, 2, false);
    let message = |workload: Workload, model: &str| {
        try_simulate(&star, &[workload], &[at(0, 0.0)], model).unwrap_err().to_string()
    };
    let expected =
        "expected a timed trace, or a phase archive with its messages (pf-segment --keep-messages)";
    assert_eq!(
        message(read(parts.clone(), Reading::Matrices), "flow"),
        format!("pattern shift,alltoall: the flow model needs the messages of phase 0, {expected}")
    );
    assert_eq!(
        message(read(parts, Reading::Messages), "flow[sampling=off]"),
        format!("pattern shift,alltoall: the flow model needs the messages of the whole run, {expected}")
    );
}
