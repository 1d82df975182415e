//! What a program does between barriers that all ranks pass.
//!
//! Programs that come in parts often let all ranks meet between two of them. Windows of messages
//! cannot see a part of twenty messages, and do not know to which side preparations and statistics
//! belong; what lies between two [barriers](crate::first_pass::barriers) belongs together, however
//! short it is. A section is a histogram of its kinds of messages: operation and size to a power of
//! two.
//!
//! One pass, bounded memory: neighbouring sections that are alike become one, and if there are too
//! many, those of which the least is lost.

use phaseflow_collect::trace::{Call, MessageBlock, Operation};

use crate::agglomerate::agglomerate_neighbours;
use crate::first_pass::barriers::{Barriers, Meeting};

/// Sections at most; they take about 1 KiB each.
const MOST: usize = 2048;

/// Neighbours whose histograms have this part in common are one section, which
/// [repeats](Section::repeats) itself.
pub(crate) const ALIKE: f64 = 0.6;

/// Bits of a size's binary logarithm in a kind.
const SIZE_BITS: u32 = 6;
/// Kinds: 64 operations of 64 powers of two.
const KINDS: usize = 64 << SIZE_BITS;

/// What lies between two barriers, or more of them if it repeats itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// When the last rank entered the barrier before it; the first message of the run for the first
    /// one.
    pub(crate) start_ns: i64,
    /// What it begins with.
    pub(crate) after: Option<Meeting>,
    /// Messages that are not of a barrier.
    pub(crate) messages: u64,
    /// Sections alike in a row that it is made of.
    pub(crate) repeats: u32,
    /// Kinds in ascending order, and how many messages there are of each.
    kinds: Vec<(u16, u64)>,
}

impl Section {
    /// Adds what follows.
    pub(crate) fn merge(&mut self, next: &Section) {
        self.messages += next.messages;
        for (kind, messages) in &next.kinds {
            match self.kinds.binary_search_by_key(kind, |own| own.0) {
                Ok(at) => self.kinds[at].1 += messages,
                Err(at) => self.kinds.insert(at, (*kind, *messages)),
            }
        }
    }

    /// What part of its messages is of a kind.
    fn part(&self, kind: u16) -> f64 {
        let own = self.kinds.binary_search_by_key(&kind, |own| own.0).map_or(0, |at| self.kinds[at].1);
        own as f64 / self.messages.max(1) as f64
    }

    /// What the histograms of two sections have in common, from 0 to 1.
    pub(crate) fn overlap(&self, other: &Section) -> f64 {
        self.kinds.iter().map(|(kind, _)| self.part(*kind).min(other.part(*kind))).sum()
    }

    /// What part of the messages of `next` is of kinds that this section has hardly any of: less
    /// than one in `rare` times as many, by their parts. Sizes of messages from rank to rank may be
    /// twice or half as large, as they depend on the data.
    pub(crate) fn is_new_in(&self, next: &Section, rare: f64) -> f64 {
        let new = |kind: &u16| {
            let varies = is_sent(kind >> SIZE_BITS) && *kind % (1 << SIZE_BITS) > 1;
            let around = if varies { kind - 1..=kind + 1 } else { *kind..=*kind };
            around.map(|kind| self.part(kind)).sum::<f64>() * rare < next.part(*kind)
        };
        next.kinds.iter().filter(|(kind, _)| new(kind)).map(|(kind, _)| next.part(*kind)).sum()
    }
}

/// Sent from one rank to another, by whichever call.
fn is_sent(operation: u16) -> bool {
    operation == Operation::PointToPoint as u16 || operation == Operation::Sendrecv as u16
}

fn kind(operation: u8, bytes: u64) -> usize {
    let size = bytes.checked_ilog2().map_or(0, |log| log.min((1 << SIZE_BITS) - 3) + 1);
    usize::from(operation & 63) << SIZE_BITS | size as usize
}

/// Barriers whose times are known at most; a run with more of them has one in each round, and they
/// tell nothing.
const KNOWN: usize = 1 << 16;

/// Divides a run into sections.
#[derive(Debug)]
pub(crate) struct Sections {
    barriers: Barriers,
    has_calls: bool,
    done: Vec<Section>,
    /// When the last rank entered each barrier.
    times_ns: Vec<i64>,
    start_ns: Option<i64>,
    after: Option<Meeting>,
    /// Messages of the open section by kind.
    counts: Vec<u64>,
}

impl Default for Sections {
    fn default() -> Self {
        Self {
            barriers: Barriers::default(),
            has_calls: false,
            done: Vec::new(),
            times_ns: Vec::new(),
            start_ns: None,
            after: None,
            counts: vec![0; KINDS],
        }
    }
}

