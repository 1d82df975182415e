//! Pieces of rounds: short stretches that are no phases.
//!
//! Windows fall differently in long rounds, so steps of a round may look like phases. Their tokens
//! give them away. They come in the windows of a neighbour's phase as often as the tokens of those
//! windows come in each other. A phase explains only what has fewer messages in all: otherwise a
//! single window of two phases would take all of both.

use super::stretches::of_labels;
use crate::first_pass::rounds::token_set::{TokenCounts, TokenSet};

/// Windows, at most, of a stretch that may be a piece.
const PIECE: usize = 4;

/// A piece's tokens come in the neighbours' windows at least this part as often as their own do.
/// The rest is what each round has of its own. With .85 the score changes by less than .003.
const AS_OWN: f64 = 0.8;

/// The nearest windows, at most, of a neighbour's phase that tell how often its tokens come. With
/// 12, own sets have up to .012 more, but 27 runs from elsewhere .868 instead of .887.
const NEAR: usize = 32;

/// The contents of a window that decide about pieces.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) messages: u64,
    pub(super) tokens: TokenSet,
}

/// Stretches, and the windows of each label.
struct Stretches<'a> {
    windows: &'a [Content],
    /// For each window, whether a silence lies before it.
    locked: &'a [bool],
    starts: Vec<usize>,
    labels: Vec<u32>,
    of_label: Vec<Vec<usize>>,
    /// Messages of each label.
    messages: Vec<u64>,
    /// Tokens of the run.
    tokens: usize,
}

/// Where stretches begin after pieces were given to the neighbours that explain them, the first
/// piece first, until none is left. The run has this number of `tokens`.
pub(super) fn joined(
    windows: &[Content],
    locked: &[bool],
    (starts, labels): (Vec<usize>, Vec<u32>),
    tokens: usize,
) -> Vec<usize> {
    let of_label = of_labels(&starts, &labels, windows.len()).into_iter();
    let of_label: Vec<Vec<usize>> =
        of_label.map(|own| own.into_iter().flat_map(|(from, to)| from..to).collect()).collect();
    let sum = |own: &Vec<usize>| own.iter().map(|window| windows[*window].messages).sum();
    let messages = of_label.iter().map(sum).collect();
    let mut all = Stretches { windows, locked, starts, labels, of_label, messages, tokens };
    let mut at = 0;
    while at < all.starts.len() && all.starts.len() > 1 {
        match all.given(at) {
            Some(begin) => {
                all.starts.remove(at);
                all.labels.remove(at);
                if let Some(next) = all.starts.get_mut(at).filter(|next| begin < **next) {
                    *next = begin;
                }
                // The stretches before it have another neighbour now.
                at = at.saturating_sub(2);
            }
            None => at += 1,
        }
    }
    all.starts
}

