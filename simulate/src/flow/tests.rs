//! Times that follow from the model by hand.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]

use phaseflow_collect::choice::Choice;
use proptest::prelude::*;

use super::max_min::oracle::{Demand, rates};
use super::*;
use crate::engine::Picoseconds;
use crate::process_mapping::Placement;
use crate::routing::{HostDemand, RouteRequest, Routes, router};
use crate::topology::sketch::sketch;
use crate::topology::{
    Failure, HostId, LinkId, PortOrder, Topology, TopologyChoice, TopologyOptions, topology,
};

/// Links of a Gbit/s without latency: a byte takes 8000 ps.
fn drawn(text: &str) -> Topology {
    Topology::freeze("net", sketch(text), PortOrder::Number, 0).unwrap()
}

fn made(text: &str, options: TopologyOptions) -> Topology {
    topology(&TopologyChoice::parse(text).unwrap(), &options).unwrap()
}

/// Exact times in picoseconds, by flow: `(start, src, dst, bytes)`.
fn times(
    net: &Topology,
    flows: &[(Picoseconds, u32, u32, u64)],
    name: &str,
    options: &FlowOptions,
) -> Vec<f64> {
    let mut network = FlowNetwork::new(net, router(&Choice::parse(name).unwrap(), 1).unwrap(), options);
    let mut ends = vec![f64::NAN; flows.len()];
    let mut starts: Vec<u32> = (0..flows.len() as u32).collect();
    starts.sort_by_key(|flow| flows[*flow as usize].0);
    let mut changes = net.changes().iter().peekable();
    for key in starts {
        let (start, src, dst, bytes) = flows[key as usize];
        while let Some(change) = changes.next_if(|change| change.at_ps <= start) {
            network.advance(change.at_ps, |key, end| ends[key as usize] = end);
            network.fail(change.at_ps, &change.topology).unwrap();
        }
        network.advance(start, |key, end| ends[key as usize] = end);
        network.start(start, (HostId(src), HostId(dst)), bytes, None, key).unwrap();
    }
    for change in changes {
        network.advance(change.at_ps, |key, end| ends[key as usize] = end);
        network.fail(change.at_ps, &change.topology).unwrap();
    }
    while let Some(next) = network.next() {
        network.advance(next, |key, end| ends[key as usize] = end);
    }
    ends
}

#[track_caller]
fn check(net: &Topology, flows: &[(Picoseconds, u32, u32, u64)], expected: &[f64]) {
    let found = times(net, flows, "dmodk", &FlowOptions::default());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9 * expected, "{found} instead of {expected}: {flows:?}");
    }
}

#[test]
fn one_flow_takes_latency_and_bytes_over_capacity() {
    let options = TopologyOptions {
        capacity_gbps: Some(100.0),
        link_latency_ps: Some(700_000),
        switch_latency_ps: Some(50_000),
        ..TopologyOptions::default()
    };
    // Six links and five switches; a byte takes 80 ps.
    let net = made("fat-tree[k=8]", options);
    check(&net, &[(3, 0, 127, 1_000_003)], &[3.0 + 6.0 * 7e5 + 5.0 * 5e4 + 80.0 * 1_000_003.0]);
    check(&net, &[(3, 0, 127, 0)], &[3.0 + 6.0 * 7e5 + 5.0 * 5e4]);
}

#[test]
fn flows_on_one_link_share_it() {
    let net = drawn("h0-s0 h1-s0 h2-s0 h3-s0");
    // n alike: n times as long.
    let alike: Vec<_> = (0..7).map(|_| (0, 0, 1, 1000)).collect();
    check(&net, &alike, &[7.0 * 8e6; 7]);
    // Of unlike size: 1000 until the first ends, then half of the rest each.
    check(&net, &[(0, 0, 1, 1000), (0, 0, 1, 3000)], &[16e6, 32e6]);
    // One comes later: 1000 bytes alone, then both at half rate until it has gone.
    check(&net, &[(0, 0, 1, 3000), (8_000_000, 0, 1, 1000)], &[32e6, 24e6]);
}

