//! Where exactly a change is: the messages around it, and how well each tells the new phase from
//! the old one.
//!
//! The log-likelihood ratio of the messages under the new against the old phase is summed up; the
//! sum is least where the old phase ends (a CUSUM, Page 1954, whose minimum is the most likely
//! change). What single messages tell is in [`likelihood`](crate::second_pass::likelihood).
//! Messages that both phases send tell little, and a few of them at a change can move the minimum
//! by a part of a round: if those between the minimum and a pause, after which a round begins, tell
//! little, the change is there.
//!
//! A change that is in the midst of a [collective operation](crate::second_pass::collectives) goes
//! to one of its ends.
//!
//! Where both phases send the same, their rhythm tells them apart
//! ([`returns`](crate::second_pass::recurrence)).

use std::collections::BTreeMap;

use phaseflow_collect::Result;
use phaseflow_collect::trace::Operation;

use crate::first_pass::window::sketch::scatter;
use crate::second_pass::collectives::{Inside, in_the_midst};
use crate::second_pass::likelihood::{Likelihood, Rows};
use crate::second_pass::pauses::pause_is_new;
use crate::second_pass::recurrence::misfits;
use crate::second_pass::rounding::rounded;
use crate::second_pass::side::Side;

/// Messages that wait, at most. If the change is not among them, it is at the minimum found so far.
const MOST: usize = 1 << 19;

/// Nats. Messages that tell less in the mean could be of both phases: one is less than 2.7 times as
/// likely.
const LITTLE: f64 = 1.0;

/// Least ratio of a pause to the silences within a round.
const CLEAR: f64 = 4.0;

/// Repetitions of [`Search::count_again`], at most. From two to four, 170 labelled runs are the
/// same.
const AGAIN: usize = 4;

/// Nats. Phases send the same if messages tell no more than this in the mean, either way.
const NOTHING: f64 = 0.25;

/// Nats that an interval tells then, if it misfits by a factor of e.
const RHYTHM: f64 = 10.0;

/// Before the first phase, a message that is not of it counts so much against one that is, as there
/// may be more of them. So do stray messages, which go on in the phase after them.
const STRAY: f64 = 0.25;

/// Messages of one time; they stay together.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Messages before it.
    first: usize,
    start_ns: u64,
    /// Sum of the ratios of all messages before it.
    sum: f64,
    /// The largest of its messages.
    bytes: u64,
}

/// What there is before the new phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// A phase, and the rhythm seems to change at this time.
    Phase { until_ns: u64 },
    /// Stray messages that are known as well as a phase, but have no rhythm.
    Strays,
    /// What is sent while the program starts.
    Start,
}

/// A search in progress.
pub(crate) struct Search {
    likelihood: Likelihood,
    /// One of the phases consists of barriers.
    barriers: bool,
    before: Before,
    /// When the last rank entered a barrier that all pass.
    meetings_ns: Vec<u64>,
    sum: f64,
    /// How much messages tell, whichever way.
    told: f64,
    last_ns: u64,
    groups: Vec<Group>,
    /// What each message is, and its time.
    kinds: Vec<u64>,
    operations: Vec<u8>,
    /// The numbers of their tokens, where they are known.
    tokens: Vec<Option<u32>>,
    times_ns: Vec<u64>,
    src: Vec<u32>,
    dst: Vec<u32>,
    bytes: Vec<u64>,
}

