//! Long runs, of which parts are simulated, against themselves, simulated whole.

#![allow(clippy::unwrap_used, reason = "tests")]

mod point;

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::import::Input;
use phaseflow_collect::pattern::{Disturbance, LabelledRun, Program};
use phaseflow_collect::trace::{Message, Rank, RunFacts, TraceWriter};
use phaseflow_segment::{Method, Options, Rewind, segment, write_with_messages};
use phaseflow_simulate::result::{Cause, RunResult};
use phaseflow_simulate::run::{JobSource, Model, Reroute, Setup, Submission, run};
use phaseflow_simulate::topology::{TopologyChoice, TopologyOptions, topology};
use phaseflow_simulate::workload::{Reading, Workload};
use point::{algorithms, setup};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A generated run of 16 ranks, split at its marks, as an archive with windows and one with all
/// messages.
fn archives(program: &str, jitter: f64) -> [Vec<u8>; 2] {
    let program = Program::parse(program).unwrap();
    let disturbance = Disturbance { jitter, ..Disturbance::default() };
    let run = LabelledRun { disturbance, ..LabelledRun::new(program, 16) };
    let mut trace = Vec::new();
    run.generate(&mut ArchiveExport::new(&mut trace, false), &mut |_| Ok(())).unwrap();
    archives_of(trace, Method::Marks)
}

/// A trace, likewise.
fn archives_of(trace: Vec<u8>, method: Method) -> [Vec<u8>; 2] {
    let mut trace = Rewind(Cursor::new(trace));
    let found = segment(&mut trace, &Options { method, ..Options::default() }).unwrap();
    let mut archive = |all| {
        let (segmentation, chosen) = (&found.segmentation, &found.representatives);
        write_with_messages(Vec::new(), false, segmentation, chosen, all, &mut trace).unwrap()
    };
    [archive(false), archive(true)]
}

/// A ring of eight ranks in which each sends to the next one, waits for the one before it, and
/// computes: 10 us, but one time in 500 two milliseconds.
fn uneven(rounds: u32) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut free_ns, mut messages) = ([0_i64; 8], Vec::new());
    for _ in 0..rounds {
        let posts =
            free_ns.map(|free_ns| free_ns + if random.gen_ratio(1, 500) { 2_000_000 } else { 10_000 });
        for dst in 0..8 {
            let src = (dst + 7) % 8;
            // A message takes 3 us.
            free_ns[dst] = posts[dst].max(posts[src] + 3_000);
            messages.push(Message {
                send_post_ns: posts[src],
                src: Rank(src as u32),
                dst: Rank(dst as u32),
                bytes: 1000,
                send_complete_ns: Some(posts[src]),
                receive_post_ns: Some(posts[dst]),
                receive_complete_ns: Some(free_ns[dst]),
                ..Message::default()
            });
        }
    }
    messages.sort_by_key(|message| (message.send_post_ns, message.src));
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    messages.iter().for_each(|message| writer.message(message).unwrap());
    writer.finish(&RunFacts::default()).unwrap().1
}

fn simulate(archive: &[u8], reading: Reading, sampling: &str) -> RunResult {
    let input = Input::Stream(Box::new(Cursor::new(archive.to_vec())));
    let workloads = [Workload::read(input, tempfile::tempfile, reading).unwrap()];
    // A tree with half of the capacity above its leaves: neighbouring rounds meet in it.
    let network = TopologyChoice::parse("xgft[m=4:4,w=1:2]").unwrap();
    let topology = topology(&network, &TopologyOptions::default()).unwrap();
    let model = Choice::parse(&format!("flow[sampling={sampling},blame=on,path-steps=5]")).unwrap();
    let model = Model::new(&model, &Choice::plain(""), &Choice::plain("recorded"), 1).unwrap();
    let jobs = [JobSource { workload: 0, submission: Submission::Fixed { at_s: 0.0, duration_s: None } }];
    run(&Setup { model, ..setup(&topology, &workloads, &jobs) }, algorithms("fcfs", "linear", "dmodk"))
        .unwrap()
}

