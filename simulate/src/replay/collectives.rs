//! Which calls of which ranks are one collective operation.
//!
//! A trace has the rank, operation, communicator and bytes of each call, but no number of the
//! collective. All ranks of a communicator make its collective calls in the same order, so their
//! n-th calls belong together. An interval can lack calls of some ranks at its edges. The shift is
//! found by trial: calls of one collective have the same bytes, and they overlap, as no rank leaves
//! an allreduce before the last one enters it. The overlap also ensures that another algorithm in
//! their place causes no deadlock.

use std::collections::BTreeMap;

use phaseflow_collect::trace::{Call, Message, Operation};

/// A collective operation that can be carried out in another way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// What.
    pub operation: Operation,
    /// Who: number of a [group](super::Operations::groups).
    pub group: u32,
    /// Bytes of the vector.
    pub bytes: u64,
}

/// When a rank enters a call, and when it leaves it.
type Inside = (i64, i64);

/// The collectives of an interval, with their members and times.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    pub(super) all: Vec<Collective>,
    /// Sets of ranks, ascending, each once.
    pub(super) groups: Vec<Vec<u32>>,
    /// By collective and member: when it enters and leaves.
    stays: Vec<Vec<Inside>>,
    /// By rank and communicator, ascending: enter, leave.
    spans: BTreeMap<(u32, Option<u32>), Vec<Inside>>,
}

/// True of operations that can be replaced.
pub(super) fn is_replaceable(operation: Operation) -> bool {
    operation == Operation::Allreduce
}

impl Collectives {
    /// Collectives whose last rank enters from `start_ns` to before `end_ns`, and whose bytes are
    /// known.
    pub(super) fn new(calls: &[Call], ranks: u32, (start_ns, end_ns): (i64, i64)) -> Self {
        let mut by_communicator: BTreeMap<Option<u32>, BTreeMap<u32, Vec<&Call>>> = BTreeMap::new();
        for call in calls.iter().filter(|call| call.rank.0 < ranks) {
            by_communicator.entry(call.communicator).or_default().entry(call.rank.0).or_default().push(call);
        }
        let mut found = Self::default();
        for (communicator, mut of_rank) in by_communicator {
            of_rank.values_mut().for_each(|calls| calls.sort_by_key(|call| call.enter_ns));
            for together in align(&of_rank) {
                found.add(communicator, &together, (start_ns, end_ns));
            }
        }
        found
    }

    fn add(&mut self, communicator: Option<u32>, together: &[&Call], (start_ns, end_ns): (i64, i64)) {
        let entered = together.iter().map(|call| call.enter_ns).max().unwrap_or(i64::MIN);
        let bytes = together.iter().filter_map(|call| call.bytes).max();
        let Some(bytes) = bytes.filter(|_| together.len() > 1 && entered >= start_ns && entered < end_ns)
        else {
            return;
        };
        let members: Vec<u32> = together.iter().map(|call| call.rank.0).collect();
        // Few programs have many communicators.
        let group = self.groups.iter().position(|known| *known == members).unwrap_or_else(|| {
            self.groups.push(members);
            self.groups.len() - 1
        });
        let stay = |call: &&Call| (call.enter_ns, call.leave_ns.unwrap_or(i64::MAX));
        for call in together {
            self.spans.entry((call.rank.0, communicator)).or_default().push(stay(call));
        }
        self.stays.push(together.iter().map(stay).collect());
        self.all.push(Collective { operation: together[0].operation, group: group as u32, bytes });
    }

    /// Visits rank, time and number of each entry.
    pub(super) fn entries(&self, visit: &mut dyn FnMut(u32, i64, u32)) {
        for ((number, collective), stays) in (0..).zip(&self.all).zip(&self.stays) {
            for (rank, (enter, _)) in self.groups[collective.group as usize].iter().zip(stays) {
                visit(*rank, *enter, number);
            }
        }
    }

    /// True if a message is part of one of them.
    pub(super) fn has(&self, message: &Message) -> bool {
        if !is_replaceable(message.operation) {
            return false;
        }
        // Patterns and simple traces do not tell communicators of messages.
        let key = (message.src.0, message.communicator);
        let Some(spans) = self.spans.get(&key).or_else(|| self.spans.get(&(key.0, None))) else {
            return false;
        };
        let before = spans.partition_point(|(enter, _)| *enter <= message.send_post_ns);
        before.checked_sub(1).is_some_and(|at| message.send_post_ns <= spans[at].1)
    }
}

