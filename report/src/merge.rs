//! Several archives as one sequence of runs.
//!
//! Archives of equal configuration are shards of one sweep: their runs keep their numbers and come
//! in ascending order, and a run that is in two of them has to be the same in both. An archive of
//! another configuration is another sweep: its runs are numbered on from those before, in the order
//! in which the archives are given, and a [note](Results::notes) says so.
//!
//! An archive may be one that a simulation did not finish: then what is complete of it counts, and
//! a note says how much that is.

use std::io::BufRead;

use phaseflow_collect::{At, Error, Result};
use phaseflow_simulate::result::{Network, ResultReader, RunResult};
use phaseflow_simulate::workload::Workload;
use serde_json::Value;

/// The runs of all archives; one run of each archive is in memory at a time.
pub struct Results<R: BufRead> {
    networks: Vec<Network>,
    workloads: Vec<Workload>,
    /// Archives by sweep, sweeps in order of first appearance.
    sweeps: Vec<Vec<Shard<R>>>,
    current: usize,
    /// What the runs of the current sweep add to their numbers.
    offset: u32,
    next_number: u32,
    notes: Vec<String>,
}

/// One archive, read up to the run that comes next.
struct Shard<R: BufRead> {
    name: String,
    reader: ResultReader<R>,
    ahead: Option<RunResult>,
    runs: u64,
    /// Numbers of the archive's topologies and workloads among all.
    networks: Vec<usize>,
    workloads: Vec<usize>,
}

impl<R: BufRead> Results<R> {
    /// Opens archives, each with the name that messages call it by. With `partial` they may end too
    /// early.
    ///
    /// # Errors
    /// One that is no result archive, or damaged.
    pub fn open(inputs: impl IntoIterator<Item = (String, R)>, partial: bool) -> Result<Self> {
        let mut results = Self {
            networks: Vec::new(),
            workloads: Vec::new(),
            sweeps: Vec::new(),
            current: 0,
            offset: 0,
            next_number: 0,
            notes: Vec::new(),
        };
        for (name, input) in inputs {
            let open = if partial { ResultReader::open_partial } else { ResultReader::open };
            let reader = open(input).at(|| &name)?;
            let networks = reader.networks().iter().map(|network| position(&mut results.networks, network));
            let networks = networks.collect();
            let workloads = reader.workloads().iter().map(|load| position(&mut results.workloads, load));
            let workloads = workloads.collect();
            let shard = Shard { name, reader, ahead: None, runs: 0, networks, workloads };
            let same = |sweep: &&mut Vec<Shard<R>>| {
                sweep[0].reader.header().configuration == shard.reader.header().configuration
            };
            match results.sweeps.iter_mut().find(same) {
                Some(sweep) => sweep.push(shard),
                None => results.sweeps.push(vec![shard]),
            }
        }
        for shard in results.sweeps.iter_mut().flatten() {
            shard.advance()?;
        }
        Ok(results)
    }

    /// The configuration of each sweep.
    pub fn configurations(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.sweeps.iter().map(|sweep| &sweep[0].reader.header().configuration)
    }

    /// False if the configuration says that all runs are of one model and transport.
    pub fn may_have_several_models(&self) -> bool {
        let is_one =
            |all: &Value, axis: &str| all["axes"][axis].as_array().is_some_and(|list| list.len() == 1);
        let mut all = self.configurations();
        let one = all.next().is_some_and(|first| is_one(first, "model") && is_one(first, "transport"));
        !one || all.next().is_some()
    }

    /// The topologies of all archives, each once, by the number that runs name.
    pub fn networks(&self) -> &[Network] {
        &self.networks
    }

    /// The workloads of all archives, each once, by the number that jobs name.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// What the user should know of the runs yielded so far.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The next run, its numbers those of the merged sweep; `None` after the last.
    ///
    /// # Errors
    /// A damaged archive, or a run that two archives of a sweep tell differently: both are named.
    pub fn next_run(&mut self) -> Result<Option<RunResult>> {
        while let Some(sweep) = self.sweeps.get_mut(self.current) {
            let Some(number) = sweep.iter().filter_map(Shard::number).min() else {
                self.notes.extend(sweep.iter().filter_map(Shard::shortfall));
                self.current += 1;
                self.begin_sweep();
                continue;
            };
            let mut chosen: Option<(String, RunResult)> = None;
            for shard in sweep.iter_mut().filter(|shard| shard.number() == Some(number)) {
                let Some(run) = shard.advance()? else { continue };
                match &chosen {
                    None => chosen = Some((shard.name.clone(), run)),
                    Some((_, same)) if *same == run => {}
                    Some((first, _)) => {
                        let problem = format!("run {number} is not the run {number} of {first}");
                        return Err(Error::data(problem).at(&shard.name));
                    }
                }
            }
            let Some((name, mut run)) = chosen else { continue };
            let shifted = number.checked_add(self.offset).filter(|shifted| *shifted < u32::MAX);
            let too_many = || Error::data("has more than 2^32-1 runs with those before").at(&name);
            run.labels.run = shifted.ok_or_else(too_many)?;
            self.next_number = run.labels.run + 1;
            return Ok(Some(run));
        }
        Ok(None)
    }

    fn begin_sweep(&mut self) {
        self.offset = self.next_number;
        if let Some(sweep) = self.sweeps.get(self.current) {
            let (name, first) = (&sweep[0].name, &self.sweeps[0][0].name);
            let from = self.offset;
            self.notes
                .push(format!("{name}: not the configuration of {first}: its runs are numbered from {from}"));
        }
    }
}

impl<R: BufRead> Shard<R> {
    fn number(&self) -> Option<u32> {
        self.ahead.as_ref().map(|run| run.labels.run)
    }

    /// How much there is of an archive that ends too early.
    fn shortfall(&self) -> Option<String> {
        let of = match &self.reader.header().configuration["points"] {
            Value::Number(points) => format!(" of the sweep's {points}"),
            _ => String::new(),
        };
        let Self { name, runs, .. } = self;
        self.reader.is_cut().then(|| format!("{name}: ends too early: has {runs}{of} runs"))
    }

    /// The run that stood ahead; the one after it takes its place.
    fn advance(&mut self) -> Result<Option<RunResult>> {
        let mut next = self.reader.next_run().at(|| &self.name)?;
        if let Some(run) = &mut next {
            self.runs += 1;
            run.topology = self.networks[run.topology];
            for job in &mut run.jobs {
                job.workload = self.workloads[job.workload];
            }
        }
        Ok(std::mem::replace(&mut self.ahead, next))
    }
}

/// Where `item` is in `all`, appended if it is not.
fn position<T: PartialEq + Clone>(all: &mut Vec<T>, item: &T) -> usize {
    all.iter().position(|known| known == item).unwrap_or_else(|| {
        all.push(item.clone());
        all.len() - 1
    })
}
