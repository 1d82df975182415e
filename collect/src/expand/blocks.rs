//! A vector that is divided into one block per rank.

/// Where the blocks of `ranks` ranks lie in one vector, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    ranks: u32,
    cut: Cut,
}

#[derive(Clone, Debug)]
enum Cut {
    /// All blocks alike.
    Each { bytes: u64 },
    /// Equal blocks up to one element, the longer ones first (`COLL_BASE_COMPUTE_BLOCKCOUNT`).
    Even { count: u64, unit: u64 },
    /// Rounded up, so that the last ones may be short or empty.
    Ceiling { count: u64, unit: u64 },
    /// Start of each block and end of the last.
    Given { starts: Vec<u64> },
}

impl Blocks {
    pub(super) fn each(ranks: u32, bytes: u64) -> Self {
        Self { ranks, cut: Cut::Each { bytes } }
    }

    pub(super) fn even(ranks: u32, count: u64, unit: u64) -> Self {
        Self { ranks, cut: Cut::Even { count, unit } }
    }

    pub(super) fn ceiling(ranks: u32, count: u64, unit: u64) -> Self {
        Self { ranks, cut: Cut::Ceiling { count, unit } }
    }

    /// One count a rank; `counts` holds at most 2³¹−1 values, their sum in bytes fits.
    pub(super) fn given(counts: &[u64], unit: u64) -> Self {
        let mut starts = Vec::with_capacity(counts.len() + 1);
        starts.push(0);
        let mut end = 0;
        starts.extend(counts.iter().map(|count| {
            end += count * unit;
            end
        }));
        Self { ranks: u32::try_from(counts.len()).unwrap_or(u32::MAX), cut: Cut::Given { starts } }
    }

    pub(super) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Where block `block` starts; `ranks` gives the end of the vector.
    pub(super) fn start(&self, block: u32) -> u64 {
        let (i, ranks) = (u64::from(block), u64::from(self.ranks));
        match &self.cut {
            Cut::Each { bytes } => i * bytes,
            Cut::Even { count, unit } => (i * (count / ranks) + i.min(count % ranks)) * unit,
            Cut::Ceiling { count, unit } => (i * count.div_ceil(ranks)).min(*count) * unit,
            Cut::Given { starts } => starts[block as usize],
        }
    }

    pub(super) fn bytes(&self, block: u32) -> u64 {
        self.start(block + 1) - self.start(block)
    }

    /// Start and bytes of `n` blocks from `first` on, going round at the end of the vector.
    pub(super) fn range(&self, first: u32, n: u32) -> (u64, u64) {
        let start = self.start(first);
        let bytes = match (first + n).checked_sub(self.ranks) {
            Some(beyond) if beyond > 0 => self.start(self.ranks) - start + self.start(beyond),
            _ => self.start(first + n) - start,
        };
        (start, bytes)
    }
}
