//! What the protocol does where things go wrong, case by case.

use super::*;
use crate::packet::aggregation::atp::aggregator::FREE;
use crate::packet::aggregation::atp::worker::Next;
use crate::packet::{Marking, Pause};

const LOSSLESS: FabricOptions = FabricOptions {
    buffer: None,
    shared: None,
    pause: None,
    marking: None,
    loss: 0.0,
    duplicate: 0.0,
    reorder_ps: 0,
    paths: crate::packet::Paths::Flow,
    seed: 1,
};

const MS: Picoseconds = 1_000_000_000;

fn checked(run: &Run<'_>) -> u64 {
    let report = run.atp.0.report();
    assert_eq!(report.wrong, 0);
    report.checked
}

/// Takes the aggregator of a job's first packet, or gives it free.
fn occupy(run: &mut Run<'_>, group: u32, is_taken: bool) {
    let share = run.group(group).share;
    let index = share.hash(run.atp.0.seed, group, 0) as usize;
    run.atp.0.tables[0].rows[index].identifier = if is_taken { 77 << 32 } else { FREE };
}

/// A packet finds its aggregator allocated and continues to the server; the other one arrives when
/// it is free, and stays there. Only a resend brings both together.
#[test]
fn a_sum_divided_between_switch_and_server_waits_for_resends() {
    let net = star(3);
    let mut run = Run::new(&net, &LOSSLESS, "atp");
    let group = run.open(1, &[0, 1], &[2]);
    occupy(&mut run, group, true);
    run.add(group, 0, 248);
    run.until(MS);
    occupy(&mut run, group, false);
    run.add(group, 1, 248);
    run.until(40 * MS);
    assert_eq!(run.done, []);
    let taken = |run: &Run<'_>| run.atp.0.tables[0].rows.iter().filter(|row| row.identifier != FREE).count();
    assert_eq!(taken(&run), 1);
    // The first one sends again after 50 ms, and frees the aggregator; what it brings is there
    // already.
    run.until(50 * MS + MS / 2);
    assert_eq!((taken(&run), run.done.len()), (0, 0));
    // So does the other one, 1 ms later, and what it brings is missing.
    run.finish();
    assert_eq!(run.done.len(), 2);
    assert!(run.last() > 51 * MS && run.last() < 52 * MS);
    assert_eq!((checked(&run), run.atp.0.report().retransmits, run.atp.0.report().fallbacks), (2 * 62, 2, 1));
}

/// Who comes later than the others have patience for finds their packets at the server already, and
/// his own stay at the switch.
#[test]
fn patience_has_to_cover_the_time_between_workers() {
    let net = star(3);
    for (text, resends, done) in [("atp", 4 * 100 + 100, 250), ("atp[first-timeout=1s]", 0, 200)] {
        let mut run = Run::new(&net, &LOSSLESS, text);
        let group = run.open(1, &[0, 1], &[2]);
        run.add(group, 0, 248 * 100);
        run.until(199 * MS);
        run.add(group, 1, 248 * 100);
        run.finish();
        assert_eq!(run.last() / MS, done - 1);
        assert_eq!((checked(&run), run.atp.0.report().retransmits), (2 * 6200, resends));
    }
}

/// Losses at the end of a vector are noticed by silence, those before by three packets in a row.
#[test]
fn losses_are_cured() {
    let net = network("h0-a h1-a h2-b h3-b h4-p h5-p a-p b-p");
    for (text, seed) in ["atp", "atp[profile=code]", "atp[aggregators=7]"].into_iter().zip(1..) {
        let mut run = Run::new(&net, &FabricOptions { loss: 0.003, seed, ..LOSSLESS }, text);
        let group = run.open(1, &[0, 1, 2, 3, 4], &[5]);
        run.add_all(group, 400_000);
        run.finish();
        assert_eq!((run.done.len(), checked(&run), run.atp.0.stuck()), (5, 5 * 100_000, None), "{text}");
        assert!(run.atp.0.report().retransmits > 0);
    }
}

