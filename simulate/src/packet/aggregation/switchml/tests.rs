//! The protocol over networks: published numbers, closed forms, and what holds whatever is lost.

mod invariants;

use super::*;
use crate::engine::Picoseconds;
use crate::packet::aggregation::harness::*;
use crate::packet::transport::{Ideal, Stack};
use crate::packet::{Aggregated, Carrier, FabricOptions, Pause, Simulation};
use crate::topology::Topology;

fn protocol(choice: &str, seed: u64, verify: bool) -> SwitchMl {
    SwitchMl::new(&Choice::parse(choice).unwrap(), seed, verify).unwrap()
}

fn trial<'a>(
    network: &'a Topology,
    options: &FabricOptions,
    choice: &str,
    verify: bool,
) -> Trial<'a, SwitchMl> {
    Trial::new(network, options, protocol(choice, options.seed, verify))
}

/// All hosts of a network sum `bytes` once, nothing is lost: when the last one has the sum.
fn time(network: &Topology, choice: &str, bytes: u64) -> Picoseconds {
    let mut trial = trial(network, &FabricOptions::default(), choice, false);
    let time = trial.allreduce(bytes).unwrap();
    assert_eq!(trial.program.0.report(), AggregationReport::default());
    time
}

/// Elements a second, in millions, from the times of two sizes: without what starting and ending
/// takes.
fn rate(network: &Topology, choice: &str) -> f64 {
    let elements = 256 * 4096;
    let [short, long] = [1, 3].map(|times| time(network, choice, 4 * times * elements));
    2.0 * elements as f64 / (long - short) as f64 * 1e6
}

/// Published (wire sizes of the paper's and the repository's packets): million elements a second.
#[test]
fn line_rates_are_the_published_ones() {
    let cases = [
        (10.0, "switchml[k=32,slots=128]", 196.1),
        (10.0, "switchml[k=64,slots=512]", 241.0),
        (100.0, "switchml[k=64,slots=512]", 2409.6),
        (100.0, "switchml[k=256,slots=512]", 2909.0),
        (100.0, "switchml[profile=repository]", 2909.0),
        // 1106 bytes a packet and 20 a message; the first is the dashed line in the repository's
        // figure.
        (100.0, "switchml[framing=rdma,slots=512]", 2880.0),
        (100.0, "switchml[framing=rdma,slots=512,message=16]", 2890.0),
    ];
    for (gbps, choice, expected) in cases {
        let found = rate(&star(2, gbps, MICROSECOND, 0), choice);
        assert!((found / expected - 1.0).abs() < 3e-4, "{choice}: {found}, expected {expected}");
    }
}

/// (m/4k) · wire · 8 / B and a round trip, to the picosecond; whatever the number of workers.
#[test]
fn time_is_that_of_one_workers_bytes() {
    let wire = 163_200;
    for workers in [1, 2, 3, 8, 32, 100] {
        let net = star(workers, 10.0, MICROSECOND, 300_000);
        // 2000 chunks; the last one is not full.
        let found = time(&net, "switchml", 2000 * 128 - 3);
        assert_eq!(found, 2000 * wire + wire + 2 * MICROSECOND + 300_000, "{workers} workers");
    }
}

/// Below the product of rate and round trip each slot is used once a round trip.
#[test]
fn few_slots_wait_for_round_trips() {
    // 5 µs a link and 1 µs in the switch: a round trip of 11.326 µs, 70 packets.
    let net = star(4, 10.0, 5 * MICROSECOND, MICROSECOND);
    let (wire, round_trip) = (163_200, 11_326_400);
    for (slots, published_ms) in [(8, 283.2), (16, 141.6), (32, 70.8), (64, 35.4)] {
        let phases = 25;
        let found = time(&net, &format!("switchml[slots={slots}]"), phases * slots * 128);
        assert_eq!(found, phases * round_trip + (slots - 1) * wire, "{slots} slots");
        let chunks = 200_000.0;
        let extended = chunks / (phases * slots) as f64 * (phases * round_trip) as f64 / MILLISECOND as f64;
        assert!((extended / published_ms - 1.0).abs() < 1e-3);
    }
    let line = 1999 * wire + round_trip;
    assert_eq!(time(&net, "switchml[slots=70]", 2000 * 128), line);
    assert!(time(&net, "switchml[slots=69]", 2000 * 128) > line);
}

