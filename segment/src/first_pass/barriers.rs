//! Where all ranks meet: barriers, and where communicators are made. What is posted before the last
//! rank enters is the program before it, the rest is what comes after it.
//!
//! The nth barrier of each rank on a communicator is one and the same (MPI 4.1, section 6.14: all
//! members call collectives in one order). No rank leaves it before the last one enters, so that
//! the last to enter divides all messages but those of the barrier itself.

use std::collections::{BTreeMap, HashMap};

use phaseflow_collect::trace::{Call, Operation};

/// Barriers that wait for ranks at most; of more, the first ones are not known.
const WAITING: usize = 4096;
/// Communicators times ranks whose barriers are counted.
const COUNTED: usize = 1 << 20;

/// How ranks meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Meeting {
    Barrier,
    /// A communicator is made, of which all have to agree.
    Communicator,
}

impl Meeting {
    fn of(operation: Operation) -> Option<Self> {
        match operation {
            Operation::Barrier => Some(Self::Barrier),
            Operation::Communicator => Some(Self::Communicator),
            _ => None,
        }
    }
}

/// A barrier that some ranks have entered.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    ranks: u32,
    /// When the last one entered, and the first one left, as far as is known.
    entered_ns: i64,
    left_ns: i64,
}

/// Puts the calls of barriers together.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// How often a rank has met others on a communicator.
    called: HashMap<(Meeting, Option<u32>, u32), u64>,
    waiting: BTreeMap<(u64, Meeting, Option<u32>), Barrier>,
    /// One more than the highest rank so far.
    ranks: u32,
}

impl Barriers {
    /// Notes a rank that there is.
    pub(crate) fn see_rank(&mut self, rank: u32) {
        self.ranks = self.ranks.max(rank.saturating_add(1));
    }

    /// Notes a call.
    pub(crate) fn add(&mut self, call: &Call) {
        self.see_rank(call.rank.0);
        let Some(meeting) = Meeting::of(call.operation) else { return };
        let key = (meeting, call.communicator, call.rank.0);
        if self.called.len() >= COUNTED && !self.called.contains_key(&key) {
            return;
        }
        let number = self.called.entry(key).or_default();
        *number += 1;
        let new = Barrier { ranks: 0, entered_ns: i64::MIN, left_ns: i64::MAX };
        let barrier = self.waiting.entry((*number, meeting, call.communicator)).or_insert(new);
        barrier.ranks += 1;
        barrier.entered_ns = barrier.entered_ns.max(call.enter_ns);
        barrier.left_ns = barrier.left_ns.min(call.leave_ns.unwrap_or(i64::MAX));
        if self.waiting.len() > WAITING {
            self.waiting.pop_first();
        }
    }

    /// When the last rank entered each barrier that all ranks have passed and one has left by
    /// `now_ns`, in order of time. All calls that begin by then have been added.
    pub(crate) fn passed(&mut self, now_ns: i64) -> Vec<(i64, Meeting)> {
        let mut passed = Vec::new();
        let ranks = self.ranks;
        self.waiting.retain(|(_, meeting, _), barrier| {
            if barrier.left_ns > now_ns {
                return true;
            }
            // Calls that do not belong together would have ranks enter after others have left.
            if barrier.ranks == ranks && barrier.entered_ns <= barrier.left_ns {
                passed.push((barrier.entered_ns, *meeting));
            }
            false
        });
        passed.sort_unstable();
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::Rank;

    fn call(rank: u32, communicator: u32, enter_ns: i64, leave_ns: i64) -> Call {
        Call {
            enter_ns,
            leave_ns: Some(leave_ns),
            rank: Rank(rank),
            operation: Operation::Barrier,
            communicator: Some(communicator),
            ..Call::default()
        }
    }

    #[test]
    fn a_barrier_is_passed_when_all_ranks_have_entered() {
        let mut barriers = Barriers::default();
        let calls = [call(0, 0, 10, 31), call(1, 0, 12, 30), call(0, 0, 40, 70), call(2, 0, 29, 32)];
        calls.iter().for_each(|call| barriers.add(call));
        assert_eq!(barriers.passed(29), []);
        assert_eq!(barriers.passed(30), [(29, Meeting::Barrier)]);
        assert_eq!(barriers.passed(60), []);
        [call(2, 0, 50, 66), call(1, 0, 65, 66)].iter().for_each(|call| barriers.add(call));
        assert_eq!(barriers.passed(100), [(65, Meeting::Barrier)]);
    }

    #[test]
    fn barriers_of_some_ranks_and_calls_that_do_not_belong_together_are_none() {
        let mut barriers = Barriers::default();
        barriers.see_rank(2);
        [call(0, 1, 10, 20), call(1, 1, 11, 20)].iter().for_each(|call| barriers.add(call));
        assert_eq!(barriers.passed(100), []);
        // Rank 2 enters when rank 0 has left.
        [call(0, 0, 110, 120), call(1, 0, 111, 125), call(2, 0, 122, 126)]
            .iter()
            .for_each(|call| barriers.add(call));
        assert_eq!(barriers.passed(200), []);
        // Nobody was seen to leave.
        (0..3).for_each(|rank| barriers.add(&Call { leave_ns: None, ..call(rank, 0, 210, 0) }));
        assert_eq!(barriers.passed(i64::MAX - 1), []);
    }

    #[test]
    fn barriers_that_never_come_whole_do_not_pile_up() {
        let mut barriers = Barriers::default();
        barriers.see_rank(1);
        for i in 0..100_000 {
            barriers.add(&Call { leave_ns: None, ..call(0, 0, i, 0) });
        }
        assert!(barriers.waiting.len() <= WAITING);
    }
}
