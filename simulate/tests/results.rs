//! The result archive gives back what was put in, and says what is wrong with what it did not
//! write.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking and says why it skips"
)]

use phaseflow_collect::archive::ArchiveWriter;
use phaseflow_collect::trace::Rank;
use phaseflow_collect::{Cell, ErrorKind, Result, TrafficMatrix};
use phaseflow_segment::{Header, Occurrence, Phase, Segmentation};
use phaseflow_simulate::result::{
    BlameRow, Cause, Chosen, JobRow, Link, LinkPackets, LinkTable, Network, PacketCounts, PathRow, PhaseRow,
    RankRow, Replayed, ResultHeader, ResultReader, ResultWriter, RunLabels, RunResult, RunStatistics, Sender,
    Series, SeriesSummary, Snapshot, StepKind,
};
use phaseflow_simulate::topology::{Faults, LinkId, Node, NodeId, PortOrder};
use phaseflow_simulate::workload::Workload;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::json;

fn network() -> Network {
    let node = |name: &str, slots: Option<u32>| Node {
        name: name.into(),
        slots,
        mac: slots.map(|n| format!("00:00:00:00:00:{n:02}")),
        dpid: slots.is_none().then(|| "17".into()),
    };
    let link = |src, dst| Link {
        src: NodeId(src),
        dst: NodeId(dst),
        capacity: 0.1 + 0.2,
        latency_ps: 1_000_000,
        port: (src == 2).then(|| dst.to_string()),
        faults: Faults { loss: if src == 0 { 0.25 } else { 0.0 }, ..Faults::default() },
        cost: 1 + src,
    };
    Network {
        label: "star[hosts=2]".into(),
        switch_latency_ps: 7,
        port_order: PortOrder::default(),
        nodes: vec![node("h0", Some(1)), node("h1", Some(2)), node("s", None)],
        links: vec![link(0, 2), link(2, 0), link(1, 2), link(2, 1)],
    }
}

fn workload() -> Workload {
    let cell = Cell { src: Rank(0), dst: Rank(1), messages: 3, bytes: 30 };
    let phase = |name: &str, cells: &[Cell]| Phase {
        title: format!("what {name} does"),
        name: name.into(),
        occurrences: 1,
        duration_ns: Some(10),
        matrix: TrafficMatrix::from_cells(cells.iter().copied()).unwrap(),
    };
    let occurrence = |phase, start_ns| Occurrence {
        phase,
        depth: 0,
        start_ns,
        end_ns: start_ns + 10,
        messages: 3,
        bytes: 30,
    };
    let header = Header {
        format: "phaseflow.phases".into(),
        version: 1,
        source: "csv".into(),
        method: "marks".into(),
        ranks: 2,
        duration_ns: Some(20),
        unmatched_receives: Default::default(),
    };
    let phases = vec![phase("0", &[cell]), phase("barrier \"only\"", &[])];
    let occurrences = vec![occurrence(Some(0), 0), occurrence(None, 10), occurrence(Some(1), 20)];
    Workload::new("a.tar.gz", Segmentation { header, phases, occurrences })
}

fn labels(run: u32) -> RunLabels {
    RunLabels {
        run,
        topology: "star[hosts=2]".into(),
        scheduler: "fcfs".into(),
        host_selector: "linear".into(),
        process_mapper: "block".into(),
        router: "dmodk".into(),
        model: "traffic".into(),
        transport: "ideal".into(),
        collective: "recorded".into(),
        phases: "segmented".into(),
        seed: u64::MAX,
    }
}

/// Any float but NaN, which equals nothing, as `Option` the way JSON carries it: only finite ones.
fn maybe() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(any::<f64>().prop_filter("JSON has finite numbers only", |v| v.is_finite()))
}

fn float() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("NaN equals nothing", |v| !v.is_nan())
}

prop_compose! {
    fn job()(job in any::<u32>(), submitted in maybe(), started_s in maybe(), finished_s in maybe(), hosts in prop::collection::vec((0_u32..3).prop_map(NodeId), 0..3)) -> JobRow {
        JobRow { job, workload: 0, submitted_s: submitted.unwrap_or(0.0), started_s, finished_s, ranks: hosts.iter().rev().copied().collect(), hosts, alone_s: started_s }
    }
}

