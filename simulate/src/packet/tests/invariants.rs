//! What holds whatever happens: random networks, messages, buffers, losses, second copies.

use proptest::prelude::*;

use super::*;
use crate::packet::transport::tcp::Congestion;
use crate::packet::transport::{Dctcp, Ideal, Roce, Tcp};
use crate::topology::Failure;

/// Leaves and spines with links of unlike speed and latency, so that events hardly ever coincide.
fn leaf_spine(leaves: usize, spines: usize, hosts: usize, seed: u64) -> Topology {
    let mut text = String::new();
    for leaf in 0..leaves {
        (0..hosts).for_each(|host| text += &format!("h{leaf}x{host}-l{leaf} "));
        (0..spines).for_each(|spine| text += &format!("l{leaf}-s{spine} "));
    }
    let mut graph = sketch(&text);
    for (i, link) in graph.edge_weights_mut().enumerate() {
        let random = chance::mix(seed ^ i as u64);
        link.capacity = [10.0, 25.0, 40.0, 100.0][random as usize % 4];
        link.latency_ps = 100_000 + (random >> 32) % 2_000_000;
    }
    freeze(graph, 0)
}

#[derive(Clone, Debug)]
struct Case {
    network: Topology,
    options: FabricOptions,
    messages: Vec<Message>,
}

fn case(loses: bool) -> impl Strategy<Value = Case> {
    let messages = prop::collection::vec((0_u64..50_000_000, 0_u32..64, 1_u32..64, 0_u64..200_000), 1..40);
    let faults = (0.0_f64..0.05, prop_oneof![Just(0.0), 0.0_f64..0.2]);
    let lossy = (faults, prop::option::of(20_000_u64..200_000), any::<bool>());
    let paths = prop_oneof![Just(Paths::Flow), Just(Paths::Spray)];
    let extras = (prop::option::of(0_u64..50_000), prop_oneof![Just(0_u64), 0_u64..3_000_000], paths);
    ((1_usize..4, 1_usize..4, 1_usize..4), messages, lossy, extras, any::<u64>()).prop_map(
        move |(
            (leaves, spines, hosts),
            messages,
            ((loss, duplicate), buffer, is_shared),
            (mark, reorder_ps, paths),
            seed,
        )| {
            let network = leaf_spine(leaves, spines, hosts.max(2), seed);
            let hosts = network.host_count() as u32;
            let mut messages: Vec<Message> = messages
                .into_iter()
                .map(|(start, src, step, bytes)| {
                    let (src, step) = (src % hosts, 1 + step % (hosts - 1));
                    Message { start, src: HostId(src), dst: HostId((src + step) % hosts), bytes }
                })
                .collect();
            messages.sort_by_key(|message| message.start);
            let options = FabricOptions {
                buffer: buffer.filter(|_| loses),
                shared: (is_shared && loses).then_some(1.0),
                marking: mark.map(Marking::above),
                loss: if loses { loss } else { 0.0 },
                duplicate: if loses { duplicate } else { 0.0 },
                reorder_ps,
                paths,
                seed,
                ..FabricOptions::default()
            };
            Case { network, options, messages }
        },
    )
}

/// Arrivals, traffic, and how often a packet arrived when something else happened.
type Run = (Vec<Option<u64>>, Vec<LinkTraffic>, u32);

/// Runs to the end, watching.
fn check<T: Transport>(case: &Case, transport: T) -> Result<Run, TestCaseError> {
    let mut run = simulation(&case.network, &case.options, transport);
    let arrivals = run.carry(&case.messages, None).unwrap();
    prop_assert!(arrivals.iter().all(Option::is_some), "a message is missing");
    let traffic = check_end(case, &mut run)?;

    // Of one pair of hosts, messages arrive in order.
    for (i, first) in case.messages.iter().enumerate() {
        for (j, second) in case.messages.iter().enumerate().skip(i + 1) {
            if (first.src, first.dst) == (second.src, second.dst) {
                prop_assert!(arrivals[i] <= arrivals[j]);
            }
        }
    }
    Ok((arrivals, traffic, run.fabric.ties))
}

