//! The channel dependency graph of routes, and circles in it.
//!
//! W. J. Dally and C. L. Seitz, "Deadlock-free message routing in multiprocessor interconnection
//! networks" (IEEE Trans. Computers C-36(5), 1987): link a depends on link b if some route takes b
//! right after a. Where a full link stops those before it, as in lossless networks, routes are free
//! of deadlock if and only if this graph has no circle. All links have one channel here: real
//! networks may break circles by virtual channels.

use std::collections::VecDeque;

use crate::topology::{LinkId, Topology};

/// Dependencies of links.
#[derive(Clone, Debug)]
pub struct Dependencies<'a> {
    topology: &'a Topology,
    /// By link: where its bits begin, one for each link that leaves the node it leads to.
    first: Vec<u32>,
    /// By link: its place among those that leave its node.
    place: Vec<u32>,
    bits: Vec<u64>,
}

/// A link that the search has not seen, is below, or has left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

impl<'a> Dependencies<'a> {
    /// No routes yet.
    pub fn new(topology: &'a Topology) -> Self {
        let links = || (0..topology.link_count() as u32).map(LinkId);
        let mut next = 0_u64;
        let mut first = Vec::with_capacity(topology.link_count());
        for link in links() {
            first.push((next / 64) as u32);
            // Each link has words of its own.
            next += (topology.outgoing(topology.dst(link)).len() as u64).next_multiple_of(64);
        }
        let mut place = vec![0; topology.link_count()];
        for link in links() {
            let leaving = topology.outgoing(topology.src(link));
            if leaving.first() == Some(&link) {
                (0..).zip(leaving).for_each(|(at, link)| place[link.0 as usize] = at);
            }
        }
        Self { topology, first, place, bits: vec![0; (next / 64) as usize] }
    }

    /// Adds a route.
    #[inline]
    pub fn add(&mut self, route: &[LinkId]) {
        for pair in route.windows(2) {
            let place = self.place[pair[1].0 as usize];
            let word = self.first[pair[0].0 as usize] + place / 64;
            self.bits[word as usize] |= 1 << (place % 64);
        }
    }

