//! Tags that tell what a point-to-point message is for.
//!
//! Programs use tags in three ways: one for all messages; one for each purpose (a direction of a
//! halo, a stage of a pipeline); and a counter, so that two iterations cannot be confused. The
//! second says what the program does. The third says nothing, and every iteration would be a phase
//! of its own if its tag were taken for a kind of message. So a tag counts if it is *steady*:
//! nearly all of its messages ([`NEARLY`]) have one of the last few tags ([`RECENT`]) between the
//! same ranks and of about the same size; and from the first to the last of them is a good part of
//! the run ([`PART`]), which a counter of outer iterations does not reach. Messages without such a
//! tag are one kind, as all are without tags. The tags of collective operations are the library's
//! own and say nothing that the operation does not.
//!
//! Whether a tag is steady is only known at the end of the run. So the first pass [watches](Watch),
//! and if there are steady tags that divide the messages, it is done again with them. A bad choice
//! where more than [`BINS`] of them come in turns: some share a number.

use phaseflow_collect::archive::columns::UNKNOWN;
use phaseflow_collect::trace::{MessageBlock, Operation};

use crate::first_pass::window::sketch::scatter;

/// The first number of a kind that is not the code of an operation; operations have the lower ones.
const FIRST: u8 = 48;
/// Kinds of point-to-point messages, those without a steady tag not counted. With the operations
/// they are 64, as many as a sketch has bins for them.
const BINS: usize = 16;

/// Different tags that are remembered of two ranks and a size: two buffers in turn are steady. With
/// four, rounds get four times as long, and the scores of the bench lower.
const RECENT: usize = 2;
/// A tag is steady if all but one in this number of its messages follow it. A counter that lasts
/// for a few exchanges of an iteration is not.
const NEARLY: u64 = 8;
/// From the first to the last message of a steady tag, at least one part in this number of the
/// run's messages passes.
const PART: u64 = 4;
/// Tags tell something if more than one message in this number differs from the most common kind.
const COMMON: u64 = 1000;

/// Different tags that are watched at once.
const WATCHED: usize = 1024;
/// Slots for pairs of ranks and sizes; a power of two, at most half of them used.
const SLOTS: usize = 1 << 14;
/// Slots looked at for one of them.
const PROBES: usize = 32;

/// True if messages of the operation have a user's tag: they are sent from one rank to another, by
/// whichever call.
#[inline]
pub(crate) fn is_tagged(operation: u8) -> bool {
    operation == Operation::PointToPoint as u8 || operation == Operation::Sendrecv as u8
}

/// A user's tag and the operation as one number; [`UNKNOWN`] if the message has none. A user's tags
/// are not negative (MPI 4.1, section 3.2.3).
#[inline]
pub(crate) fn key(operation: u8, tag: i64) -> i64 {
    if is_tagged(operation) && tag >= 0 { tag << 8 | i64::from(operation) } else { UNKNOWN }
}

/// Steady tags with their operations as [keys](key), in ascending order; none if tags say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags(Vec<i64>);

impl Tags {
    /// Number of steady tags.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// True if tags say nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What kind of message a row of `block` is: its operation, or the number of its tag.
    #[inline]
    pub(crate) fn kind(&self, block: &MessageBlock, row: usize) -> u8 {
        let operation = block.operations().map_or(0, |codes| codes[row] as u8);
        if self.0.is_empty() || !is_tagged(operation) {
            return operation;
        }
        let tag = block.tags().map_or(UNKNOWN, |tags| tags[row]);
        let number = self.0.binary_search(&key(operation, tag));
        number.map_or(operation, |number| FIRST + (number % BINS) as u8)
    }
}

/// What is known of a tag so far.
#[derive(Clone, Copy, Debug)]
struct Watched {
    tag: i64,
    messages: u64,
    /// Messages between ranks and of sizes that are followed, and those of them whose tag is new
    /// there.
    followed: u64,
    fresh: u64,
    /// Messages before its first and its last one.
    first: u64,
    last: u64,
}

impl Watched {
    fn is_steady(&self) -> bool {
        self.followed > 0 && NEARLY * self.fresh <= self.followed
    }
}

/// The last different tags between two ranks and of one size.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u64,
    /// Hashes of tags; 0 is none, and a slot without any is free.
    recent: [u32; RECENT],
}

const FREE: Slot = Slot { hash: 0, recent: [0; RECENT] };

