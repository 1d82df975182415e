//! Long runs, of which parts are simulated, against themselves, simulated whole.

#![allow(clippy::unwrap_used, reason = "tests")]

mod point;

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::import::Input;
use phaseflow_collect::pattern::{Disturbance, LabelledRun, Program};
use phaseflow_segment::{Method, Options, Rewind, segment, write_with_messages};
use phaseflow_simulate::result::{Cause, RunResult};
use phaseflow_simulate::run::{JobSource, Model, Setup, Submission, run};
use phaseflow_simulate::topology::{TopologyChoice, TopologyOptions, topology};
use phaseflow_simulate::workload::{Reading, Workload};
use point::{algorithms, setup};

/// A generated run of 16 ranks, split at its marks, as an archive with windows and one with all messages.
fn archives(program: &str, jitter: f64) -> [Vec<u8>; 2] {
    let program = Program::parse(program).unwrap();
    let disturbance = Disturbance { jitter, ..Disturbance::default() };
    let run = LabelledRun { disturbance, ..LabelledRun::new(program, 16) };
    let mut trace = Vec::new();
    run.generate(&mut ArchiveExport::new(&mut trace, false), &mut |_| Ok(())).unwrap();
    let mut trace = Rewind(Cursor::new(trace));
    let found = segment(&mut trace, &Options { method: Method::Marks, ..Options::default() }).unwrap();
    let mut archive = |all| {
        let (segmentation, chosen) = (&found.segmentation, &found.representatives);
        write_with_messages(Vec::new(), false, segmentation, chosen, all, &mut trace).unwrap()
    };
    [archive(false), archive(true)]
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

/// Phases from samples and from the whole run: each within `most` of it, as part of it, and within what it says of itself.
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
        // CORRECTNESS: the steps and what messages waited for are scaled with the path that they are parts of.
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
fn one_long_phase() {
    check("halo2d[gap=20us]*3000", 0.5, 0.02);
}

#[test]
fn two_phases_in_turn() {
    check("(allreduce[gap=20us],shift[gap=20us])*400", 0.0, 0.02);
}
