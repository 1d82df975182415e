//! How near a segmentation is to a known truth.

mod boundary_f1;
mod covering;
mod label_ari;
mod pairs;
mod truth;
mod zones;

pub use truth::{Interval, Truth, read_truth};

use self::boundary_f1::boundary_f1;
use self::covering::covering;
use self::label_ari::label_ari;
use self::truth::join;
use self::zones::exact_f1;
use crate::list::IDLE;
use crate::segmentation::Segmentation;

/// Views of one comparison, each 1 for equal segmentations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Harmonic mean of precision and recall of the boundaries inside the run. A boundary is found
    /// if one of the other side lies within the lesser of 1 % of the run and 25 % of the shorter
    /// stretch next to it, one to one. An exact boundary is found, too: where ranks change phase at
    /// different times, none of these is the true one.
    pub boundary_f1: f64,
    /// For each true stretch the largest overlap (intersection / union) with a found one, weighted
    /// by its length (Arbelaez et al. 2011, section 3.1).
    pub covering: f64,
    /// Adjusted Rand index (Hubert and Arabie 1985) of the labels, every instant counting alike: 0
    /// for chance.
    pub label_ari: f64,
    /// As `boundary_f1`, but a boundary is found if it is right to a message, within the zone where
    /// some ranks are in the old phase and others in the new one; `None` if the truth does not know
    /// its messages.
    pub exact_f1: Option<f64>,
}

/// Compares a segmentation with the truth. What the truth leaves out is idle. If the truth ends
/// later, the last stretch that was found ends with it: no message tells when a program ends.
pub fn score(segmentation: &Segmentation, truth: &Truth) -> Score {
    let mut sent = 0u64;
    let tiles = segmentation.occurrences.iter().filter(|occurrence| occurrence.depth == 0);
    let mut found: Vec<Interval> = tiles
        .map(|occurrence| {
            let first = sent;
            sent = sent.saturating_add(occurrence.messages);
            Interval {
                start_ns: occurrence.start_ns,
                end_ns: occurrence.end_ns,
                label: occurrence.phase.map_or_else(|| IDLE.to_string(), |phase| phase.to_string()),
                messages: (first < sent).then(|| (first, sent - 1)),
            }
        })
        .collect();
    let end = |intervals: &[Interval]| intervals.last().map_or(0, |last| last.end_ns);
    let truth = &truth.stretches;
    let duration = end(&found).max(end(truth));
    if let Some(last) = found.last_mut() {
        last.end_ns = duration;
    }
    let (truth, found) = (tiled(truth, duration), tiled(&found, duration));
    Score {
        boundary_f1: boundary_f1(&truth, &found, duration),
        covering: covering(&truth, &found, duration),
        label_ari: label_ari(&truth, &found, duration),
        exact_f1: exact_f1(&truth, &found),
    }
}

