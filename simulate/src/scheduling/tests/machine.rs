//! A small machine that drives a scheduler, for tests.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::{Occasion, QueueView, QueuedJob, RunningJob, Scheduler};
use crate::topology::test_tree::tree;

/// A job: it runs no longer than its estimate.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Job {
    pub(in super::super) at: u64,
    pub(in super::super) processes: u32,
    pub(in super::super) run: u64,
    pub(in super::super) estimate: u64,
}

/// A job that runs, and its hosts.
struct Running {
    end: u64,
    estimated_end: u64,
    job: usize,
    hosts: Vec<usize>,
}

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
pub(in super::super) fn bound(slots: &[u32], processes: u32) -> u64 {
    let largest = *slots.iter().max().unwrap();
    if slots.iter().all(|s| *s == largest) {
        return u64::from(processes.div_ceil(largest) * largest);
    }
    u64::from(processes + largest - 1).min(slots.iter().map(|s| u64::from(*s)).sum())
}

/// The time at which `processes` slots are free if no job is started; running jobs free their slots
/// at their ends.
fn start_without_backfilling(now: u64, free_slots: u64, processes: u32, mut ends: Vec<(u64, u64)>) -> u64 {
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

/// Runs a machine with a scheduler. Returns the starts and, for each job that waits as the head,
/// its guarantee: its start by the estimates if no other job starts from that moment on.
pub(in super::super) fn drive(
    scheduler: &mut dyn Scheduler,
    slots: &[u32],
    jobs: &[Job],
) -> (Vec<u64>, BTreeMap<usize, u64>) {
    let topology = tree(&[slots.to_vec()], 1, &[1.0]);
    let mut free = vec![true; slots.len()];
    let mut queue: Vec<usize> = Vec::new();
    let mut running: Vec<Running> = Vec::new();
    let mut starts = vec![u64::MAX; jobs.len()];
    let mut promises = BTreeMap::new();
    let mut submitted = 0;
    let occupied = |hosts: &[usize]| hosts.iter().map(|host| u64::from(slots[*host])).sum::<u64>();
    while starts.contains(&u64::MAX) {
        let end = running.iter().map(|running| (running.end, running.job)).min();
        let submit = jobs.get(submitted).map(|job| job.at);
        // Submissions before ends, ends one by one: schedulers are asked in between, when only part
        // has happened.
        let (now, occasion) = match (submit, end) {
            (Some(at), end) if end.is_none_or(|(end, _)| at <= end) => {
                queue.push(submitted);
                submitted += 1;
                (at, Occasion::Submitted)
            }
            (_, Some((now, job))) => {
                let position = running.iter().position(|other| other.job == job).unwrap();
                running.remove(position).hosts.iter().for_each(|host| free[*host] = true);
                (now, Occasion::Finished)
            }
            _ => panic!("nothing runs, somebody waits"),
        };
        let mut started = 0;
        loop {
            let free_slots =
                slots.iter().zip(&free).filter(|(_, free)| **free).map(|(s, _)| u64::from(*s)).sum();
            let queued = |job: &usize| QueuedJob {
                job: *job as u32,
                processes: jobs[*job].processes,
                slots: bound(slots, jobs[*job].processes),
                estimate: jobs[*job].estimate,
            };
            let queued: Vec<QueuedJob> = queue.iter().map(queued).collect();
            let remaining = |running: &Running| RunningJob {
                job: running.job as u32,
                slots: occupied(&running.hosts),
                remaining: running.estimated_end - now,
            };
            let remaining: Vec<RunningJob> = running.iter().map(remaining).collect();
            if let Some(head) = queue.first() {
                promises.entry(*head).or_insert_with(|| {
                    let ends =
                        running.iter().map(|running| (running.estimated_end, occupied(&running.hosts)));
                    start_without_backfilling(now, free_slots, jobs[*head].processes, ends.collect())
                });
            }
            let view = QueueView {
                topology: &topology,
                now,
                occasion,
                started,
                free_slots,
                queue: &queued,
                running: &remaining,
            };
            let Some(index) = scheduler.next(&view).unwrap() else { break };
            let job = queue.remove(index);
            let hosts = select(&free, slots, jobs[job].processes);
            hosts.iter().for_each(|host| free[*host] = false);
            starts[job] = now;
            let (end, estimated_end) = (now + jobs[job].run, now + jobs[job].estimate);
            running.push(Running { end, estimated_end, job, hosts });
            started += 1;
        }
    }
    (starts, promises)
}

fn jobs(most: u32) -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec((0_u64..4, 1..=most, 0_u64..12, 0_u64..6), 1..40).prop_map(|jobs| {
        let mut now = 0;
        let job = |(wait, processes, run, more)| {
            now += wait;
            // Half of the estimates are exact.
            let estimate = run + u64::saturating_sub(more, 2);
            Job { at: now, processes, run, estimate }
        };
        jobs.into_iter().map(job).collect()
    })
}

/// Hosts with their slots, alike or not, and jobs that fit.
pub(in super::super) fn machine() -> impl Strategy<Value = (Vec<u32>, Vec<Job>)> {
    let unlike = prop::collection::vec(1_u32..6, 1..9);
    let equal = (1_u32..6, 1_usize..9).prop_map(|(slots, hosts)| vec![slots; hosts]);
    prop_oneof![unlike, equal].prop_flat_map(|slots| {
        let most = slots.iter().sum();
        (Just(slots), jobs(most))
    })
}
