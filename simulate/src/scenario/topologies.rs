//! The key `topology`: our strings, PFSim's classes, and the plain path of the paper's listing.

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

use super::algorithms::class_name;
use super::files::Files;
use super::node::{Map, Node};
use crate::sweep::NetworkChoice;
use crate::topology::{TopologyChoice, TopologyOptions};

const CLASSES: &[&str] = &["FileTopology", "XGFTTopology", "NDTorusTopology"];

/// The networks of a scenario; `options` are those of its top-level keys, for networks that do not say themselves.
pub(super) fn networks(node: &Node, options: &TopologyOptions, files: &Files<'_>) -> Result<Vec<NetworkChoice>> {
    let mut networks = Vec::new();
    for item in node.list() {
        if item.is_map() {
            networks.push(class(item, options, files)?);
        } else {
            let text = item.text("topology", "a GraphML file, a generator like xgft[m=4:4,w=1:2] or {kind, params}")?;
            networks.extend(item.locate(NetworkChoice::parse_list(text, options, files.folder))?);
        }
    }
    if networks.is_empty() {
        return Err(node.error("topology is an empty list, expected one network or more"));
    }
    Ok(networks)
}

/// PFSim's `{kind: module.Class, params: {…}}`. `npe` is the number of process slots per host, `bw` the capacity of every
/// link in Gbit/s.
fn class(item: &Node, options: &TopologyOptions, files: &Files<'_>) -> Result<NetworkChoice> {
    let entry = item.map("topology", &["kind", "params"])?;
    let kind = entry.required("topology", "kind")?;
    let name = kind.text("kind", "a class of PFSim")?;
    let known: &[&str] = match class_name(name).unwrap_or(name) {
        "FileTopology" => &["path"],
        "XGFTTopology" => &["h", "m", "w", "bw", "npe"],
        "NDTorusTopology" => &["n", "dims", "bw", "npe"],
        other => return kind.locate(Err(unknown_name("PFSim topology", other, CLASSES))),
    };
    let params = entry.required("topology", "params")?;
    let map = params.map("params", known)?;
    if let Some(path) = map.get("path") {
        let label = path.text("path", "a GraphML file")?;
        let choice = TopologyChoice::File(files.path(label));
        return Ok(NetworkChoice { label: label.into(), topology: choice, options: options.clone() });
    }
    let spelling = match known {
        ["path"] => return Err(params.error("params has no `path`")),
        ["h", ..] => {
            let (m, w) = (numbers(map, "m")?, numbers(map, "w")?);
            check_count(map, "h", [("m", m.len()), ("w", w.len())])?;
            format!("xgft[m={},w={}]", m.join(":"), w.join(":"))
        }
        _ => {
            let dims = numbers(map, "dims")?;
            check_count(map, "n", [("dims", dims.len())])?;
            format!("torus[dims={}]", dims.join("x"))
        }
    };
    let mut options = options.clone();
    if let Some(slots) = map.get("npe") {
        options.slots = Some(slots.whole32("npe")?);
    }
    if let Some(capacity) = map.get("bw") {
        options.capacity_gbps = Some(capacity.rate_gbps("bw")?);
    }
    let choice = item.locate(Choice::parse(&spelling))?;
    Ok(NetworkChoice { label: spelling, topology: TopologyChoice::Generated(choice), options })
}

fn numbers(map: Map<'_>, key: &str) -> Result<Vec<String>> {
    let list = map.required("params", key)?.list();
    list.iter().map(|item| Ok(item.whole32(key)?.to_string())).collect()
}

/// PFSim says the length of its lists again.
fn check_count<const N: usize>(map: Map<'_>, key: &str, lists: [(&str, usize); N]) -> Result<()> {
    let Some(node) = map.get(key) else { return Ok(()) };
    let expected = node.whole(key)?;
    match lists.into_iter().find(|(_, length)| *length as u64 != expected) {
        None => Ok(()),
        Some((list, length)) => {
            Err(node.error(format!("{key} is {expected}, but {list} has {length} numbers")))
        }
    }
}
