//! A plan: which stretch of the run belongs to which phase, before the second pass settles where
//! exactly each begins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::agglomerate::agglomerate;
use crate::first_pass::rounds::token_set::TokenSet;
use crate::first_pass::rounds::windows::Window;
use crate::first_pass::survey::Run;
use crate::first_pass::window::sketch::Sketch;

/// More labels than this are not all compared with each other.
const COMPARED: usize = 256;

/// Messages and windows, at least, that are near to a change.
const NEAR: (u64, usize) = (1 << 14, 4);

/// What the messages of some windows look like.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) sketch: Sketch,
    pub(crate) tokens: TokenSet,
}

/// A stretch of the run; it ends where the next one begins, the last one at the end of the run.
/// Times are nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its phase, a number that the method chose; `None` if idle.
    pub(crate) label: Option<u32>,
    /// Where it begins, as far as the method knows.
    pub(crate) start_ns: u64,
    /// It begins not before this; the start where the method knows exactly.
    pub(crate) earliest_ns: u64,
    /// It begins not after this; the start where the method knows exactly.
    pub(crate) latest_ns: u64,
}

impl Stretch {
    /// A stretch whose begin is known.
    pub(crate) fn exact(label: Option<u32>, start_ns: u64) -> Self {
        Self { label, start_ns, earliest_ns: start_ns, latest_ns: start_ns }
    }
}

/// Stretches in order, the first one from 0 on; neighbours have different labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// At least one, unless the run has no length.
    pub(crate) stretches: Vec<Stretch>,
    /// Silences that turn out to be shorter than this, as messages were on their way, are of the
    /// phase before them.
    pub(crate) least_idle_ns: u64,
    /// What a person would draw if these are too many; empty if they are not, or if the method has
    /// none.
    pub(crate) outline: Vec<Part>,
    /// The first stretch is the start of the program.
    pub(crate) starts_up: bool,
}

/// A stretch of an outline; it ends where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) start_ns: u64,
    pub(crate) label: u32,
    /// It begins there even where no stretch does.
    pub(crate) exact: bool,
}

impl Plan {
    /// A plan of these stretches in order; neighbours of one label become one.
    pub(crate) fn new(mut stretches: Vec<Stretch>) -> Self {
        stretches.dedup_by(|next, before| next.label == before.label);
        if let Some(first) = stretches.first_mut() {
            *first = Stretch::exact(first.label, 0);
        }
        Self { stretches, ..Self::default() }
    }

    /// Other stretches of the same run.
    fn with(&self, stretches: Vec<Stretch>) -> Self {
        let Self { least_idle_ns, ref outline, .. } = *self;
        Self { least_idle_ns, outline: outline.clone(), ..Self::new(stretches) }
    }

    /// Makes stretches begin where the outline is exact: the nearest change that may be there is
    /// there, or the stretch is divided.
    pub(crate) fn divide(&mut self) {
        for part in self.outline.iter().filter(|part| part.exact && part.start_ns > 0) {
            let now_ns = part.start_ns;
            let may = |stretch: &Stretch| stretch.earliest_ns <= now_ns && now_ns <= stretch.latest_ns;
            let near = (1..self.stretches.len()).filter(|at| may(&self.stretches[*at]));
            let nearest = near.min_by_key(|at| self.stretches[*at].start_ns.abs_diff(now_ns));
            let at = nearest.unwrap_or_else(|| {
                let at = self.stretches.partition_point(|stretch| stretch.start_ns <= now_ns);
                let label = at.checked_sub(1).and_then(|before| self.stretches[before].label);
                self.stretches.insert(at, Stretch::exact(label, now_ns));
                at
            });
            self.stretches[at] = Stretch::exact(self.stretches[at].label, now_ns);
            for before in &mut self.stretches[..at] {
                before.start_ns = before.start_ns.min(now_ns);
                before.earliest_ns = before.earliest_ns.min(now_ns);
                before.latest_ns = before.latest_ns.min(now_ns);
            }
            for after in &mut self.stretches[at..] {
                after.start_ns = after.start_ns.max(now_ns);
                after.earliest_ns = after.earliest_ns.max(now_ns);
                after.latest_ns = after.latest_ns.max(now_ns);
            }
        }
    }

