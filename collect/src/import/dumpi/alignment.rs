//! The clocks of a DUMPI run's hosts.
//!
//! Writers of one time took the time of day, later ones a monotonic clock that begins anywhere on
//! each host. The bias of the wall times tells: it is near the start time of the header, or not.
//! Times of day are left as they are. Monotonic clocks of several hosts are put on one line by
//! [causality](Causality), after a first guess: all ranks leave `MPI_Init` at about one time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::clock::Clock;
use super::rank::Process;
use super::stream::Records;
use crate::import::ranks::{self, Causality};
use crate::{At, Result};

/// Most seconds between the header's start time and the bias, if both are times of day. The one is
/// read at the start of the process, the other a little later; monotonic clocks begin at the start
/// of the machine, and the time of day is decades after their beginning.
const NEAR_S: i64 = 30 * 86_400;

/// What was done about the clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// Bound of the error between hosts; `None` if unknown.
    pub(super) error_ns: Option<u64>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    OneHost,
    TimesOfDay(usize),
    Monotonic { hosts: usize, contradictions: usize },
}

impl Alignment {
    /// Puts the processes on one time line; reads their records if that takes it.
    ///
    /// # Errors
    /// Damage, or errors of the operating system.
    pub(super) fn of(processes: &mut [Process]) -> Result<Self> {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut hosts = Vec::with_capacity(processes.len());
        for process in processes.iter() {
            let next = numbers.len() as u32;
            hosts.push(*match numbers.entry(process.index.hostname.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(next),
            });
        }
        if numbers.len() < 2 {
            return Ok(Self { error_ns: Some(0), kind: Kind::OneHost });
        }
        if processes.iter().all(is_time_of_day) {
            return Ok(Self { error_ns: None, kind: Kind::TimesOfDay(numbers.len()) });
        }
        guess(processes, &hosts)?;
        let mut causality = Causality::new(hosts.clone());
        ranks::merge(processes, None, &mut causality)?;
        let offsets = causality.offsets();
        for (process, host) in processes.iter_mut().zip(&hosts) {
            process.offset_ns = process.offset_ns.saturating_add(offsets.by_host[*host as usize]);
        }
        let kind = Kind::Monotonic { hosts: numbers.len(), contradictions: offsets.contradictions };
        Ok(Self { error_ns: offsets.error_ns, kind })
    }

    /// What the user should know.
    pub(super) fn sentence(&self) -> Option<String> {
        match self.kind {
            Kind::OneHost => None,
            Kind::TimesOfDay(hosts) => Some(format!(
                "{hosts} hosts have times of day that nothing compares: how far their clocks are apart is unknown"
            )),
            Kind::Monotonic { hosts, contradictions: 0 } => Some(format!(
                "{hosts} hosts have clocks of their own; no message arriving before it is sent gave their offsets"
            )),
            Kind::Monotonic { hosts, contradictions } => Some(format!(
                "{hosts} hosts have clocks of their own, which drift: between {contradictions} pairs of them some messages arrive before they are sent"
            )),
        }
    }
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
    let wall = records.next()?.and_then(|record| record.layout.wall);
    let mut clock = Clock::new(process.index.biases.1, 0);
    Ok(wall.map_or(0, |span| clock.unroll(&span).1))
}
