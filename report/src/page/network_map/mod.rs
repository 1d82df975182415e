//! The network as a drawing whose lines are as wide and dark as its links are used.
//!
//! Trees stand in levels, hosts at the bottom ([`levels`]); tori, meshes and HyperX as a grid by
//! the coordinates in the names of their switches ([`grid`]); all others, dragonflies for one, on a
//! circle in the order of the file ([`circle`]). Networks of more nodes than can be told apart are
//! drawn in groups of neighbours: a line then stands for all links between two groups, and has the
//! value of the most used one.

mod circle;
mod grid;
mod levels;

use std::collections::BTreeMap;

use maud::{Markup, html};
use phaseflow_simulate::result::Network;

use super::text::shortened;

/// Nodes and cables of the largest network drawn node by node.
const NODES: usize = 2000;
const CABLES: usize = 4000;

/// Width of the drawing, and its margin; units.
const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 30.0;

/// Characters of a node's name beside it, for the room that each takes.
const LETTER: f64 = 6.5;

/// Where the nodes of a network are drawn.
struct Layout {
    /// By node: what it is drawn as.
    drawn_as: Vec<usize>,
    /// What is drawn.
    places: Vec<Place>,
    height: f64,
    /// Distance of neighbours in a row; lines over more than one step in a row are bent around
    /// what stands between. `None` where lines never pass over a node.
    step: Option<f64>,
}

/// A node, or a group of nodes.
#[derive(Clone, Debug)]
struct Place {
    at: (f64, f64),
    name: String,
    /// Hosts only.
    is_host: bool,
    nodes: usize,
    /// Room for the name, units.
    room: f64,
}

/// The lines between two places, or from a group to itself.
struct Line {
    ends: (usize, usize),
    /// Names of the ends, for people.
    names: (String, String),
}

/// A network ready to be drawn with loads.
pub(super) struct NetworkMap {
    layout: Layout,
    lines: Vec<Line>,
    /// By link: twice the number of its line, and one more for the way back.
    value_of: Vec<usize>,
}

impl NetworkMap {
    /// Lays a network out; `None` if it has no hosts or no links.
    pub(super) fn new(network: &Network) -> Option<Self> {
        if network.nodes.iter().all(|node| node.slots.is_none()) {
            return None;
        }
        let cables = network.links.len() / 2;
        let is_small = network.nodes.len() <= NODES && cables <= CABLES;
        let layout = levels::layout(network, is_small)
            .or_else(|| grid::layout(network, is_small))
            .or_else(|| circle::layout(network, is_small))?;
        let mut numbers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut lines: Vec<Line> = Vec::new();
        let mut value_of = Vec::with_capacity(network.links.len());
        for link in &network.links {
            let [a, b] = [link.src, link.dst].map(|node| layout.drawn_as[node.0 as usize]);
            let ends = (a.min(b), a.max(b));
            let line = *numbers.entry(ends).or_insert_with(|| {
                let name = |place: usize| layout.places[place].name.clone();
                lines.push(Line { ends, names: (name(ends.0), name(ends.1)) });
                lines.len() - 1
            });
            value_of.push(2 * line + usize::from(a > b));
        }
        (!lines.is_empty()).then_some(Self { layout, lines, value_of })
    }

    /// The values of the lines, two a line: there and back. A line has the highest of its links.
    pub(super) fn values(&self, links: impl Iterator<Item = (usize, f64)>) -> Vec<f32> {
        let mut values = vec![0.0_f32; 2 * self.lines.len()];
        for (link, value) in links {
            let slot = &mut values[self.value_of[link]];
            *slot = slot.max(value as f32);
        }
        values
    }