/// Phases from samples and from the whole run: each within `most` of it, as part of it, and within
/// what it says of itself.
fn check(program: &str, jitter: f64, most: f64) {
    let [windows, whole] = archives(program, jitter);
    let result = simulate(&windows, Reading::Samples, "on");
    assert_eq!(result, simulate(&whole, Reading::Samples, "on"), "windows cut out of the whole are the same");
    let entire = simulate(&whole, Reading::Messages, "off");
    assert_eq!(result.phases.len(), entire.phases.len());
    for (phase, (found, expected)) in (0..).zip(result.phases.iter().zip(&entire.phases)) {
        let (on, off) = (found.makespan_s.unwrap(), expected.makespan_s.unwrap());
        let replayed = found.replayed.unwrap();
        let error = replayed.makespan_error.unwrap();
        let name = format!("{program}, phase {}: {on} ± {} instead of {off}", found.phase, error * on);
        assert!((on - off).abs() <= most * off, "{name}");
        assert!((on - off).abs() <= error * on, "{name}");
        assert!(error < 0.1, "{name}");
        assert!(replayed.simulated <= 24, "{name}");
        // CORRECTNESS: the critical path is as long as the phase, and no bound is above it.
        assert!((replayed.path_ranks_s + replayed.path_network_s - on).abs() <= 1e-9 * on, "{name}");
        assert!(replayed.unshared_s.unwrap() <= on * (1.0 + 1e-9), "{name}");
        assert!(replayed.unlimited_s.unwrap() <= replayed.unshared_s.unwrap() * (1.0 + 1e-9), "{name}");
        // What ranks did, scaled up: computation does not depend on the network.
        let compute = expected.replayed.unwrap().compute_s;
        assert!(
            (replayed.compute_s - compute).abs() <= 0.05 * compute,
            "{name}: computes {}",
            replayed.compute_s
        );
        // CORRECTNESS: the steps and what messages waited for are scaled with the path that they
        // are parts of.
        let steps: f64 = result.path.iter().filter(|row| row.phase == phase).map(|row| row.time_s).sum();
        assert!((steps - on).abs() <= 1e-9 * on, "{name}: steps of {steps}");
        let waited = |result: &RunResult, causes: &[Cause]| -> f64 {
            let rows = result.blame.iter().filter(|row| row.phase == phase && causes.contains(&row.cause));
            rows.map(|row| row.path_s).sum()
        };
        let all = waited(&result, &[Cause::Latency, Cause::Transfer, Cause::Sharing]);
        assert!((all - replayed.path_network_s).abs() <= 1e-9 * on, "{name}: waited for {all}");
        let (lost, expected) = (waited(&result, &[Cause::Sharing]), waited(&entire, &[Cause::Sharing]));
        assert!((lost - expected).abs() <= 0.05 * on, "{name}: lost {lost} instead of {expected}");
    }
}

#[test]
fn computation_that_is_rare_and_long() {
    let [windows, whole] = archives_of(uneven(20_000), Method::None);
    let makespan = |result: &RunResult| result.phases[0].makespan_s.unwrap();
    let (result, entire) =
        (simulate(&windows, Reading::Samples, "on"), simulate(&whole, Reading::Messages, "off"));
    let (on, off) = (makespan(&result), makespan(&entire));
    // Eight ranks of which one in 500 is late make most of the time of a few rounds.
    assert!(off > 20_000.0 * 30e-6, "{off}");
    assert!((on - off).abs() <= 0.02 * off, "{on} instead of {off}");
    assert!((on - off).abs() <= result.phases[0].replayed.unwrap().makespan_error.unwrap() * on);
}

#[test]
fn one_long_phase() {
    check("halo2d[gap=20us]*3000", 0.5, 0.02);
}