    /// Lets each change lie `slack_ns` of its begin and two labels earlier or later, at most to the
    /// middle of the stretches at its sides, so that changes keep their order; a change that may
    /// already lie farther away may still. Where idleness begins or ends stays as it is, and so
    /// does a change without slack.
    pub(crate) fn loosen(mut self, duration_ns: u64, slack_ns: impl Fn(u64, u32, u32) -> u64) -> Self {
        let starts: Vec<u64> = self.stretches.iter().map(|stretch| stretch.start_ns).collect();
        for i in 1..starts.len() {
            let (before, after) = (self.stretches[i - 1].label, self.stretches[i].label);
            let end = starts.get(i + 1).copied().unwrap_or(duration_ns);
            let (Some(before), Some(after)) = (before, after) else {
                if i > 1 {
                    self.stretches[i] = Stretch::exact(after, starts[i]);
                } else {
                    // What comes first after starting up is looked for, but not beyond the next
                    // change.
                    let first = &mut self.stretches[i];
                    first.latest_ns = first.latest_ns.min(end.max(first.earliest_ns));
                }
                continue;
            };
            let slack = slack_ns(starts[i], before, after);
            let stretch = &mut self.stretches[i];
            if slack == 0 {
                (stretch.earliest_ns, stretch.latest_ns) = (starts[i], starts[i]);
                continue;
            }
            let (back, on) = (starts[i] - stretch.earliest_ns, stretch.latest_ns - starts[i]);
            stretch.earliest_ns = starts[i] - slack.max(back).min((starts[i] - starts[i - 1]) / 2);
            stretch.latest_ns = starts[i] + slack.max(on).min(end.saturating_sub(starts[i]) / 2);
        }
        self
    }

    /// Number of labels, one more than the highest.
    pub(crate) fn labels(&self) -> usize {
        self.stretches.iter().filter_map(|s| s.label).max().map_or(0, |label| label as usize + 1)
    }

    /// What the messages of each label look like, by the windows that begin in its stretches;
    /// labels without a window are missing. Windows where a change may lie count only for labels
    /// that have no others.
    pub(crate) fn behaviours(&self, run: &Run) -> BTreeMap<u32, Sketch> {
        let mut sure = BTreeMap::<u32, Sketch>::new();
        let mut doubtful = BTreeMap::<u32, Sketch>::new();
        let mut at = 0;
        for (time, sketch) in run.sketches() {
            while self.stretches.get(at + 1).is_some_and(|next| next.start_ns <= time) {
                at += 1;
            }
            let Some(stretch) = self.stretches.get(at) else { continue };
            let Some(label) = stretch.label else { continue };
            let next = self.stretches.get(at + 1);
            let doubt = time < stretch.latest_ns || next.is_some_and(|next| time >= next.earliest_ns);
            let sketches = if doubt { &mut doubtful } else { &mut sure };
            sketches.entry(label).or_default().merge(sketch);
        }
        doubtful.append(&mut sure);
        doubtful
    }

    /// What the messages on one side of the change at the begin of stretch `next` look like, by the
    /// windows nearest to it: behaviour may drift, and a phase not be here what it is elsewhere. Of
    /// windows that begin where the change is expected, `skipped` may hold something of both sides.
    /// A stretch of few windows has others only at its other end, which are doubtful: they may hold
    /// something of the stretch beyond. The answer says whether they are. It is `None` if there are
    /// none, or if windows do not follow rounds.
    pub(crate) fn behaviour_near(
        &self,
        run: &Run,
        next: usize,
        after: bool,
        skipped: usize,
    ) -> Option<(Behaviour, bool)> {
        let at = if after { next } else { next.checked_sub(1)? };
        let (own, following) = (self.stretches.get(at)?, self.stretches.get(at + 1));
        let windows = &run.rounds.windows;
        let since = |window: &Window| run.since_start(window.first_ns);
        let before = |time_ns: u64| windows.partition_point(|window| since(window) < time_ns);
        // What is sure to be on that side is so without skipping.
        let first = match own.label {
            Some(_) if at > 0 => (before(own.start_ns) + skipped).min(before(own.latest_ns)),
            _ => before(own.latest_ns),
        };
        let end = following.map_or(windows.len(), |following| {
            if own.label.is_none() && at > 0 {
                // The windows of stray messages are their own. Those of the program's start reach
                // into its first phase.
                return before(following.start_ns);
            }
            // A window ends where the next one begins.
            let sure =
                windows.partition_point(|window| since(window) <= following.earliest_ns).saturating_sub(1);
            match following.label {
                Some(_) => before(following.start_ns).saturating_sub(skipped).max(sure),
                None => sure,
            }
        });
        let mut near = first..end;
        let doubtful = near.is_empty();
        if doubtful && own.label.is_some() {
            match following {
                Some(following) if after && following.label.is_some() => {
                    near.end = before(following.start_ns);
                }
                _ if !after && at > 0 => near.start = before(own.start_ns),
                _ => {}
            }
        }
        let windows = windows.get(near)?;
        let mut near = Behaviour::default();
        let (mut messages, mut count) = (0, 0);
        for i in 0..windows.len() {
            if messages >= NEAR.0 && count >= NEAR.1 {
                break;
            }
            let window = &windows[if after { i } else { windows.len() - 1 - i }];
            near.sketch.merge(&window.sketch);
            near.tokens.merge(&window.tokens);
            (messages, count) = (messages + window.messages, count + 1);
        }
        (count > 0).then_some((near, doubtful))
    }