/// Racks add a link each way and nothing to the rate; every switch on the way sums.
#[test]
fn trees_of_switches_sum_at_line_rate() {
    let net = network("h0-a h1-a h2-b h3-b a-m b-m m-t h4-c c-t", 10.0, MICROSECOND, 0);
    let (wire, chunks) = (163_200, 1000);
    let mut trial = trial(&net, &FabricOptions::default(), "switchml[slots=256]", true);
    let found = trial.allreduce(chunks * 128).unwrap();
    // The root is m: three links from host 4, two from the others.
    assert_eq!(found, (chunks - 1) * wire + 6 * (wire + MICROSECOND));
    assert_eq!(
        trial.program.0.report(),
        AggregationReport { checked: 5 * chunks * 32, ..AggregationReport::default() }
    );
    // One packet a chunk on every link of the tree, each way.
    let traffic = trial.fabric.traffic();
    assert!(traffic.iter().all(|link| (link.packets, link.bytes) == (chunks, chunks * 204)));
}

/// Each worker sends its vector once and receives the sum once.
#[test]
fn bytes_are_those_of_a_vector() {
    let net = star(8, 100.0, MICROSECOND, 0);
    let mut trial = trial(&net, &FabricOptions::default(), "switchml[k=64,slots=512]", false);
    trial.allreduce(1 << 20).unwrap();
    let payload = |link: &crate::packet::LinkTraffic| link.packets * 256;
    assert!(trial.fabric.traffic().iter().all(|link| payload(link) == 1 << 20));
}

/// The mean of the slots' time-outs, and what the unluckiest one of them has more. Figures of other
/// simulations at full size are printed by the bench.
#[test]
fn loss_costs_what_the_formula_says() {
    let cases = [
        ("switchml[k=32,slots=128]", 10.0, 1e-3, 10_000_000_u64),
        ("switchml[k=32,slots=128]", 10.0, 1e-2, 10_000_000),
        ("switchml[k=64,slots=512]", 100.0, 1e-2, 10_000_000),
        ("switchml[k=256,slots=256,timeout=10ms]", 100.0, 1e-3, 100_000_000),
    ];
    for (choice, gbps, loss, bytes) in cases {
        let net = star(8, gbps, MICROSECOND, 0);
        let settings = protocol(choice, 0, false).settings;
        let options = FabricOptions { loss, seed: 1, ..FabricOptions::default() };
        let found = trial(&net, &options, choice, false).allreduce(bytes).unwrap() as f64;
        let wire = f64::from(settings.wire(0)) * 8000.0 / gbps;
        let round_trip = 2.0 * (wire + MICROSECOND as f64);
        let chunks = bytes as f64 / f64::from(4 * settings.elements);
        let phases = chunks / f64::from(settings.slots);
        let mu = phases * (1.0 - (1.0 - loss).powi(16));
        let slowest = mu + (2.0 * mu * f64::from(settings.slots).ln()).sqrt();
        let expected = (chunks * wire).max(phases * round_trip + settings.timeout as f64 * slowest);
        assert!((0.8..1.2).contains(&(found / expected)), "{choice}, loss {loss}: {}", found / expected);
    }
}

