//! Second pass: sums up what each stretch of a plan sent, and settles where exactly it begins.
//!
//! A plan made from windows knows a change to a few windows. The messages around a change wait
//! until it is known which of them belong to which side ([`search`](crate::second_pass::search)).
//! So one pass is enough, and memory is that of the pairs that spoke.

use std::collections::BTreeMap;
use std::ops::Range;

use phaseflow_collect::archive::columns::UNKNOWN;
use phaseflow_collect::trace::{Block, Details, MessageBlock, Operation, TraceReader};
use phaseflow_collect::{MatrixBuilder, Result, TrafficMatrix, sum_of_bytes};

use crate::first_pass::survey::Run;
use crate::first_pass::ticks::Ticks;
use crate::first_pass::window::sketch::{Ratio, Sketch};
use crate::input::Rewindable;
use crate::plan::{Behaviour, Plan};
use crate::second_pass::collectives::Collectives;
use crate::second_pass::likelihood::Likelihood;
use crate::second_pass::repeats::{Repeat, Repeats};
use crate::second_pass::representative::Volumes;
use crate::second_pass::search::{Before, Search};
use crate::second_pass::side::Side;
use crate::second_pass::total::Total;
use crate::title::OperationTotals;

/// Two phases send the same messages if they are no farther apart than this ([`Sketch::distance`]),
/// as whole rounds of the same are.
const ALIKE: f64 = 0.01;

/// What all stretches hold.
#[derive(Debug)]
pub(crate) struct Tally {
    /// One a stretch, in order.
    pub(crate) totals: Vec<Total>,
    /// One a label.
    pub(crate) matrices: Vec<TrafficMatrix>,
    /// Messages by operation, one a label.
    pub(crate) operations: Vec<OperationTotals>,
    /// Who sent how much to whom in each stretch, roughly.
    pub(crate) volumes: Volumes,
    /// When messages were posted.
    pub(crate) ticks: Ticks,
    /// Where the same happened again and again.
    pub(crate) repeats: Vec<Repeat>,
}

/// Reads `trace` and sums up the stretches of `plan`.
pub(crate) fn tally(trace: &mut dyn Rewindable, run: &Run, plan: &Plan) -> Result<Tally> {
    // Where nobody is idle, it does not matter when messages arrive.
    let arrivals = plan.stretches.iter().any(|stretch| stretch.label.is_none());
    let details = Details { arrivals, ..Details::default() };
    let mut reader = TraceReader::open(trace.rewind()?)?.with_details(details);
    let mut sums = Sums::new(run, plan);
    let (mut ticks, mut repeats) = (Ticks::default(), Repeats::default());
    loop {
        // Where the same seems to happen again, it has to be the same in all that is known.
        let others = repeats.wants_times();
        reader.set_details(Details { arrivals: arrivals || others, others, ..Details::default() });
        let Some(block) = reader.next_block()? else { break };
        match block {
            Block::Messages(block) => {
                sums.add(block)?;
                let columns = block.columns();
                ticks.add(&columns.send_post_ns, &columns.bytes, |time| run.since_start(time));
                repeats.add(block);
            }
            Block::Calls(calls) => {
                calls.iter().for_each(|call| sums.collectives.add(call, |time| run.since_start(time)));
                repeats.add_calls(calls);
            }
            Block::Marks(_) | Block::Matrix(_) | Block::Sizes(_) => {}
        }
    }
    Ok(Tally { ticks, repeats: repeats.finish(), ..sums.finish()? })
}

struct Sums<'a> {
    run: &'a Run,
    plan: &'a Plan,
    behaviours: BTreeMap<u32, Sketch>,
    totals: Vec<Total>,
    matrices: Vec<MatrixBuilder>,
    operations: Vec<OperationTotals>,
    volumes: Volumes,
    /// The stretch that messages go to.
    at: usize,
    search: Option<Search>,
    collectives: Collectives,
    /// When the last message of the current stretch was posted, if it has one.
    last_ns: Option<u64>,
    /// When the last message arrived that is known to, where idleness comes next.
    arrived_ns: Option<u64>,
}

/// Messages before an idle stretch of which the last arrival is looked for.
const ARRIVING: usize = 4096;

impl<'a> Sums<'a> {
    fn new(run: &'a Run, plan: &'a Plan) -> Self {
        let start =
            |stretch: &crate::plan::Stretch| Total { start_ns: stretch.latest_ns, ..Total::default() };
        let searches = plan.stretches.iter().any(|stretch| stretch.earliest_ns < stretch.latest_ns);
        Self {
            run,
            plan,
            behaviours: if searches { plan.behaviours(run) } else { BTreeMap::new() },
            totals: plan.stretches.iter().map(start).collect(),
            matrices: (0..plan.labels()).map(|_| MatrixBuilder::default()).collect(),
            operations: vec![OperationTotals::default(); plan.labels()],
            volumes: Volumes::new(plan.stretches.len()),
            at: 0,
            search: None,
            collectives: Collectives::new(plan),
            last_ns: None,
            arrived_ns: None,
        }
    }