#[test]
fn incast_shares_the_last_link() {
    let net =
        made("star[hosts=33]", TopologyOptions { link_latency_ps: Some(0), ..TopologyOptions::default() });
    let flows: Vec<_> = (0..32).map(|src| (0, src, 32, 10_000)).collect();
    // 10 Gbit/s: a byte takes 800 ps.
    check(&net, &flows, &[32.0 * 8e6; 32]);
}

#[test]
fn a_chain_of_three_links() {
    // Bertsekas and Gallager, section 6.5.2: a long flow over all links, short ones on each; two on
    // the last. The long one and those on the last link get a third, the others two thirds.
    let net = drawn("h0-s0 h1-s0 h2-s1 h3-s1 h4-s2 h5-s2 h6-s2 h7-s3 h8-s3 h9-s3 s0-s1 s1-s2 s2-s3");
    let flows = [(0, 0, 7, 1000), (0, 1, 2, 2000), (0, 3, 4, 2000), (0, 5, 8, 1000), (0, 6, 9, 1000)];
    check(&net, &flows, &[24e6; 5]);
}

#[test]
fn a_parking_lot() {
    // A long flow past n short ones, each on its own link of the chain: all have one half, whatever
    // n; when the short ones have gone, the long one has all.
    for n in [2, 5, 20] {
        let chain: Vec<String> = (0..n).map(|i| format!("s{i}-s{}", i + 1)).collect();
        let hosts: Vec<String> = (0..=n).map(|i| format!("h{i}a-s{i} h{i}b-s{i}")).collect();
        let net = drawn(&format!("{} {}", hosts.join(" "), chain.join(" ")));
        let mut flows = vec![(0, 0, 2 * n, 2000)];
        flows.extend((0..n).map(|i| (0, 2 * i + 1, 2 * (i + 1) + u32::from(i + 1 == n), 1000)));
        let mut expected = vec![24e6];
        expected.resize(n as usize + 1, 16e6);
        check(&net, &flows, &expected);
    }
}

#[test]
fn a_permutation_on_full_bisection_with_ideal_spreading_goes_at_full_rate() {
    let net =
        made("fat-tree[k=8]", TopologyOptions { link_latency_ps: Some(0), ..TopologyOptions::default() });
    // A shift by whole pods is spread ideally by D-mod-K.
    let flows: Vec<_> = (0..128).map(|host| (0, host, (host + 16) % 128, 1_000_000)).collect();
    check(&net, &flows, &[8e8; 128]);
}

#[test]
fn greedy_routers_spread_what_starts_together_and_avoid_what_is_there() {
    let options = TopologyOptions { link_latency_ps: Some(1000), ..TopologyOptions::default() };
    let net = made("leaf-spine[leaves=2,spines=4,hosts=4]", options);
    for name in ["greedy", "greedy-max"] {
        let together: Vec<_> = (0..4).map(|host| (0, host, 4 + host, 10_000)).collect();
        let found = times(&net, &together, name, &FlowOptions::default());
        assert_eq!(found, [8_004_000.0; 4], "{name}");
        let one_by_one: Vec<_> =
            (0..4).map(|host| (u64::from(host) * 100_000, host, 4 + host, 10_000)).collect();
        let found = times(&net, &one_by_one, name, &FlowOptions::default());
        for ((start, ..), end) in one_by_one.iter().zip(found) {
            assert!((end - *start as f64 - 8_004_000.0).abs() < 1e-3, "{name} {end}");
        }
    }
}

#[test]
fn rtt_fairness_gives_the_near_more() {
    let options = TopologyOptions { link_latency_ps: Some(1_000_000), ..TopologyOptions::default() };
    let net = made("xgft[m=2:2,w=1:1]", options);
    // To h1: h0 over 2 links, h2 over 4. Shares of the last link are as 2 : 1 while both are there,
    // from 4 µs on; until then h0 has it alone: 2500 bytes. A byte takes 800 ps.
    let found = times(
        &net,
        &[(0, 0, 1, 22_500), (0, 2, 1, 20_000)],
        "dmodk",
        &FlowOptions { fairness: Fairness::Rtt, ..FlowOptions::default() },
    );
    // 20 000 at two thirds: 24 µs; the other has 10 000 by then and needs 8 µs more.
    for (found, expected) in found.iter().zip([28e6, 36e6]) {
        assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
    }
}

