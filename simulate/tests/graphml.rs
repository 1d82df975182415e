//! GraphML from elsewhere: PFSim's clusters, and what networkx writes.
#![allow(clippy::unwrap_used, reason = "helpers of tests stop where something is wrong")]

use std::path::{Path, PathBuf};
use std::process::Command;

use phaseflow_simulate::result::Network;
use phaseflow_simulate::topology::{
    Annotations, HostId, LinkId, NodeId, Topology, TopologyChoice, TopologyOptions, topology, write_graphml,
};

fn read(path: PathBuf) -> Topology {
    topology(&TopologyChoice::File(path), &TopologyOptions::default()).unwrap()
}

/// Everything a topology says, for comparison: nodes in their order, links in that of the alphabet,
/// as networkx writes them node by node.
fn spelt_out(net: &Topology) -> Vec<String> {
    let nodes = (0..net.node_count() as u32).map(|node| format!("{:?}", net.node(NodeId(node))));
    let links = (0..net.link_count() as u32).map(LinkId).map(|link| {
        let name = |node| net.node(node).name.as_str();
        format!("{} {} {:?}", name(net.src(link)), name(net.dst(link)), net.link(link))
    });
    let mut links: Vec<String> = links.collect();
    links.sort_unstable();
    nodes.chain(links).collect()
}

/// Runs a Python script with networkx, which tests/install installs.
fn networkx(script: &str, arguments: &[&Path]) {
    let python = std::env::var("PHASEFLOW_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", "import networkx"]).output();
    let is_there = has.is_ok_and(|done| done.status.success());
    assert!(
        is_there,
        "{python} has no networkx: tests/install installs it, see PHASEFLOW_TEST_PYTHON in tests/run"
    );
    let script = format!("import sys, networkx as nx\n{script}");
    let done = Command::new(&python).args(["-c", &script]).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Hosts, slots of each and the capacity between switches are those; what networkx makes of the
/// file is the same network.
fn is_cluster(file: &Path, hosts: usize, slots: u32, capacity: &str) {
    let net = read(file.into());
    assert_eq!((net.host_count(), net.slots()), (hosts, &vec![slots; hosts][..]));
    let core = (0..net.link_count() as u32).map(LinkId).find(|link| net.between_switches(*link)).unwrap();
    assert_eq!(net.link(core).capacity.to_string(), capacity);
    let written = tempfile::tempdir().unwrap();
    let copy = written.path().join("copy.graphml");
    networkx("nx.write_graphml(nx.read_graphml(sys.argv[1]), sys.argv[2])", &[file, &copy]);
    assert_eq!(spelt_out(&read(copy)), spelt_out(&net));
}

#[test]
fn a_cluster_as_pfsim_writes_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    is_cluster(&folder.join("cluster.graphml"), 20, 8, "100");
}

#[test]
#[ignore = "reads PFSim's clusters in ../shared/data; tests/run runs it where they are"]
fn shared_data_clusters_of_pfsim() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/pfsim");
    is_cluster(&folder.join("milk.graphml"), 20, 8, "1");
    is_cluster(&folder.join("pepsi.graphml"), 28, 12, "4");
}

#[test]
fn graphs_of_networkx() {
    let written = tempfile::tempdir().unwrap();
    for (kind, links) in [("Graph", 8), ("DiGraph", 8), ("MultiGraph", 10), ("MultiDiGraph", 10)] {
        let path = written.path().join(format!("{kind}.graphml"));
        let script = format!(
            "g = nx.{kind}(name='a <b> & c')
for h in range(3): g.add_node(f'host {{h}}', typ='host', capacity=4, mac=f'00:0{{h}}')
g.add_node('α&ω', typ='switch', dpid=3); g.add_node('s', typ='switch')
cables = [('host 0', 'α&ω'), ('host 1', 'α&ω'), ('host 2', 's'), ('α&ω', 's')]
if g.is_multigraph(): cables.append(('α&ω', 's'))
for a, b in cables:
    g.add_edge(a, b, capacity=2.5, latency_ns=500)
    if g.is_directed(): g.add_edge(b, a, capacity=2.5, latency_ns=500)
nx.write_graphml(g, sys.argv[1])"
        );
        networkx(&script, &[&path]);
        let net = read(path);
        assert_eq!((net.host_count(), net.link_count()), (3, links), "{kind}");
        let host = net.node(net.host(HostId(1)));
        assert_eq!((host.name.as_str(), host.slots, host.mac.as_deref()), ("host 1", Some(4), Some("00:01")));
        let switch = net.node(NodeId(3));
        assert_eq!((switch.name.as_str(), switch.dpid.as_deref()), ("α&ω", Some("3")));
        let link = net.link(LinkId(0));
        assert_eq!((link.capacity.to_string().as_str(), link.latency_ps), ("2.5", 500_000));
        let far = net.distances_to(HostId(2)).from(net.host(HostId(0)));
        assert_eq!(far, Some(3));
    }
}

/// networkx reads each generated network as the generator means it: hosts, switches, links, and the
/// most hops between two switches.
#[test]
fn generated_networks_in_networkx() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("network.graphml");
    for (text, hosts, switches, links, diameter) in [
        ("fat-tree[k=4]", 16, 20, 96, 4),
        ("xgft[m=4:4:3,w=1:2:2,p=1:2:3]", 48, 22, 2 * (48 + 2 * 24 + 3 * 12), 4),
        ("leaf-spine[leaves=4,spines=2,hosts=8,links=3]", 32, 6, 2 * (32 + 24), 2),
        ("torus[dims=4x5]", 20, 20, 2 * (20 + 40), 4),
        ("mesh[dims=4x5]", 20, 20, 2 * (20 + 31), 7),
        ("hyperx[dims=4x3,hosts=2,links=2x1]", 24, 12, 2 * (24 + 2 * 18 + 12), 2),
        ("dragonfly[a=4,h=2,p=2]", 72, 36, 2 * (72 + 54 + 36), 3),
        ("slimfly[q=7]", 98 * 6, 98, 2 * (98 * 6 + 98 * 11 / 2), 2),
    ] {
        let net = topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        write_graphml(file, &Network::from(&net), &Annotations::default()).unwrap();
        let script = format!(
            "g = nx.read_graphml(sys.argv[1])
kinds = nx.get_node_attributes(g, 'typ')
switches = [node for node in g if kinds[node] == 'switch']
between = nx.Graph(g.subgraph(switches))
found = (len(g) - len(switches), len(switches), g.number_of_edges(), nx.diameter(between))
assert found == ({hosts}, {switches}, {links}, {diameter}), ('{text}', found)"
        );
        networkx(&script, &[&path]);
    }
}
