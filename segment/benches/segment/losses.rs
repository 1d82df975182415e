//! Where a segmentation differs from the truth, boundary by boundary.

use std::fmt;

use phaseflow_segment::{Interval, Segmentation, Truth};

/// A boundary: when it is, how many messages come before it, what it separates.
struct Boundary {
    at_ns: u64,
    /// Messages before it, at least and at most.
    messages: (u64, u64),
    between: String,
    /// How far away the same boundary may be found.
    tolerance_ns: u64,
}

/// True boundaries that were missed or not found to the message, and found boundaries that are not
/// true.
pub(crate) struct Losses {
    lines: Vec<(u64, String)>,
}

/// The label of idle stretches.
const IDLE: &str = "idle";

impl Losses {
    /// Compares as `score` does: a boundary counts as found within 1 % of the run and a quarter of
    /// the shorter neighbour.
    pub(crate) fn new(found: &Segmentation, truth: &Truth) -> Self {
        let (found, truth) = (of_segmentation(found), of_truth(truth));
        let mut taken = vec![false; found.len()];
        let mut lines = Vec::new();
        for own in &truth {
            let near = |other: &(usize, &Boundary)| other.1.at_ns.abs_diff(own.at_ns) <= own.tolerance_ns;
            let free = found.iter().enumerate().filter(|(at, _)| !taken[*at]);
            let nearest = free.filter(near).min_by_key(|(_, other)| other.at_ns.abs_diff(own.at_ns));
            let (first, last) = own.messages;
            let what = format!("at {} ns, message {first} to {last}, {}", own.at_ns, own.between);
            match nearest {
                None => lines.push((own.at_ns, format!("missed   {what}"))),
                Some((at, other)) => {
                    taken[at] = true;
                    let place = other.messages.0;
                    let beside = first.saturating_sub(place).max(place.saturating_sub(last));
                    if beside > 1 {
                        let sign = if place < first { "before" } else { "after" };
                        lines.push((own.at_ns, format!("inexact  {what}: {beside} messages {sign}")));
                    }
                }
            }
        }
        for (other, _) in found.iter().zip(&taken).filter(|(_, taken)| !**taken) {
            let what = format!("at {} ns, message {}, {}", other.at_ns, other.messages.0, other.between);
            lines.push((other.at_ns, format!("spurious {what}")));
        }
        lines.sort();
        Self { lines }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|(_, line)| writeln!(f, "    {line}"))
    }
}

fn of_segmentation(segmentation: &Segmentation) -> Vec<Boundary> {
    let tiles: Vec<_> = segmentation.occurrences.iter().filter(|tile| tile.depth == 0).collect();
    let name = |phase: Option<u32>| phase.map_or_else(|| IDLE.into(), |phase| phase.to_string());
    let mut messages = 0;
    let boundary = |pair: &[&phaseflow_segment::Occurrence]| {
        messages += pair[0].messages;
        Boundary {
            at_ns: pair[1].start_ns,
            messages: (messages, messages),
            between: format!("{} to {}", name(pair[0].phase), name(pair[1].phase)),
            tolerance_ns: 0,
        }
    };
    tiles.windows(2).map(boundary).collect()
}

/// Boundaries of the truth; neighbours with one label have none between them.
fn of_truth(truth: &Truth) -> Vec<Boundary> {
    let duration = truth.stretches.last().map_or(0, |last| last.end_ns);
    let mut tiles: Vec<Interval> = Vec::new();
    for own in &truth.stretches {
        match tiles.last_mut() {
            Some(last) if last.label == own.label => {
                last.end_ns = own.end_ns;
                let both = last.messages.zip(own.messages);
                last.messages = both.map(|(one, other)| (one.0, other.1.max(one.1)));
            }
            _ => tiles.push(own.clone()),
        }
    }
    let mut last = 0;
    let mut boundaries = Vec::new();
    for (at, pair) in tiles.windows(2).enumerate() {
        last = pair[0].messages.map_or(last, |messages| messages.1 + 1);
        let first = tiles[at + 1..].iter().find_map(|tile| tile.messages).map_or(last, |messages| messages.0);
        let shorter = pair.iter().map(|tile| tile.end_ns - tile.start_ns).min().unwrap_or(0);
        boundaries.push(Boundary {
            at_ns: pair[1].start_ns,
            messages: (last.min(first), last.max(first)),
            between: format!("{} to {}", pair[0].label, pair[1].label),
            tolerance_ns: (duration / 100).min(shorter / 4),
        });
    }
    boundaries
}