/// Checks a network whose messages have arrived; returns its traffic.
fn check_end<T: Transport>(
    case: &Case,
    run: &mut Simulation<'_, Stack<T>>,
) -> Result<Vec<LinkTraffic>, TestCaseError> {
    // Whatever is still on its way: acknowledgements, second copies.
    while run.fabric.step(&mut run.carrier) {}
    prop_assert!(run.carrier.delivered().is_empty(), "a message arrived twice");
    prop_assert_eq!(run.fabric.packets(), 0, "a packet stayed in the network");

    // What comes into a switch leaves it or is dropped there; what leaves a host and is not lost
    // arrives. A packet that is lost on its last link may still be on its way onto that when
    // nothing is left to happen.
    let traffic = run.fabric.take_traffic(u64::MAX);
    let at = |link: &crate::topology::LinkId| &traffic[link.0 as usize];
    for node in (0..case.network.node_count() as u32).map(crate::topology::NodeId) {
        if !case.network.is_switch(node) {
            continue;
        }
        let (ins, outs) = (case.network.incoming(node), case.network.outgoing(node));
        let came: u64 = ins.iter().map(|link| at(link).packets + at(link).duplicates - at(link).losses).sum();
        let went: u64 = outs.iter().map(|link| at(link).packets + at(link).drops).sum();
        prop_assert_eq!(came, went);
        let came: u64 =
            ins.iter().map(|link| at(link).bytes + at(link).duplicate_bytes - at(link).lost_bytes).sum();
        let went: u64 = outs.iter().map(|link| at(link).bytes + at(link).dropped_bytes).sum();
        prop_assert_eq!(came, went);
    }
    if let Some(buffer) = case.options.buffer {
        // Percentiles are known to a quarter.
        prop_assert!(
            traffic
                .iter()
                .all(|link| link.queue_max.is_none_or(|queue| queue <= buffer * 5 / 4 + 1500)
                    || link.drops == 0)
        );
    }
    Ok(traffic)
}

/// The same where links fail in the course of it.
fn check_failing<T: Transport>(case: &Case, transport: T) -> Result<Vec<Option<u64>>, TestCaseError> {
    let mut run = simulation(&case.network, &case.options, transport);
    let (mut arrivals, mut delivered) = (vec![None; case.messages.len()], Vec::new());
    let mut reach = |run: &mut Simulation<'_, Stack<T>>, time: u64| {
        while run.run(time, &mut delivered) && !delivered.is_empty() {
            delivered.drain(..).for_each(|key| arrivals[key as usize] = Some(run.fabric.now()));
        }
        delivered.drain(..).for_each(|key| arrivals[key as usize] = Some(run.fabric.now()));
    };
    let mut changes = case.network.changes().iter().peekable();
    for (key, message) in (0..).zip(&case.messages) {
        while let Some(change) = changes.next_if(|change| change.at_ps <= message.start) {
            reach(&mut run, change.at_ps);
            run.fabric.fail(change.at_ps, &change.topology);
        }
        reach(&mut run, message.start);
        run.start(message.src, message.dst, message.bytes, key).unwrap();
    }
    for change in changes {
        reach(&mut run, change.at_ps);
        run.fabric.fail(change.at_ps, &change.topology);
    }
    reach(&mut run, u64::MAX);
    prop_assert!(arrivals.iter().all(Option::is_some), "a message is missing");
    check_end(case, &mut run)?;
    Ok(arrivals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A spine fails; what is on its way over it is lost, counted and sent again.
    #[test]
    fn messages_arrive_though_a_spine_fails(mut case in case(true), at_ns in 1_u64..60_000) {
        let failure = Failure::parse(&format!("s0@{at_ns}ns")).unwrap();
        let Ok(network) = case.network.clone().with_failures(&[failure]) else { return Ok(()) };
        case.network = network;
        let is_reordered = case.options.paths == Paths::Spray;
        let dctcp = Dctcp { is_reordered, ..Dctcp::default() };
        prop_assert_eq!(check_failing(&case, dctcp)?, check_failing(&case, dctcp)?, "not deterministic");
        let roce = Roce::default();
        prop_assert_eq!(check_failing(&case, roce)?, check_failing(&case, roce)?, "not deterministic");
        let tcp = Tcp { is_reordered, ..Tcp::default() };
        prop_assert_eq!(check_failing(&case, tcp)?, check_failing(&case, tcp)?, "not deterministic");
    }

    #[test]
    fn nothing_is_created_and_nothing_lost_unseen(case in case(true)) {
        let dctcp = Dctcp { is_reordered: case.options.paths == Paths::Spray, ..Dctcp::default() };
        let once = check(&case, dctcp)?;
        prop_assert_eq!(once, check(&case, dctcp)?, "not deterministic");
        let roce = Roce::default();
        prop_assert_eq!(check(&case, roce)?, check(&case, roce)?, "not deterministic");
        for congestion in [Congestion::Reno, Congestion::Cubic] {
            let is_reordered = case.options.paths == Paths::Spray;
            let tcp = Tcp { congestion, is_reordered, ..Tcp::default() };
            prop_assert_eq!(check(&case, tcp)?, check(&case, tcp)?, "not deterministic");
        }
    }

    #[test]
    fn without_loss_nothing_is_sent_twice(case in case(false)) {
        let (_, traffic, _) = check(&case, Ideal { mtu: 1000 })?;
        let sent: u64 = case.messages.iter().map(|message| message.bytes).sum();
        let links_to_hosts = (0..case.network.link_count() as u32).map(crate::topology::LinkId)
            .filter(|link| !case.network.is_switch(case.network.dst(*link)));
        prop_assert_eq!(links_to_hosts.map(|link| traffic[link.0 as usize].bytes).sum::<u64>(), sent);
    }

    /// The engine that moves packets from queue to queue, with an event per departure, is the
    /// oracle of the one that computes departures.
    #[test]
    fn computed_departures_are_those_of_kept_queues(mut case in case(true)) {
        case.options.shared = None;
        let dctcp = Dctcp { is_reordered: case.options.paths == Paths::Spray, ..Dctcp::default() };
        // What sprayed packets draw depends on the order of all departures.
        case.options.paths = Paths::Flow;
        let computed = check(&case, dctcp)?;
        case.options.pause = Some(Pause { stop: u64::MAX, go: 0 });
        let kept = check(&case, dctcp)?;
        // Of two packets that arrive in the same picosecond the one that was set off first comes
        // first: when its departure was computed, or when it departed.
        prop_assume!(computed.2 == 0 && kept.2 == 0);
        prop_assert_eq!(&computed, &kept);
    }
}

