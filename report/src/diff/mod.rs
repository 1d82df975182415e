//! What changed between two results: runs, phases and links side by side.
//!
//! Runs are compared that chose the same on every axis. If no run of one result has a like in the
//! other, and both have equally many, they are compared in order: then the choice itself is what
//! changed. Phases are the same by job and name, links by the names of their ends and by their
//! order among parallel ones, so that two networks can be compared as far as their names agree.
//!
//! Memory is that of both results.

mod graph;
mod page;
mod table;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufWriter};
use std::path::Path;

use phaseflow_collect::{At, Result};
use phaseflow_simulate::result::{Network, PhaseRow, RunLabels, RunResult};
use phaseflow_simulate::topology::LinkId;
use phaseflow_simulate::workload::Workload;

use crate::axes::{self, Choices};
use crate::merge::Results;
use crate::view::{RunView, rates};

/// One of the two results.
#[derive(Debug)]
pub struct Side {
    runs: Vec<RunResult>,
    networks: Vec<Network>,
    workloads: Vec<Workload>,
}

impl Side {
    /// Reads all runs of a result.
    ///
    /// # Errors
    /// A damaged archive.
    pub fn read<R: BufRead>(results: &mut Results<R>) -> Result<Self> {
        let mut runs = Vec::new();
        while let Some(run) = results.next_run()? {
            runs.push(run);
        }
        Ok(Self { runs, networks: results.networks().to_vec(), workloads: results.workloads().to_vec() })
    }

    fn view(&self, run: usize) -> RunView<'_> {
        RunView::new(&self.runs[run], &self.networks, &self.workloads)
    }
}

/// Two results and which of their runs are compared.
#[derive(Debug)]
pub struct Diff<'a> {
    sides: [&'a Side; 2],
    /// Places of the runs in the two results.
    pairs: Vec<(usize, usize)>,
    notes: Vec<String>,
}

/// A quantity in the first and in the second result; `None` where it is unknown or not there.
type Both<T> = [Option<T>; 2];

/// What became of a run, of one of its phases, or of a link in a phase.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    /// Numbers of the runs.
    runs: [u32; 2],
    /// `None` for all of the run.
    phase: Option<(u32, String)>,
    title: String,
    /// Ends of the link.
    link: Option<(String, String)>,
    makespan_s: Both<f64>,
    /// Bytes of the link, or most bytes on one link.
    bytes: Both<u64>,
    /// Of the link, or the highest of all links.
    utilization: Both<f64>,
}

impl<'a> Diff<'a> {
    /// Compares two results.
    pub fn new(first: &'a Side, second: &'a Side) -> Self {
        let mut of_choices: HashMap<Choices, Vec<usize>> = HashMap::new();
        for (place, run) in second.runs.iter().enumerate().rev() {
            of_choices.entry(axes::choices(&run.labels)).or_default().push(place);
        }
        let mut pairs = Vec::new();
        for (place, run) in first.runs.iter().enumerate() {
            let like = of_choices.get_mut(&axes::choices(&run.labels)).and_then(Vec::pop);
            pairs.extend(like.map(|like| (place, like)));
        }
        let mut notes = Vec::new();
        if pairs.is_empty() && first.runs.len() == second.runs.len() {
            pairs = (0..first.runs.len()).map(|place| (place, place)).collect();
            if !pairs.is_empty() {
                notes.push("no run chose the same in both results: they are compared in order".into());
            }
        }
        for (side, which) in [(first, "first"), (second, "second")] {
            let left = side.runs.len() - pairs.len();
            if left > 0 {
                notes.push(format!("{left} of {} runs of the {which} result have no like", side.runs.len()));
            }
        }
        Self { sides: [first, second], pairs, notes }
    }