    fn add(&mut self, block: &MessageBlock) -> Result<()> {
        let times = &block.columns().send_post_ns;
        let mut row = 0;
        while let Some(time) = times.get(row) {
            let now = self.run.since_start(*time);
            let Some(next) = self.plan.stretches.get(self.at + 1) else {
                return self.put(block, row..times.len());
            };
            let before =
                |end_ns: u64| row + times[row..].partition_point(|time| self.run.since_start(*time) < end_ns);
            if now >= next.latest_ns {
                self.settle(now)?;
            } else if now >= next.earliest_ns {
                let end = before(next.latest_ns);
                row = self.search(block, row..end)?;
            } else {
                let end = before(next.earliest_ns);
                self.put(block, row..end)?;
                row = end;
            }
        }
        Ok(())
    }

    /// Messages that belong to the current stretch.
    fn put(&mut self, block: &MessageBlock, rows: Range<usize>) -> Result<()> {
        let columns = block.columns();
        let (src, dst) = (&columns.src[rows.clone()], &columns.dst[rows.clone()]);
        let bytes = &columns.bytes[rows.clone()];
        self.note_pauses(&columns.send_post_ns[rows.clone()]);
        if self.idle_after(self.at)
            && let Some(arrivals) = block.arrivals()
        {
            let last = rows.end.saturating_sub(ARRIVING).max(rows.start)..rows.end;
            let known = columns.send_post_ns[last.clone()].iter().zip(&arrivals[last]);
            let times = known
                .filter(|(_, after)| **after != UNKNOWN)
                .map(|(post, after)| self.run.since_start(post.wrapping_add(*after)));
            self.arrived_ns = self.arrived_ns.max(times.max());
        }
        let mut volume = self.volumes.of(self.at);
        let total = &mut self.totals[self.at];
        if let Some(label) = self.plan.stretches[self.at].label {
            let label = label as usize;
            let (matrix, operations) = (&mut self.matrices[label], &mut self.operations[label]);
            let codes = block.operations().map_or(&[][..], |codes| &codes[rows]);
            let codes = codes.iter().map(|code| *code as u8).chain(std::iter::repeat(0));
            return Side { total, matrix, operations, volume }.add((src, dst, bytes), codes);
        }
        volume.add(src, dst, bytes);
        // Stray messages while the run is idle are of no phase.
        total.messages += src.len() as u64;
        total.bytes = total.bytes.saturating_add(sum_of_bytes(bytes));
        Ok(())
    }

