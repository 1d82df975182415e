//! Options of a replay: computation, overheads, sharing, sampling.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::units::{parse_rate_gbps, parse_size, parse_time_ns};
use phaseflow_collect::{At, Error, Result};

use super::message_parts::Rendezvous;
use super::noise::Noise;
use crate::engine::Picoseconds;
use crate::flow::{Fairness, FlowOptions, Order};

/// Parameters of the flow model, in brackets: `flow[compute-scale=0.5,eager=64KiB]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Factor on computation: `compute-scale`, divided by `host-speed`; 1 by default.
    pub compute_scale: f64,
    /// Time that a message keeps its sender busy before it leaves, LogGP's *o* of the sender:
    /// `send-overhead`, 0 by default, as the recorded times between calls hold it already.
    pub send_overhead_ps: Picoseconds,
    /// Time that a message keeps its receiver busy once it is there: `receive-overhead`, 0 by
    /// default.
    pub receive_overhead_ps: Picoseconds,
    /// Messages above this many bytes start when the receiver is ready too (rendezvous); others at
    /// once (eager): `eager`, 64 KiB by default, the value of Open MPI's TCP, of SimGrid's SMPI and
    /// of LogGOPSim. Messages that were sent before their receive was posted, and whose buffer was
    /// free by then, are eager whatever their size.
    pub eager_bytes: u64,
    /// How messages above the eager limit begin: `rendezvous`, `free` by default.
    pub rendezvous: Rendezvous,
    /// How flows share links: `fairness`, `maxmin` or `rtt`; `memory`, the rate of messages within
    /// one host, which take no time without it; `tolerance`, 0 by default; `order`, `connection` by
    /// default; and `goodput`, the part of a link's capacity that is payload, 1 by default or that
    /// of the transport.
    pub network: FlowOptions,
    /// `sampling`: `on` or `off`, on by default.
    pub sampling: Sampling,
    /// Whether delays of messages on critical paths are attributed to links and jobs: `blame`,
    /// `off` by default. Flows only.
    pub blame: bool,
    /// Number of the longest steps of a phase's critical path that are reported: `path-steps`, 100
    /// by default with `blame`, else 0.
    pub path_steps: u32,
    /// Whether each job is also run without the others: `interference`, `off` by default.
    pub interference: bool,
    /// `noise`, `stragglers` and `slowdown`: variation of computation.
    pub noise: Noise,
}

/// How much of a run is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Each phase on its representative, which stands for all its occurrences.
    On,
    /// The whole run.
    Off,
}

/// Default factor on the computation of a slow host: a host with half its cores taken.
const SLOWDOWN: f64 = 2.0;

/// Steps of a path that are reported by default: more than a person reads.
const STEPS: u32 = 100;
/// Most steps of a path that are reported: about 100 MB in memory.
const MOST_STEPS: u32 = 1_000_000;

impl Default for Options {
    fn default() -> Self {
        Self {
            compute_scale: 1.0,
            send_overhead_ps: 0,
            receive_overhead_ps: 0,
            eager_bytes: 64 << 10,
            rendezvous: Rendezvous::Free,
            network: FlowOptions::default(),
            sampling: Sampling::On,
            blame: false,
            path_steps: 0,
            interference: false,
            noise: Noise { slowdown: SLOWDOWN, ..Noise::default() },
        }
    }
}

impl Options {
    /// Names of the parameters.
    pub const NAMES: &[&str] = &[
        "compute-scale",
        "host-speed",
        "send-overhead",
        "receive-overhead",
        "eager",
        "rendezvous",
        "sampling",
        "blame",
        "path-steps",
        "interference",
        "fairness",
        "memory",
        "tolerance",
        "order",
        "goodput",
        "noise",
        "stragglers",
        "slowdown",
    ];