#[test]
fn caps_hold() {
    let net = drawn("h0-s0 h1-s0");
    let mut network =
        FlowNetwork::new(&net, router(&Choice::plain("dmodk"), 1).unwrap(), &FlowOptions::default());
    for (key, cap) in [(0, Some(0.125)), (1, None), (2, Some(0.9))] {
        network.start(0, (HostId(0), HostId(1)), 7000, cap, key).unwrap();
    }
    let mut ends = Vec::new();
    while let Some(next) = network.next() {
        network.advance(next, |key, end| ends.push((key, end)));
    }
    // 1/8, 7/16, 7/16; then 1/8 alone: 7000 bytes at 1/8 Gbit/s are 448 µs.
    assert_eq!(ends.iter().map(|end| end.0).collect::<Vec<_>>(), [1, 2, 0]);
    for ((_, found), expected) in ends.iter().zip([128e6, 128e6, 448e6]) {
        assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
    }
}

#[test]
fn messages_within_a_host_take_no_time_or_that_of_its_memory() {
    let net = drawn("h0-s0 h1-s0");
    let local = [(5, 0, 0, 1000), (5, 0, 0, 1000)];
    assert_eq!(times(&net, &local, "greedy", &FlowOptions::default()), [5.0, 5.0]);
    let options = FlowOptions { memory_gbps: Some(2.0), ..FlowOptions::default() };
    assert_eq!(times(&net, &local, "greedy", &options), [8_000_005.0; 2]);
}

/// The first flow has sent 1000 bytes when its spine fails, and then has half of the other one's.
#[test]
fn a_flow_goes_on_over_another_spine_with_what_is_left() {
    let net = drawn("h0-s0 h1-s0 h2-s1 h3-s1 s0-a s0-b a-s1 b-s1");
    let routes = routes_of(&net, &[(0, 0, 2, 1), (0, 1, 3, 1)], "dmodk");
    let name = |link: LinkId| net.node(net.dst(link)).name.clone();
    let spines = [0, 1].map(|flow: usize| name(routes[flow][1]));
    assert_ne!(spines[0], spines[1]);
    let failure = Failure::parse(&format!("{}@8us", spines[0])).unwrap();
    let net = net.with_failures(&[failure]).unwrap();
    let flows = [(0, 0, 2, 3000), (0, 1, 3, 2000)];
    check(&net, &flows, &[32e6, 24e6]);

    let mut network = FlowNetwork::new(
        &net,
        router(&Choice::plain("dmodk"), 1).unwrap(),
        &FlowOptions { order: Order::None, ..FlowOptions::default() },
    );
    network.attribute_delays();
    network.record_owner_traffic();
    for (key, (start, src, dst, bytes)) in (0..).zip(flows) {
        network.belong(key, (src, dst));
        network.start(start, (HostId(src), HostId(dst)), bytes, None, key).unwrap();
    }
    network.advance(8_000_000, |key, _| panic!("{key} is too early"));
    network.fail(8_000_000, &net.changes()[0].topology).unwrap();
    network.advance(100_000_000, |_, _| ());
    // Of 32 µs, 24 are its own, and half of 16 belongs to the other flow.
    let delays = network.take_delays(0);
    let lost_to = |owner: Option<u32>| -> f64 {
        delays.iter().filter(|delay| delay.by == owner).map(|delay| delay.time.round()).sum()
    };
    assert_eq!([lost_to(None), lost_to(Some(1)), lost_to(Some(0))], [24e6, 8e6, 0.0]);
    // What went over the first spine, and what went over the other one.
    let carried = network.take_owner_traffic(0);
    let over = |link: LinkId| carried.iter().find(|(at, _)| *at == link).map(|(_, bytes)| *bytes);
    assert_eq!(over(routes[0][1]), Some(1000.0));
    assert_eq!(over(routes[1][1]), Some(2000.0));
    assert_eq!(over(routes[0][0]), Some(3000.0));
    let bytes = |link: LinkId| network.usage(link).bytes;
    assert_eq!([routes[0][1], routes[1][1], routes[1][2]].map(bytes), [1000, 4000, 4000]);
}

