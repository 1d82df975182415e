//! The course's protocol: its published behaviour, its invariants, and how it fails.

use proptest::prelude::*;

use super::*;
use crate::packet::FabricOptions;
use crate::packet::aggregation::harness::*;
use crate::topology::Topology;

fn trial<'a>(network: &'a Topology, options: &FabricOptions, choice: &str) -> Trial<'a, Lab> {
    let lab = Lab::new(&Choice::parse(choice).unwrap(), options.seed, true).unwrap();
    Trial::new(network, options, lab)
}

fn lossy(loss: f64, seed: u64) -> FabricOptions {
    FabricOptions { loss, seed, ..FabricOptions::default() }
}

/// A chunk takes a round trip; sizes of both framings and variants.
#[test]
fn a_chunk_takes_a_round_trip() {
    let cases = [
        ("switchml-lab", 14 + 5 + 252 + 24),
        ("switchml-lab[framing=udp]", 14 + 20 + 8 + 5 + 252 + 24),
        ("switchml-lab[variant=basic]", 14 + 252 + 24),
        ("switchml-lab[variant=basic,framing=udp]", 14 + 20 + 8 + 252 + 24),
    ];
    for workers in [1, 2, 8] {
        let net = star(workers, 10.0, MILLISECOND, 0);
        for (choice, wire) in cases {
            // Five chunks, padded to six; the last element is half a word.
            let mut run = trial(&net, &lossy(0.0, 0), choice);
            let found = run.allreduce(252 * 4 + 6).unwrap();
            assert_eq!(found, 6 * 2 * (MILLISECOND + wire * 800), "{choice}");
            let checked = u64::from(workers) * (63 * 4 + 2);
            assert_eq!(run.program.0.report(), AggregationReport { checked, ..AggregationReport::default() });
        }
    }
}

/// Mean time of a chunk in two simulations of others: 1 ms a link, time-out 1 s, packets without a
/// length. (What is sent again at the same time then reaches the switch at the same time, in the
/// same order ever after.)
#[test]
fn loss_costs_what_was_simulated() {
    let cases = [
        (0.01, [(2, 0.041), (4, 0.078), (8, 0.152)]),
        (0.1, [(2, 0.41), (4, 0.67), (8, 0.95)]),
        (0.3, [(2, 1.61), (4, 2.07), (8, 2.35)]),
    ];
    for (loss, rows) in cases {
        for (workers, expected) in rows {
            let net = star(workers, 1e9, MILLISECOND, 0);
            let chunks = if loss < 0.1 { 30_000 } else { 8000 };
            let mut run = trial(&net, &lossy(loss, 1), "switchml-lab[invalid=ignore]");
            let found = run.allreduce(252 * chunks).unwrap() as f64 / chunks as f64 / 1e12;
            assert!(
                (0.9..1.1).contains(&(found / expected)),
                "{loss}, {workers} workers: {found}, not {expected}"
            );
            assert_eq!(run.program.0.report().wrong, 0);
        }
    }
}

/// One loss gives a deadlock.
#[test]
fn the_basic_variant_dies_of_a_loss() {
    let net = star(3, 10.0, MILLISECOND, 0);
    let mut run = trial(&net, &lossy(0.01, 3), "switchml-lab[variant=basic]");
    assert_eq!(run.allreduce(252 * 1000), None);
    assert_eq!((run.fabric.pending(), run.sums.len(), run.program.0.report().wrong), (0, 0, 0));
    let lost: u64 = run.fabric.traffic().iter().map(|link| link.losses).sum();
    assert!(lost > 0);
    // Without a loss it is right.
    let mut run = trial(&net, &lossy(0.0, 3), "switchml-lab[variant=basic]");
    assert!(run.allreduce(252 * 1000).is_some());
}

/// A packet that comes twice is counted twice: the sum is wrong, or goes out before all have sent.
#[test]
fn the_basic_variant_counts_a_second_copy() {
    let net = star(3, 10.0, MILLISECOND, 0);
    let options = FabricOptions { duplicate: 0.01, ..lossy(0.0, 3) };
    let mut run = trial(&net, &options, "switchml-lab[variant=basic]");
    run.allreduce(252 * 1000);
    assert!(run.program.0.report().wrong > 0);
}