/// Floats take one window of packets more, and sums are as near as the scale allows.
#[test]
fn floats_are_summed_within_their_bound() {
    let net = star(8, 10.0, MICROSECOND, 0);
    let elements = 1000 * 32;
    for (choice, lead) in [("switchml[numbers=float]", 128), ("switchml[numbers=float,slots=2048]", 1000)] {
        let mut run = trial(&net, &FabricOptions::default(), choice, true);
        let found = run.allreduce(4 * elements).unwrap();
        assert_eq!(
            run.program.0.report(),
            AggregationReport { checked: 8 * elements, ..AggregationReport::default() }
        );
        assert_eq!(found, (1000 + lead + 1) * 163_200 + 2 * MICROSECOND, "{choice}");
    }
    // One packet: its exponent first, then its numbers.
    assert_eq!(time(&net, "switchml[numbers=float]", 4), 2 * (2 * 163_200 + 2 * MICROSECOND));
    // Sums that are off are noticed: half the scale at one of the workers would be.
    let mut run = trial(
        &net,
        &FabricOptions { loss: 0.02, ..FabricOptions::default() },
        "switchml[numbers=float]",
        true,
    );
    run.allreduce(4 * elements).unwrap();
    let report = run.program.0.report();
    assert!(report.retransmits > 100);
    assert_eq!((report.checked, report.wrong), (8 * elements, 0));
}

/// A resend that is overtaken by the next packets of its slot is added to a later sum. This is how
/// the published protocol fails.
#[test]
fn overtaken_resends_spoil_sums() {
    let net = star(4, 10.0, MICROSECOND, 0);
    let reordered =
        |seed| FabricOptions { loss: 0.01, reorder_ps: 10 * MICROSECOND, seed, ..FabricOptions::default() };
    let (mut spoilt, mut retransmits) = (0, 0);
    for seed in 0..4 {
        let mut run = trial(&net, &reordered(seed), "switchml[slots=8,timeout=15us]", true);
        let found = run.allreduce(2000 * 128);
        let report = run.program.0.report();
        retransmits += report.retransmits;
        assert_eq!(run.program.0.stuck().is_some(), found.is_none(), "a hang has to be reported");
        spoilt += u32::from(report.wrong > 0 || found.is_none());
        // The same with phases compared at the switch: every sum is right.
        let mut run = trial(&net, &reordered(seed), "switchml[slots=8,timeout=15us,safe=on]", true);
        assert!(run.allreduce(2000 * 128).is_some());
        assert_eq!((run.program.0.report().checked, run.program.0.report().wrong), (4 * 2000 * 32, 0));
    }
    assert!(spoilt == 4 && retransmits > 0);
}

#[test]
fn a_worker_that_comes_late_is_waited_for() {
    let net = star(2, 10.0, MICROSECOND, 0);
    let mut run = trial(&net, &FabricOptions::default(), "switchml[timeout=10us]", false);
    let number = run.open(&group(7, 0..2)).unwrap();
    run.add(number, 0, 4, 10).unwrap();
    // Without an answer, it gives up.
    while run.step() {}
    assert_eq!(
        run.program.0.stuck().unwrap(),
        "switchml: worker 0 of job 7 waits for others to join reduction 0"
    );
    run.add(number, 1, 4, 11).unwrap();
    while run.step() {}
    assert_eq!(run.program.0.stuck(), None);
    assert_eq!(run.sums.len(), 2);
    assert_eq!(run.program.0.report().retransmits, u64::from(crate::packet::aggregation::GIVE_UP_AFTER) + 1);
}

#[test]
fn jobs_divide_the_slots() {
    let net = star(6, 10.0, MICROSECOND, 0);
    let mut run = trial(&net, &FabricOptions::default(), "switchml[slots=32,jobs=2]", true);
    assert_eq!(run.program.0.settings.slots, 16);
    let first = run.open(&group(1, 0..3)).unwrap();
    let second = run.open(&group(2, 2..6)).unwrap();
    assert_eq!(
        run.open(&group(3, 0..2)).unwrap_err().to_string(),
        "switchml: job 3: slots of switch s are divided among jobs=2 jobs, all of them running; more jobs at a time need a larger \
         number"
    );
    // Host 2 works for both, over one wire: its vectors get on alike.
    for (group, workers) in [(first, 3), (second, 4)] {
        (0..workers).for_each(|worker| run.add(group, worker, 12_800, 10 * group + worker).unwrap());
    }
    while run.step() {}
    assert_eq!((run.sums.len(), run.program.0.report().wrong), (7, 0));
    let ends: Vec<Picoseconds> =
        [0, 10].map(|key| run.sums.iter().find(|sum| sum.1 == key).unwrap().0).into();
    assert!(ends[0].abs_diff(ends[1]) < 2 * MICROSECOND, "{ends:?}");
    // A job that is over makes room for another one, and takes what it has checked along.
    run.program.0.close(&mut run.fabric, first);
    run.program.0.close(&mut run.fabric, first);
    assert_eq!(run.program.0.report().checked, 7 * 3200);
    assert_eq!(run.add(first, 0, 4, 0).unwrap_err().to_string(), "switchml: job 1: is over");
    run.open(&group(3, 0..2)).unwrap();
    assert!(run.open(&group(4, 0..2)).is_err());
}

