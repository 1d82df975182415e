//! What links carry in a phase: in its time, and not beyond their capacity.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod point;

use std::io::Cursor;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::import::Input;
use phaseflow_collect::trace::{Mark, Message, Rank, RunFacts, TraceWriter};
use phaseflow_segment::{Method, Options, Rewind, segment, write_with_messages};
use phaseflow_simulate::result::RunResult;
use phaseflow_simulate::run::{JobSource, Model, Setup, Submission, run};
use phaseflow_simulate::topology::{Topology, TopologyChoice, TopologyOptions, topology};
use phaseflow_simulate::workload::{Reading, Workload};
use point::{algorithms, setup};

/// Seconds that a byte takes on a link of 80 Gbit/s.
const BYTE_S: f64 = 1e-10;
/// Latency of a route, seconds: two links of half a microsecond.
const LATENCY_S: f64 = 1e-6;
/// The burst: 100 microseconds of a link.
const BURST: u64 = 1_000_000;
/// When it is handed over, and when the phase ends, nanoseconds.
const POST_NS: i64 = 5_000;
const PHASE_NS: i64 = 10_000;

/// Rank 0 hands over a burst at the middle of a short phase. Rank 1 waits for it in the next phase,
/// in which it sends 100 bytes first.
fn burst() -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
    let marks = |writer: &mut TraceWriter<Vec<u8>>, time_ns: i64, level: i32| {
        for rank in 0..2 {
            writer.mark(&Mark { time_ns, rank: Rank(rank), level }).unwrap();
        }
    };
    let message = |post: i64, ends: (u32, u32), bytes: u64, complete: i64| Message {
        send_post_ns: post,
        src: Rank(ends.0),
        dst: Rank(ends.1),
        bytes,
        send_complete_ns: Some(post),
        receive_post_ns: Some(0),
        receive_complete_ns: Some(complete),
        ..Message::default()
    };
    marks(&mut writer, 0, 1);
    writer.message(&message(POST_NS, (0, 1), BURST, 150_000)).unwrap();
    marks(&mut writer, PHASE_NS, 2);
    writer.message(&message(PHASE_NS, (1, 0), 100, 150_000)).unwrap();
    writer.finish(&RunFacts { span_ns: Some((0, 150_000)), ..RunFacts::default() }).unwrap().1
}

fn star() -> Topology {
    let options = TopologyOptions {
        capacity_gbps: Some(80.0),
        link_latency_ps: Some(500_000),
        ..TopologyOptions::default()
    };
    topology(&TopologyChoice::parse("star[hosts=2]").unwrap(), &options).unwrap()
}

/// Jobs of the burst on a star, each at its time.
fn simulate(topology: &Topology, jobs: &[f64], model: &str) -> RunResult {
    let mut trace = Rewind(Cursor::new(burst()));
    let found = segment(&mut trace, &Options { method: Method::Marks, ..Options::default() }).unwrap();
    let (segmentation, chosen) = (&found.segmentation, &found.representatives);
    let archive = write_with_messages(Vec::new(), false, segmentation, chosen, true, &mut trace).unwrap();
    let input = Input::Stream(Box::new(Cursor::new(archive)));
    let workloads = [Workload::read(input, tempfile::tempfile, Reading::Messages).unwrap()];
    let job = |at_s: &f64| JobSource {
        workload: 0,
        submission: Submission::Fixed { at_s: *at_s, duration_s: None },
    };
    let jobs: Vec<JobSource> = jobs.iter().map(job).collect();
    let model = Choice::parse(model).unwrap();
    let model = Model::new(&model, &Choice::plain("ideal"), &Choice::plain("recorded"), 1).unwrap();
    run(&Setup { model, ..setup(topology, &workloads, &jobs) }, algorithms("fcfs", "linear", "dmodk"))
        .unwrap()
}

fn close(found: f64, expected: f64, most: f64) {
    assert!((found - expected).abs() <= most * expected, "{found}, expected {expected}");
}

