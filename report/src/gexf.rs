//! The network as it changes in time, for Gephi: GEXF 1.3 with intervals.
//!
//! One job of one run: in every occurrence of a phase each link that the phase uses has a value of
//! `load` and `utilization` (spells), between them none. The graph shows the first job of the run
//! that it is given; sizes are bounded.

use std::io::{self, Write};

use phaseflow_segment::Occurrence;
use phaseflow_simulate::xml::Xml;

use crate::number;
use crate::view::{RunView, rates};

/// Values of a file that Gephi still opens with ease; occurrences beyond it are left out, and the
/// description says so.
const LARGEST_VALUES: usize = 200_000;

/// What one link carries in one phase.
struct Used {
    phase: u32,
    load: f64,
    utilization: Option<f64>,
}

/// Writes the first job of the run; a run whose links are not told by phase gives the bare network.
///
/// # Errors
/// What the output reports.
pub(crate) fn write<W: Write>(out: W, view: &RunView<'_>) -> io::Result<W> {
    let job = view.run.jobs.first();
    let by_link = by_link(view, job.map(|job| job.job));
    let start_s = job.and_then(|job| job.started_s).unwrap_or(0.0);
    let (spells, left_out) = spells(view, job.map(|job| job.job), &by_link);
    let mut xml = Xml::new(out)?;
    xml.open("gexf", &[("xmlns", "http://gexf.net/1.3"), ("version", "1.3")])?;
    xml.open("meta", &[])?;
    xml.text("creator", &[], "PhaseFlow")?;
    let mut about = format!("Run {}: loads of the links in time", view.run.labels.run);
    if left_out > 0 {
        about.push_str(&format!("; {left_out} occurrences are left out"));
    }
    xml.text("description", &[], &about)?;
    xml.close("meta")?;
    let graph = [
        ("defaultedgetype", "directed"),
        ("mode", "dynamic"),
        ("timeformat", "double"),
        ("timerepresentation", "interval"),
    ];
    xml.open("graph", &graph)?;
    declare(&mut xml)?;
    write_nodes(&mut xml, view)?;
    xml.open("edges", &[])?;
    for (at, used) in by_link.iter().enumerate() {
        write_link(&mut xml, view, at, used, &spells, start_s)?;
    }
    xml.close("edges")?;
    xml.close("graph")?;
    xml.close("gexf")?;
    xml.finish()
}

fn by_link(view: &RunView<'_>, job: Option<u32>) -> Vec<Vec<Used>> {
    let table = &view.run.links;
    let mut by_link: Vec<Vec<Used>> = view.network.links.iter().map(|_| Vec::new()).collect();
    for row in (0..table.link.len()).filter(|row| job.is_some() && table.job[*row] == job) {
        let (link, load) = (table.link[row], table.load[row]);
        let (Some(phase), Some(found)) = (table.phase[row], view.phase(job, table.phase[row])) else {
            continue;
        };
        let utilization = view.utilization(link, load, rates(found));
        by_link[link.0 as usize].push(Used { phase, load, utilization });
    }
    by_link
}

/// Occurrences by phase, as many as the values of their links fit, and how many do not.
fn spells<'a>(
    view: &RunView<'a>,
    job: Option<u32>,
    by_link: &[Vec<Used>],
) -> (Vec<Vec<&'a Occurrence>>, usize) {
    let segmented = view.run.labels.phases != "merged";
    let Some(workload) = job.and_then(|job| view.workload_of(job)).filter(|_| segmented) else {
        return (Vec::new(), 0);
    };
    let phases = workload.segmentation.phases.len();
    let mut links_of = vec![0; phases];
    for used in by_link.iter().flatten().filter(|used| (used.phase as usize) < phases) {
        links_of[used.phase as usize] += 1;
    }
    let mut spells: Vec<Vec<&Occurrence>> = vec![Vec::new(); phases];
    let (mut values, mut left_out) = (0, 0);
    for occurrence in workload.segmentation.occurrences.iter().filter(|occurrence| occurrence.depth == 0) {
        let Some(phase) = occurrence.phase else { continue };
        values += links_of[phase as usize];
        if values <= LARGEST_VALUES {
            spells[phase as usize].push(occurrence);
        } else {
            left_out += 1;
        }
    }
    (spells, left_out)
}

fn declare<W: Write>(xml: &mut Xml<W>) -> io::Result<()> {
    xml.open("attributes", &[("class", "node"), ("mode", "static")])?;
    xml.empty("attribute", &[("id", "typ"), ("title", "typ"), ("type", "string")])?;
    xml.close("attributes")?;
    xml.open("attributes", &[("class", "edge"), ("mode", "static")])?;
    xml.empty("attribute", &[("id", "capacity"), ("title", "capacity"), ("type", "double")])?;
    xml.close("attributes")?;
    xml.open("attributes", &[("class", "edge"), ("mode", "dynamic")])?;
    xml.empty("attribute", &[("id", "load"), ("title", "load"), ("type", "double")])?;
    xml.empty("attribute", &[("id", "utilization"), ("title", "utilization"), ("type", "double")])?;
    xml.close("attributes")
}

fn write_nodes<W: Write>(xml: &mut Xml<W>, view: &RunView<'_>) -> io::Result<()> {
    xml.open("nodes", &[])?;
    for (id, node) in view.network.nodes.iter().enumerate() {
        xml.open("node", &[("id", &id.to_string()), ("label", &node.name)])?;
        xml.open("attvalues", &[])?;
        let kind = if node.slots.is_some() { "host" } else { "switch" };
        xml.empty("attvalue", &[("for", "typ"), ("value", kind)])?;
        xml.close("attvalues")?;
        xml.close("node")?;
    }
    xml.close("nodes")
}

fn write_link<W: Write>(
    xml: &mut Xml<W>,
    view: &RunView<'_>,
    at: usize,
    used: &[Used],
    spells: &[Vec<&Occurrence>],
    start_s: f64,
) -> io::Result<()> {
    let link = &view.network.links[at];
    let exact = |value: f64| {
        let mut text = String::new();
        number::exact(value, &mut text);
        text
    };
    let (src, dst) = (link.src.0.to_string(), link.dst.0.to_string());
    let label = format!("{} → {}", view.network.name(link.src), view.network.name(link.dst));
    let capacity = exact(link.capacity);
    let weight = if link.capacity > 0.0 { capacity.as_str() } else { "1" };
    let id = at.to_string();
    let edge = [
        ("id", id.as_str()),
        ("source", src.as_str()),
        ("target", dst.as_str()),
        ("label", label.as_str()),
        ("weight", weight),
    ];
    xml.open("edge", &edge)?;
    xml.open("attvalues", &[])?;
    xml.empty("attvalue", &[("for", "capacity"), ("value", &capacity)])?;
    let of = |used: &Used| spells.get(used.phase as usize).map_or(&[][..], Vec::as_slice);
    for (used, occurrence) in used.iter().flat_map(|used| of(used).iter().map(move |spell| (used, spell))) {
        let start = exact(start_s + occurrence.start_ns as f64 * 1e-9);
        let end = exact(start_s + occurrence.end_ns as f64 * 1e-9);
        for (name, value) in [("load", Some(used.load)), ("utilization", used.utilization)] {
            if let Some(value) = value.map(exact) {
                xml.empty("attvalue", &[("for", name), ("value", &value), ("start", &start), ("end", &end)])?;
            }
        }
    }
    xml.close("attvalues")?;
    xml.close("edge")
}
