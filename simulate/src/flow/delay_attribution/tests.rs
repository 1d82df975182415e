//! Losses that follow from the definition by hand, and against adding them up moment by moment.

use phaseflow_collect::choice::Choice;
use proptest::prelude::*;

use super::*;
use crate::engine::Picoseconds;
use crate::flow::{FlowNetwork, FlowOptions, Order};
use crate::routing::router;
use crate::topology::sketch::sketch;
use crate::topology::{HostId, PortOrder, Topology};

/// Links of a Gbit/s without latency: a byte takes 8000 ps.
fn drawn(text: &str) -> Topology {
    Topology::freeze("net", sketch(text), PortOrder::Number, 0).unwrap()
}

/// Owner, start, source, destination, bytes.
type Listed = (u32, Picoseconds, u32, u32, u64);

/// By flow: when it ends, and what held it up.
type Outcome = (f64, Vec<Delay>);

fn play(net: &Topology, flows: &[Listed], order: Order, ask: bool) -> Vec<Outcome> {
    let options = FlowOptions { order, ..FlowOptions::default() };
    let mut network = FlowNetwork::new(net, router(&Choice::plain("dmodk"), 1).unwrap(), &options);
    if ask {
        network.attribute_delays();
    }
    let mut ends = vec![(f64::NAN, Vec::new()); flows.len()];
    let mut by_start: Vec<usize> = (0..flows.len()).collect();
    by_start.sort_by_key(|flow| flows[*flow].1);
    let mut finished = Vec::new();
    for flow in by_start {
        let (owner, start, src, dst, bytes) = flows[flow];
        network.advance(start, |key, end| finished.push((key, end)));
        network.belong(owner, (src, dst));
        network.start(start, (HostId(src), HostId(dst)), bytes, None, flow as u32).unwrap();
    }
    while let Some(next) = network.next() {
        network.advance(next, |key, end| finished.push((key, end)));
    }
    for (key, end) in finished {
        ends[key as usize] = (end, network.take_delays(key));
    }
    ends
}

/// What a flow needs itself, and what it loses to each owner.
fn sums(delays: &[Delay]) -> (f64, Vec<(u32, f64)>) {
    let own = delays.iter().filter(|delay| delay.by.is_none()).map(|delay| delay.time).sum();
    let mut by = std::collections::BTreeMap::new();
    for delay in delays {
        if let Some(owner) = delay.by {
            *by.entry(owner).or_insert(0.0) += delay.time;
        }
    }
    (own, by.into_iter().collect())
}

#[track_caller]
fn check(net: &Topology, flows: &[Listed], expected: &[(f64, &[(u32, f64)])]) {
    check_in(Order::None, net, flows, expected);
}

#[track_caller]
fn check_in(order: Order, net: &Topology, flows: &[Listed], expected: &[(f64, &[(u32, f64)])]) {
    let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.max(1.0);
    for ((_, delays), (own, by)) in play(net, flows, order, true).iter().zip(expected) {
        let (found_own, found_by) = sums(delays);
        let same = found_by.len() == by.len()
            && found_by.iter().zip(*by).all(|(found, by)| found.0 == by.0 && near(found.1, by.1));
        assert!(same && near(found_own, *own), "{delays:?} instead of {own}, {by:?}");
    }
}

#[test]
fn a_flow_that_waits_for_its_connection_loses_the_time_to_its_own_job() {
    let net = drawn("h0-s0 h1-s0 h2-s0 h3-s0");
    // The second has the link to itself once it goes; the third, to another host, shares the
    // sender's link with both: 0 to 16 µs with the first, 16 to 20 µs with the second.
    let flows = [(5, 0, 0, 1, 1000), (5, 0, 0, 1, 1000), (5, 0, 0, 2, 1250)];
    let connection: [(f64, &[(u32, f64)]); 3] =
        [(8e6, &[(5, 8e6)]), (8e6, &[(5, 18e6)]), (10e6, &[(5, 10e6)])];
    check_in(Order::Connection, &net, &flows, &connection);
    let adapter: [(f64, &[(u32, f64)]); 3] = [(8e6, &[]), (8e6, &[(5, 8e6)]), (10e6, &[(5, 16e6)])];
    check_in(Order::Adapter, &net, &flows, &adapter);
}

#[test]
fn two_flows_on_a_link_cost_each_other_half_of_their_time() {
    let net = drawn("h0-s0 h1-s0 h2-s0 h3-s0");
    check(&net, &[(5, 0, 0, 1, 1000), (5, 0, 0, 1, 1000)], &[(8e6, &[(5, 8e6)]), (8e6, &[(5, 8e6)])]);
    check(&net, &[(5, 0, 0, 1, 1000), (6, 0, 2, 1, 1000)], &[(8e6, &[(6, 8e6)]), (8e6, &[(5, 8e6)])]);
    // The longer one has the link to itself when the other has gone; the later one shares it all
    // its time.
    check(&net, &[(1, 0, 0, 1, 1000), (1, 0, 2, 1, 3000)], &[(8e6, &[(1, 8e6)]), (24e6, &[(1, 8e6)])]);
    check(
        &net,
        &[(1, 0, 0, 1, 3000), (2, 8_000_000, 0, 1, 1000)],
        &[(24e6, &[(2, 8e6)]), (8e6, &[(1, 8e6)])],
    );
    check(
        &net,
        &[(1, 0, 0, 1, 3000), (1, 8_000_000, 0, 1, 1000)],
        &[(24e6, &[(1, 8e6)]), (8e6, &[(1, 8e6)])],
    );
    // Without other flows, no time is lost.
    check(&net, &[(1, 0, 0, 1, 1000), (2, 0, 2, 3, 1000)], &[(8e6, &[]), (8e6, &[])]);
}

