//! Trees: a row for each distance from the hosts.

use std::collections::VecDeque;

use phaseflow_simulate::result::{Link, Network};

use super::{Layout, MARGIN, Place, WIDTH, name_of};

/// Height of a level, units.
const LEVEL: f64 = 110.0;

/// Groups of a level, where nodes are drawn in groups.
const GROUPS: usize = 48;

/// Levels by distance from the nearest host; `None` where links join nodes of other than
/// neighbouring levels.
pub(super) fn layout(network: &Network, is_small: bool) -> Option<Layout> {
    let level = levels(network)?;
    let top = *level.iter().max()?;
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); top + 1];
    for (node, level) in level.iter().enumerate() {
        members[*level].push(node);
    }
    let height = LEVEL * top as f64 + 2.0 * MARGIN;
    let mut drawn_as = vec![0; network.nodes.len()];
    let mut places = Vec::new();
    for (level, members) in members.iter().enumerate() {
        let in_group = if is_small { 1 } else { members.len().div_ceil(GROUPS) };
        let groups = members.len().div_ceil(in_group);
        for (number, group) in members.chunks(in_group).enumerate() {
            group.iter().for_each(|node| drawn_as[*node] = places.len());
            let names: Vec<&str> = group.iter().map(|node| network.nodes[*node].name.as_str()).collect();
            places.push(Place {
                at: (WIDTH * (number as f64 + 0.5) / groups as f64, height - MARGIN - LEVEL * level as f64),
                name: name_of(&names),
                is_host: level == 0,
                nodes: group.len(),
                room: WIDTH / groups as f64,
            });
        }
    }
    Some(Layout { drawn_as, places, height, step: None })
}

fn levels(network: &Network) -> Option<Vec<usize>> {
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
    (level.iter().any(|level| *level > 0) && network.links.iter().all(joins)).then_some(level)
}
