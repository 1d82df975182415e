//! Times that can be written down.

use super::*;
use crate::packet::transport::{Dctcp, Ideal, Roce};

const IDEAL: Ideal = Ideal { mtu: 1000 };
/// Picoseconds of 1000 bytes at 10 Gbit/s.
const PACKET: u64 = 800_000;

#[test]
fn one_packet_is_stored_and_forwarded_at_each_switch() {
    for (text, links) in [("h0-s0 h1-s0", 2), ("h0-s0 s0-s1 h1-s1", 3), ("h0-s0 s0-s1 s1-s2 s2-s3 h1-s3", 5)]
    {
        let net = network(text, 10.0, 5_000_000, 300_000);
        let took = makespan(&net, &FabricOptions::default(), IDEAL, &[message(0, 1, 1000)]);
        assert_eq!(took, links * (PACKET + 5_000_000) + (links - 1) * 300_000);
    }
}

#[test]
fn a_stream_fills_the_wire() {
    let net = network("h0-s0 s0-s1 h1-s1", 10.0, 5_000_000, 0);
    let took = makespan(&net, &FabricOptions::default(), IDEAL, &[message(0, 1, 500_000)]);
    assert_eq!(took, (500 + 2) * PACKET + 3 * 5_000_000);
}

#[test]
fn an_incast_is_as_long_as_its_last_link_is_busy() {
    let net = network("h0-s0 h1-s0 h2-s0 h3-s0 h4-s0", 10.0, 1_000_000, 0);
    let messages: Vec<Message> = (1..5).map(|src| message(src, 0, 100_000)).collect();
    let expected = PACKET + 1_000_000 + 400 * PACKET + 1_000_000;
    assert_eq!(makespan(&net, &FabricOptions::default(), IDEAL, &messages), expected);
    // Pauses keep the same packets waiting elsewhere: the last link is never idle, and no queue is
    // longer than what they allow.
    let pause = Some(Pause { stop: 20_000, go: 10_000 });
    let options = FabricOptions { pause, buffer: Some(120_000), ..FabricOptions::default() };
    let mut paused = simulation(&net, &options, IDEAL);
    let arrivals = paused.carry(&messages, None).unwrap();
    assert_eq!(arrivals.into_iter().flatten().max(), Some(expected));
    let traffic = paused.fabric.traffic();
    assert!(traffic.iter().all(|link| link.drops == 0));
    assert!(traffic.iter().filter(|link| link.pauses > 0 && link.paused_ps > 0).count() == 4);
    // Each of the four sends 4 more packets while it is being told: 1 µs there, 1 µs of packets on
    // the wire, the current one.
    let longest = traffic.iter().filter_map(|link| link.queue_max).max().unwrap();
    assert!(longest <= (4 * 25_000) * 5 / 4, "{longest}");
}

#[test]
fn connections_of_a_host_take_turns() {
    let net = network("h0-s0 h1-s0 h2-s0", 10.0, 0, 0);
    let arrivals = simulation(&net, &FabricOptions::default(), IDEAL)
        .carry(&[message(0, 1, 100_000), message(0, 2, 10_000), message(0, 2, 0)], None)
        .unwrap();
    // The long one has sent one packet and is next; then they alternate, and the last of the short
    // one's 10 is the 21st. Then comes the second link. The empty message goes along without taking
    // time.
    assert_eq!(arrivals[1], Some((21 + 1) * PACKET));
    assert_eq!(arrivals[0], Some(111 * PACKET));
    assert!(arrivals[2] >= arrivals[1] && arrivals[2] < arrivals[0]);
}

#[test]
fn buffers_drop_and_thresholds_mark() {
    // Two hosts at line rate into one: the queue grows by one packet per packet time.
    let net = network("h0-s0 h1-s0 h2-s0", 10.0, 0, 0);
    let messages = [message(1, 0, 1_000_000), message(2, 0, 1_000_000)];
    let mut runs = Vec::new();
    for buffer in [None, Some(30_000)] {
        let options =
            FabricOptions { buffer, marking: Some(Marking::above(50_000)), ..FabricOptions::default() };
        let dctcp = Dctcp { mtu: 1500, initial_window: 2000, ..Dctcp::default() };
        let mut run = simulation(&net, &options, dctcp);
        assert!(run.carry(&messages, None).unwrap().iter().all(Option::is_some));
        let traffic = run.fabric.traffic();
        let count = |what: fn(&LinkTraffic) -> u64| traffic.iter().map(what).sum::<u64>();
        runs.push((count(|link| link.drops), count(|link| link.marks), traffic[1].queue_max.unwrap()));
    }
    let [(no_drops, marks, long), (drops, no_marks, short)] = runs[..] else { panic!() };
    assert!(no_drops == 0 && marks > 100 && long > 100_000, "{marks} {long}");
    assert!(drops > 100 && no_marks == 0 && short <= 30_000 * 5 / 4, "{drops} {short}");
}

