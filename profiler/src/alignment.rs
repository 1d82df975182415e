//! All processes' clocks on one time line.
//!
//! Processes of one host share a clock, so what is known of it is put together from all of them: its rate from the earliest
//! and the latest moment at which `CLOCK_MONOTONIC` was read beside it. Hosts are tied to rank 0's by the measurements of one
//! process each, at the start and at the end; between them a clock is taken as a straight line. Without a second measurement (the
//! run ended early) the rate is the host's own; without any, `CLOCK_REALTIME` has to do, and the error is unknown.

use std::collections::BTreeMap;

use crate::{Header, Pair, Sync};

/// Turns one host's ticks into nanoseconds of the run; by default ticks are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    ticks: u64,
    ns: f64,
    ns_per_tick: f64,
    error_ns: Option<f64>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { ticks: 0, ns: 0.0, ns_per_tick: 1.0, error_ns: None }
    }
}

impl Clock {
    /// Nanoseconds since the first process's `MPI_Init`; earlier is negative.
    pub fn ns(&self, ticks: u64) -> i64 {
        let exact = self.exact(ticks);
        // Rounds as `round` does, which without SSE4 is a call.
        (exact + 0.5_f64.copysign(exact)) as i64
    }

    /// Bound of the error against the clock of rank 0's host, in nanoseconds; 0 on that host, `None` if unknown.
    pub fn error_ns(&self) -> Option<u64> {
        self.error_ns.map(|error| error.ceil() as u64)
    }

    fn exact(&self, ticks: u64) -> f64 {
        self.ns + ticks.wrapping_sub(self.ticks).cast_signed() as f64 * self.ns_per_tick
    }
}

/// The clocks of a run, by host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alignment {
    clocks: BTreeMap<u64, Clock>,
}

/// What is known of one host's clock.
#[derive(Clone, Copy, Debug)]
struct Host {
    first: Pair,
    last: Pair,
}

impl Host {
    fn ns_per_tick(&self) -> f64 {
        let ticks = self.last.ticks.saturating_sub(self.first.ticks);
        let ns = self.last.monotonic_ns.saturating_sub(self.first.monotonic_ns);
        if ticks == 0 || ns == 0 { 1.0 } else { ns as f64 / ticks as f64 }
    }
}

impl Alignment {
    /// Aligns the processes of a run, each given by its header and the latest moment of which two clocks are known
    /// ([`Recording::last_pair`](crate::Recording::last_pair)).
    pub fn new<'a>(processes: impl IntoIterator<Item = (&'a Header, Pair)>) -> Self {
        let mut hosts: BTreeMap<u64, Host> = BTreeMap::new();
        let mut ties: Vec<(u64, u64, [Option<Sync>; 2])> = Vec::new();
        let mut roots: BTreeMap<u64, &Header> = BTreeMap::new();
        let mut all = Vec::new();
        for (header, last) in processes {
            let host = hosts.entry(header.host).or_insert(Host { first: header.init, last });
            if header.init.ticks < host.first.ticks {
                host.first = header.init;
            }
            if last.ticks > host.last.ticks {
                host.last = last;
            }
            if header.rank == 0 {
                roots.insert(header.job, header);
            }
            all.push(header);
        }
        for header in &all {
            if header.rank != 0
                && header.syncs[0].is_some()
                && let Some(root) = roots.get(&header.job)
            {
                ties.push((header.host, root.host, header.syncs));
            }
        }
        // Programs that spawn have several jobs; time starts with the first.
        let start = roots.values().min_by_key(|header| header.init.realtime_ns).copied();
        let Some(start) = start.or_else(|| all.iter().min_by_key(|header| header.init.realtime_ns).copied())
        else {
            return Self::default();
        };
        let mut alignment = Self::default();
        if let Some(host) = hosts.get(&start.host) {
            let clock = Clock {
                ticks: start.init.ticks,
                ns: 0.0,
                ns_per_tick: host.ns_per_tick(),
                error_ns: Some(0.0),
            };
            alignment.clocks.insert(start.host, clock);
        }
        alignment.tie(&hosts, &ties);
        for (id, host) in &hosts {
            alignment.clocks.entry(*id).or_insert_with(|| Clock {
                ticks: host.first.ticks,
                ns: host.first.realtime_ns.wrapping_sub(start.init.realtime_ns).cast_signed() as f64,
                ns_per_tick: host.ns_per_tick(),
                error_ns: None,
            });
        }
        alignment
    }

    /// Adds hosts measured against one that has its clock already, until there are no more.
    fn tie(&mut self, hosts: &BTreeMap<u64, Host>, ties: &[(u64, u64, [Option<Sync>; 2])]) {
        loop {
            let before = self.clocks.len();
            for (own, reference, syncs) in ties {
                if self.clocks.contains_key(own) {
                    continue;
                }
                if let (Some(reference), Some(host)) = (self.clocks.get(reference), hosts.get(own))
                    && let Some(clock) = tied(reference, host, *syncs)
                {
                    self.clocks.insert(*own, clock);
                }
            }
            if self.clocks.len() == before {
                return;
            }
        }
    }

    /// The clock of a process; `None` if it was not among those aligned.
    pub fn clock(&self, header: &Header) -> Option<Clock> {
        self.clocks.get(&header.host).copied()
    }

    /// The largest bound of all hosts' errors; `None` if one is unknown.
    pub fn error_ns(&self) -> Option<u64> {
        self.clocks.values().try_fold(0, |most, clock| Some(clock.error_ns()?.max(most)))
    }
}

