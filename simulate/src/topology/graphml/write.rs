//! The GraphML writer. [`read`](super::read()) gets the same network back from its output.
//!
//! The keys are PFSim's (`typ`, `capacity`, `mac`, `dpid`, `port`), so a graph is a cluster file
//! too, and ours for latency, faults and routing order. Unknown values are left out. Nodes and
//! links have the order of the network. Links have no ids, so that networkx numbers parallel ones
//! itself.

use std::io::{self, Write};

use crate::result::{Link, Network};
use crate::topology::PortOrder;
use crate::xml::Xml;

/// XML namespace of GraphML.
const NAMESPACE: &str = "http://graphml.graphdrawing.org/xmlns";

/// Largest integer that is exact as an `f64`, in which igraph keeps numbers.
const LARGEST_EXACT: u64 = 1 << 53;

/// An attribute of nodes or links, in the order of the network.
#[allow(missing_debug_implementations, reason = "a closure has none")]
pub struct Attribute<'a> {
    /// Name of the attribute.
    pub name: &'static str,
    /// Its type in GraphML: `string`, `long`, `double`.
    pub kind: &'static str,
    /// Its value for the node or link of that number.
    pub value: Box<dyn Fn(usize) -> Option<String> + 'a>,
}

/// Annotations of a graph beyond the network.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "a closure has none")]
pub struct Annotations<'a> {
    /// Of the graph: name, value.
    pub graph: Vec<(&'static str, String)>,
    /// Of nodes.
    pub nodes: Vec<Attribute<'a>>,
    /// Of links.
    pub links: Vec<Attribute<'a>>,
}

/// Writes the graph of `network`.
///
/// # Errors
/// An error of the output.
pub fn write_graphml<W: Write>(out: W, network: &Network, annotations: &Annotations<'_>) -> io::Result<W> {
    let mut xml = Xml::new(out)?;
    xml.open("graphml", &[("xmlns", NAMESPACE)])?;
    declare(&mut xml, network, annotations)?;
    xml.open("graph", &[("edgedefault", "directed")])?;
    for (name, value) in about(network).iter().chain(&annotations.graph) {
        xml.text("data", &[("key", &graph_key(name))], value)?;
    }
    for (at, node) in network.nodes.iter().enumerate() {
        xml.open("node", &[("id", &node.name)])?;
        let typ = if node.slots.is_some() { "host" } else { "switch" };
        let slots = node.slots.map(|slots| slots.to_string());
        let own = [
            ("typ", Some(typ.into())),
            ("slots", slots),
            ("mac", node.mac.clone()),
            ("dpid", node.dpid.clone()),
        ];
        data(&mut xml, own, &annotations.nodes, at)?;
        xml.close("node")?;
    }
    for (at, link) in network.links.iter().enumerate() {
        xml.open("edge", &[("source", network.name(link.src)), ("target", network.name(link.dst))])?;
        let Link { capacity, latency_ps, port, faults, cost, .. } = link;
        let chance = |chance: f64| (chance > 0.0).then(|| chance.to_string());
        let own = [
            ("capacity", Some(capacity.to_string())),
            ("latency_ps", Some(latency_ps.to_string())),
            ("port", port.clone()),
            ("loss", chance(faults.loss)),
            ("duplicate", chance(faults.duplicate)),
            ("reorder_ps", (faults.reorder_ps > 0).then(|| faults.reorder_ps.to_string())),
            ("cost", (*cost != 1).then(|| cost.to_string())),
        ];
        data(&mut xml, own, &annotations.links, at)?;
        xml.close("edge")?;
    }
    xml.close("graph")?;
    xml.close("graphml")?;
    xml.finish()
}

/// Properties of the whole network that differ from the defaults of readers.
fn about(network: &Network) -> Vec<(&'static str, String)> {
    let mut about = vec![("name", network.label.clone())];
    if network.switch_latency_ps > 0 {
        about.push(("switch_latency_ps", network.switch_latency_ps.to_string()));
    }
    if network.port_order != PortOrder::Name {
        about.push(("routing_order", network.port_order.as_str().into()));
    }
    about
}

/// The id of a key of the graph: a link may have an attribute of the same name.
fn graph_key(name: &str) -> String {
    ["graph.", name].concat()
}

fn declare<W: Write>(xml: &mut Xml<W>, network: &Network, annotations: &Annotations<'_>) -> io::Result<()> {
    let mut key = |id: &str, of: &str, name: &str, kind: &str| {
        xml.empty("key", &[("id", id), ("for", of), ("attr.name", name), ("attr.type", kind)])
    };
    let dpid = whole_or_text(network.nodes.iter().filter_map(|node| node.dpid.as_deref()));
    let port = whole_or_text(network.links.iter().filter_map(|link| link.port.as_deref()));
    for (id, name, kind) in [
        ("typ", "typ", "string"),
        ("slots", "capacity", "long"),
        ("mac", "mac", "string"),
        ("dpid", "dpid", dpid),
    ] {
        key(id, "node", name, kind)?;
    }
    for attribute in &annotations.nodes {
        key(attribute.name, "node", attribute.name, attribute.kind)?;
    }
    for (name, kind) in [
        ("capacity", "double"),
        ("latency_ps", "long"),
        ("port", port),
        ("loss", "double"),
        ("duplicate", "double"),
        ("reorder_ps", "long"),
        ("cost", "long"),
    ] {
        key(name, "edge", name, kind)?;
    }
    for attribute in &annotations.links {
        key(attribute.name, "edge", attribute.name, attribute.kind)?;
    }
    for (name, _) in about(network).iter().chain(&annotations.graph) {
        key(&graph_key(name), "graph", name, "string")?;
    }
    Ok(())
}

