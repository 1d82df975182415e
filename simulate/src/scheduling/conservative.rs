//! Conservative backfilling.

use phaseflow_collect::Result;

use super::{Occasion, QueueView, QueuedJob, Scheduler};
use crate::engine::Picoseconds;

/// Conservative backfilling: each job gets a reservation when it is submitted, the earliest that
/// delays no job before it, and starts then or earlier (Mu'alem and Feitelson, *Utilization,
/// predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
/// backfilling*, 2001, section 2).
///
/// When a job ends, the reservations are *compressed*: one after the other, in the order of
/// submission, moves to the earliest place that the others leave free.
///
/// Guarantee: no job starts later than its first reservation, also with hosts of unequal slots.
/// This holds while no job runs longer than its estimate, and the host selector takes no more slots
/// than [`QueuedJob::slots`]. The price is less backfilling than [`Easy`](super::Easy) has, and
/// time: an end of a job costs the square of the length of the queue.
#[derive(Clone, Debug, Default)]
pub struct Conservative {
    plan: Plan,
    /// In the order of the queue.
    reservations: Vec<Reservation>,
}

/// The time of a job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reservation {
    job: u32,
    start: Picoseconds,
    slots: u64,
    estimate: Picoseconds,
}

impl Reservation {
    /// A job without length still needs its slots once.
    fn end(&self) -> Picoseconds {
        self.start.saturating_add(self.estimate.max(1))
    }
}

/// Free slots over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    /// From each time on, up to the next one; times ascend.
    steps: Vec<(Picoseconds, u64)>,
}

impl Plan {
    /// The running jobs alone.
    fn new(view: &QueueView<'_>) -> Self {
        let mut ends: Vec<(Picoseconds, u64)> =
            view.running.iter().map(|job| (view.now.saturating_add(job.remaining), job.slots)).collect();
        ends.sort_unstable();
        let mut plan = Self { steps: vec![(view.now, view.free_slots)] };
        let mut free = view.free_slots;
        for (end, slots) in ends {
            free += slots;
            match plan.steps.last_mut() {
                Some(last) if last.0 == end => last.1 = free,
                _ => plan.steps.push((end, free)),
            }
        }
        plan
    }

    /// Forgets what is over.
    fn advance(&mut self, now: Picoseconds) {
        let over = self.steps.partition_point(|(time, _)| *time <= now).saturating_sub(1);
        self.steps.drain(..over);
        if let Some(first) = self.steps.first_mut() {
            first.0 = first.0.max(now);
        }
    }

    /// The place of the step that begins at a time, which is made if there is none.
    fn step_at(&mut self, time: Picoseconds) -> usize {
        let next = self.steps.partition_point(|(start, _)| *start < time);
        if self.steps.get(next).is_none_or(|(start, _)| *start != time) {
            let free = next.checked_sub(1).map_or(0, |before| self.steps[before].1);
            self.steps.insert(next, (time, free));
        }
        next
    }

    /// Changes the free slots of a time.
    fn change(&mut self, reservation: &Reservation, change: impl Fn(&mut u64)) {
        let from = self.step_at(reservation.start);
        let to = self.step_at(reservation.end());
        self.steps[from..to].iter_mut().for_each(|(_, free)| change(free));
    }

    fn take(&mut self, reservation: &Reservation) {
        self.change(reservation, |free| *free = free.saturating_sub(reservation.slots));
    }

    fn give_back(&mut self, reservation: &Reservation) {
        self.change(reservation, |free| *free += reservation.slots);
    }

    /// The earliest time from `from` on with that many free slots for so long. A plan ends with an
    /// empty machine, on which each job fits.
    fn earliest(&self, from: Picoseconds, slots: u64, estimate: Picoseconds) -> Picoseconds {
        let mut start = from;
        for (place, (time, free)) in self.steps.iter().enumerate() {
            if *time >= start.saturating_add(estimate.max(1)) {
                break;
            }
            let ends = self.steps.get(place + 1).map_or(Picoseconds::MAX, |(next, _)| *next);
            if *free < slots && ends > start {
                start = ends;
            }
        }
        start
    }
}

impl Conservative {
    /// Makes the plan anew, with the reservations that there are; those that no longer fit, as jobs
    /// run longer than estimated, move to the next place that does.
    fn renew(&mut self, view: &QueueView<'_>) {
        self.plan = Plan::new(view);
        for reservation in &mut self.reservations {
            let from = reservation.start.max(view.now);
            reservation.start = self.plan.earliest(from, reservation.slots, reservation.estimate);
            self.plan.take(reservation);
        }
    }

    fn compress(&mut self, now: Picoseconds) {
        for reservation in &mut self.reservations {
            self.plan.give_back(reservation);
            reservation.start = self.plan.earliest(now, reservation.slots, reservation.estimate);
            self.plan.take(reservation);
        }
    }

    fn reserve(&mut self, now: Picoseconds, job: &QueuedJob) {
        let start = self.plan.earliest(now, job.slots, job.estimate);
        let reservation = Reservation { job: job.job, start, slots: job.slots, estimate: job.estimate };
        self.plan.take(&reservation);
        self.reservations.push(reservation);
    }
}

