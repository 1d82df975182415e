//! What to measure, from the command line.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::pattern::{Disturbance, FAMILIES, Family, PROGRAM_FAMILIES};
use phaseflow_segment::Method;

use crate::run::Level;

/// Seeds of the reported table. Seeds 1 to 60 and 200 to 300 are for tuning; no constant was chosen
/// by runs of 101 to 103.
const REPORTED: [u64; 3] = [101, 102, 103];

const USAGE: &str = "cargo bench -p phaseflow-segment --bench segment -- [OPTION…]
  --methods A,B     default: rounds, jsd, kmeans, dbscan, optics, gmm
  --families A,B    names, or patterns or programs for all of a kind; default: patterns
  --levels A,B      leaf, outer, auto; default: leaf, and outer where a family has one. Outer and auto are compared with the outer truth
  --jitter X        each message is late by up to X times its duration, each pause longer by up to X times itself
  --renumber        ranks are numbered at random
  --ranks A,B       default: 16,64,256,1024
  --seeds A,B       default: 101,102,103 (never tuned on; 1 to 60 and 200 to 300 are for tuning)
  --messages N      of a run, default: 200000 for 16 ranks to 1600000 for 1024
  --runs            a line for each run, with its program, and one for each boundary that is not right
  --list            the families
  --speed [N,N]     instead: messages a second from archive to archive, default for 1000000,10000000 messages, of rounds on
                    16, 64 and 1024 ranks unless other options follow
The environment variable SEGMENT_BENCH may hold the same options.";

pub(crate) struct Arguments {
    pub(crate) methods: Vec<Method>,
    pub(crate) families: Vec<Family>,
    /// Empty if each family has its own.
    pub(crate) levels: Vec<Level>,
    jitter: f64,
    renumber: bool,
    pub(crate) ranks: Vec<u32>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) messages: Option<u64>,
    pub(crate) runs: bool,
    pub(crate) list: bool,
    pub(crate) speed: Option<Vec<u64>>,
}

impl Arguments {
    /// Options from the command line, or from the environment. If they cannot be read, the problem
    /// and the usage.
    pub(crate) fn read() -> Result<Self, String> {
        let mut given: Vec<String> = std::env::args().skip(1).filter(|text| text != "--bench").collect();
        if given.is_empty() {
            let variable = std::env::var("SEGMENT_BENCH").unwrap_or_default();
            given = variable.split_whitespace().map(String::from).collect();
        }
        Self::parse(&given).map_err(|problem| format!("{problem}\n{USAGE}"))
    }

    fn parse(given: &[String]) -> Result<Self, String> {
        let mut arguments = Self {
            methods: defaults(),
            families: FAMILIES.to_vec(),
            levels: Vec::new(),
            jitter: 0.0,
            renumber: false,
            ranks: vec![16, 64, 256, 1024],
            seeds: REPORTED.to_vec(),
            messages: None,
            runs: false,
            list: false,
            speed: None,
        };
        let mut given = given.iter().map(String::as_str).peekable();
        while let Some(key) = given.next() {
            let mut value = || given.next_if(|next| !next.starts_with("--"));
            match key {
                "--runs" => arguments.runs = true,
                "--list" => arguments.list = true,
                "--speed" => {
                    arguments.speed = Some(numbers(value().unwrap_or("1000000,10000000"))?);
                    (arguments.ranks, arguments.methods) = (vec![16, 64, 1024], vec![Method::default()]);
                }
                "--methods" => {
                    let list = Choice::parse_list(value().unwrap_or_default()).map_err(|e| e.to_string())?;
                    let methods = list.iter().map(Method::parse).collect::<Result<_, _>>();
                    arguments.methods = methods.map_err(|error| error.to_string())?;
                }
                "--families" => {
                    let names = value().unwrap_or_default().split(',');
                    let found: Vec<Vec<Family>> = names.map(families).collect::<Result<_, _>>()?;
                    arguments.families = found.concat();
                }
                "--levels" => {
                    let names = value().unwrap_or_default().split(',');
                    arguments.levels = names.map(level).collect::<Result<_, _>>()?;
                }
                "--jitter" => arguments.jitter = number(value().unwrap_or_default())?,
                "--renumber" => arguments.renumber = true,
                "--ranks" => arguments.ranks = numbers(value().unwrap_or_default())?,
                "--seeds" => arguments.seeds = numbers(value().unwrap_or_default())?,
                "--messages" => arguments.messages = numbers(value().unwrap_or_default())?.first().copied(),
                other => return Err(format!("unknown option `{other}`")),
            }
        }
        Ok(arguments)
    }

    /// The disturbance of a family's runs: its own, and that of the options.
    pub(crate) fn disturbance(&self, own: Disturbance) -> Disturbance {
        let (jitter, renumber) = (own.jitter.max(self.jitter), own.renumber || self.renumber);
        Disturbance { jitter, renumber, ..own }
    }

    /// The levels at which a family is measured.
    pub(crate) fn levels_of(&self, family: &Family) -> &[Level] {
        match &self.levels[..] {
            [] if family.nested => &[Level::Leaf, Level::Outer],
            [] => &[Level::Leaf],
            levels => levels,
        }
    }

    /// Messages of a run: more ranks need more messages to do the same.
    pub(crate) fn messages(&self, ranks: u32) -> u64 {
        self.messages.unwrap_or(match ranks {
            0..64 => 200_000,
            64..256 => 400_000,
            256..1024 => 800_000,
            _ => 1_600_000,
        })
    }
}

fn defaults() -> Vec<Method> {
    let known = |name| Method::parse(&Choice::plain(name)).ok();
    ["rounds", "jsd", "kmeans", "dbscan", "optics", "gmm"].into_iter().filter_map(known).collect()
}

/// The families with a name; a kind of families has a name, too.
fn families(name: &str) -> Result<Vec<Family>, String> {
    let all = [&FAMILIES[..], &PROGRAM_FAMILIES].concat();
    match name {
        "patterns" => Ok(FAMILIES.to_vec()),
        "programs" => Ok(PROGRAM_FAMILIES.to_vec()),
        _ => {
            let found = all.into_iter().find(|family| family.name == name);
            found.map(|family| vec![family]).ok_or_else(|| format!("unknown family `{name}`"))
        }
    }
}

fn level(name: &str) -> Result<Level, String> {
    let found = Level::ALL.into_iter().find(|level| level.name() == name);
    found.ok_or_else(|| format!("unknown level `{name}`"))
}

fn numbers<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(number).collect()
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}