/// Largest shift between the calls of two ranks: calls at the start of an interval that it has of
/// one rank and lacks of the other. Ranks that run further apart keep their collectives as
/// recorded. Trials take time in proportion to it. Half and double give the same makespans of five
/// recordings in tests/data with `--collective ring`.
const MOST_CUT: usize = 8;

/// Matches calls: for each call of the rank with the most calls, those of the other ranks, in order
/// of ranks.
fn align<'c>(of_rank: &BTreeMap<u32, Vec<&'c Call>>) -> Vec<Vec<&'c Call>> {
    let Some(reference) = of_rank.values().rev().max_by_key(|calls| calls.len()) else { return Vec::new() };
    // By rank: shift of its calls against those of the reference, counted from `MOST_CUT` calls
    // before.
    let shifts: Vec<usize> = of_rank.values().map(|calls| shift(reference, calls)).collect();
    let at = |calls: &[&'c Call], place: usize, shift: usize| {
        calls.get((place + MOST_CUT).checked_sub(shift)?).copied()
    };
    let together = (0..reference.len()).filter_map(|place| {
        let calls = of_rank.values().zip(&shifts).map(|(calls, shift)| at(calls, place, *shift));
        // A collective across the edge of the interval is incomplete here and stays as recorded.
        calls.collect::<Option<Vec<&Call>>>().filter(|calls| overlap(calls))
    });
    together.collect()
}

/// The shift of `calls` against `reference` that matches most calls; of equal ones that with the
/// closest entries.
fn shift(reference: &[&Call], calls: &[&Call]) -> usize {
    let quality = |shift: usize| {
        let (mut fits, mut apart) = (0_i64, 0_u128);
        for (place, call) in calls.iter().enumerate() {
            let Some(other) = (place + shift).checked_sub(MOST_CUT).and_then(|place| reference.get(place))
            else {
                continue;
            };
            fits += if call.bytes == other.bytes && overlap(&[call, other]) { 1 } else { -1 };
            apart += u128::from(call.enter_ns.abs_diff(other.enter_ns));
        }
        (std::cmp::Reverse(fits), apart)
    };
    (0..=2 * MOST_CUT).min_by_key(|shift| quality(*shift)).unwrap_or(MOST_CUT)
}

/// True if no call is left before all are entered.
fn overlap(calls: &[&Call]) -> bool {
    let entered = calls.iter().map(|call| call.enter_ns).max();
    let left = calls.iter().map(|call| call.leave_ns.unwrap_or(i64::MAX)).min();
    entered <= left
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::Rank;

    fn call(rank: u32, enter_ns: i64, leave_ns: i64) -> Call {
        Call {
            enter_ns,
            leave_ns: Some(leave_ns),
            rank: Rank(rank),
            operation: Operation::Allreduce,
            bytes: Some(8),
            ..Call::default()
        }
    }

    fn entries(calls: &[Call], span: (i64, i64)) -> Vec<(u32, i64, u32)> {
        let mut entries = Vec::new();
        Collectives::new(calls, 3, span)
            .entries(&mut |rank, time, number| entries.push((rank, time, number)));
        entries
    }

    #[test]
    fn calls_of_all_ranks_belong_together_in_their_order() {
        let calls =
            [call(0, 0, 9), call(1, 3, 9), call(2, 5, 8), call(0, 10, 19), call(1, 11, 18), call(2, 15, 19)];
        let all = [(0, 0, 0), (1, 3, 0), (2, 5, 0), (0, 10, 1), (1, 11, 1), (2, 15, 1)];
        assert_eq!(entries(&calls, (0, 20)), all);
        // The last rank decides where a collective belongs.
        assert_eq!(entries(&calls, (6, 20)), [(0, 10, 0), (1, 11, 0), (2, 15, 0)]);
        assert_eq!(entries(&calls, (0, 15)).len(), 3);
    }

    /// Rank 0 lacks its last call and rank 1 its first one.
    #[test]
    fn equally_many_calls_need_not_belong_together() {
        let calls = [
            call(0, 0, 9),
            call(0, 10, 19),
            call(1, 11, 18),
            call(1, 20, 25),
            call(2, 10, 18),
            call(2, 20, 25),
        ];
        assert_eq!(entries(&calls, (0, 30)), [(0, 10, 0), (1, 11, 0), (2, 10, 0)]);
    }

    #[test]
    fn where_calls_were_cut_off_those_that_overlap_belong_together() {
        // Only rank 0 has its call of the first collective.
        let calls = [call(0, 0, 9), call(0, 10, 19), call(1, 11, 18), call(2, 15, 19)];
        assert_eq!(entries(&calls, (0, 20)), [(0, 10, 0), (1, 11, 0), (2, 15, 0)]);
    }
}
