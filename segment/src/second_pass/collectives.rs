//! Collective operations around a change, which does not lie inside one.
//!
//! Nobody would draw a boundary through an allreduce. But the first messages of one can look like
//! the phase before it, and the change that messages tell is then in the midst of it. The calls of
//! the ranks tell which messages belong together: if most ranks are in a call of one operation when
//! the change is, it goes to where the messages of these calls begin or end.

use std::collections::{BTreeMap, BTreeSet};

use phaseflow_collect::trace::{Call, Operation};

use crate::plan::Plan;

/// Calls that wait at most; of more, those at the later changes are not known.
const MOST: usize = 1 << 20;

/// A rank's call of a collective operation; times are nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) rank: u32,
    pub(crate) operation: Operation,
    pub(crate) communicator: Option<u32>,
    pub(crate) enter_ns: u64,
    pub(crate) leave_ns: u64,
}

/// Calls that begin or end where a change is looked for. Those that do neither last longer, and are
/// phases or parts of one.
#[derive(Debug, Default)]
pub(crate) struct Collectives {
    /// Earliest and latest time of each change that is looked for, and its stretch; in order.
    changes: Vec<(u64, u64, usize)>,
    calls: BTreeMap<usize, Vec<Inside>>,
    waiting: usize,
}

impl Collectives {
    /// None so far, around the changes of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let changes =
            plan.stretches.iter().enumerate().map(|(at, next)| (next.earliest_ns, next.latest_ns, at));
        Self { changes: changes.filter(|change| change.0 < change.1).collect(), ..Self::default() }
    }

    /// Notes a call; `since_start` makes its times nanoseconds since the start of the run.
    pub(crate) fn add(&mut self, call: &Call, since_start: impl Fn(i64) -> u64) {
        // A barrier is between two phases, and of neither.
        let collective = (Operation::Bcast..=Operation::NeighborAlltoallw).contains(&call.operation);
        let Some(leave_ns) = call.leave_ns.filter(|_| collective && !self.changes.is_empty()) else { return };
        let (enter_ns, leave_ns) = (since_start(call.enter_ns), since_start(leave_ns));
        let Call { rank, operation, communicator, .. } = *call;
        let own = Inside { rank: rank.0, operation, communicator, enter_ns, leave_ns };
        let around = |time_ns: u64| {
            let at = self.changes.partition_point(|change| change.1 < time_ns);
            self.changes.get(at).filter(|change| change.0 <= time_ns).map(|change| change.2)
        };
        let (first, last) = (around(enter_ns), around(leave_ns));
        for stretch in first.into_iter().chain(last.filter(|_| last != first)) {
            if self.waiting < MOST {
                self.calls.entry(stretch).or_default().push(own);
                self.waiting += 1;
            }
        }
    }

    /// The calls around the change with which a stretch begins, and before it, are no longer needed
    /// after this.
    pub(crate) fn take(&mut self, stretch: usize) -> Vec<Inside> {
        let later = self.calls.split_off(&(stretch + 1));
        let mut past = std::mem::replace(&mut self.calls, later);
        self.waiting -= past.values().map(Vec::len).sum::<usize>();
        past.remove(&stretch).unwrap_or_default()
    }
}

/// The calls of one operation that more than half of the ranks are in the midst of at this time, of
/// those that call it around.
pub(crate) fn in_the_midst(calls: &[Inside], now_ns: u64) -> Vec<Inside> {
    let key = |call: &Inside| (call.operation as u8, call.communicator);
    let is_open = |call: &&Inside| call.enter_ns < now_ns && now_ns < call.leave_ns;
    let mut open: BTreeMap<_, Vec<Inside>> = BTreeMap::new();
    calls.iter().filter(is_open).for_each(|call| open.entry(key(call)).or_default().push(*call));
    let most = |(key_of, open): &(_, Vec<Inside>)| {
        let ranks: BTreeSet<u32> =
            calls.iter().filter(|call| key(call) == *key_of).map(|call| call.rank).collect();
        2 * open.len() > ranks.len()
    };
    let open = open.into_iter().filter(most);
    open.max_by_key(|(_, open)| open.len()).map(|(_, open)| open).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Stretch;
    use phaseflow_collect::trace::Rank;

    fn call(rank: u32, enter_ns: i64, leave_ns: i64) -> Call {
        Call {
            enter_ns,
            leave_ns: Some(leave_ns),
            rank: Rank(rank),
            operation: Operation::Allreduce,
            ..Call::default()
        }
    }

    #[test]
    fn calls_that_begin_or_end_around_a_change_are_kept_until_it_is_settled() {
        let around = |label, (earliest_ns, start_ns, latest_ns)| Stretch {
            label: Some(label),
            start_ns,
            earliest_ns,
            latest_ns,
        };
        let stretches =
            vec![Stretch::exact(Some(0), 0), around(1, (80, 100, 120)), around(0, (280, 300, 320))];
        let mut collectives = Collectives::new(&Plan::new(stretches));
        // Before, at the first, across it, from it to the second, and across both.
        let spans = [(10, 70), (70, 90), (90, 110), (70, 130), (110, 290), (0, 400)];
        for (rank, (enter, leave)) in (0..).zip(spans) {
            collectives.add(&call(rank, enter, leave), i64::cast_unsigned);
        }
        for operation in [Operation::Barrier, Operation::Send] {
            collectives.add(&Call { operation, ..call(9, 90, 95) }, i64::cast_unsigned);
        }
        let ranks = |calls: Vec<Inside>| calls.iter().map(|call| call.rank).collect::<Vec<_>>();
        assert_eq!(ranks(collectives.take(1)), [1, 2, 4]);
        assert_eq!(ranks(collectives.take(2)), [4]);
        assert!(collectives.take(2).is_empty());
    }

    #[test]
    fn most_ranks_are_in_the_midst_of_a_call() {
        let own = |rank, enter_ns, leave_ns| Inside {
            rank,
            operation: Operation::Allreduce,
            communicator: None,
            enter_ns,
            leave_ns,
        };
        // Rank 2 is in the next call already, rank 3 between two.
        let calls =
            [own(0, 10, 30), own(1, 12, 30), own(2, 5, 15), own(2, 18, 40), own(3, 3, 11), own(3, 25, 40)];
        assert_eq!(in_the_midst(&calls, 20), [calls[0], calls[1], calls[3]]);
        assert_eq!(in_the_midst(&calls, 16), []);
        assert_eq!(in_the_midst(&calls, 10), []);
        // Another communicator is another call.
        let other = calls.map(|call| Inside { communicator: (call.rank == 2).then_some(7), ..call });
        assert_eq!(in_the_midst(&other, 20), [other[0], other[1]]);
    }
}
