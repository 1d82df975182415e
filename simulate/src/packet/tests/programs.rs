//! Programs at switches: the smallest aggregation that can be thought of, and what is refused.

use phaseflow_collect::choice::Choice;

use super::*;
use crate::packet::transport::TransportChoice;
use crate::topology::{LinkId, NodeId};

/// Each host sends one packet with a number in a word to host 0; the switch keeps them, and once
/// all are there sends the sum to everyone, twice: at once and, from a timer, a while later.
struct Sum {
    switch: NodeId,
    missing: u32,
    total: u32,
    received: Vec<(Picoseconds, u32, u32)>,
}

const LATER: Picoseconds = 7_000_000;

impl Sum {
    fn multicast(&self, fabric: &mut Fabric<'_>) {
        for host in 0..fabric.topology().host_count() as u32 {
            let link = fabric.ways(self.switch, HostId(host))[0];
            let packet =
                Packet { route: fabric.hashed_route(), dst: host, wire: 1000, kind: 1, ..Packet::default() };
            fabric.send_on(link, Packet { words: [self.total, 0, 0, 0], ..packet });
        }
    }
}

impl Program for Sum {
    const AT_SWITCHES: bool = true;

    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet) {
        assert_eq!((packet.dst, packet.kind), (host.0, 1));
        self.received.push((fabric.now(), host.0, packet.words[0]));
    }

    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        if switch != self.switch || packet.kind == 1 {
            return Verdict::Forward;
        }
        self.total += packet.words[0];
        self.missing -= 1;
        if self.missing == 0 {
            self.multicast(fabric);
            fabric.call_at(fabric.now() + LATER, Timer { kind: 3, words: [1, 2] });
        }
        Verdict::Consume
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        assert_eq!(timer, Timer { kind: 3, words: [1, 2] });
        self.multicast(fabric);
    }
}

#[test]
fn a_switch_sums_and_multicasts() {
    // Two racks below the summing switch.
    let net = network("h0-a h1-a h2-b h3-b a-t b-t", 10.0, 1_000_000, 0);
    let top = (0..net.node_count() as u32).map(NodeId).find(|node| net.node(*node).name == "t").unwrap();
    let mut fabric = Fabric::new(&net, &FabricOptions::default());
    let mut sum = Sum { switch: top, missing: 4, total: 0, received: Vec::new() };
    for host in 0..4 {
        // Host 2 and 3 pass the top on their way to 0, and so do 0 and 1 on theirs to 2.
        let dst = if host < 2 { 2 } else { 0 };
        let route = fabric.route(HostId(host), HostId(dst));
        fabric.send(Packet { route, dst, wire: 1000, words: [10 + host, 0, 0, 0], ..Packet::default() });
    }
    while fabric.step(&mut sum) {}
    // Up: the second packet of a rack waits for the first one. Down: two links, the second copy of
    // a rack waits likewise.
    let packet = 800_000;
    let up = 2 * (packet + 1_000_000) + packet;
    let down = up + 2 * (packet + 1_000_000);
    let expected: Vec<(Picoseconds, u32, u32)> = [0, LATER]
        .into_iter()
        .flat_map(|later| [0, 2, 1, 3].map(|host| (down + later + u64::from(host % 2) * packet, host, 46)))
        .collect();
    assert_eq!(sum.received, expected);
    assert_eq!((fabric.packets(), fabric.pending()), (0, 0));
}

fn try_one(
    options: &FabricOptions,
    transport: &str,
    messages: &[Message],
) -> phaseflow_collect::Result<Outcome> {
    let net = network("h0-s0 h1-s0", 10.0, 1_000_000, 0);
    let transport = TransportChoice::new(&Choice::parse(transport)?, None, options.paths)?;
    simulate(&net, options, &transport, None, messages, Some(1_000_000_000_000))
}

#[test]
fn all_transports_carry_messages() {
    for transport in ["ideal", "dctcp", "roce", "usnic-2013", "usnic-4.1", "tcp"] {
        let messages = [
            message(0, 1, 1_000_000),
            message(1, 0, 10),
            Message { start: 5_000_000_000, ..message(0, 1, 1) },
        ];
        let outcome = try_one(&FabricOptions::default(), transport, &messages).unwrap();
        assert!(
            outcome.arrivals[0] > Some(800_000_000) && outcome.arrivals[0] < Some(1_000_000_000),
            "{transport}"
        );
        assert!(outcome.arrivals[1] < Some(20_000_000), "{transport}");
        assert!(outcome.arrivals[2] > Some(5_000_000_000), "{transport}");
        assert_eq!((outcome.retransmits, outcome.stuck), (0, vec![]));
    }
}

