//! Clock alignment: the clocks of all processes on one time line.
//!
//! Processes of one host share a clock. Its rate follows from their earliest and latest readings of
//! `CLOCK_MONOTONIC` beside it. One process per host measures the offset to rank 0's host at the
//! start and at the end; between them a clock is a straight line. Without a second measurement (the
//! run ended early) the rate is the host's own. Without any, `CLOCK_REALTIME` is used, and the
//! error is unknown.
//!
//! # The bound of the error
//!
//! A measurement has an error of at most half its round trip. On a line through two points with
//! errors of at most e₁ and e₂, a point a part f of the way between them has an error of at most
//! (1−f)·e₁ + f·e₂. A point g times their distance outside has (1+g)·e + g·e′, where e is that of
//! the near end. In addition, clocks are no straight lines ([`WANDER`]), or only the host's own
//! rate is known ([`SLEW`], [`READING_NS`]). Times of two hosts are comparable to within the sum of
//! their bounds; those of one host exactly.

use std::collections::BTreeMap;

use crate::{Header, Pair, Sync};

/// Variation of the relative rate of two time stamp counters: 0.1 ppm each (Veitch, Ridoux, Korada,
/// *Robust synchronization of absolute and difference clocks over networks*, 2009), in either
/// direction, so 4 · 10⁻⁷.
const WANDER: f64 = 4e-7;
/// Largest difference of the rates of two hosts' `CLOCK_MONOTONIC`: the kernel corrects each by up
/// to 500 ppm (`MAXFREQ` in Linux's `timex.h`).
const SLEW: f64 = 1e-3;
/// Error of reading two clocks at one moment, nanoseconds: two calls of 21 ns or more, and a cache
/// miss between them. The bound of the error is proportional to it where a host has no second
/// measurement.
const READING_NS: f64 = 200.0;

/// Turns one host's ticks into nanoseconds of the run; by default ticks are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    ticks: u64,
    ns: f64,
    ns_per_tick: f64,
    bound: Bound,
    /// First and last moment known of the host.
    span: [u64; 2],
}

/// Bound of the error against rank 0's host.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// It is that host.
    Reference,
    /// One measurement, at [`Clock::ticks`], with the error `error_ns`, and the error of the rate.
    Once {
        error_ns: f64,
        rate: f64,
    },
    /// Measurements at [`Clock::ticks`] and this number of ticks later, each with its error.
    Twice {
        errors_ns: [f64; 2],
        ticks: f64,
    },
    Unknown,
}

impl Default for Clock {
    fn default() -> Self {
        Self { ticks: 0, ns: 0.0, ns_per_tick: 1.0, bound: Bound::Unknown, span: [0; 2] }
    }
}

impl Clock {
    /// Nanoseconds since the first process's `MPI_Init`; earlier is negative.
    pub fn ns(&self, ticks: u64) -> i64 {
        let exact = self.exact(ticks);
        // Rounds like `round`, which without SSE4 is a call.
        (exact + 0.5_f64.copysign(exact)) as i64
    }

    /// Bound of the error of [`ns`](Self::ns) against the clock of rank 0's host, in nanoseconds,
    /// from the first moment known of this host (`MPI_Init` of its first process) to the last
    /// (`MPI_Finalize`; of a process that died, when it began its last chunk); 0 on that host,
    /// `None` if unknown.
    pub fn error_ns(&self) -> Option<u64> {
        let mut most = self.wrong(self.past(self.span[0]))?.max(self.wrong(self.past(self.span[1]))?);
        if let Bound::Twice { errors_ns: [first, second], ticks } = self.bound {
            // Between the measurements the bound is a parabola.
            let top = 0.5 + (second - first) / (2.0 * ticks * self.ns_per_tick * WANDER);
            most = most.max(self.wrong(top.clamp(0.0, 1.0) * ticks)?);
        }
        Some(self.rounded(most))
    }

    /// Bound of the error at one moment, in nanoseconds.
    pub fn error_at(&self, ticks: u64) -> Option<u64> {
        self.wrong(self.past(ticks)).map(|error| self.rounded(error))
    }