#[test]
fn links_remember_what_happened_to_them() {
    let net = drawn("h0-s0 h1-s0 h2-s0");
    let mut network =
        FlowNetwork::new(&net, router(&Choice::plain("dmodk"), 1).unwrap(), &FlowOptions::default());
    network.start(0, (HostId(0), HostId(1)), 1000, None, 0).unwrap();
    network.start(0, (HostId(2), HostId(1)), 3000, None, 1).unwrap();
    network.advance(8_000_000, |key, _| panic!("{key} is too early"));
    let link = |src: &str, dst: &str| {
        let mut ids = (0..net.link_count() as u32).map(crate::topology::LinkId);
        ids.find(|link| net.node(net.src(*link)).name == src && net.node(net.dst(*link)).name == dst).unwrap()
    };
    assert_eq!((network.flows(link("s0", "h1")), network.rate(link("s0", "h1")).round()), (2, 125e6));
    assert_eq!(network.usage(link("h0", "s0")).busy_ps, 8e6);
    let mut keys = Vec::new();
    network.advance(1_000_000_000, |key, _| keys.push(key));
    assert_eq!(keys, [0, 1]);
    let last = LinkUsage { bytes: 4000, busy_ps: 32e6, peak_utilization: 1.0, peak_flows: 2 };
    assert_eq!(network.usage(link("s0", "h1")), last);
    // The second flow has the link alone in the end.
    let first = LinkUsage { bytes: 3000, busy_ps: 32e6, peak_utilization: 1.0, peak_flows: 1 };
    assert_eq!(network.usage(link("h2", "s0")), first);
    assert_eq!(network.usage(link("h0", "s0")).peak_utilization, 0.5);
    assert_eq!(network.usage(link("s0", "h2")), LinkUsage::default());
}

/// Routes of flows as if each were alone.
fn routes_of(net: &Topology, flows: &[(Picoseconds, u32, u32, u64)], name: &str) -> Vec<Vec<LinkId>> {
    let demand = |(_, src, dst, bytes): &(Picoseconds, u32, u32, u64)| HostDemand {
        src: HostId(*src),
        dst: HostId(*dst),
        bytes: *bytes,
        load: 0.0,
        flows: 1,
    };
    let mut routes = Routes::default();
    let request = RouteRequest {
        topology: net,
        demands: &flows.iter().map(demand).collect::<Vec<_>>(),
        link_load: &[],
        job: 0,
        phase: "",
        placement: &Placement::default(),
        matrix: &phaseflow_collect::TrafficMatrix::default(),
    };
    router(&Choice::plain(name), 1).unwrap().route(&request, &mut routes).unwrap();
    routes.iter().map(<[LinkId]>::to_vec).collect()
}

/// The slow and obvious: from event to event, all rates from scratch, all flows brought forward.
fn slow_times(
    net: &Topology,
    flows: &[(Picoseconds, u32, u32, u64)],
    name: &str,
    fairness: Fairness,
) -> Vec<f64> {
    let mut routes = routes_of(net, flows, name);
    let capacities: Vec<f64> =
        (0..net.link_count() as u32).map(|link| net.link(LinkId(link)).capacity * 1.25e-4).collect();
    let latency = |route: &[LinkId]| -> u64 { route.iter().map(|link| net.link(*link).latency_ps).sum() };
    let begin = |flow: usize, route: &[LinkId]| (flows[flow].0 + latency(route)) as f64;
    let mut begins: Vec<f64> = (0..flows.len()).map(|flow| begin(flow, &routes[flow])).collect();
    let mut rest: Vec<f64> = flows.iter().map(|flow| flow.3 as f64).collect();
    let mut ends = vec![f64::NAN; flows.len()];
    let mut now = 0.0;
    let mut changes = net.changes().iter().peekable();
    while ends.iter().any(|end| end.is_nan()) {
        if let Some(change) = changes.next_if(|change| change.at_ps as f64 <= now) {
            let new = routes_of(&change.topology, flows, name);
            for (flow, route) in new.into_iter().enumerate() {
                let is_to_come = flows[flow].0 >= change.at_ps;
                if is_to_come
                    || !routes[flow].iter().all(|link| !change.topology.links_down()[link.0 as usize])
                {
                    routes[flow] = route;
                }
                if is_to_come {
                    begins[flow] = begin(flow, &routes[flow]);
                }
            }
        }
        let active: Vec<usize> =
            (0..flows.len()).filter(|i| ends[*i].is_nan() && begins[*i] <= now).collect();
        let shares: Vec<Demand> = active
            .iter()
            .map(|flow| Demand {
                route: routes[*flow].iter().map(|link| link.0).collect(),
                weight: if fairness == Fairness::Rtt { 1e6 / latency(&routes[*flow]) as f64 } else { 1.0 },
                cap: f64::INFINITY,
            })
            .collect();
        let rate = rates(&capacities, &shares);
        let finish = active.iter().zip(&rate).map(|(flow, rate)| now + rest[*flow] / rate);
        let begin = begins.iter().copied().filter(|begin| *begin > now);
        let change = changes.peek().map(|change| change.at_ps as f64);
        let next = finish.chain(begin).chain(change).fold(f64::INFINITY, f64::min);
        for (flow, rate) in active.iter().zip(&rate) {
            rest[*flow] -= rate * (next - now);
            // A thousandth of a picosecond.
            if rest[*flow] <= rate * 1e-3 {
                ends[*flow] = next;
            }
        }
        now = next;
    }
    ends
}

