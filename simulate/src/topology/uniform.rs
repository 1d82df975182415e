//! A network under construction whose hosts are all equal and whose cables are all equal, as
//! generators build it.

use petgraph::graph::NodeIndex;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::freeze::check_size;
use super::{LinkSpec, NetworkGraph, Node};

/// A network of equal hosts and equal cables, as generators build it.
pub(super) struct UniformNetwork<'a> {
    graph: NetworkGraph,
    choice: &'a Choice,
    slots: u32,
    link: LinkSpec,
}

impl<'a> UniformNetwork<'a> {
    /// No nodes yet; hosts will have `slots`, cables two links like `link`.
    pub(super) fn new(choice: &'a Choice, slots: u32, link: LinkSpec) -> Self {
        Self { graph: NetworkGraph::default(), choice, slots, link }
    }

    /// The network as built so far.
    pub(super) fn into_graph(self) -> NetworkGraph {
        self.graph
    }

    /// Announces the size before anything is built.
    pub(super) fn reserve(&mut self, nodes: u64, links: u64) -> Result<()> {
        check_size(nodes, links).map_err(|error| Error::usage(format!("`{}` {error}", self.choice)))?;
        self.graph.reserve_nodes(nodes as usize);
        self.graph.reserve_edges(links as usize);
        Ok(())
    }

    pub(super) fn host(&mut self, name: String) {
        self.node(name, Some(self.slots));
    }

    pub(super) fn switch(&mut self, name: String) {
        self.node(name, None);
    }

    fn node(&mut self, name: String, slots: Option<u32>) {
        self.graph.add_node(Node { name, slots, mac: None, dpid: None });
    }

    /// A link each way between two nodes, by number.
    pub(super) fn cable(&mut self, a: u64, b: u64) {
        self.costly_cable(a, b, self.link.cost);
    }

    /// The same with a cost for paths.
    pub(super) fn costly_cable(&mut self, a: u64, b: u64, cost: u32) {
        let (a, b) = (NodeIndex::new(a as usize), NodeIndex::new(b as usize));
        let link = LinkSpec { cost, ..self.link.clone() };
        self.graph.add_edge(a, b, link.clone());
        self.graph.add_edge(b, a, link);
    }
}
