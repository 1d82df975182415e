//! Intervals that ranks spend inside MPI; the rest of their time is computation.

use super::interval::Stay;

/// By rank: disjoint intervals inside MPI, ascending.
pub(super) struct Calls {
    stretches: Vec<(i64, i64)>,
    ends: Vec<usize>,
}

impl Calls {
    pub(super) fn new(stays: &[Stay], ranks: u32) -> Self {
        let mut sorted: Vec<Stay> = stays.iter().filter(|stay| stay.rank < ranks).copied().collect();
        sorted.sort_unstable_by_key(|stay| (stay.rank, stay.enter_ns, stay.leave_ns));
        let mut calls = Self { stretches: Vec::with_capacity(sorted.len()), ends: Vec::new() };
        for stay in sorted {
            let mut start = calls.stretches.len();
            while calls.ends.len() < stay.rank as usize {
                calls.ends.push(start);
            }
            start = calls.ends.last().copied().unwrap_or(0);
            match calls.stretches[start..].last_mut() {
                Some(last) if stay.enter_ns <= last.1 => last.1 = last.1.max(stay.leave_ns),
                _ => calls.stretches.push((stay.enter_ns, stay.leave_ns)),
            }
        }
        calls.ends.resize(ranks as usize, calls.stretches.len());
        calls
    }

    /// The stretches of a rank: entered, left.
    pub(super) fn of(&self, rank: u32) -> &[(i64, i64)] {
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        &self.stretches[start..self.ends[rank]]
    }

    /// When a rank that was in a call at a time left it; [`i64::MAX`] if it was in none.
    pub(super) fn leave(&self, rank: u32, time_ns: i64) -> i64 {
        let calls = self.of(rank);
        let next = calls.get(calls.partition_point(|(_, leave)| *leave <= time_ns));
        next.filter(|(enter, _)| *enter <= time_ns).map_or(i64::MAX, |(_, leave)| *leave)
    }
}

/// The time of a rank that it does not spend in calls, asked for in ascending order.
pub(super) struct Outside<'a> {
    calls: &'a [(i64, i64)],
    next: usize,
}

impl<'a> Outside<'a> {
    pub(super) fn new(calls: &'a [(i64, i64)]) -> Self {
        Self { calls, next: 0 }
    }

    /// Nanoseconds outside of calls from `from` to `to`.
    pub(super) fn until(&mut self, from: i64, to: i64) -> u64 {
        let (mut at, mut outside) = (from, 0_u64);
        while let Some((enter, leave)) = self.calls.get(self.next).copied().filter(|(enter, _)| *enter <= to)
        {
            outside = outside.saturating_add(enter.saturating_sub(at).max(0).cast_unsigned());
            at = at.max(leave);
            if leave >= to {
                break;
            }
            self.next += 1;
        }
        outside.saturating_add(to.saturating_sub(at).max(0).cast_unsigned())
    }
}

/// True in a call, its ends included.
pub(super) fn is_inside(calls: &[(i64, i64)], time_ns: i64) -> bool {
    let next = calls.get(calls.partition_point(|(_, leave)| *leave < time_ns));
    next.is_some_and(|(enter, _)| *enter <= time_ns)
}
