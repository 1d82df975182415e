//! The protocol of `exec:`: a greeting, then questions and answers, a line of JSON each.

use std::time::Duration;

use phaseflow_collect::{Error, Result, units};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::network::{Network, Places};
use super::process::{Answer, Process};
use crate::topology::{HostId, Topology};

/// Version of the protocol.
pub const VERSION: u32 = 1;
/// Time for an answer, unless `exec:PROGRAM[timeout=TIME]` sets another one.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Longest quotation of an answer in an error, characters: two to three lines of a terminal.
const MOST_QUOTED: usize = 200;

/// The role of a plugin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    /// Name of the axis: `router`.
    pub(crate) axis: &'static str,
    /// The form of an answer.
    pub(crate) answer: &'static str,
}

/// A running program and its last answer.
#[derive(Debug)]
pub(crate) struct Plugin {
    role: Role,
    seed: u64,
    program: String,
    timeout: Duration,
    process: Process,
    /// Known after the greeting.
    places: Option<Places>,
    /// The last answer.
    said: String,
}

#[derive(Serialize)]
struct Greeting<'a> {
    phaseflow: u32,
    axis: &'a str,
    seed: u64,
    topology: Network<'a>,
}

#[derive(Deserialize)]
struct Version {
    phaseflow: u32,
}

impl Plugin {
    /// Starts a program: words separated by spaces, or a JSON list of strings; `[timeout=TIME]` may
    /// follow.
    pub(crate) fn start(program: &str, role: Role, seed: u64) -> Result<Self> {
        let (words, timeout) = parse(program).map_err(|error| error.at(format!("exec:{program}")))?;
        let process = Process::start(&words).map_err(|error| error.at(format!("exec:{program}")))?;
        let (program, places, said) = (program.to_string(), None, String::new());
        Ok(Self { role, seed, program, timeout, process, places, said })
    }

    /// Asks a question; the first one is preceded by the greeting.
    pub(crate) fn ask<Q: Serialize, A: DeserializeOwned>(
        &mut self,
        topology: &Topology,
        question: &Q,
    ) -> Result<A> {
        if self.places.is_none() {
            let (axis, seed) = (self.role.axis, self.seed);
            let greeting = Greeting { phaseflow: VERSION, axis, seed, topology: Network::of(topology) };
            let expected = format!(r#"{{"phaseflow": {VERSION}}}"#);
            let version: Version = self.exchange(&greeting, &expected)?;
            if version.phaseflow != VERSION {
                return Err(self.lie(&format!("expected {expected}")));
            }
            self.places = Some(Places::of(topology));
        }
        self.exchange(question, self.role.answer)
    }

    /// The host of a name in an answer.
    pub(crate) fn host(&self, name: &str) -> Result<HostId> {
        let host = self.places.as_ref().and_then(|places| places.host(name));
        host.ok_or_else(|| self.lie(&format!("`{name}` is not a host of the network")))
    }

    /// The error for a JSON answer with wrong content; it quotes the answer.
    pub(crate) fn lie(&self, problem: &str) -> Error {
        Error::data(format!("{} answered `{}`: {problem}", self.role.axis, shortened(&self.said)))
            .at(format!("exec:{}", self.program))
    }

    fn exchange<Q: Serialize, A: DeserializeOwned>(&mut self, question: &Q, expected: &str) -> Result<A> {
        let answer = self.process.exchange(question, self.timeout)?;
        let axis = self.role.axis;
        let problem = match answer {
            Answer::Line(line) => {
                let parsed = serde_json::from_slice(&line);
                self.said = String::from_utf8_lossy(&line).trim_end().to_string();
                match parsed {
                    Ok(answer) => return Ok(answer),
                    Err(error) => return Err(self.lie(&format!("{error}; expected {expected}"))),
                }
            }
            Answer::Unasked(line) => {
                let line = String::from_utf8_lossy(&line).trim_end().to_string();
                format!(
                    "{axis} said `{}` without being asked; expected one line per question",
                    shortened(&line)
                )
            }
            Answer::TooLong(limit) => {
                format!("{axis} answered more than {limit} bytes; expected one line {expected}")
            }
            Answer::Late => format!(
                "{axis} gave no answer within {} s; expected one line {expected}",
                self.timeout.as_secs_f64()
            ),
            Answer::Gone(status) => {
                format!("{axis} ended ({status}) instead of answering; expected one line {expected}")
            }
        };
        Err(Error::data(problem).at(format!("exec:{}", self.program)))
    }
}

fn parse(program: &str) -> Result<(Vec<String>, Duration)> {
    let program = program.trim();
    let (command, timeout) = match program.rsplit_once("[timeout=") {
        Some((command, rest)) if rest.ends_with(']') => {
            let nanoseconds = units::parse_time_ns(rest.trim_end_matches(']'))?;
            (command.trim(), Duration::from_nanos(nanoseconds))
        }
        _ => (program, TIMEOUT),
    };
    let words: Vec<String> = if command.starts_with('[') {
        serde_json::from_str(command)
            .map_err(|error| Error::usage(format!("is not a JSON list of strings: {error}")))?
    } else {
        command.split_whitespace().map(str::to_string).collect()
    };
    if words.is_empty() {
        return Err(Error::usage("names no program"));
    }
    Ok((words, timeout))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
