//! A result worked out by hand: 4 ranks on 4 hosts, two edge switches, two core switches, two
//! phases, two routers.
//!
//! ```text
//!        c0    c1          all links 10 Gbit/s
//!        | \  / |          phase "halo":  h0 → h1, 1 250 000 000 bytes in 2 s (25 occurrences)
//!        e0    e1          phase "a/2a":  h0 → h2 and h1 → h3, 2 500 000 000 bytes each in 2 s
//!       h0 h1 h2 h3        dmodk takes c0 for both, greedy c0 and c1
//! ```

use phaseflow_collect::trace::Rank;
use phaseflow_collect::{Cell, TrafficMatrix};
use phaseflow_segment::{Header, Occurrence, Phase, Segmentation};
use phaseflow_simulate::result::{
    JobRow, Link, LinkTable, Network, PhaseRow, Replayed, ResultHeader, ResultWriter, RunLabels, RunResult,
    RunStatistics, Series, SeriesSummary, Snapshot,
};
use phaseflow_simulate::topology::{Faults, LinkId, Node, NodeId, PortOrder};
use phaseflow_simulate::workload::Workload;
use serde_json::json;

/// Links by their ends, in order: h0 e0, e0 h0, h1 e0, e0 h1, h2 e1, e1 h2, h3 e1, e1 h3, e0 c0, c0
/// e0, e0 c1, …
pub(crate) fn network() -> Network {
    let names = ["h0", "h1", "h2", "h3", "e0", "e1", "c0", "c1"];
    let nodes = names.map(|name| Node {
        name: name.into(),
        slots: name.starts_with('h').then_some(1),
        mac: name.starts_with('h').then(|| format!("02:00:00:00:00:0{}", &name[1..])),
        dpid: (!name.starts_with('h')).then(|| "7".into()),
    });
    let cables = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)];
    let link = |src, dst| Link {
        src: NodeId(src),
        dst: NodeId(dst),
        capacity: 10.0,
        latency_ps: 1_000_000,
        port: Some(dst.to_string()),
        faults: Faults::default(),
        cost: 1,
    };
    Network {
        label: "xgft[m=2:2,w=1:2]".into(),
        switch_latency_ps: 0,
        port_order: PortOrder::default(),
        nodes: nodes.to_vec(),
        links: cables.into_iter().flat_map(|(a, b)| [link(a, b), link(b, a)]).collect(),
    }
}

fn number(src: &str, dst: &str) -> LinkId {
    let network = network();
    let at = network.links.iter().position(|l| network.name(l.src) == src && network.name(l.dst) == dst);
    LinkId(at.unwrap() as u32)
}

pub(crate) fn workload() -> Workload {
    let matrix = |cells: &[(u32, u32, u64)]| {
        let cells = cells.iter().map(|(src, dst, bytes)| Cell {
            src: Rank(*src),
            dst: Rank(*dst),
            messages: 50,
            bytes: *bytes,
        });
        TrafficMatrix::from_cells(cells).unwrap()
    };
    let phase = |name: &str, matrix| Phase {
        title: if name == "halo" { "halo 1-D · 1 MB".into() } else { String::new() },
        name: name.into(),
        occurrences: 25,
        duration_ns: Some(2_000_000_000),
        matrix,
    };
    // 25 rounds of 200 ms: 80 ms halo, 40 ms idle, 80 ms all-to-all.
    let round = |at: u64| {
        let start = at * 200_000_000;
        let part = |phase, from: u64, to: u64| Occurrence {
            phase,
            depth: 0,
            start_ns: start + from * 1_000_000,
            end_ns: start + to * 1_000_000,
            messages: 1,
            bytes: 1,
        };
        [part(Some(0), 0, 80), part(None, 80, 120), part(Some(1), 120, 200)]
    };
    Workload {
        name: "app.tar.gz".into(),
        remarks: Vec::new(),
        recording: None,
        segmentation: Segmentation {
            header: Header {
                format: "phaseflow.phases".into(),
                version: 1,
                source: "csv".into(),
                method: "kmeans[k=2]".into(),
                ranks: 4,
                duration_ns: Some(5_000_000_000),
                unmatched_receives: Default::default(),
            },
            phases: vec![
                phase("halo", matrix(&[(0, 1, 1_250_000_000)])),
                phase("a/2a", matrix(&[(0, 2, 2_500_000_000), (1, 3, 2_500_000_000)])),
            ],
            occurrences: (0..25).flat_map(round).collect(),
        },
    }
}