/// Four of the five microseconds that are left of the first phase carry its burst; the rest of it
/// travels in the second one.
#[test]
fn what_is_on_its_way_at_the_end_of_a_phase_loads_links_in_the_next_one() {
    let topology = star();
    let first_s = PHASE_NS as f64 * 1e-9;
    let carried = (first_s - POST_NS as f64 * 1e-9 - LATENCY_S) / BYTE_S;
    let rest_s = (BURST as f64 - carried) * BYTE_S;
    for sampling in ["on", "off"] {
        let result = simulate(&topology, &[0.0], &format!("flow[eager=2MiB,sampling={sampling}]"));
        let [first, second] = &result.phases[..] else { panic!("{:?}", result.phases) };
        close(first.makespan_s.unwrap(), first_s, 1e-9);
        close(second.makespan_s.unwrap(), rest_s, 1e-9);
        assert_eq!(first.max_link_bytes, Some(carried.round() as u64), "{sampling}");
        assert_eq!(second.max_link_bytes, Some(BURST - carried.round() as u64), "{sampling}");
        close(first.max_utilization.unwrap(), carried * BYTE_S / first_s, 1e-9);
        close(second.max_utilization.unwrap(), 1.0, 1e-9);
        // What was sent is what was asked for; phases together carry all of it on each of its
        // links.
        assert_eq!([first.bytes, second.bytes], [BURST, 100]);
        let links: u64 = result.links.bytes.iter().sum();
        assert_eq!(links, 2 * (BURST + 100), "{sampling}");
    }
}

/// A packet stands in the queue of its sender's link until its last bit is on the wire: what is
/// told of a moment is that to a byte.
#[test]
fn packets_that_wait_at_the_end_of_a_phase_load_links_in_the_next_one() {
    let topology = star();
    let result = simulate(&topology, &[0.0], "packet[eager=2MiB]");
    let [first, second] = &result.phases[..] else { panic!("{:?}", result.phases) };
    for phase in [first, second] {
        let used = phase.max_utilization.unwrap();
        assert!(used <= 1.0 + 1e-6, "{}: {used}", phase.phase);
    }
    // From the moment of the post on the sender's link is busy: packets have their latency behind
    // the link.
    close(first.max_utilization.unwrap(), 0.5, 0.001);
    close(second.max_utilization.unwrap(), 1.0, 0.05);
    // CORRECTNESS: no packet is counted twice or not at all, headers included.
    let packets: u64 = result.links.packets.iter().flatten().map(|link| link.packets).sum();
    assert!(packets > 2 * BURST / 4096, "{packets}");
    let bytes: u64 = result.links.bytes.iter().sum();
    let sent = 2 * (BURST + 100);
    assert!((sent..sent * 21 / 20).contains(&bytes), "{bytes}");
}

/// Two jobs on hosts of their own: each phase has the load of its own messages on links,
/// independent of the other job.
#[test]
fn phases_of_jobs_that_meet_have_their_own_bytes() {
    let options = TopologyOptions {
        capacity_gbps: Some(80.0),
        link_latency_ps: Some(500_000),
        ..TopologyOptions::default()
    };
    let topology = topology(&TopologyChoice::parse("star[hosts=4]").unwrap(), &options).unwrap();
    for sampling in ["on", "off"] {
        let result = simulate(&topology, &[0.0, 2e-6], &format!("flow[eager=2MiB,sampling={sampling}]"));
        for job in 0..2 {
            let rows = 0..result.links.link.len();
            let own = rows.filter(|row| result.links.job[*row] == Some(job));
            let bytes: u64 = own.map(|row| result.links.bytes[row]).sum();
            // A stage that meets others begins with a barrier and replays its phase from first to
            // last message: the burst belongs to it then.
            if sampling == "off" {
                assert_eq!(bytes, 2 * (BURST + 100), "job {job}");
            }
        }
        for phase in &result.phases {
            let used = phase.max_utilization.unwrap();
            assert!(used <= 1.0 + 1e-6, "job {}, {}, {sampling}: {used}", phase.job, phase.phase);
        }
    }
}
