//! Any network: switches on a circle in the order of the file, their hosts outside of it.

use phaseflow_simulate::result::Network;

use super::{Layout, Place, WIDTH, name_of, with_hosts};

/// Groups of switches on the circle, where nodes are drawn in groups.
const GROUPS: usize = 120;

/// Radius of the circle of switches, and how many times as far out their hosts are.
const RADIUS: f64 = 0.42 * WIDTH;
const OUTSIDE: f64 = 1.09;

/// `None` for a network without switches, or with a host that is attached to none.
pub(super) fn layout(network: &Network, is_small: bool) -> Option<Layout> {
    let switches: Vec<usize> =
        (0..network.nodes.len()).filter(|node| network.nodes[*node].slots.is_none()).collect();
    let in_group = if is_small { 1 } else { switches.len().div_ceil(GROUPS) };
    let groups = switches.len().div_ceil(in_group.max(1));
    let mut drawn_as: Vec<Option<usize>> = vec![None; network.nodes.len()];
    let mut places = Vec::with_capacity(groups);
    let middle = WIDTH / 2.0;
    for group in switches.chunks(in_group.max(1)) {
        let angle = std::f64::consts::TAU * places.len() as f64 / groups as f64;
        group.iter().for_each(|node| drawn_as[*node] = Some(places.len()));
        let names: Vec<&str> = group.iter().map(|node| network.nodes[*node].name.as_str()).collect();
        places.push(Place {
            at: (middle + RADIUS * angle.sin(), middle - RADIUS * angle.cos()),
            name: name_of(&names),
            is_host: false,
            nodes: group.len(),
            room: std::f64::consts::TAU * RADIUS / groups as f64,
        });
    }
    let outside = |(x, y): (f64, f64)| (middle + (x - middle) * OUTSIDE, middle + (y - middle) * OUTSIDE);
    let (drawn_as, places) = with_hosts(network, drawn_as, places, outside)?;
    (groups > 0).then_some(Layout { drawn_as, places, height: WIDTH, step: None })
}