    /// Notes the longest pause of the current stretch, whose next messages were posted then.
    fn note_pauses(&mut self, times_ns: &[i64]) {
        let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) else { return };
        let first_ns = self.run.since_start(*first);
        let before_ns = first_ns.saturating_sub(self.last_ns.unwrap_or(first_ns));
        let pauses = times_ns.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_unsigned());
        let pause_ns = &mut self.totals[self.at].pause_ns;
        *pause_ns = pauses.fold(before_ns.max(*pause_ns), u64::max);
        self.last_ns = Some(self.run.since_start(*last));
    }

    /// Messages among which the next stretch begins; answers the row after the last one that was
    /// looked at.
    fn search(&mut self, block: &MessageBlock, rows: Range<usize>) -> Result<usize> {
        let columns = block.columns();
        if self.search.is_none() {
            self.note_pauses(&columns.send_post_ns[rows.start..=rows.start]);
        }
        let next = &self.plan.stretches[self.at + 1];
        let search = match &mut self.search {
            Some(search) => search,
            none => {
                let usual = |after: bool| {
                    let label = self.plan.stretches[self.at + usize::from(after)].label?;
                    self.behaviours.get(&label)
                };
                // Of what is alike as a whole, parts of rounds near to the change may not be.
                let alike = usual(true).zip(usual(false));
                let alike = alike.is_some_and(|(new, old)| new.distance_of_partners(old) < ALIKE);
                // Sizes may drift, though.
                let skipped = usize::from(!alike);
                let near = |after: bool| {
                    let near = self.plan.behaviour_near(self.run, self.at + 1, after, skipped);
                    near.unwrap_or_else(|| (Behaviour::default(), true))
                };
                let known = [near(false), near(true)];
                // All occurrences of a phase tell more of it than doubtful windows.
                let sketch = |after: bool| match &known[usize::from(after)] {
                    (_, true) => usual(after).cloned().unwrap_or_default(),
                    (near, false) => near.sketch.clone(),
                };
                let (old, new) = (&sketch(false), &sketch(true));
                let ratio = match usual(true).zip(usual(false)).filter(|_| alike) {
                    Some(of) if new.distance_of_sizes(old) >= ALIKE => Ratio::with_sizes(of, (new, old)),
                    Some((new, old)) => Ratio::new(new, old),
                    None => Ratio::new(new, old),
                };
                let barrier = Operation::Barrier as usize;
                let barriers = new.operation() == barrier || old.operation() == barrier;
                let before = match self.plan.stretches[self.at].label {
                    Some(_) => Before::Phase { until_ns: next.start_ns },
                    None if self.at > 0 => Before::Strays,
                    None => Before::Start,
                };
                let meetings = self.run.barriers(next.earliest_ns..next.latest_ns);
                let likelihood = Likelihood::new(ratio).with_ranks(self.run.rounds.ranks.clone());
                let likelihood = match before {
                    Before::Phase { .. } => likelihood.with_phases(known),
                    Before::Strays | Before::Start => likelihood,
                };
                none.insert(Search::new(likelihood, barriers, before).with_meetings(meetings.collect()))
            }
        };
        for row in rows.clone() {
            let now_ns = self.run.since_start(columns.send_post_ns[row]);
            let operation = block.operations().map_or(0, |codes| codes[row]);
            let message = (columns.src[row], columns.dst[row], columns.bytes[row], operation);
            let token = self.run.rounds.tokens.known(message.0, message.1, message.2, (operation & 63) as u8);
            self.last_ns = Some(now_ns);
            if !search.push(now_ns, message, token) {
                self.settle(now_ns)?;
                return Ok(row + 1);
            }
        }
        Ok(rows.end)
    }

    /// Ends the search, if there is one, and goes on to the next stretch. `now_ns` is when the next
    /// message is posted, or the end of the run.
    fn settle(&mut self, now_ns: u64) -> Result<()> {
        if let Some(search) = self.search.take() {
            let label = |at: usize| self.plan.stretches[at].label.map(|label| label as usize);
            let (old, new) = (label(self.at), label(self.at + 1));
            // What is sent before the first phase is of none.
            let mut matrices = [old, new].map(|label| {
                label.and_then(|label| self.matrices.get_mut(label)).map(std::mem::take).unwrap_or_default()
            });
            let [before, after] = &mut self.totals[self.at..self.at + 2] else { return Ok(()) };
            let [one, other] = &mut matrices;
            let [left, right] = self.volumes.neighbours(self.at);
            let mut operations = [(); 2].map(|()| OperationTotals::default());
            let [first, second] = &mut operations;
            let mut old_side = Side { total: before, matrix: one, operations: first, volume: left };
            let mut new_side = Side { total: after, matrix: other, operations: second, volume: right };
            let calls = self.collectives.take(self.at + 1);
            let start_ns = search.settle(now_ns, &calls, &mut old_side, &mut new_side)?;
            // If all messages were of the old phase, the next one may lie beyond what comes after
            // the new one.
            let end_ns =
                self.plan.stretches.get(self.at + 2).map_or(self.run.duration_ns, |next| next.earliest_ns);
            after.start_ns = start_ns.min(end_ns);
            self.last_ns = self.last_ns.filter(|_| after.messages > 0);
            for (label, operations) in [old, new].into_iter().zip(&operations) {
                label.into_iter().for_each(|label| self.operations[label].merge(operations));
            }
            let [one, other] = matrices;
            if let Some(new) = new {
                self.matrices[new] = other;
            }
            match old {
                // Both sides went into halves of one matrix.
                Some(old) if Some(old) == new => {
                    one.finish().cells().try_for_each(|cell| self.matrices[old].add(cell))?;
                }
                Some(old) => self.matrices[old] = one,
                None => {}
            }
        } else {
            self.last_ns = None;
        }
        self.close_idle();
        if self.idle_after(self.at)
            && let Some(arrived_ns) = self.arrived_ns
        {
            // Idleness begins when the last message has arrived, and has ended when the next phase
            // begins.
            let next =
                self.plan.stretches.get(self.at + 2).map_or(self.run.duration_ns, |next| next.earliest_ns);
            let start_ns = &mut self.totals[self.at + 1].start_ns;
            *start_ns = arrived_ns.min(now_ns).min(next);
        }
        self.arrived_ns = None;
        self.at += 1;
        Ok(())
    }

    /// The current stretch is over. If nothing was sent in it, but for an instant only, it is none:
    /// the program was not idle, or the search gave all messages to the neighbours.
    fn close_idle(&mut self) {
        let [own, next] = &mut self.totals[self.at..self.at + 2] else { return };
        if own.messages == 0 && next.start_ns.saturating_sub(own.start_ns) < self.plan.least_idle_ns {
            // What comes before goes on; where nothing does, the next one begins with the run.
            if self.at == 0 {
                next.start_ns = own.start_ns;
            } else {
                own.start_ns = next.start_ns;
            }
        }
    }

    /// True if the stretch after this one is idle.
    fn idle_after(&self, at: usize) -> bool {
        self.plan.stretches.get(at + 1).is_some_and(|next| next.label.is_none())
    }

    fn finish(mut self) -> Result<Tally> {
        if self.search.is_some() || self.idle_after(self.at) {
            self.settle(self.run.duration_ns)?;
        }
        let matrices = self.matrices.into_iter().map(MatrixBuilder::finish).collect();
        Ok(Tally {
            totals: self.totals,
            matrices,
            operations: self.operations,
            volumes: self.volumes,
            ticks: Ticks::default(),
            repeats: Vec::new(),
        })
    }
}