#[test]
fn of_n_flows_into_a_host_each_loses_to_all_others() {
    let net = drawn("h0-s0 h1-s0 h2-s0 h3-s0 h4-s0 h5-s0 h6-s0 h7-s0");
    // Two of owner 1, five of owner 2.
    let flows: Vec<_> = (0..7).map(|src| (1 + u32::from(src >= 2), 0, src, 7, 1000)).collect();
    let first: (f64, &[(u32, f64)]) = (8e6, &[(1, 8e6), (2, 40e6)]);
    let second: (f64, &[(u32, f64)]) = (8e6, &[(1, 16e6), (2, 32e6)]);
    check(&net, &flows, &[first, first, second, second, second, second, second]);
    for (_, delays) in play(&net, &flows, Order::None, true) {
        let last = |delay: &Delay| delay.link.is_some_and(|link| net.dst(link) == net.host(HostId(7)));
        assert!(delays.iter().all(last), "{delays:?}");
    }
}

#[test]
fn time_goes_to_the_link_that_held_the_flow_up() {
    // First s0>s1 with two others, then, when they have gone, s1>s2 with one that is there all the
    // time: three at a third, then two at a half.
    let net = drawn("h0-s0 h1-s0 h2-s0 h3-s1 h4-s1 h5-s2 h6-s2 s0-s1 s1-s2");
    let flows = [(0, 0, 0, 5, 2000), (1, 0, 1, 3, 1000), (2, 0, 2, 4, 1000), (3, 0, 3, 6, 4000)];
    let found = play(&net, &flows, Order::None, true);
    let mut ends: Vec<(u32, f64, Option<u32>)> = found[0]
        .1
        .iter()
        .map(|delay| {
            let link = delay.link.unwrap();
            (net.src(link).0.min(net.dst(link).0), (delay.time / 1e6).round(), delay.by)
        })
        .collect();
    ends.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let switch = |name: &str| {
        (0..net.node_count() as u32)
            .find(|node| net.node(crate::topology::NodeId(*node)).name == name)
            .unwrap()
    };
    // 24 ms at a third, 16 ms at a half.
    let (first, second) = (switch("s0"), switch("s1"));
    assert_eq!(
        ends,
        [
            (first, 8.0, None),
            (first, 8.0, Some(1)),
            (first, 8.0, Some(2)),
            (second, 8.0, None),
            (second, 8.0, Some(3)),
        ]
    );
}