    /// The links that depend directly on a link's room: those that some route takes right after it.
    fn after(&self, link: LinkId) -> impl Iterator<Item = LinkId> + '_ {
        let leaving = self.topology.outgoing(self.topology.dst(link));
        let first = self.first[link.0 as usize];
        let is_set = move |at: usize| self.bits[first as usize + at / 64] >> (at % 64) & 1 == 1;
        leaving.iter().enumerate().filter(move |(at, _)| is_set(*at)).map(|(_, link)| *link)
    }

    /// A circle of links, each of which a route takes right after the one before; `None` if there
    /// is none. It is a shortest one of those through the first link that is found on any.
    pub fn circle(&self) -> Option<Vec<LinkId>> {
        let links = self.topology.link_count();
        let mut state = vec![State::New; links];
        for root in (0..links as u32).map(LinkId) {
            if state[root.0 as usize] != State::New {
                continue;
            }
            state[root.0 as usize] = State::Open;
            let mut stack = vec![(root, self.after(root).collect::<Vec<_>>())];
            while let Some((link, rest)) = stack.last_mut() {
                let Some(next) = rest.pop() else {
                    state[link.0 as usize] = State::Done;
                    stack.pop();
                    continue;
                };
                match state[next.0 as usize] {
                    State::Open => return self.shortest_circle(next),
                    State::Done => {}
                    State::New => {
                        state[next.0 as usize] = State::Open;
                        stack.push((next, self.after(next).collect()));
                    }
                }
            }
        }
        None
    }

    /// The shortest circle through a link.
    fn shortest_circle(&self, start: LinkId) -> Option<Vec<LinkId>> {
        let mut before: Vec<Option<LinkId>> = vec![None; self.topology.link_count()];
        let mut queue = VecDeque::from([start]);
        while let Some(link) = queue.pop_front() {
            for next in self.after(link) {
                if next == start {
                    let back = std::iter::successors(Some(link), |link| before[link.0 as usize]);
                    let mut circle: Vec<LinkId> = back.collect();
                    circle.reverse();
                    return Some(circle);
                }
                if before[next.0 as usize].is_none() {
                    before[next.0 as usize] = Some(link);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// A circle as text: the nodes that it passes, the first one again at its end.
    pub fn described(&self, circle: &[LinkId]) -> String {
        let name = |node| self.topology.node(node).name.as_str();
        let ends = circle.iter().map(|link| name(self.topology.dst(*link)));
        let first = circle.first().map(|link| name(self.topology.src(*link)));
        first.into_iter().chain(ends).collect::<Vec<_>>().join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use petgraph::graph::DiGraph;
    use proptest::prelude::*;

    use super::super::oracle::{demand, route};
    use super::*;
    use crate::topology::measured::made;

    fn of_all_pairs<'a>(net: &'a Topology, router: &str) -> Dependencies<'a> {
        let hosts = net.host_count() as u32;
        let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst)));
        let demands: Vec<_> = pairs.filter(|(a, b)| a != b).map(|(a, b)| demand(a, b, 1)).collect();
        let mut dependencies = Dependencies::new(net);
        let routes = route(net, router, &demands, &vec![0.0; net.link_count()]);
        routes.iter().for_each(|route| dependencies.add(route));
        dependencies
    }

    /// Dally and Seitz: rings have circles, trees have none; nor have meshes in which the last
    /// dimension goes first, nor a star.
    #[test]
    fn rings_lock_up_and_trees_do_not() {
        for (text, router) in [
            ("fat-tree[k=4]", "dmodk"),
            ("fat-tree[k=4]", "random"),
            ("leaf-spine[leaves=4,spines=3,hosts=2,links=2]", "minimal"),
            ("star[hosts=4]", "ecmp"),
            ("mesh[dims=7]", "dmodk"),
            ("torus[dims=3]", "dmodk"),
            ("hyperx[dims=5]", "dmodk"),
        ] {
            assert_eq!(of_all_pairs(&made(text), router).circle(), None, "{text} {router}");
        }
        for (text, router, length) in [
            ("torus[dims=5]", "dmodk", 5),
            ("torus[dims=6]", "ecmp", 6),
            ("dragonfly[a=4,h=2,p=1]", "valiant", 2),
        ] {
            let net = made(text);
            let dependencies = of_all_pairs(&net, router);
            let circle = dependencies.circle().unwrap();
            assert!(circle.len() >= length, "{text}: {}", dependencies.described(&circle));
            for (at, link) in circle.iter().enumerate() {
                let next = circle[(at + 1) % circle.len()];
                assert_eq!(net.dst(*link), net.src(next));
                assert!(dependencies.after(*link).any(|after| after == next));
            }
        }
        let net = made("torus[dims=5]");
        let dependencies = of_all_pairs(&net, "dmodk");
        let text = dependencies.described(&dependencies.circle().unwrap());
        assert!(
            ["s0 → s1 → s2 → s3 → s4 → s0", "s0 → s4 → s3 → s2 → s1 → s0"].iter().any(|way| {
                // The circle may begin anywhere.
                format!("{way}{}", &way[2..]).contains(&text)
            }),
            "{text}"
        );
    }

    proptest! {
        /// A circle is found if and only if petgraph finds one.
        #[test]
        fn circles_are_those_of_the_graph(
            walks in prop::collection::vec((0..9_u32, prop::collection::vec(0..4_usize, 1..5)), 1..12),
        ) {
            let net = made("torus[dims=3x3]");
            let mut dependencies = Dependencies::new(&net);
            let mut graph = DiGraph::<(), ()>::new();
            let nodes: Vec<_> = (0..net.link_count()).map(|_| graph.add_node(())).collect();
            for (start, turns) in walks {
                let mut at = net.switch(start as usize);
                let mut route = Vec::new();
                for turn in turns {
                    let onward: Vec<LinkId> =
                        net.outgoing(at).iter().copied().filter(|link| net.between_switches(*link)).collect();
                    route.push(onward[turn]);
                    at = net.dst(onward[turn]);
                }
                dependencies.add(&route);
                for pair in route.windows(2) {
                    graph.add_edge(nodes[pair[0].0 as usize], nodes[pair[1].0 as usize], ());
                }
            }
            prop_assert_eq!(dependencies.circle().is_some(), petgraph::algo::is_cyclic_directed(&graph));
        }
    }
}
