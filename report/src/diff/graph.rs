//! Changes as GraphML: the first network with what its links carried before and carry now.

use std::io::{self, Write};

use phaseflow_collect::Result;
use phaseflow_simulate::topology::{Annotations, Attribute, LinkId, write_graphml};

use super::{Diff, SameLinks, phases, told};
use crate::graph_file;
use crate::view::{RunView, rates};

/// What the links of the first network carry in a phase; bytes and utilization.
type Carried = Vec<(u64, Option<f64>)>;

impl Diff<'_> {
    /// Writes a graph for each phase that both runs of a pair have. Links have `bytes`,
    /// `utilization`, the same with `other_`, and `change`: by how much the utilization grew. Links
    /// that only the second network has are in the table alone.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_graphs<W: Write>(&self, mut create: impl FnMut(&str) -> Result<W>) -> Result<()> {
        for pair in &self.pairs {
            let views = self.views(*pair);
            let links = SameLinks::new(&views);
            for (job, (name, places)) in phases(&views) {
                let [Some(first), Some(second)] = places else { continue };
                let file = graph_file::of_phase(&views[0], job, first, &name);
                let before = carried(&views[0], (job, first), |link| Some(link.0 as usize), &views[0]);
                let of_first = |link| {
                    let number = links.number(1, link) as usize;
                    (number < views[0].network.links.len()).then_some(number)
                };
                let after = carried(&views[1], (job, second), of_first, &views[0]);
                write(create(&file)?, &views, (job, &name), (&before, &after))?;
            }
        }
        Ok(())
    }
}

/// What a phase puts on the links of the first network, to whose numbers `number` leads.
fn carried(
    view: &RunView<'_>,
    (job, position): (u32, u32),
    number: impl Fn(LinkId) -> Option<usize>,
    first: &RunView<'_>,
) -> Carried {
    let are_rates = view.phase(Some(job), Some(position)).is_some_and(rates);
    let mut carried = vec![(0, are_rates.then_some(0.0)); first.network.links.len()];
    for row in view.links_of(Some(job), Some(position)) {
        let (link, load) = (view.run.links.link[*row], view.run.links.load[*row]);
        if let Some(number) = number(link) {
            carried[number] = (view.run.links.bytes[*row], view.utilization(link, load, are_rates));
        }
    }
    carried
}

fn write<W: Write>(
    out: W,
    views: &[RunView<'_>; 2],
    (job, phase): (u32, &str),
    (before, after): (&Carried, &Carried),
) -> io::Result<W> {
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    let change = |at: usize| Some(after[at].1? - before[at].1?);
    let links = vec![
        attribute("bytes", "long", |at| Some(before[at].0.to_string())),
        attribute("other_bytes", "long", |at| Some(after[at].0.to_string())),
        attribute("utilization", "double", |at| number(before[at].1)),
        attribute("other_utilization", "double", |at| number(after[at].1)),
        attribute("change", "double", |at| number(change(at))),
    ];
    let graph = vec![
        ("job", job.to_string()),
        ("phase", phase.to_string()),
        ("run", views[0].run.labels.run.to_string()),
        ("choices", told(&views[0].run.labels)),
        ("other_run", views[1].run.labels.run.to_string()),
        ("other_choices", told(&views[1].run.labels)),
    ];
    write_graphml(out, views[0].network, &Annotations { graph, nodes: Vec::new(), links })
}

fn attribute<'a>(
    name: &'static str,
    kind: &'static str,
    value: impl Fn(usize) -> Option<String> + 'a,
) -> Attribute<'a> {
    Attribute { name, kind, value: Box::new(value) }
}