#[test]
fn transports_fill_a_link_but_for_their_headers() {
    let net = network("h0-s0 h1-s0", 10.0, 1_000_000, 0);
    let bytes = 20_000_000_u64;
    let line = |payload: u64, wire: u64| bytes.div_ceil(payload) * wire * 800;
    let marking = Some(Marking::above(100_000));
    let options = FabricOptions { marking, ..FabricOptions::default() };
    let dctcp = makespan(&net, &options, Dctcp { mtu: 4096, ..Dctcp::default() }, &[message(0, 1, bytes)]);
    let bound = line(4096 - 52, 4096 + 14 + 24);
    assert!(dctcp > bound && dctcp < bound + bound / 100, "{dctcp} {bound}");
    let roce = makespan(&net, &options, Roce::default(), &[message(0, 1, bytes)]);
    let bound = line(4096, 4096 + 58 + 24);
    assert!(roce > bound && roce < bound + bound / 100, "{roce} {bound}");
}

#[test]
fn dctcp_shares_a_link_and_keeps_its_queue_near_the_threshold() {
    let net = network("h0-s0 h1-s0 h2-s0", 10.0, 5_000_000, 0);
    let options = FabricOptions { marking: Some(Marking::above(97_500)), ..FabricOptions::default() };
    let mut run = simulation(&net, &options, Dctcp::default());
    let arrivals = run.carry(&[message(1, 0, 20_000_000), message(2, 0, 20_000_000)], None).unwrap();
    let [a, b] = [arrivals[0].unwrap() as f64, arrivals[1].unwrap() as f64];
    assert!((a / b - 1.0).abs() < 0.2, "{a} {b}");
    // 65 packets is the threshold; the queue moves by about half of it around (section 3.3 of the
    // paper).
    let queue = run.fabric.traffic()[1].queue_median.unwrap();
    assert!((40_000..160_000).contains(&queue), "{queue}");
    let alone = 40_000_000_u64.div_ceil(1448) * 1538 * 800;
    assert!(a.max(b) < alone as f64 * 1.03);
}

#[test]
fn dcqcn_slows_down_two_sources_without_dropping() {
    let net = network("h0-s0 h1-s0 h2-s0", 10.0, 1_000_000, 0);
    let marking = Some(Marking { from: 5_000, to: 200_000, probability: 0.01 });
    let messages = [message(1, 0, 20_000_000), message(2, 0, 20_000_000)];
    let mut queues = Vec::new();
    for has_rate_control in [false, true] {
        let options = FabricOptions { marking, ..FabricOptions::default() };
        let mut run = simulation(&net, &options, Roce { has_rate_control, ..Roce::default() });
        assert!(run.carry(&messages, None).unwrap().iter().all(Option::is_some));
        queues.push(run.fabric.traffic()[1].queue_median.unwrap());
    }
    assert!(queues[1] < queues[0] / 4, "{queues:?}");
}

/// Row V7 of the protocol specification, without its terms for reduction: ring allreduce of m bytes
/// over p ranks takes 2(p − 1)α + 2(p − 1)/p · mβ, here plus what storing and forwarding the last
/// packet of each step takes.
#[test]
fn v7_a_ring_takes_what_alpha_and_beta_say() {
    const RANKS: u32 = 8;
    let text: String = (0..RANKS).map(|host| format!("h{host}-s0 ")).collect();
    let net = network(&text, 10.0, 2_500_000, 0);
    for (bytes, micros) in [(8_u64, 70.0), (4096, 75.7), (1 << 20, 1538.0), (100_000_000, 140_070.0)] {
        let mut run = simulation(&net, &FabricOptions::default(), Ideal { mtu: 1500 });
        let block = bytes / u64::from(RANKS);
        let mut delivered: Vec<u32> = Vec::new();
        (0..RANKS).for_each(|src| run.start(HostId(src), HostId((src + 1) % RANKS), block, src).unwrap());
        while run.run(Picoseconds::MAX, &mut delivered) {
            for key in delivered.drain(..) {
                let (step, src) = (key / RANKS + 1, (key + 1) % RANKS);
                if step < 2 * (RANKS - 1) {
                    let to = HostId((src + 1) % RANKS);
                    run.start(HostId(src), to, block, step * RANKS + src).unwrap();
                }
            }
        }
        let last = block - (block - 1) / 1500 * 1500;
        let steps = u64::from(2 * (RANKS - 1));
        // The last packet waits at the switch for the full one before it.
        let forward = if block > 1500 { 1500 } else { last };
        assert_eq!(run.fabric.now(), steps * (5_000_000 + (block + forward) * 800));
        let took = (run.fabric.now() - steps * forward * 800) as f64 / 1e6;
        assert!((took / micros - 1.0).abs() < 0.001, "{took} for {micros}");
    }
}

