//! Forwarding tables for the switches of a real network (OpenFlow), as PFSim writes them: YAML, one
//! entry per switch.
//!
//! ```yaml
//! 3:                                  # the switch's dpid, else its name
//!   fdb:
//!     "00:30:48:cf:f0:39":            # source: the host's mac, else its name
//!       "00:30:48:cf:f0:37": 25       # destination: output port, or the next node
//!   blocked_ports: [27]
//! ```
//!
//! Replies need a route: without one from destination to source, the reverse of the forward route
//! is installed, as far as its links have counterparts. Broadcasts need a tree: `blocked_ports`
//! lists, for each switch, the ports of the links that are not in a minimum spanning tree of the
//! undirected graph. All links have equal weight: the tree is that of Kruskal's algorithm with
//! nodes, and their links, in the order of the file, as in networkx.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

use petgraph::unionfind::UnionFind;

use crate::result::PhaseRoutes;
use crate::topology::{HostId, LinkId, NodeId, Topology};

/// The tables that hold the routes of one phase of one job. Switches come in the order of the
/// topology, pairs in that of the hosts.
pub fn forwarding_tables(topology: &Topology, routes: &PhaseRoutes) -> String {
    let mut tables: Vec<BTreeMap<(HostId, HostId), LinkId>> = vec![BTreeMap::new(); topology.node_count()];
    let mut install = |pair: (HostId, HostId), link: LinkId| {
        tables[topology.src(link).0 as usize].entry(pair).or_insert(link);
    };
    let installed: HashSet<(HostId, HostId)> = routes.pairs.iter().copied().collect();
    let counterparts = counterparts(topology);
    for (pair, route) in routes.pairs.iter().zip(routes.routes.iter()) {
        let back = (pair.1, pair.0);
        for link in route {
            install(*pair, *link);
            if !installed.contains(&back)
                && let Some(reverse) = counterparts.get(&(topology.dst(*link), topology.src(*link)))
            {
                install(back, *reverse);
            }
        }
    }

    let blocked = blocked(topology);
    let mut yaml = String::new();
    for node in (0..topology.node_count() as u32).map(NodeId).filter(|node| topology.is_switch(*node)) {
        let ports: Vec<String> = links_in_file_order(topology, node)
            .into_iter()
            .filter(|link| blocked[link.0 as usize])
            .map(|link| port(topology, link))
            .collect();
        // Writing to a string cannot fail.
        let _ = write_switch(&mut yaml, topology, node, &tables[node.0 as usize], &ports);
    }
    yaml
}

fn write_switch(
    yaml: &mut String,
    topology: &Topology,
    node: NodeId,
    table: &BTreeMap<(HostId, HostId), LinkId>,
    blocked: &[String],
) -> std::fmt::Result {
    let switch = topology.node(node);
    writeln!(yaml, "{}:", scalar(switch.dpid.as_deref().unwrap_or(&switch.name)))?;
    writeln!(yaml, "  fdb:{}", if table.is_empty() { " {}" } else { "" })?;
    let mut last = None;
    for ((src, dst), link) in table {
        if last != Some(src) {
            writeln!(yaml, "    {}:", address(topology, *src))?;
            last = Some(src);
        }
        writeln!(yaml, "      {}: {}", address(topology, *dst), port(topology, *link))?;
    }
    writeln!(yaml, "  blocked_ports: [{}]", blocked.join(", "))
}

/// The first link between two nodes, by both.
fn counterparts(topology: &Topology) -> HashMap<(NodeId, NodeId), LinkId> {
    let mut first = HashMap::new();
    for link in (0..topology.link_count() as u32).map(LinkId) {
        first.entry((topology.src(link), topology.dst(link))).or_insert(link);
    }
    first
}

/// By link: true if it is not in the spanning tree. Of parallel links one is.
fn blocked(topology: &Topology) -> Vec<bool> {
    let mut trees = UnionFind::<u32>::new(topology.node_count());
    let mut blocked = vec![true; topology.link_count()];
    let counterparts = counterparts(topology);
    for node in (0..topology.node_count() as u32).map(NodeId) {
        let mut back = topology.incoming(node).to_vec();
        back.sort_unstable();
        for link in links_in_file_order(topology, node).into_iter().chain(back) {
            let (src, dst) = (topology.src(link), topology.dst(link));
            if src.max(dst) != node && trees.union(src.0, dst.0) {
                blocked[link.0 as usize] = false;
                if let Some(reverse) = counterparts.get(&(dst, src)) {
                    blocked[reverse.0 as usize] = false;
                }
            }
        }
    }
    blocked
}

