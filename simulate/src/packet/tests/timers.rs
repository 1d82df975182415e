//! Timers of what is done do not make time pass: a network that has come to rest is at the time of
//! its last packet.

use super::*;
use crate::packet::transport::usnic::{Preset, Usnic};
use crate::packet::transport::{Dctcp, Roce, Tcp};

/// Sends 1000 bytes over a cable of 10 Gbit/s and 1 µs until nothing is to come, twice; how long
/// each took.
fn rests<C: Carrier>(mut run: Simulation<'_, C>) -> [Picoseconds; 2] {
    [0, 1].map(|key| {
        let began = run.fabric.now();
        run.start(HostId(0), HostId(1), 1000, key).unwrap();
        while run.fabric.step(&mut run.carrier) {}
        assert_eq!((run.carrier.delivered().drain(..).collect(), run.fabric.pending()), (vec![key], 0));
        assert_eq!(run.carrier.retransmits(), 0);
        run.fabric.now() - began
    })
}

/// There and back: each byte takes 800 ps, each way 1 µs. Timers would run down after 1 ms.
#[test]
fn the_clock_rests_when_the_last_acknowledgement_has_come() {
    let net = network("h0-h1", 10.0, 1_000_000, 0);
    let there_and_back = |data: u64, ack: u64| [(data + ack) * 800 + 2_000_000; 2];
    let options = FabricOptions::default();
    // Ethernet 14 and 24, IPv4 20, TCP 20 and 12 of timestamps.
    let dctcp = rests(simulation(&net, &options, Dctcp::default()));
    assert_eq!(dctcp, there_and_back(90 + 1000, 90));
    // The same, where a single packet is acknowledged at once, and where it is after 40 ms.
    let tcp = rests(simulation(&net, &options, Tcp { ack_delay: 0, ..Tcp::default() }));
    assert_eq!(tcp, there_and_back(90 + 1000, 90));
    let delayed = rests(simulation(&net, &options, Tcp::default()));
    assert_eq!(delayed, there_and_back(90 + 1000, 90).map(|time| time + 40_000_000_000));
    // Ethernet 14 and 24, IPv4 20, UDP 8, 12, 4; an acknowledgement 4 more.
    let roce = rests(simulation(&net, &options, Roce::default()));
    assert_eq!(roce, there_and_back(82 + 1000, 82 + 4));
}

/// Passes of 1.5 µs: one each for taking in, after four for acknowledging, for taking that in;
/// completions and the phase of a process one more each. The timers of its packets are 1 and 5 ms.
#[test]
fn usnic_makes_no_pass_for_what_is_acknowledged() {
    let net = network("h0-h1", 10.0, 1_000_000, 0);
    for preset in [Preset::v4_1(9000), Preset::v2013(9000)] {
        let fabric = Fabric::new(&net, &FabricOptions::default());
        let carrier = Usnic::new(&fabric, preset).unwrap();
        for time in rests(Simulation { fabric, carrier }) {
            assert!(time < 4_000_000 + 12 * preset.pass, "{time}");
        }
    }
}

/// Messages that are sent long before the timer of the first one would have run down.
#[test]
fn what_comes_next_may_come_before_a_timer_that_is_over() {
    let net = network("h0-h1", 10.0, 1_000_000, 0);
    let mut run = simulation(&net, &FabricOptions::default(), Dctcp::default());
    let mut arrivals = Vec::new();
    // 1 ms, and 100 µs between two messages.
    for key in 0..3 {
        run.start(HostId(0), HostId(1), 1000, key).unwrap();
        while run.run(Picoseconds::MAX, &mut Vec::new()) {
            arrivals.push(run.fabric.now());
        }
        let next = run.fabric.now() + 100_000_000;
        run.run(next, &mut Vec::new());
        assert_eq!(run.fabric.now(), next);
    }
    let (first, step) = (1090 * 800 + 1_000_000, 1180 * 800 + 2_000_000 + 100_000_000);
    assert_eq!(arrivals, [first, first + step, first + 2 * step]);
}
