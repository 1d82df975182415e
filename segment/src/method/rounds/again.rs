//! Stretches that stand where a loop has another phase.
//!
//! Where phases come again and again in one order, one in its place that looks a little different
//! is the same phase: chance showed other partners of it, or a window of a neighbour is in it. Its
//! own label would break the loop, of which nothing is left then but a row of stretches. So it gets
//! the label of most of those in its place, if it is about as large and differs from them by no
//! more than [`MORE`] times what tells phases apart.

use std::ops::Range;

use super::label::Cluster;
use super::merge::Tolerance;
use super::segments::Segments;
use crate::hierarchy::tree::LONGEST;

/// Phases of a loop come so many times at least.
const TIMES: usize = 3;
/// What stands in the place of another phase may differ by so many times as much as stretches of
/// one label.
const MORE: f64 = 2.0;
/// Its messages are so many times more or fewer, at most.
const SIZE: f64 = 2.0;
/// So many of those in its place are looked at.
const LOOKED_AT: usize = 16;

/// Corrects labels by the loops that they nearly make. They are counted from 0 in order of
/// appearance, before and after.
pub(super) fn settle(segments: &Segments<'_>, labels: &mut [u32], limits: &Tolerance) {
    let shown: Vec<usize> = (0..labels.len()).filter(|number| !segments.is_quiet(*number)).collect();
    let mut order: Vec<u32> = shown.iter().map(|number| labels[*number]).collect();
    for period in 2..=LONGEST.min(order.len() / TIMES) {
        let mut from = 0;
        while let Some(run) = next_run(&order, period, from) {
            // What comes before the first one that is alike, and after the last one, may be one
            // more.
            let end = (run.end + period).min(order.len());
            for place in run.start..run.start + period {
                let first = place.checked_sub(period).unwrap_or(place);
                let row: Vec<usize> = (first..end).step_by(period).collect();
                settle_row(segments, (&shown, &mut order), &row, limits);
            }
            from = run.end;
        }
    }
    for (number, label) in shown.into_iter().zip(order) {
        labels[number] = label;
    }
    let mut seen: Vec<u32> = Vec::new();
    for label in labels {
        let known = seen.iter().position(|other| other == label);
        *label = known.unwrap_or_else(|| {
            seen.push(*label);
            seen.len() - 1
        }) as u32;
    }
}

/// The next stretch in which labels come again after `period` others, but for one in three of them,
/// at least [`TIMES`] times.
fn next_run(order: &[u32], period: usize, mut from: usize) -> Option<Range<usize>> {
    let most = (period / 3).max(1);
    while from + TIMES * period <= order.len() {
        if order[from] != order[from + period] {
            from += 1;
            continue;
        }
        // Where labels differ that are a period apart, of the last period of them.
        let mut differ: Vec<usize> = Vec::new();
        let mut end = from;
        for at in from..order.len() - period {
            if order[at] == order[at + period] {
                end = at + 1;
                continue;
            }
            differ.retain(|other| other + period > at);
            differ.push(at);
            if differ.len() > most {
                break;
            }
        }
        if end + period >= from + TIMES * period {
            return Some(from..end + period);
        }
        from = differ.first().map_or(order.len(), |first| first + 1);
    }
    None
}

/// Gives those of a row that differ the label of most, where they may have it.
fn settle_row(
    segments: &Segments<'_>,
    (shown, order): (&[usize], &mut [u32]),
    row: &[usize],
    limits: &Tolerance,
) {
    let count = |label: u32| row.iter().filter(|at| order[**at] == label).count();
    let Some(label) = row.iter().map(|at| order[*at]).max_by_key(|label| (count(*label), u32::MAX - label))
    else {
        return;
    };
    let agree = count(label);
    if agree == row.len() || agree * 2 < row.len() {
        return;
    }
    let cluster = |at: usize| Cluster::of(segments, &segments.list[shown[at]]);
    let mut most: Option<Cluster> = None;
    for at in row.iter().filter(|at| order[**at] == label).take(LOOKED_AT) {
        match &mut most {
            Some(most) => most.merge(&cluster(*at)),
            None => most = Some(cluster(*at)),
        }
    }
    let Some(most) = most else { return };
    let size = most.messages() / agree.min(LOOKED_AT) as f64;
    for at in row {
        let beside = [at.checked_sub(1), Some(at + 1)];
        let is_beside = beside.into_iter().flatten().any(|other| order.get(other) == Some(&label));
        if order[*at] == label || is_beside {
            continue;
        }
        let own = cluster(*at);
        let ratio = own.messages() / size;
        if (1.0 / SIZE..=SIZE).contains(&ratio) && own.difference(&most, limits) < MORE {
            order[*at] = label;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str, period: usize) -> Vec<(usize, usize)> {
        let order: Vec<u32> = text.bytes().map(u32::from).collect();
        let mut from = 0;
        std::iter::from_fn(|| {
            let run = next_run(&order, period, from)?;
            from = run.end;
            Some((run.start, run.end))
        })
        .collect()
    }

    #[test]
    fn loops_may_have_something_else_in_places() {
        assert_eq!(runs("xabcabcabcy", 3), [(1, 10)]);
        assert_eq!(runs("abcabdabcabc", 3), [(0, 12)]);
        assert_eq!(runs("abcabcab", 3), []);
        assert_eq!(runs("abcdefghi", 3), []);
        // Two of three are others.
        assert_eq!(runs("abcadeafgahi", 3), []);
        assert_eq!(runs("ababababcdcdcdcd", 2), [(0, 8), (8, 16)]);
    }
}
