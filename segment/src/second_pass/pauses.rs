//! Which of two phases the pause between them is of.
//!
//! A program may compute before it sends, or afterwards. So a phase may begin with a pause, or end
//! with one. Other pauses of both phases tell which it is. It matters where phases are short: a
//! phase without its pause seems to load the network more than it does.

use crate::second_pass::total::Total;

/// A pause is longer than another if it is more than this many times as long. Two of which neither
/// is longer are alike, as pauses vary. So a phase that lasts less than this many pauses may have
/// none so far by chance.
const LONGER: u64 = 2;

/// The longest time between two of these that follow each other; 0 if there are less than two.
/// Times are nanoseconds, in order.
fn longest_ns(posted_ns: &[u64]) -> u64 {
    posted_ns.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}

/// Whether the pause before `change` is of the `new` phase: the longest pause of that among these
/// messages is like it, and the `old` one has none, though it lasts long. Notes the longest pause
/// of both.
///
/// `posted_ns` are the times at which the messages around, and the first one after them, were
/// posted, in nanoseconds since the start of the run. The new phase sends those from `change` on.
pub(crate) fn pause_is_new(posted_ns: &[u64], change: usize, old: &mut Total, new: &mut Total) -> bool {
    let (before, after) = posted_ns.split_at(change);
    old.pause_ns = old.pause_ns.max(longest_ns(before));
    new.pause_ns = longest_ns(after);
    let (Some(last_ns), Some(first_ns)) = (before.last(), after.first()) else { return false };
    let pause_ns = first_ns - last_ns;
    let is_longer = |one_ns: u64, other_ns: u64| one_ns > other_ns.saturating_mul(LONGER);
    let is_like_new = !is_longer(pause_ns, new.pause_ns) && !is_longer(new.pause_ns, pause_ns);
    let lasts = last_ns.saturating_sub(old.start_ns) >= pause_ns.saturating_mul(LONGER);
    lasts && is_longer(pause_ns, old.pause_ns) && is_like_new
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight messages of each phase a nanosecond apart, and later by `pause`, which is given the
    /// number of the message. The old phase has begun a microsecond before.
    fn is_new(pause: impl Fn(u64) -> u64) -> bool {
        let posted_ns: Vec<u64> = (0..16).map(|message| 1000 + message + pause(message)).collect();
        pause_is_new(&posted_ns, 8, &mut Total::default(), &mut Total::default())
    }

    #[test]
    fn a_pause_is_of_the_phase_that_has_others_like_it() {
        // The new phase pauses before each round of two messages, the old one does not.
        let before = |ns: u64| move |message: u64| ns * (message.saturating_sub(6) / 2);
        assert!(is_new(before(5)));
        // So long a pause could come in the old phase later.
        assert!(!is_new(before(600)));
        // The pauses of the new phase are longer than this one, or like it.
        let after = |ns: u64| move |message: u64| if message < 8 { 0 } else { 5 + ns * ((message - 8) / 2) };
        assert!(!is_new(after(12)) && is_new(after(11)));
        // So long a pause comes in neither.
        assert!(!is_new(|message| if message >= 8 { 5 } else { 0 }));
        // Both pause, before or after each round.
        assert!(!is_new(|message| 5 * (message / 2)));
        // The old one alone pauses, after each round.
        assert!(!is_new(|message| 5 * (message / 2).min(4)));
    }

    #[test]
    fn pauses_before_the_messages_around_count() {
        let posted_ns = [1000, 1001, 1010, 1020];
        let mut old = Total::default();
        assert!(pause_is_new(&posted_ns, 2, &mut old, &mut Total::default()));
        let mut new = Total::default();
        (old, new.pause_ns) = (Total { pause_ns: 9, ..old }, 100);
        assert!(!pause_is_new(&posted_ns, 2, &mut old, &mut new));
        assert_eq!((old.pause_ns, new.pause_ns), (9, 10));
    }

    #[test]
    fn without_messages_on_both_sides_there_is_no_pause_between() {
        for change in [0, 3] {
            let (mut old, mut new) = (Total::default(), Total::default());
            assert!(!pause_is_new(&[1000, 1001, 1010], change, &mut old, &mut new));
            assert_eq!(old.pause_ns.max(new.pause_ns), 9);
        }
    }
}
