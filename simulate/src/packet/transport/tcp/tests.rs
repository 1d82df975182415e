//! TCP over networks that can be computed by hand, and against published laws.

use crate::engine::Picoseconds;
use crate::packet::tests::{makespan, message, network, simulation};
use crate::packet::transport::Tcp;
use crate::packet::transport::tcp::Congestion;
use crate::packet::{FabricOptions, LinkTraffic, Message};
use crate::topology::sketch::sketch;
use crate::topology::{HostId, PortOrder, Topology};

const MS: Picoseconds = 1_000_000_000;
const S: Picoseconds = 1000 * MS;
/// Payload and bytes on the wire of a full packet at MTU 1500.
const PAYLOAD: u64 = 1448;
const WIRE: u64 = 1538;

fn both() -> [Tcp; 2] {
    [Congestion::Reno, Congestion::Cubic].map(|congestion| Tcp { congestion, ..Tcp::default() })
}

/// Once slow start has filled the link, 1448 of 1538 bytes are the program's.
#[test]
fn goodput_is_payload_over_wire() {
    let net = network("h0-s0 h1-s0", 0.1, 10_000_000, 0);
    let bytes = 20_000_000_u64;
    let line = bytes.div_ceil(PAYLOAD) * WIRE * 80_000;
    for tcp in both() {
        let took = makespan(&net, &FabricOptions::default(), tcp, &[message(0, 1, bytes)]);
        assert!(took > line && took < line + line / 200, "{tcp:?}: {took} {line}");
    }
}

/// A round trip takes 100 ms, and the link is so fast that packets take no time. So each window, of
/// 10, 20, 40 packets and so on, arrives half a round trip after it was sent.
#[test]
fn slow_start_doubles_in_each_round_trip() {
    let net = network("h0-h1", 1000.0, 50 * MS, 0);
    for tcp in both() {
        // An acknowledgement of each packet, so that none waits for a second one.
        let tcp = Tcp { ack_delay: 0, ..tcp };
        for rounds in 1..7_u32 {
            let packets = 10 * ((1_u32 << rounds) - 1);
            for (packets, halves) in [(packets, 2 * rounds - 1), (packets + 1, 2 * rounds + 1)] {
                let bytes = u64::from(packets) * PAYLOAD;
                let took = makespan(&net, &FabricOptions::default(), tcp, &[message(0, 1, bytes)]);
                let expected = u64::from(halves) * 50 * MS;
                assert!(took >= expected && took < expected + MS, "{packets}: {took} {expected}");
            }
        }
    }
}

/// The law of Mathis and others (1997), 1.22/√p packets, where losses are random: their
/// measurements are within about a quarter of it. What precedes the first losses is left out.
#[test]
fn reno_follows_the_square_root_law() {
    let round_trip = 20 * MS;
    let net = network("h0-h1", 10.0, round_trip / 2, 0);
    let reno = Tcp { congestion: Congestion::Reno, ack_delay: 0, ..Tcp::default() };
    for p in [0.0005, 0.002, 0.008] {
        let packets = 40_000_u64;
        let messages = [message(0, 1, 20_000 * PAYLOAD), message(0, 1, packets * PAYLOAD)];
        let mut windows = Vec::new();
        for seed in 1..4 {
            let options = FabricOptions { loss: p, seed, ..FabricOptions::default() };
            let arrivals = simulation(&net, &options, reno).carry(&messages, None).unwrap();
            let took = arrivals[1].unwrap() - arrivals[0].unwrap();
            windows.push(packets as f64 * round_trip as f64 / took as f64);
        }
        let window = windows.iter().sum::<f64>() / 3.0;
        let law = 1.22 / f64::sqrt(p);
        assert!((window / law - 1.0).abs() < 0.25, "{p}: {window} packets, {law} by the law");
    }
}

/// Three packets that follow a lost one show it, and it is sent again a round trip later.
#[test]
fn what_is_lost_is_repaired_without_timers() {
    let net = network("h0-h1", 0.1, MS / 2, 0);
    let bytes = 20_000_000_u64;
    let options = FabricOptions { loss: 1e-3, seed: 5, ..FabricOptions::default() };
    for tcp in both() {
        let mut run = simulation(&net, &options, tcp);
        let took = run.carry(&[message(0, 1, bytes)], None).unwrap()[0].unwrap();
        let lost = run.fabric.traffic()[0].losses;
        let resent = crate::packet::Carrier::retransmits(&run.carrier);
        assert!(lost > 5 && resent == lost, "{tcp:?}: {resent} of {lost}");
        // A timer would take 200 ms.
        let line = bytes.div_ceil(PAYLOAD) * WIRE * 80_000;
        assert!(took < line + 150 * MS, "{tcp:?}: {took} {line}");
    }
}

/// Nobody answers: packets are sent after 1 s, 2 s more, 4 s more, … (RFC 6298, sections 2.1, 5.5).
#[test]
fn timeouts_double() {
    let net = network("h0-h1", 1.0, MS, 0);
    let options = FabricOptions { loss: 0.999_999_999, ..FabricOptions::default() };
    for (limit, copies) in [(999, 1), (1001, 2), (2999, 2), (3001, 3), (7001, 4), (15_001, 5)] {
        let mut run = simulation(&net, &options, Tcp::default());
        assert_eq!(run.carry(&[message(0, 1, 100)], Some(limit * MS)).unwrap(), [None]);
        let sent = run.fabric.traffic().iter().map(|link| link.packets).max();
        assert_eq!(sent, Some(copies), "{limit} ms");
    }
}

