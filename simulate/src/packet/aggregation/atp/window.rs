//! The congestion window: how many packets a worker may have on their way.
//!
//! Paper § 3.7: 200 packets to begin with; one MTU more for each parameter packet up to the
//! threshold, one MTU more for each window above it; half of it upon a mark or a loss. Round-trip
//! times are not used, as they hold the other workers' delays.

/// Packets in an MTU of 1500 bytes: what the window grows by.
const MTU: u32 = 5;

/// The rule of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// It does not.
    Fixed,
    /// Paper.
    Paper,
    /// The code has this, compiled out: half after a window with a mark, one MTU more after each
    /// other one, no slow start.
    Code,
}

/// See the [module](self); sizes in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) law: Law,
    pub(super) size: u32,
    pub(super) threshold: u32,
    pub(super) limit: u32,
    /// Parameter packets since the window last grew step by step.
    pub(super) answers: u32,
    /// One of these was marked.
    pub(super) is_marked: bool,
    /// Packets before this one had left when the window was halved: what they tell is known. One
    /// window, one halving, as RFC 3168 § 6.1.2 has it; the paper does not say, but a queue above
    /// its threshold marks hundreds in a row.
    pub(super) known: u32,
}

impl Window {
    /// A packet is acknowledged in order.
    #[inline]
    pub(super) fn answer(&mut self) {
        match self.law {
            Law::Fixed => return,
            Law::Paper if self.size < self.threshold => {
                self.size = self.size.saturating_add(MTU);
            }
            Law::Paper | Law::Code => {
                self.answers += 1;
                if self.answers < self.size {
                    return;
                }
                self.answers = 0;
                if std::mem::take(&mut self.is_marked) {
                    self.size = (self.size / 2).max(1);
                } else {
                    self.size = self.size.saturating_add(MTU);
                }
            }
        }
        self.size = self.size.min(self.limit);
    }

    /// The answer to packet `seq` was marked; packets up to `next` have left.
    #[inline]
    pub(super) fn mark(&mut self, seq: u32, next: u32) {
        match self.law {
            Law::Fixed => {}
            Law::Code => self.is_marked = true,
            Law::Paper => self.halve(seq, next),
        }
    }

    /// Packet `seq` is taken for lost; packets up to `next` have left.
    pub(super) fn lose(&mut self, seq: u32, next: u32) {
        if self.law == Law::Paper {
            self.halve(seq, next);
        }
    }

    fn halve(&mut self, seq: u32, next: u32) {
        if seq < self.known {
            return;
        }
        self.known = next;
        self.size = (self.size / 2).max(1);
        self.threshold = self.size;
        self.answers = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(law: Law) -> Window {
        let (size, threshold, limit) =
            if law == Law::Paper { (200, u32::MAX, 8192) } else { (100, 100, 100) };
        Window { law, size, threshold, limit, answers: 0, is_marked: false, known: 0 }
    }

    /// V19.
    #[test]
    fn slow_start_one_mark_and_steps() {
        let mut paper = window(Law::Paper);
        (0..100).for_each(|_| paper.answer());
        assert_eq!(paper.size, 200 + 5 * 100);
        paper.mark(100, 800);
        assert_eq!((paper.size, paper.threshold), (350, 350));
        // Marks of the same window are known; the next window's are not.
        paper.mark(799, 810);
        assert_eq!(paper.size, 350);
        for steps in 1..4 {
            (0..350 + 5 * (steps - 1)).for_each(|_| paper.answer());
            assert_eq!(paper.size, 350 + 5 * steps);
        }
        paper.lose(800, 1200);
        assert_eq!((paper.size, paper.threshold), (182, 182));
        (0..12).for_each(|i| paper.mark(2000 + i, 2001 + i));
        assert_eq!(paper.size, 1);
    }

    #[test]
    fn limits_hold() {
        let mut paper = window(Law::Paper);
        (0..100_000).for_each(|_| paper.answer());
        assert_eq!(paper.size, 8192);
        let mut code = window(Law::Code);
        (0..1000).for_each(|_| code.answer());
        assert_eq!(code.size, 100);
        code.mark(0, 0);
        (0..100).for_each(|_| code.answer());
        assert_eq!(code.size, 50);
        (0..50).for_each(|_| code.answer());
        assert_eq!(code.size, 55);
        let mut fixed = window(Law::Fixed);
        (0..1000).for_each(|_| fixed.answer());
        fixed.mark(0, 0);
        fixed.lose(0, 0);
        assert_eq!(fixed.size, 100);
    }
}