pub(crate) fn labels(run: u32, router: &str) -> RunLabels {
    RunLabels {
        run,
        topology: network().label,
        scheduler: "fcfs".into(),
        host_selector: "linear".into(),
        process_mapper: "block".into(),
        router: router.into(),
        model: "traffic".into(),
        transport: "ideal".into(),
        collective: "recorded".into(),
        phases: "segmented".into(),
        seed: 1,
    }
}

/// The row of a phase; `rows` are its links with bytes and flows.
fn phase_row(rows: &[(u32, LinkId, u64, u64)], at: u32, name: &str, bytes: u64) -> PhaseRow {
    let loads: Vec<u64> = rows.iter().filter(|row| row.0 == at).map(|row| row.2).collect();
    let most = loads.iter().copied().max().unwrap();
    let bottleneck = rows.iter().find(|row| row.0 == at && row.2 == most).unwrap().1;
    let mean = loads.iter().sum::<u64>() as f64 / 2.0 / 16.0;
    PhaseRow {
        job: 0,
        phase: name.into(),
        occurrences: 25,
        duration_s: Some(2.0),
        makespan_s: None,
        bytes,
        max_link_bytes: Some(most),
        max_link_load: Some(most as f64 / 2.0),
        max_utilization: Some(most as f64 / 2.0 * 8.0 / 10e9),
        mean_utilization: Some(mean * 8.0 / 10e9),
        bottleneck: Some(bottleneck),
        min_link_load: Some(0.0),
        mean_link_load: Some(mean),
        variance_link_load: None,
        drops: None,
        retransmits: None,
        replayed: None,
        packets: None,
        changed_routes: None,
        chosen: None,
        senders: Vec::new(),
    }
}

/// The table of links of rows by phase and link.
fn link_table(rows: &[(u32, LinkId, u64, u64)]) -> LinkTable {
    LinkTable {
        job: vec![Some(0); rows.len()],
        phase: rows.iter().map(|row| Some(row.0)).collect(),
        link: rows.iter().map(|row| row.1).collect(),
        bytes: rows.iter().map(|row| row.2).collect(),
        flows: rows.iter().map(|row| row.3).collect(),
        load: rows.iter().map(|row| row.2 as f64 / 2.0).collect(),
        packets: Vec::new(),
    }
}