fn links_in_file_order(topology: &Topology, node: NodeId) -> Vec<LinkId> {
    let mut links = topology.outgoing(node).to_vec();
    links.sort_unstable();
    links
}

fn address(topology: &Topology, host: HostId) -> String {
    let node = topology.node(topology.host(host));
    scalar(node.mac.as_deref().unwrap_or(&node.name))
}

fn port(topology: &Topology, link: LinkId) -> String {
    match &topology.link(link).port {
        Some(port) => scalar(port),
        None => scalar(&topology.node(topology.dst(link)).name),
    }
}

/// A whole number as such, any other value as a quoted string: JSON strings are valid YAML.
fn scalar(text: &str) -> String {
    match text.parse::<u64>() {
        Ok(number) if number.to_string() == text => text.to_string(),
        _ => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Routes;
    use crate::topology::PortOrder;
    use crate::topology::sketch::sketch;

    #[test]
    fn tables_hold_both_ways_and_block_what_is_no_tree() {
        let mut graph = sketch("h0-e1 h1-e2 e1-c1 e1-c2 e2-c1 e2-c2");
        for (edge, port) in graph.edge_weights_mut().zip(1..) {
            edge.port = Some(port.to_string());
        }
        graph[petgraph::graph::NodeIndex::new(0)].mac = Some("00:30:48:cf:f0:39".into());
        graph[petgraph::graph::NodeIndex::new(1)].dpid = Some("3".into());
        let net = Topology::freeze("net", graph, PortOrder::Name, 0).unwrap();
        let mut routes = Routes::default();
        for link in [0, 6, 11, 3] {
            routes.push_link(LinkId(link));
        }
        routes.end_route();
        let phase = PhaseRoutes { job: 0, phase: "0".into(), pairs: vec![(HostId(0), HostId(1))], routes };
        let expected = r#"3:
  fdb:
    "00:30:48:cf:f0:39":
      "h1": 7
    "h1":
      "00:30:48:cf:f0:39": 2
  blocked_ports: []
"e2":
  fdb:
    "00:30:48:cf:f0:39":
      "h1": 4
    "h1":
      "00:30:48:cf:f0:39": 11
  blocked_ports: [11]
"c1":
  fdb: {}
  blocked_ports: []
"c2":
  fdb:
    "00:30:48:cf:f0:39":
      "h1": 12
    "h1":
      "00:30:48:cf:f0:39": 8
  blocked_ports: [12]
"#;
        assert_eq!(forwarding_tables(&net, &phase), expected);
        let parsed: serde_json::Value = serde_saphyr::from_str(expected).unwrap();
        assert_eq!(parsed["e2"]["blocked_ports"][0], 11);
    }

    #[test]
    fn an_installed_way_back_is_kept() {
        let net = Topology::freeze("net", sketch("h0-e1 h1-e2 e1-c1 e1-c2 e2-c1 e2-c2"), PortOrder::Name, 0)
            .unwrap();
        let mut routes = Routes::default();
        for route in [[0, 4, 9, 3], [2, 10, 7, 1]] {
            route.iter().for_each(|link| routes.push_link(LinkId(*link)));
            routes.end_route();
        }
        let pairs = vec![(HostId(0), HostId(1)), (HostId(1), HostId(0))];
        let text = forwarding_tables(&net, &PhaseRoutes { job: 0, phase: "0".into(), pairs, routes });
        let e2 = text.split("\"e2\":").nth(1).unwrap();
        assert!(e2.contains("    \"h1\":\n      \"h0\": \"c2\"\n"), "{text}");
        assert!(text.starts_with("\"e1\":\n  fdb:\n    \"h0\":\n      \"h1\": \"c1\"\n"), "{text}");
    }

    #[test]
    fn names_that_look_like_something_else_stay_names() {
        assert_eq!(
            (scalar("7"), scalar("007"), scalar("-1")),
            ("7".into(), "\"007\"".into(), "\"-1\"".into())
        );
        assert_eq!((scalar("a: b"), scalar("\"\n")), ("\"a: b\"".into(), "\"\\\"\\n\"".into()));
    }
}
