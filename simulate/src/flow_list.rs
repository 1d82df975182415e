//! Lists of flows between hosts with their starts, each independent of the others.
//!
//! CSV lines `src,dst,bytes[,start_ns]`, hosts by name or by number in the order of the network; a
//! header line is skipped. A name takes precedence over a number. Memory: 24 bytes a flow.

use std::collections::HashMap;
use std::io::BufRead;

use phaseflow_collect::trace::Rank;
use phaseflow_collect::{At, Cell, Error, MatrixBuilder, Result, TrafficMatrix};
use phaseflow_segment::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};

use crate::topology::{HostId, Topology};
use crate::workload::Workload;

/// Longest line, bytes: two names and two numbers take a hundredth of it.
const LONGEST_LINE: u64 = 64 << 10;

/// Latest start, nanoseconds: later ones exceed a clock of picoseconds.
const LATEST_START_NS: u64 = u64::MAX / 1000;

/// Fields of a line: hosts, bytes, and nanoseconds since the start of the run, 0 where they are
/// left out.
const COLUMNS: &str = "src,dst,bytes[,start_ns]";

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// Number of the sending host among the hosts of the list.
    pub src: u32,
    /// Number of the receiving one.
    pub dst: u32,
    /// The messages.
    pub bytes: u64,
    /// When, nanoseconds.
    pub start_ns: u64,
}

/// A list of flows, its hosts not yet those of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowList {
    /// Its name in messages.
    label: String,
    /// Hosts as written, in the order of their first occurrence, with its line.
    hosts: Vec<(String, u64)>,
    flows: Vec<ListedFlow>,
}

impl FlowList {
    /// Reads a list; `label` goes into messages.
    ///
    /// # Errors
    /// A list without flows, or a line that is no flow: with the file and the line.
    pub fn read(input: impl BufRead, label: &str) -> Result<Self> {
        let mut list = Self { label: label.into(), hosts: Vec::new(), flows: Vec::new() };
        list.fill(input).at(|| label)?;
        Ok(list)
    }

    fn fill(&mut self, mut input: impl BufRead) -> Result<()> {
        let mut numbers = HashMap::new();
        let (mut line, mut number, mut total) = (Vec::new(), 0_u64, 0_u64);
        loop {
            line.clear();
            number += 1;
            let place = || format!("line {number}");
            let taken = std::io::Read::take(&mut input, LONGEST_LINE).read_until(b'\n', &mut line)?;
            if taken == 0 {
                break;
            }
            if taken as u64 == LONGEST_LINE {
                let problem = format!("has {LONGEST_LINE} bytes or more, expected {COLUMNS}");
                return Err(Error::data(problem).at(place()));
            }
            let text = std::str::from_utf8(&line).map_err(|_| Error::data("is not UTF-8 text")).at(place)?;
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() || (number == 1 && is_header(text)) {
                continue;
            }
            let flow = self.flow(text, number, &mut numbers).at(place)?;
            total =
                total.checked_add(flow.bytes).filter(|sum| i64::try_from(*sum).is_ok()).ok_or_else(|| {
                    Error::data("all flows up to here together have more than 2^63-1 bytes").at(place())
                })?;
            self.flows.push(flow);
            if self.flows.len() as u64 >= u64::from(u32::MAX) {
                return Err(Error::data(format!("there are more than {} flows", u32::MAX - 1)).at(place()));
            }
        }
        if self.flows.is_empty() {
            return Err(Error::data(format!("holds no flow, expected lines {COLUMNS}")));
        }
        Ok(())
    }

    fn flow(&mut self, text: &str, line: u64, numbers: &mut HashMap<String, u32>) -> Result<ListedFlow> {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let (src, dst, bytes, start) = match fields[..] {
            [src, dst, bytes] => (src, dst, bytes, "0"),
            [src, dst, bytes, start] => (src, dst, bytes, start),
            _ => {
                let (found, s) = (fields.len(), if fields.len() == 1 { "" } else { "s" });
                return Err(Error::data(format!("has {found} field{s}, expected {COLUMNS}")));
            }
        };
        let whole = |name: &str, text: &str, most: u64| {
            text.parse().ok().filter(|value| *value <= most).ok_or_else(|| {
                Error::data(format!("{name} is `{text}`, expected a whole number from 0 to {most}"))
            })
        };
        let bytes = whole("bytes", bytes, i64::MAX.cast_unsigned())?;
        let start_ns = if start.is_empty() { 0 } else { whole("start_ns", start, LATEST_START_NS)? };
        let mut host = |column: &str, name: &str| {
            if name.is_empty() {
                return Err(Error::data(format!("{column} is empty, expected a host's name or number")));
            }
            Ok(numbers.get(name).copied().unwrap_or_else(|| {
                let next = self.hosts.len() as u32;
                self.hosts.push((name.into(), line));
                numbers.insert(name.into(), next);
                next
            }))
        };
        Ok(ListedFlow { src: host("src", src)?, dst: host("dst", dst)?, bytes, start_ns })
    }