impl Sections {
    /// Adds calls in trace order, before the messages that they govern.
    pub(crate) fn add_calls(&mut self, calls: &[Call]) {
        self.has_calls |= !calls.is_empty();
        calls.iter().for_each(|call| self.barriers.add(call));
    }

    /// Adds messages in trace order. When the last rank entered each barrier that is now known to
    /// have been passed.
    pub(crate) fn add(&mut self, block: &MessageBlock) -> Vec<i64> {
        let columns = block.columns();
        let times = &columns.send_post_ns;
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
        self.start_ns.get_or_insert(*first);
        let highest = |ranks: &[u32]| ranks.iter().fold(0, |most, rank| (*rank).max(most));
        self.barriers.see_rank(highest(&columns.src).max(highest(&columns.dst)));
        let mut barriers_ns = Vec::new();
        let mut row = 0;
        for (entered_ns, meeting) in self.barriers.passed(*last) {
            let end = row + times[row..].partition_point(|time| *time < entered_ns);
            self.count(block, row..end);
            row = end;
            self.close(entered_ns, Some(meeting));
            if meeting == Meeting::Barrier {
                barriers_ns.push(entered_ns);
            }
        }
        self.count(block, row..times.len());
        let room = (KNOWN + 1).saturating_sub(self.times_ns.len());
        self.times_ns.extend(barriers_ns.iter().take(room));
        barriers_ns
    }

    /// All sections, none where there is no more than one; and when the last rank entered each
    /// barrier, if these are not too many.
    pub(crate) fn finish(mut self) -> (Vec<Section>, Vec<i64>) {
        self.close(i64::MAX, None);
        if self.done.len() < 2 {
            self.done.clear();
        }
        if self.times_ns.len() > KNOWN {
            self.times_ns.clear();
        }
        (self.done, self.times_ns)
    }

    fn count(&mut self, block: &MessageBlock, rows: std::ops::Range<usize>) {
        // Calls stand before what they send, so that ranks of which there are none will hardly
        // meet.
        if !self.has_calls {
            return;
        }
        let bytes = &block.columns().bytes[rows.clone()];
        match block.operations() {
            Some(codes) => {
                let codes = &codes[rows];
                bytes.iter().zip(codes).for_each(|(bytes, code)| self.counts[kind(*code as u8, *bytes)] += 1);
            }
            None => bytes.iter().for_each(|bytes| self.counts[kind(0, *bytes)] += 1),
        }
    }

    /// The open section ends. One that only consists of barriers is a part of the one before it;
    /// one in which only communicators are made goes on with what they are made for.
    fn close(&mut self, entered_ns: i64, meeting: Option<Meeting>) {
        let of = |operation: Operation| kind(operation as u8, 0)..kind(operation as u8, 0) + (1 << SIZE_BITS);
        self.counts[of(Operation::Barrier)].fill(0);
        let makes = of(Operation::Communicator);
        let is_making = |(kind, count): (usize, &u64)| *count == 0 || makes.contains(&kind);
        if meeting == Some(Meeting::Communicator) && self.counts.iter().enumerate().all(is_making) {
            return;
        }
        let used = self.counts.iter_mut().zip(0..).filter(|(count, _)| **count > 0);
        let kinds: Vec<(u16, u64)> = used.map(|(count, kind)| (kind, std::mem::take(count))).collect();
        let start_ns = self.start_ns.replace(entered_ns).unwrap_or(entered_ns);
        let after = std::mem::replace(&mut self.after, meeting);
        if kinds.is_empty() {
            return;
        }
        let messages = kinds.iter().map(|(_, messages)| messages).sum();
        let section = Section { start_ns, after, messages, repeats: 1, kinds };
        match self.done.last_mut() {
            Some(last) if after == last.after && last.overlap(&section) >= ALIKE => {
                last.merge(&section);
                last.repeats = last.repeats.saturating_add(1);
            }
            _ => self.done.push(section),
        }
        if self.done.len() >= MOST {
            self.halve();
        }
    }