/// The run of a router; `second` is the core switch that takes h1 → h3.
pub(crate) fn run(run: u32, router: &str, second: &str) -> RunResult {
    let mut rows: Vec<(u32, LinkId, u64, u64)> = Vec::new();
    let mut put = |phase: u32, path: &[&str], bytes: u64| {
        for pair in path.windows(2) {
            let link = number(pair[0], pair[1]);
            match rows.iter_mut().find(|row| row.0 == phase && row.1 == link) {
                Some(row) => (row.2, row.3) = (row.2 + bytes, row.3 + 1),
                None => rows.push((phase, link, bytes, 1)),
            }
        }
    };
    put(0, &["h0", "e0", "h1"], 1_250_000_000);
    put(1, &["h0", "e0", "c0", "e1", "h2"], 2_500_000_000);
    put(1, &["h1", "e0", second, "e1", "h3"], 2_500_000_000);
    rows.sort();
    let phase = |at: u32, name: &str, bytes: u64| phase_row(&rows, at, name, bytes);
    let phases = vec![phase(0, "halo", 1_250_000_000), phase(1, "a/2a", 5_000_000_000)];
    let most = phases[1].max_link_load.unwrap();
    let dense = |f: fn(&(u32, LinkId, u64, u64)) -> u64| -> Vec<u64> {
        let mut dense = vec![0; 16];
        rows.iter().filter(|row| row.0 == 0).for_each(|row| dense[row.1.0 as usize] = f(row));
        dense
    };
    RunResult {
        labels: labels(run, router),
        topology: 0,
        statistics: RunStatistics {
            makespan_s: Some(5.0),
            max_congestion: Some(most / 10.0),
            mean_congestion: Some(0.1 + 0.2),
            stddev_congestion: None,
            max_utilization: Some(most * 8.0 / 10e9),
            max_flows: Some(2),
            jobs_finished: 1,
        },
        jobs: vec![JobRow {
            job: 0,
            workload: 0,
            submitted_s: 0.0,
            started_s: Some(0.5),
            finished_s: Some(5.5),
            hosts: [0, 1, 2, 3].map(NodeId).to_vec(),
            ranks: [0, 1, 2, 3].map(NodeId).to_vec(),
            alone_s: None,
        }],
        links: link_table(&rows),
        phases,
        ranks: Vec::new(),
        path: Vec::new(),
        blame: Vec::new(),
        series: vec![Series {
            name: "max_congestion".into(),
            time_s: (0..75).map(|i| f64::from(i) * 0.2 / 3.0).collect(),
            value: (0..75).map(|i| [0.0, 0.0, most / 10.0][i % 3]).collect(),
            summary: Some(SeriesSummary { max: most / 10.0, min: 0.0, mean: most / 30.0, variance: 0.25 }),
        }],
        snapshots: vec![Snapshot {
            time_s: 0.5,
            load: dense(|row| row.2).iter().map(|bytes| *bytes as f64 / 2.0).collect(),
            flows: dense(|row| row.3),
        }],
        routes: vec![],
        flow_ends: Vec::new(),
    }
}

/// Both routers.
pub(crate) fn runs() -> [RunResult; 2] {
    [run(0, "dmodk", "c0"), run(1, "greedy", "c1")]
}

pub(crate) fn archive(configuration: serde_json::Value, runs: &[RunResult]) -> Vec<u8> {
    archive_of(configuration, &network(), &workload(), runs)
}

pub(crate) fn archive_of(
    configuration: serde_json::Value,
    network: &Network,
    workload: &Workload,
    runs: &[RunResult],
) -> Vec<u8> {
    let header = ResultHeader::new(configuration);
    let (networks, workloads) = ([network.clone()], [workload.clone()]);
    let mut writer = ResultWriter::new(Vec::new(), true, &header, &networks, &workloads).unwrap();
    for run in runs {
        writer.run(run).unwrap();
    }
    writer.finish().unwrap()
}

/// The archive of both runs.
pub(crate) fn example() -> Vec<u8> {
    archive(json!({"routers": ["dmodk", "greedy"]}), &runs())
}

/// Two runs with different models: one, from samples, is unsure of a phase of 342 ms; the other
/// gives 26 ms.
#[allow(dead_code, reason = "not every test has use for them")]
pub(crate) fn models() -> [RunResult; 2] {
    let [mut flow, mut packet] = runs();
    for (run, model, times, error) in
        [(&mut flow, "flow", [0.342, 0.08], Some(0.96)), (&mut packet, "packet", [0.026, 0.12], None)]
    {
        run.labels.router = "dmodk".into();
        run.labels.model = model.into();
        run.labels.transport = if model == "packet" { "ideal".into() } else { String::new() };
        for (row, makespan_s) in run.phases.iter_mut().zip(times) {
            row.makespan_s = Some(makespan_s);
        }
        run.phases[0].replayed = Some(Replayed { makespan_error: error, ..Replayed::default() });
    }
    [flow, packet]
}
