//! Loops of a run, for people: stretches in which the same phases come again and again in one
//! order, and loops in them.
//!
//! Results hold the innermost occurrences alone; what comes again is found anew here: tandem
//! repeats, the shortest first, each then a letter of its own. Idle stretches neither make nor
//! break a loop.

use std::collections::BTreeMap;

use phaseflow_segment::Segmentation;

use super::text::shortened;

/// Longest body of a loop, phases or loops.
const LONGEST: usize = 64;

/// Occurrences of the longest run that is searched: more cannot be told apart in a drawing.
const OCCURRENCES: usize = 50_000;

/// A loop where it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// 0 for one that is in no other.
    pub(super) depth: usize,
    /// `4 × (0, 3 × (1, 2))`.
    pub(super) name: String,
}

/// A phase, or a loop of them.
#[derive(Clone, Debug)]
struct Item {
    letter: u32,
    start_ns: u64,
    end_ns: u64,
    name: String,
    inner: Vec<Item>,
}

/// The loops of a run, outer ones before those in them.
pub(super) fn loops(segmentation: &Segmentation) -> Vec<Loop> {
    let flat = segmentation.occurrences.iter().filter(|own| own.depth == 0);
    let phases = &segmentation.phases;
    let items = flat.filter_map(|own| {
        let letter = own.phase?;
        let name = shortened(&phases.get(letter as usize)?.name, 24);
        Some(Item { letter, start_ns: own.start_ns, end_ns: own.end_ns, name, inner: Vec::new() })
    });
    let items: Vec<Item> = items.collect();
    let mut found = Vec::new();
    if items.len() <= OCCURRENCES {
        gather(&folded(items, phases.len() as u32), 0, &mut found);
    }
    found
}

fn gather(items: &[Item], depth: usize, found: &mut Vec<Loop>) {
    for item in items.iter().filter(|item| !item.inner.is_empty()) {
        let Item { start_ns, end_ns, name, .. } = item;
        found.push(Loop { start_ns: *start_ns, end_ns: *end_ns, depth, name: name.clone() });
        gather(&item.inner, depth + 1, found);
    }
}

/// `letters` are taken by phases.
fn folded(mut items: Vec<Item>, letters: u32) -> Vec<Item> {
    // Loops of one body and one number of rounds are alike.
    let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    let mut length = 1;
    while length <= LONGEST.min(items.len() / 2) {
        let before = items.len();
        items = folded_by(&items, length, |body| {
            let next = letters + known.len() as u32;
            *known.entry(body).or_insert(next)
        });
        // What was found may be a part of something shorter than what was looked for before.
        length = if items.len() < before { 1 } else { length + 1 };
    }
    items
}

/// Makes one item of each repeat whose body has `length` items.
fn folded_by(items: &[Item], length: usize, mut letter: impl FnMut(Vec<u32>) -> u32) -> Vec<Item> {
    // Short orders come twice by chance.
    let needed = if length < 3 { 3 } else { 2 };
    let letters: Vec<u32> = items.iter().map(|item| item.letter).collect();
    let mut folded = Vec::with_capacity(items.len());
    let mut at = 0;
    while at < letters.len() {
        let ahead =
            (at..letters.len().saturating_sub(length)).take_while(|i| letters[*i] == letters[i + length]);
        let rounds = 1 + ahead.count() / length;
        if rounds < needed {
            folded.push(items[at].clone());
            at += 1;
            continue;
        }
        let inner = items[at..at + rounds * length].to_vec();
        let body: Vec<&str> = inner[..length].iter().map(|item| item.name.as_str()).collect();
        folded.push(Item {
            letter: letter(letters[at..at + length].to_vec()),
            start_ns: inner[0].start_ns,
            end_ns: inner[inner.len() - 1].end_ns,
            name: format!("{rounds} × ({})", body.join(", ")),
            inner,
        });
        at += rounds * length;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(letters: &[u32]) -> Vec<(String, usize, u64, u64)> {
        let item = |(at, letter): (u64, &u32)| Item {
            letter: *letter,
            start_ns: at,
            end_ns: at + 1,
            name: letter.to_string(),
            inner: Vec::new(),
        };
        let mut found = Vec::new();
        gather(&folded((0..).zip(letters).map(item).collect(), 9), 0, &mut found);
        found.into_iter().map(|own| (own.name, own.depth, own.start_ns, own.end_ns)).collect()
    }

    #[test]
    fn loops_nest() {
        // 0, then twice: 1, three times 2 3, 4.
        let letters = [0, 1, 2, 3, 2, 3, 2, 3, 4, 1, 2, 3, 2, 3, 2, 3, 4];
        let expected = [
            ("2 × (1, 3 × (2, 3), 4)".to_string(), 0, 1, 17),
            ("3 × (2, 3)".to_string(), 1, 2, 8),
            ("3 × (2, 3)".to_string(), 1, 10, 16),
        ];
        assert_eq!(of(&letters), expected);
    }

    #[test]
    fn what_does_not_come_again_is_no_loop() {
        assert_eq!(of(&[0, 1, 2, 3, 0, 1, 4, 2]), []);
        assert_eq!(of(&[]), []);
    }
}
