//! Published bounds, held by the routers: D-mod-K on full fat trees, minimal routing, Valiant and
//! UGAL on dragonflies.

use super::oracle::{demand, route};
use super::{HostDemand, Routes};
use crate::topology::measured::made;
use crate::topology::{LinkId, NodeId, Topology};

/// The highest load on a link between switches.
fn highest(net: &Topology, demands: &[HostDemand], routes: &Routes) -> f64 {
    let mut load = vec![0.0; net.link_count()];
    for (links, demand) in routes.iter().zip(demands) {
        links.iter().for_each(|link| load[link.0 as usize] += demand.load);
    }
    let links = (0..net.link_count() as u32).map(LinkId).filter(|link| net.between_switches(*link));
    links.map(|link| load[link.0 as usize]).fold(0.0, f64::max)
}

/// Zahavi, CCIT report 776, theorem 1: under D-mod-K each link of a tree of full bandwidth carries
/// one flow at most of any shift permutation. S-mod-K is the mirror image.
#[test]
fn shifts_on_full_fat_trees_meet_no_other_flow() {
    for text in [
        "fat-tree[k=4]",
        "fat-tree[k=6]",
        "fat-tree[k=8]",
        "xgft[m=3:3:3:3,w=1:3:3:3]",
        "leaf-spine[leaves=6,spines=4,hosts=4]",
        // Parallel cables: as many up as down.
        "xgft[m=4:8,w=1:2,p=1:2]",
        "xgft[m=6:2:4,w=1:2:3,p=1:3:2]",
    ] {
        let net = made(text);
        let hosts = net.host_count() as u32;
        for stride in 1..hosts {
            let demands: Vec<HostDemand> =
                (0..hosts).map(|src| demand(src, (src + stride) % hosts, 1)).collect();
            for router in ["dmodk", "smodk"] {
                let routes = route(&net, router, &demands, &vec![0.0; net.link_count()]);
                let most = highest(&net, &demands, &routes);
                assert!(most < 1.5, "{text} {router} shift by {stride}: {most} flows on a link");
            }
        }
    }
    // A tree of half the bandwidth has two.
    let net = made("leaf-spine[leaves=6,spines=2,hosts=4]");
    let demands: Vec<HostDemand> = (0..24).map(|src| demand(src, (src + 4) % 24, 1)).collect();
    let routes = route(&net, "dmodk", &demands, &vec![0.0; net.link_count()]);
    assert!((highest(&net, &demands, &routes) - 2.0).abs() < 1e-12);
}

/// Every host of group i sends to all hosts of group i + 1, 1 in all.
fn to_the_next_group(net: &Topology, per_group: u32) -> Vec<HostDemand> {
    let hosts = net.host_count() as u32;
    let pair = |src: u32, to: u32| {
        let dst = ((src / per_group + 1) * per_group + to) % hosts;
        HostDemand { load: 1.0 / f64::from(per_group), ..demand(src, dst, 1) }
    };
    (0..hosts).flat_map(|src| (0..per_group).map(move |to| pair(src, to))).collect()
}

/// The part of the capacity that can be used, if hosts send at full rate: 1 over the highest load.
fn throughput(net: &Topology, router: &str, demands: &[HostDemand]) -> f64 {
    let routes = route(net, router, demands, &vec![0.0; net.link_count()]);
    1.0 / highest(net, demands, &routes)
}

/// Kim et al., ISCA 2008, section 4.2: if group i sends to group i + 1, minimal routing has one
/// global link for the a·p = a·h hosts of a group: 1 / (a·h) of the capacity. Valiant and UGAL use
/// all: one half.
#[test]
fn adversarial_traffic_on_a_dragonfly_has_the_published_throughput() {
    let (a, h, p) = (12, 6, 6);
    let net = made(&format!("dragonfly[a={a},h={h},p={p}]"));
    let demands = to_the_next_group(&net, a * p);
    let bound = 1.0 / f64::from(a * h);
    for router in ["minimal", "dmodk", "greedy", "ecmp"] {
        let found = throughput(&net, router, &demands);
        assert!((found / bound - 1.0).abs() < 1e-9, "{router}: {found}, expected {bound}");
    }
    for router in ["valiant", "ugal", "ugal[choices=4]"] {
        let found = throughput(&net, router, &demands);
        assert!((found / 0.5 - 1.0).abs() < 0.05, "{router}: {found}, expected one half");
    }
}

/// The same section: under uniform traffic minimal routing uses the whole capacity and Valiant half
/// of it; UGAL does not fall behind minimal routing.
#[test]
fn uniform_traffic_on_a_dragonfly() {
    let net = made("dragonfly[a=6,h=3,p=3]");
    let hosts = net.host_count() as u32;
    let pairs =
        (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst);
    let demands: Vec<HostDemand> = pairs
        .map(|(src, dst)| HostDemand { load: 1.0 / f64::from(hosts - 1), ..demand(src, dst, 1) })
        .collect();
    let minimal = throughput(&net, "minimal", &demands);
    // Of n = 342 hosts each sends 1 / (n − 1) to each other one. A global link carries (a·p)² = 324
    // of these; a local one p² = 9 between its own routers' hosts, and h·a·p² = 162 on their way to
    // and as many from other groups.
    assert!((minimal / (341.0 / 333.0) - 1.0).abs() < 1e-9, "{minimal}");
    let ugal = throughput(&net, "ugal", &demands);
    assert!(ugal > 0.95 * minimal, "{ugal} against {minimal}");
    let valiant = throughput(&net, "valiant", &demands);
    assert!((valiant / 0.5 - 1.0).abs() < 0.1, "{valiant}");
}

/// The bound does not come from the lattice: with another seed for each of many draws, as packets
/// have, the mean load of global links is that of Valiant's two legs.
#[test]
fn valiants_half_does_not_depend_on_the_lattice() {
    let net = made("dragonfly[a=12,h=6,p=6]");
    let demands: Vec<HostDemand> = (0..net.host_count() as u32)
        .map(|src| demand(src, (src + 72) % net.host_count() as u32, 1))
        .collect();
    let mut load = vec![0.0; net.link_count()];
    let draws = 100;
    for seed in 0..draws {
        let mut router = super::valiant::Valiant::new(seed);
        let routes = super::oracle::routes_of(&mut router, &net, &demands);
        routes.iter().flatten().for_each(|link| load[link.0 as usize] += 1.0);
    }
    let links = (0..net.link_count() as u32).map(LinkId).filter(|link| net.between_switches(*link));
    let group = |node: NodeId| (node.0 - net.host_count() as u32) / 12;
    let global = links.filter(|link| group(net.src(*link)) != group(net.dst(*link)));
    let (mut sum, mut count) = (0.0, 0.0);
    global.for_each(|link| {
        sum += load[link.0 as usize];
        count += 1.0;
    });
    let mean = sum / count / draws as f64;
    // Of 73 groups the place is in one of the two ends with probability 2/73: then one global hop.
    let expected = 2.0 * (1.0 - 2.0 / 73.0) + 2.0 / 73.0;
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean}, expected {expected}");
}
