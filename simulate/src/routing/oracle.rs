//! All routers against an oracle that enumerates the shortest paths of small random networks.

use proptest::prelude::*;

use super::*;
use crate::topology::sketch::sketch;
use crate::topology::{PortOrder, TopologyChoice, TopologyOptions, topology};

/// Every shortest path through switches, in the order of the candidates.
fn shortest_paths(net: &Topology, src: HostId, dst: HostId) -> Vec<Vec<LinkId>> {
    let mut paths: Vec<Vec<LinkId>> = vec![Vec::new()];
    let end = |path: &[LinkId]| path.last().map_or(net.host(src), |link| net.dst(*link));
    for _ in 0..net.node_count() {
        let onward = |path: Vec<LinkId>| {
            let links = net.outgoing(end(&path)).to_vec();
            links.into_iter().map(move |link| [path.as_slice(), &[link]].concat())
        };
        paths = paths.into_iter().flat_map(onward).collect();
        let arrived: Vec<_> = paths.iter().filter(|path| end(path) == net.host(dst)).cloned().collect();
        if !arrived.is_empty() {
            return arrived;
        }
        paths.retain(|path| net.is_switch(end(path)));
    }
    Vec::new()
}

pub(super) fn route(net: &Topology, name: &str, demands: &[HostDemand], link_load: &[f64]) -> Routes {
    let mut router = router(&Choice::parse(name).unwrap(), 7).unwrap();
    let mut routes = Routes::default();
    router.route(&request(net, demands, link_load), &mut routes).unwrap();
    routes
}

/// Routes in an idle network.
pub(super) fn routes_of(router: &mut dyn Router, net: &Topology, demands: &[HostDemand]) -> Routes {
    let mut routes = Routes::default();
    router.route(&request(net, demands, &vec![0.0; net.link_count()]), &mut routes).unwrap();
    routes
}

pub(super) fn request<'a>(
    net: &'a Topology,
    demands: &'a [HostDemand],
    link_load: &'a [f64],
) -> RouteRequest<'a> {
    static NOWHERE: (Placement, std::sync::LazyLock<TrafficMatrix>) =
        (Placement { hosts: Vec::new() }, std::sync::LazyLock::new(TrafficMatrix::default));
    RouteRequest {
        topology: net,
        demands,
        link_load,
        job: 0,
        phase: "0",
        placement: &NOWHERE.0,
        matrix: &NOWHERE.1,
    }
}

pub(super) fn demand(src: u32, dst: u32, load: u32) -> HostDemand {
    let load = f64::from(load);
    HostDemand { src: HostId(src), dst: HostId(dst), bytes: load as u64, load, flows: 1 }
}