/// A class as the oracle sees it.
struct Seen {
    class: ClassId,
    key: u32,
    owner: u32,
    route: Vec<u32>,
    own: f64,
    by: [f64; 3],
    born: f64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The oracle adds up the definition in each interval, from the rates of all classes.
    #[test]
    fn sums_are_those_of_the_definition(
        capacities in prop::collection::vec(prop_oneof![Just(1.0), 0.5..2.0_f64], 2..7),
        steps in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<prop::sample::Index>(), 1..4), 0..3_u32, 0..20_u32), 1..60),
    ) {
        let mut sharing = Sharing::new(capacities.iter().copied());
        let mut delays = DelayAttribution::new(&capacities, capacities.len());
        let mut seen: Vec<Seen> = Vec::new();
        let mut now = 0.0;
        for (number, (leaves, route, owner, wait)) in steps.iter().enumerate() {
            let time = f64::from(*wait) * 0.37;
            for at in 0..seen.len() {
                let (class, me) = (seen[at].class, seen[at].owner);
                let (rate, link) = (sharing.rate(class), sharing.bottleneck(class).unwrap());
                let alone = seen[at].route.iter().map(|link| capacities[*link as usize]).fold(f64::INFINITY, f64::min);
                let mut others = [0.0; 3];
                for other in seen.iter().filter(|other| other.route.contains(&link)) {
                    others[other.owner as usize] += sharing.rate(other.class);
                }
                others[me as usize] -= rate;
                let all: f64 = others.iter().sum();
                seen[at].own += time * rate / alone;
                if all > 1e-9 {
                    (0..3).for_each(|owner| seen[at].by[owner] += time * (1.0 - rate / alone) * others[owner] / all);
                }
            }
            now += time;
            if *leaves && !seen.is_empty() {
                let gone = seen.remove(route[0].index(seen.len()));
                let flow = Flow { key: gone.key, ..Flow::default() };
                delays.leave(gone.class.0, &flow, &gone.route, true, now);
                sharing.leave(gone.class);
                let (own, by) = sums(&delays.take(gone.key));
                let life = now - gone.born;
                prop_assert!((own - gone.own).abs() <= 1e-6 * life, "{} instead of {}", own, gone.own);
                for owner in 0..3_u32 {
                    let found = by.iter().find(|(by, _)| *by == owner).map_or(0.0, |(_, time)| *time);
                    prop_assert!((found - gone.by[owner as usize]).abs() <= 1e-6 * life, "{by:?} instead of {:?}", gone.by);
                }
                prop_assert!((own + by.iter().map(|(_, time)| time).sum::<f64>() - life).abs() <= 1e-9 * life.max(1.0));
            } else {
                let mut links: Vec<u32> = route.iter().map(|link| link.index(capacities.len()) as u32).collect();
                links.sort_unstable();
                links.dedup();
                let route = sharing.add_route(links.iter().copied());
                let class = sharing.open(route, 1.0, None);
                delays.belong(*owner, (0, 0));
                delays.start(number as u32);
                delays.open(class.0, number as u32, f64::INFINITY, &links, now);
                let (own, by, born) = (0.0, [0.0; 3], now);
                seen.push(Seen { class, key: number as u32, owner: *owner, route: links, own, by, born });
            }
            sharing.solve();
            delays.follow(&sharing, now);
        }
    }

    /// What a flow needs itself is its bytes over the least capacity of its route; with what it
    /// loses that is its time. Nothing changes by asking.
    #[test]
    fn delays_are_the_time_of_a_flow(
        flows in prop::collection::vec((0..40_000_000_u64, 0..6_u32, 0..6_u32, 0..5_000_u64), 1..40),
        order in prop::sample::select(vec![Order::Connection, Order::Adapter, Order::None]),
    ) {
        // A host has one owner, as jobs do not share hosts.
        let flows: Vec<_> = flows.into_iter().map(|(start, src, dst, bytes)| (src % 3, start, src, dst, bytes)).collect();
        let net = drawn("h0-s0 h1-s0 h2-s0 h3-s1 h4-s1 h5-s1 s0-s1");
        let found = play(&net, &flows, order, true);
        let plain = play(&net, &flows, order, false);
        for (((_, start, src, dst, bytes), (end, delays)), (same, nothing)) in flows.iter().zip(&found).zip(&plain) {
            prop_assert_eq!(end.to_bits(), same.to_bits());
            prop_assert!(nothing.is_empty());
            let (own, by) = sums(delays);
            let expected = if src == dst { 0.0 } else { *bytes as f64 * 8000.0 };
            prop_assert!((own - expected).abs() <= 1e-3, "{own} instead of {expected}");
            let all = own + by.iter().map(|(_, time)| time).sum::<f64>();
            prop_assert!((all - (end - *start as f64)).abs() <= 1e-2, "{all} of {}", end - *start as f64);
        }
    }
}

/// Three flows into host 1 from the beginning: 3 000 bytes of owner 5, 1 000 and 2 000 of owner 6.
/// A third of the link each, then a half, then all.
#[test]
fn the_competing_pair_is_the_one_that_sent_most() {
    let net = drawn("h0-s0 h1-s0 h2-s0 h3-s0");
    let options = FlowOptions::default();
    let mut network = FlowNetwork::new(&net, router(&Choice::plain("dmodk"), 1).unwrap(), &options);
    network.attribute_delays();
    for (key, (owner, src, bytes)) in (0..).zip([(5, 0, 3000), (6, 2, 1000), (6, 3, 2000)]) {
        // Ranks are not hosts.
        network.belong(owner, (10 * src, 10));
        network.start(0, (HostId(src), HostId(1)), bytes, None, key).unwrap();
    }
    let into = net.incoming(net.host(HostId(1)))[0];
    let other = net.incoming(net.host(HostId(0)))[0];
    let loss = |link, by, from, to, own| Loss { link, by, from, to, own };
    let all = [
        loss(into, 6, 0.0, 8e6, None),
        loss(other, 6, 8e6, 9e6, None),
        loss(into, 7, 9e6, 10e6, None),
        // Alone of its owner; and what the others of the same owner did.
        loss(into, 5, 10e6, 16e6, Some(((0, 10), 3000.0 * 6.0 / 48.0))),
        loss(into, 6, 16e6, 48e6, Some(((30, 10), 2000.0 * 32.0 / 40.0))),
    ];
    // They have begun, and each has a third so far: the first of equal ones.
    network.advance(12_000_000, |_, _| {});
    assert_eq!(network.competing_pairs(&all[..1]), [Some((20, 10))]);
    network.advance(Picoseconds::MAX, |_, _| {});
    let found = network.competing_pairs(&all);
    assert_eq!(found, [Some((30, 10)), None, None, None, Some((20, 10))]);
    // What has been forgotten has no rivals; the last flow ended at 48 µs.
    network.forget(41_000_000);
    assert_eq!(network.competing_pairs(&all[..1]), [None]);
    assert_eq!(network.competing_pairs(&[loss(into, 5, 41e6, 48e6, None)]), [Some((0, 10))]);
}