fn data<W: Write>(
    xml: &mut Xml<W>,
    own: impl IntoIterator<Item = (&'static str, Option<String>)>,
    further: &[Attribute<'_>],
    at: usize,
) -> io::Result<()> {
    let further = further.iter().map(|attribute| (attribute.name, (attribute.value)(at)));
    for (key, value) in own.into_iter().chain(further) {
        if let Some(value) = value {
            xml.text("data", &[("key", key)], &value)?;
        }
    }
    Ok(())
}

/// `long` if all values are whole numbers that every reader keeps exactly, else `string`.
fn whole_or_text<'a>(mut values: impl Iterator<Item = &'a str>) -> &'static str {
    if values.all(|value| value.parse::<u64>().is_ok_and(|n| n <= LARGEST_EXACT)) { "long" } else { "string" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::topology::graphml::read;
    use crate::topology::{
        Faults, LinkSpec, MAX_COST, NetworkGraph, Node, Topology, TopologyChoice, TopologyOptions, topology,
    };

    /// The network of a graph that was written.
    fn read_back(network: &Network) -> Network {
        let text = write_graphml(Vec::new(), network, &Annotations::default()).unwrap();
        let document = read(&text[..], &TopologyOptions::default()).unwrap();
        let latency = document.switch_latency_ps.unwrap_or(0);
        let label = &network.label;
        Network::from(&Topology::freeze(label, document.graph, document.order, latency).unwrap())
    }

    fn spec() -> impl Strategy<Value = LinkSpec> {
        let port = proptest::option::of("[0-9]{1,3}|eth[0-9]|[<&>\"']{1,4}");
        let faults = (0.0..1.0_f64, 0.0..1.0_f64, any::<u64>());
        let faults = proptest::option::of(faults.prop_map(|(loss, duplicate, reorder_ps)| Faults {
            loss,
            duplicate,
            reorder_ps,
        }));
        let numbers = (1e-9..1e9_f64, any::<u64>(), 1..=MAX_COST);
        (numbers, port, faults).prop_map(|((capacity, latency_ps, cost), port, faults)| LinkSpec {
            capacity,
            latency_ps,
            port,
            faults: faults.unwrap_or_default(),
            cost,
        })
    }

    prop_compose! {
        /// Hosts and switches of any names on two switches that see each other, with some links
        /// twice.
        fn network()(
            names in proptest::collection::btree_set("[a-zA-Z0-9 <>&\"'.:äλ\t\n-]{1,8}", 4..9),
            slots in proptest::collection::vec(1..1000_u32, 9),
            links in proptest::collection::vec((0..9_usize, 0..2_usize, spec(), spec()), 0..9),
            own in proptest::collection::vec((spec(), spec()), 9),
            address in proptest::option::of("[0-9a-f:]{1,8}"),
            by_number in any::<bool>(),
            latency in any::<u64>(),
        ) -> Network {
            let mut graph = NetworkGraph::default();
            let names: Vec<String> = names.into_iter().rev().collect();
            let nodes: Vec<_> = names.iter().enumerate().map(|(at, name)| {
                let slots = (at > 1).then(|| slots[at]);
                let (mac, dpid) = if at > 1 { (address.clone(), None) } else { (None, address.clone()) };
                graph.add_node(Node { name: name.clone(), slots, mac, dpid })
            }).collect();
            let mut cable = |a: usize, b: usize, there: &LinkSpec, back: &LinkSpec| {
                graph.add_edge(nodes[a], nodes[b], there.clone());
                graph.add_edge(nodes[b], nodes[a], back.clone());
            };
            for (at, (there, back)) in own.iter().enumerate().take(names.len()).skip(1) {
                cable(at, at % 2 * usize::from(at > 1), there, back);
            }
            for (at, switch, there, back) in &links {
                if *at < names.len() && at != switch {
                    cable(*at, *switch, there, back);
                }
            }
            let order = if by_number { PortOrder::Number } else { PortOrder::Name };
            Network::from(&Topology::freeze("a <net>", graph, order, latency).unwrap())
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_as_the_same_network(network in network()) {
            prop_assert_eq!(read_back(&network), network);
        }
    }

    /// Coordinates decide on their routes, which names would not: s2.10 comes before s2.2.
    #[test]
    fn generated_networks_come_back() {
        for text in [
            "xgft[m=2:13,w=1:12,capacity=2.5]",
            "xgft[m=2:3,w=1:2,p=1:3]",
            "torus[dims=3x12]",
            "mesh[dims=3x12]",
            "star[hosts=3,slots=4]",
            "hyperx[dims=3x4,hosts=2,links=1x2]",
            "dragonfly[a=4,h=2,p=2]",
            "jellyfish[switches=15,degree=4]",
            "slimfly[q=4]",
        ] {
            let options = TopologyOptions {
                link_latency_ps: Some(7),
                switch_latency_ps: Some(9),
                ..TopologyOptions::default()
            };
            let net = topology(&TopologyChoice::parse(text).unwrap(), &options).unwrap();
            let network = Network::from(&net);
            assert_eq!(read_back(&network), network, "{text}");
        }
    }
}