/// Where packets overtake each other, an old one evicts the pool that others need.
#[test]
fn overtaken_resends_stop_it() {
    let net = star(2, 10.0, MICROSECOND, 0);
    let stuck = (0..6).filter(|seed| {
        let options = FabricOptions { reorder_ps: 100 * MICROSECOND, ..lossy(0.3, *seed) };
        let mut run = trial(&net, &options, "switchml-lab[timeout=110us,invalid=ignore]");
        let ended = run.allreduce(252 * 20_000).is_some();
        assert_eq!(run.program.0.stuck().is_none(), ended, "a hang has to be reported");
        assert_eq!(run.program.0.report().wrong, 0, "chunks are told apart");
        !ended
    });
    assert!(stuck.count() > 0);
}

/// A copy too many, answered by copies of all, each of which may be one too many.
#[test]
fn resends_at_once_multiply() {
    let net = star(4, 10.0, MILLISECOND, 0);
    let resent = |choice| {
        let mut run = trial(&net, &lossy(0.05, 1), choice);
        let ended = run.allreduce(252 * 200).is_some();
        (ended, run.program.0.report().retransmits, run.program.0.stuck())
    };
    let (ended, calm, _) = resent("switchml-lab[invalid=ignore]");
    assert!(ended && calm < 1000, "{calm}");
    let (ended, many, stuck) = resent("switchml-lab");
    assert!(!ended && many > 20 * calm && stuck.is_some());
}

/// Section 3 of the report: when workers "declare a response invalid", "the original packet is
/// retransmitted", and the worker waits on.
#[test]
fn an_invalid_response_is_answered_as_chosen() {
    let packet = (14 + 5 + 252 + 24) * 800;
    let net = star(2, 10.0, MILLISECOND, 0);
    for (choice, resends) in
        [("switchml-lab", 1), ("switchml-lab[invalid=resend]", 1), ("switchml-lab[invalid=ignore]", 0)]
    {
        let lab = Lab::new(&Choice::parse(choice).unwrap(), 0, false).unwrap();
        let mut run = Trial::new(&net, &lossy(0.0, 0), lab);
        let number = run.open(&group(0, 0..2)).unwrap();
        run.add(number, 0, 252, 0).unwrap();
        // The sum of chunk 6 reaches worker 0, which waits for that of chunk 0.
        let mut invalid = Packet { flow: 0, seq: 6, kind: DOWN, ..Packet::default() };
        invalid.words[PLACE] = NOWHERE;
        run.program.0.receive(&mut run.fabric, HostId(0), &invalid);
        while run.fabric.next_time().is_some_and(|time| time <= 2 * packet) {
            run.step();
        }
        assert_eq!(run.program.0.report().retransmits, resends, "{choice}");
        assert_eq!(run.fabric.traffic()[run.program.0.workers[0].wire.0 as usize].packets, 1 + resends);
        // It waits on, for a second from what it sent last, and takes the sum when it comes.
        let worker = &run.program.0.workers[0];
        assert_eq!((worker.state, worker.chunk), (State::Waiting, 0));
        assert_eq!(worker.deadline, TIMEOUT_PS + resends * packet);
        run.program.0.receive(&mut run.fabric, HostId(0), &Packet { seq: 0, ..invalid });
        assert_eq!(run.program.0.workers[0].chunk, 1);
    }
}

#[test]
fn carries_leak_into_the_element_before() {
    let (mut with, mut without) = ([0, 1, -1], [0, 1, -1]);
    add(&mut with, &[0, 0, 1], true);
    add(&mut without, &[0, 0, 1], false);
    assert_eq!((with, without), ([0, 2, 0], [0, 1, 0]));
    // The report's example, in 32 bits: 0x0204 + 0x0152 = 0x0356.
    let mut sum = [2, 4];
    add(&mut sum, &[1, 0x52], true);
    assert_eq!(sum, [3, 0x56]);
    // A carry through all elements leaves at the top.
    let mut sum = [-1, -1, -1];
    add(&mut sum, &[0, 0, 1], true);
    assert_eq!(sum, [0, 0, 0]);
    // Numbers of any sign are summed wrong.
    let net = star(2, 10.0, 0, 0);
    let mut run = trial(&net, &lossy(0.0, 0), "switchml-lab[carries=on]");
    run.allreduce(252 * 10).unwrap();
    assert!(run.program.0.report().wrong > 100);
}