#[test]
fn a_job_that_is_gone_loses_its_aggregators_after_a_while() {
    let net = star(6);
    let mut run = Run::new(&net, &LOSSLESS, "atp[aggregators=1,leak-timeout=1ms]");
    let gone = run.open(1, &[0, 1], &[2]);
    run.add(gone, 0, 248);
    run.until(MS / 2);
    run.atp.0.close(&mut run.fabric, gone);
    let group = run.open(2, &[3, 4], &[5]);
    let add = |run: &mut Run<'_>| {
        run.add_all(group, 248);
        run.until(run.fabric.now() + MS);
        (run.atp.0.tables[0].rows[0].identifier, run.atp.0.report().fallbacks)
    };
    let leak = u64::from(gone) << 32;
    assert_eq!(add(&mut run), (leak, 2));
    // The next contribution finds an aggregator that is unused for more than 1 ms, and allocates
    // it.
    assert_eq!(add(&mut run), (FREE, 2));
    assert_eq!(add(&mut run), (FREE, 2));
    assert_eq!((run.done.len(), checked(&run), run.atp.0.tables[0].leaks), (6, 6 * 62, 1));
}

/// V20, invariant (i): sums that leave 32 bits are never taken for right; they are made of floats.
#[test]
fn what_overflows_is_summed_as_floats() {
    let net = network("h0-a h1-a h2-b h3-b h4-p h5-p a-p b-p");
    for (scale, profile, floats) in
        [("1e8", "paper", false), ("1e9", "paper", true), ("1e6", "code", false), ("1e9", "code", true)]
    {
        for loss in [0.0, 0.002] {
            let mut run = Run::new(
                &net,
                &FabricOptions { loss, ..LOSSLESS },
                &format!("atp[profile={profile},scale={scale}]"),
            );
            let group = run.open(1, &[0, 1, 2, 3, 4], &[5]);
            run.add_all(group, 100_000);
            run.finish();
            assert_eq!((run.done.len(), checked(&run)), (5, 5 * 25_000));
            assert_eq!(run.group(group).slots.iter().any(|slot| slot.is_raw), floats);
        }
    }
}

#[test]
fn who_waits_for_somebody_who_never_comes_gives_up() {
    let net = star(3);
    for (text, after) in [("atp", 500_000 * MS), ("atp[profile=code]", 20_000 * MS)] {
        let mut run = Run::new(&net, &LOSSLESS, text);
        let group = run.open(4, &[0, 1], &[2]);
        run.add(group, 1, 10);
        run.finish();
        let expected = "ATP: worker 1 of job 4 at h01 has given up waiting for the sum in packet 0";
        assert_eq!((run.done.len(), run.atp.0.stuck().as_deref()), (0, Some(expected)));
        assert!(run.fabric.now().abs_diff(after) <= 50 * MS, "{}", run.fabric.now());
    }
}

/// Invariant (h): a mark on one contribution reaches all workers of the job, and no other worker.
#[test]
fn marks_reach_the_job_and_no_other() {
    let net = network("h0-a h1-a h2-b h3-b h4-p h5-p h6-p a-p b-p");
    for (text, loss) in [("atp", 0.0), ("atp", 0.01), ("atp[aggregators=0]", 0.0)] {
        let mut run = Run::new(&net, &FabricOptions { loss, ..LOSSLESS }, text);
        let group = run.open(1, &[0, 1, 2, 3, 4], &[5]);
        let other = run.open(2, &[1, 3], &[6]);
        run.add_all(other, 248 * 50);
        // Packet 7 of worker 2 is marked, and so are all copies of it.
        run.atp.1 = Some((group, 7, 2));
        run.add_all(group, 248 * 100);
        run.finish();
        assert_eq!(run.done.len(), 7);
        for worker in &run.group(group).workers {
            assert!(worker.window.threshold < u32::MAX, "{text}");
        }
        if loss == 0.0 {
            let untouched = |worker: &Worker| worker.window.threshold == u32::MAX;
            assert!(run.group(other).workers.iter().all(untouched));
        }
    }
}

#[test]
fn servers_may_be_many_and_beside_workers() {
    let net = network("h0-a h1-a h2-b h3-b a-t b-t a-u b-u");
    for text in ["atp", "atp[profile=code]", "atp[aggregators=0]"] {
        let mut run = Run::new(&net, &LOSSLESS, text);
        let group = run.open(1, &[0, 1, 2, 3], &[0, 1, 2, 3]);
        run.add_all(group, 99_999);
        run.finish();
        assert_eq!((run.done.len(), checked(&run)), (4, 4 * 25_000));
        // 404 results, and a quarter of the sums; where packets of the job meet, more.
        let sums = if text.ends_with("=0]") { 4 * 101 } else { 101 };
        for (switch, host) in [("a", "h0"), ("a", "h1"), ("b", "h2"), ("b", "h3")] {
            let packets = run.traffic(switch, host).packets;
            assert!(packets == 404 + sums || text == "atp" && packets > 404 + sums, "{text} {packets}");
        }
    }
}

