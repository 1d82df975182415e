//! The clocks of a DUMPI run's hosts.
//!
//! Writers of one time took the time of day, later ones a monotonic clock that begins anywhere on
//! each host. The bias of the wall times tells: it is near the start time of the header, or not.
//! Times of day are left as they are. Monotonic clocks of several hosts are put on one line by
//! [causality](ranks::align), after a first guess: all ranks leave `MPI_Init` at about one time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::clock::Clock;
use super::rank::Process;
use super::stream::Records;
use crate::import::ranks;
use crate::{At, Result};

/// Most seconds between the header's start time and the bias, if both are times of day. The one is
/// read at the start of the process, the other a little later; monotonic clocks begin at the start
/// of the machine, and the time of day is decades after their beginning.
const NEAR_S: i64 = 30 * 86_400;

/// Puts the processes on one time line; reads their records if that takes it. Returns a bound of
/// the error between hosts, and what the user should know.
///
/// # Errors
/// Damage, or errors of the operating system.
pub(super) fn align(processes: &mut [Process]) -> Result<(Option<u64>, Option<String>)> {
    let names: Vec<String> = processes.iter().map(|process| process.index.hostname.clone()).collect();
    let hosts = ranks::host_numbers(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let count = hosts.iter().max().map_or(0, |most| most + 1);
    if count > 1 && processes.iter().all(is_time_of_day) {
        let sentence = format!(
            "{count} hosts have times of day that nothing compares: how far their clocks are apart is unknown"
        );
        return Ok((None, Some(sentence)));
    }
    if count > 1 {
        guess(processes, &hosts)?;
    }
    let offsets = ranks::align(processes, hosts, |process, ns| {
        process.offset_ns = process.offset_ns.saturating_add(ns);
    })?;
    Ok((offsets.error_ns, offsets.sentence()))
}

fn is_time_of_day(process: &Process) -> bool {
    let bias = i64::from(process.index.biases.1);
    let starttime = process.index.starttime;
    starttime == 0 || (bias - starttime).saturating_abs() < NEAR_S
}

/// Lets the first process of each host leave its first call, `MPI_Init`, when rank 0 does.
fn guess(processes: &mut [Process], hosts: &[u32]) -> Result<()> {
    let mut firsts: BTreeMap<u32, i64> = BTreeMap::new();
    for (process, host) in processes.iter().zip(hosts) {
        if let Entry::Vacant(new) = firsts.entry(*host) {
            new.insert(first_leave_ns(process).at(|| process.member.name())?);
        }
    }
    let Some(reference) = hosts.first().and_then(|host| firsts.get(host)).copied() else { return Ok(()) };
    for (process, host) in processes.iter_mut().zip(hosts) {
        process.offset_ns = reference.saturating_sub(firsts.get(host).copied().unwrap_or(reference));
    }
    Ok(())
}

/// When the first call returned, on the process's own clock; 0 without any.
fn first_leave_ns(process: &Process) -> Result<i64> {
    let mut records = Records::new(&process.member, process.rank, &process.index, 4 << 10);
    let wall = records.next()?.and_then(|record| record.wall());
    let mut clock = Clock::new(process.index.biases.1, 0);
    Ok(wall.map_or(0, |span| clock.unroll(&span).1))
}
