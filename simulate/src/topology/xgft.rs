//! Extended generalised fat trees: `xgft[m=4:4:3,w=1:2:2]`.
//!
//! XGFT(h; m₁…m_h; w₁…w_h), after Öhring, Ibel, Das and Kumar, "On generalized fat trees" (IPPS
//! 1995): a node of level l has m_l children and w_{l+1} parents. It is named by digits (x_h …
//! x_{l+1}, y_l … y_1), x_i < m_i and y_i < w_i, and its parents are the nodes that differ from it
//! by a digit y_{l+1} in place of x_{l+1}. Level 0 are the hosts, their number d = x₁ + m₁·(x₂ +
//! m₂·(…)) is the one that D-mod-K divides; within a level, nodes are numbered by their digits, the
//! x above the y, so that the parents of a node ascend by y_{l+1}.
//!
//! With parallel links, `p=1:2:2`, each of the cables to a parent of level l is p_l cables: PGFT(h;
//! m; w; p) of E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on
//! real life fat trees" (CCIT report 776, Technion 2010).
//!
//! PFSim's generator joins a node with every node of the next level in its subtree, whatever y_l …
//! y_1: where all w but the last are 1 that is the same tree, else it has w₁·…·w_l times the links.
//! `variant=pfsim` builds that.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::uniform::UniformNetwork;

/// Children (`m`) and parents (`w`) per node and cables (`p`) to each parent, from the hosts up.
pub(super) struct Arity {
    pub(super) m: Vec<u32>,
    pub(super) w: Vec<u32>,
    pub(super) p: Vec<u32>,
    pub(super) wiring: Wiring,
}

/// Which nodes of the next level a node is joined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wiring {
    /// Those that differ from it in one digit.
    Published,
    /// All in its subtree.
    Pfsim,
}

impl Wiring {
    /// Parameter `variant`: `published` (default) or `pfsim`.
    fn parse(choice: &Choice) -> Result<Self> {
        match choice.get("variant") {
            None | Some("published") => Ok(Self::Published),
            Some("pfsim") => Ok(Self::Pfsim),
            Some(other) => {
                Err(Error::usage(format!("`{choice}`: variant is `{other}`, expected published or pfsim")))
            }
        }
    }
}

impl Arity {
    /// A tree as published.
    pub(super) fn published(m: Vec<u32>, w: Vec<u32>) -> Self {
        Self { p: vec![1; m.len()], m, w, wiring: Wiring::Published }
    }

    /// The same tree with `cables` in place of each one between the switches of the lowest two
    /// levels.
    #[must_use]
    pub(super) fn trunked(mut self, cables: u32) -> Self {
        if let Some(of_leaves) = self.p.get_mut(1) {
            *of_leaves = cables;
        }
        self
    }

    /// Parameters `m` and `w`, lists of equal length, `p`, all 1 by default, and `variant`.
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let (m, w): (Vec<u32>, Vec<u32>) = (choice.required_list("m")?, choice.required_list("w")?);
        if m.len() != w.len() {
            return Err(Error::usage(format!(
                "`{choice}`: m has {} levels and w has {}, expected the same number",
                m.len(),
                w.len()
            )));
        }
        if m.iter().chain(&w).any(|arity| *arity == 0) {
            return Err(Error::usage(format!("`{choice}`: m and w have no zeros")));
        }
        let p: Vec<u32> = match choice.get("p") {
            None => vec![1; m.len()],
            Some(_) => choice.required_list("p")?,
        };
        if p.len() != m.len() || p.contains(&0) {
            return Err(Error::usage(format!(
                "`{choice}`: p has {} levels, expected {}, as m has, and no zeros",
                p.len(),
                m.len()
            )));
        }
        Ok(Self { m, w, p, wiring: Wiring::parse(choice)? })
    }

    /// Number of nodes of a level, or `u64::MAX` if it does not fit.
    fn nodes(&self, level: usize) -> u64 {
        let digits = self.m[level..].iter().chain(&self.w[..level]);
        digits.fold(1, |product: u64, digit| product.saturating_mul(u64::from(*digit)))
    }

    /// Parents of a node of a level, or `u64::MAX` if they do not fit.
    fn parents(&self, level: usize) -> u64 {
        let digits = match self.wiring {
            Wiring::Published => &self.w[level..=level],
            Wiring::Pfsim => &self.w[..=level],
        };
        digits.iter().fold(1, |product: u64, digit| product.saturating_mul(u64::from(*digit)))
    }
}

/// There are many names, and formatting takes several times as long.
fn named(prefix: &str, number: u64) -> String {
    let number = number.to_string();
    [prefix, &number].concat()
}