/// Looks at the tags of point-to-point messages. Memory: 300 KiB, once there are any.
///
/// Of more pairs of ranks and sizes than there are slots, those with lower hashes are followed; of
/// more than [`WATCHED`] tags, those that are steady so far.
#[derive(Debug)]
pub(crate) struct Watch {
    slots: Vec<Slot>,
    used: usize,
    /// What has a lower hash is followed.
    below: u64,
    tags: Vec<Watched>,
    /// Where the tag of a hash is among these, plus 1; 0 is free.
    places: Vec<u16>,
    /// Half of the table is steady tags: it takes no others.
    full: bool,
    /// Messages so far.
    seen: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            used: 0,
            below: u64::MAX,
            tags: Vec::new(),
            places: Vec::new(),
            full: false,
            seen: 0,
        }
    }
}

impl Watch {
    /// Notes a point-to-point message with the [key] of its tag; `hash` is that of its ranks and
    /// size.
    #[inline]
    pub(crate) fn see(&mut self, hash: u64, tag: i64) {
        self.seen += 1;
        if tag == UNKNOWN {
            return;
        }
        let short = (scatter(tag.cast_unsigned()) >> 32) as u32 | 1;
        let Some(place) = self.place(tag, short) else { return };
        let fresh = self.recent(hash).map(|recent| {
            let at = recent.iter().position(|tag| *tag == short);
            recent[..=at.unwrap_or(RECENT - 1)].rotate_right(1);
            recent[0] = short;
            at.is_none()
        });
        let watched = &mut self.tags[place];
        watched.messages += 1;
        watched.last = self.seen;
        watched.followed += u64::from(fresh.is_some());
        watched.fresh += u64::from(fresh == Some(true));
    }

    /// The steady tags, if they divide the run's point-to-point messages, of which there are `all`.
    pub(crate) fn finish(self, all: u64) -> Tags {
        let lasts = |tag: &&Watched| (tag.last - tag.first).saturating_mul(PART) >= self.seen;
        let steady = || self.tags.iter().filter(|tag| tag.is_steady()).filter(lasts);
        let others = all.saturating_sub(steady().map(|tag| tag.messages).sum());
        let most = steady().map(|tag| tag.messages).max().unwrap_or(0).max(others);
        if all.saturating_sub(most).saturating_mul(COMMON) <= all {
            return Tags::default();
        }
        let mut tags: Vec<i64> = steady().map(|tag| tag.tag).collect();
        tags.sort_unstable();
        Tags(tags)
    }

