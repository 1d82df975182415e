//! What can be computed with paper and pencil, and the figures that were published.

use super::*;
use crate::packet::Marking;

/// Time of a packet on a link of 100 Gbit/s: 330 bytes (paper), 332 (code).
const PAPER: Picoseconds = 26_400;
const CODE: Picoseconds = 26_560;
/// Latency of a link.
const LINK: Picoseconds = 500_000;

/// Packets of a vector.
fn packets(bytes: u64) -> u64 {
    bytes.div_ceil(248)
}

/// Eight workers and a server at one switch; returns the time of the last sum, and packets that
/// found no aggregator.
fn eight(options: &FabricOptions, choice: &str, bytes: u64, latency: Picoseconds) -> (Picoseconds, u64) {
    let text = (0..9).map(|host| format!("h{host}-s ")).collect::<String>();
    let net = network_of(&text, 100.0, latency, 0);
    let mut run = Run::of(&net, options, choice, false);
    let group = run.open(1, &[0, 1, 2, 3, 4, 5, 6, 7], &[8]);
    run.add_all(group, bytes);
    run.finish();
    assert_eq!(run.done.len(), 8);
    (run.last(), run.atp.0.report().fallbacks)
}

/// V13: 248 bytes of 330 are numbers. Packets of the eight workers reach the switch together, and
/// each one waits for no other.
#[test]
fn the_ceiling_is_that_of_headers() {
    let (bytes, options) = (5_000_000, FabricOptions::default());
    // In the code, packets of a job never meet: exact. The last packet leaves, and passes three
    // more links.
    let (code, fallbacks) = eight(&options, "atp[profile=code]", bytes, LINK);
    assert_eq!((code, fallbacks), (packets(bytes) * CODE + 4 * LINK + 3 * CODE, 0));
    // In the paper they do. 85 packets cover the round trip of 2.1 µs.
    let (paper, fallbacks) = eight(&options, "atp[congestion-control=off,window=85]", bytes, LINK);
    let line = packets(bytes) * PAPER + 4 * LINK + 3 * PAPER;
    let loaded = line + fallbacks * 7 / 8 * PAPER;
    assert!(paper >= line && paper <= line * 102 / 100, "{paper} {line}");
    assert!(
        paper.abs_diff(loaded) <= line / 1000,
        "{paper} {loaded}: the server's link takes eight packets for one"
    );
}

/// V14: window-limited, 200 · 306 · 8 bits each round trip.
#[test]
fn the_window_limits_the_rate() {
    for (round_trip, published) in [(10_000_000, 49.0), (20_000_000, 24.5)] {
        let latency = round_trip / 4 - PAPER;
        let text = "atp[congestion-control=off,window=200,aggregators=1000000]";
        let (time, _) = eight(&FabricOptions::default(), text, 2_480_000, latency);
        // The last window's packets leave one after the other.
        let reached = (10_000 * 306 * 8) as f64 / (time - 199 * PAPER) as f64 * 1e3;
        assert!((reached / published - 1.0).abs() < 0.002, "{reached} {published}");
    }
}

/// V16: a share f of the sums that only the server makes loads its link with 1 + f(n − 1) packets
/// for one.
#[test]
fn what_switches_do_not_sum_loads_the_server() {
    let net = star(9);
    let bytes = 2_480_000;
    for (share, published) in [(0.0, 1.0), (0.05, 0.74), (0.5, 0.22), (1.0, 0.125)] {
        let rows = 1_000_000_u32;
        let text = format!("atp[congestion-control=off,window=400,aggregators={rows},leak-timeout=1000s]");
        let mut run = Run::of(&net, &FabricOptions::default(), &text, false);
        let group = run.open(1, &[0, 1, 2, 3, 4, 5, 6, 7], &[8]);
        // The first aggregators belong to a job that never ends.
        let taken = (f64::from(rows) * share) as usize;
        run.atp.0.tables[0].rows[..taken].iter_mut().for_each(|row| row.identifier = 77 << 32);
        run.add_all(group, bytes);
        run.finish();
        let reached = (packets(bytes) * PAPER) as f64 / run.last() as f64;
        let expected = 1.0 / (1.0 + 7.0 * share);
        assert!((expected - published).abs() < 0.005);
        assert!((reached / expected - 1.0).abs() < 0.03, "{share}: {reached} {expected}");
        let report = run.atp.0.report();
        let fallen = report.fallbacks as f64 / (8 * packets(bytes)) as f64;
        assert!((fallen - share).abs() < 0.01, "{fallen} {share}");
        assert_eq!(report.retransmits, 0);
    }
}

