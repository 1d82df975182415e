//! Pieces of rounds: short stretches that are no phases.
//!
//! Windows fall differently in long rounds, so steps of a round may look like phases. The
//! neighbours' tokens give them away: they explain a piece.

use crate::first_pass::rounds::token_set::TokenSet;

/// Windows, at most, of a stretch that may be a piece.
const PIECE: usize = 4;

/// Rounds, at most, of a piece.
const ROUNDS: u64 = 6;

/// Part of a piece's tokens that its neighbours must have.
const EXPLAINED: f64 = 0.75;

/// If that is less, the limit is this part of what the neighbours have of their own tokens.
const AS_OWN: f64 = 0.85;

/// The neighbours have at least this part of a piece's tokens in any case.
const LEAST: f64 = 0.3;

/// Messages, at most, of a neighbour that explain a piece.
const NEAR: u64 = 20_000;

/// For each this many rounds and windows of a neighbour, its window that is most like a piece does
/// not explain it. What is like a piece that seldom is a phase that was overlooked there.
const SELDOM: f64 = 16.0;

/// The contents of a window that decide about pieces.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) messages: u64,
    pub(super) rounds: u64,
    pub(super) tokens: TokenSet,
    /// It was a piece. It explains no other one: else a mixture of two phases would take all of
    /// both.
    pub(super) given: bool,
}

/// Messages per token in these windows.
fn repetition(windows: &[Content]) -> f64 {
    let messages: u64 = windows.iter().map(|window| window.messages).sum();
    messages as f64 / union(windows.iter()).len().max(1.0)
}

/// Tokens of windows `from..to` that may explain the `piece`.
fn explaining(windows: &[Content], from: usize, to: usize, piece: &TokenSet) -> TokenSet {
    let mut own: Vec<(f64, &Content)> = windows[from..to]
        .iter()
        .filter(|window| !window.given)
        .map(|window| (window.tokens.part_of(piece), window))
        .collect();
    own.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Each round has each token once. A window may be a part of a round, or have many.
    let overlooked = (repetition(&windows[from..to]).min(own.len() as f64) / SELDOM) as usize;
    own.truncate(own.len() - overlooked);
    union(own.into_iter().map(|(_, window)| window))
}

fn union<'a>(windows: impl Iterator<Item = &'a Content>) -> TokenSet {
    let mut all = TokenSet::default();
    windows.for_each(|window| all.merge(&window.tokens));
    all
}

/// A neighbour without its first and last window, which may hold messages of a piece of `count`
/// windows, if enough of it is left to tell how well it explains itself.
fn inner((first, end): (usize, usize), count: usize) -> (usize, usize) {
    if end - first > 2 * count + 2 { (first + 1, end - 1) } else { (first, end) }
}

/// Where stretches begin after pieces were given to the neighbours that explain them, the first
/// piece first, until none is left.
pub(super) fn joined(windows: &mut [Content], locked: &[bool], mut starts: Vec<usize>) -> Vec<usize> {
    let mut at = 0;
    while at < starts.len() && starts.len() > 1 {
        let from = starts[at];
        let end = starts.get(at + 1).copied().unwrap_or(windows.len());
        let found = given(windows, locked, &starts, at);
        if found.is_some() {
            windows[from..end].iter_mut().for_each(|window| window.given = true);
        }
        // Now the neighbours may explain the stretch before them.
        match found {
            Some(Given::Left) => {
                starts.remove(at);
                at = at.saturating_sub(2);
            }
            Some(Given::Split(begin)) => {
                starts.remove(at);
                if let Some(next) = starts.get_mut(at) {
                    *next = begin;
                }
                at = at.saturating_sub(2);
            }
            None => at += 1,
        }
    }
    starts
}

/// Which neighbours get a piece.
enum Given {
    /// The left neighbour gets all of it.
    Left,
    /// The right neighbour gets it from this window on.
    Split(usize),
}