    /// The flows, in the order of the list.
    pub fn flows(&self) -> &[ListedFlow] {
        &self.flows
    }

    /// Hosts of the network by their number in the list.
    ///
    /// # Errors
    /// A host that the network does not have: with the file and the line.
    pub fn hosts(&self, topology: &Topology) -> Result<Vec<HostId>> {
        let count = topology.host_count() as u32;
        let known: HashMap<&str, HostId> = (0..count)
            .map(HostId)
            .map(|host| (topology.node(topology.host(host)).name.as_str(), host))
            .collect();
        let found = self.hosts.iter().map(|(name, line)| {
            let number = || name.parse().ok().filter(|number| *number < count).map(HostId);
            known.get(name.as_str()).copied().or_else(number).ok_or_else(|| {
                let label = topology.label();
                Error::data(format!(
                    "host is `{name}`, expected the name of a host of {label}, or a number below {count}"
                ))
                .at(format!("line {line}"))
                .at(&self.label)
            })
        });
        found.collect()
    }

    /// The list as the workload of a job: one phase, and a rank for each host of the list.
    ///
    /// # Errors
    /// More bytes than can be counted.
    pub(crate) fn workload(&self) -> Result<Workload> {
        let mut matrix = MatrixBuilder::default();
        for flow in &self.flows {
            matrix.add(Cell { src: Rank(flow.src), dst: Rank(flow.dst), messages: 1, bytes: flow.bytes })?;
        }
        let matrix: TrafficMatrix = matrix.finish();
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            source: "list of flows".into(),
            method: "none".into(),
            ranks: self.hosts.len() as u32,
            duration_ns: None,
            unmatched_receives: Default::default(),
        };
        let title = "flows".into();
        let phase = Phase { name: "0".into(), title, occurrences: 1, duration_ns: None, matrix };
        let segmentation =
            Segmentation { header, phases: vec![phase], occurrences: Vec::<Occurrence>::new() };
        Ok(Workload::new("flows", segmentation))
    }

    /// Hosts as they are written, by their number in the list.
    pub(crate) fn host_names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|(name, _)| name.as_str())
    }
}

/// True for a line of column names.
fn is_header(text: &str) -> bool {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    names == ["src", "dst", "bytes"] || names == ["src", "dst", "bytes", "start_ns"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{TopologyChoice, TopologyOptions, topology};

    fn read(text: &str) -> Result<FlowList> {
        FlowList::read(text.as_bytes(), "list.csv")
    }

    fn star() -> Topology {
        let choice = TopologyChoice::parse("star[hosts=3]").unwrap();
        topology(&choice, &TopologyOptions::default()).unwrap()
    }

    #[test]
    fn hosts_are_names_or_numbers() {
        let list = read("src,dst,bytes,start_ns\nh2,0,5,7\n\n 0 , 1 ,6,\r\n1,h2,7").unwrap();
        let hosts = list.hosts(&star()).unwrap();
        let flows: Vec<_> = list
            .flows()
            .iter()
            .map(|flow| (hosts[flow.src as usize].0, hosts[flow.dst as usize].0, flow.bytes, flow.start_ns))
            .collect();
        assert_eq!(flows, [(2, 0, 5, 7), (0, 1, 6, 0), (1, 2, 7, 0)]);
    }

    #[test]
    fn what_is_no_flow_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "list.csv: holds no flow, expected lines src,dst,bytes[,start_ns]"),
            ("0,1\n", "list.csv: line 1: has 2 fields, expected src,dst,bytes[,start_ns]"),
            ("0,1,2\n0,1,2,3,4\n", "list.csv: line 2: has 5 fields, expected src,dst,bytes[,start_ns]"),
            (
                "0,1,2\n0,1,1e3\n",
                "list.csv: line 2: bytes is `1e3`, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                "0,1,2,18446744073709552\n",
                "list.csv: line 1: start_ns is `18446744073709552`, expected a whole number from 0 to 18446744073709551",
            ),
            (",1,2\n", "list.csv: line 1: src is empty, expected a host's name or number"),
            (
                "0,1,9223372036854775807\n0,1,1\n",
                "list.csv: line 2: all flows up to here together have more than 2^63-1 bytes",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), expected);
        }
        let list = read("0,1,2\n0,h3,2\n").unwrap();
        let expected = "list.csv: line 2: host is `h3`, expected the name of a host of star[hosts=3], or a number below 3";
        assert_eq!(list.hosts(&star()).unwrap_err().to_string(), expected);
        assert!(read("0,3,2\n").unwrap().hosts(&star()).is_err());
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let error = FlowList::read(endless, "list.csv").unwrap_err().to_string();
        assert_eq!(error, "list.csv: line 1: has 65536 bytes or more, expected src,dst,bytes[,start_ns]");
    }
}
