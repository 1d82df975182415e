//! The aggregator index of a packet, which hosts choose (paper § 3.5).
//!
//! Paper: a hash of job and sequence number, so packets of one job can collide, as those of two
//! jobs can. Code: a hash of job and place in the window, with a salt that ascends until all places
//! differ. After a collision with another job, the server assigns another aggregator to the place.

use rustc_hash::FxHashMap;

use crate::packet::chance::mix;

/// The aggregators of a switch that a job may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Share {
    /// Paper; the hash is not published, so this is an even one (SplitMix64).
    #[inline]
    pub(super) fn hash(self, seed: u64, job: u32, seq: u32) -> u32 {
        let hash = mix(seed ^ (u64::from(job) << 32 | u64::from(seq)));
        self.first + ((u128::from(hash) * u128::from(self.count)) >> 64) as u32
    }

    /// Code: an aggregator for each of `places` places in the window, not more than there are
    /// aggregators.
    pub(super) fn places(self, job: u32, places: u32) -> Vec<u32> {
        let mut is_used = vec![false; self.count as usize];
        let mut place_of = |place: u32| {
            let mut salt = 0;
            loop {
                let index = salted(job, place, salt) % self.count;
                if !std::mem::replace(&mut is_used[index as usize], true) {
                    return self.first + index;
                }
                salt += 1;
            }
        };
        (0..places.min(self.count)).map(&mut place_of).collect()
    }
}

/// CRC-32 (IEEE 802.3, reflected) of the low bytes of job, place and salt (code).
fn salted(job: u32, place: u32, salt: u32) -> u32 {
    let bytes = [job, place, salt].map(|word| [word as u8, (word >> 8) as u8]);
    let step = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 0 { 0 } else { 0xedb8_8320 })
    };
    bytes.into_iter().flatten().fold(u32::MAX, step)
}

/// The unused aggregators of a job, and its replacements (code).
#[derive(Clone, Debug)]
pub(super) struct Pool {
    spare: Vec<u32>,
    renamed: FxHashMap<u32, u32>,
}

impl Pool {
    /// All of the share that are not `used`, shuffled (Fisher and Yates).
    pub(super) fn new(share: Share, used: &[u32], seed: u64) -> Self {
        let mut is_used = vec![false; share.count as usize];
        used.iter().for_each(|index| is_used[(index - share.first) as usize] = true);
        let mut spare: Vec<u32> = (0..share.count)
            .filter(|index| !is_used[*index as usize])
            .map(|index| share.first + index)
            .collect();
        for last in (1..spare.len()).rev() {
            let hash = u128::from(mix(seed ^ last as u64));
            spare.swap(last, ((hash * (last as u128 + 1)) >> 64) as usize);
        }
        Self { spare, renamed: FxHashMap::default() }
    }

    /// The replacement of an aggregator; `None` if none is left.
    pub(super) fn rename(&mut self, index: u32) -> Option<u32> {
        if let Some(known) = self.renamed.get(&index) {
            return Some(*known);
        }
        let new = self.spare.pop()?;
        self.renamed.insert(index, new);
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc_32() {
        // Check value of CRC-32/ISO-HDLC's raw register: inverted it is the checksum, here of 01 00
        // 02 00 03 00.
        let reference = |bytes: &[u8]| {
            let mut hasher = flate2::Crc::new();
            hasher.update(bytes);
            hasher.sum()
        };
        assert_eq!(!salted(1, 2, 3), reference(&[1, 0, 2, 0, 3, 0]));
        assert_eq!(!salted(0x1234, 0xabcd, 0), reference(&[0x34, 0x12, 0xcd, 0xab, 0, 0]));
    }

    /// V15: of K packets in N aggregators all but N(1 − (1 − 1/N)^K) find theirs taken.
    #[test]
    fn as_many_packets_collide_as_even_hashes_say() {
        for (rows, live, published) in [
            (20_000, 1200, 0.029),
            (20_000, 2400, 0.058),
            (20_000, 4800, 0.111),
            (20_000, 9600, 0.206),
            (20_000, 20_000, 0.368),
            (5000, 4800, 0.357),
        ] {
            let (n, k) = (f64::from(rows), f64::from(live));
            let expected = 1.0 - n / k * (1.0 - (1.0 - 1.0 / n).powf(k));
            assert!((expected - published).abs() < 0.0006, "{expected} {published}");
            let share = Share { first: 0, count: rows };
            let runs = 40;
            // Four jobs with a quarter of the packets each.
            let reached: f64 = (0..runs)
                .map(|run| {
                    let mut is_taken = vec![false; rows as usize];
                    let packets = (0..4).flat_map(|job| (0..live / 4).map(move |seq| (job, seq)));
                    let collisions = packets
                        .filter(|(job, seq)| {
                            let index = share.hash(mix(run), *job, *seq) as usize;
                            std::mem::replace(&mut is_taken[index], true)
                        })
                        .count();
                    collisions as f64 / k
                })
                .sum::<f64>()
                / f64::from(runs as u32);
            // The share of one run has a standard deviation below sqrt(e / K).
            let tolerance = 4.0 * (expected / k / f64::from(runs as u32)).sqrt();
            assert!((reached - expected).abs() < tolerance, "{rows} {live}: {reached} {expected}");
        }
    }

    #[test]
    fn no_two_places_of_a_job_collide() {
        for (count, places) in [(20_000, 1200), (1200, 1200), (7, 7), (100, 3)] {
            for job in [0, 1, 77] {
                let share = Share { first: 1000, count };
                let mut indices = share.places(job, places);
                let pool = Pool::new(share, &indices, 3);
                indices.extend(&pool.spare);
                indices.sort_unstable();
                assert!(indices.into_iter().eq(1000..1000 + count));
            }
        }
        assert!(Share { first: 0, count: 0 }.places(0, 5).is_empty());
    }

    #[test]
    fn an_aggregator_is_renamed_once() {
        let mut pool = Pool::new(Share { first: 10, count: 4 }, &[10, 13], 1);
        let new = pool.rename(10).unwrap();
        assert!((11..13).contains(&new));
        assert_eq!(pool.rename(10), Some(new));
        assert_eq!(pool.rename(13), Some(23 - new));
        assert_eq!((pool.rename(new), pool.rename(13)), (None, Some(23 - new)));
    }
}
