//! A placement from a program of the user's: `exec:PROGRAM`, asked once per job.

use phaseflow_collect::Result;
use serde::{Deserialize, Serialize};

use super::{MapRequest, Placement, ProcessMapper};
use crate::plugin::{Plugin, Role, cells};
use crate::topology::HostId;

/// The role of external process mappers.
const ROLE: Role =
    Role { axis: "process mapper", answer: r#"{"placement": ["name", …]}, one host per rank"# };

/// The process mapper `exec`.
#[derive(Debug)]
pub struct Exec {
    plugin: Plugin,
}

#[derive(Serialize)]
struct Question<'a> {
    ranks: u32,
    hosts: Vec<&'a str>,
    /// Source rank, destination rank, messages, bytes.
    matrix: Vec<(u32, u32, u64, u64)>,
}

#[derive(Deserialize)]
struct Answer {
    placement: Vec<String>,
}

impl Exec {
    /// Starts the program; `seed` is passed on to it.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn new(program: &str, seed: u64) -> Result<Self> {
        Ok(Self { plugin: Plugin::start(program, ROLE, seed)? })
    }
}

impl ProcessMapper for Exec {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let topology = request.topology;
        let name = |host: &HostId| topology.node(topology.host(*host)).name.as_str();
        let hosts = request.hosts.iter().map(name).collect();
        let question = Question { ranks: request.ranks, hosts, matrix: cells(request.matrix) };
        let answer: Answer = self.plugin.ask(topology, &question)?;

        if answer.placement.len() != request.ranks as usize {
            let (found, expected) = (answer.placement.len(), request.ranks);
            return Err(self.plugin.lie(&format!("{found} hosts, expected {expected}, one per rank")));
        }
        // Slots left by host; other jobs' hosts have none.
        let mut left = vec![None; topology.host_count()];
        for host in request.hosts {
            left[host.0 as usize] = Some(topology.slots()[host.0 as usize]);
        }
        let mut placement = Placement::default();
        for (rank, name) in answer.placement.iter().enumerate() {
            let host = self.plugin.host(name)?;
            match &mut left[host.0 as usize] {
                None => {
                    let problem = format!("rank {rank}: host `{name}` is not one of the job's hosts");
                    return Err(self.plugin.lie(&problem));
                }
                Some(0) => {
                    let slots = topology.slots()[host.0 as usize];
                    let problem =
                        format!("rank {rank}: host `{name}` gets more ranks than its {slots} slots");
                    return Err(self.plugin.lie(&problem));
                }
                Some(slots) => *slots -= 1,
            }
            placement.hosts.push(host);
        }
        Ok(placement)
    }
}