    #[cold]
    fn halve(&mut self) {
        let loss = |one: &Section, other: &Section| {
            Some((1.0 - one.overlap(other)).max(0.0) * one.messages.min(other.messages) as f64)
        };
        let merge = |kept: &mut Section, gone: Section| {
            kept.merge(&gone);
            kept.repeats = kept.repeats.saturating_add(gone.repeats);
        };
        let merged =
            agglomerate_neighbours(std::mem::take(&mut self.done), loss, merge, |_, left| left > MOST / 2);
        self.done = merged.into_iter().map(|(section, _)| section).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::{Message, Rank};

    fn call(rank: u32, operation: Operation, enter_ns: i64, leave_ns: i64) -> Call {
        let leave_ns = Some(leave_ns);
        Call { enter_ns, leave_ns, rank: Rank(rank), operation, ..Call::default() }
    }

    fn messages(all: impl IntoIterator<Item = (i64, Operation, u64)>) -> MessageBlock {
        let mut block = MessageBlock::default();
        for (send_post_ns, operation, bytes) in all {
            block.push(&Message { send_post_ns, dst: Rank(1), bytes, operation, ..Message::default() });
        }
        block
    }

    #[test]
    fn what_lies_between_barriers_is_a_section_and_loops_of_them_are_one() {
        let mut sections = Sections::default();
        let barriers = [(100, 110), (200, 210), (300, 310), (400, 410)];
        let calls: Vec<Call> = barriers
            .iter()
            .flat_map(|(enter, leave)| [0, 1].map(|rank| call(rank, Operation::Barrier, *enter, *leave)))
            .collect();
        sections.add_calls(&calls);
        let sent = |time: i64| match time {
            ..100 => (time, Operation::PointToPoint, 4096),
            105 | 205 | 305 => (time, Operation::Barrier, 0),
            400.. => (time, Operation::Bcast, 4),
            _ => (time, Operation::Alltoall, 64),
        };
        assert_eq!(sections.add(&messages((0..100).map(|i| sent(5 * i)))), [100, 200, 300, 400]);
        let (sections, barriers_ns) = sections.finish();
        let found: Vec<_> = sections.iter().map(|own| (own.start_ns, own.messages, own.repeats)).collect();
        assert_eq!(found, [(0, 20, 1), (100, 57, 3), (400, 20, 1)]);
        assert_eq!(barriers_ns, [100, 200, 300, 400]);
    }

    #[test]
    fn communicators_are_made_for_what_comes_next() {
        let mut sections = Sections::default();
        let calls: Vec<Call> = [100, 110, 120]
            .iter()
            .flat_map(|time| [0, 1].map(|rank| call(rank, Operation::Communicator, *time, time + 5)))
            .collect();
        sections.add_calls(&calls);
        let sent = |time: i64| match time {
            ..100 => (time, Operation::PointToPoint, 4096),
            100..125 => (time, Operation::Communicator, 8),
            _ => (time, Operation::Bcast, 4),
        };
        assert!(sections.add(&messages((0..200).map(sent))).is_empty());
        let (sections, _) = sections.finish();
        let found: Vec<_> = sections.iter().map(|own| (own.start_ns, own.messages, own.after)).collect();
        assert_eq!(found, [(0, 100, None), (100, 100, Some(Meeting::Communicator))]);
    }

    #[test]
    fn any_number_of_sections_takes_a_table_of_fixed_size() {
        let mut sections = Sections::default();
        for round in 0..10_000i64 {
            let time = 100 * round;
            sections.add_calls(&[0, 1].map(|rank| call(rank, Operation::Barrier, time, time + 1)));
            let operation = if round % 2 == 0 { Operation::Bcast } else { Operation::Alltoall };
            sections.add(&messages((2..9).map(|i| (time + i, operation, 1 << (round % 30)))));
            assert!(sections.done.len() <= MOST);
        }
        let (sections, _) = sections.finish();
        assert_eq!(sections.iter().map(|section| section.messages).sum::<u64>(), 70_000);
    }

    #[test]
    fn preparations_do_all_that_a_phase_does_and_statistics_do_something_new() {
        let section = |kinds: &[(Operation, u64, u64)]| {
            let mut section = Section::default();
            for (operation, bytes, messages) in kinds {
                let kinds = vec![(kind(*operation as u8, *bytes) as u16, *messages)];
                section.merge(&Section { messages: *messages, kinds, ..Section::default() });
            }
            section
        };
        let steps = section(&[(Operation::PointToPoint, 4096, 900), (Operation::Sendrecv, 8, 100)]);
        let setup = section(&[
            (Operation::Bcast, 4, 50),
            (Operation::PointToPoint, 2048, 40),
            (Operation::Sendrecv, 8, 10),
        ]);
        let statistics = section(&[(Operation::Allreduce, 8, 100)]);
        assert!(setup.is_new_in(&steps, 16.0) < 1e-9);
        assert!((steps.is_new_in(&statistics, 16.0) - 1.0).abs() < 1e-9);
        assert!((steps.is_new_in(&setup, 16.0) - 0.5).abs() < 1e-9);
        assert!((steps.overlap(&steps) - 1.0).abs() < 1e-9 && steps.overlap(&statistics) < 1e-9);
    }
}
