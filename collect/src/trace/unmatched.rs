//! Unmatched receives: their number, and the first ones for the user.

use serde::{Deserialize, Serialize};

/// Most receives that a sentence names.
const NAMED: usize = 8;

/// Receives without a known send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmatchedReceives {
    /// Their number.
    pub count: u64,
    /// The first of them, by rank and position.
    pub first: Vec<UnmatchedReceive>,
}

/// A receive without a known send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnmatchedReceive {
    /// The rank that posted it.
    pub rank: u32,
    /// Number of the receive in its rank, from 1, in the order of posting, without cancelled ones.
    pub position: u64,
    /// Source; `None` for any source, or unknown.
    pub src: Option<u32>,
    /// MPI tag; `None`: any, or unknown.
    pub tag: Option<i32>,
    /// Bytes received; `None` if its completion is not recorded.
    pub bytes: Option<u64>,
}

impl UnmatchedReceives {
    /// Counts a receive; the same ones are kept for any order of calls.
    pub fn add(&mut self, receive: UnmatchedReceive) {
        self.count += 1;
        let place = self.first.partition_point(|known| *known < receive);
        if place < NAMED {
            self.first.insert(place, receive);
            self.first.truncate(NAMED);
        }
    }

    /// Those of two sources together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        let count = self.count.saturating_add(other.count);
        other.first.iter().for_each(|receive| self.add(*receive));
        Self { count, ..self }
    }

    /// True if every receive has its send.
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// All in a sentence, by rank and position; `None` if there are none.
    pub fn sentence(&self) -> Option<String> {
        let named: Vec<String> = self.first.iter().take(NAMED).map(UnmatchedReceive::words).collect();
        let more = if self.count > named.len() as u64 { ", …" } else { "" };
        (!self.is_none())
            .then(|| format!("{} receives have no known send: {}{more}", self.count, named.join(", ")))
    }
}

impl UnmatchedReceive {
    /// `rank 1, receive 3 (of rank 0, tag 9, never completed)`.
    fn words(&self) -> String {
        let src = self.src.map(|src| format!("of rank {src}"));
        let tag = self.tag.map(|tag| format!("tag {tag}"));
        let end = self.bytes.map_or("never completed".into(), |bytes| format!("{bytes} bytes"));
        let words: Vec<String> = [src, tag, Some(end)].into_iter().flatten().collect();
        format!("rank {}, receive {} ({})", self.rank, self.position, words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(rank: u32, position: u64) -> UnmatchedReceive {
        UnmatchedReceive { rank, position, src: Some(0), tag: Some(7), bytes: None }
    }

    #[test]
    fn the_first_are_named_in_whatever_order_they_come() {
        let mut found = UnmatchedReceives::default();
        assert_eq!(found.sentence(), None);
        found.add(UnmatchedReceive { src: None, tag: None, ..receive(4, 2) });
        found.add(UnmatchedReceive { bytes: Some(8), ..receive(1, 9) });
        let sentence = "2 receives have no known send: rank 1, receive 9 (of rank 0, tag 7, 8 bytes), rank 4, receive 2 (never \
                        completed)";
        assert_eq!(found.sentence().unwrap(), sentence);
        let all: Vec<_> = (0..20).map(|i| receive(i / 5, 1 + u64::from(i % 5))).collect();
        let of = |order: &mut dyn Iterator<Item = &UnmatchedReceive>| {
            let mut found = UnmatchedReceives::default();
            order.for_each(|receive| found.add(*receive));
            found
        };
        let (forth, back) = (of(&mut all.iter()), of(&mut all.iter().rev()));
        assert_eq!((&forth.first[..], forth.count), (&all[..8], 20));
        assert_eq!(forth, back);
        assert_eq!(of(&mut all[..12].iter()).and(&of(&mut all[12..].iter())), forth);
        assert!(
            forth.sentence().unwrap().ends_with("rank 1, receive 3 (of rank 0, tag 7, never completed), …")
        );
    }
}