    /// Reads the parameters of a choice; it passes over unknown ones, which belong to the model.
    ///
    /// # Errors
    /// A value that is not what it should be.
    pub fn new(choice: &Choice) -> Result<Self> {
        let default = Self::default();
        let factor = |name: &str, least: f64| -> Result<f64> {
            let factor: f64 = choice.value(name, 1.0)?;
            if factor.is_finite() && factor >= least && factor <= 1e9 {
                return Ok(factor);
            }
            Err(Error::usage(format!("`{choice}`: {name} is {factor}, expected {least} to 1000000000")))
        };
        let within = |name: &str, default: f64, (least, most): (f64, f64)| -> Result<f64> {
            let value: f64 = choice.value(name, default)?;
            if value >= least && value <= most {
                return Ok(value);
            }
            Err(Error::usage(format!("`{choice}`: {name} is {value}, expected {least} to {most}")))
        };
        let time = |name: &str| -> Result<Picoseconds> {
            let ns = choice.get(name).map(parse_time_ns).transpose().at(|| format!("`{choice}`: {name}"))?;
            let wrong = || Error::usage(format!("`{choice}`: {name} is more than 213 days"));
            ns.unwrap_or(0).checked_mul(1000).ok_or_else(wrong)
        };
        let sampling = match choice.get("sampling") {
            None | Some("on") => Sampling::On,
            Some("off") => Sampling::Off,
            Some(other) => return Err(unknown_name("sampling", other, &["on", "off"])),
        };
        let blame = switch(choice, "blame")?;
        let path_steps: u32 = choice.value("path-steps", if blame { STEPS } else { 0 })?;
        if path_steps > MOST_STEPS {
            let problem = format!("`{choice}`: path-steps is {path_steps}, expected 0 to {MOST_STEPS}");
            return Err(Error::usage(problem));
        }
        let fairness = match choice.get("fairness") {
            None | Some("maxmin") => Fairness::MaxMin,
            Some("rtt") => Fairness::Rtt,
            Some(other) => return Err(unknown_name("fairness", other, &["maxmin", "rtt"])),
        };
        let order = match choice.get("order") {
            None => Order::default(),
            Some(name) => Order::named(name).ok_or_else(|| unknown_name("order", name, Order::NAMES))?,
        };
        let memory_gbps =
            choice.get("memory").map(parse_rate_gbps).transpose().at(|| format!("`{choice}`: memory"))?;
        let eager = choice.get("eager").map(parse_size).transpose().at(|| format!("`{choice}`: eager"))?;
        Ok(Self {
            compute_scale: factor("compute-scale", 0.0)? / factor("host-speed", 1e-9)?,
            send_overhead_ps: time("send-overhead")?,
            receive_overhead_ps: time("receive-overhead")?,
            eager_bytes: eager.unwrap_or(default.eager_bytes),
            rendezvous: Rendezvous::of(choice)?,
            network: FlowOptions {
                fairness,
                memory_gbps,
                order,
                tolerance: within("tolerance", 0.0, (0.0, 0.1))? as f32,
                headers: 1.0 / within("goodput", 1.0, (1e-3, 1.0))? - 1.0,
            },
            sampling,
            blame,
            path_steps,
            interference: switch(choice, "interference")?,
            noise: Noise {
                deviation: within("noise", 0.0, (0.0, 10.0))?,
                stragglers: within("stragglers", 0.0, (0.0, 1.0))?,
                slowdown: within("slowdown", SLOWDOWN, (1e-3, 1e6))?,
                seed: 0,
            },
        })
    }

    /// The same options without critical paths.
    pub(crate) fn without_paths(self) -> Self {
        Self { blame: false, path_steps: 0, ..self }
    }

    /// Scaled time of `gap_ns` of computation.
    pub(crate) fn compute_ps(&self, gap_ns: u64) -> Picoseconds {
        if self.compute_scale.to_bits() == 1.0_f64.to_bits() {
            return gap_ns.saturating_mul(1000);
        }
        (gap_ns as f64 * 1000.0 * self.compute_scale).round() as u64 // saturates
    }
}

/// A parameter that is `on` or `off`, off by default.
pub(crate) fn switch(choice: &Choice, name: &str) -> Result<bool> {
    match choice.get(name) {
        Some("on") => Ok(true),
        None | Some("off") => Ok(false),
        Some(other) => Err(unknown_name(name, other, &["on", "off"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Options> {
        Options::new(&Choice::parse(text).unwrap())
    }

    #[test]
    fn parameters_and_their_defaults() {
        assert_eq!(of("flow").unwrap(), Options::default());
        let text = "flow[compute-scale=3,host-speed=2,eager=4KiB,send-overhead=2us,sampling=off,fairness=rtt,memory=80G,noise=0.1,blame=on,path-steps=7,tolerance=0.015625,order=adapter,goodput=0.8,rendezvous=put]";
        let expected = Options {
            compute_scale: 1.5,
            send_overhead_ps: 2_000_000,
            receive_overhead_ps: 0,
            eager_bytes: 4096,
            rendezvous: Rendezvous::Put,
            network: FlowOptions {
                fairness: Fairness::Rtt,
                memory_gbps: Some(80.0),
                order: Order::Adapter,
                tolerance: 0.5_f32.powi(6),
                headers: 0.25,
            },
            sampling: Sampling::Off,
            blame: true,
            path_steps: 7,
            interference: false,
            noise: Noise { deviation: 0.1, stragglers: 0.0, slowdown: 2.0, seed: 0 },
        };
        assert_eq!(of(text).unwrap(), expected);
        assert_eq!(expected.compute_ps(10), 15_000);
        for (text, problem) in [
            (
                "flow[compute-scale=-1]",
                "`flow[compute-scale=-1]`: compute-scale is -1, expected 0 to 1000000000",
            ),
            (
                "flow[path-steps=2000000]",
                "`flow[path-steps=2000000]`: path-steps is 2000000, expected 0 to 1000000",
            ),
            ("flow[stragglers=2]", "`flow[stragglers=2]`: stragglers is 2, expected 0 to 1"),
            ("flow[sampling=of]", "unknown sampling `of`; did you mean on or off? (known: on, off)"),
        ] {
            assert_eq!(of(text).unwrap_err().to_string(), problem);
        }
    }
}