#[test]
fn vectors_follow_each_other_without_waiting() {
    let net = star(4);
    let mut run = Run::new(&net, &LOSSLESS, "atp[numbers=int]");
    let group = run.open(1, &[0, 1, 2], &[3]);
    for (worker, bytes) in [(0, 0), (0, 1000), (0, 4), (1, 0), (2, 0), (1, 1000), (2, 1000), (2, 4), (1, 4)] {
        run.add(group, worker, bytes);
    }
    run.finish();
    assert_eq!((run.done.len(), checked(&run)), (9, 3 * 251));
    let error = |run: &mut Run<'_>, worker, bytes| {
        run.atp.0.contribute(&mut run.fabric, group, worker, bytes, 0).unwrap_err().to_string()
    };
    run.add(group, 0, 9);
    assert_eq!(error(&mut run, 1, 8), "ATP: worker 1 of job 1 adds 8 bytes, others 9 bytes");
    assert_eq!(error(&mut run, 3, 8), "ATP: group 0 has no worker 3");
    assert_eq!(error(&mut run, 0, u64::MAX), "ATP: job 1 has more than 2^32 packets");
}

#[test]
fn groups_that_cannot_be_served_are_refused() {
    let text = (0..40).map(|host| format!("h{host:02}-s ")).collect::<String>() + "h98-h99 h98-s h99-s";
    let net = network(&text);
    let mut run = Run::new(&net, &LOSSLESS, "atp[sharing=static,jobs=1]");
    let mut open = |workers: std::ops::Range<u32>, servers: &[u32]| {
        let members = Members {
            job: 7,
            workers: workers.map(HostId).collect(),
            servers: servers.iter().copied().map(HostId).collect(),
        };
        run.atp.0.open(&mut run.fabric, &members).map_err(|error| error.to_string())
    };
    for (workers, servers, expected) in [
        (0..0, &[1][..], "ATP: job 7 has no workers"),
        (0..2, &[], "ATP: job 7 has no servers"),
        (
            0..33,
            &[39],
            "ATP: job 7 has more than 32 workers in a rack, or racks, or both together beside a server",
        ),
        (0..2, &[41], "ATP: host h99 does not hang at one switch, where its packets could be summed"),
    ] {
        assert_eq!(open(workers, servers).unwrap_err(), expected);
    }
    assert_eq!(open(0..32, &[39]), Ok(0));
    let expected = "ATP: job 7 gets no aggregators, as they are divided among 1 jobs";
    assert_eq!(open(0..2, &[39]).unwrap_err(), expected);
    run.atp.0.close(&mut run.fabric, 0);
    assert_eq!(run.open(8, &[0], &[1]), 1);
}

/// Jobs on the same hosts share the wires.
#[test]
fn jobs_on_the_same_hosts_take_turns() {
    let net = star(5);
    let time = |jobs: u32| {
        let mut run = Run::new(&net, &LOSSLESS, "atp[profile=code,aggregators=1000000]");
        for job in 0..jobs {
            let group = run.open(job, &[0, 1, 2, 3], &[4]);
            run.add_all(group, 248_000);
        }
        run.finish();
        assert_eq!(run.done.len() as u32, 4 * jobs);
        assert_eq!(checked(&run), u64::from(jobs) * 4 * 62_000);
        // A queue behind a host's wire would show as waiting at the host.
        assert_eq!(run.traffic("h00", "s").queue_max, Some(0));
        run.last() as f64
    };
    let (one, three) = (time(1), time(3));
    assert!((three / one - 3.0).abs() < 0.2, "{one} {three}");
}

/// Switches that pause their neighbours instead of dropping.
#[test]
fn pauses_are_waited_for() {
    let net = star(9);
    let pause = Some(Pause { stop: 8_000, go: 4_000 });
    let mut run = Run::new(&net, &FabricOptions { pause, ..LOSSLESS }, "atp[aggregators=0]");
    let group = run.open(1, &[0, 1, 2, 3, 4, 5, 6, 7], &[8]);
    run.add_all(group, 248_000);
    run.finish();
    assert_eq!((run.done.len(), checked(&run)), (8, 8 * 62_000));
    assert!(run.traffic("h00", "s").pauses > 0);
}

