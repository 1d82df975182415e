//! Algorithms of collectives: as recorded, or another one.
//!
//! Blocking `MPI_Allreduce` calls of known bytes are replaced; other operations stay as recorded.
//! `ring`, `recursive-doubling` and `halving-doubling` are Open MPI's, from
//! [`phaseflow_collect::expand`], with their fall-backs: ring with fewer elements than ranks
//! becomes recursive doubling.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::expand::Algorithm;
use phaseflow_collect::{Error, Result};

use crate::packet::Aggregation;
use crate::packet::aggregation::{atp::Atp, lab::Lab, switchml::SwitchMl};
use crate::replay::{ParameterServer, Replacement};

/// Names of the collectives, in the order of the documentation.
pub const NAMES: &[&str] = &[
    "recorded",
    "ring",
    "recursive-doubling",
    "halving-doubling",
    "binomial",
    "ps",
    "switchml",
    "switchml-lab",
    "atp",
];

/// Most servers of a job. Each is a further rank; with it the ranks of a job stay far below the 2²⁴
/// of a trace.
const MOST_SERVERS: u32 = 1 << 16;

fn check_servers(choice: &Choice, name: &str, count: u32) -> Result<()> {
    if (1..=MOST_SERVERS).contains(&count) {
        return Ok(());
    }
    Err(Error::usage(format!("`{choice}`: {name} is {count}, expected 1 to {MOST_SERVERS}")))
}

/// An algorithm of collectives, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveChoice {
    choice: Choice,
    /// The replacement; `None` for the recorded messages.
    pub replacement: Option<Replacement>,
    /// Number of servers; sums in the network may need some too.
    pub servers: Servers,
}

/// Hosts that serve collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// How many.
    pub count: u32,
    /// True if servers run on the job's own hosts; otherwise they run on hosts without ranks, as
    /// long as there are some.
    pub is_colocated: bool,
}

impl CollectiveChoice {
    /// The user's choice.
    ///
    /// # Errors
    /// A name or a parameter that does not exist, a value that is none.
    pub fn new(choice: &Choice) -> Result<Self> {
        let plain = |replacement| choice.only(&[]).map(|()| Some(replacement));
        let messages = |algorithm| plain(Replacement::Messages(algorithm));
        let mut servers = Servers::default();
        let replacement = match choice.name() {
            "recorded" => choice.only(&[]).map(|()| None)?,
            "ring" => messages(Algorithm::Ring)?,
            "recursive-doubling" => messages(Algorithm::RecursiveDoubling)?,
            "halving-doubling" => messages(Algorithm::Rabenseifner)?,
            "binomial" => plain(Replacement::Binomial)?,
            "ps" => {
                let ps = ParameterServer::new(choice)?;
                servers = Servers { count: ps.shards, is_colocated: ps.is_colocated };
                check_servers(choice, "shards", servers.count)?;
                Some(Replacement::Servers(ps))
            }
            "switchml" | "switchml-lab" => {
                aggregation(choice, 0, false)?;
                Some(Replacement::Network)
            }
            "atp" => {
                servers.count = choice.value("servers", 1)?;
                check_servers(choice, "servers", servers.count)?;
                aggregation(choice, 0, false)?;
                Some(Replacement::Network)
            }
            other => return Err(unknown_name("collective", other, NAMES)),
        };
        Ok(Self { choice: choice.clone(), replacement, servers })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.choice.name()
    }

    /// The aggregation in the network, if any; with `verify` packets carry numbers, which are
    /// checked.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn aggregation(&self, seed: u64, verify: bool) -> Result<Option<Box<dyn Aggregation>>> {
        match self.replacement {
            Some(Replacement::Network) => aggregation(&self.choice, seed, verify).map(Some),
            _ => Ok(None),
        }
    }
}

fn aggregation(choice: &Choice, seed: u64, verify: bool) -> Result<Box<dyn Aggregation>> {
    Ok(match choice.name() {
        "switchml" => Box::new(SwitchMl::new(choice, seed, verify)?),
        "switchml-lab" => Box::new(Lab::new(choice, seed, verify)?),
        // The choice of the hosts of servers is not part of the protocol.
        _ => Box::new(Atp::new(&choice.clone().without("servers"), seed, verify)?),
    })
}