impl Stretches<'_> {
    fn start(&self, at: usize) -> usize {
        self.starts.get(at).copied().unwrap_or(self.windows.len())
    }

    fn messages(&self, from: usize, to: usize) -> u64 {
        self.windows[from..to].iter().map(|window| window.messages).sum()
    }

    /// If stretch `at` is a piece of its neighbours: the window from which on the right one gets
    /// it.
    fn given(&self, at: usize) -> Option<usize> {
        let (from, to) = (self.start(at), self.start(at + 1));
        if to - from > PIECE {
            return None;
        }
        let own = self.messages(from, to);
        let left = at
            .checked_sub(1)
            .filter(|left| !self.locked[from] && self.messages(self.start(*left), from) >= own);
        let right = Some(at + 1).filter(|right| {
            *right < self.starts.len() && !self.locked[to] && self.messages(to, self.start(right + 1)) >= own
        });
        let of_label = |at: usize| self.messages[self.labels[at] as usize];
        let [left, right] = [left, right].map(|side| side.filter(|side| of_label(*side) >= of_label(at)));
        let counts = [left, right].map(|side| side.map(|side| self.counts(side, from, to)));
        let sides = counts.each_ref().map(Option::as_ref);
        let least = sides.into_iter().flatten().map(|side| side.of_their_own().unwrap_or(1.0));
        let least = least.min_by(f64::total_cmp)?;
        // Tokens that the sides know, weighted by messages.
        let known = |sides: [Option<&TokenCounts>; 2], from: usize, to: usize| -> f64 {
            self.windows[from..to].iter().map(|own| own.tokens.known_to(sides) * own.messages as f64).sum()
        };
        let here = known(sides, from, to);
        // Of sets that are full, nothing is known.
        if here <= 0.0 || here < AS_OWN * least * own as f64 {
            return None;
        }
        match (left, right) {
            (None, _) => Some(from),
            (_, None) => Some(to),
            _ => {
                let split = |begin| known([sides[0], None], from, begin) + known([None, sides[1]], begin, to);
                let splits = (from..=to).map(|begin| (split(begin), begin));
                splits.max_by(|one, other| one.0.total_cmp(&other.0)).map(|best| best.1)
            }
        }
    }

    /// How often tokens come in the [`NEAR`] windows of the label of stretch `at` that are nearest
    /// to windows `from..to`.
    fn counts(&self, at: usize, from: usize, to: usize) -> TokenCounts {
        let all = &self.of_label[self.labels[at] as usize];
        let mut before = all[..all.partition_point(|own| *own < from)].iter().rev().peekable();
        let mut after = all[all.partition_point(|own| *own < to)..].iter().peekable();
        let nearest = std::iter::from_fn(|| match (before.peek(), after.peek()) {
            (Some(one), Some(other)) if from - **one > **other + 1 - to => after.next(),
            (Some(_), _) => before.next(),
            _ => after.next(),
        });
        TokenCounts::new(nearest.take(NEAR).map(|window| &self.windows[*window].tokens), self.tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window with these tokens.
    fn window(tokens: std::ops::Range<u32>) -> Content {
        let mut set = TokenSet::default();
        let messages = u64::from(tokens.end - tokens.start);
        tokens.for_each(|token| set.insert(token));
        Content { messages, tokens: set }
    }

    /// Where stretches of labels 0, 1, 0 begin after a stretch was given to its neighbours, or not.
    fn starts(phase: &dyn Fn(u32) -> Content, piece: Vec<Content>) -> Vec<usize> {
        let count = piece.len();
        let windows: Vec<Content> = (0..40).map(phase).chain(piece).chain((40..80).map(phase)).collect();
        let locked = vec![false; windows.len()];
        joined(&windows, &locked, (vec![0, 40, 40 + count], vec![0, 1, 0]), 100)
    }

    #[test]
    fn steps_of_a_round_are_pieces() {
        // A third of the tokens of a phase.
        assert_eq!(starts(&|_| window(0..60), vec![window(20..40)]), [0, 41]);
        // Other tokens are no piece of it, nor are more windows than a piece has.
        assert_eq!(starts(&|_| window(0..60), vec![window(60..80)]), [0, 40, 41]);
        let many = (0..=PIECE).map(|_| window(20..40)).collect();
        assert_eq!(starts(&|_| window(0..60), many), [0, 40, 40 + PIECE + 1]);
    }

    #[test]
    fn tokens_come_as_often_as_their_own() {
        // Windows of a third of the tokens in turn: each token comes in one of three windows.
        let third = |at: u32| window(20 * (at % 3)..20 * (at % 3) + 20);
        assert_eq!(starts(&third, vec![window(0..60)]), [0, 41]);
        // The tokens come in one window of forty, but those of the phase in all.
        let seldom = |at: u32| window(if at == 20 { 0..60 } else { 0..40 });
        assert_eq!(starts(&seldom, vec![window(40..60)]), [0, 40, 41]);
    }

    #[test]
    fn each_neighbour_gets_what_it_knows() {
        let phase = |tokens: std::ops::Range<u32>| (0..10).map(move |_| window(tokens.clone()));
        let piece = [window(0..30), window(30..60)];
        let windows: Vec<Content> = phase(0..30).chain(piece).chain(phase(30..60)).collect();
        let found = |locked: &[bool]| joined(&windows, locked, (vec![0, 10, 12], vec![0, 1, 2]), 100);
        assert_eq!(found(&[false; 22]), [0, 11]);
        // Nothing is given over a silence, and half of it is too little.
        let mut locked = [false; 22];
        locked[12] = true;
        assert_eq!(found(&locked), [0, 10, 12]);
    }

    #[test]
    fn a_window_of_two_phases_takes_none_of_them() {
        // Three stretches of each of two phases in turn, and a window of both in the middle.
        let phases = [0..30, 30..60, 0..30, 0..60, 30..60, 0..30, 30..60];
        let windows: Vec<Content> = phases.into_iter().map(window).collect();
        let found = joined(&windows, &[false; 7], ((0..7).collect(), vec![0, 1, 0, 2, 1, 0, 1]), 100);
        // It has all tokens of its neighbours, but their phases have more messages in all.
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6]);
    }
}