    /// Merges the labels whose behaviours are nearest to each other until at most `most` are left.
    /// Labels too short for a window of their own join what is before them; of more than
    /// [`COMPARED`], those with the fewest messages join the nearest of the others first.
    pub(crate) fn merge_labels(self, most: usize, run: &Run) -> Self {
        let distinct: BTreeSet<u32> = self.stretches.iter().filter_map(|stretch| stretch.label).collect();
        if distinct.len() <= most {
            return self;
        }
        let mut behaviours: Vec<(u32, Sketch)> = self.behaviours(run).into_iter().collect();
        behaviours.sort_by_key(|(label, sketch)| (Reverse(sketch.messages()), *label));
        let few = behaviours.split_off(behaviours.len().min(most.max(COMPARED)));
        let mut becomes: BTreeMap<u32, usize> =
            behaviours.iter().enumerate().map(|(i, (label, _))| (*label, i)).collect();
        let (_, mut sketches): (Vec<u32>, Vec<Sketch>) = behaviours.into_iter().unzip();
        for (label, sketch) in few {
            let distances = sketches.iter().map(|other| sketch.distance(other)).enumerate();
            let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |nearest| nearest.0);
            sketches[nearest].merge(&sketch);
            becomes.insert(label, nearest);
        }
        let merged =
            agglomerate(sketches, Sketch::distance, |kept, gone| kept.merge(&gone), |_, left| left > most);
        // The first label with a behaviour is that of what comes before it, too.
        let first = self.stretches.iter().find_map(|stretch| becomes.get(&stretch.label?));
        let mut last = first.map_or(0, |first| merged[*first]);
        let relabelled = self.stretches.iter().map(|stretch| {
            let label = stretch.label.map(|label| {
                last = becomes.get(&label).map_or(last, |own| merged[*own]);
                last as u32
            });
            Stretch { label, ..*stretch }
        });
        self.with(relabelled.collect())
    }

    /// Joins stretches that are shorter than `least_ns`, the shortest first, until none is: each to
    /// that of its neighbours whose messages are most like its own, or to the longer one where
    /// neither is known to be nearer. A phase beside idleness takes that in, the shorter one of
    /// two, so that no message is lost to idleness. The second pass moves no boundary so far that a
    /// stretch becomes shorter than that.
    pub(crate) fn at_least(mut self, duration_ns: u64, least_ns: u64, run: &Run) -> Self {
        let behaviours = self.behaviours(run);
        let distance = |one: Option<u32>, other: Option<u32>| {
            let (one, other) = (behaviours.get(&one?)?, behaviours.get(&other?)?);
            Some(one.distance(other))
        };
        let ends = self.stretches.iter().skip(1).map(|next| next.start_ns).chain([duration_ns]);
        // Stretches that are left: those before and after, length, label; by number.
        let mut length: Vec<u64> =
            self.stretches.iter().zip(ends).map(|(own, end)| end.saturating_sub(own.start_ns)).collect();
        let mut label: Vec<Option<u32>> = self.stretches.iter().map(|own| own.label).collect();
        let mut left: BTreeSet<usize> = (0..length.len()).collect();
        let mut short: BTreeSet<(u64, usize)> =
            length.iter().copied().zip(0..).filter(|(length, _)| *length < least_ns).collect();
        while let Some((_, own)) = short.pop_first() {
            let neighbours = [left.range(..own).next_back(), left.range(own + 1..).next()];
            let rank = |other: &usize| {
                let is_idle = label[own].is_some() && label[*other].is_none();
                let is_same = label[own] == label[*other];
                let far = if is_same { Some(0.0) } else { distance(label[own], label[*other]) }
                    .unwrap_or(f64::INFINITY);
                let longer = if is_idle { length[*other] } else { u64::MAX - length[*other] };
                (is_idle, far, longer)
            };
            let nearest = neighbours.into_iter().flatten().copied().min_by(|one, other| {
                let (one, other) = (rank(one), rank(other));
                one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(one.2.cmp(&other.2))
            });
            let Some(other) = nearest else { break };
            let (kept, gone) = (own.min(other), own.max(other));
            short.remove(&(length[other], other));
            label[kept] = label[other].or(label[own]);
            length[kept] += length[gone];
            left.remove(&gone);
            if length[kept] < least_ns {
                short.insert((length[kept], kept));
            }
        }
        self.outline.iter_mut().for_each(|part| part.exact = false);
        let joined = left.into_iter().map(|own| Stretch { label: label[own], ..self.stretches[own] });
        let mut plan = self.with(joined.collect());
        let starts: Vec<u64> = plan.stretches.iter().map(|own| own.start_ns).chain([duration_ns]).collect();
        for (number, own) in plan.stretches.iter_mut().enumerate().skip(1) {
            let spare = |from: usize| (starts[from + 1] - starts[from]).saturating_sub(least_ns) / 2;
            own.earliest_ns = own.earliest_ns.max(own.start_ns - spare(number - 1));
            own.latest_ns = own.latest_ns.min(own.start_ns + spare(number));
        }
        plan
    }

    /// Joins stretches that are shorter than `least_ns` of their label to the longer one of their
    /// neighbours, the shortest first; what two short ones become stays.
    pub(crate) fn join_short(self, duration_ns: u64, least_ns: impl Fn(Option<u32>) -> u64) -> Self {
        let stretches = &self.stretches;
        let count = stretches.len();
        let mut starts: Vec<u64> = stretches.iter().map(|stretch| stretch.start_ns).collect();
        starts.push(duration_ns);
        let mut length: Vec<u64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        // A list of the stretches that are left; a stretch that is gone names the one that took it
        // in.
        let mut before: Vec<Option<usize>> = (0..count).map(|i| i.checked_sub(1)).collect();
        let mut after: Vec<Option<usize>> = (0..count).map(|i| Some(i + 1).filter(|i| *i < count)).collect();
        let mut label: Vec<Option<u32>> = stretches.iter().map(|stretch| stretch.label).collect();
        let mut gone = vec![false; count];
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|i| length[*i]);
        for i in order {
            if gone[i] || length[i] >= least_ns(label[i]) {
                continue;
            }
            let longest = [before[i], after[i]].into_iter().flatten().max_by_key(|j| length[*j]);
            let Some(host) = longest else { break };
            // The later one of the two leaves the list; what stays has the host's label.
            let (left, right) = (i.min(host), i.max(host));
            label[left] = label[host];
            length[left] += length[right];
            gone[right] = true;
            after[left] = after[right];
            if let Some(next) = after[right] {
                before[next] = Some(left);
            }
        }
        let left = (0..count).filter(|i| !gone[*i]);
        self.with(left.map(|i| Stretch { label: label[i], ..stretches[i] }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(stretches: &[(u32, u64)]) -> Plan {
        Plan::new(stretches.iter().map(|(label, start)| Stretch::exact(Some(*label), *start)).collect())
    }

    #[test]
    fn short_stretches_join_the_longer_neighbour() {
        let before = plan(&[(0, 0), (1, 50), (2, 53), (0, 60), (3, 98)]);
        assert_eq!(before.clone().join_short(100, |_| 5), plan(&[(0, 0), (2, 53), (0, 60)]));
        assert_eq!(before.clone().join_short(100, |_| 10), plan(&[(0, 0)]));
        assert_eq!(before.clone().join_short(100, |_| 0), before);
        assert_eq!(plan(&[(0, 0)]).join_short(100, |_| 1000), plan(&[(0, 0)]));
    }

    #[test]
    fn the_first_change_is_not_looked_for_beyond_the_next() {
        // The run starts idle; a message comes early, then it is idle again.
        let first = Stretch { label: Some(0), start_ns: 50, earliest_ns: 40, latest_ns: 90 };
        let stretches =
            vec![Stretch::exact(None, 0), first, Stretch::exact(None, 60), Stretch::exact(Some(0), 80)];
        let loosened = Plan::new(stretches).loosen(200, |_, _, _| 10);
        let of = |at: usize| (loosened.stretches[at].earliest_ns, loosened.stretches[at].latest_ns);
        assert_eq!((of(1), of(2), of(3)), ((40, 60), (60, 60), (80, 80)));
    }

    #[test]
    fn an_exact_outline_moves_the_change_that_may_be_there_or_divides() {
        let mut divided = plan(&[(0, 0), (1, 50), (2, 80)]);
        (divided.stretches[1].earliest_ns, divided.stretches[1].latest_ns) = (40, 60);
        let part = |start_ns, exact| Part { start_ns, label: 0, exact };
        divided.outline = vec![part(0, false), part(42, true), part(55, false), part(70, true)];
        divided.divide();
        let found: Vec<_> =
            divided.stretches.iter().map(|own| (own.label, own.start_ns, own.latest_ns)).collect();
        assert_eq!(found, [(Some(0), 0, 0), (Some(1), 42, 42), (Some(1), 70, 70), (Some(2), 80, 80)]);
    }

    #[test]
    fn many_short_stretches_take_no_quadratic_time() {
        let alternating: Vec<(u32, u64)> = (0..200_000).map(|i| (i % 2, u64::from(i) * 10)).collect();
        assert_eq!(plan(&alternating).join_short(2_000_000, |_| u64::MAX).stretches.len(), 1);
    }
}
