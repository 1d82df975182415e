//! A pattern among every n-th rank only, as on the coarse levels of a multigrid method; the others
//! are idle.

use super::Pattern;
use crate::trace::Operation;

pub(super) struct Every {
    pub(super) pattern: Box<dyn Pattern>,
    pub(super) every: u32,
}

impl Pattern for Every {
    fn begin_round(&mut self) {
        self.pattern.begin_round();
    }

    fn steps(&self) -> u32 {
        self.pattern.steps()
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        if !src.is_multiple_of(self.every) {
            return None;
        }
        self.pattern.send(step, src / self.every).map(|(dst, bytes)| (dst * self.every, bytes))
    }

    fn collective(&self, rank: u32) -> Option<(Operation, u64)> {
        rank.is_multiple_of(self.every).then(|| self.pattern.collective(rank / self.every)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::PatternName;
    use super::*;

    #[test]
    fn only_every_fourth_rank_takes_part() {
        let every = Every { pattern: PatternName::Shift.build(4, 8, 1).unwrap(), every: 4 };
        let sent: Vec<_> = (0..14).map(|src| every.send(0, src).map(|(dst, _)| dst)).collect();
        let mut expected = [None; 14];
        (expected[0], expected[4], expected[8], expected[12]) = (Some(4), Some(8), Some(12), Some(0));
        assert_eq!(sent, expected);
    }
}
