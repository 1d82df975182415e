//! Numbers of ranks in the order in which they first come, so that nothing depends on the numbers
//! that they have in the trace. Of ranks that first come at one time, senders have the smaller
//! numbers. Otherwise they have no such order, and are numbered as in the trace.
//!
//! Memory: four bytes for each rank up to the largest of the trace.

/// The number of each rank that has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranks {
    /// By rank; [`Ranks::NEW`] if it has not come.
    numbers: Vec<u32>,
    used: u32,
}

impl Ranks {
    /// What stands for the number of a rank that has not come.
    pub(super) const NEW: u32 = u32::MAX;

    /// The number of a rank; if it has none yet, it gets the next one.
    #[inline]
    pub(super) fn add(&mut self, rank: u32) -> u32 {
        let at = rank as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, Self::NEW);
        }
        if self.numbers[at] == Self::NEW {
            self.numbers[at] = self.used;
            self.used += 1;
        }
        self.numbers[at]
    }

    /// The number of a rank, or [`Ranks::NEW`].
    #[inline]
    pub(super) fn known(&self, rank: u32) -> u32 {
        self.numbers.get(rank as usize).copied().unwrap_or(Self::NEW)
    }

    /// The number of a rank. One that has not come keeps its own: sketches of equal windows have
    /// the numbers of the trace, and there no rank is numbered.
    #[inline]
    pub(crate) fn number(&self, rank: u32) -> u32 {
        match self.known(rank) {
            Self::NEW => rank,
            number => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbered_as_they_come() {
        let mut ranks = Ranks::default();
        assert_eq!([7, 2, 7, 0].map(|rank| ranks.add(rank)), [0, 1, 0, 2]);
        assert_eq!([7, 2, 3, 90].map(|rank| ranks.known(rank)), [0, 1, Ranks::NEW, Ranks::NEW]);
        assert_eq!([7, 3].map(|rank| ranks.number(rank)), [0, 3]);
    }
}