fn given(windows: &[Content], locked: &[bool], starts: &[usize], at: usize) -> Option<Given> {
    let start = |at: usize| starts.get(at).copied().unwrap_or(windows.len());
    let (from, to) = (start(at), start(at + 1));
    let count = to - from;
    if count > PIECE || windows[from..to].iter().map(|window| window.rounds).sum::<u64>() > ROUNDS {
        return None;
    }
    let messages =
        |from: usize, to: usize| windows[from..to].iter().map(|window| window.messages).sum::<u64>();
    let own = messages(from, to);
    let is_larger = |from: usize, to: usize| messages(from, to) >= own;
    let left = at.checked_sub(1).map(|left| (start(left), from));
    let left = left.filter(|left| !locked[from] && is_larger(left.0, left.1));
    let right = starts.get(at + 1).map(|right| (*right, start(at + 2)));
    let right = right.filter(|right| !locked[right.0] && is_larger(right.0, right.1));
    if left.is_none() && right.is_none() {
        return None;
    }
    let piece = union(windows[from..to].iter());
    let (inner_left, inner_right) =
        (left.map(|left| inner(left, count)), right.map(|right| inner(right, count)));
    let of_left =
        inner_left.map(|(first, end)| explaining(windows, near_left(windows, first, end), end, &piece));
    let of_right =
        inner_right.map(|(first, end)| explaining(windows, first, near_right(windows, first, end), &piece));
    // Tokens of each window that a side has, weighted by messages.
    let explained = |side: &Option<TokenSet>, window: usize| {
        let tokens = &windows[window].tokens;
        let part = side.as_ref().map_or(0.0, |side| side.part_of(tokens));
        part * windows[window].messages as f64
    };
    let split = |begin: usize| -> f64 {
        let left: f64 = (from..begin).map(|window| explained(&of_left, window)).sum();
        let right: f64 = (begin..to).map(|window| explained(&of_right, window)).sum();
        (left + right) / own as f64
    };
    let (begin, best) = (from..=to).map(|begin| (begin, split(begin))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut needed = EXPLAINED;
    if best < needed {
        // How well the neighbours explain themselves; `None` where all of it was given to them.
        let of = |own: (usize, usize), rest: (usize, usize)| {
            let own = union(windows[own.0..own.1].iter().filter(|window| !window.given));
            (own.len() > 0.0).then(|| explaining(windows, rest.0, rest.1, &own).part_of(&own))
        };
        let own_left = inner_left.filter(|(first, end)| end - first > 2 * count).and_then(|(first, end)| {
            of((end - count, end), (near_left(windows, first, end - count), end - count))
        });
        let own_right =
            inner_right.filter(|(first, end)| end - first > 2 * count).and_then(|(first, end)| {
                of((first, first + count), (first + count, near_right(windows, first + count, end)))
            });
        let least = own_left.into_iter().chain(own_right).min_by(f64::total_cmp);
        needed = least.map_or(needed, |least| needed.min(AS_OWN * least));
    }
    if best < needed.max(LEAST) {
        return None;
    }
    match (left, right) {
        (Some(_), None) => Some(Given::Left),
        (None, Some(_)) => Some(Given::Split(from)),
        _ if begin == to => Some(Given::Left),
        _ => Some(Given::Split(begin)),
    }
}

/// The first window of `first..end` from which on there are few enough messages.
fn near_left(windows: &[Content], first: usize, end: usize) -> usize {
    let mut messages = 0;
    let far = (first..end).rev().find(|window| {
        messages += windows[*window].messages;
        messages >= NEAR
    });
    far.unwrap_or(first)
}

/// The end of the windows from `first` on with few enough messages.
fn near_right(windows: &[Content], first: usize, end: usize) -> usize {
    let mut messages = 0;
    let far = (first..end).find(|window| {
        messages += windows[*window].messages;
        messages >= NEAR
    });
    far.map_or(end, |window| window + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of one round with these tokens.
    fn window(tokens: std::ops::Range<u32>, given: bool) -> Content {
        let mut set = TokenSet::default();
        let messages = u64::from(tokens.end - tokens.start);
        tokens.for_each(|token| set.insert(token));
        Content { messages, rounds: 1, tokens: set, given }
    }

    #[test]
    fn pieces_that_were_given_tell_nothing_about_their_neighbour() {
        // Six windows of a phase, two pieces that it was given, and a stretch with half of its
        // tokens.
        let windows = |given| {
            let own = (0..6).map(|_| window(0..40, false));
            own.chain((0..2).map(move |_| window(0..40, given))).chain((0..2).map(|_| window(20..60, false)))
        };
        let starts = |given| {
            let mut windows: Vec<Content> = windows(given).collect();
            let locked = vec![false; windows.len()];
            joined(&mut windows, &locked, vec![0, 8])
        };
        // Whether or not the phase can tell how well it explains itself, half is too little.
        assert_eq!(starts(false), [0, 8]);
        assert_eq!(starts(true), [0, 8]);
    }

    #[test]
    fn windows_of_many_rounds_explain_pieces() {
        // Each of four windows has a hundred rounds, the piece one.
        let rounds = || Content { messages: 4_000, rounds: 100, ..window(0..40, false) };
        let mut windows: Vec<Content> = (0..4).map(|_| rounds()).collect();
        windows.insert(2, window(0..40, false));
        let locked = vec![false; windows.len()];
        assert_eq!(joined(&mut windows, &locked, vec![0, 2, 3]), [0, 3]);
    }

    #[test]
    fn what_comes_seldom_in_a_neighbour_explains_nothing() {
        // A piece of tokens 40 to 60 between two phases of tokens 0 to 40, of which some windows
        // have its tokens, too.
        let starts = |like_piece: &dyn Fn(usize) -> bool| {
            let phase = |at| window(0..if like_piece(at) { 60 } else { 40 }, false);
            let side = || (0..40).map(phase);
            let mut windows: Vec<Content> = side().chain([window(40..60, false)]).chain(side()).collect();
            let locked = vec![false; windows.len()];
            joined(&mut windows, &locked, vec![0, 40, 41])
        };
        assert_eq!(starts(&|at| at % 4 == 0), [0, 41]);
        assert_eq!(starts(&|at| at == 20), [0, 40, 41]);
        // The windows beside it may hold some of its messages.
        assert_eq!(starts(&|at| at == 0 || at == 39), [0, 40, 41]);
    }
}
