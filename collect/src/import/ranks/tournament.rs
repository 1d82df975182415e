//! The earliest of many streams.

/// A loser tree (Knuth, The Art of Computer Programming 3, section 5.4.1): each inner node holds
/// the loser of its match, so that replacing the winner takes one comparison a level. Streams of
/// equal time come in the order of their numbers.
pub(super) struct Tournament {
    /// Losers by node, from 1; a power of two of them.
    losers: Vec<u128>,
    winner: u128,
}

/// A stream that has ended.
const ENDED: u128 = u128::MAX;

fn key(time_ns: Option<i64>, number: usize) -> u128 {
    // Flipping the sign makes the order of unsigned numbers that of signed ones.
    time_ns.map_or(ENDED, |time| u128::from(time.cast_unsigned() ^ 1 << 63) << 32 | number as u128)
}

impl Tournament {
    /// Of streams with these first times; fewer than 2³² of them.
    pub(super) fn new(times: &[Option<i64>]) -> Self {
        let leaves = times.len().next_power_of_two().max(2);
        let mut winners = vec![ENDED; 2 * leaves];
        for (number, time) in times.iter().enumerate() {
            winners[leaves + number] = key(*time, number);
        }
        let mut losers = vec![ENDED; leaves];
        for node in (1..leaves).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            (winners[node], losers[node]) = (left.min(right), left.max(right));
        }
        Self { losers, winner: winners[1] }
    }

    /// Time and number of the earliest stream; `None` if all have ended.
    #[inline]
    pub(super) fn earliest(&self) -> Option<(i64, usize)> {
        let time = ((self.winner >> 32) as u64 ^ 1 << 63).cast_signed();
        (self.winner != ENDED).then_some((time, (self.winner & 0xffff_ffff) as usize))
    }

    /// Sets the next time of the earliest stream, or its end.
    #[inline]
    pub(super) fn replace(&mut self, time_ns: Option<i64>) {
        let number = (self.winner & 0xffff_ffff) as usize;
        let mut winner = key(time_ns, number);
        let mut node = (self.losers.len() + number) / 2;
        while node > 0 {
            let loser = &mut self.losers[node];
            // One comparison, where the lesser and the greater taken apart would be two.
            (*loser, winner) = if *loser < winner { (winner, *loser) } else { (*loser, winner) };
            node /= 2;
        }
        self.winner = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn streams_come_out_as_a_stable_sort_has_them(
            mut streams in prop::collection::vec(prop::collection::vec(any::<i64>(), 0..9), 0..20),
        ) {
            let mut expected = Vec::new();
            for (number, stream) in streams.iter_mut().enumerate() {
                stream.sort_unstable();
                expected.extend(stream.iter().map(|time| (*time, number)));
            }
            expected.sort();
            let mut rest: Vec<_> = streams.iter().map(|stream| stream.iter().copied()).collect();
            let firsts: Vec<_> = rest.iter_mut().map(Iterator::next).collect();
            let mut tournament = Tournament::new(&firsts);
            let mut found = Vec::new();
            while let Some((time, number)) = tournament.earliest() {
                found.push((time, number));
                tournament.replace(rest[number].next());
            }
            prop_assert_eq!(found, expected);
        }
    }
}