/// The last packet is lost and nothing follows that shows it: 200 ms beyond the round trip.
#[test]
fn a_tail_waits_for_the_timer() {
    let net = network("h0-h1", 1.0, MS, 0);
    let tcp = Tcp { ack_delay: 0, ..Tcp::default() };
    let mut waited = Vec::new();
    for seed in 0..400 {
        let options = FabricOptions { loss: 0.05, seed, ..FabricOptions::default() };
        let mut run = simulation(&net, &options, tcp);
        let took = run.carry(&[message(0, 1, 3 * PAYLOAD)], None).unwrap()[0].unwrap();
        if took > 100 * MS {
            waited.push(took);
        }
    }
    // A seventh of all has a loss. The timeout is 1 s without a sample, 200 ms and more with one.
    assert!(waited.len() > 30, "{}", waited.len());
    let short = waited.iter().filter(|took| **took < 250 * MS).count();
    assert!(short > 10 && waited.iter().all(|took| *took > 200 * MS), "{waited:?}");
}

#[test]
fn two_flows_share_a_link() {
    let net = network("h0-s0 h1-s0 h2-s0", 0.1, MS, 0);
    let options = FabricOptions { buffer: Some(60_000), ..FabricOptions::default() };
    for tcp in both() {
        let mut run = simulation(&net, &options, tcp);
        let messages = [message(1, 0, 200_000_000), message(2, 0, 200_000_000)];
        run.carry(&messages, Some(15 * S)).unwrap();
        let traffic = run.fabric.traffic();
        let sent = |host: u32| -> &LinkTraffic {
            let link = net.outgoing(net.host(HostId(host)))[0];
            &traffic[link.0 as usize]
        };
        let (a, b) = (sent(1).bytes as f64, sent(2).bytes as f64);
        assert!((a / b - 1.0).abs() < 0.3, "{tcp:?}: {a} {b}");
        // Together they fill it, but for what waits and what was dropped.
        assert!(a + b > 15.0 * 12.5e6 * 0.97, "{tcp:?}: {a} {b}");
    }
}

/// A message to another host takes its turn on the wire, or waits for what its host has queued.
#[test]
fn a_host_queue_is_first_come_first_served() {
    let net = network("h0-s0 h1-s0 h2-s0", 0.1, 0, 0);
    let (packets, late) = (200_u64, Message { start: MS, ..message(0, 2, PAYLOAD) });
    for (host_queue, ahead) in [(0, 1), (1 << 20, packets)] {
        let tcp = Tcp { host_queue, initial_window: 1000, ..Tcp::default() };
        let mut run = simulation(&net, &FabricOptions::default(), tcp);
        let arrivals = run.carry(&[message(0, 1, packets * PAYLOAD), late], None).unwrap();
        // It passes two links, after the packets ahead of it have passed the first one.
        let packet = WIRE * 80_000;
        let sent = if host_queue == 0 { MS } else { 0 };
        let expected = sent + (ahead + 2) * packet;
        assert!(arrivals[1].unwrap().abs_diff(expected) <= packet, "{host_queue}: {arrivals:?} {expected}");
    }
}

/// The receiver's window is all that a connection has in the network: window / round trip.
#[test]
fn a_small_window_bounds_the_rate() {
    let net = network("h0-h1", 10.0, 5 * MS, 0);
    let tcp = Tcp { receive_window: 40 * PAYLOAD, ack_delay: 0, ..Tcp::default() };
    let packets = 4000_u64;
    let took = makespan(&net, &FabricOptions::default(), tcp, &[message(0, 1, packets * PAYLOAD)]);
    let expected = packets / 40 * 10 * MS;
    assert!(took.abs_diff(expected) < expected / 20, "{took} {expected}");
}

/// A queue of 780 packets overflows in slow start; HyStart++ ends it before (RFC 9406), at 4 ms or
/// 33 packets of queue, after which the window grows threefold at most.
#[test]
fn cubic_leaves_slow_start_before_the_queue_is_full() {
    let mut graph = sketch("h0-s0 h1-s0");
    for (gbps, link) in [0.1, 0.1, 1.0, 1.0].into_iter().zip(graph.edge_weights_mut()) {
        (link.capacity, link.latency_ps) = (gbps, MS);
    }
    let net = Topology::freeze("net", graph, PortOrder::Name, 0).unwrap();
    let options = FabricOptions { buffer: Some(1_200_000), ..FabricOptions::default() };
    let drops = both().map(|tcp| {
        let mut run = simulation(&net, &options, tcp);
        assert!(run.carry(&[message(1, 0, 5_000_000)], None).unwrap()[0].is_some());
        run.fabric.traffic().iter().map(|link| link.drops).sum::<u64>()
    });
    assert!(drops[0] > 0 && drops[1] == 0, "{drops:?}");
}

/// After a pause longer than the timeout a connection begins again with its initial window.
#[test]
fn a_pause_resets_the_window() {
    let net = network("h0-h1", 1000.0, 50 * MS, 0);
    let tcp = Tcp { ack_delay: 0, ..Tcp::default() };
    let burst = |start: Picoseconds, packets: u64| Message { start, ..message(0, 1, packets * PAYLOAD) };
    for (pause, rounds) in [(100 * MS, 1), (2 * S, 2)] {
        let first = 5 * 50 * MS + 60 * MS;
        let start = first + pause;
        let arrivals = simulation(&net, &FabricOptions::default(), tcp)
            .carry(&[burst(0, 70), burst(start, 30)], None)
            .unwrap();
        let took = arrivals[1].unwrap() - start;
        let expected = (2 * rounds - 1) * 50 * MS;
        assert!(took >= expected && took < expected + MS, "{pause}: {took} {expected}");
    }
}
