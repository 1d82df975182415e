//! A placement that somebody wrote: `file:PATH`.

use std::collections::HashMap;

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{At, Error, Result};

use super::{MapRequest, Placement, ProcessMapper};
use crate::topology::HostId;

/// Largest file, bytes: a million ranks.
const LARGEST_FILE: u64 = 64 << 20;

/// The process mapper `file`. The file is an Open MPI rankfile, or has lines `rank,host`:
///
/// ```text
/// rank 0=node3 slot=0:0      0,node3
/// rank 1=+n2 slot=1          1,node1
/// ```
///
/// `+nK` is the K-th host of the job, from 0. Slots are not looked at, as ranks of a host are alike
/// here. Comments begin with `#`. Names are those of the network; a name with a domain also stands
/// for the host of its first part.
#[derive(Clone, Debug)]
pub(super) struct File {
    path: String,
    /// By rank: line and host.
    lines: HashMap<u32, (usize, Named)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Host(String),
    /// By its place among the job's hosts.
    Place(usize),
}

impl File {
    /// Reads the file of a choice.
    pub(super) fn read(choice: &Choice) -> Result<Self> {
        let path: String = choice.required("file")?;
        let read = || {
            let bytes = std::fs::metadata(&path)?.len();
            if bytes > LARGEST_FILE {
                return Err(Error::data(format!("has {bytes} bytes, expected at most {LARGEST_FILE}")));
            }
            parse(&String::from_utf8_lossy(&std::fs::read(&path)?))
        };
        let lines = read().at(|| &path)?;
        Ok(Self { path, lines })
    }
}

fn parse(text: &str) -> Result<HashMap<u32, (usize, Named)>> {
    let mut lines = HashMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let Some((rank, host)) = rank_and_host(line) else {
            let problem = format!("is `{line}`, expected `rank N=HOST slot=…` or `N,HOST`");
            return Err(Error::data(problem).at(format!("line {number}")));
        };
        if let Some((before, _)) = lines.insert(rank, (number, host)) {
            let problem = format!("places rank {rank}, which line {before} has placed");
            return Err(Error::data(problem).at(format!("line {number}")));
        }
    }
    Ok(lines)
}

fn rank_and_host(line: &str) -> Option<(u32, Named)> {
    let (rank, host) = match line.strip_prefix("rank") {
        Some(rest) if rest.starts_with(char::is_whitespace) => {
            let (rank, rest) = rest.split_once('=')?;
            (rank, rest.split_whitespace().next()?)
        }
        _ => line.split_once(',')?,
    };
    let (rank, host) = (rank.trim().parse().ok()?, host.trim());
    let named = match host.strip_prefix("+n") {
        Some(place) => Named::Place(place.parse().ok()?),
        None => Named::Host(host.to_string()),
    };
    (!host.is_empty()).then_some((rank, named))
}

impl ProcessMapper for File {
    fn map(&mut self, request: &MapRequest<'_>) -> Result<Placement> {
        let name = |host: &HostId| request.topology.node(request.topology.host(*host)).name.as_str();
        let mut left: HashMap<HostId, usize> = request.slots().collect();
        let by_name: HashMap<&str, HostId> = request.hosts.iter().map(|host| (name(host), *host)).collect();
        let mut hosts = Vec::with_capacity(request.ranks as usize);
        for rank in 0..request.ranks {
            let Some((line, named)) = self.lines.get(&rank) else {
                let problem = format!("has no line for rank {rank}, expected {} ranks", request.ranks);
                return Err(Error::data(problem).at(&self.path));
            };
            let at = |problem: String| Error::data(problem).at(format!("line {line}")).at(&self.path);
            let found = match named {
                Named::Place(place) => request.hosts.get(*place).copied(),
                Named::Host(text) => {
                    let first = text.split('.').next().unwrap_or_default();
                    by_name.get(text.as_str()).or_else(|| by_name.get(first)).copied()
                }
            };
            let Some(host) = found else {
                let text = match named {
                    Named::Host(text) => text.clone(),
                    Named::Place(place) => format!("+n{place}"),
                };
                let count = request.hosts.len();
                let problem = format!(
                    "rank {rank}: `{text}` is not one of the job's {count} hosts (the host selector chooses them)"
                );
                return Err(at(problem));
            };
            let slots = left.entry(host).or_default();
            *slots = slots.checked_sub(1).ok_or_else(|| {
                let all = request.topology.slots()[host.0 as usize];
                at(format!("rank {rank}: host `{}` gets more ranks than its {all} slots", name(&host)))
            })?;
            hosts.push(host);
        }
        Ok(Placement { hosts })
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::TrafficMatrix;

    use super::*;
    use crate::topology::test_tree::tree;

    fn map(text: &str, ranks: u32) -> Result<Vec<u32>> {
        let topology = tree(&[vec![2, 1, 1]], 1, &[1.0]);
        let hosts = [2, 0, 1].map(HostId);
        let mut file = File { path: "places".into(), lines: parse(text)? };
        let matrix = &TrafficMatrix::default();
        let request =
            MapRequest { topology: &topology, hosts: &hosts, ranks, matrix, judge: None, proposed: None };
        Ok(file.map(&request)?.hosts.into_iter().map(|host| host.0).collect())
    }

    #[test]
    fn both_forms_say_the_same() {
        let rankfile =
            "# by hand\nrank 1=host00-02 slot=0:1\nrank 0=+n1 slot=1\nrank  2=host00-00.example.org slot=0\n";
        let list = "0,host00-00\n1, host00-02\n2,host00-00 # and more\n";
        assert_eq!(map(rankfile, 3).unwrap(), [0, 2, 0]);
        assert_eq!(map(list, 3).unwrap(), [0, 2, 0]);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, expected) in [
            ("0;a\n", "line 1: is `0;a`, expected `rank N=HOST slot=…` or `N,HOST`"),
            ("0,a\n0,b\n", "line 2: places rank 0, which line 1 has placed"),
            ("0,host00-00\n", "places: has no line for rank 1, expected 2 ranks"),
            (
                "0,host00-01\n1,elsewhere\n",
                "places: line 2: rank 1: `elsewhere` is not one of the job's 3 hosts (the host selector chooses them)",
            ),
            (
                "0,host00-01\n1,host00-01\n",
                "places: line 2: rank 1: host `host00-01` gets more ranks than its 1 slots",
            ),
        ] {
            assert_eq!(map(text, 2).unwrap_err().to_string(), expected);
        }
    }
}