/// The same stretches without gaps (they become idle), without boundaries between equal labels, and
/// without those that have neither a length nor messages.
fn tiled(intervals: &[Interval], duration: u64) -> Vec<Interval> {
    let mut tiles: Vec<Interval> = Vec::with_capacity(intervals.len() + 1);
    let mut push =
        |start_ns: u64, end_ns: u64, label: &str, messages: Option<(u64, u64)>| match tiles.last_mut() {
            _ if start_ns == end_ns && messages.is_none() => {}
            Some(last) if last.label == label => {
                last.end_ns = end_ns;
                last.messages = join(last.messages, messages);
            }
            _ => tiles.push(Interval { start_ns, end_ns, label: label.into(), messages }),
        };
    let mut at = 0;
    for interval in intervals {
        push(at, interval.start_ns, IDLE, None);
        push(interval.start_ns, interval.end_ns, &interval.label, interval.messages);
        at = interval.end_ns;
    }
    push(at, duration, IDLE, None);
    tiles
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::trace::UnmatchedReceives;

    use super::*;
    use crate::segmentation::{FORMAT, Header, Occurrence, VERSION};

    fn intervals(list: &[(u64, u64, &str)]) -> Vec<Interval> {
        list.iter()
            .map(|(start_ns, end_ns, label)| Interval {
                start_ns: *start_ns,
                end_ns: *end_ns,
                label: (*label).into(),
                messages: None,
            })
            .collect()
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, expected {expected}");
    }

    #[test]
    fn equal_segmentations_score_one() {
        let truth = intervals(&[(0, 40, "a"), (40, 60, "b"), (60, 100, "a")]);
        close(boundary_f1(&truth, &truth, 100), 1.0);
        close(covering(&truth, &truth, 100), 1.0);
        close(label_ari(&truth, &truth, 100), 1.0);
    }

    #[test]
    fn by_hand() {
        // One boundary off by 1 % of the run, found; one off by 5 %, not; nothing else.
        let truth = intervals(&[(0, 400, "a"), (400, 600, "b"), (600, 1000, "a")]);
        let found = intervals(&[(0, 410, "0"), (410, 650, "1"), (650, 1000, "0")]);
        close(boundary_f1(&truth, &found, 1000), 0.5);
        // 400/410 over 400, 190/250 over 200, 350/400 over 400.
        close(
            covering(&truth, &found, 1000),
            (400.0 * 400.0 / 410.0 + 200.0 * 190.0 / 250.0 + 350.0) / 1000.0,
        );
        // Parts: a0 .75, a1 .05, b0 .01, b1 .19; rows .8 .2, columns .76 .24.
        let (index, a, b) = (0.5625 + 0.0025 + 0.0001 + 0.0361, 0.68, 0.5776 + 0.0576);
        close(label_ari(&truth, &found, 1000), (index - a * b) / ((a + b) / 2.0 - a * b));
    }

    #[test]
    fn one_phase_against_two() {
        let truth = intervals(&[(0, 50, "a"), (50, 100, "b")]);
        let one = intervals(&[(0, 100, "0")]);
        close(boundary_f1(&truth, &one, 100), 0.0);
        close(covering(&truth, &one, 100), 0.5);
        close(label_ari(&truth, &one, 100), 0.0);
    }

    #[test]
    fn the_shorter_neighbour_limits_the_tolerance() {
        // 1 % of the run is 10, a quarter of the middle is 5.
        let truth = intervals(&[(0, 500, "a"), (500, 520, "b"), (520, 1000, "a")]);
        let at = |start: u64| intervals(&[(0, start, "0"), (start, 520, "1"), (520, 1000, "0")]);
        close(boundary_f1(&truth, &at(505), 1000), 1.0);
        close(boundary_f1(&truth, &at(506), 1000), 0.5);
    }

    #[test]
    fn an_exact_boundary_is_found_whatever_its_time() {
        // The second phase begins at 500 with message 50, the last message of the first is 59.
        let of = |boundary: u64, messages: [(u64, u64); 2]| {
            let mut both = intervals(&[(0, boundary, "a"), (boundary, 1000, "b")]);
            both.iter_mut().zip(messages).for_each(|(own, messages)| own.messages = Some(messages));
            both
        };
        let truth = of(500, [(0, 59), (50, 99)]);
        let scored = |found: Vec<Interval>| boundary_f1(&truth, &found, 1000);
        close(scored(of(600, [(0, 59), (60, 99)])), 1.0);
        // Later than one message after the last, and farther than 1 % of the run.
        close(scored(of(600, [(0, 61), (62, 99)])), 0.0);
        close(scored(of(510, [(0, 61), (62, 99)])), 1.0);
        // A truth without messages knows the time alone.
        close(
            boundary_f1(&intervals(&[(0, 500, "a"), (500, 1000, "b")]), &of(600, [(0, 59), (60, 99)]), 1000),
            0.0,
        );
    }

    #[test]
    fn a_program_may_end_after_its_last_message() {
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            source: "test".into(),
            method: "rounds".into(),
            ranks: 2,
            duration_ns: Some(98),
            unmatched_receives: UnmatchedReceives::default(),
        };
        let of = |(phase, start_ns, end_ns): (u32, u64, u64)| Occurrence {
            phase: Some(phase),
            depth: 0,
            start_ns,
            end_ns,
            messages: 1,
            bytes: 1,
        };
        let occurrences = [(0, 0, 40), (1, 40, 98)].map(of).to_vec();
        let found = Segmentation { header, phases: Vec::new(), occurrences };
        let truth =
            |end_ns| Truth { stretches: intervals(&[(0, 40, "a"), (40, end_ns, "b")]), outer: Vec::new() };
        close(score(&found, &truth(100)).boundary_f1, 1.0);
        close(score(&found, &truth(100)).covering, 1.0);
        // Messages after the end of the truth are of no phase.
        close(score(&found, &truth(90)).boundary_f1, 2.0 / 3.0);
    }

    #[test]
    fn gaps_in_the_truth_are_idle() {
        let truth = tiled(&intervals(&[(0, 40, "a"), (60, 80, "a")]), 100);
        let expected = [(0, 40, "a"), (40, 60, "idle"), (60, 80, "a"), (80, 100, "idle")];
        assert_eq!(truth, intervals(&expected));
    }
}