/// V17: two jobs where four could be. Those that share all aggregators lose less than those with a
/// quarter each.
#[test]
fn shared_aggregators_degrade_less_than_divided_ones() {
    let text = (0..10).map(|host| format!("h{host}-s ")).collect::<String>();
    let net = network_of(&text, 100.0, 1_000_000, 0);
    let mut losses = Vec::new();
    for rows in [100_000, 3200, 800, 320] {
        let times = ["dynamic", "static,jobs=4"].map(|sharing| {
            let text = format!("atp[congestion-control=off,window=160,aggregators={rows},sharing={sharing}]");
            let mut run = Run::of(&net, &FabricOptions::default(), &text, false);
            for (job, first) in [(1, 0), (2, 5)] {
                let workers: Vec<u32> = (first..first + 4).collect();
                let group = run.open(job, &workers, &[first + 4]);
                run.add_all(group, 1_000_000);
            }
            run.finish();
            assert_eq!(run.done.len(), 8);
            run.last() as f64
        });
        losses.push(times);
    }
    let [best, _] = losses[0];
    let lost = |time: f64| 1.0 - best / time;
    for [shared, divided] in &losses[1..] {
        assert!(lost(*shared) < lost(*divided), "{losses:?}");
    }
    assert!(losses.windows(2).all(|pair| pair[0][1] < pair[1][1]), "fewer are never better: {losses:?}");
}

/// Six workers in three racks, a server in a fourth one.
const RACKS: &str = "h0-a h1-a h2-b h3-b h4-c h5-c h6-p a-t b-t c-t p-t";

/// V18: each sum reaches the server in one packet; if only the racks sum, in one for each rack, so
/// the second level saves 2/3.
#[test]
fn two_levels_send_one_packet_to_the_server() {
    let net = network(RACKS);
    let bytes = 248_000;
    for (blocks, each) in [(false, 1), (true, 3)] {
        let mut run = Run::new(&net, &FabricOptions::default(), "atp[profile=code]");
        let group = run.open(1, &[0, 1, 2, 3, 4, 5], &[6]);
        let server = run.group(group).servers[0].switch;
        let table = run.atp.0.table_of[server.0 as usize] as usize;
        if blocks {
            run.atp.0.tables[table].rows.iter_mut().for_each(|row| row.identifier = 77 << 32);
        }
        run.add_all(group, bytes);
        run.finish();
        assert_eq!(run.done.len(), 6);
        assert_eq!(run.traffic("p", "h6").packets, each * packets(bytes));
        assert_eq!(run.traffic("t", "p").packets, 3 * packets(bytes));
        assert_eq!(run.traffic("a", "t").packets, packets(bytes));
        // Back: one copy for each link.
        for (from, to) in [("h6", "p"), ("p", "t"), ("t", "b"), ("b", "h3")] {
            assert_eq!(run.traffic(from, to).packets, packets(bytes));
        }
        let report = run.atp.0.report();
        assert_eq!((report.checked, report.wrong), (6 * bytes / 4, 0));
    }
}

/// Four links up and four down, one of which takes a packet of each of three racks; both switches
/// that sum are passed as often as is said.
#[test]
fn passes_and_switches_take_their_time() {
    let switch = 300_000;
    let net = network_of(RACKS, 100.0, LINK, switch);
    for passes in [1, 2, 4] {
        let mut run =
            Run::new(&net, &FabricOptions::default(), &format!("atp[profile=code,passes={passes}]"));
        let group = run.open(1, &[0, 1, 2, 3, 4, 5], &[6]);
        run.add_all(group, 24_800);
        run.finish();
        let pipelines = 6 + 2 * (passes - 1);
        assert_eq!(run.last(), (3 * 100 + 7) * CODE + 8 * LINK + pipelines * switch);
    }
}

/// V19 in a network: five more for each packet; with marks the window stays near what the round
/// trip needs.
#[test]
fn the_window_grows_until_it_is_marked() {
    let net = star(5);
    let mut run = Run::new(&net, &FabricOptions::default(), "atp");
    let group = run.open(1, &[0, 1, 2, 3], &[4]);
    run.add_all(group, 248 * 100);
    run.finish();
    assert!(run.group(group).workers.iter().all(|worker| worker.window.size == 200 + 5 * 100));

    // Without aggregators four workers share the server's link: each has a quarter of 80 packets
    // and of the queue. Marks come from 80 kB on, which is 242 packets.
    let options = FabricOptions { marking: Some(Marking::above(80_000)), ..FabricOptions::default() };
    let mut run = Run::new(&net, &options, "atp[aggregators=0]");
    let group = run.open(1, &[0, 1, 2, 3], &[4]);
    run.add_all(group, 2_480_000);
    run.finish();
    let largest = run.traffic("s", "h04").queue_max.unwrap();
    let marked = run.traffic("s", "h04").marks;
    assert!(marked > 0 && largest < 4 * 400 * 330, "{largest} {marked}");
    for worker in &run.group(group).workers {
        assert!((20..=161).contains(&worker.window.size), "{}", worker.window.size);
        assert!(worker.window.threshold < 200);
    }
    // All the time there is a queue, so the link is never idle.
    let line = 4 * packets(2_480_000) * PAPER;
    assert!(run.last() < line * 101 / 100, "{} {line}", run.last());
}
