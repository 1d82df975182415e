//! Hosts from a program of the user's: `exec:PROGRAM`, asked once per job.

use std::collections::HashSet;

use phaseflow_collect::Result;
use serde::{Deserialize, Serialize};

use super::{HostRequest, HostSelector};
use crate::plugin::{Plugin, Role};
use crate::topology::HostId;

/// The role of external host selectors.
const ROLE: Role = Role { axis: "host selector", answer: r#"{"hosts": ["name", …]}"# };

/// The host selector `exec`.
#[derive(Debug)]
pub struct Exec {
    plugin: Plugin,
}

#[derive(Serialize)]
struct Question<'a> {
    processes: u32,
    free: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    hosts: Vec<String>,
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

impl HostSelector for Exec {
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>> {
        let topology = request.topology;
        let hosts = (0..topology.host_count() as u32).map(HostId);
        let free = hosts.filter(|host| request.free[host.0 as usize]);
        let name = |host| topology.node(topology.host(host)).name.as_str();
        let question = Question { processes: request.processes, free: free.map(name).collect() };
        let answer: Answer = self.plugin.ask(topology, &question)?;

        let (mut selected, mut seen, mut slots) = (Vec::new(), HashSet::new(), 0_u64);
        for name in &answer.hosts {
            let host = self.plugin.host(name)?;
            if !request.free[host.0 as usize] {
                return Err(self.plugin.lie(&format!("host `{name}` is not free, expected free hosts")));
            }
            if !seen.insert(host) {
                return Err(self.plugin.lie(&format!("host `{name}` is named twice, expected each once")));
            }
            slots += u64::from(topology.slots()[host.0 as usize]);
            selected.push(host);
        }
        if slots < u64::from(request.processes) {
            let problem = format!(
                "these hosts have {slots} slots, expected at least {} (processes)",
                request.processes
            );
            return Err(self.plugin.lie(&problem));
        }
        Ok(selected)
    }
}