/// A message and a sum over the same wire both get on: the sum has two turns for one of the
/// message.
#[test]
fn messages_and_sums_share_a_wire() {
    let net = star(4, 10.0, MICROSECOND, 0);
    let fabric = Fabric::new(&net, &FabricOptions::default());
    let carrier = Stack::new(&fabric, Ideal { mtu: 204 });
    let aggregation = Box::new(protocol("switchml", 0, false));
    let mut run = Simulation { fabric, carrier: Aggregated { carrier, aggregation } };
    let bytes = 204_000;
    run.start(HostId(0), HostId(1), bytes, 9).unwrap();
    let Aggregated { aggregation, .. } = &mut run.carrier;
    let number = aggregation.open(&mut run.fabric, &group(0, 0..4)).unwrap();
    for worker in 0..4 {
        aggregation.contribute(&mut run.fabric, number, worker, 128_000, worker).unwrap();
    }
    let (mut keys, mut times) = (Vec::new(), Vec::new());
    while run.run(Picoseconds::MAX, &mut keys) {
        times.extend(keys.drain(..).map(|key| (key, run.fabric.now())));
    }
    // Each alone takes 1000 packets of 163.2 ns.
    let both = 2000.0 * 163_200.0;
    assert_eq!(times.len(), 5);
    let share = |key| times.iter().find(|time| time.0 == key).unwrap().1 as f64 / both;
    assert!((0.7..1.0).contains(&share(0)), "{}", share(0));
    assert!((0.99..1.03).contains(&share(9)), "{}", share(9));
    assert_eq!(run.carrier.retransmits(), 0);
}

/// Links to a switch that is full of messages are paused; sums go on with them.
#[test]
fn paused_wires_go_on() {
    let net = star(4, 10.0, MICROSECOND, 0);
    let pause = Some(Pause { stop: 20_000, go: 10_000 });
    let fabric = Fabric::new(&net, &FabricOptions { pause, ..FabricOptions::default() });
    let carrier = Stack::new(&fabric, Ideal { mtu: 1000 });
    let aggregation = Box::new(protocol("switchml[timeout=20us]", 0, true));
    let mut run = Simulation { fabric, carrier: Aggregated { carrier, aggregation } };
    for src in [0, 2, 3] {
        run.start(HostId(src), HostId(1), 500_000, 10 + src).unwrap();
    }
    let number = run.carrier.aggregation.open(&mut run.fabric, &group(0, 0..4)).unwrap();
    for worker in 0..4 {
        run.carrier.aggregation.contribute(&mut run.fabric, number, worker, 128_000, worker).unwrap();
    }
    let mut keys = Vec::new();
    while run.run(Picoseconds::MAX, &mut keys) {}
    let pauses: u64 = run.fabric.traffic().iter().map(|link| link.pauses).sum();
    assert!(pauses > 10);
    keys.sort_unstable();
    assert_eq!(keys, [0, 1, 2, 3, 10, 12, 13]);
    let report = run.carrier.aggregation.report();
    assert_eq!((report.checked, report.wrong), (4 * 32_000, 0));
}

