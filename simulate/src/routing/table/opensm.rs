//! Forwarding tables as the tools of InfiniBand print them: `dump_lfts` (and `ibroute`, OpenSM's
//! opensm-lfts.dump), and `ibdiagnet`'s .fdbs (OpenSM's osm.fdbs).
//!
//! ```text
//! Unicast lids [0x0-0x1d] of switch Lid 4 guid 0x0000000000200002 (leaf1):
//!   Lid  Out   Destination
//!        Port     Info
//! 0x0001 030 : (Channel Adapter portguid 0x0000000000100001: 'node1 mlx5_0')
//! 0x0002 033 : (Switch portguid 0x0000000000200003: 'spine1')
//! ```
//!
//! ```text
//! osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000200002
//! LID    : Port : Hops : Optimal
//! 0x0001 : 030  : 00   : yes
//! 0x0002 : UNREACHABLE
//! ```
//!
//! A switch is known by its GUID or its description, a host by its port GUID, the first word of its
//! description, or its LID. Lines of other kinds are headings and remarks.

use phaseflow_collect::{Error, Result};

use super::raw::{ANY, RawEntry, RawSwitch, RawTables, number};

/// The port of destinations that a switch cannot reach.
const NO_PORT: u64 = 255;

/// True if the text is of one of these tools.
pub(super) fn is_like(text: &str) -> bool {
    text.lines().take(100).any(|line| of_switch(line).is_some())
}

/// The tables of a text.
///
/// # Errors
/// An entry before the first switch, or one that has no port: with its line.
pub(super) fn parse(text: &str) -> Result<RawTables> {
    let mut tables = RawTables::default();
    for (at, line) in (1..).zip(text.lines()) {
        if let Some(names) = of_switch(line) {
            tables.switches.push(RawSwitch { names, entries: Vec::new() });
            continue;
        }
        let Some((lid, rest)) = lid(line) else { continue };
        if tables.switches.is_empty() {
            return Err(Error::usage("an entry stands before the first switch").at(format!("line {at}")));
        }
        let out = rest.trim_start_matches([' ', ':', '\t']).split([' ', ':', '\t']).next().unwrap_or("");
        if out.eq_ignore_ascii_case("unreachable") {
            continue;
        }
        let Some(port) = out.parse::<u64>().ok() else {
            let problem =
                format!("the output port of LID {lid} is `{out}`, expected a number or UNREACHABLE");
            return Err(Error::usage(problem).at(format!("line {at}")));
        };
        if port == NO_PORT {
            continue;
        }
        let dst = tables.host(&format!("0x{lid:x}"));
        for name in of_destination(rest) {
            tables.also_called(dst, name);
        }
        let port = tables.port(&port.to_string());
        if let Some(switch) = tables.switches.last_mut() {
            switch.entries.push(RawEntry { src: ANY, dst, port });
        }
    }
    Ok(tables)
}

/// Names of the switch whose table begins with this line.
fn of_switch(line: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if let Some((_, rest)) = line.split_once("dump_ucast_routes: Switch ") {
        names.push(rest.split_whitespace().next()?.to_string());
    } else if line.trim_start().starts_with("Unicast lids") {
        let (_, rest) = line.split_once(" guid ")?;
        names.push(rest.split([' ', ':', '(']).find(|word| !word.is_empty())?.to_string());
        let description = rest.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
        if let Some((description, _)) = description {
            names.extend(of_description(description.trim_matches('\'')).map(str::to_string));
        }
    }
    (!names.is_empty()).then_some(names)
}

/// The LID that an entry begins with, and the rest of its line.
fn lid(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start();
    let word = line.split([' ', ':', '\t']).next().filter(|word| word.starts_with("0x"))?;
    Some((number(word)?, &line[word.len()..]))
}

/// Names of a destination: its port GUID, its description and the first word of that.
fn of_destination(rest: &str) -> impl Iterator<Item = &str> {
    let guid = rest.split_once("portguid ").and_then(|(_, rest)| rest.split([':', ')', ' ']).next());
    let description = rest.split_once('\'').and_then(|(_, rest)| rest.split('\'').next());
    guid.into_iter().chain(description.into_iter().flat_map(of_description))
}

/// A description, its first word, and the name in managed switches' `MF0;name:model/U1`.
fn of_description(text: &str) -> impl Iterator<Item = &str> {
    let word = text.split_whitespace().next();
    let managed = text.split_once(';').map(|(_, rest)| rest.split(':').next().unwrap_or(rest));
    std::iter::once(text).chain(word).chain(managed)
}