    /// Two times are compared, each rounded to a nanosecond.
    fn rounded(&self, error: f64) -> u64 {
        if self.bound == Bound::Reference { 0 } else { error.ceil() as u64 + 1 }
    }

    /// Bound of the error `past` ticks after [`Self::ticks`].
    fn wrong(&self, past: f64) -> Option<f64> {
        match self.bound {
            Bound::Reference => Some(0.0),
            Bound::Unknown => None,
            Bound::Once { error_ns, rate } => Some(error_ns + past.abs() * self.ns_per_tick * rate),
            Bound::Twice { errors_ns: [first, second], ticks } => {
                let part = past / ticks;
                let wander =
                    if (0.0..=1.0).contains(&part) { part * (1.0 - part) } else { (part - 0.5).abs() - 0.5 };
                let measured = (1.0 - part).abs() * first + part.abs() * second;
                Some(measured + wander * ticks * self.ns_per_tick * WANDER)
            }
        }
    }

    /// Ticks since [`Self::ticks`].
    fn past(&self, ticks: u64) -> f64 {
        ticks.wrapping_sub(self.ticks).cast_signed() as f64
    }

    fn exact(&self, ticks: u64) -> f64 {
        self.ns + self.past(ticks) * self.ns_per_tick
    }
}

/// The clocks of a run, by host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alignment {
    clocks: BTreeMap<u64, Clock>,
}

/// Data of one host's clock.
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

    /// Error of the rate by reading the clocks.
    fn rate_error(&self) -> f64 {
        READING_NS / self.last.monotonic_ns.saturating_sub(self.first.monotonic_ns) as f64
    }

    fn span(&self) -> [u64; 2] {
        [self.first.ticks, self.last.ticks]
    }
}

