//! Who talks to whom, told apart however many pairs there are.
//!
//! A hashed histogram of pairs says nothing once every bin is full: two permutations of 1024 ranks
//! look alike in 128 bins. So pairs are divided by their hash into groups, each with a quarter of
//! the pairs of the group before. Two sets of pairs are told apart best in the group that has about
//! one pair in each bin.

use crate::first_pass::window::counts::Counts;

/// Groups.
pub(super) const GROUPS: usize = 4;
/// Bins of each group.
pub(super) const BINS: usize = 64;

/// Messages by group and bin of their pair.
pub(crate) type Pairs = Counts<{ GROUPS * BINS }>;

impl Pairs {
    /// Counts messages by the [hashes](crate::first_pass::window::sketch::pair_hash) of their
    /// pairs.
    pub(super) fn add_hashes(&mut self, hashes: &[u64]) {
        let counts = self.own();
        for hash in hashes {
            counts[bin(*hash)] += 1;
        }
    }
}

#[inline]
fn bin(hash: u64) -> usize {
    let group = (hash.leading_zeros() as usize / 2).min(GROUPS - 1);
    group * BINS + (hash as usize >> 8 & (BINS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::first_pass::window::sketch::pair_hash;

    #[test]
    fn each_group_has_a_quarter_of_the_pairs_of_the_one_before() {
        let mut pairs = Pairs::default();
        let ranks: Vec<u32> = (0..1 << 16).collect();
        pairs.add_hashes(&ranks.iter().map(|rank| pair_hash(*rank, rank / 7)).collect::<Vec<_>>());
        let sums: Vec<u64> = pairs.0.chunks(BINS).map(|group| group.iter().sum()).collect();
        for (sum, expected) in sums.iter().zip([0.75, 0.1875, 0.046875, 0.015625]) {
            let expected = expected * f64::from(1 << 16);
            assert!((*sum as f64 - expected).abs() < 0.1 * expected, "{sums:?}");
        }
    }
}