/// All of it is in windows, but what ranks bring along from before them is not: nothing is said to
/// be exact.
#[test]
fn a_phase_that_occurs_once_within_a_long_run_is_not_said_to_be_exact() {
    let [windows, whole] = archives("halo2d[gap=20us]*3000,alltoall[gap=20us]*2,halo2d[gap=20us]*3000", 0.5);
    let of = |archive: &[u8], sampling: &str| {
        let reading = if sampling == "on" { Reading::Samples } else { Reading::Messages };
        simulate(archive, reading, sampling).phases.remove(1)
    };
    let (found, expected) = (of(&windows, "on"), of(&whole, "off"));
    let (on, off) = (found.makespan_s.unwrap(), expected.makespan_s.unwrap());
    let error = found.replayed.unwrap().makespan_error.unwrap();
    assert_eq!(found.occurrences, 1);
    assert!(error >= 0.01, "{error}");
    assert!((on - off).abs() <= error * on, "{on} ± {error} instead of {off}");
}

#[test]
fn two_phases_in_turn() {
    check("(allreduce[gap=20us],shift[gap=20us])*400", 0.0, 0.02);
}

/// Makespans and what they say of their error, over a switch, by packets; ranks take no time to
/// compute.
fn by_packets(archive: &[u8], sampling: &str, transport: &str, reroute: Reroute) -> Vec<(f64, f64)> {
    let input = Input::Stream(Box::new(Cursor::new(archive.to_vec())));
    // Stage by stage it is the representatives that are replayed.
    let is_sampled = sampling == "on" && reroute == Reroute::Job;
    let reading = if is_sampled { Reading::Samples } else { Reading::Messages };
    let workloads = [Workload::read(input, tempfile::tempfile, reading).unwrap()];
    let network = TopologyChoice::parse("star[hosts=16]").unwrap();
    let options = TopologyOptions { capacity_gbps: Some(100.0), ..TopologyOptions::default() };
    let topology = topology(&network, &options).unwrap();
    let model = Choice::parse(&format!("packet[sampling={sampling},compute-scale=0]")).unwrap();
    let model =
        Model::new(&model, &Choice::parse(transport).unwrap(), &Choice::plain("recorded"), 1).unwrap();
    let jobs = [JobSource { workload: 0, submission: Submission::Fixed { at_s: 0.0, duration_s: None } }];
    let setup = Setup { model, reroute, ..setup(&topology, &workloads, &jobs) };
    let result = run(&setup, algorithms("fcfs", "linear", "dmodk")).unwrap();
    let error = |replayed: Option<phaseflow_simulate::result::Replayed>| {
        replayed.and_then(|replayed| replayed.makespan_error).unwrap_or(0.0)
    };
    result.phases.iter().map(|phase| (phase.makespan_s.unwrap(), error(phase.replayed))).collect()
}

/// The transports' timers, 1 ms and more, run down long after what comes next has begun.
#[test]
fn no_phase_waits_for_timers_of_the_one_before() {
    let [windows, whole] = archives("halo2d*5,(alltoall[bytes=4KiB]*5,allreduce*5)*3", 0.0);
    for transport in ["dctcp", "ideal", "roce", "usnic-2013", "usnic-4.1"] {
        let entire = by_packets(&whole, "off", transport, Reroute::Job);
        assert_eq!(entire.len(), 3, "halo, alltoall, allreduce");
        // What begins anew with each stage may change its time a bit, and is not told.
        for (reroute, margin) in [(Reroute::Job, 1e-9), (Reroute::Phase, 0.1)] {
            let sampled = by_packets(&windows, "on", transport, reroute);
            for ((time, error), (expected, _)) in sampled.iter().zip(&entire) {
                assert!(
                    (time - expected).abs() <= error * time + margin * expected,
                    "{transport} {reroute:?}: {sampled:?}, the whole run takes {entire:?}"
                );
            }
        }
    }
}