const NETWORKS: &[&str] = &[
    "star[hosts=5]",
    "xgft[m=2:2:2,w=1:2:2]",
    "xgft[m=3:2:2,w=1:1:2]",
    "leaf-spine[leaves=3,spines=2,hosts=3]",
    "torus[dims=3x3]",
    "fat-tree[k=4]",
];

/// A tolerance is one of ends too: nothing adds up from the hundreds of changes that a flow sees.
/// (The tolerance is a part of rates at each moment, so of the time that a flow takes; the factor
/// is for what links pass on to each other.)
#[test]
fn with_a_tolerance_ends_are_near_exact_ones() {
    let net = made("xgft[m=4:4:8,w=1:4:4]", TopologyOptions::default());
    let flows: Vec<_> = (0..1_500_u64)
        .map(|i| {
            (
                i % 7,
                (i * 37 % 128) as u32,
                ((i * 37 + i * i % 127 + 1) % 128) as u32,
                1 + i * i * 7919 % 1_000_000,
            )
        })
        .filter(|(_, src, dst, _)| src != dst)
        .collect();
    let exact = times(&net, &flows, "dmodk", &FlowOptions::default());
    for tolerance in [1e-3_f32, 1e-2, 5e-2] {
        let near = times(&net, &flows, "dmodk", &FlowOptions { tolerance, ..FlowOptions::default() });
        let off = exact.iter().zip(&near).map(|(exact, near)| (near - exact).abs() / exact);
        let (most, sum) = off.fold((0.0_f64, 0.0), |(most, sum), off| (most.max(off), sum + off));
        let mean = sum / flows.len() as f64;
        assert!(
            most <= 4.0 * f64::from(tolerance) && mean <= f64::from(tolerance),
            "{tolerance}: {most}, {mean}"
        );
        assert!(most > 0.0, "{tolerance} changes nothing");
    }
}

/// Flows with few or many starts, hosts and sizes.
fn few_or_many() -> impl Strategy<Value = Vec<(Picoseconds, u32, u32, u64)>> {
    let start = prop_oneof![0..4_u64, 0..100_u64];
    let bytes = prop_oneof![Just(10_000_u64), Just(40_000), 1..200_000_u64];
    prop::collection::vec((start, 0..100_u32, 0..100_u32, bytes), 1..40)
}