/// Sends numbered packets of all sizes between all hosts and looks at their order.
struct Numbered {
    next: Vec<u32>,
}

impl Program for Numbered {
    fn receive(&mut self, _: &mut Fabric<'_>, _: HostId, packet: Packet) {
        let next = &mut self.next[packet.flow as usize];
        assert_eq!(packet.seq, *next, "a packet overtook another one of its flow");
        *next += 1;
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        let [flow, seq] = timer.words;
        let hosts = fabric.topology().host_count() as u32;
        let (src, dst) = (flow / hosts, flow % hosts);
        let route = fabric.route(HostId(src), HostId(dst));
        let wire = 84 + (chance::mix(u64::from(flow ^ seq << 8)) % 9000) as u32;
        fabric.send(Packet { route, dst, flow, seq, wire, ..Packet::default() });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Links and queues keep the order of packets, in both kinds of queues.
    #[test]
    fn nothing_overtakes_without_being_told_to(mut case in case(false), keeps in any::<bool>()) {
        (case.options.reorder_ps, case.options.paths) = (0, Paths::Flow);
        case.options.pause = keeps.then_some(Pause { stop: 30_000, go: 10_000 });
        let mut fabric = Fabric::new(&case.network, &case.options);
        let hosts = case.network.host_count() as u32;
        let mut program = Numbered { next: vec![0; (hosts * hosts) as usize] };
        for (flow, seq) in (0..hosts * hosts).flat_map(|flow| (0..20).map(move |seq| (flow, seq))) {
            if flow / hosts != flow % hosts {
                fabric.call_at(u64::from(seq) * 700_000, Timer { kind: 0, words: [flow, seq] });
            }
        }
        while fabric.step(&mut program) {}
        prop_assert!(fabric.stuck().is_empty() && fabric.packets() == 0);
        let ended = (0..).zip(&program.next).all(|(flow, next)| *next == if flow / hosts == flow % hosts { 0 } else { 20 });
        prop_assert!(ended);
    }
}