/// Three switches in a ring, each stream going two thirds around it: with pauses, everyone waits
/// for the next one's memory.
#[test]
fn pauses_that_wait_for_each_other_are_told() {
    let net = network("h0-a h1-b h2-c a-b b-c c-a", 10.0, 1_000_000, 0);
    let link = |from: &str, to: &str| {
        let named = |link: &crate::topology::LinkId| {
            (net.node(net.src(*link)).name.as_str(), net.node(net.dst(*link)).name.as_str())
        };
        (0..net.link_count() as u32)
            .map(crate::topology::LinkId)
            .find(|link| named(link) == (from, to))
            .unwrap()
    };
    let options = FabricOptions { pause: Some(Pause { stop: 5_000, go: 2_000 }), ..FabricOptions::default() };
    let mut run = simulation(&net, &options, IDEAL);
    for (src, way) in [["h0", "a", "b", "c", "h2"], ["h1", "b", "c", "a", "h0"], ["h2", "c", "a", "b", "h1"]]
        .iter()
        .enumerate()
    {
        let links: Vec<_> = way.windows(2).map(|pair| link(pair[0], pair[1])).collect();
        run.fabric.set_route(HostId(src as u32), HostId((src as u32 + 2) % 3), &links).unwrap();
    }
    let messages: Vec<Message> = (0..3).map(|src| message(src, (src + 2) % 3, 1_000_000)).collect();
    let arrivals = run.carry(&messages, None).unwrap();
    assert_eq!(arrivals, [None; 3]);
    let stuck = run.fabric.stuck();
    assert!(
        [("a", "b"), ("b", "c"), ("c", "a")].iter().all(|(a, b)| stuck.contains(&link(a, b))),
        "{stuck:?}"
    );
}

/// What is lost is repaired by what the receiver says, long before a timer runs down.
#[test]
fn losses_are_repaired_without_timeouts() {
    let net = network("h0-h1", 10.0, 5_000_000, 0);
    let bytes = 20_000_000;
    let options = FabricOptions { loss: 5e-4, seed: 3, ..FabricOptions::default() };
    // A window of two round trips is cut to one by a loss: the wire stays busy.
    let dctcp = Dctcp { mtu: 1500, initial_window: 20, ..Dctcp::default() };
    let mut run = simulation(&net, &options, dctcp);
    let took = run.carry(&[message(0, 1, bytes)], None).unwrap()[0].unwrap();
    let lost = run.fabric.traffic()[0].losses;
    // Only the packets that were lost, each once unless it was lost again.
    assert!(lost > 3 && run.carrier.retransmits() == lost, "{} of {lost}", run.carrier.retransmits());
    let line = bytes.div_ceil(1448) * 1538 * 800;
    assert!(took < line + line / 5, "{took} {line}");

    // Go-back-N: each loss costs a round trip of packets, 15 of them, and 1 ms if only the timer
    // notices.
    let mut run = simulation(&net, &options, Roce { mtu: 1024, ..Roce::default() });
    let took = run.carry(&[message(0, 1, bytes)], None).unwrap()[0].unwrap();
    let lost = run.fabric.traffic()[0].losses;
    let line = bytes.div_ceil(1024) * (1024 + 82) * 800;
    assert!(lost > 3 && run.carrier.retransmits() <= lost * 16, "{} of {lost}", run.carrier.retransmits());
    assert!(took < line + (lost + 2) * 20_000_000, "{took} {line} {lost}");
}

/// Of memory B a single congested port may take αB/(1 + α) (Choudhury and Hahne, section III).
#[test]
fn a_port_takes_its_share_of_the_memory() {
    let net = network("h0-s0 h1-s0 h2-s0 h3-s0 h4-s0", 10.0, 0, 0);
    let messages: Vec<Message> = (1..5).map(|src| message(src, 0, 2_000_000)).collect();
    for (alpha, share) in [(0.5, 1.0 / 3.0), (1.0, 0.5), (4.0, 0.8)] {
        let options =
            FabricOptions { buffer: Some(300_000), shared: Some(alpha), ..FabricOptions::default() };
        let mut run = simulation(&net, &options, Dctcp { initial_window: 1000, ..Dctcp::default() });
        assert!(run.carry(&messages, None).unwrap().iter().all(Option::is_some));
        let traffic = run.fabric.traffic();
        let (longest, drops) = (traffic[1].queue_max.unwrap() as f64, traffic[1].drops);
        // Lengths are known to a quarter.
        assert!(
            drops > 0 && (longest / (share * 300_000.0) - 1.0).abs() < 0.27,
            "{alpha}: {longest} {drops}"
        );
    }
}