prop_compose! {
    fn phase()(job in any::<u32>(), phase in ".*", occurrences in any::<u64>(), bytes in any::<u64>(), f in prop::array::uniform8(maybe()), bottleneck in prop::option::of(0u32..4), counts in prop::array::uniform3(prop::option::of(any::<u64>())), times in prop::option::of(prop::array::uniform8(float()))) -> PhaseRow {
        PhaseRow {
            senders: vec![Sender { src: NodeId(0), dst: NodeId(1), bytes: 7 }],
            job, phase, occurrences, bytes,
            duration_s: f[0], makespan_s: f[1], max_link_bytes: counts[0], max_link_load: f[2], max_utilization: f[3],
            mean_utilization: f[4], bottleneck: bottleneck.map(LinkId), min_link_load: f[5], mean_link_load: f[6],
            variance_link_load: f[7], drops: counts[1], retransmits: counts[2],
            replayed: times.map(|t| Replayed {
                simulated: 3, compute_s: t[0], overhead_s: t[1], late_sender_s: t[2], late_receiver_s: t[3], network_s: t[4],
                path_ranks_s: t[5], path_network_s: t[6], unshared_s: Some(t[7]), unlimited_s: None, makespan_error: Some(t[0]),
            }),
            packets: counts[1].map(|count| PacketCounts {
                hops: count, drops: 1, losses: 2, marks: 3, pauses: 4, retransmits: 5, checked_sums: 6, wrong_sums: 7, fallbacks: 8, duplicates: 9,
            }),
            changed_routes: counts[2],
            chosen: counts[0].map(|_| Chosen { model: "flow".into(), reason: "x".into() }),
        }
    }
}

prop_compose! {
    fn run()(
        has_packets in any::<bool>(),
        jobs in prop::collection::vec(job(), 0..4),
        phases in prop::collection::vec(phase(), 0..4),
        f in prop::array::uniform5(maybe()),
        max_flows in prop::option::of(any::<u64>()),
        jobs_finished in any::<u64>(),
        links in prop::collection::vec((prop::option::of(any::<u32>()), prop::option::of(any::<u32>()), 0u32..4, any::<u64>(), any::<u64>(), float()), 0..9),
        points in prop::collection::vec((float(), float()), 0..9),
        snapshot in prop::array::uniform4((float(), any::<u64>())),
    ) -> RunResult {
        let phases_of: Vec<(u32, Option<LinkId>)> = phases.iter().map(|phase| (phase.job, phase.bottleneck)).collect();
        RunResult {
            labels: labels(3),
            topology: 0,
            statistics: RunStatistics {
                makespan_s: f[0], max_congestion: f[1], mean_congestion: f[2], stddev_congestion: f[3], max_utilization: f[4],
                max_flows, jobs_finished,
            },
            jobs, phases,
            ranks: vec![RankRow {
                job: 7, phase: None, rank: 3, host: NodeId(2), compute_s: 0.1, overhead_s: 0.0, late_sender_s: 1e-9,
                late_receiver_s: 2.5, network_s: f[0].unwrap_or(0.5),
            }],
            // Rows name one of the job's phases.
            path: phases_of.iter().map(|(job, link)| PathRow {
                job: *job, phase: 0, kind: StepKind::Message, time_s: 0.1, rank: Some(3), peer: link.map(|_| 4), start_s: f[0],
                bytes: max_flows, link: *link, shared_s: f[1], by_job: None,
                by_rank: link.map(|_| 5), by_peer: None,
            }).collect(),
            blame: phases_of.iter().map(|(job, link)| BlameRow {
                job: *job, phase: 0, cause: Cause::Sharing, by_job: link.map(|_| 2), link: *link, path_s: 1.0 / 3.0,
            }).collect(),
            links: LinkTable {
                job: links.iter().map(|l| l.0).collect(),
                // Without a row that it could mean, a number of a phase is refused.
                phase: links.iter().map(|l| l.1.filter(|_| l.0.is_none())).collect(),
                link: links.iter().map(|l| LinkId(l.2)).collect(),
                bytes: links.iter().map(|l| l.3).collect(),
                flows: links.iter().map(|l| l.4).collect(),
                load: links.iter().map(|l| l.5).collect(),
                packets: links.iter().enumerate().filter(|_| has_packets).map(|(at, l)| (at != 1).then_some(LinkPackets {
                    packets: l.3, drops: 1, losses: 2, marks: 3, queue_median: 4, queue_p99: 5, queue_max: l.4, pauses: 6, paused_ps: 7, duplicates: 8,
                })).collect(),
            },
            series: vec![
                Series {
                    name: "max_congestion".into(),
                    time_s: points.iter().map(|p| p.0).collect(),
                    value: points.iter().map(|p| p.1).collect(),
                    summary: Some(SeriesSummary { max: 1e300, min: -0.1, mean: 1.0 / 3.0, variance: 5e-324 }),
                },
                Series { name: "jobs_waiting".into(), time_s: vec![], value: vec![], summary: None },
            ],
            snapshots: vec![Snapshot {
                time_s: 0.1,
                load: snapshot.iter().map(|s| s.0).collect(),
                flows: snapshot.iter().map(|s| s.1).collect(),
            }],
            routes: vec![],
            flow_ends: Vec::new(),
        }
    }
}

