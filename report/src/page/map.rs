//! The network drawn in levels, hosts at the bottom, links as wide and dark as they are loaded.
//!
//! Only where such a drawing tells something: networks of a few hundred links whose links all join
//! neighbouring levels (stars, fat trees, leaf-spines). A torus is not drawn.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use phaseflow_simulate::result::{Link, Network};

use super::text::{escape, shortened};

/// Nodes and links of the largest network drawn.
const NODES: usize = 200;
const LINKS: usize = 800;

const WIDTH: f64 = 480.0;
const LEVEL: f64 = 100.0;

/// Where the nodes of a network stand.
pub(super) struct Layout {
    at: Vec<(f64, f64)>,
    height: f64,
    /// Nodes of the fullest level.
    widest: usize,
}

/// True if a network is small enough to keep the loads of its links for a drawing.
pub(super) fn is_small(network: &Network) -> bool {
    network.nodes.len() <= NODES && network.links.len() <= LINKS
}

impl Layout {
    /// Levels by distance from the nearest host; `None` where levels say nothing.
    pub(super) fn new(network: &Network) -> Option<Self> {
        if !is_small(network) {
            return None;
        }
        let nodes = network.nodes.len();
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        for link in &network.links {
            neighbours[link.src.0 as usize].push(link.dst.0 as usize);
            neighbours[link.dst.0 as usize].push(link.src.0 as usize);
        }
        let mut level: Vec<Option<usize>> = network.nodes.iter().map(|node| node.slots.map(|_| 0)).collect();
        let mut queue: VecDeque<(usize, usize)> = (0..nodes).filter_map(|n| Some((n, level[n]?))).collect();
        while let Some((node, below)) = queue.pop_front() {
            for next in &neighbours[node] {
                if level[*next].is_none() {
                    level[*next] = Some(below + 1);
                    queue.push_back((*next, below + 1));
                }
            }
        }
        let level: Vec<usize> = level.into_iter().collect::<Option<_>>()?;
        let joins = |link: &Link| level[link.src.0 as usize].abs_diff(level[link.dst.0 as usize]) == 1;
        let top = *level.iter().max()?;
        if top == 0 || !network.links.iter().all(joins) {
            return None;
        }
        let mut members: Vec<usize> = vec![0; top + 1];
        let mut place = Vec::with_capacity(nodes);
        for l in &level {
            place.push(members[*l]);
            members[*l] += 1;
        }
        let height = LEVEL * top as f64 + 50.0;
        let at = level.iter().zip(&place).map(|(l, place)| {
            let x = WIDTH * (*place as f64 + 0.5) / members[*l] as f64;
            (x, height - 30.0 - LEVEL * *l as f64)
        });
        Some(Self { at: at.collect(), height, widest: members.into_iter().max()? })
    }

    /// The network with its links by `congestion`, load / capacity; `most` is the widest line. Both
    /// directions of a cable are one line, the more loaded counts.
    pub(super) fn figure(&self, title: &str, network: &Network, congestion: &[f64], most: f64) -> String {
        let title = escape(title);
        let mut svg = format!(
            "<figure><figcaption>{title}</figcaption><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Links of the network, {title}\">",
            self.height,
        );
        let mut cables: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for (link, load) in network.links.iter().zip(congestion) {
            let ends = (link.src.0.min(link.dst.0), link.src.0.max(link.dst.0));
            let most = cables.entry(ends).or_insert(0.0);
            *most = most.max(*load);
        }
        let mut cables: Vec<_> = cables.into_iter().collect();
        // The most loaded on top.
        cables.sort_by(|a, b| a.1.total_cmp(&b.1));
        for ((a, b), load) in cables {
            let ((ax, ay), (bx, by)) = (self.at[a as usize], self.at[b as usize]);
            let line = format!("x1=\"{ax:.0}\" y1=\"{ay:.0}\" x2=\"{bx:.0}\" y2=\"{by:.0}\"");
            let share = if most > 0.0 { (load / most).clamp(0.0, 1.0) } else { 0.0 };
            let _ = if share > 0.0 {
                let (width, opacity) = (1.0 + 5.0 * share, 0.15 + 0.85 * share);
                write!(
                    svg,
                    "<line class=\"hot\" stroke-width=\"{width:.1}\" opacity=\"{opacity:.2}\" {line}/>"
                )
            } else {
                write!(svg, "<line class=\"grid\" {line}/>")
            };
        }
        for (node, (x, y)) in network.nodes.iter().zip(&self.at) {
            let name = escape(&node.name);
            let _ = if node.slots.is_some() {
                write!(
                    svg,
                    "<circle class=\"node\" cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"3.5\"><title>{name}</title></circle>"
                )
            } else {
                let (x, y) = (x - 6.0, y - 5.0);
                write!(
                    svg,
                    "<rect class=\"node\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"12\" height=\"10\"><title>{name}</title></rect>"
                )
            };
            // Names where there is room for them: of switches beside, of hosts below.
            let room = (WIDTH / self.widest.max(1) as f64 / 7.0) as usize;
            let _ = if node.slots.is_none() {
                let name = escape(&shortened(&node.name, 12));
                write!(svg, "<text class=\"name\" x=\"{:.0}\" y=\"{:.0}\">{name}</text>", x + 10.0, y + 3.0)
            } else if room >= 4 {
                let name = escape(&shortened(&node.name, room));
                write!(svg, "<text class=\"middle name\" x=\"{x:.0}\" y=\"{:.0}\">{name}</text>", y + 18.0)
            } else {
                Ok(())
            };
        }
        svg.push_str("</svg></figure>");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_simulate::topology::{Faults, Node, NodeId, PortOrder};

    fn network(slots: &[Option<u32>], cables: &[(u32, u32)]) -> Network {
        let node = |(at, slots): (usize, &Option<u32>)| Node {
            name: at.to_string(),
            slots: *slots,
            mac: None,
            dpid: None,
        };
        let link = |(src, dst): &(u32, u32)| Link {
            src: NodeId(*src),
            dst: NodeId(*dst),
            capacity: 1.0,
            latency_ps: 0,
            port: None,
            faults: Faults::default(),
        };
        Network {
            label: "test".into(),
            switch_latency_ps: 0,
            port_order: PortOrder::default(),
            nodes: slots.iter().enumerate().map(node).collect(),
            links: cables.iter().map(link).collect(),
        }
    }

    #[test]
    fn a_tree_stands_in_levels() {
        // Two hosts under a switch each, one switch above both.
        let tree = network(&[Some(1), Some(1), None, None, None], &[(0, 2), (1, 3), (2, 4), (4, 3)]);
        let layout = Layout::new(&tree).unwrap();
        let heights: Vec<f64> = layout.at.iter().map(|at| layout.height - at.1).collect();
        assert_eq!(heights, [30.0, 30.0, 130.0, 130.0, 230.0]);
        assert_eq!(layout.widest, 2);
        let figure = layout.figure("t", &tree, &[0.0, 0.0, 3.0, 0.0], 3.0);
        assert_eq!(
            (figure.matches("class=\"hot\"").count(), figure.matches("class=\"grid\"").count()),
            (1, 3)
        );
    }

    #[test]
    fn a_ring_and_an_island_do_not() {
        let ring = network(&[Some(1), None, Some(1), None], &[(0, 1), (2, 3), (1, 3), (3, 1)]);
        assert!(Layout::new(&ring).is_none());
        assert!(Layout::new(&network(&[Some(1), None], &[])).is_none());
    }
}