/// Queues that are too short drop, and marks keep them short.
#[test]
fn drops_are_cured_too() {
    let net = star(9);
    let options = FabricOptions { buffer: Some(100_000), marking: Some(Marking::above(40_000)), ..LOSSLESS };
    for text in ["atp[aggregators=0]", "atp[aggregators=40]"] {
        let mut run = Run::new(&net, &options, text);
        let group = run.open(1, &[0, 1, 2, 3, 4, 5, 6, 7], &[8]);
        run.add_all(group, 248_000);
        run.finish();
        assert_eq!((run.done.len(), checked(&run)), (8, 8 * 62_000));
        assert!(run.traffic("s", "h08").drops > 0);
    }
}

/// The server gives a place in the window another aggregator when its packets met those of another
/// job (code).
#[test]
fn places_that_collide_get_other_aggregators() {
    let net = star(8);
    let mut run = Run::new(&net, &LOSSLESS, "atp[profile=code,window=100,aggregators=400]");
    let groups = [(1, [0, 1, 2], 3), (2, [4, 5, 6], 7)].map(|(job, workers, server)| {
        let group = run.open(job, &workers, &[server]);
        run.add_all(group, 248 * 1000);
        group
    });
    let meeting = |run: &Run<'_>| {
        let [a, b] = groups.map(|group| &run.group(group).workers[0].indices);
        a.iter().filter(|index| b.contains(index)).count()
    };
    let before = meeting(&run);
    run.finish();
    assert_eq!((run.done.len(), checked(&run)), (6, 6 * 62_000));
    let fallbacks = run.atp.0.report().fallbacks;
    assert!(fallbacks > 0);
    for group in groups {
        let workers = &run.group(group).workers;
        assert!(workers.iter().all(|worker| worker.indices == workers[0].indices), "workers stay in step");
        let mut indices = workers[0].indices.clone();
        indices.sort_unstable();
        assert!(indices.windows(2).all(|pair| pair[0] != pair[1]));
    }
    // Once more: what has met has moved.
    let after = meeting(&run);
    groups.iter().for_each(|group| run.add_all(*group, 248 * 1000));
    run.finish();
    assert!(after < before, "{after} {before}");
    assert!(run.atp.0.report().fallbacks - fallbacks < fallbacks);
}

/// Two workers in one rack, one in another one, one beside the server.
#[test]
fn headers_say_who_and_how_many() {
    let net = network("h0-a h1-a h2-b h3-p h4-p a-p b-p");
    let mut run = Run::new(&net, &LOSSLESS, "atp");
    let group = run.open(1, &[0, 1, 2, 3], &[4]);
    run.add_all(group, 1000);
    let next = Next { seq: 3, is_resend: false, is_raw: false };
    let seen = [0, 1, 2, 3].map(|worker| {
        let packet = run.atp.0.gradient(group, worker, next);
        assert_eq!((packet.wire, packet.payload, packet.seq), (330, 248, 3));
        let last = run.atp.0.gradient(group, worker, Next { seq: 4, ..next });
        assert_eq!((last.wire, last.payload), (330, 8));
        let [first, second, ..] = packet.words;
        (first, second, packet.ack & 0xff, packet.ack >> 8, packet.flags & header::SECOND != 0)
    });
    assert_eq!(seen, [(1, 1, 2, 3, false), (2, 1, 2, 3, false), (1, 2, 1, 3, false), (1, 4, 1, 3, true)]);
}

/// No time-out of 200 µs is pending once all have the sum: the last event is the arrival of the
/// last packet.
#[test]
fn it_rests_with_the_last_sum() {
    let net = network("h0-s h1-s h2-s");
    for choice in ["atp", "atp[profile=code]"] {
        let mut run = Run::new(&net, &FabricOptions::default(), choice);
        let group = run.open(0, &[0, 1], &[2]);
        run.add_all(group, 10_000);
        run.finish();
        assert_eq!((run.done.len(), run.fabric.now()), (2, run.last()), "{choice}");
    }
}
