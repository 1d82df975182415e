//! What a switch does with single packets.

use proptest::prelude::*;

use super::*;
use crate::packet::aggregation::atp::aggregator::FREE;
use crate::packet::aggregation::atp::header::{COLLISION, ECN, LANES, RESEND, SECOND};

/// A contribution of worker `bit` to sum `seq` of three workers, all numbers 10^bit.
fn packet(vectors: &mut Vectors, seq: u32, bit: u32, flags: u16) -> Packet {
    let value = vectors.insert([10_i32.pow(bit); LANES]);
    Packet { seq, ack: 3 | 3 << 8, flags, words: [1 << bit, 1 << bit, 0, value], ..Packet::default() }
}

/// Number and bitmaps of what a packet carries.
fn seen(vectors: &Vectors, packet: &Packet) -> (i32, u32, u32) {
    (vectors.get(packet.words[3]).unwrap()[0], packet.words[0], packet.words[1])
}

#[test]
fn the_last_contribution_takes_the_sum_along() {
    for level in [0, SECOND] {
        let (mut table, mut vectors) = (Table::new(1, 100), Vectors::default());
        for bit in [2, 0] {
            let mut part = packet(&mut vectors, 5, bit, level | if bit == 0 { ECN } else { 0 });
            assert!(!table.add(&mut part, 7, &mut vectors, false));
        }
        let mut last = packet(&mut vectors, 5, 1, level);
        assert!(table.add(&mut last, 8, &mut vectors, false));
        let bitmaps = if level == 0 { (7, 2) } else { (2, 7) };
        assert_eq!(seen(&vectors, &last), (111, bitmaps.0, bitmaps.1));
        assert_eq!(last.flags, SECOND | ECN, "the mark of one is the mark of all");
        // It stays until the result passes; another job's does not free it in time.
        let mut other = packet(&mut vectors, 6, 0, level);
        assert!(table.add(&mut other, 9, &mut vectors, false));
        assert_eq!((other.flags, seen(&vectors, &other).0), (level | COLLISION, 1));
        table.free(&other, 108, &mut vectors);
        assert_eq!(table.rows[0].identifier, 5);
        table.free(&last, 108, &mut vectors);
        assert_eq!((table.rows[0].identifier, table.leaks, table.collisions), (FREE, 0, 1));
    }
}

#[test]
fn a_second_copy_is_dropped_or_by_the_code_answered() {
    for is_code in [false, true] {
        let (mut table, mut vectors) = (Table::new(1, 100), Vectors::default());
        let mut add = |bit| {
            let mut part = packet(&mut vectors, 5, bit, 0);
            let goes = table.add(&mut part, 7, &mut vectors, is_code);
            goes.then(|| seen(&vectors, &part).0)
        };
        assert_eq!([0, 0, 1, 0, 2].map(&mut add), [None, None, None, None, Some(111)]);
        assert_eq!(add(1), is_code.then_some(111));
    }
}

#[test]
fn a_resend_takes_along_what_is_there_or_goes_alone() {
    let (mut table, mut vectors) = (Table::new(1, 100), Vectors::default());
    let mut part = packet(&mut vectors, 5, 0, ECN);
    assert!(!table.add(&mut part, 7, &mut vectors, false));
    let mut again = packet(&mut vectors, 5, 2, RESEND);
    table.resend_first(&mut again, 8, &mut vectors);
    assert_eq!((seen(&vectors, &again), again.flags), ((101, 5, 4), RESEND | ECN));
    assert_eq!(table.rows[0].identifier, FREE);
    let mut alone = packet(&mut vectors, 5, 1, RESEND);
    table.resend_first(&mut alone, 8, &mut vectors);
    assert_eq!((seen(&vectors, &alone), alone.flags), ((10, 2, 2), RESEND));
    // One whose part is there already: the sum goes in its place.
    let mut part = packet(&mut vectors, 6, 1, 0);
    assert!(!table.add(&mut part, 7, &mut vectors, false));
    let mut again = packet(&mut vectors, 6, 1, RESEND);
    table.resend_first(&mut again, 8, &mut vectors);
    assert_eq!(seen(&vectors, &again), (10, 2, 2));
    // At the second level what is there is given up, but for the mark.
    let mut part = packet(&mut vectors, 7, 0, SECOND | ECN);
    assert!(!table.add(&mut part, 7, &mut vectors, false));
    let mut again = packet(&mut vectors, 7, 2, RESEND | SECOND);
    table.resend_second(&mut again, 8, &mut vectors);
    assert_eq!((seen(&vectors, &again), again.flags), ((100, 4, 4), RESEND | SECOND | ECN));
    assert_eq!(table.rows[0].identifier, FREE);
    assert_eq!(vectors.used(), 4, "those of the four packets that went on");
}

