//! The parameters of ATP, with their defaults in the paper and in the public code.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::units::parse_time_ns;
use phaseflow_collect::{At, Error, Result};

use super::window::Law;
use crate::engine::Picoseconds;

/// All parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Options {
    /// Rules of the public code (in-ATP/ATP, commit `ddca27f`) instead of those of the paper (NSDI
    /// 2021).
    pub(super) is_code: bool,
    /// Aggregators of a switch; with 0 the servers sum everything.
    pub(super) aggregators: u32,
    /// True if a packet's aggregator follows from its place in the window, with no collision within
    /// a job (code). False for a hash of its number (paper), with which a job of 200 packets loses
    /// 6 % of a full line to its own collisions.
    pub(super) is_by_place: bool,
    /// The number of jobs among which the aggregators are divided in equal parts; `None` if all
    /// jobs share all of them.
    pub(super) parts: Option<u32>,
    /// Congestion window to begin with, in packets.
    pub(super) window: u32,
    /// Up to this window it grows with each packet.
    pub(super) threshold: u32,
    /// Largest window.
    pub(super) limit: u32,
    /// The rule of the window.
    pub(super) law: Law,
    /// Time-out: silence after which a worker resends.
    pub(super) timeout: Picoseconds,
    /// Time-out before the first answer after a pause of the worker.
    pub(super) first_timeout: Picoseconds,
    /// Time without use after which packets of other sums free an aggregator.
    pub(super) leak_timeout: Picoseconds,
    /// Factor from floats to integers; `None` for vectors of integers.
    pub(super) scale: Option<f64>,
    /// How many times a packet passes the pipeline of a switch that sums.
    pub(super) passes: u32,
}

/// Names of the parameters.
const NAMES: &[&str] = &[
    "profile",
    "aggregators",
    "index",
    "sharing",
    "jobs",
    "window",
    "ssthresh",
    "window-limit",
    "congestion-control",
    "timeout",
    "first-timeout",
    "leak-timeout",
    "numbers",
    "scale",
    "passes",
];

/// 40 000 rows of registers, two for each packet (code).
const AGGREGATORS: u32 = 20_000;
/// 200 packets, about 60 kB (paper, § 3.7).
const PAPER_WINDOW: u32 = 200;
/// 100 packets for each of 12 threads (code); the threads are one worker here.
const CODE_WINDOW: u32 = 1200;
/// Largest window by default, packets; our choice, as neither source has one: 108 µs at 100 Gbit/s.
/// Servers store twice as many packets.
const WINDOW_LIMIT: u32 = 4096;
/// Largest window that is accepted: numbers of packets have 32 bits, 4096 times as many.
const MOST_WINDOW: u32 = 1 << 20;
/// Code.
const TIMEOUT: Picoseconds = 200_000_000;
/// Code.
const FIRST_TIMEOUT: Picoseconds = 50_000_000_000;
/// Ours: no value is published.
const LEAK_TIMEOUT: Picoseconds = 100_000_000_000;
/// Paper § 3.8, and code.
const SCALES: (f64, f64) = (1e8, 1e6);
/// Passes of the pipeline: a Tofino needs two for 62 numbers (paper § 4, code).
const PASSES: u32 = 2;
/// Most that may be asked for.
const MOST_AGGREGATORS: u32 = 1 << 24;