#[test]
fn what_cannot_work_is_refused() {
    let cases = [
        (
            "switchml-lab[k=3]",
            "unknown parameter of `switchml-lab` `k` (known: variant, framing, timeout, invalid, carries)",
        ),
        (
            "switchml-lab[variant=base]",
            "unknown variant `base`; did you mean basic? (known: fault-tolerant, basic)",
        ),
        ("switchml-lab[invalid=drop]", "unknown invalid `drop` (known: resend, ignore)"),
        ("switchml-lab[carries=yes]", "unknown carries `yes` (known: off, on)"),
    ];
    for (choice, expected) in cases {
        let error = Lab::new(&Choice::parse(choice).unwrap(), 0, false).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{choice}: {error}");
    }
    let net = network("h0-a h1-a h2-b h3-b a-b h4-a h5-a h6-a h7-a h8-a h9-a", 10.0, 0, 0);
    let mut run = trial(&net, &lossy(0.0, 0), "switchml-lab");
    let refuse = |run: &mut Trial<'_, Lab>, workers| run.open(&group(5, workers)).unwrap_err().to_string();
    assert_eq!(refuse(&mut run, 0..9), "switchml-lab: job 5: 9 workers, expected 1 to 8");
    assert_eq!(
        refuse(&mut run, 0..3),
        "switchml-lab: job 5: its workers are at several switches, expected one"
    );
    let number = run.open(&group(5, 0..2)).unwrap();
    assert_eq!(
        refuse(&mut run, 4..6),
        "switchml-lab: job 5: switch a sums for another job, and has registers for one"
    );
    run.add(number, 0, 100, 0).unwrap();
    assert_eq!(
        run.add(number, 1, 101, 0).unwrap_err().to_string(),
        "switchml-lab: job 5: reduction 0 is of 101 bytes at one worker, of 100 at another"
    );
    run.program.0.close(&mut run.fabric, number);
    run.open(&group(6, 4..6)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Links that keep the order, and any loss and second copies: sums are right, workers are a
    /// chunk apart at most, bits of a pool only grow, and a pool is emptied when all have its sum.
    #[test]
    fn sums_are_exact(
        workers in 1_u32..9,
        loss in prop_oneof![Just(0.0), 0.0..0.4],
        timeout in 5_u32..200,
        reductions in prop::collection::vec(0_u64..1500, 1..5),
        duplicate in prop_oneof![Just(0.0), 0.0..0.3],
        (pace, seed) in (0_u32..100, any::<u64>()),
    ) {
        let net = star(workers, 10.0, MICROSECOND, 0);
        let options = FabricOptions { duplicate, ..lossy(loss, seed) };
        let mut run = trial(&net, &options, &format!("switchml-lab[timeout={timeout}us,invalid=ignore]"));
        let number = run.open(&group(0, 0..workers)).unwrap();
        let mut to_add = (0..reductions.len()).flat_map(|reduction| (0..workers).map(move |worker| (worker, reduction)));
        let mut steps = 0;
        loop {
            let before: Vec<(Option<u32>, u8)> =
                run.program.0.worker_groups[0].pools.iter().map(|pool| (pool.chunk, pool.received)).collect();
            let goes_on = run.step();
            let (pools, all) = (&run.program.0.worker_groups[0].pools, &run.program.0.workers);
            for (pool, (chunk, received)) in pools.iter().zip(before) {
                if pool.chunk == chunk {
                    prop_assert_eq!(pool.received & received, received);
                } else {
                    prop_assert!(chunk.is_none_or(|chunk| all.iter().all(|worker| worker.chunk > chunk)));
                }
            }
            let chunks = || all.iter().map(|worker| worker.chunk);
            prop_assert!(chunks().max().unwrap() - chunks().min().unwrap() <= 1);
            if !goes_on || steps % (pace + 1) == 0 {
                match to_add.next() {
                    Some((worker, reduction)) => {
                        run.add(number, worker, reductions[reduction], worker << 8 | reduction as u32).unwrap();
                    }
                    None if !goes_on => break,
                    None => {}
                }
            }
            steps += 1;
            prop_assert!(steps < 5_000_000, "no end");
        }
        prop_assert_eq!(run.sums.len(), workers as usize * reductions.len());
        let elements: u64 = reductions.iter().map(|bytes| bytes.div_ceil(4)).sum();
        let report = run.program.0.report();
        prop_assert_eq!((report.checked, report.wrong), (elements * u64::from(workers), 0));
    }
}

/// No time-out of a second is pending once all have the sum: the last event is the arrival of the
/// last packet.
#[test]
fn it_rests_with_the_last_sum() {
    let net = star(4, 10.0, MICROSECOND, 0);
    let mut run = trial(&net, &lossy(0.0, 0), "switchml-lab");
    let found = run.allreduce(252).unwrap();
    assert_eq!((run.fabric.now(), run.fabric.pending()), (found, 0));
}
