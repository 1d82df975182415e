//! Where the nodes of small networks stand, and which line has which value.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]

use phaseflow_simulate::result::Link;
use phaseflow_simulate::topology::{Faults, Node, NodeId, PortOrder};

use super::*;

/// A network of nodes, hosts where names begin with `h`, and directed links.
fn network(names: &[String], links: &[(usize, usize)]) -> Network {
    let node = |name: &String| Node {
        name: name.clone(),
        slots: name.starts_with('h').then_some(1),
        mac: None,
        dpid: None,
    };
    let link = |(src, dst): &(usize, usize)| Link {
        src: NodeId(*src as u32),
        dst: NodeId(*dst as u32),
        capacity: 1.0,
        latency_ps: 0,
        port: None,
        faults: Faults::default(),
        cost: 1,
    };
    Network {
        label: "test".into(),
        switch_latency_ps: 0,
        port_order: PortOrder::default(),
        nodes: names.iter().map(node).collect(),
        links: links.iter().map(link).collect(),
    }
}

fn named(names: &str, links: &[(usize, usize)]) -> Network {
    network(&names.split(' ').map(String::from).collect::<Vec<_>>(), links)
}

#[test]
fn a_tree_stands_in_levels() {
    // Two hosts under a switch each, one switch above both.
    let tree = named("h0 h1 s0 s1 top", &[(0, 2), (2, 0), (1, 3), (2, 4), (4, 3)]);
    let map = NetworkMap::new(&tree).unwrap();
    let heights: Vec<f64> = map.layout.places.iter().map(|place| map.layout.height - place.at.1).collect();
    assert_eq!(heights, [30.0, 30.0, 140.0, 140.0, 250.0]);
    assert_eq!(map.value_of, [0, 1, 2, 4, 7]);
    let values = map.values([(1, 2.0), (3, 5.0), (4, 4.0)].into_iter());
    assert_eq!(values, [0.0, 2.0, 0.0, 0.0, 5.0, 0.0, 0.0, 4.0]);
    let svg = map.svg("t", &values, 5.0).into_string();
    assert_eq!(svg.matches("class=\"hot\"").count(), 3);
    assert!(svg.contains("stroke-width=\"6.0\" opacity=\"1.00\"") && !map.is_grouped(), "{svg}");
}

/// A torus of 4 × 3 switches with a host each.
fn torus() -> Network {
    let (mut names, mut links) = (Vec::new(), Vec::new());
    for x in 0..4 {
        for y in 0..3 {
            names.push(format!("s{x}.{y}"));
            links.push((x * 3 + y, (x + 1) % 4 * 3 + y));
            links.push((x * 3 + y, x * 3 + (y + 1) % 3));
        }
    }
    for host in 0..12 {
        names.push(format!("h{host}"));
        links.push((12 + host, host));
    }
    network(&names, &links)
}

#[test]
fn a_torus_stands_as_a_grid_and_its_wrap_links_are_bent() {
    let map = NetworkMap::new(&torus()).unwrap();
    let at = |name: &str| map.layout.places.iter().find(|place| place.name == name).unwrap().at;
    let step = map.layout.step.unwrap();
    assert!(
        (at("s1.0").0 - at("s0.0").0 - step).abs() < 1e-9
            && (at("s0.2").1 - at("s0.0").1 - 2.0 * step).abs() < 1e-9
    );
    // Three rows of the long side wrap once, four columns of the short side too.
    assert_eq!(map.lines.iter().filter(|line| map.path(line).contains('Q')).count(), 7);
}

#[test]
fn names_that_are_no_coordinates_stand_on_a_circle() {
    // Two groups of a dragonfly: s0.1 and s1.2 differ in both numbers.
    let names = "s0.0 s0.1 s0.2 s1.0 s1.1 s1.2 h0";
    let links = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (1, 5), (6, 0)];
    let map = NetworkMap::new(&named(names, &links)).unwrap();
    let from_middle = |place: &Place| (place.at.0 - 500.0).hypot(place.at.1 - 500.0);
    let switches: Vec<f64> = map.layout.places[..6].iter().map(from_middle).collect();
    assert!(switches.iter().all(|radius| (radius - 420.0).abs() < 1e-9), "{switches:?}");
    assert!(from_middle(&map.layout.places[6]) > 420.0);
}

#[test]
fn without_hosts_or_with_one_that_is_cut_off_there_is_no_map() {
    assert!(NetworkMap::new(&named("s0 s1", &[(0, 1)])).is_none());
    assert!(NetworkMap::new(&named("s0 s1 h0", &[(0, 1)])).is_none());
    assert!(NetworkMap::new(&named("h0 s0", &[])).is_none());
}

#[test]
fn large_networks_are_drawn_in_groups() {
    // 2 000 hosts, 40 under each of 50 switches, one switch above all.
    let mut names: Vec<String> = (0..2000).map(|host| format!("h{host}")).collect();
    names.extend((0..50).map(|switch| format!("leaf{switch}")));
    names.push("top".into());
    let mut links: Vec<(usize, usize)> = (0..2000).map(|host| (host, 2000 + host / 40)).collect();
    links.extend((2000..2050).map(|leaf| (leaf, 2050)));
    let map = NetworkMap::new(&network(&names, &links)).unwrap();
    // 48 groups of 42 hosts, 25 of two switches, and the top.
    assert_eq!(map.layout.places.len(), 48 + 25 + 1);
    assert_eq!((map.layout.places[0].name.as_str(), map.layout.places[0].nodes), ("h0 … h41", 42));
    assert!(map.is_grouped());
    // The most used of the links of a group is what its line shows.
    let values = map.values([(3, 0.25), (7, 0.75), (39, 0.5)].into_iter());
    assert_eq!(values.iter().copied().fold(0.0, f32::max), 0.75);
    assert_eq!(values.iter().filter(|value| **value > 0.0).count(), 1);
    // A torus of 50 × 60 switches: neighbours along the longer side become one, 400 at most remain.
    let (mut names, mut links) = (Vec::new(), Vec::new());
    for x in 0..50 {
        for y in 0..60 {
            names.push(format!("s{x}.{y}"));
            links.push((x * 60 + y, (x + 1) % 50 * 60 + y));
            links.push((x * 60 + y, x * 60 + (y + 1) % 60));
        }
    }
    names.extend((0..3000).map(|host| format!("h{host}")));
    links.extend((0..3000).map(|host| (3000 + host, host)));
    let map = NetworkMap::new(&network(&names, &links)).unwrap();
    assert_eq!(map.layout.places.len(), 2 * 25 * 15);
}
