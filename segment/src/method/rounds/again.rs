//! Stretches that stand where a loop has another phase.
//!
//! In a loop, phases come again and again in one order. A stretch in the place of a phase may look
//! a little different and still be that phase. By chance it shows other partners, or it holds a
//! window of a neighbour. A label of its own would break the loop into a row of stretches. So it
//! gets the label of most stretches in its place, if it is about as large. It may differ from them
//! by at most [`MORE`] times the limit between phases.

use std::ops::Range;

use super::label::Cluster;
use super::merge::Tolerance;
use super::segments::Segments;
use crate::hierarchy::loops::LONGEST;

/// A loop's phases come at least this number of times.
const TIMES: usize = 3;
/// A stretch in the place of another phase may differ from it by this many times the limit for
/// stretches of one label.
const MORE: f64 = 2.0;
/// It has at most this many times more or fewer messages.
const SIZE: f64 = 2.0;
/// Stretches of a place that are compared.
const LOOKED_AT: usize = 16;

/// Corrects labels by the loops that they nearly make. Labels are counted from 0 in order of
/// appearance, before and after.
pub(super) fn settle(segments: &Segments<'_>, labels: &mut [u32], limits: &Tolerance) {
    let shown: Vec<usize> = (0..labels.len()).filter(|number| !segments.is_quiet(*number)).collect();
    let mut order: Vec<u32> = shown.iter().map(|number| labels[*number]).collect();
    for period in 2..=LONGEST.min(order.len() / TIMES) {
        let mut from = 0;
        while let Some(run) = next_run(&order, period, from) {
            // The stretch before the first match, and the one after the last, may belong to the
            // loop too.
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

/// The next stretch of at least [`TIMES`] periods in which labels come again after `period` labels.
/// A third of them may differ.
fn next_run(order: &[u32], period: usize, mut from: usize) -> Option<Range<usize>> {
    let most = (period / 3).max(1);
    while from + TIMES * period <= order.len() {
        if order[from] != order[from + period] {
            from += 1;
            continue;
        }
        // Places of the last period whose label differs from the label one period later.
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

/// Gives the differing stretches of a row the row's most frequent label, where they may have it.
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
        // Two of three labels differ.
        assert_eq!(runs("abcadeafgahi", 3), []);
        assert_eq!(runs("ababababcdcdcdcd", 2), [(0, 8), (8, 16)]);
    }
}
