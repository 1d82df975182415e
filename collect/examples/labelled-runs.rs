//! Writes labelled runs of the generator's families: for each NAME-RANKS-SEED a trace archive and
//! its truth.
//!
//! `cargo run --release -p phaseflow-collect --example labelled-runs -- DIR --ranks 16,64 --seeds
//! 1,2 --messages 60000`
#![allow(clippy::print_stderr, reason = "a command")]

use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::{FAMILIES, Family, LabelledRun, PROGRAM_FAMILIES};
use phaseflow_collect::truth::{TRUTH_COLUMNS, write_truth};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const USAGE: &str = "labelled-runs DIR [OPTION…]
  --ranks A,B      default: 16,64
  --seeds A,B      default: 1,2
  --messages N     of a run, about, default: 60000
  --jitter X       of all runs; default: 0, 0.01, 0.05 or 0.2 in turn or drawn, or what the family has where that is more
  --set NAME       old: one difficulty each (default); real: the same, disturbed as real runs are; new: as real programs; all
  --only A,B       these families";

/// Jitter in turn: none, as of a quiet machine, as of a busy one, as of one that is shared.
const JITTERS: [f64; 4] = [0.0, 0.01, 0.05, 0.2];

struct Arguments {
    directory: PathBuf,
    ranks: Vec<u32>,
    seeds: Vec<u64>,
    messages: u64,
    jitter: Option<f64>,
    families: Vec<(Family, Disturbed)>,
}

/// What disturbs a run beyond its family.
#[derive(Clone, Copy, PartialEq)]
enum Disturbed {
    /// Jitter and renumbering in turn.
    InTurn,
    /// As real runs are, by the seed.
    AsReal,
    /// Nothing: the family does it.
    ByFamily,
}

fn main() -> ExitCode {
    let done = Arguments::read().and_then(|arguments| arguments.write());
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

impl Arguments {
    fn read() -> Result<Self, String> {
        let mut given = std::env::args().skip(1);
        let directory = given.next().filter(|text| !text.starts_with("--")).ok_or(USAGE)?.into();
        let mut arguments = Self {
            directory,
            ranks: vec![16, 64],
            seeds: vec![1, 2],
            messages: 60_000,
            jitter: None,
            families: Vec::new(),
        };
        let (mut set, mut only) = ("old".to_string(), None);
        while let Some(key) = given.next() {
            let value = given.next().ok_or_else(|| format!("{key} needs a value\n{USAGE}"))?;
            match key.as_str() {
                "--ranks" => arguments.ranks = numbers(&value)?,
                "--seeds" => arguments.seeds = numbers(&value)?,
                "--messages" => arguments.messages = number(&value)?,
                "--jitter" => arguments.jitter = Some(number(&value)?),
                "--set" => set = value,
                "--only" => only = Some(value),
                other => return Err(format!("unknown option `{other}`\n{USAGE}")),
            }
        }
        arguments.families = families(&set)?;
        if let Some(only) = only {
            let names: Vec<&str> = only.split(',').collect();
            arguments.families.retain(|(family, _)| names.contains(&family.name));
            if arguments.families.len() != names.len() {
                return Err(format!("`{only}`: not all are families of the set `{set}`"));
            }
        }
        Ok(arguments)
    }

    fn write(&self) -> Result<(), String> {
        create_dir_all(&self.directory).map_err(|error| format!("{}: {error}", self.directory.display()))?;
        for (family, disturbed) in &self.families {
            for ranks in &self.ranks {
                for seed in &self.seeds {
                    let stem = format!("{}-{ranks}-{seed}", family.name);
                    let run = family.run(*ranks, self.messages, *seed);
                    let run = run.map(|run| self.disturb(run, family, *disturbed));
                    run.and_then(|run| write(&self.directory, &stem, &run))
                        .map_err(|error| format!("{stem}: {error}"))?;
                }
            }
        }
        Ok(())
    }

    fn disturb(&self, mut run: LabelledRun, family: &Family, disturbed: Disturbed) -> LabelledRun {
        let own = &mut run.disturbance;
        match disturbed {
            Disturbed::InTurn => {
                // In four turns all amounts of jitter, in eight each with and without renumbering.
                let turn = turn(family, run.ranks, run.seed);
                own.jitter = own.jitter.max(JITTERS[turn % JITTERS.len()]);
                own.renumber = (turn / JITTERS.len()).is_multiple_of(2);
            }
            Disturbed::AsReal => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(turn(family, run.ranks, run.seed) as u64);
                *own = own.as_real(&mut random);
            }
            Disturbed::ByFamily => {}
        }
        own.jitter = self.jitter.unwrap_or(own.jitter);
        run
    }
}

/// Neighbours in the table, seeds and numbers of ranks have different turns.
fn turn(family: &Family, ranks: u32, seed: u64) -> usize {
    let position = FAMILIES.iter().position(|other| other.name == family.name).unwrap_or_default();
    position + seed as usize + ranks.ilog2() as usize
}

/// Writes a run under its final names once it is whole.
fn write(directory: &Path, stem: &str, run: &LabelledRun) -> phaseflow_collect::Result<()> {
    let [trace, truth] = ["trace.tar.gz", "truth.csv"].map(|end| directory.join(format!("{stem}.{end}")));
    let part = |path: &Path| path.with_extension("part");
    let mut rows = BufWriter::new(File::create(part(&truth))?);
    writeln!(rows, "{TRUTH_COLUMNS}")?;
    let out = BufWriter::new(File::create(part(&trace))?);
    run.generate(&mut ArchiveExport::new(out, true), &mut |stretch| write_truth(&mut rows, stretch))?;
    rows.flush()?;
    std::fs::rename(part(&truth), truth)?;
    std::fs::rename(part(&trace), trace)?;
    Ok(())
}

fn families(set: &str) -> Result<Vec<(Family, Disturbed)>, String> {
    let old = |disturbed| FAMILIES.map(|family| (family, disturbed)).to_vec();
    let new = PROGRAM_FAMILIES.map(|family| (family, Disturbed::ByFamily)).to_vec();
    match set {
        "old" => Ok(old(Disturbed::InTurn)),
        "real" => Ok(old(Disturbed::AsReal)),
        "new" => Ok(new),
        "all" => Ok([old(Disturbed::InTurn), new].concat()),
        other => Err(format!("unknown set `{other}`, expected old, real, new or all")),
    }
}

fn numbers<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(number).collect()
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}