impl Options {
    /// The user's choice.
    ///
    /// # Errors
    /// A parameter that does not exist, a value that is none, parameters that contradict each
    /// other.
    pub(super) fn new(choice: &Choice) -> Result<Self> {
        choice.only(NAMES)?;
        let is_code = one_of(choice, "profile", ["paper", "code"])?;
        let aggregators = between(choice, "aggregators", AGGREGATORS, 0, MOST_AGGREGATORS)?;
        let is_divided = one_of(choice, "sharing", ["dynamic", "static"])?;
        let jobs = between(choice, "jobs", 1, 1, u32::MAX)?;
        if choice.get("jobs").is_some() && !is_divided {
            return Err(Error::usage(format!(
                "`{choice}`: jobs share all aggregators; `jobs` goes with sharing=static"
            )));
        }
        let window = if is_code { CODE_WINDOW } else { PAPER_WINDOW };
        let window = between(choice, "window", window, 1, MOST_WINDOW)?;
        let controls = match choice.get("congestion-control") {
            // Compiled out of the code.
            None => !is_code,
            Some(_) => !one_of(choice, "congestion-control", ["on", "off"])?,
        };
        let law = match (controls, is_code) {
            (false, _) => Law::Fixed,
            (true, false) => Law::Paper,
            (true, true) => Law::Code,
        };
        // The code never leaves its first window.
        let limit = if law == Law::Paper { WINDOW_LIMIT.max(window) } else { window };
        let limit = between(choice, "window-limit", limit, window, MOST_WINDOW)?;
        if is_code && limit > window {
            return Err(Error::usage(format!(
                "`{choice}`: the window of the code does not grow beyond {window}"
            )));
        }
        let scale = if is_code { SCALES.1 } else { SCALES.0 };
        let scale: f64 = choice.value("scale", scale)?;
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Error::usage(format!("`{choice}`: scale is {scale}, expected a factor above 0")));
        }
        let are_integers = one_of(choice, "numbers", ["float", "int"])?;
        Ok(Self {
            is_code,
            aggregators,
            is_by_place: !one_of(choice, "index", ["place", "hash"])?,
            parts: is_divided.then_some(jobs),
            window,
            threshold: between(choice, "ssthresh", u32::MAX, 1, u32::MAX)?,
            limit,
            law,
            timeout: time(choice, "timeout", TIMEOUT)?,
            first_timeout: time(choice, "first-timeout", FIRST_TIMEOUT)?,
            leak_timeout: time(choice, "leak-timeout", LEAK_TIMEOUT)?,
            scale: (!are_integers).then_some(scale),
            passes: between(choice, "passes", PASSES, 1, 16)?,
        })
    }
}

/// True for the second of two words; the first one is the default.
fn one_of(choice: &Choice, name: &str, words: [&str; 2]) -> Result<bool> {
    match choice.get(name) {
        None => Ok(false),
        Some(word) if word == words[0] => Ok(false),
        Some(word) if word == words[1] => Ok(true),
        Some(other) => Err(unknown_name(name, other, &words)),
    }
}

fn between(choice: &Choice, name: &str, default: u32, least: u32, most: u32) -> Result<u32> {
    let value = choice.value(name, default)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Error::usage(format!("`{choice}`: {name} is {value}, expected {least} to {most}")))
}

fn time(choice: &Choice, name: &str, default: Picoseconds) -> Result<Picoseconds> {
    let place = || format!("`{choice}`: {name}");
    let Some(text) = choice.get(name) else { return Ok(default) };
    match parse_time_ns(text).at(place)?.checked_mul(1000) {
        Some(time) if time > 0 => Ok(time),
        _ => Err(Error::usage(format!("{}: `{text}`, expected more than 0 and less than 213 days", place()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<Options> {
        Options::new(&Choice::parse(text).unwrap())
    }

    #[test]
    fn defaults_are_those_of_the_paper_and_of_the_code() {
        let (paper, code) = (options("atp").unwrap(), options("atp[profile=code]").unwrap());
        assert_eq!((paper.window, paper.law, paper.scale), (200, Law::Paper, Some(1e8)));
        assert_eq!((code.window, code.limit, code.law, code.scale), (1200, 1200, Law::Fixed, Some(1e6)));
        for options in [paper, code] {
            assert_eq!((options.aggregators, options.parts, options.passes), (20_000, None, 2));
            assert_eq!((options.timeout, options.first_timeout), (200_000_000, 50_000_000_000));
        }
        let on = options("atp[profile=code,congestion-control=on]").unwrap();
        assert_eq!((on.law, on.limit), (Law::Code, 1200));
        assert_eq!(options("atp[sharing=static,jobs=3]").unwrap().parts, Some(3));
        assert_eq!(options("atp[numbers=int]").unwrap().scale, None);
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for (text, expected) in [
            ("atp[profil=code]", "unknown parameter of `atp` `profil`; did you mean profile?"),
            ("atp[profile=cod]", "unknown profile `cod`; did you mean code? (known: paper, code)"),
            ("atp[window=0]", "`atp[window=0]`: window is 0, expected 1 to 1048576"),
            ("atp[jobs=2]", "`atp[jobs=2]`: jobs share all aggregators; `jobs` goes with sharing=static"),
            (
                "atp[window=9,window-limit=8]",
                "`atp[window=9,window-limit=8]`: window-limit is 8, expected 9 to 1048576",
            ),
            (
                "atp[profile=code,window-limit=2000]",
                "`atp[profile=code,window-limit=2000]`: the window of the code does not grow beyond 1200",
            ),
            ("atp[scale=0]", "`atp[scale=0]`: scale is 0, expected a factor above 0"),
            (
                "atp[timeout=0s]",
                "`atp[timeout=0s]`: timeout: `0s`, expected more than 0 and less than 213 days",
            ),
        ] {
            let error = options(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
