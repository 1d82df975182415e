//! The key `topology`: our strings, PFSim's classes, and the plain path of the paper's listing.

use std::path::{Path, PathBuf};

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

use super::algorithms::class_name;
use super::network::NetworkChoice;
use super::node::{Map, Node};
use crate::topology::TopologyChoice;

/// PFSim's classes and the parameters of each.
const CLASSES: [(&str, &[&str]); 3] = [
    ("FileTopology", &["path"]),
    ("XGFTTopology", &["h", "m", "w", "bw", "npe"]),
    ("NDTorusTopology", &["n", "dims", "bw", "npe"]),
];

/// The networks of a scenario in `folder`.
pub(super) fn networks(node: &Node, folder: &Path) -> Result<Vec<NetworkChoice>> {
    let mut networks = Vec::new();
    for item in node.list() {
        if item.is_map() {
            networks.push(NetworkChoice::new(class(item)?, folder));
        } else {
            let expected = "a GraphML file, a generator like xgft[m=4:4,w=1:2], or {kind, params}";
            networks
                .extend(item.locate(NetworkChoice::parse_list(item.text("topology", expected)?, folder))?);
        }
    }
    if networks.is_empty() {
        return Err(node.error("topology is an empty list, expected one network or more"));
    }
    Ok(networks)
}

/// Capacity of PFSim's generated links where a scenario has no `bw`.
const PFSIM_CAPACITY: f64 = 1.0;

/// PFSim's `{kind: module.Class, params: {…}}`. `npe` is the number of process slots per host, `bw`
/// the capacity of every link in Gbit/s, both 1 by default.
fn class(item: &Node) -> Result<TopologyChoice> {
    let entry = item.map("topology", &["kind", "params"])?;
    let kind = entry.required("topology", "kind")?;
    let name = kind.text("kind", "a class of PFSim")?;
    let name = class_name(name).unwrap_or(name);
    let Some((_, keys)) = CLASSES.iter().find(|(class, _)| *class == name) else {
        return kind.locate(Err(unknown_name("PFSim topology", name, &CLASSES.map(|(class, _)| class))));
    };
    let params = entry.required("topology", "params")?.map("params", keys)?;
    let mut spelling = match name {
        "FileTopology" => {
            let path = params.required("params", "path")?.text("path", "a GraphML file")?;
            return Ok(TopologyChoice::File(PathBuf::from(path)));
        }
        "XGFTTopology" => {
            let (m, w) = (numbers(params, "m", "h")?, numbers(params, "w", "h")?);
            // Two levels with one uplink a host, and the like, are the published tree: no other
            // name for the same network.
            let is_published = w.split_last().is_none_or(|(_, below)| below.iter().all(|w| w == "1"));
            let variant = if is_published { "" } else { ",variant=pfsim" };
            format!("xgft[m={},w={}{variant}", m.join(":"), w.join(":"))
        }
        _ => format!("torus[dims={}", numbers(params, "dims", "n")?.join("x")),
    };
    if let Some(slots) = params.get("npe") {
        spelling += &format!(",slots={}", slots.whole32("npe")?);
    }
    let capacity = params.get("bw").map_or(Ok(PFSIM_CAPACITY), |bw| bw.rate_gbps("bw"))?;
    spelling += &format!(",capacity={capacity}");
    item.locate(Choice::parse(&(spelling + "]")).map(TopologyChoice::Generated))
}

/// A list of whole numbers, the length of which PFSim says again under the key `count`.
fn numbers(params: Map<'_>, key: &str, count: &str) -> Result<Vec<String>> {
    let node = params.required("params", key)?;
    let list: Vec<String> =
        node.list().iter().map(|item| Ok(item.whole32(key)?.to_string())).collect::<Result<_>>()?;
    if let Some(said) = params.get(count)
        && said.whole(count)? != list.len() as u64
    {
        let problem = format!("{key} has {} numbers, expected {} ({count})", list.len(), said.whole(count)?);
        return Err(node.error(problem));
    }
    Ok(list)
}