impl Scheduler for Conservative {
    fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
        if view.started == 0 {
            // Ends of jobs while nobody waits are not told.
            if view.occasion == Occasion::Finished || self.reservations.is_empty() {
                self.renew(view);
                self.compress(view.now);
            } else {
                self.plan.advance(view.now);
            }
            for job in &view.queue[self.reservations.len().min(view.queue.len())..] {
                self.reserve(view.now, job);
            }
        }
        // A job may have to wait for the end of another one at the same time.
        let next = self
            .reservations
            .iter()
            .zip(view.queue)
            .position(|(reservation, job)| reservation.start <= view.now && view.fits(job));
        if let Some(next) = next {
            self.reservations.remove(next);
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::tests::machine::{Job, drive, machine};
    use super::*;

    /// The first reservation of each job, beside the scheduler's answers.
    #[derive(Default)]
    struct Watched {
        scheduler: Conservative,
        promises: BTreeMap<u32, Picoseconds>,
    }

    impl Scheduler for Watched {
        fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
            let next = self.scheduler.next(view)?;
            if let Some(next) = next {
                self.promises.entry(view.queue[next].job).or_insert(view.now);
            }
            for reservation in &self.scheduler.reservations {
                self.promises.entry(reservation.job).or_insert(reservation.start);
            }
            Ok(next)
        }
    }

    /// The oracle: a table with the free slots of each unit of time, in which every job is tried at
    /// every time.
    #[derive(Default)]
    struct Obvious {
        starts: Vec<(u32, u64)>,
    }

    /// Longer than all jobs of [`machine`] one after the other.
    const HORIZON: u64 = 2000;

    impl Obvious {
        fn table(view: &QueueView<'_>) -> Vec<u64> {
            let free_at = |time: u64| {
                let ended = view.running.iter().filter(|job| view.now + job.remaining <= time);
                view.free_slots + ended.map(|job| job.slots).sum::<u64>()
            };
            (0..HORIZON).map(free_at).collect()
        }

        fn slots_of(job: &QueuedJob, start: u64) -> std::ops::Range<usize> {
            start as usize..(start + job.estimate.max(1)) as usize
        }
    }

    impl Scheduler for Obvious {
        fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
            let known = |job: &QueuedJob| self.starts.iter().find(|(number, _)| *number == job.job);
            let old: Vec<Option<u64>> = view.queue.iter().map(|job| known(job).map(|(_, at)| *at)).collect();
            let mut table = Self::table(view);
            for (job, start) in view.queue.iter().zip(&old) {
                if let Some(start) = start {
                    table[Self::slots_of(job, *start)].iter_mut().for_each(|free| *free -= job.slots);
                }
            }
            let finished = view.occasion == Occasion::Finished && view.started == 0;
            for (job, start) in view.queue.iter().zip(&old) {
                if let Some(start) = start {
                    if !finished {
                        continue;
                    }
                    table[Self::slots_of(job, *start)].iter_mut().for_each(|free| *free += job.slots);
                }
                let fits =
                    |start: &u64| table[Self::slots_of(job, *start)].iter().all(|free| *free >= job.slots);
                let start = (view.now..HORIZON - 20).find(fits).unwrap();
                table[Self::slots_of(job, start)].iter_mut().for_each(|free| *free -= job.slots);
                self.starts.retain(|(number, _)| *number != job.job);
                self.starts.push((job.job, start));
            }
            let start =
                |job: &QueuedJob| self.starts.iter().find(|(number, _)| *number == job.job).unwrap().1;
            Ok(view.queue.iter().position(|job| start(job) <= view.now && view.fits(job)))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        // CORRECTNESS: nobody is delayed beyond the first reservation.
        #[test]
        fn nobody_is_delayed((slots, jobs) in machine()) {
            let mut watched = Watched::default();
            let (starts, _) = drive(&mut watched, &slots, &jobs);
            for (job, promise) in watched.promises {
                let start = starts[job as usize];
                prop_assert!(start <= promise, "job {} at {}, promised {}", job, start, promise);
            }
        }

        // Equal hosts only: what a job takes of unlike ones is known as a bound before it starts,
        // and the plan may then keep to the bound for longer than the oracle. Jobs take some time:
        // one without length is at its end when it starts, and jobs of the same instant may get its
        // slots before or after that.
        #[test]
        fn starts_are_those_of_the_obvious_implementation((slots, jobs) in machine()) {
            prop_assume!(slots.iter().all(|other| *other == slots[0]));
            let lasting = |job: Job| Job { run: job.run.max(1), estimate: job.estimate.max(1), ..job };
            let jobs: Vec<Job> = jobs.into_iter().map(lasting).collect();
            let fast = drive(&mut Conservative::default(), &slots, &jobs).0;
            prop_assert_eq!(fast, drive(&mut Obvious::default(), &slots, &jobs).0);
        }
    }

    #[test]
    fn a_job_that_would_delay_the_second_in_the_queue_waits() {
        // 10 hosts of 1 slot. Job 0 holds 6 until 100, job 1 needs 8 from then to 110, job 2 all
        // from 110 on. Job 3 may run on 4 until 100; job 4, on 2 until 504, would delay job 2
        // alone, which EASY allows.
        let jobs = [(0, 6, 100), (1, 8, 10), (2, 10, 10), (3, 4, 50), (4, 2, 500)];
        let jobs = jobs.map(|(at, processes, run)| Job { at, processes, run, estimate: run });
        let (starts, _) = drive(&mut Conservative::default(), &[1; 10], &jobs);
        assert_eq!(starts, [0, 100, 110, 3, 120]);
    }
}
