//! Stretches in order; each ends where the next one begins.

/// A stretch: the window that it begins with, and its label.
pub(super) type Start = (usize, u32);

/// The stretches of each label, of those that begin at `starts` and end with unit `count`.
pub(super) fn of_labels(starts: &[usize], labels: &[u32], count: usize) -> Vec<Vec<(usize, usize)>> {
    let kinds = labels.iter().max().map_or(0, |most| *most as usize + 1);
    let mut of_labels = vec![Vec::new(); kinds];
    for (at, label) in labels.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(count);
        of_labels[*label as usize].push((starts[at], end));
    }
    of_labels
}

/// Stretches without small ones, but for the first. These join the stretch before them, or the next
/// one if a silence lies between. One between two silences stays.
pub(super) fn without(locked: &[bool], stretches: &[Start], small: impl Fn(usize) -> bool) -> Vec<Start> {
    let mut kept: Vec<Start> = Vec::with_capacity(stretches.len());
    // Where a small stretch begins that belongs to the next one.
    let mut next = None;
    for (at, (start, label)) in stretches.iter().enumerate() {
        let after = stretches.get(at + 1).is_none_or(|next| locked[next.0]);
        // Between two silences it has no neighbour. Nor has it one before a silence if the stretch
        // before it waits for the next one.
        let alone = after && (locked[*start] || next.is_some());
        if at > 0 && !alone && small(at) {
            next = next.or(locked[*start].then_some(*start));
            continue;
        }
        let start = next.take().unwrap_or(*start);
        if locked[start] || kept.last().is_none_or(|last| last.1 != *label) {
            kept.push((start, *label));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_by_label() {
        let found = of_labels(&[0, 2, 5, 6], &[0, 1, 0, 2], 9);
        assert_eq!(found, [vec![(0, 2), (5, 6)], vec![(2, 5)], vec![(6, 9)]]);
        assert!(of_labels(&[], &[], 9).is_empty());
    }

    #[test]
    fn small_stretches_join_their_neighbours() {
        let stretches = [(0, 0), (10, 1), (20, 0), (30, 2), (40, 1)];
        // Windows that begin after a silence, and stretches that are small.
        let kept = |silent: &[usize], small: &[usize]| {
            let locked: Vec<bool> = (0..50).map(|window| silent.contains(&window)).collect();
            without(&locked, &stretches, |at| small.contains(&at))
        };
        assert_eq!(kept(&[], &[]), stretches);
        // The stretch before takes it, and goes on with the next one of its label.
        assert_eq!(kept(&[], &[1]), [(0, 0), (30, 2), (40, 1)]);
        assert_eq!(kept(&[], &[3, 4]), [(0, 0), (10, 1), (20, 0)]);
        // The first one stays.
        assert_eq!(kept(&[], &[0]), stretches);
        // After a silence, the next one takes it; between two silences it stays.
        assert_eq!(kept(&[30], &[3]), [(0, 0), (10, 1), (20, 0), (30, 1)]);
        assert_eq!(kept(&[30, 40], &[3]), stretches);
        assert_eq!(kept(&[40], &[4]), stretches);
        // Two of one label with a silence between them are not joined.
        assert_eq!(kept(&[20], &[1]), [(0, 0), (20, 0), (30, 2), (40, 1)]);
        // The first of two waits for the next one, which lies before a silence, and so takes it.
        assert_eq!(kept(&[20, 40], &[2, 3]), [(0, 0), (10, 1), (20, 2), (40, 1)]);
    }
}