#[test]
fn what_cannot_work_is_refused() {
    let cases = [
        ("switchml[slot=3]", "unknown parameter of `switchml` `slot`; did you mean slots?"),
        ("switchml[k=0]", "`switchml[k=0]`: k is 0, expected 1 to 2200"),
        ("switchml[framing=tcp]", "unknown framing `tcp`"),
        ("switchml[message=4]", "`switchml[message=4]`: messages of 4 packets need framing=rdma"),
        ("switchml[slots=3,memory=1MiB]", "slots and memory say the same thing twice"),
        ("switchml[k=2200,slots=100000]", "100000 slots of 17600 bytes, expected at most 1 GiB"),
        ("switchml[memory=3]", "0 slots for each of 1 jobs"),
        ("switchml[slots=8,jobs=9]", "0 slots for each of 9 jobs"),
        ("switchml[slots=8,outstanding=9]", "8 slots for each of 1 jobs, 9 packets outstanding"),
        ("switchml[framing=rdma,slots=8,outstanding=6]", "messages of 4: expected a multiple"),
        ("switchml[timeout=0ns]", "timeout: `0ns`, expected more than 0"),
    ];
    for (choice, expected) in cases {
        let error = SwitchMl::new(&Choice::parse(choice).unwrap(), 0, false).unwrap_err().to_string();
        assert!(error.contains(expected), "{choice}: {error}");
    }
    let settings = |choice| protocol(choice, 0, false).settings;
    assert_eq!(settings("switchml[memory=32KiB]").slots, 128);
    assert_eq!(settings("switchml[memory=1MiB,k=64,jobs=4]").slots, 512);
    assert_eq!(
        (settings("switchml[profile=repository]").slots, settings("switchml[profile=repository]").window),
        (8192, 256)
    );

    let net = network("h0-a h1-a h2-b a-b h3-c h4-c b>c c>b", 10.0, 0, 0);
    let mut run = trial(&net, &FabricOptions::default(), "switchml[framing=rdma]", false);
    let refuse =
        |run: &mut Trial<'_, SwitchMl>, workers| run.open(&group(5, workers)).unwrap_err().to_string();
    assert_eq!(
        refuse(&mut run, 0..3),
        "switchml: job 5: framing=rdma is for workers at one switch: queue pairs end there"
    );
    assert_eq!(refuse(&mut run, 0..0), "switchml: job 5: no workers");
    let number = run.open(&group(5, 0..2)).unwrap();
    run.add(number, 0, 100, 0).unwrap();
    assert_eq!(
        run.add(number, 1, 101, 0).unwrap_err().to_string(),
        "switchml: job 5: reduction 0 is of 101 bytes at one worker, of 100 at another"
    );
    assert_eq!(
        run.add(number, 0, 1 << 50, 0).unwrap_err().to_string(),
        "switchml: job 5: more than 2^32 packets: more elements a packet are needed (k)"
    );
    let net = star(33, 10.0, 0, 0);
    let mut run = trial(&net, &FabricOptions::default(), "switchml[profile=repository]", false);
    assert_eq!(refuse(&mut run, 0..33), "switchml: job 5: 33 workers, expected at most 32");
}

/// After 100 time-outs the repository's client waits twice as long, after 100 more four times.
#[test]
fn the_repository_waits_longer_and_longer() {
    let net = star(2, 10.0, 0, 0);
    let mut run = trial(&net, &FabricOptions::default(), "switchml[profile=repository,timeout=1ms]", false);
    let number = run.open(&group(0, 0..2)).unwrap();
    run.add(number, 0, 4, 0).unwrap();
    // One packet, sent again every millisecond, then every two, then every four.
    for (until, expected) in [(100, 100), (110, 105), (300, 200), (312, 203)] {
        while run.fabric.next_time().unwrap() <= until * MILLISECOND + MICROSECOND {
            run.step();
        }
        assert_eq!(run.program.0.report().retransmits, expected, "after {until} ms");
    }
}

/// No time-out is pending once all have the sum: the last event is the arrival of the last packet.
#[test]
fn it_rests_with_the_last_sum() {
    let net = star(4, 10.0, MICROSECOND, 0);
    let mut run = trial(&net, &FabricOptions::default(), "switchml", true);
    let found = run.allreduce(100_000).unwrap();
    assert_eq!((run.fabric.now(), run.fabric.pending()), (found, 0));
}