/// Notes on the paper, § 3.7, *Memory leak*: an incoming packet, of whatever job, clears an
/// aggregator whose last contribution is older than the time-out.
#[test]
fn any_newcomer_frees_what_nobody_has_touched_for_long() {
    // Touched at 7, time-out 100: at 107 it is kept, at 108 it is not.
    for (now, is_freed) in [(107, false), (108, true)] {
        let start = |vectors: &mut Vectors| {
            let mut table = Table::new(1, 100);
            let mut part = packet(vectors, 5, 0, ECN);
            assert!(!table.add(&mut part, 7, vectors, false));
            table
        };
        let owner = |table: &Table| (table.rows[0].identifier, table.leaks, table.collisions);
        // A contribution takes the aggregator, and nothing of what was there.
        let mut vectors = Vectors::default();
        let mut table = start(&mut vectors);
        let mut other = packet(&mut vectors, 6, 1, 0);
        assert_eq!(table.add(&mut other, now, &mut vectors, false), !is_freed);
        assert_eq!(other.flags, if is_freed { 0 } else { COLLISION });
        assert_eq!(owner(&table), if is_freed { (6, 1, 0) } else { (5, 0, 1) });
        if is_freed {
            assert!(!table.add(&mut packet(&mut vectors, 6, 0, 0), now, &mut vectors, false));
            let mut last = packet(&mut vectors, 6, 2, 0);
            assert!(table.add(&mut last, now, &mut vectors, false));
            assert_eq!(
                (seen(&vectors, &last), last.flags),
                ((111, 7, 4), SECOND),
                "without the other's mark"
            );
        }
        // A resend frees it and goes on alone; a result likewise.
        for what in 0..3 {
            let mut vectors = Vectors::default();
            let mut table = start(&mut vectors);
            let mut other = packet(&mut vectors, 6, 1, 0);
            match what {
                0 => table.resend_first(&mut other, now, &mut vectors),
                1 => table.resend_second(&mut other, now, &mut vectors),
                _ => table.free(&other, now, &mut vectors),
            }
            assert_eq!(owner(&table), if is_freed { (FREE, 1, 0) } else { (5, 0, 0) });
            assert_eq!((seen(&vectors, &other), other.flags), ((10, 2, 2), 0));
            assert_eq!(vectors.used(), if is_freed { 1 } else { 2 });
        }
        // Its own sum goes on as if nothing had been.
        let mut vectors = Vectors::default();
        let mut table = start(&mut vectors);
        assert!(!table.add(&mut packet(&mut vectors, 5, 1, 0), now, &mut vectors, false));
        assert_eq!((owner(&table), table.rows[0].bitmap), ((5, 0, 0), 3));
    }
}

proptest! {
    /// (e): a resend never takes an aggregator; and after any packets, those of jobs that are gone
    /// are free once a result has come by late enough (f).
    #[test]
    fn resends_take_nothing_and_leaks_end(
        packets in prop::collection::vec((0_u32..4, 0_u32..3, 0_u32..6, any::<bool>()), 0..60),
    ) {
        let (mut table, mut vectors) = (Table::new(3, 1000), Vectors::default());
        let taken = |table: &Table| table.rows.iter().filter(|row| row.identifier != FREE).count();
        for (now, (seq, bit, what, is_second)) in (0..).zip(packets) {
            let level = if is_second { SECOND } else { 0 };
            let mut packet = packet(&mut vectors, seq, bit, level | if what == 5 { RESEND } else { 0 });
            packet.words[2] = seq % 3;
            let before = taken(&table);
            let goes = match (what, is_second) {
                (5, false) => {
                    table.resend_first(&mut packet, now, &mut vectors);
                    prop_assert!(taken(&table) <= before);
                    true
                }
                (5, true) => {
                    table.resend_second(&mut packet, now, &mut vectors);
                    prop_assert!(taken(&table) <= before);
                    true
                }
                (4, _) => {
                    table.free(&packet, now, &mut vectors);
                    prop_assert!(table.rows[seq as usize % 3].identifier != u64::from(seq));
                    true
                }
                _ => table.add(&mut packet, now, &mut vectors, false),
            };
            if goes {
                vectors.release(packet.words[3]);
            }
            for row in &table.rows {
                prop_assert_eq!(row.bitmap.count_ones(), row.counter);
            }
        }
        for row in 0..3 {
            table.free(&Packet { seq: 99, words: [0, 0, row, 0], ..Packet::default() }, 2000, &mut vectors);
        }
        prop_assert_eq!((taken(&table), vectors.used()), (0, 0));
    }
}