    /// The names of the ends of every line.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().map(|line| (line.names.0.as_str(), line.names.1.as_str()))
    }

    /// True if lines stand for several links.
    pub(super) fn is_grouped(&self) -> bool {
        self.layout.places.iter().any(|place| place.nodes > 1)
    }

    /// The drawing with `values` on its lines; `most` is the widest line.
    pub(super) fn svg(&self, about: &str, values: &[f32], most: f64) -> Markup {
        let share = |line: usize| {
            let value = f64::from(
                values
                    .get(2 * line)
                    .copied()
                    .unwrap_or(0.0)
                    .max(values.get(2 * line + 1).copied().unwrap_or(0.0)),
            );
            if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 }
        };
        // Nodes of narrow grids stay apart: a switch and its host need 24 units.
        let size = self.layout.step.map_or(1.0, |step| (step / 24.0).clamp(0.35, 1.0));
        let box_of_view = format!("0 0 {WIDTH} {:.0}", self.layout.height);
        html! {
            svg.map viewBox=(box_of_view) role="img" aria-label=(about) {
                g.links { @for (number, line) in self.lines.iter().enumerate() {
                    @let share = share(number);
                    path.hot[share > 0.0] d=(self.path(line)) stroke-width=[(share > 0.0).then(|| format!("{:.1}", 1.0 + 5.0 * share))]
                        opacity=[(share > 0.0).then(|| format!("{:.2}", 0.15 + 0.85 * share))] {}
                } }
                @for place in &self.layout.places { (node(place, size)) }
            }
        }
    }

    fn path(&self, line: &Line) -> String {
        let [(ax, ay), (bx, by)] = [line.ends.0, line.ends.1].map(|place| self.layout.places[place].at);
        if line.ends.0 == line.ends.1 {
            // Links inside of a group: a ring around it.
            return format!("M{:.0} {:.0}a9 9 0 1 0 18 0a9 9 0 1 0 -18 0", ax - 9.0, ay);
        }
        let (dx, dy) = (bx - ax, by - ay);
        let length = dx.hypot(dy);
        let is_in_row = dx.abs() < 0.5 || dy.abs() < 0.5;
        match self.layout.step {
            Some(step) if is_in_row && length > 1.5 * step => {
                let bend = 0.45 * step / length;
                let (x, y) = ((ax + bx) / 2.0 - dy * bend, (ay + by) / 2.0 + dx * bend);
                format!("M{ax:.0} {ay:.0}Q{x:.0} {y:.0} {bx:.0} {by:.0}")
            }
            _ => format!("M{ax:.0} {ay:.0}L{bx:.0} {by:.0}"),
        }
    }
}

/// `size` is 1 where there is room.
fn node(place: &Place, size: f64) -> Markup {
    let (x, y) = place.at;
    let longest = (place.room / LETTER) as usize;
    let name = (longest >= 3).then(|| shortened(&place.name, longest));
    let (wide, high) = (12.0 * size, 10.0 * size);
    let (left, top) = (format!("{:.1}", x - wide / 2.0), format!("{:.1}", y - high / 2.0));
    let radius = size * if place.nodes > 1 { 5.0 } else { 3.5 };
    let (x, below) = (format!("{x:.0}"), format!("{:.0}", y + 20.0));
    html! {
        @if place.is_host { circle.node cx=(x) cy=(format!("{y:.0}")) r=(format!("{radius:.1}")) { title { (shortened(&place.name, 80)) } } }
        @else { rect.node x=(left) y=(top) width=(format!("{wide:.1}")) height=(format!("{high:.1}")) { title { (shortened(&place.name, 80)) } } }
        @if let Some(name) = name { text.name.middle x=(x) y=(below) { (name) } }
    }
}

/// The name of consecutive nodes: that of the only one, or of the first and the last.
fn name_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first, .., last] => format!("{first} … {last}"),
    }
}

/// Hosts by the switch that they are attached to, the first one where they have several; `None`
/// where a host is attached to no switch.
fn switch_of_hosts(network: &Network) -> Option<Vec<Option<usize>>> {
    let mut switch: Vec<Option<usize>> = vec![None; network.nodes.len()];
    let is_host = |node: usize| network.nodes[node].slots.is_some();
    for link in &network.links {
        let (src, dst) = (link.src.0 as usize, link.dst.0 as usize);
        for (host, other) in [(src, dst), (dst, src)] {
            if is_host(host) && !is_host(other) && switch[host].is_none() {
                switch[host] = Some(other);
            }
        }
    }
    (0..network.nodes.len()).all(|node| !is_host(node) || switch[node].is_some()).then_some(switch)
}

/// Adds what stands for the hosts of every switch to a layout of switches, `drawn_as` their places.
fn with_hosts(
    network: &Network,
    mut drawn_as: Vec<Option<usize>>,
    mut places: Vec<Place>,
    beside: impl Fn((f64, f64)) -> (f64, f64),
) -> Option<(Vec<usize>, Vec<Place>)> {
    let switch = switch_of_hosts(network)?;
    let mut hosts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (host, switch) in switch.iter().enumerate() {
        if let Some(switch) = switch {
            hosts.entry(drawn_as[*switch]?).or_default().push(host);
        }
    }
    for (place, hosts) in hosts {
        let names: Vec<&str> = hosts.iter().map(|host| network.nodes[*host].name.as_str()).collect();
        hosts.iter().for_each(|host| drawn_as[*host] = Some(places.len()));
        let at = beside(places[place].at);
        places.push(Place { at, name: name_of(&names), is_host: true, nodes: hosts.len(), room: 0.0 });
    }
    Some((drawn_as.into_iter().collect::<Option<_>>()?, places))
}

#[cfg(test)]
mod tests;