    /// Writes `diff.csv`, `index.html` and `graphml/` into a directory that exists and is empty.
    ///
    /// # Errors
    /// What the operating system reports; files may be left.
    pub fn write_directory(&self, directory: &Path) -> Result<()> {
        let create = |name: &str| -> Result<BufWriter<File>> {
            let path = directory.join(name);
            Ok(BufWriter::new(File::create(&path).at(|| path.display())?))
        };
        self.write_csv(create("diff.csv")?)?;
        fs::create_dir(directory.join("graphml")).at(|| directory.display())?;
        self.write_graphs(|name| create(&format!("graphml/{name}")))?;
        let path = directory.join("index.html");
        fs::write(&path, self.html()).at(|| path.display())
    }

    /// What the user should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn views(&self, pair: (usize, usize)) -> [RunView<'_>; 2] {
        [self.sides[0].view(pair.0), self.sides[1].view(pair.1)]
    }

    /// What a compared pair of runs is called: the choices, or what became of them.
    fn name(&self, pair: (usize, usize)) -> String {
        let labels = [&self.sides[0].runs[pair.0].labels, &self.sides[1].runs[pair.1].labels];
        let choices = labels.map(axes::choices);
        let differ = axes::differing(&[&choices[0], &choices[1]]);
        if differ.is_empty() {
            let all = self.sides.iter().flat_map(|side| &side.runs).map(|run| axes::choices(&run.labels));
            let all: Vec<Choices> = all.collect();
            let told = axes::told_by(&choices[0], &axes::differing(&all.iter().collect::<Vec<_>>()));
            return if told.is_empty() { format!("run {}", labels[0].run) } else { told };
        }
        choices.map(|choices| axes::told_by(&choices, &differ)).join(" → ")
    }
}

