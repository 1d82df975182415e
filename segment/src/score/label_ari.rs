//! Adjusted Rand index of the labels.

use std::collections::BTreeMap;

use super::Interval;

/// Adjusted Rand index (Hubert and Arabie 1985) of two tilings of `duration` nanoseconds, in which
/// every instant is an item; 1 if both have one label only.
pub(super) fn label_ari(truth: &[Interval], found: &[Interval], duration: u64) -> f64 {
    // Time that has both labels, as parts of the run; the pairs of instants are squares of them.
    let mut both = BTreeMap::<(&str, &str), f64>::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(one), Some(other)) = (truth.get(i), found.get(j)) {
        let overlap = one.end_ns.min(other.end_ns) - one.start_ns.max(other.start_ns);
        *both.entry((&one.label, &other.label)).or_default() += overlap as f64 / duration as f64;
        i += usize::from(one.end_ns <= other.end_ns);
        j += usize::from(other.end_ns <= one.end_ns);
    }
    let mut rows = BTreeMap::<&str, f64>::new();
    let mut columns = BTreeMap::<&str, f64>::new();
    for ((row, column), part) in &both {
        *rows.entry(row).or_default() += part;
        *columns.entry(column).or_default() += part;
    }
    let squares = |parts: &mut dyn Iterator<Item = &f64>| parts.map(|part| part * part).sum::<f64>();
    let (a, b) = (squares(&mut rows.values()), squares(&mut columns.values()));
    let (index, expected, greatest) = (squares(&mut both.values()), a * b, (a + b) / 2.0);
    // Both sides have one label only, or nothing at all: they agree.
    if greatest - expected < 1e-15 { 1.0 } else { (index - expected) / (greatest - expected) }
}
