//! Phases of one round at the beginning of a window.
//!
//! A phase of one round is known by what comes after it: its messages do not come again, those of
//! the next phase do. While nothing has come again, both are in one window. So a window that begins
//! with something new waits until the ones after it have ended. Its messages that do not come in
//! the next window then add 1 to a sum, the others take [`DECAY`] from it. The window is divided
//! where the sum is greatest, if that is enough for an alarm: the likeliest place of a change
//! (Hinkley, Inference about the change-point in a sequence of random variables, Biometrika 57,
//! 1970). This is how the start of a program is found, too.
//!
//! A wrong choice for one round of a phase whose partners are drawn at random: it does not come
//! again either.

use std::collections::VecDeque;

use phaseflow_collect::trace::Operation;

use super::cutter::{DECAY, End, Kind, NEW};

/// Windows of one phase, at least, that have to come after a window that is divided. Of a step of
/// two or three rounds, the first one is no phase. With one, 360 generated runs have .936 instead
/// of .941, and 86 recordings .874 instead of .882.
const SETTLED: usize = 3;

/// The messages of a window that begins with something new, and of the next one.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    /// Codes of the operations of the window's messages.
    pub(super) operations: &'a [u8],
    /// Their tokens.
    pub(super) tokens: &'a [u32],
    /// Tokens of the next window.
    pub(super) next: &'a [u32],
    /// It is the first window of the run. What comes once there is the start of the program.
    pub(super) is_first: bool,
}

impl Pair<'_> {
    /// How many messages at the beginning of the window are a phase of one round; 0 if there is
    /// none.
    pub(super) fn once(&self) -> usize {
        let mut next = self.next.to_vec();
        next.sort_unstable();
        let (mut sum, mut most, mut count) = (0.0_f32, 0.0_f32, 0);
        for (message, (token, operation)) in self.tokens.iter().zip(self.operations).enumerate() {
            if *operation == Operation::Barrier as u8 && !self.is_first {
                continue;
            }
            sum += if next.binary_search(token).is_ok() { -DECAY } else { 1.0 };
            if sum >= most {
                (most, count) = (sum, message + 1);
            }
        }
        let is_clear = most >= NEW.0.max(NEW.1 * self.tokens.len() as f32);
        if is_clear && count < self.tokens.len() { count } else { 0 }
    }
}

/// Ends of windows that wait, in order.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Those of whole windows. The parts of a window come before its end.
    windows: VecDeque<Vec<End>>,
    /// Those of the parts of the open window.
    parts: Vec<End>,
}

impl Ends {
    pub(super) fn push(&mut self, end: End) {
        self.parts.push(end);
        if end.kind != Kind::Part {
            self.windows.push_back(std::mem::take(&mut self.parts));
        }
    }

    /// The ends of the first window, and where the next one ends if the first may be divided. None
    /// while that is not known. The `first` window of a run may be divided after one more.
    pub(super) fn known(&mut self, first: bool) -> Option<(Vec<End>, Option<u64>)> {
        let begins_new = |ends: &Vec<End>| ends.last().is_some_and(|end| end.begins_new);
        let settled = if first { 1 } else { SETTLED };
        let is_new = self.windows.front().is_some_and(begins_new);
        let after = self.windows.iter().skip(1).take_while(|ends| !begins_new(ends)).count();
        if is_new && after < settled && after + 1 == self.windows.len() {
            return None;
        }
        let own = self.windows.pop_front()?;
        let next = self.windows.front().and_then(|ends| ends.last());
        Some((own, next.filter(|_| is_new && after >= settled).map(|end| end.message)))
    }

    /// All ends: what comes next is not known.
    pub(super) fn all(&mut self) -> Vec<End> {
        let parts = std::mem::take(&mut self.parts);
        self.windows.drain(..).flatten().chain(parts).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn once(tokens: &[u32], next: &[u32]) -> usize {
        Pair { operations: &vec![0; tokens.len()], tokens, next, is_first: false }.once()
    }

    fn end(message: u64, kind: Kind, begins_new: bool) -> End {
        End { message, rounds: 1, kind, divides: false, begins_new }
    }

    #[test]
    fn what_does_not_come_again_is_a_phase_of_one_round() {
        let next: Vec<u32> = (0..100).collect();
        let tokens: Vec<u32> = (200..230).chain(0..100).collect();
        assert_eq!(once(&tokens, &next), 30);
        // What comes once at the end is not at the beginning; nor is a window of one phase divided.
        let after: Vec<u32> = (0..100).chain(200..230).collect();
        assert_eq!(once(&after, &next), 0);
        assert_eq!(once(&next, &next), 0);
        assert_eq!(once(&tokens, &[]), 0);
        // Barriers load nothing, but they tell that a program starts.
        let barriers: Vec<u8> = [vec![Operation::Barrier as u8; 30], vec![0; 100]].concat();
        let pair = |is_first| Pair { operations: &barriers, tokens: &tokens, next: &next, is_first };
        assert_eq!((pair(false).once(), pair(true).once()), (0, 30));
    }

    #[test]
    fn a_window_waits_until_the_ones_after_it_are_of_one_phase() {
        let mut ends = Ends::default();
        ends.push(end(10, Kind::Part, true));
        assert_eq!(ends.known(false), None);
        ends.push(end(20, Kind::Whole, true));
        ends.push(end(30, Kind::Whole, false));
        ends.push(end(40, Kind::Whole, false));
        assert_eq!(ends.known(false), None);
        ends.push(end(50, Kind::Whole, false));
        let first = vec![end(10, Kind::Part, true), end(20, Kind::Whole, true)];
        assert_eq!(ends.known(false), Some((first, Some(30))));
        // Windows that repeat the one before do not wait.
        assert_eq!(ends.known(false), Some((vec![end(30, Kind::Whole, false)], None)));
        ends.push(end(60, Kind::Whole, true));
        ends.push(end(70, Kind::Whole, true));
        ends.known(false);
        ends.known(false);
        // Something new came before.
        assert_eq!(ends.known(false), Some((vec![end(60, Kind::Whole, true)], None)));
        assert_eq!(ends.known(true), None);
        ends.push(end(80, Kind::Whole, false));
        ends.push(end(90, Kind::Part, false));
        // The first window of a run waits for one.
        assert_eq!(ends.known(true), Some((vec![end(70, Kind::Whole, true)], Some(80))));
        assert_eq!(ends.all().iter().map(|end| end.message).collect::<Vec<_>>(), [80, 90]);
    }

    proptest! {
        /// Every other place has a smaller sum, added up anew for each.
        #[test]
        fn the_likeliest_place_is_that_of_the_greatest_sum(
            tokens in prop::collection::vec(0..12_u32, 1..80),
            next in prop::collection::vec(0..12_u32, 0..10),
        ) {
            let sum = |count: usize| -> f32 {
                tokens[..count].iter().map(|token| if next.contains(token) { -DECAY } else { 1.0 }).sum()
            };
            let best = (0..=tokens.len()).max_by(|one, other| sum(*one).total_cmp(&sum(*other))).unwrap();
            let found = once(&tokens, &next);
            let divides = sum(best) >= NEW.0.max(NEW.1 * tokens.len() as f32) && best < tokens.len();
            prop_assert_eq!(found, if divides { best } else { 0 });
        }
    }
}
