//! The longest silences of a run whose length is not known yet.

/// A silence shorter than 1/`PART` of the run so far is not kept.
const PART: u64 = 4096;

/// Nobody posts a message between these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) from_ns: i64,
    pub(crate) to_ns: i64,
}

impl Silence {
    /// Its length.
    pub(crate) fn length_ns(&self) -> u64 {
        self.to_ns.wrapping_sub(self.from_ns).cast_unsigned()
    }
}

/// Silences between messages.
///
/// It keeps all that last at least 1/[`PART`] of the time from first to last message, and at most
/// twice [`PART`] silences in all.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    first_ns: Option<i64>,
    last_ns: i64,
    least_ns: u64,
    silences: Vec<Silence>,
}

impl Gaps {
    /// Notes a message; times ascend. Returns the length of the silence before it.
    #[inline]
    pub(super) fn see(&mut self, time_ns: i64) -> u64 {
        if self.first_ns.is_none() {
            (self.first_ns, self.last_ns) = (Some(time_ns), time_ns);
        }
        let length = time_ns.wrapping_sub(self.last_ns).cast_unsigned();
        if length > self.least_ns {
            self.keep(time_ns);
        }
        self.last_ns = time_ns;
        length
    }

    #[cold]
    fn keep(&mut self, time_ns: i64) {
        let first_ns = self.first_ns.unwrap_or(time_ns);
        self.silences.push(Silence { from_ns: self.last_ns, to_ns: time_ns });
        if self.silences.len() >= 2 * PART as usize {
            self.least_ns = time_ns.wrapping_sub(first_ns).cast_unsigned() / PART;
            let least_ns = self.least_ns;
            self.silences.retain(|silence| silence.length_ns() > least_ns);
        }
    }

    /// The silences in order.
    pub(super) fn finish(self) -> Vec<Silence> {
        self.silences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_kept_however_many_there_are() {
        let mut gaps = Gaps::default();
        let mut time = 0;
        let mut long = Vec::new();
        for i in 0..1_000_000i64 {
            let step = if i % 100_000 == 99_999 { 50_000 } else { 1 + i % 3 };
            if step > 3 {
                long.push((time, time + step));
            }
            time += step;
            gaps.see(time);
        }
        let kept = gaps.finish();
        assert!(kept.len() <= 2 * PART as usize);
        let found: Vec<_> =
            kept.iter().map(|s| (s.from_ns, s.to_ns)).filter(|(from, to)| to - from > 3).collect();
        assert_eq!(found, long);
    }
}