/// The changes of a run and of its phases; of the links of each phase those that carry something
/// else than before.
fn changes(views: &[RunView<'_>; 2]) -> Vec<Change> {
    let runs = [0, 1].map(|side| views[side].run.labels.run);
    let links = SameLinks::new(views);
    let mut found = vec![Change {
        runs,
        phase: None,
        title: String::new(),
        link: None,
        makespan_s: [0, 1].map(|side| views[side].run.statistics.makespan_s),
        bytes: [None, None],
        utilization: [0, 1].map(|side| views[side].run.statistics.max_utilization),
    }];
    for (job, places) in phases(views) {
        let rows: Both<&PhaseRow> =
            [0, 1].map(|side| places.1[side].and_then(|at| views[side].phase(Some(job), Some(at))));
        let workload = |side: usize| views[side].job(job).map(|job| job.workload);
        let title = [0, 1].into_iter().find_map(|side| Some(views[side].title(workload(side)?, &places.0)));
        let of_phase = Change {
            runs,
            phase: Some((job, places.0)),
            title: title.unwrap_or_default().to_string(),
            link: None,
            makespan_s: rows.map(|row| row?.makespan_s),
            bytes: rows.map(|row| row?.max_link_bytes),
            utilization: rows.map(|row| row?.max_utilization),
        };
        let mut carried: BTreeMap<u32, [(u64, Option<f64>); 2]> = BTreeMap::new();
        for side in [0, 1] {
            let (view, at) = (&views[side], places.1[side]);
            let are_rates = rows[side].is_some_and(rates);
            for row in view.links_of(Some(job), at).iter().filter(|_| at.is_some()) {
                let (link, load) = (view.run.links.link[*row], view.run.links.load[*row]);
                let utilization = view.utilization(link, load, are_rates);
                let both = carried.entry(links.number(side, link)).or_insert([(0, None); 2]);
                both[side] = (view.run.links.bytes[*row], utilization);
            }
        }
        let link = of_phase.clone();
        found.push(of_phase);
        for (number, both) in carried.into_iter().filter(|(_, both)| both[0] != both[1]) {
            let (src, dst) = links.ends(views, number);
            // Without traffic a link carries 0; of one that is not there nothing is known.
            let is_there = |side: usize| rows[side].is_some() && links.is_in(side, number);
            let used = |side: usize| both[side].1.or_else(|| both[1 - side].1.map(|_| 0.0));
            found.push(Change {
                link: Some((src.to_string(), dst.to_string())),
                makespan_s: [None, None],
                bytes: [0, 1].map(|side| is_there(side).then_some(both[side].0)),
                utilization: [0, 1].map(|side| used(side).filter(|_| is_there(side))),
                ..link.clone()
            });
        }
    }
    found
}

/// Name of a phase and its positions among its job's phases in the two runs.
type Placed = (String, Both<u32>);

/// The phases of both runs by job, in the order of the first run, then those of the second alone.
fn phases(views: &[RunView<'_>; 2]) -> Vec<(u32, Placed)> {
    let mut found: Vec<(u32, Placed)> = Vec::new();
    let mut known: HashMap<(u32, &str), usize> = HashMap::new();
    for (side, view) in views.iter().enumerate() {
        for job in &view.run.jobs {
            for (position, phase) in (0..).zip(view.phases_of(job.job)) {
                let place = *known.entry((job.job, &phase.phase)).or_insert_with(|| {
                    found.push((job.job, (phase.phase.clone(), [None, None])));
                    found.len() - 1
                });
                found[place].1.1[side] = Some(position);
            }
        }
    }
    found
}

/// Which links of two networks are the same: links of the first one have its numbers, those that
/// the second one has alone come after them.
struct SameLinks {
    /// By link of the second network.
    second: Vec<u32>,
    /// Links of the second network, by number less those of the first one.
    alone: Vec<LinkId>,
    /// By link of the first network: whether the second one has it.
    is_in_second: Vec<bool>,
    first: u32,
}

impl SameLinks {
    fn new(views: &[RunView<'_>; 2]) -> Self {
        let networks = [0, 1].map(|side| views[side].network);
        let first = networks[0].links.len() as u32;
        if networks[0] == networks[1] {
            let is_in_second = vec![true; first as usize];
            return Self { second: (0..first).collect(), alone: Vec::new(), is_in_second, first };
        }
        let ends = |side: usize, at: u32| views[side].ends(Some(LinkId(at)));
        let mut of_ends: HashMap<(&str, &str), Vec<u32>> = HashMap::new();
        for at in (0..first).rev() {
            of_ends.entry(ends(0, at)).or_default().push(at);
        }
        let (mut alone, mut is_in_second) = (Vec::new(), vec![false; first as usize]);
        let second = (0..networks[1].links.len() as u32).map(|at| {
            let Some(same) = of_ends.get_mut(&ends(1, at)).and_then(Vec::pop) else {
                alone.push(LinkId(at));
                return first + alone.len() as u32 - 1;
            };
            is_in_second[same as usize] = true;
            same
        });
        let second = second.collect();
        Self { second, alone, is_in_second, first }
    }

    fn is_in(&self, side: usize, number: u32) -> bool {
        match self.is_in_second.get(number as usize) {
            Some(is_in_second) => side == 0 || *is_in_second,
            None => side == 1,
        }
    }

    fn number(&self, side: usize, link: LinkId) -> u32 {
        if side == 0 { link.0 } else { self.second[link.0 as usize] }
    }

    fn ends<'v>(&self, views: &[RunView<'v>; 2], number: u32) -> (&'v str, &'v str) {
        match number.checked_sub(self.first) {
            None => views[0].ends(Some(LinkId(number))),
            Some(alone) => views[1].ends(Some(self.alone[alone as usize])),
        }
    }
}

/// The labels of a run, as text for a graph.
fn told(labels: &RunLabels) -> String {
    axes::told_by(&axes::choices(labels), &(0..axes::AXES.len()).collect::<Vec<_>>())
}

/// The second value as part of the first; `None` if one is unknown, or the first is 0.
fn ratio(both: Both<f64>) -> Option<f64> {
    let (first, second) = (both[0]?, both[1]?);
    (first != 0.0).then(|| second / first)
}