impl Alignment {
    /// Aligns the processes of a run, each given by its header and the latest moment of which two
    /// clocks are known ([`Recording::last_pair`](crate::Recording::last_pair)).
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
                bound: Bound::Reference,
                span: host.span(),
            };
            alignment.clocks.insert(start.host, clock);
        }
        alignment.tie(&hosts, &ties);
        for (id, host) in &hosts {
            alignment.clocks.entry(*id).or_insert_with(|| Clock {
                ticks: host.first.ticks,
                ns: host.first.realtime_ns.wrapping_sub(start.init.realtime_ns).cast_signed() as f64,
                ns_per_tick: host.ns_per_tick(),
                bound: Bound::Unknown,
                span: host.span(),
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
                if let (Some(clock), Some(there)) = (self.clocks.get(reference), hosts.get(reference))
                    && let Some(host) = hosts.get(own)
                    && let Some(clock) = tied(clock, there, host, *syncs)
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

    /// Bound of the error between the clocks of any two hosts: the largest two bounds together;
    /// `None` if one is unknown.
    pub fn error_ns(&self) -> Option<u64> {
        let mut most = [0_u64; 2];
        for clock in self.clocks.values() {
            let error = clock.error_ns()?;
            most = [most[0].max(error), most[1].max(error.min(most[0]))];
        }
        Some(most[0].saturating_add(most[1]))
    }
}

/// The clock of a host measured against a `reference`, which is that of the host `there`.
fn tied(reference: &Clock, there: &Host, host: &Host, syncs: [Option<Sync>; 2]) -> Option<Clock> {
    let first = syncs[0]?;
    let ns = reference.exact(first.reference);
    let mut clock = Clock {
        ticks: first.own,
        ns,
        ns_per_tick: host.ns_per_tick(),
        bound: Bound::Unknown,
        span: host.span(),
    };
    let second = syncs[1].filter(|second| second.own > first.own && second.reference > first.reference);
    if let Some(second) = second {
        let (ticks, passed) = ((second.own - first.own) as f64, reference.exact(second.reference) - ns);
        clock.ns_per_tick = passed / ticks;
        // The error of the line is that of its ends, also for nanoseconds along it.
        let slowest = ticks - first.error as f64 - second.error as f64;
        let known = [first, second].map(|sync| wrong_by(reference, &sync, passed / slowest));
        if let [Some(one), Some(two)] = known
            && slowest > 0.0
        {
            clock.bound = Bound::Twice { errors_ns: [one, two], ticks };
        }
    } else if let Some(error_ns) = wrong_by(reference, &first, clock.ns_per_tick) {
        let rate = SLEW + host.rate_error() + there.rate_error();
        if rate.is_finite() {
            clock.bound = Bound::Once { error_ns: error_ns * (1.0 + rate), rate };
        }
    }
    Some(clock)
}

/// Error of a measurement, with that of the reference, nanoseconds.
fn wrong_by(reference: &Clock, sync: &Sync, ns_per_tick: f64) -> Option<f64> {
    Some(reference.error_at(sync.reference)? as f64 + sync.error as f64 * ns_per_tick)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        // 4 ticks and 2 ticks at 5000 ns in 11000 ticks, and in the middle the mean of both; then
        // rounding.
        let at = [11_000, 22_000, 16_500].map(|ticks| clocks[1].error_at(ticks));
        assert_eq!(at, [Some(2 + 1), Some(1 + 1), Some(2 + 1)]);
        // Known from tick 1 on, 10 999 before the first measurement: twice the error there, and
        // that of the second.
        assert_eq!(clocks[1].error_at(1), Some(5 + 1));
        assert_eq!((clocks[0].error_ns(), alignment.error_ns()), (Some(0), Some(6)));
    }

    #[test]
    fn a_host_measured_once_is_as_good_as_its_own_clock() {
        let root = header(0, 1, [0, 1, 9_000], [[1, 1, 0], [0; 3]]);
        let other = header(1, 2, [1_000, 5, 1], [[1_000, 10, 40], [0; 3]]);
        let alignment =
            Alignment::new([(&root, last(1_000_000, 1_000_001)), (&other, last(1_001_000, 1_000_005))]);
        let clock = alignment.clock(&other).unwrap();
        assert_eq!(clock.ns(501_000), 500_010);
        // Half a millisecond later: 1000 ppm of that, and 2 · 200 ns in a millisecond.
        let expected = 40.0 + 500_000.0 * (1e-3 + 400.0 / 1e6);
        assert!(clock.error_at(501_000).unwrap().abs_diff(expected as u64) <= 2);
        assert_eq!(clock.error_at(1_000), Some(41 + 1));
    }

    proptest! {
        /// With straight clocks and measurements within their errors, times are within their
        /// bounds.
        #[test]
        fn no_time_is_wrong_by_more_than_the_bound(
            rate in 0.2_f64..5.0,
            length in prop_oneof![1_000_u64..100_000, 1_000_u64..1_000_000_000],
            errors in [0_u64..5_000, 0..5_000],
            off in [-1.0_f64..1.0, -1.0..1.0],
            part in -1.0_f64..2.0,
        ) {
            // Rank 0 has nanoseconds since 0; the other's ticks are `rate` each, from 10¹².
            let start = 1_000_000_000_000_u64;
            let truth = |own: u64| (own as f64 - start as f64) / rate + 1e10;
            let sync = |own: u64, error: u64, off: f64| {
                [own, (truth(own) + off * error as f64 / rate).round() as u64, error + 1]
            };
            let ends = [start, start + length];
            prop_assume!(length > 2 * (errors[0] + errors[1] + 2));
            let syncs = [sync(ends[0], errors[0], off[0]), sync(ends[1], errors[1], off[1])];
            let root = header(0, 1, [0, 0, 5], [[1, 1, 0], [0; 3]]);
            let other = header(1, 2, [start, 7, 7], syncs);
            let pair = Pair { ticks: 20_000_000_000, monotonic_ns: 20_000_000_000, realtime_ns: 0 };
            let alignment = Alignment::new([(&root, pair), (&other, last(start + length, 8))]);
            let clock = alignment.clock(&other).unwrap();
            let moment = (start as f64 + part * length as f64) as u64;
            let wrong = (clock.ns(moment) as f64 - truth(moment)).abs();
            let bound = clock.error_at(moment).unwrap() as f64;
            prop_assert!(wrong <= bound + 1.0 / rate, "{wrong} of {bound}");
            if (0.0..=1.0).contains(&part) {
                prop_assert!(bound <= clock.error_ns().unwrap() as f64);
            }
        }
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
