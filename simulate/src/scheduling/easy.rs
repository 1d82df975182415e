//! EASY backfilling.

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
    fn next(&mut self, view: &QueueView<'_>) -> Option<usize> {
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
}

impl Easy {
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
    use std::collections::BTreeMap;

    use phaseflow_collect::choice::Choice;
    use proptest::prelude::*;

    use super::super::{Fcfs, Occasion, QueuedJob};
    use super::*;

    /// Submission time, processes, run time.
    type Job = (u64, u32, u64);

    /// Takes free hosts in order until there are enough slots: stops when it has enough, as all our
    /// host selectors do.
    fn select(free: &[bool], slots: &[u32], processes: u32) -> Vec<usize> {
        let mut found = 0;
        let mut hosts = Vec::new();
        for host in (0..slots.len()).filter(|host| free[*host]) {
            if found >= processes {
                break;
            }
            found += slots[host];
            hosts.push(host);
        }
        assert!(found >= processes);
        hosts
    }

    /// Most slots that `processes` may occupy: removing the last host would leave too few.
    fn bound(slots: &[u32], processes: u32) -> u64 {
        let largest = *slots.iter().max().unwrap();
        if slots.iter().all(|s| *s == largest) {
            return u64::from(processes.div_ceil(largest) * largest);
        }
        u64::from(processes + largest - 1).min(slots.iter().map(|s| u64::from(*s)).sum())
    }

    /// The time at which `processes` slots are free if no job is started; running jobs free their
    /// slots at their ends.
    fn start_without_backfilling(
        now: u64,
        free_slots: u64,
        processes: u32,
        mut ends: Vec<(u64, u64)>,
    ) -> u64 {
        ends.sort_unstable();
        let (mut slots, mut start) = (free_slots, now);
        for (end, freed) in ends {
            if slots >= u64::from(processes) {
                break;
            }
            slots += freed;
            start = end;
        }
        start
    }

    /// Runs a machine with a scheduler. Returns the starts and, for each job that waits as the
    /// head, its guarantee: its start if no other job starts from that moment on.
    fn drive(scheduler: &mut dyn Scheduler, slots: &[u32], jobs: &[Job]) -> (Vec<u64>, BTreeMap<usize, u64>) {
        let mut free = vec![true; slots.len()];
        let mut queue: Vec<usize> = Vec::new();
        let mut running: Vec<(u64, usize, Vec<usize>)> = Vec::new(); // end, job, hosts
        let mut starts = vec![u64::MAX; jobs.len()];
        let mut promises = BTreeMap::new();
        let mut submitted = 0;
        while starts.contains(&u64::MAX) {
            let end = running.iter().map(|(end, job, _)| (*end, *job)).min();
            let submit = jobs.get(submitted).map(|job| job.0);
            // Submissions before ends, ends one by one: schedulers are asked in between, when only
            // part has happened.
            let (now, occasion) = match (submit, end) {
                (Some(at), end) if end.is_none_or(|(end, _)| at <= end) => {
                    queue.push(submitted);
                    submitted += 1;
                    (at, Occasion::Submitted)
                }
                (_, Some((now, job))) => {
                    let position = running.iter().position(|(_, other, _)| *other == job).unwrap();
                    running.remove(position).2.iter().for_each(|host| free[*host] = true);
                    (now, Occasion::Finished)
                }
                _ => panic!("nothing runs, somebody waits"),
            };
            let mut started = 0;
            loop {
                let free_slots =
                    slots.iter().zip(&free).filter(|(_, free)| **free).map(|(s, _)| u64::from(*s)).sum();
                let queued: Vec<QueuedJob> = queue
                    .iter()
                    .map(|job| QueuedJob {
                        processes: jobs[*job].1,
                        slots: bound(slots, jobs[*job].1),
                        estimate: jobs[*job].2,
                    })
                    .collect();
                let occupied = |hosts: &[usize]| hosts.iter().map(|host| u64::from(slots[*host])).sum();
                let remaining: Vec<RunningJob> = running
                    .iter()
                    .map(|(end, _, hosts)| RunningJob { slots: occupied(hosts), remaining: end - now })
                    .collect();
                if let Some(head) = queue.first() {
                    promises.entry(*head).or_insert_with(|| {
                        let ends = running.iter().map(|(end, _, hosts)| (*end, occupied(hosts))).collect();
                        start_without_backfilling(now, free_slots, jobs[*head].1, ends)
                    });
                }
                let view = QueueView { occasion, started, free_slots, queue: &queued, running: &remaining };
                let Some(index) = scheduler.next(&view) else { break };
                let job = queue.remove(index);
                let hosts = select(&free, slots, jobs[job].1);
                hosts.iter().for_each(|host| free[*host] = false);
                starts[job] = now;
                running.push((now + jobs[job].2, job, hosts));
                started += 1;
            }
        }
        (starts, promises)
    }

    /// The oracle is EASY as its authors describe it. It finds the head's start by advancing the
    /// clock from end to end, and tests each candidate by a trial run.
    struct Obvious;

    impl Scheduler for Obvious {
        fn next(&mut self, view: &QueueView<'_>) -> Option<usize> {
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

    fn jobs(most: u32) -> impl Strategy<Value = Vec<Job>> {
        prop::collection::vec((0_u64..4, 1..=most, 0_u64..12), 1..40).prop_map(|mut jobs| {
            let mut now = 0;
            for job in &mut jobs {
                now += job.0;
                job.0 = now;
            }
            jobs
        })
    }

    fn machine() -> impl Strategy<Value = (Vec<u32>, Vec<Job>)> {
        let unlike = prop::collection::vec(1_u32..6, 1..9);
        let equal = (1_u32..6, 1_usize..9).prop_map(|(slots, hosts)| vec![slots; hosts]);
        prop_oneof![unlike, equal].prop_flat_map(|slots| {
            let most = slots.iter().sum();
            (Just(slots), jobs(most))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn starts_are_those_of_the_obvious_implementation((slots, jobs) in machine()) {
            prop_assert_eq!(drive(&mut Easy::default(), &slots, &jobs).0, drive(&mut Obvious, &slots, &jobs).0);
        }

        // CORRECTNESS: the head is never delayed beyond its reservation, nor beyond a world without
        // backfilling.
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
            let jobs: Vec<Job> = jobs.into_iter().map(|(at, _, run)| (at, all, run)).collect();
            let mut fcfs = Fcfs::new(&Choice::plain("fcfs")).unwrap();
            prop_assert_eq!(drive(&mut Easy::default(), &slots, &jobs).0, drive(&mut fcfs, &slots, &jobs).0);
        }
    }

    #[test]
    fn a_short_and_a_narrow_job_overtake_a_long_wide_one_does_not() {
        // 10 hosts of 1 slot. Job 0 holds 6 until 100. The head, job 1, needs 8 at 100; 2 are
        // extra.
        let jobs = [(0, 6, 100), (1, 8, 10), (2, 4, 99), (3, 4, 50), (4, 2, 500), (5, 2, 500)];
        let (starts, _) = drive(&mut Easy::default(), &[1; 10], &jobs);
        // Job 2 would end at 101, job 3 in time; job 4 takes the extra slots and leaves none for
        // job 5.
        assert_eq!(starts, [0, 100, 110, 3, 53, 110]);
    }
}
