//! The packet that a worker assumes lost.

use proptest::prelude::*;

use crate::packet::aggregation::GIVE_UP_AFTER;
use crate::packet::aggregation::atp::window::{Law, Window};
use crate::packet::aggregation::atp::worker::{Patience, Worker};

const PAPER: Patience = Patience { is_code: false, timeout: 200, first_timeout: 5000 };
const NOTHING: [i64; 0] = [];
const CODE: Patience = Patience { is_code: true, ..PAPER };

fn worker(size: u32) -> Worker {
    worker_of(size, 1)
}

fn worker_of(size: u32, servers: u32) -> Worker {
    let window = Window {
        law: Law::Fixed,
        size,
        threshold: u32::MAX,
        limit: size,
        answers: 0,
        is_marked: false,
        known: 0,
    };
    let mut worker = Worker::new(window, vec![], servers, false);
    worker.extend(1000, 0);
    worker
}

/// Sends all it may; the numbers, those sent again negative.
fn send(worker: &mut Worker) -> Vec<i64> {
    let mut sent = Vec::new();
    while let Some(next) = worker.offer() {
        worker.sent(next);
        sent.push(if next.is_resend { -i64::from(next.seq) } else { i64::from(next.seq) });
    }
    sent
}

#[test]
fn three_others_in_a_row_are_a_loss_once_for_each_window() {
    let mut worker = worker(10);
    assert_eq!(send(&mut worker), (0..10).collect::<Vec<_>>());
    let take = |worker: &mut Worker, seq| {
        worker.take(seq, false, 0, PAPER);
        send(worker)
    };
    assert_eq!(take(&mut worker, 0), [10]);
    assert_eq!(take(&mut worker, 2), NOTHING);
    assert_eq!(take(&mut worker, 2), NOTHING, "a second copy is no sign of anything");
    assert_eq!(take(&mut worker, 3), NOTHING);
    assert_eq!(take(&mut worker, 7), [-1]);
    for seq in [4, 5, 6, 8, 9] {
        assert_eq!(take(&mut worker, seq), NOTHING, "sent before the resend");
    }
    // All but 10 are there.
    assert_eq!(take(&mut worker, 1), (11..20).collect::<Vec<_>>());
    assert_eq!((worker.expected, worker.resends), (10, 1));
    // Lost again: answers to what was sent after the resend tell.
    assert_eq!([11, 12, 13].map(|seq| take(&mut worker, seq)), [vec![], vec![], vec![-10]]);
}

#[test]
fn a_gap_is_sent_again_once_by_the_code() {
    let mut worker = worker(10);
    send(&mut worker);
    let take = |worker: &mut Worker, seq| {
        worker.take(seq, false, 0, CODE);
        send(worker)
    };
    assert_eq!(take(&mut worker, 3), [0, -1, -2]);
    assert_eq!(take(&mut worker, 2), NOTHING);
    assert_eq!(take(&mut worker, 6), NOTHING);
    assert_eq!(take(&mut worker, 1), NOTHING);
    // Now the gap is 4 and 5, behind it.
    assert_eq!(take(&mut worker, 0), [-4, -5, 10, 11, 12, 13]);
    assert_eq!(take(&mut worker, 7), NOTHING);
}

/// Servers 0, 1 and 2 in turn; only what server 1 answers tells of packet 1.
#[test]
fn servers_do_not_speak_for_each_other() {
    for (patience, again) in [(PAPER, vec![-1]), (CODE, vec![-1, -4, -7])] {
        let mut worker = worker_of(20, 3);
        send(&mut worker);
        let mut sent = Vec::new();
        for seq in [0, 3, 6, 9, 2, 5, 8, 11, 10, 13, 16] {
            worker.take(seq, false, 0, patience);
            sent.extend(send(&mut worker).into_iter().filter(|seq| *seq < 0));
        }
        assert_eq!(sent, again);
    }
}

#[test]
fn silence_has_everything_sent_again() {
    for (patience, waits) in [(PAPER, [200, 400, 800, 1600, 3200, 5000, 5000]), (CODE, [200; 7])] {
        let mut worker = worker(4);
        send(&mut worker);
        assert_eq!(worker.deadline(patience), Some(5000));
        worker.take(0, false, 7, patience);
        assert_eq!(send(&mut worker), [4]);
        let mut now = 7;
        for wait in waits {
            now += wait;
            assert_eq!(worker.deadline(patience), Some(now));
            worker.lose_patience(now, patience);
            assert_eq!(send(&mut worker), [-1, -2, -3, -4]);
        }
        for seq in 1..5 {
            worker.take(seq, false, now, patience);
        }
        assert!(worker.deadline(patience).is_none());
    }
}

#[test]
fn nobody_waits_for_ever() {
    let mut worker = worker(4);
    let mut now = 0;
    while let Some(deadline) = worker.deadline(PAPER).filter(|_| now > 0).or_else(|| {
        send(&mut worker);
        worker.deadline(PAPER)
    }) {
        now = deadline;
        worker.lose_patience(now, PAPER);
        send(&mut worker);
    }
    assert!(worker.has_given_up);
    assert_eq!(worker.resends, 4 * u64::from(GIVE_UP_AFTER));
}

proptest! {
    /// Whatever is answered in whatever order, each packet is sent, and one that is answered is
    /// never sent again.
    #[test]
    fn every_packet_is_sent_until_it_is_answered(
        seed in prop::collection::vec((0_u32..12, any::<bool>()), 1..400),
        code in any::<bool>(),
        servers in 1_u32..4,
    ) {
        let patience = if code { CODE } else { PAPER };
        let mut worker = worker_of(12, servers);
        worker.end = 100;
        let (mut on_their_way, mut answered, mut now) = (Vec::new(), [false; 100], 0);
        let mut seed = seed.into_iter();
        while worker.expected < 100 {
            while let Some(next) = worker.offer() {
                prop_assert!(!answered[next.seq as usize], "answered and sent again");
                prop_assert!(next.seq < worker.expected + 12);
                worker.sent(next);
                on_their_way.push(next.seq);
            }
            now += 1;
            if on_their_way.is_empty() {
                now = worker.deadline(patience).unwrap();
                worker.lose_patience(now, patience);
                continue;
            }
            let (which, is_lost) = seed.next().unwrap_or((0, false));
            let seq = on_their_way.remove(which as usize % on_their_way.len());
            if !is_lost {
                let is_news = worker.take(seq, false, now, patience);
                prop_assert_eq!(is_news, !std::mem::replace(&mut answered[seq as usize], true));
            }
        }
        prop_assert!(answered.iter().all(|answered| *answered));
    }
}