/// The same in microseconds, between hosts that the network has.
fn between_hosts(
    net: &Topology,
    flows: Vec<(Picoseconds, u32, u32, u64)>,
) -> Vec<(Picoseconds, u32, u32, u64)> {
    let hosts = net.host_count() as u32;
    let flows = flows.into_iter();
    let flows = flows.map(|(start, src, dst, bytes)| (start * 1_000_000, src % hosts, dst % hosts, bytes));
    flows.filter(|(_, src, dst, _)| src != dst).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Few sizes and times, so that much happens at once and pairs repeat; and any, so that nothing
    /// does.
    #[test]
    fn times_are_those_of_a_slow_simulation(
        network in 0..NETWORKS.len(),
        name in prop_oneof![Just("dmodk"), Just("smodk"), Just("ecmp")],
        rtt in any::<bool>(),
        flows in few_or_many(),
    ) {
        let net = made(NETWORKS[network], TopologyOptions::default());
        let flows = between_hosts(&net, flows);
        let fairness = if rtt { Fairness::Rtt } else { Fairness::MaxMin };
        let found = times(&net, &flows, name, &FlowOptions { fairness, ..FlowOptions::default() });
        let expected = slow_times(&net, &flows, name, fairness);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found - expected).abs() <= 1e-9 * expected, "{found} instead of {expected}");
        }
    }

    /// What is left of a byte is sent again, so times differ by that of a byte of each flow.
    #[test]
    fn flows_whose_links_fail_go_on_elsewhere(
        network in 0..2_usize,
        link in any::<prop::sample::Index>(),
        at_us in 0..300_u64,
        rtt in any::<bool>(),
        flows in few_or_many(),
    ) {
        let net = made(["leaf-spine[leaves=3,spines=2,hosts=3]", "torus[dims=3x3]"][network], TopologyOptions::default());
        let inner: Vec<LinkId> =
            (0..net.link_count() as u32).map(LinkId).filter(|link| net.between_switches(*link)).collect();
        let link = inner[link.index(inner.len())];
        let name = |node| net.node(node).name.clone();
        let failure = format!("{}<>{}@{at_us}us", name(net.src(link)), name(net.dst(link)));
        let net = net.with_failures(&[Failure::parse(&failure).unwrap()]).unwrap();
        let flows = between_hosts(&net, flows);
        let fairness = if rtt { Fairness::Rtt } else { Fairness::MaxMin };
        let found = times(&net, &flows, "dmodk", &FlowOptions { fairness, ..FlowOptions::default() });
        let expected = slow_times(&net, &flows, "dmodk", fairness);
        // At 10 Gbit/s, a byte takes 800 ps.
        let slack = 800.0 * flows.len() as f64;
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found - expected).abs() <= slack + 1e-9 * expected, "{found} instead of {expected}");
        }
    }

    /// Told times are whole picoseconds next to the exact ones, ascending, each flow once, none
    /// before it is due.
    #[test]
    fn what_is_told_is_in_order(
        flows in prop::collection::vec((0..50_000_000_u64, 0..16_u32, 0..16_u32, 0..30_000_u64), 1..60),
    ) {
        let net = made("fat-tree[k=4]", TopologyOptions::default());
        let mut starts = flows.clone();
        starts.sort_unstable();
        let mut network =
            FlowNetwork::new(&net, router(&Choice::plain("greedy"), 1).unwrap(), &FlowOptions::default());
        let mut ends = Vec::new();
        let mut pending = starts.iter().zip(0..).peekable();
        loop {
            let start = pending.peek().map(|(flow, _)| flow.0);
            let Some(now) = start.into_iter().chain(network.next()).min() else { break };
            network.advance(now, |key, exact| ends.push((now, key, exact)));
            while let Some((flow, key)) = pending.next_if(|(flow, _)| flow.0 == now) {
                network.start(now, (HostId(flow.1), HostId(flow.2)), flow.3, None, key).unwrap();
            }
        }
        prop_assert!(ends.is_sorted_by_key(|ends| ends.0) && ends.is_sorted_by(|a, b| a.2 <= b.2));
        prop_assert!(ends.iter().all(|(now, _, exact)| (*now as f64 - exact).abs() <= 1.0));
        let mut keys: Vec<u32> = ends.iter().map(|ends| ends.1).collect();
        keys.sort_unstable();
        prop_assert_eq!(keys, (0..starts.len() as u32).collect::<Vec<_>>());
        let sent: u64 = (0..net.link_count() as u32).map(LinkId).filter(|link| !net.is_switch(net.src(*link))).map(|link| network.usage(link).bytes).sum();
        prop_assert_eq!(sent, starts.iter().filter(|flow| flow.1 != flow.2).map(|flow| flow.3).sum::<u64>());
        for link in (0..net.link_count() as u32).map(LinkId) {
            prop_assert_eq!(network.flows(link), 0);
            prop_assert_eq!(network.rate(link), 0.0);
            prop_assert!(network.usage(link).peak_utilization <= 1.0 + 1e-9);
        }
    }
}