#[test]
fn a_limit_ends_what_cannot_end() {
    let options = FabricOptions { loss: 0.999_999, ..FabricOptions::default() };
    for transport in ["dctcp", "roce", "usnic-4.1", "tcp"] {
        let outcome = try_one(&options, transport, &[message(0, 1, 10)]).unwrap();
        assert_eq!((outcome.arrivals, outcome.ended), (vec![None], 1_000_000_000_000), "{transport}");
        assert!(outcome.retransmits > 0);
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let good = FabricOptions::default();
    let cases = [
        (FabricOptions { loss: 1.0, ..good }, "dctcp", "loss is 1, expected a probability below 1"),
        (
            FabricOptions { loss: 0.1, ..good },
            "ideal",
            "transport `ideal` cannot recover what is lost: without loss and buffer, or another transport",
        ),
        (
            FabricOptions { buffer: Some(1500), ..good },
            "dctcp",
            "buffer is 1500 bytes, expected at least the largest packet, 1538 bytes",
        ),
        (
            FabricOptions { shared: Some(1.0), ..good },
            "dctcp",
            "ports share a buffer, but its size is not given",
        ),
        (
            FabricOptions { pause: Some(Pause { stop: 1, go: 2 }), ..good },
            "roce",
            "links stop above 1 bytes and go on at 2, expected fewer",
        ),
        (
            FabricOptions { pause: Some(Pause { stop: 2, go: 1 }), ..good },
            "usnic-4.1",
            "usNIC over a network with pauses is not modelled",
        ),
    ];
    for (options, transport, expected) in cases {
        assert_eq!(try_one(&options, transport, &[]).unwrap_err().to_string(), expected);
    }
    let error = try_one(&good, "ideal", &[message(1, 1, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "message 0 goes from host 1 to host 1, expected two of 2 hosts");
    let error =
        try_one(&good, "ideal", &[Message { start: 3, ..message(0, 1, 1) }, message(0, 1, 1)]).unwrap_err();
    assert_eq!(error.to_string(), "message 1 starts at 0 ps, the one before at 3 ps");
}

#[test]
fn routes_are_followed_or_refused() {
    let net = network("h0-a a-b a-c b-d c-d h1-d", 10.0, 0, 0);
    let link = |from: &str, to: &str| {
        let named =
            |link: &LinkId| (net.node(net.src(*link)).name.as_str(), net.node(net.dst(*link)).name.as_str());
        (0..net.link_count() as u32).map(LinkId).find(|link| named(link) == (from, to)).unwrap()
    };
    for via in ["b", "c"] {
        let mut routes = crate::routing::Routes::default();
        [("h0", "a"), ("a", via), (via, "d"), ("d", "h1")]
            .iter()
            .for_each(|(a, b)| routes.push_link(link(a, b)));
        routes.end_route();
        let pairs = [(HostId(0), HostId(1))];
        let ideal = TransportChoice::Ideal(transport::Ideal { mtu: 1000 });
        let options = FabricOptions::default();
        let messages = [message(0, 1, 10_000)];
        let outcome = simulate(&net, &options, &ideal, Some((&pairs, &routes)), &messages, None).unwrap();
        assert_eq!(outcome.links[link("a", via).0 as usize].packets, 10);
        let back = [(HostId(1), HostId(0))];
        let error = simulate(&net, &options, &ideal, Some((&back, &routes)), &[], None).unwrap_err();
        assert_eq!(error.to_string(), "route from host 1 to 0: link 0 does not leave h1");
    }
}

#[test]
fn messages_can_be_started_while_time_goes_on() {
    let net = network("h0-s0 h1-s0", 10.0, 1_000_000, 0);
    let mut run = simulation(&net, &FabricOptions::default(), transport::Ideal { mtu: 1000 });
    let mut delivered = Vec::new();
    // 1000 bytes take 0.8 µs and 1 µs on each of two links.
    run.advance(10_000_000, &mut delivered);
    run.start(HostId(0), HostId(1), 1000, 7).unwrap();
    run.start(HostId(1), HostId(0), 1000, 8).unwrap();
    assert!(run.fabric.next_time() <= Some(13_600_000));
    run.advance(13_599_999, &mut delivered);
    assert_eq!((run.fabric.now(), &delivered[..]), (13_599_999, &[][..]));
    run.start(HostId(0), HostId(1), 1000, 9).unwrap();
    run.advance(13_600_000, &mut delivered);
    assert_eq!((run.fabric.now(), &delivered[..]), (13_600_000, &[7, 8][..]));
    run.advance(90_000_000, &mut delivered);
    assert_eq!((run.fabric.now(), &delivered[..]), (90_000_000, &[7, 8, 9][..]));
    assert_eq!(run.fabric.next_time(), None);
}