impl Search {
    /// `likelihood` is that of the old and the new phase; messages of barriers count only if there
    /// are phases of `barriers`. The new phase is expected to begin after what is `before`; after
    /// the start of the program it begins with the first message of a series of its own.
    pub(crate) fn new(likelihood: Likelihood, barriers: bool, before: Before) -> Self {
        Self {
            likelihood,
            barriers,
            before,
            meetings_ns: Vec::new(),
            sum: 0.0,
            told: 0.0,
            last_ns: 0,
            groups: Vec::new(),
            kinds: Vec::new(),
            operations: Vec::new(),
            tokens: Vec::new(),
            times_ns: Vec::new(),
            src: Vec::new(),
            dst: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// The change is expected where all ranks meet at a barrier: the last one enters at one of
    /// these times.
    pub(crate) fn with_meetings(self, meetings_ns: Vec<u64>) -> Self {
        Self { meetings_ns, ..self }
    }

    /// Adds a message posted at `now_ns`; `operation` is its archive code, `token` the number of
    /// its token. False if no more will be waited for.
    pub(crate) fn push(
        &mut self,
        now_ns: u64,
        (src, dst, bytes, operation): (u32, u32, u64, i64),
        token: Option<u32>,
    ) -> bool {
        if self.groups.is_empty() || now_ns > self.last_ns {
            self.groups.push(Group { first: self.src.len(), start_ns: now_ns, sum: self.sum, bytes: 0 });
            self.last_ns = now_ns;
        }
        if let Some(group) = self.groups.last_mut() {
            group.bytes = group.bytes.max(bytes);
        }
        self.count((src, dst, bytes, operation), token);
        self.tokens.push(token);
        let what = u64::from((bytes | 1).ilog2()) << 8 | operation.cast_unsigned() & 63;
        self.kinds.push(scatter((u64::from(src) << 32 | u64::from(dst)) ^ what << 48));
        self.operations.push((operation & 63) as u8);
        self.times_ns.push(now_ns);
        self.src.push(src);
        self.dst.push(dst);
        self.bytes.push(bytes);
        self.src.len() < MOST
    }

    /// Adds to the sums what a message tells.
    fn count(&mut self, (src, dst, bytes, operation): (u32, u32, u64, i64), token: Option<u32>) {
        // A barrier ends one phase and begins the next.
        let barrier = !self.barriers && operation == Operation::Barrier as i64;
        let ratio =
            if barrier { 0.0 } else { rounded(self.likelihood.of((src, dst, bytes, operation), token)) };
        self.sum += match self.before {
            Before::Phase { .. } => ratio,
            Before::Strays if ratio < 0.0 => STRAY * ratio,
            Before::Strays => ratio,
            // Some ranks leave a barrier much later than others.
            Before::Start if barrier => 0.0,
            Before::Start if ratio > 0.0 => 1.0,
            Before::Start => -STRAY,
        };
        self.told += ratio.abs();
    }

    /// Sums again with what the messages on both sides of the least sum tell of the phases. Returns
    /// whether the least sum moves.
    fn count_again(&mut self) -> bool {
        let Some(before) = self.least() else { return false };
        let least = self.groups[before].first;
        let sides = [0..least, least..self.src.len()].map(|side| Rows {
            src: &self.src[side.clone()],
            dst: &self.dst[side.clone()],
            bytes: &self.bytes[side.clone()],
            operations: &self.operations[side.clone()],
            tokens: &self.tokens[side],
        });
        if !self.likelihood.learn(sides) {
            return false;
        }
        (self.sum, self.told) = (0.0, 0.0);
        let mut counted = 0;
        for at in 0..self.groups.len() {
            for row in counted..self.groups[at].first {
                let message =
                    (self.src[row], self.dst[row], self.bytes[row], i64::from(self.operations[row]));
                self.count(message, self.tokens[row]);
            }
            counted = self.groups[at].first;
            self.groups[at].sum = self.sum;
        }
        self.least() != Some(before)
    }

    /// The group before which the sum is least: of several as good, as between messages that tell
    /// nothing, the last.
    fn least(&self) -> Option<usize> {
        let sums = self.groups.iter().enumerate().rev();
        sums.min_by(|a, b| a.1.sum.total_cmp(&b.1.sum)).map(|(at, _)| at)
    }

    /// Ends the search: hands the messages over, and tells when the new stretch begins. `now_ns` is
    /// when the message after these is posted; `calls` are those of collective operations around.
    pub(crate) fn settle(
        mut self,
        now_ns: u64,
        calls: &[Inside],
        old: &mut Side<'_>,
        new: &mut Side<'_>,
    ) -> Result<u64> {
        self.groups.push(Group { first: self.src.len(), start_ns: now_ns, sum: self.sum, bytes: 0 });
        if self.likelihood.is_doubtful() {
            for _ in 0..AGAIN {
                if !self.count_again() {
                    break;
                }
            }
        }
        let mut expected = None;
        if let Before::Phase { until_ns } = self.before
            && self.told < NOTHING * self.src.len() as f64
        {
            self.follow_rhythm(until_ns);
            expected = self.groups.binary_search_by_key(&until_ns, |group| group.start_ns).ok();
        }
        let Some(least) = self.least() else { return Ok(now_ns) };
        // Where the rhythm is not known either, nothing is better than what is expected.
        let tells = |expected: &usize| self.groups[*expected].sum - self.groups[least].sum >= RHYTHM;
        let least = expected.filter(|expected| !tells(expected)).unwrap_or(least);
        let change = match self.before {
            Before::Phase { until_ns } => self.round_start(least, until_ns),
            Before::Strays | Before::Start => least,
        };
        let change = match self.meeting(least) {
            Some(meeting) => meeting,
            None => self.outside(change, calls),
        };
        let change = self.groups[change];
        let at = change.first;
        // The pause before the next message may be the only one of a short phase.
        self.times_ns.push(now_ns);
        let is_new = pause_is_new(&self.times_ns, at, old.total, new.total);
        let start_ns = match self.before {
            Before::Phase { .. } if is_new => self.times_ns[at - 1] + 1,
            _ => change.start_ns,
        };
        old.add(
            (&self.src[..at], &self.dst[..at], &self.bytes[..at]),
            self.operations[..at].iter().copied(),
        )?;
        new.add(
            (&self.src[at..], &self.dst[at..], &self.bytes[at..]),
            self.operations[at..].iter().copied(),
        )?;
        Ok(start_ns)
    }
}

impl Search {
    /// Sums up what the messages' intervals tell of a change at about `expected_ns`, instead of
    /// what they are: both phases send the same, and what thousands of messages seem to tell of
    /// that is chance.
    fn follow_rhythm(&mut self, expected_ns: u64) {
        let misfits = misfits(&self.kinds, &self.times_ns, expected_ns);
        let (mut sum, mut added) = (0.0, 0);
        for group in &mut self.groups {
            sum += misfits[added..group.first].iter().map(|misfit| rounded(*misfit)).sum::<f64>();
            added = group.first;
            group.sum = RHYTHM * sum;
        }
    }

    /// Whether the messages between the change of the least sum and this one tell little.
    fn tells_little(&self, least: usize, at: usize) -> bool {
        let groups = &self.groups;
        let between = groups[at].first.abs_diff(groups[least].first) as f64;
        // The shares of what both phases send say nothing about single rounds.
        let common = self.likelihood.common() * (groups[at].first as f64 - groups[least].first as f64);
        groups[at].sum - groups[least].sum - common < LITTLE * between
    }

    /// Where all ranks meet, if that is as good a change as the one of the least sum: phases are
    /// often divided by barriers.
    fn meeting(&self, least: usize) -> Option<usize> {
        let groups = &self.groups;
        // The messages of the barrier itself are of neither.
        let is_barrier = |at: &usize| {
            let end = groups.get(at + 1).map_or(groups[*at].first, |next| next.first);
            let mut own = self.operations[groups[*at].first..end].iter();
            end > groups[*at].first && own.all(|operation| *operation == Operation::Barrier as u8)
        };
        let begin = |time_ns: &u64| {
            let first = groups.partition_point(|group| group.start_ns < *time_ns).min(groups.len() - 1);
            (first..groups.len()).find(|at| !is_barrier(at)).unwrap_or(first)
        };
        let all =
            self.meetings_ns.iter().map(begin).filter(|at| *at == least || self.tells_little(least, *at));
        all.min_by(|a, b| groups[*a].sum.total_cmp(&groups[*b].sum))
    }

    /// The begin of a round that is as good a change as the one of the least sum: a round begins
    /// after a pause. Of the one that the rhythm expects and the nearest to the least that of the
    /// lesser sum.
    fn round_start(&self, least: usize, expected_ns: u64) -> usize {
        let groups = &self.groups;
        // The silence before a group without what its messages may take; what was before the first
        // one is not known.
        let since_ns = |at: usize| (groups[at].start_ns - groups[at - 1].start_ns) as f64;
        let per_byte = (1..groups.len() - 1).map(|at| since_ns(at) / groups[at - 1].bytes.max(1) as f64);
        let per_byte = per_byte.fold(f64::INFINITY, f64::min);
        let silence = |at: usize| {
            if at > 0 { since_ns(at) - per_byte * groups[at - 1].bytes as f64 } else { 0.0 }
        };
        let longest = (0..groups.len() - 1).map(silence).fold(0.0, f64::max);
        let begins = |at: usize| 2.0 * silence(at) >= longest;
        if least == 0 || least + 1 == groups.len() || begins(least) {
            return least;
        }
        let before = (1..least).rev().find(|at| begins(*at));
        let after = (least + 1..groups.len() - 1).find(|at| begins(*at));
        let expected = groups.binary_search_by_key(&expected_ns, |group| group.start_ns).ok();
        let all = [expected.filter(|at| begins(*at)), before, after].into_iter().flatten();
        // Late ranks leave no pause that stands out.
        let stands_out = |at: usize| {
            let between = at.min(least) + 1..at.max(least);
            between.map(silence).all(|other| CLEAR * other <= silence(at))
        };
        let all = all.filter(|at| self.tells_little(least, *at) && stands_out(*at));
        let best = all.min_by(|a, b| groups[*a].sum.total_cmp(&groups[*b].sum));
        best.unwrap_or(least)
    }

    /// The change itself, or, if that is in the midst of a collective operation, where the messages
    /// of this begin or end, if those between tell little: of the two the one of the lesser sum.
    /// One of which neither is in sight is longer than rounds, and changes within.
    fn outside(&self, change: usize, calls: &[Inside]) -> usize {
        let (groups, at) = (&self.groups, &self.groups[change]);
        let inside = in_the_midst(calls, at.start_ns);
        let inside: BTreeMap<u32, Inside> = inside.into_iter().map(|call| (call.rank, call)).collect();
        if inside.is_empty() {
            return change;
        }
        let own = |row: &usize| {
            inside.get(&self.src[*row]).is_some_and(|call| {
                call.operation as u8 == self.operations[*row]
                    && (call.enter_ns..=call.leave_ns).contains(&self.times_ns[*row])
            })
        };
        // Messages of these calls are sent between the first entry and the last exit.
        let enter_ns = inside.values().map(|call| call.enter_ns).min().unwrap_or_default();
        let leave_ns = inside.values().map(|call| call.leave_ns).max().unwrap_or_default();
        let from = self.times_ns.partition_point(|time_ns| *time_ns < enter_ns);
        let to = self.times_ns.partition_point(|time_ns| *time_ns <= leave_ns);
        let first = (from..at.first).find(own);
        let last = (at.first..to).rfind(own);
        let (Some(first), Some(last)) = (first, last) else { return change };
        let (from_ns, to_ns) = (groups[0].start_ns, groups[groups.len() - 1].start_ns);
        let group_of = |row: usize| groups.partition_point(|group| group.first <= row) - 1;
        let begin = inside.values().all(|call| call.enter_ns >= from_ns).then(|| group_of(first));
        let end = inside.values().all(|call| call.leave_ns <= to_ns).then(|| group_of(last) + 1);
        // Where ranks are late, most may be in the one before, or in the one after it.
        let all = begin.into_iter().chain(end);
        let all = all.filter(|at| in_the_midst(calls, groups[*at].start_ns).is_empty());
        // Late ranks may still be in a call of the old phase; its other messages tell clearly.
        let all = all.filter(|at| self.tells_little(change, *at));
        all.min_by(|a, b| groups[*a].sum.total_cmp(&groups[*b].sum)).unwrap_or(change)
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::MatrixBuilder;

    use super::*;
    use crate::first_pass::window::sketch::{Ratio, Sketch, pair_hash};
    use crate::second_pass::representative::Volumes;
    use crate::second_pass::total::Total;
    use crate::title::OperationTotals;

    fn sketch(pairs: &[(u32, u32)]) -> Sketch {
        let mut sketch = Sketch::default();
        for (src, dst) in pairs {
            sketch.add_columns((&[*src], &[*dst]), &[pair_hash(*src, *dst)], &[64], &[0]);
        }
        sketch
    }

    /// Messages before the change, and when it is.
    fn change(
        old: &[(u32, u32)],
        new: &[(u32, u32)],
        messages: &[(u32, u32)],
        expected_ns: u64,
    ) -> (u64, u64) {
        change_with(old, new, messages, expected_ns, &[], |_| 0)
    }

    /// The same with calls of collective operations; messages come 1 ns apart, and `pause` later.
    fn change_with(
        old: &[(u32, u32)],
        new: &[(u32, u32)],
        messages: &[(u32, u32)],
        expected_ns: u64,
        calls: &[Inside],
        pause: impl Fn(u64) -> u64,
    ) -> (u64, u64) {
        let operation = calls.first().map_or(0, |call| call.operation as i64);
        let mut search = Search::new(
            Likelihood::new(Ratio::new(&sketch(new), &sketch(old))),
            true,
            Before::Phase { until_ns: expected_ns },
        );
        for (time, (src, dst)) in (1000..).zip(messages) {
            assert!(search.push(time + pause(time), (*src, *dst, 64, operation), None));
        }
        let (mut before, mut after) = (Total::default(), Total::default());
        let (mut one, mut other) = (MatrixBuilder::default(), MatrixBuilder::default());
        let end = 1000 + messages.len() as u64;
        let end = end + pause(end);
        let mut volumes = Volumes::new(2);
        let [left, right] = volumes.neighbours(0);
        let mut operations = [(); 2].map(|()| OperationTotals::default());
        let [first, second] = &mut operations;
        let mut old = Side { total: &mut before, matrix: &mut one, operations: first, volume: left };
        let mut new = Side { total: &mut after, matrix: &mut other, operations: second, volume: right };
        let start_ns = search.settle(end, calls, &mut old, &mut new).unwrap();
        assert_eq!(before.messages + after.messages, messages.len() as u64);
        assert_eq!(one.finish().messages(), before.messages);
        (before.messages, start_ns)
    }

    #[test]
    fn the_change_is_where_messages_change() {
        let (old, new) = ([(0, 1), (1, 2)].repeat(20), [(5, 9), (9, 4)].repeat(20));
        let messages = [&old[..7], &new[..5]].concat();
        assert_eq!(change(&old, &new, &messages, 0), (7, 1007));
        assert_eq!(change(&old, &new, &messages, 1003), (7, 1007));
        assert_eq!(change(&old, &new, &old[..6], 1003), (6, 1006));
        assert_eq!(change(&old, &new, &new[..6], 1003), (0, 1000));
    }

    #[test]
    fn a_phase_may_begin_with_a_pause() {
        let (old, new) = ([(0, 1), (1, 2)].repeat(20), [(5, 9), (9, 4)].repeat(20));
        // The new phase pauses before each round of two messages, after the last of them, too.
        let pause = |time: u64| 5 * (time.saturating_sub(1006) / 2);
        for sent in [2, 8] {
            let messages = [&old[..8], &new[..sent]].concat();
            assert_eq!(change_with(&old, &new, &messages, 1008, &[], pause), (8, 1008));
        }
    }

    #[test]
    fn a_round_with_more_in_it_begins_with_what_it_has_in_common_with_others() {
        // The new round is `a b c`, the old one `a`; a pause comes before each `a`.
        let (old, new) = ([(0, 1)].repeat(40), [(0, 1), (9, 5), (11, 7)].repeat(20));
        let messages = [&old[..3], &new[..6]].concat();
        let rounds = |time: u64| match time - 1000 {
            early @ 0..3 => 100 * early,
            late => 100 * (late / 3 + 2),
        };
        assert_eq!(change_with(&old, &new, &messages, 0, &[], rounds), (3, 1303));
        // The other way round.
        let messages = [&new[..6], &old[..3]].concat();
        let rounds = |time: u64| match time - 1000 {
            early @ 0..6 => 100 * (early / 3),
            late => 100 * (late - 4),
        };
        assert_eq!(change_with(&new, &old, &messages, 0, &[], rounds), (6, 1206));
    }

    #[test]
    fn a_call_is_not_divided_unless_its_messages_tell_clearly() {
        let call = |rank, enter_ns, leave_ns| Inside {
            rank,
            operation: Operation::Allreduce,
            communicator: None,
            enter_ns,
            leave_ns,
        };
        // The call has two pairs. The old phase also knows the first one, and has it more often.
        let old = [(0, 1), (2, 3), (2, 3)].repeat(20);
        let new = [(2, 3), (4, 5), (6, 7)].repeat(20);
        let messages = [[(0, 1); 6], [(2, 3); 6], [(4, 5); 6], [(4, 5); 6]].concat();
        assert_eq!(change(&old, &new, &messages, 0), (12, 1012));
        let calls = [call(2, 1006, 1018), call(4, 1006, 1018)];
        assert_eq!(change_with(&old, &new, &messages, 0, &calls, |_| 0), (6, 1006));
        // Only the old phase has the first pair: rank 4 is in the next call already.
        let new = [(4, 5)].repeat(60);
        assert_eq!(change_with(&old, &new, &messages, 0, &calls, |_| 0), (12, 1012));
    }

    #[test]
    fn where_both_phases_send_the_same_the_pause_tells() {
        // The old round is `a a b`, the new one `a`: the `a a` at the end could be of either, but
        // the pause comes after them.
        let old = [(0, 1), (0, 1), (7, 3)].repeat(20);
        let new = [(0, 1)].repeat(40);
        let messages = [&old[..6], &new[..6]].concat();
        let pause = |time| if time >= 1008 { 100 } else { 0 };
        assert_eq!(change_with(&old, &new, &messages, 0, &[], pause), (8, 1108));
        // But what only the old one sends is the old one's.
        let pause = |time| if time >= 1004 { 100 } else { 0 };
        assert_eq!(change_with(&old, &new, &messages, 0, &[], pause), (6, 1106));
    }

    /// Where the first phase begins among messages (source, destination, operation).
    fn first(phase: &[(u32, u32)], messages: &[(u32, u32, Operation)]) -> u64 {
        let mut search = Search::new(
            Likelihood::new(Ratio::new(&sketch(phase), &Sketch::default())),
            false,
            Before::Start,
        );
        for (time, (src, dst, operation)) in (0..).zip(messages) {
            assert!(search.push(time, (*src, *dst, 64, *operation as i64), None));
        }
        let (mut before, mut after) = (Total::default(), Total::default());
        let (mut one, mut other) = (MatrixBuilder::default(), MatrixBuilder::default());
        let mut volumes = Volumes::new(2);
        let [left, right] = volumes.neighbours(0);
        let mut operations = [(); 2].map(|()| OperationTotals::default());
        let [first, second] = &mut operations;
        let mut old = Side { total: &mut before, matrix: &mut one, operations: first, volume: left };
        let mut new = Side { total: &mut after, matrix: &mut other, operations: second, volume: right };
        search.settle(messages.len() as u64, &[], &mut old, &mut new).unwrap();
        before.messages
    }

    #[test]
    fn the_first_phase_begins_with_its_first_message_though_some_still_leave_the_barrier() {
        let phase = [(0, 1), (1, 2)].repeat(200);
        let barrier = |src| (src, src + 4, Operation::Barrier);
        let own = |src| (src, src + 1, Operation::PointToPoint);
        let late = [barrier(0), barrier(1), own(0), barrier(2), barrier(3), own(1), own(0), own(1)];
        assert_eq!(first(&phase, &late), 2);
        // A stray message that looks like the phase does not begin it.
        let stray = |src| (src, 20, Operation::PointToPoint);
        let alone =
            [stray(9), own(0), stray(7), stray(11), stray(12), stray(13), own(0), own(1), own(0), own(1)];
        assert_eq!(first(&phase, &alone), 6);
    }

    #[test]
    fn a_barrier_between_two_phases_says_nothing() {
        let (old, new) = ([(0, 1), (1, 2)].repeat(20), [(5, 9), (9, 4)].repeat(20));
        let mut search = Search::new(
            Likelihood::new(Ratio::new(&sketch(&new), &sketch(&old))),
            false,
            Before::Phase { until_ns: 0 },
        );
        let messages = [(0, 1, 0), (1, 2, 0), (0, 1, 1), (1, 2, 1), (5, 9, 1), (5, 9, 0), (9, 4, 0)];
        for (time, (src, dst, operation)) in (0..).zip(messages) {
            assert!(search.push(time, (src, dst, 64, operation), None));
        }
        let (mut before, mut after) = (Total::default(), Total::default());
        let (mut one, mut other) = (MatrixBuilder::default(), MatrixBuilder::default());
        let mut volumes = Volumes::new(2);
        let [left, right] = volumes.neighbours(0);
        let mut operations = [(); 2].map(|()| OperationTotals::default());
        let [first, second] = &mut operations;
        let mut old = Side { total: &mut before, matrix: &mut one, operations: first, volume: left };
        let mut new = Side { total: &mut after, matrix: &mut other, operations: second, volume: right };
        // The new phase begins with the first message that is its own.
        assert_eq!(search.settle(7, &[], &mut old, &mut new).unwrap(), 5);
    }
}