/// Builds the tree: hosts `h0`…, then the switches `s1.0`… level by level.
pub(super) fn build(arity: &Arity, network: &mut UniformNetwork<'_>) -> Result<()> {
    let levels = arity.m.len();
    let counts: Vec<u64> = (0..=levels).map(|level| arity.nodes(level)).collect();
    let links = |level: usize| arity.parents(level).saturating_mul(2 * u64::from(arity.p[level]));
    let up = (0..levels).map(|level| counts[level].saturating_mul(links(level)));
    let sum = |a: u64, b: u64| a.saturating_add(b);
    network.reserve(counts.iter().copied().fold(0, sum), up.fold(0, sum))?;

    for host in 0..counts[0] {
        network.host(named("h", host));
    }
    let (mut below, mut first) = (0, counts[0]);
    let mut lower_y = 1;
    for level in 0..levels {
        let (m, w) = (u64::from(arity.m[level]), u64::from(arity.w[level]));
        let prefix = format!("s{}.", level + 1);
        for index in 0..counts[level + 1] {
            network.switch(named(&prefix, index));
        }
        // A node's number is x·lower_y + y, where x and y hold the digits above and up to this
        // level.
        for index in 0..counts[level] {
            let (x, y) = (index / lower_y, index % lower_y);
            let subtree = x / m * w * lower_y;
            for parent in 0..arity.parents(level) {
                let above = match arity.wiring {
                    Wiring::Published => parent * lower_y + y,
                    Wiring::Pfsim => parent,
                };
                for _ in 0..arity.p[level] {
                    network.cable(below + index, first + subtree + above);
                }
            }
        }
        lower_y *= w;
        below = first;
        first += counts[level + 1];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::topology::{HostId, Topology, TopologyChoice, TopologyOptions, topology};

    fn made(text: &str) -> Topology {
        topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap()
    }

    #[test]
    fn distances_and_path_counts_follow_from_the_nearest_common_ancestor() {
        for (text, m, w) in [
            ("xgft[m=4:4:3,w=1:2:2]", vec![4, 4, 3], vec![1, 2, 2]),
            ("xgft[m=3:2:2,w=2:3:2]", vec![3, 2, 2], vec![2, 3, 2]),
            ("fat-tree[k=4]", vec![2, 2, 4], vec![1, 2, 2]),
        ] {
            let net = made(text);
            for src in 0..net.host_count() as u32 {
                for dst in (0..net.host_count() as u32).filter(|dst| *dst != src) {
                    let (mut level, mut a, mut b, mut paths) = (0, src, dst, 1);
                    while a != b {
                        (a, b) = (a / m[level], b / m[level]);
                        paths *= w[level];
                        level += 1;
                    }
                    let to = net.distances_to(HostId(dst));
                    assert_eq!(to.from(net.host(HostId(src))), Some(2 * level as u32), "{text} {src} {dst}");
                    let dag = net.paths_to(HostId(dst));
                    let mut room = Vec::new();
                    let first = dag.departures(HostId(src), &mut room).iter();
                    let counts = dag.counts();
                    let found: f64 = first.map(|link| counts[net.switch_after(*link).unwrap()]).sum();
                    assert_eq!(found as u32, paths, "{text} {src} {dst}");
                }
            }
        }
    }

    /// The sizes that PFSim 1.0.0 generates: nodes and links by `XGFTTopology(h, m, w).generate()`,
    /// counted there.
    #[test]
    fn pfsims_wiring_joins_all_of_a_subtree() {
        for (text, nodes, links) in [
            ("xgft[m=4:4:3,w=1:2:2,variant=pfsim]", 70, 192),
            ("xgft[m=4:4,w=1:2,variant=pfsim]", 22, 48),
            ("xgft[m=2:2:2,w=2:2:2,variant=pfsim]", 32, 224),
        ] {
            let net = made(text);
            assert_eq!((net.node_count(), net.link_count()), (nodes, links), "{text}");
        }
        let links = |text: &str| -> Vec<_> {
            let net = made(text);
            (0..net.link_count() as u32)
                .map(crate::topology::LinkId)
                .map(|link| (net.src(link), net.dst(link)))
                .collect()
        };
        let same = "xgft[m=4:3:2,w=1:1:5]";
        assert_eq!(links(same), links(&same.replace(']', ",variant=pfsim]")));
    }

    #[test]
    fn nodes_are_numbered_by_their_digits() {
        let net = made("xgft[m=4:4:3,w=1:2:2]");
        let parents = |name: &str| -> Vec<&str> {
            let nodes = (0..net.node_count() as u32).map(crate::topology::NodeId);
            let node = nodes.into_iter().find(|node| net.node(*node).name == name).unwrap();
            let ends = net.outgoing(node).iter().map(|link| net.node(net.dst(*link)).name.as_str());
            ends.filter(|end| end.starts_with('s') && (end[..2] > name[..2])).collect()
        };
        assert_eq!(parents("h21"), ["s1.5"]);
        // s1.5 has digits x₃ = 1, x₂ = 1: its parents have y₂ = 0, 1 and x₃ = 1.
        assert_eq!(parents("s1.5"), ["s2.2", "s2.3"]);
        assert_eq!(parents("s2.3"), ["s3.1", "s3.3"]);
    }
}