    /// Where a tag is watched.
    #[inline]
    fn place(&mut self, tag: i64, short: u32) -> Option<usize> {
        if self.places.is_empty() {
            self.places = vec![0; 4 * WATCHED];
        }
        let mask = self.places.len() - 1;
        let mut at = short as usize >> 8 & mask;
        while self.places[at] != 0 {
            let place = usize::from(self.places[at] - 1);
            if self.tags[place].tag == tag {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
        if self.full {
            return None;
        }
        if self.tags.len() == WATCHED {
            self.forget();
            return self.place(tag, short);
        }
        self.tags.push(Watched {
            tag,
            messages: 0,
            followed: 0,
            fresh: 0,
            first: self.seen,
            last: self.seen,
        });
        self.places[at] = self.tags.len() as u16;
        Some(self.tags.len() - 1)
    }

    /// Forgets tags that are not steady.
    #[cold]
    fn forget(&mut self) {
        self.tags.retain(Watched::is_steady);
        self.full = self.tags.len() > WATCHED / 2;
        self.places.fill(0);
        let mask = self.places.len() - 1;
        for (place, watched) in self.tags.iter().enumerate() {
            let short = (scatter(watched.tag.cast_unsigned()) >> 32) as u32 | 1;
            let mut at = short as usize >> 8 & mask;
            while self.places[at] != 0 {
                at = (at + 1) & mask;
            }
            self.places[at] = place as u16 + 1;
        }
    }

    /// The last tags of a hash, all 0 if there were none; `None` if it is not followed.
    #[inline]
    fn recent(&mut self, hash: u64) -> Option<&mut [u32; RECENT]> {
        if hash >= self.below {
            return None;
        }
        let mask = self.slots.len().wrapping_sub(1);
        let place = |probe: usize| (hash as usize).wrapping_add(probe) & mask;
        let mine = |slot: &Slot| slot.hash == hash || slot.recent[0] == 0;
        let found = (0..PROBES.min(self.slots.len())).map(place).find(|at| mine(&self.slots[*at]));
        match found {
            Some(at) if self.slots[at].recent[0] != 0 => Some(&mut self.slots[at].recent),
            Some(at) if 2 * self.used < mask => {
                self.used += 1;
                self.slots[at].hash = hash;
                Some(&mut self.slots[at].recent)
            }
            _ => {
                self.make_room();
                self.recent(hash)
            }
        }
    }

    /// Grows to [`SLOTS`]; then lets half of what is followed go.
    #[cold]
    fn make_room(&mut self) {
        let larger = (self.slots.len() * 2).clamp(64, SLOTS);
        if larger == self.slots.len() {
            self.below /= 2;
        }
        let mask = larger - 1;
        let slots = std::mem::replace(&mut self.slots, vec![FREE; larger]);
        self.used = 0;
        for slot in slots.into_iter().filter(|slot| slot.recent[0] != 0 && slot.hash < self.below) {
            let mut places = (0..PROBES).map(|probe| (slot.hash as usize).wrapping_add(probe) & mask);
            if let Some(place) = places.find(|place| self.slots[*place].recent[0] == 0) {
                self.slots[place] = slot;
                self.used += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [i64; 0] = [];

    /// The steady tags of rounds of messages between `pairs` pairs, told the tag of each round and
    /// pair.
    fn steady(rounds: i64, pairs: u64, tag: impl Fn(i64, u64) -> i64) -> Vec<i64> {
        let mut watch = Watch::default();
        for round in 0..rounds {
            (0..pairs).for_each(|pair| watch.see(scatter(pair), tag(round, pair)));
        }
        watch.finish(rounds.cast_unsigned() * pairs).0
    }

    #[test]
    fn a_tag_for_each_purpose_is_steady_and_a_counter_is_not() {
        assert_eq!(steady(50, 40, |_, pair| 7 + (pair % 4).cast_signed()), [7, 8, 9, 10]);
        assert_eq!(steady(50, 40, |round, _| round / 25), [0, 1]);
        assert_eq!(steady(50, 40, |round, _| round % 2), [0, 1]);
        assert_eq!(steady(90, 40, |round, _| round / 10 % 3), [0, 1, 2]);
        assert_eq!(steady(90, 40, |round, _| round / 30), [0, 1, 2]);
        // A counter, alone, from 0 again and again, and beside steady tags.
        assert_eq!(steady(50, 40, |round, _| round), NONE);
        assert_eq!(steady(5000, 40, |round, _| round), NONE);
        assert_eq!(steady(50, 40, |round, _| round % 3), NONE);
        // One of inner or of outer iterations.
        assert_eq!(steady(60, 40, |round, _| round / 3), NONE);
        assert_eq!(steady(600, 40, |round, _| round / 100), NONE);
        assert_eq!(steady(5000, 40, |round, pair| if pair < 20 { 7 } else { 100 + round }), [7]);
    }

    #[test]
    fn one_tag_for_nearly_everything_says_nothing() {
        assert_eq!(steady(50, 40, |_, _| 7), NONE);
        assert_eq!(steady(50, 40, |_, _| UNKNOWN), NONE);
        assert_eq!(steady(50, 40, |_, pair| if pair < 20 { 7 } else { UNKNOWN }), [7]);
        // 1 of 2 000 messages has another one.
        assert_eq!(steady(50, 2000, |_, pair| i64::from(pair == 5)), NONE);
    }

    #[test]
    fn steady_tags_are_found_among_any_number_of_pairs_and_counters() {
        // 100 000 pairs, a sample of which is followed, and thousands of tags of which only the two
        // last are steady.
        let tag = |round: i64, pair: u64| match round {
            0..2 => round * 100_000 + pair.cast_signed() % 3000,
            _ => 1_000_000 + (pair % 2).cast_signed(),
        };
        assert_eq!(steady(15, 100_000, tag), [1_000_000, 1_000_001]);
    }

    #[test]
    fn hashes_made_to_collide_do_no_harm() {
        let mut watch = Watch::default();
        (0..100_000u64).for_each(|i| watch.see(i << 40, 1));
        assert!(watch.slots.len() <= SLOTS && watch.used <= SLOTS / 2);
    }
}
