//! EASY backfilling.

use phaseflow_collect::Result;

use super::{QueueView, RunningJob, Scheduler};
use crate::engine::Picoseconds;

/// EASY backfilling: first come, first served, but a job that fits may overtake if it does not
/// delay the head of the queue (Lifka, *The ANL/IBM SP scheduling system*, 1995; Mu'alem and
/// Feitelson, *Utilization, predictability, workloads, and user runtime estimates in scheduling the
/// IBM SP2 with backfilling*, 2001, section 2).
///
/// A head that does not fit gets a *reservation*: the *shadow time*, at which enough running jobs
/// end for it by their estimates, and the *extra* slots that are then free beyond its processes.
/// The first job behind it that fits now starts if it will end by the shadow time, or if it takes
/// no more than the extra slots.
///
/// Guarantee: the head starts at the latest at the shadow time of the moment at which it became the
/// head, also with hosts of unequal slots. This holds while no job runs longer than its estimate,
/// and the host selector takes no more slots than [`QueuedJob::slots`](super::QueuedJob::slots).
/// Jobs behind the head may start later than under [`Fcfs`](super::Fcfs).
#[derive(Clone, Debug, Default)]
pub struct Easy {
    running: Vec<RunningJob>,
}

impl Scheduler for Easy {
    fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
        Ok(self.choose(view))
    }
}

impl Easy {
    fn choose(&mut self, view: &QueueView<'_>) -> Option<usize> {
        let (head, others) = view.queue.split_first()?;
        if view.fits(head) {
            return Some(0);
        }
        if others.is_empty() || view.free_slots == 0 {
            return None;
        }
        let (shadow, extra) = self.reservation(view, u64::from(head.processes))?;
        let backfill =
            others.iter().position(|job| view.fits(job) && (job.estimate <= shadow || job.slots <= extra))?;
        Some(backfill + 1)
    }

    /// Shadow time (from now) and extra slots of a head that does not fit; `None` if it never will.
    fn reservation(&mut self, view: &QueueView<'_>, processes: u64) -> Option<(Picoseconds, u64)> {
        self.running.clear();
        self.running.extend_from_slice(view.running);
        self.running.sort_unstable_by_key(|job| job.remaining);
        let mut free = view.free_slots;
        let mut ends = self.running.chunk_by(|a, b| a.remaining == b.remaining);
        // Jobs that end at the same time free their slots together.
        ends.find_map(|together| {
            free += together.iter().map(|job| job.slots).sum::<u64>();
            (free >= processes).then(|| (together[0].remaining, free - processes))
        })
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::choice::Choice;
    use proptest::prelude::*;

    use super::super::tests::machine::{Job, drive, machine};
    use super::super::{Fcfs, QueuedJob};
    use super::*;

    /// The oracle is EASY as its authors describe it. It finds the head's start by advancing the
    /// clock from end to end, and tests each candidate by a trial run.
    struct Obvious;

    impl Obvious {
        fn choose(view: &QueueView<'_>) -> Option<usize> {
            let head = view.queue.first()?;
            let free_at = |time: u64, more: Option<&QueuedJob>| {
                let ended = view.running.iter().filter(|job| job.remaining <= time).map(|job| job.slots);
                let taken = more.filter(|job| job.estimate > time).map_or(0, |job| job.slots);
                (view.free_slots + ended.sum::<u64>()).checked_sub(taken)
            };
            let could_start =
                |time, more| free_at(time, more).is_some_and(|free| free >= u64::from(head.processes));
            if could_start(0, None) && view.fits(head) {
                return Some(0);
            }
            let times = view.running.iter().map(|job| job.remaining);
            let shadow = times.filter(|time| could_start(*time, None)).min()?;
            (1..view.queue.len()).find(|i| {
                let job = &view.queue[*i];
                view.fits(job) && could_start(shadow, Some(job))
            })
        }
    }

    impl Scheduler for Obvious {
        fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
            Ok(Self::choose(view))
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn starts_are_those_of_the_obvious_implementation((slots, jobs) in machine()) {
            prop_assert_eq!(drive(&mut Easy::default(), &slots, &jobs).0, drive(&mut Obvious, &slots, &jobs).0);
        }

        // CORRECTNESS: the head is never delayed beyond its reservation, nor beyond a world without
        // backfilling, whether jobs run as long as their estimates or shorter.
        #[test]
        fn the_head_is_never_delayed((slots, jobs) in machine()) {
            let (starts, promises) = drive(&mut Easy::default(), &slots, &jobs);
            for (job, promise) in promises {
                prop_assert!(starts[job] <= promise, "job {} at {}, promised {}", job, starts[job], promise);
            }
        }

        #[test]
        fn without_a_chance_to_overtake_it_is_fcfs((slots, jobs) in machine()) {
            // Every job needs the whole machine.
            let all: u32 = slots.iter().sum();
            let jobs: Vec<Job> = jobs.into_iter().map(|job| Job { processes: all, ..job }).collect();
            let mut fcfs = Fcfs::new(&Choice::plain("fcfs")).unwrap();
            prop_assert_eq!(drive(&mut Easy::default(), &slots, &jobs).0, drive(&mut fcfs, &slots, &jobs).0);
        }
    }

    #[test]
    fn a_short_and_a_narrow_job_overtake_a_long_wide_one_does_not() {
        // 10 hosts of 1 slot. Job 0 holds 6 until 100. The head, job 1, needs 8 at 100; 2 are
        // extra.
        let jobs = [(0, 6, 100), (1, 8, 10), (2, 4, 99), (3, 4, 50), (4, 2, 500), (5, 2, 500)];
        let jobs = jobs.map(|(at, processes, run)| Job { at, processes, run, estimate: run });
        let (starts, _) = drive(&mut Easy::default(), &[1; 10], &jobs);
        // Job 2 would end at 101, job 3 in time; job 4 takes the extra slots and leaves none for
        // job 5.
        assert_eq!(starts, [0, 100, 110, 3, 53, 110]);
    }
}
