//! Tori, meshes, hypercubes and HyperX: switches by the coordinates that their names hold.

use std::collections::BTreeMap;

use phaseflow_simulate::result::Network;

use super::{Layout, MARGIN, Place, WIDTH, name_of, with_hosts};

/// Switches, or groups of them, of a grid whose nodes are drawn in groups.
const GROUPS: usize = 400;

/// Room between planes, in steps of the grid.
const BETWEEN_PLANES: usize = 1;

/// Planes of the first two coordinates beside each other; `None` if a switch's name holds no
/// coordinates, or a link joins switches that differ in more than one of them.
pub(super) fn layout(network: &Network, is_small: bool) -> Option<Layout> {
    let mut coordinates: Vec<Option<Vec<usize>>> = Vec::with_capacity(network.nodes.len());
    for node in &network.nodes {
        coordinates.push(if node.slots.is_some() { None } else { Some(named(&node.name)?) });
    }
    let dimensions = coordinates.iter().flatten().next()?.len();
    if coordinates.iter().flatten().any(|own| own.len() != dimensions) {
        return None;
    }
    for link in &network.links {
        let ends = [link.src, link.dst].map(|node| coordinates[node.0 as usize].as_ref());
        let [Some(a), Some(b)] = ends else { continue };
        if a.iter().zip(b).filter(|(a, b)| a != b).count() != 1 {
            return None;
        }
    }
    let mut sizes: Vec<usize> = (0..dimensions)
        .map(|d| coordinates.iter().flatten().map(|own| own[d]).max().unwrap_or(0).saturating_add(1))
        .collect();
    // Numbers in names need not be coordinates: a grid is mostly full.
    let cells = sizes.iter().try_fold(1usize, |product, size| product.checked_mul(*size))?;
    if cells > 4 * coordinates.iter().flatten().count() {
        return None;
    }
    while !is_small && sizes.iter().product::<usize>() > GROUPS {
        // Neighbours along the longest side become one.
        let (side, _) = sizes.iter().enumerate().max_by_key(|(_, size)| **size)?;
        sizes[side] = sizes[side].div_ceil(2);
        coordinates.iter_mut().flatten().for_each(|own| own[side] /= 2);
    }
    placed(network, &coordinates, &sizes)
}

fn placed(network: &Network, coordinates: &[Option<Vec<usize>>], sizes: &[usize]) -> Option<Layout> {
    let size = |d: usize| sizes.get(d).copied().unwrap_or(1);
    // Planes of the third coordinate stand side by side, those of all further ones below each
    // other.
    let further: usize = sizes.iter().skip(3).product();
    let columns = size(2) * (size(0) + BETWEEN_PLANES) - BETWEEN_PLANES;
    let rows = further * (size(1) + BETWEEN_PLANES) - BETWEEN_PLANES;
    let step = (WIDTH - 2.0 * MARGIN) / columns.max(8) as f64;
    let mut members: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (node, own) in coordinates.iter().enumerate() {
        if let Some(own) = own {
            members.entry(own.clone()).or_default().push(node);
        }
    }
    let mut drawn_as: Vec<Option<usize>> = vec![None; network.nodes.len()];
    let mut places = Vec::new();
    for (own, nodes) in &members {
        let at = |d: usize| own.get(d).copied().unwrap_or(0);
        let below = own.iter().zip(sizes).skip(3).fold(0, |below, (at, size)| below * size + at);
        let column = at(2) * (size(0) + BETWEEN_PLANES) + at(0);
        let row = below * (size(1) + BETWEEN_PLANES) + at(1);
        nodes.iter().for_each(|node| drawn_as[*node] = Some(places.len()));
        let names: Vec<&str> = nodes.iter().map(|node| network.nodes[*node].name.as_str()).collect();
        places.push(Place {
            at: (MARGIN + step * (column as f64 + 0.5), MARGIN + step * (row as f64 + 0.5)),
            name: name_of(&names),
            is_host: false,
            nodes: nodes.len(),
            room: step * 0.9,
        });
    }
    let beside = |(x, y): (f64, f64)| (x + step * 0.22, y - step * 0.28);
    let (drawn_as, places) = with_hosts(network, drawn_as, places, beside)?;
    let height = 2.0 * MARGIN + step * rows as f64;
    Some(Layout { drawn_as, places, height, step: Some(step) })
}

/// The numbers in a name, `s1.2` → 1, 2; `None` for fewer than two.
fn named(name: &str) -> Option<Vec<usize>> {
    let parts = name.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let numbers: Vec<usize> = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    (numbers.len() >= 2).then_some(numbers)
}