fn tied(reference: &Clock, host: &Host, syncs: [Option<Sync>; 2]) -> Option<Clock> {
    let first = syncs[0]?;
    let ns = reference.exact(first.reference);
    let mut ns_per_tick = host.ns_per_tick();
    let mut error = first.error;
    if let Some(second) = syncs[1] {
        let ticks = second.own.saturating_sub(first.own);
        if ticks > 0 {
            ns_per_tick = (reference.exact(second.reference) - ns) / ticks as f64;
        }
        error = error.max(second.error);
    }
    let error_ns = reference.error_ns.map(|before| before + error as f64 * ns_per_tick);
    Some(Clock { ticks: first.own, ns, ns_per_tick, error_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    fn header(rank: u32, host: u64, init: [u64; 3], syncs: [[u64; 3]; 2]) -> Header {
        let mut bytes = vec![0; format::HEADER];
        let mut put = |offset: usize, words: &[u64]| {
            for (i, word) in words.iter().enumerate() {
                bytes[offset + i * 8..][..8].copy_from_slice(&word.to_le_bytes());
            }
        };
        use format::at;
        put(at::MAGIC, &[u64::from_le_bytes(format::MAGIC)]);
        put(at::VERSION, &[1 | 32 << 32, 16384 | u64::from(rank) << 32]);
        put(at::JOB, &[7, host]);
        put(at::PAIRS, &init);
        put(at::SYNCS, &syncs[0]);
        put(at::SYNCS + 24, &syncs[1]);
        Header::read(&bytes).unwrap()
    }

    fn last(ticks: u64, monotonic_ns: u64) -> Pair {
        Pair { ticks, monotonic_ns, realtime_ns: 0 }
    }

    #[test]
    fn a_host_measured_twice_follows_rank_0_in_between() {
        // Rank 0 ticks twice a nanosecond; the other host is 1000 ticks ahead and 10 % fast.
        let root = header(0, 1, [10_000, 500, 9_000], [[1, 1, 0], [0; 3]]);
        let other = header(1, 2, [1, 1, 1], [[11_000, 10_000, 4], [22_000, 20_000, 2]]);
        let alignment = Alignment::new([(&root, last(30_000, 10_500)), (&other, last(2, 2))]);
        let clocks = [&root, &other].map(|header| alignment.clock(header).unwrap());
        assert_eq!(clocks[0].ns(10_000), 0);
        assert_eq!(clocks[0].ns(20_000), 5_000);
        assert_eq!(clocks.map(|clock| clock.ns(11_000)), [500, 0]);
        assert_eq!(clocks[1].ns(22_000), 5_000);
        assert_eq!(clocks[1].ns(16_500), 2_500);
        // 4 ticks at 5000 ns in 11000 ticks, rounded up.
        assert_eq!((clocks[0].error_ns(), alignment.error_ns()), (Some(0), Some(2)));
    }

    #[test]
    fn without_measurement_the_time_of_day_has_to_do() {
        let root = header(0, 1, [100, 100, 5_000], [[1, 1, 0], [0; 3]]);
        let other = header(1, 2, [700, 700, 5_040], [[0; 3]; 2]);
        let alignment = Alignment::new([(&root, last(200, 200)), (&other, last(800, 800))]);
        let clock = alignment.clock(&other).unwrap();
        assert_eq!((clock.ns(700), clock.ns(710)), (40, 50));
        assert_eq!((clock.error_ns(), alignment.error_ns()), (None, None));
    }

    #[test]
    fn nothing_aligns_to_nothing() {
        assert_eq!(Alignment::new([]), Alignment::default());
    }
}