/// Up to six switches and five hosts, some of these on two switches; parallel and one-way links,
/// now and then a cable between two hosts.
fn networks() -> impl Strategy<Value = Topology> {
    let cable = (0..6_u32, 0..6_u32, 0..5_u32);
    let host = (0..6_u32, proptest::option::weighted(0.3, 0..6_u32), 0..20_u32);
    (prop::collection::vec(cable, 3..12), prop::collection::vec(host, 2..6)).prop_filter_map(
        "not connected",
        |(cables, hosts)| {
            let mut drawing = String::new();
            for (number, (first, second, special)) in hosts.iter().enumerate() {
                drawing += &format!("h{number}-s{first} ");
                if let Some(second) = second {
                    drawing += &format!("h{number}-s{second} ");
                }
                if *special == 0 && number > 0 {
                    drawing += &format!("h{number}-h0 ");
                }
            }
            for (a, b, kind) in cables.iter().filter(|(a, b, _)| a != b) {
                drawing += &format!("s{a}{}s{b} ", if *kind == 0 { '>' } else { '-' });
            }
            Topology::freeze("random", sketch(&drawing), PortOrder::Name, 0).ok()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn routes_are_shortest_and_greedy_ones_the_best_of_them(
        net in networks(),
        seed in prop::collection::vec(0..9_u32, 200),
        pairs in prop::collection::vec((0..5_u32, 0..5_u32, 1..9_u32), 1..12),
    ) {
        let hosts = net.host_count() as u32;
        let demands: Vec<HostDemand> = pairs
            .into_iter()
            .map(|(src, dst, load)| demand(src % hosts, dst % hosts, load))
            .filter(|demand| demand.src != demand.dst)
            .collect();
        let idle: Vec<f64> = (0..net.link_count()).map(|link| f64::from(seed[link % seed.len()])).collect();
        let all: Vec<_> = demands.iter().map(|d| shortest_paths(&net, d.src, d.dst)).collect();
        for (demand, paths) in demands.iter().zip(&all) {
            let dag = net.paths_to(demand.dst);
            let counts = dag.counts();
            let mut room = Vec::new();
            let first = dag.departures(demand.src, &mut room).iter();
            let count: f64 = first.map(|link| net.switch_after(*link).map_or(1.0, |s| counts[s])).sum();
            prop_assert_eq!(count as usize, paths.len());
            let far = net.distances_to(demand.dst).from(net.host(demand.src));
            prop_assert_eq!(far, Some(paths[0].len() as u32));
        }
        for name in ["dmodk", "dmodk[variant=pfsim]", "smodk", "random", "ecmp", "greedy", "greedy-max", "minimal"] {
            let routes = route(&net, name, &demands, &idle);
            prop_assert_eq!(routes.len(), demands.len());
            let mut load = idle.clone();
            for ((route, paths), demand) in routes.iter().zip(&all).zip(&demands) {
                prop_assert!(paths.iter().any(|path| path == route), "{} is no shortest path", name);
                let counted = |path: &[LinkId]| -> Vec<f64> {
                    let links = path.iter().filter(|link| net.between_switches(**link));
                    links.map(|link| load[link.0 as usize]).collect()
                };
                let cost = |path: &[LinkId]| match name {
                    "greedy" => counted(path).iter().sum::<f64>(),
                    "greedy-max" => counted(path).iter().copied().fold(0.0, f64::max),
                    _ => 0.0,
                };
                let least = paths.iter().map(|path| cost(path)).fold(f64::INFINITY, f64::min);
                prop_assert!(cost(route) <= least, "{}: {} > {}", name, cost(route), least);
                for link in route {
                    load[link.0 as usize] += demand.load;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// CORRECTNESS: detours are paths from source to destination that pass no node twice, and
    /// through no other host; they take one direction of a cable per hop.
    #[test]
    fn detours_are_paths_without_loops(
        net in networks(),
        pairs in prop::collection::vec((0..5_u32, 0..5_u32, 1..9_u32), 1..40),
    ) {
        let hosts = net.host_count() as u32;
        let demands: Vec<HostDemand> = pairs
            .into_iter()
            .map(|(src, dst, load)| demand(src % hosts, dst % hosts, load))
            .filter(|demand| demand.src != demand.dst)
            .collect();
        for name in ["valiant", "ugal", "ugal[choices=3]"] {
            let routes = route(&net, name, &demands, &vec![0.0; net.link_count()]);
            prop_assert_eq!(routes.len(), demands.len());
            for (links, demand) in routes.iter().zip(&demands) {
                let mut passed = vec![net.host(demand.src)];
                for link in links {
                    prop_assert_eq!(Some(&net.src(*link)), passed.last(), "{}", name);
                    prop_assert!(!passed.contains(&net.dst(*link)), "{}: a loop", name);
                    passed.push(net.dst(*link));
                }
                prop_assert_eq!(passed.pop(), Some(net.host(demand.dst)));
                prop_assert!(passed[1..].iter().all(|node| net.is_switch(*node)));
            }
        }
    }
}

#[test]
fn dmodk_is_the_published_formula_on_trees() {
    for (text, w) in [
        ("xgft[m=4:4:3,w=1:2:2]", vec![1, 2, 2]),
        ("xgft[m=3:2:2,w=2:3:2]", vec![2, 3, 2]),
        ("fat-tree[k=6]", vec![1, 3, 3]),
    ] {
        let net = topology(&TopologyChoice::parse(text).unwrap(), &TopologyOptions::default()).unwrap();
        let hosts = net.host_count() as u32;
        let demands: Vec<HostDemand> = (0..hosts)
            .flat_map(|src| (0..hosts).map(move |dst| demand(src, dst, 1)))
            .filter(|demand| demand.src != demand.dst)
            .collect();
        let idle = vec![0.0; net.link_count()];
        for (name, by_source, divides) in
            [("dmodk", false, true), ("smodk", true, true), ("dmodk[variant=pfsim]", false, false)]
        {
            let routes = route(&net, name, &demands, &idle);
            for (route, demand) in routes.iter().zip(&demands) {
                let number = if by_source { demand.src.0 } else { demand.dst.0 };
                let mut product = 1;
                for (level, link) in route[..route.len() / 2].iter().enumerate() {
                    // The parents of a node are its outgoing links to higher numbers of switches.
                    let at = net.src(*link);
                    let child = |l: &&LinkId| {
                        net.is_switch(net.dst(**l)) && (!net.is_switch(at) || net.dst(**l) > at)
                    };
                    let parents: Vec<LinkId> = net.outgoing(at).iter().filter(child).copied().collect();
                    assert_eq!(parents.len() as u32, w[level]);
                    let port = if divides { number / product } else { number } % w[level];
                    assert_eq!(*link, parents[port as usize], "{text} {name} level {level}");
                    product *= w[level];
                }
            }
        }
    }
}

#[test]
fn random_takes_all_paths_equally_often() {
    // Three paths from a to d: hops alone would give the direct one half of the traffic.
    let net = Topology::freeze(
        "net",
        sketch("h0-a h1-e a-b a-c b-d c-d b-f f-e d-e a-x x-y y-e a-z z-y"),
        PortOrder::Name,
        0,
    )
    .unwrap();
    let paths = shortest_paths(&net, HostId(0), HostId(1));
    assert_eq!(paths.len(), 5);
    let demands = vec![demand(0, 1, 1); 20_000];
    let routes = route(&net, "random", &demands, &vec![0.0; net.link_count()]);
    for path in &paths {
        let times = routes.iter().filter(|route| route == path).count();
        // Five standard deviations of a binomial with p = 1/5.
        assert!(times.abs_diff(4_000) < 283, "{times}");
    }
}

#[test]
fn ecmp_spreads_pairs_and_keeps_each_on_its_path() {
    let net =
        topology(&TopologyChoice::parse("fat-tree[k=8]").unwrap(), &TopologyOptions::default()).unwrap();
    let far = |src| (64..128).map(move |dst| demand(src, dst, 1));
    let demands: Vec<HostDemand> = (0..64).flat_map(far).collect();
    let idle = vec![0.0; net.link_count()];
    let routes = route(&net, "ecmp", &demands, &idle);
    assert_eq!(routes, route(&net, "ecmp", &demands, &idle));
    let mut cores = vec![0_u32; net.node_count()];
    for path in routes.iter() {
        cores[net.dst(path[2]).0 as usize] += 1;
    }
    let used: Vec<u32> = cores.into_iter().filter(|times| *times > 0).collect();
    assert_eq!(used.len(), 16);
    // 4 096 pairs on 16 cores: 256 each, standard deviation 15.5.
    assert!(used.iter().all(|times| times.abs_diff(256) < 78), "{used:?}");
}

#[test]
fn greedy_places_the_heavy_first_and_the_light_around_it() {
    // Two ways; 5, then 3 and 2 on the other one; the next one finds both full alike and takes the
    // first.
    let net = Topology::freeze("net", sketch("h0-a h1-b a-x x-b a-y y-b"), PortOrder::Name, 0).unwrap();
    let demands: Vec<HostDemand> = [5, 3, 2, 1].map(|load| demand(0, 1, load)).to_vec();
    for name in ["greedy", "greedy-max"] {
        let routes = route(&net, name, &demands, &vec![0.0; net.link_count()]);
        let through: Vec<&str> = routes.iter().map(|path| net.node(net.dst(path[1])).name.as_str()).collect();
        assert_eq!(through, ["x", "y", "y", "x"]);
    }
}
