//! Reading GraphML, generating, and working out the shortest paths to one host.
#![allow(clippy::expect_used, reason = "a bench without its input is no bench")]

use std::fmt::Write;
use std::hint::black_box;
use std::io::Write as _;

use criterion::{Criterion, criterion_group, criterion_main};
use phaseflow_simulate::topology::{HostId, TopologyChoice, TopologyOptions, topology};

/// 9 600 hosts on 400 leaves and 24 spines, as networkx would write them.
fn document() -> String {
    let mut text = String::from(
        "<?xml version='1.0' encoding='utf-8'?>\n<graphml>\n<key attr.name='typ' for='node' id='d1'/>\n\
         <key attr.name='capacity' for='node' id='d2'/>\n<key attr.name='capacity' for='edge' id='d5'/>\n\
         <graph edgedefault='undirected'>\n",
    );
    for host in 0..9600 {
        let data = "<data key='d1'>host</data><data key='d2'>64</data>";
        writeln!(text, "<node id='h{host}'>{data}</node>").unwrap_or_default();
    }
    for switch in 0..424 {
        writeln!(text, "<node id='s{switch}'><data key='d1'>switch</data></node>").unwrap_or_default();
    }
    let cables = (0..9600).map(|host| (format!("h{host}"), host / 24));
    let trunks = (400..424).flat_map(|spine| (0..400).map(move |leaf| (format!("s{spine}"), leaf)));
    for (source, target) in cables.chain(trunks) {
        let edge =
            format_args!("<edge source='{source}' target='s{target}'><data key='d5'>100</data></edge>");
        writeln!(text, "{edge}").unwrap_or_default();
    }
    text + "</graph>\n</graphml>\n"
}

fn networks(criterion: &mut Criterion) {
    let mut file = tempfile::Builder::new().suffix(".graphml").tempfile().expect("a temporary file");
    file.write_all(document().as_bytes()).expect("a temporary file");
    let options = TopologyOptions::default();
    let read = TopologyChoice::File(file.path().into());
    criterion.bench_function("read 10 024 nodes and 38 400 links", |bencher| {
        bencher.iter(|| topology(black_box(&read), &options).expect("a network").link_count());
    });
    let tree = TopologyChoice::parse("xgft[m=16:16:8,w=1:16:16]").expect("a tree");
    criterion.bench_function("generate 2 048 hosts", |bencher| {
        bencher.iter(|| topology(black_box(&tree), &options).expect("a network").link_count());
    });
    let fresh = topology(&tree, &options).expect("a network");
    criterion.bench_function("paths to all of 2 048 hosts", |bencher| {
        bencher.iter_batched(
            || fresh.clone(),
            |net| (0..2048).map(|host| net.paths_to(HostId(host)).candidates(511).len()).sum::<usize>(),
            criterion::BatchSize::LargeInput,
        );
    });
}

criterion_group!(benches, networks);
criterion_main!(benches);