fn archive(gzip: bool, runs: &[RunResult]) -> Vec<u8> {
    let header = ResultHeader::new(json!({"seed": 1, "capacity": 0.1}));
    let mut writer = ResultWriter::new(Vec::new(), gzip, &header, &[network()], &[workload()]).unwrap();
    for run in runs {
        writer.run(run).unwrap();
    }
    writer.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<Vec<RunResult>> {
    let mut reader = ResultReader::open(bytes)?;
    let mut runs = Vec::new();
    while let Some(run) = reader.next_run()? {
        runs.push(run);
    }
    assert_eq!(reader.next_run()?, None);
    Ok(runs)
}

fn some_phase() -> PhaseRow {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    phase().new_tree(&mut runner).unwrap().current()
}

/// A run that has one of everything.
fn example() -> RunResult {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut run = run().new_tree(&mut runner).unwrap().current();
    run.phases.clear();
    run.path.clear();
    run.blame.clear();
    run.links = LinkTable {
        job: vec![Some(0)],
        phase: vec![None],
        link: vec![LinkId(2)],
        bytes: vec![5],
        flows: vec![1],
        load: vec![2.5],
        packets: Vec::new(),
    };
    run
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn runs_come_back_to_the_last_bit(run in run(), gzip in any::<bool>()) {
        let mut later = run.clone();
        later.labels.run = 10;
        let runs = [run, later];
        let bytes = archive(gzip, &runs);
        prop_assert_eq!(&read(&bytes).unwrap()[..], &runs[..]);
        let reader = ResultReader::open(&bytes[..]).unwrap();
        prop_assert_eq!(reader.networks(), &[network()][..]);
        prop_assert_eq!(reader.workloads(), &[workload()][..]);
        prop_assert_eq!(&reader.header().configuration["capacity"], &json!(0.1));
    }

    #[test]
    fn no_damage_makes_the_reader_panic(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut bytes = archive(false, &[example()]);
        let at = at.index(bytes.len());
        bytes[at] = value;
        let _ = read(&bytes);
    }
}

#[test]
fn every_cut_is_noticed() {
    for gzip in [false, true] {
        let bytes = archive(gzip, &[example()]);
        for cut in (0..bytes.len() - if gzip { 0 } else { 512 }).step_by(if gzip { 1 } else { 13 }) {
            assert!(
                read(&bytes[..cut]).is_err(),
                "cut at {cut} of {} went unnoticed, gzip {gzip}",
                bytes.len()
            );
        }
    }
}

/// Of an archive that ends too early, wherever, the runs come back that were written completely,
/// and no other.
#[test]
fn what_is_complete_of_a_cut_archive_is_read() {
    let runs: Vec<RunResult> = [3, 4, 9].map(|number| numbered(example(), number)).into();
    for gzip in [false, true] {
        let header = ResultHeader::new(json!({}));
        let mut writer = ResultWriter::new(Vec::new(), gzip, &header, &[network()], &[workload()]).unwrap();
        let mut ends = vec![writer.output().len()];
        for run in &runs {
            writer.run(run).unwrap();
            ends.push(writer.output().len());
        }
        let bytes = writer.finish().unwrap();
        // Padding and checksums at a run's end may be missing.
        let complete = |at: usize| ends[1..].iter().filter(|end| **end <= at).count();
        for cut in (0..bytes.len()).step_by(7).chain(ends.clone()) {
            let mut reader = match ResultReader::open_partial(&bytes[..cut]) {
                Ok(reader) => reader,
                Err(error) => {
                    assert!(cut < ends[0], "{cut}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Truncated, "{cut}: {error}");
                    continue;
                }
            };
            let mut found = Vec::new();
            while let Some(run) = reader.next_run().unwrap() {
                found.push(run);
            }
            assert!((complete(cut)..=complete(cut + 511)).contains(&found.len()), "{} at {cut}", found.len());
            assert!(found == runs[..found.len()]);
            assert_eq!(reader.next_run().unwrap(), None);
            assert!(reader.is_cut() || cut + 1024 > bytes.len(), "{cut} of {}", bytes.len());
        }
    }
}

/// Damage is no early end.
#[test]
fn what_is_damaged_is_refused_though_it_may_be_cut() {
    let mut bytes = archive(false, &[numbered(example(), 3), numbered(example(), 4)]);
    let at = bytes.windows(10).rposition(|window| window == b"runs/4/lin").unwrap();
    bytes[at + 512] ^= 1;
    let mut reader = ResultReader::open_partial(&bytes[..]).unwrap();
    assert!(reader.next_run().unwrap().is_some());
    let error = reader.next_run().unwrap_err();
    assert!(error.to_string().starts_with("runs/4/links/000000: "), "{error}");
}

fn numbered(mut run: RunResult, number: u32) -> RunResult {
    run.labels.run = number;
    run
}

#[test]
fn an_archive_without_runs_is_one() {
    assert_eq!(read(&archive(true, &[])).unwrap(), []);
}

#[test]
fn runs_ascend() {
    let header = ResultHeader::new(json!({}));
    let mut writer = ResultWriter::new(Vec::new(), false, &header, &[network()], &[workload()]).unwrap();
    writer.run(&example()).unwrap();
    assert_eq!(writer.run(&example()).unwrap_err().to_string(), "run 3 comes after run 3");
}

#[test]
fn columns_of_unequal_length_are_refused() {
    let header = ResultHeader::new(json!({}));
    let mut writer = ResultWriter::new(Vec::new(), false, &header, &[network()], &[workload()]).unwrap();
    let mut run = example();
    run.series[1].time_s.push(1.0);
    assert_eq!(writer.run(&run).unwrap_err().to_string(), "run 3: has columns of unequal length");
}

#[test]
fn a_time_that_is_no_number_is_refused() {
    let header = ResultHeader::new(json!({}));
    let mut writer = ResultWriter::new(Vec::new(), false, &header, &[network()], &[workload()]).unwrap();
    let mut run = example();
    run.snapshots[0].time_s = f64::NAN;
    let error = writer.run(&run).unwrap_err();
    assert_eq!(error.to_string(), "run 3: time of a snapshot is NaN, expected a finite number");
}

/// What a run refers to has to be there: each with its message.
#[test]
fn references_are_checked() {
    type Change = fn(&mut RunResult);
    let cases: [(Change, &str); 7] = [
        (
            |run| run.links.phase[0] = Some(7),
            "runs/3.json: table of links, ranks, path or blame: phase is 7, job 0 has 0",
        ),
        (
            |run| {
                let (kind, time_s) = (StepKind::Rank, 1.0);
                let empty = (None, None, None, None, None);
                let (rank, peer, bytes, by_job, link) = empty;
                let row = PathRow {
                    job: 0,
                    phase: 2,
                    kind,
                    time_s,
                    rank,
                    peer,
                    start_s: None,
                    bytes,
                    link,
                    shared_s: None,
                    by_job,
                    by_rank: None,
                    by_peer: None,
                };
                run.path = vec![row];
            },
            "runs/3.json: table of links, ranks, path or blame: phase is 2, job 0 has 0",
        ),
        (
            |run| {
                run.phases = vec![some_phase()];
                let (job, cause, link) = (run.phases[0].job, Cause::Transfer, Some(LinkId(9)));
                run.blame = vec![BlameRow { job, phase: 0, cause, by_job: None, link, path_s: 1.0 }];
            },
            "runs/3.json: link is 9, the topology has 4",
        ),
        (|run| run.topology = 1, "runs/3.json: topology is 1, the archive has 1"),
        (|run| run.links.link[0] = LinkId(4), "runs/3.json: link is 4, the topology has 4"),
        (
            |run| run.snapshots[0] = Snapshot { time_s: 0.0, load: vec![1.0], flows: vec![1] },
            "runs/3.json: says 4 links of a snapshot, the archive holds 1",
        ),
        (
            |run| {
                run.jobs = vec![JobRow {
                    job: 8,
                    workload: 9,
                    submitted_s: 0.0,
                    started_s: None,
                    finished_s: None,
                    hosts: vec![],
                    ranks: vec![],
                    alone_s: None,
                }];
            },
            "runs/3.json: job 8: workload is 9, the archive has 1",
        ),
    ];
    for (change, expected) in cases {
        let mut run = example();
        change(&mut run);
        assert_eq!(read(&archive(false, &[run])).unwrap_err().to_string(), expected);
    }
}

#[test]
fn another_format_is_refused_with_both_names() {
    let header = json!({"format": "phaseflow.phases", "version": 1});
    let bytes = ArchiveWriter::new(Vec::new(), false, &header).unwrap().finish(&json!({})).unwrap();
    let error = ResultReader::open(&bytes[..]).err().unwrap();
    assert_eq!(error.to_string(), "is a phase archive; run pf-simulate first");
}

#[test]
fn a_missing_run_is_noticed() {
    let header = ResultHeader::new(json!({}));
    let archive = ArchiveWriter::new(Vec::new(), false, &header).unwrap();
    let bytes = archive.finish(&json!({"topologies": 0, "workloads": 0, "runs": 2})).unwrap();
    let error = read(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "summary.json: says 0 topologies, 0 workloads and 2 runs, the archive holds 0, 0 and 0"
    );
}

/// An archive of before there were ranks, critical paths and jobs alone.
#[test]
fn older_runs_lack_what_they_did_not_know() {
    let mut archive = ArchiveWriter::new(Vec::new(), false, &ResultHeader::new(json!({}))).unwrap();
    archive
        .json("topologies/0.json", &json!({"label": "none", "switch_latency_ps": 0, "nodes": 0, "links": 0}))
        .unwrap();
    let statistics = json!({"makespan_s": null, "max_congestion": null, "mean_congestion": null, "stddev_congestion": null,
        "max_utilization": null, "max_flows": null, "jobs_finished": 1});
    let workload =
        json!({"name": "a", "segmentation": workload().segmentation.header, "phases": [], "occurrences": 0});
    archive.json("workloads/0.json", &workload).unwrap();
    let run = json!({"labels": labels(0), "topology": 0, "statistics": statistics, "jobs": 1, "phases": 0, "links": 0,
        "series": [], "snapshots": []});
    archive.json("runs/0.json", &run).unwrap();
    let job = json!({"job": 0, "workload": 0, "submitted_s": 0.5, "started_s": 0.5, "finished_s": 1.5, "hosts": []});
    archive.member("runs/0/jobs/000000", format!("{job}\n").as_bytes()).unwrap();
    let bytes = archive.finish(&json!({"topologies": 1, "workloads": 1, "runs": 1})).unwrap();
    let run = read(&bytes).unwrap().remove(0);
    assert_eq!((run.jobs[0].finished_s, run.jobs[0].alone_s), (Some(1.5), None));
    assert!(run.ranks.is_empty() && run.path.is_empty() && run.blame.is_empty());
}
