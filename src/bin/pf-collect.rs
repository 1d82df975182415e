//! `pf-collect`: traces of other tools, or generated ones, become a trace archive.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use phaseflow::command::{self, Common};
use phaseflow::input::Input;
use phaseflow::offered::Offered;
use phaseflow::output::Output;
use phaseflow_collect::expand::Rules;
use phaseflow_collect::export::{
    ArchiveExport, CsvExport, GoalExport, NdjsonExport, PairsExport, PfprofExport, SimgridExport,
    SummaryExport,
};
use phaseflow_collect::import::{self, Format, Imported, Reading};
use phaseflow_collect::pattern::{Disturbance, Irregular, LabelledRun, Program};
use phaseflow_collect::trace::Sink;
use phaseflow_collect::truth::{TRUTH_COLUMNS, TrueStretch, TruthOfMarks, write_truth};
use phaseflow_collect::units::{parse_size, parse_time_ns};
use phaseflow_collect::{At, Error, Result};

/// Collect a trace: read one of any known format, or generate one, and write a trace archive.
///
/// Inputs are recognised by content: run directories of pf-profile, trace archives, and PFProf
/// archives (a tar or a directory of one JSON file a rank, or those files). So are NDJSON messages,
/// objects with t_ns, src, dst, bytes and optionally tag, op. So are CSV messages with a header
/// line of those columns in any order. Text and tar may be gzip'ed. Messages may come in any order.
/// Traces of other tools are DUMPI, OTF2, liballprof and Paraver, and without times SimGrid's, GOAL
/// and Chakra; a run of several files is a directory, its files, or a tar of them. Without INPUT,
/// standard input is read.
#[derive(Parser, Debug)]
#[command(name = "pf-collect", version, after_help = EXAMPLES)]
struct Arguments {
    /// What to read: one trace, or all the files of one run
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// Take the input for this format: phaseflow, pfprof, ndjson, csv, recording, dumpi, otf2,
    /// simgrid, goal, chakra, liballprof, paraver [default: recognised by content]
    #[arg(long, value_name = "FORMAT", value_parser = Offered::new(Format::ALL.map(Format::name)), hide_possible_values = true)]
    from: Option<String>,

    /// What to write: the trace archive, the messages as text, or the sums by pair as PFProf has
    /// them
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = To::Archive)]
    to: To,

    /// Print `name: value` lines instead: ranks, messages, bytes, calls, marks, unmatched,
    /// duration_ns, clock_error_ns, source
    #[arg(long, conflicts_with_all = ["to", "pairs"])]
    summary: bool,

    /// Print the traffic of the whole run instead, as CSV: src,dst,messages,bytes
    #[arg(long, conflicts_with = "to")]
    pairs: bool,

    /// How collectives that were recorded only as calls become messages
    ///
    /// Below MPICH pf-profile sees calls only. The messages are put inside their calls; see
    /// docs/profiling.md.
    #[arg(long, value_name = "RULES", value_enum, default_value_t = Expand::None, conflicts_with = "pattern")]
    expand: Expand,

    /// Generate instead of reading: a comma-separated list of permutation, shift, alltoall,
    /// allreduce, halo2d, halo3d, transpose, incast, bisection, random, sweep, broadcast, scatter,
    /// rows, columns, contacts, farm, pair, exchange, gather
    ///
    /// With --repeat 2, `a,b` makes the run a a b b: one phase for each pattern. A name may come
    /// again (`a,b,a`). Every rank marks the beginning of a pattern with the position, from 1, at
    /// which it is named first.
    ///
    /// A pattern may have parameters of its own, `halo2d[bytes=4KiB,gap=5us,drift=1,seed=2]`, and a
    /// number of rounds, `halo2d*20`; with `every=4` only ranks 0, 4, 8, … take part. `a+b` is one
    /// round of a, then one of b; `a|b` divides the ranks between a and b. `idle[time=1ms]` is a
    /// pause. `(a*5,b)*10` is a loop; loops may stand in loops.
    #[arg(long, value_name = "NAMES", conflicts_with_all = ["inputs", "from"], requires = "ranks")]
    pattern: Option<String>,

    /// Number of ranks of the pattern, 2 to 16777216
    #[arg(long, value_name = "N", requires = "pattern")]
    ranks: Option<u32>,

    /// What each rank contributes: each message's bytes; alltoall: per pair; allreduce: the vector;
    /// halo, sweep: per face
    #[arg(long, value_name = "SIZE", default_value = "64KiB", requires = "pattern")]
    bytes: String,

    /// Rounds of each pattern
    #[arg(long, value_name = "N", default_value_t = 1, requires = "pattern", value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,

    /// Pause between two rounds: 250ns, 5us, 1ms, 2s
    #[arg(long, value_name = "TIME", default_value = "0ns", requires = "pattern")]
    gap: String,

    /// Do the whole list of patterns N times: `a,b` with --nest 3 makes a b a b a b
    #[arg(long, value_name = "N", default_value_t = 1, requires = "pattern", value_parser = clap::value_parser!(u64).range(1..))]
    nest: u64,

    /// An idle stretch of this length between any two phases: 250ns, 5us, 1ms, 2s
    #[arg(long, value_name = "TIME", default_value = "0ns", requires = "pattern")]
    idle: String,

    /// Post each message late by a random time, up to F times its own duration; make pauses longer
    /// by up to F of themselves
    #[arg(long, value_name = "F", default_value_t = 0.0, requires = "pattern")]
    jitter: f64,

    /// Background messages of 64 B to 64 KiB between random ranks, F for each message of the
    /// patterns
    #[arg(long, value_name = "F", default_value_t = 0.0, requires = "pattern")]
    noise: f64,

    /// Let messages grow by F of their size from the first to the last round of a phase (0.5: half
    /// as large again)
    #[arg(
        long,
        value_name = "F",
        default_value_t = 0.0,
        requires = "pattern",
        allow_negative_numbers = true
    )]
    drift: f64,

    /// Let each rank run behind by its own constant random time, up to this: 250ns, 5us, 1ms, 2s
    #[arg(long, value_name = "TIME", default_value = "0ns", requires = "pattern")]
    skew: String,

    /// Give each rank a clock of its own: it goes on when its own message has left and those to it
    /// have arrived
    ///
    /// So messages alone keep ranks together; nobody is more than a round ahead. Otherwise time is
    /// nominal: all begin a step together, nobody waits for who is late.
    #[arg(long, requires = "pattern")]
    waits: bool,

    /// Draw each pause between rounds anew, with its length as mean: exponential, pareto (shape
    /// 1.5), or a relative deviation (0.3: lognormal); with --waits for each rank, otherwise for
    /// all at once
    #[arg(long, value_name = "SHAPE", requires = "pattern")]
    irregular: Option<String>,

    /// Let each rank's pauses be longer by up to F of themselves; a rank's own part changes every
    /// 16 rounds on average
    #[arg(long, value_name = "F", default_value_t = 0.0, requires = "pattern")]
    imbalance: f64,

    /// Let this share of messages be 64 to 1024 times as large (0.01: one in a hundred)
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "pattern")]
    heavy: f64,

    /// Let this share of messages be 64 to 1024 times smaller
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "pattern")]
    light: f64,

    /// Number the ranks at random
    #[arg(long, requires = "pattern")]
    renumber: bool,

    /// Write the true phases, for pf-segment --score: CSV
    /// start_ns,end_ns,label,outer,first_message,last_message
    ///
    /// Those of the pattern, or what the program itself marked (MPI_Pcontrol): a message belongs to
    /// the phase that its sender marked last, the label is the level of the mark. Times are
    /// nanoseconds since the start of the run, `outer` is the outermost loop or phase, empty for
    /// marks; the last two are positions in the trace, from 0; noise belongs to no phase.
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,

    /// Seed of everything random: patterns as permutation and random, and all that disturbs them
    #[arg(long, value_name = "N", default_value_t = 1, requires = "pattern")]
    seed: u64,

    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "Examples:
  pf-collect phaseflow-run/ -o run.tar.gz
  pf-collect cg-c-128.tar.gz --summary
  pf-collect messages.csv -o run.tar.gz
  zcat messages.ndjson.gz | pf-collect --pairs
  pf-collect --pattern halo2d,alltoall --ranks 16 --bytes 64KiB --repeat 20 --gap 1ms -o run.tar
  pf-collect --pattern 'transpose*9,(halo2d*20,allreduce)*5' --ranks 16 --jitter 1 \\
    --truth truth.csv -o run.tar";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// The trace archive (docs/formats.md)
    Archive,
    /// An object a message: t_ns, src, dst, bytes, tag, op
    Ndjson,
    /// A line a message: t_ns,src,dst,bytes,tag,op
    Csv,
    /// A PFProf archive, as PFSim reads it: a JSON file a rank with sums by peer
    Pfprof,
    /// A GOAL schedule in text, for LogGOPSim and ATLAHS
    Goal,
    /// A time-independent trace of SimGrid, for smpirun -replay
    Simgrid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Expand {
    /// By the algorithms that Open MPI 4.1 would have taken
    OpenMpi,
    /// By the textbook: linear up to 4 ranks, binomial trees beyond, all-to-all linear
    Basic,
    /// Not at all: only recorded messages
    None,
}

impl Expand {
    fn rules(self) -> Option<Rules> {
        match self {
            Expand::OpenMpi => Some(Rules::OpenMpi41),
            Expand::Basic => Some(Rules::Basic),
            Expand::None => None,
        }
    }
}

fn main() -> ExitCode {
    command::run(|arguments: &Arguments| &arguments.common, collect)
}

fn collect(arguments: &Arguments) -> Result<()> {
    let source = Source::of(arguments)?;
    let is_text = arguments.summary
        || arguments.pairs
        || matches!(arguments.to, To::Ndjson | To::Csv | To::Goal | To::Simgrid);
    let mut out = Output::create(arguments.common.output.as_deref(), !is_text)?;
    let gzip = arguments.common.gzip || out.gzip();
    let mut truth = Truth::of(arguments)?;
    let send = |sink: &mut dyn Sink| match &mut truth {
        Some(truth) => truth.send(source, sink),
        None => source.send(sink),
    };
    let imported = if arguments.summary {
        send(&mut SummaryExport::new(&mut out))
    } else if arguments.pairs {
        send(&mut PairsExport::new(&mut out))
    } else {
        match arguments.to {
            To::Archive => send(&mut ArchiveExport::new(&mut out, gzip)),
            To::Ndjson => send(&mut NdjsonExport::new(&mut out)),
            To::Csv => send(&mut CsvExport::new(&mut out)),
            To::Pfprof => send(&mut PfprofExport::new(&mut out, gzip)),
            To::Goal => send(&mut GoalExport::new(&mut out, tempfile::tempfile)),
            To::Simgrid => send(&mut SimgridExport::new(&mut out)),
        }
    }?;
    imported.remarks.iter().for_each(|remark| arguments.common.note(remark));
    out.finish()?;
    truth.map_or(Ok(()), |truth| truth.out.finish())
}

/// Where the trace comes from.
enum Source {
    Pattern(LabelledRun),
    Inputs(Vec<Input>, Reading),
}

impl Source {
    fn of(arguments: &Arguments) -> Result<Self> {
        let Some(names) = &arguments.pattern else {
            let format = arguments.from.as_deref().map(Format::from_name).transpose().at(|| "--from")?;
            let reading = Reading { format, scratch: tempfile::tempfile, expand: arguments.expand.rules() };
            return Ok(Source::Inputs(Input::all(&arguments.inputs)?, reading));
        };
        let idle_ns = parse_time_ns(&arguments.idle).at(|| "--idle")?;
        let run = LabelledRun {
            program: Program::parse(names).at(|| "--pattern")?.repeated(arguments.nest),
            ranks: arguments.ranks.unwrap_or_default(),
            bytes: parse_size(&arguments.bytes).at(|| "--bytes")?,
            repeat: arguments.repeat,
            gap_ns: parse_time_ns(&arguments.gap).at(|| "--gap")?,
            idle_ns,
            idle_between: idle_ns > 0,
            seed: arguments.seed,
            disturbance: Disturbance {
                jitter: arguments.jitter,
                noise: arguments.noise,
                drift: arguments.drift,
                skew_ns: parse_time_ns(&arguments.skew).at(|| "--skew")?,
                waits: arguments.waits,
                irregular: arguments
                    .irregular
                    .as_deref()
                    .map(Irregular::parse)
                    .transpose()
                    .at(|| "--irregular")?,
                imbalance: arguments.imbalance,
                heavy: arguments.heavy,
                light: arguments.light,
                renumber: arguments.renumber,
            },
        };
        Ok(Source::Pattern(run))
    }

    fn send(self, sink: &mut dyn Sink) -> Result<Imported> {
        match self {
            Source::Pattern(run) => run.generate(sink, &mut |_| Ok(())).map(Imported::from),
            Source::Inputs(inputs, reading) => match &inputs[..] {
                [input] => {
                    let opened = open(input).at(|| input)?;
                    import::import(opened, reading, sink).at(|| input)
                }
                several => {
                    let paths = several.iter().map(path).collect::<Result<Vec<_>>>()?;
                    import::import(import::Input::Files(paths), reading, sink)
                }
            },
        }
    }
}

/// A trace and its truth in a file of its own.
struct Truth {
    out: Output,
}

impl Truth {
    /// The file `--truth` names, if it is given.
    fn of(arguments: &Arguments) -> Result<Option<Self>> {
        let Some(path) = arguments.truth.as_deref() else { return Ok(None) };
        if path == Path::new("-") || Some(path) == arguments.common.output.as_deref() {
            return Err(Error::usage("is where the trace goes, expected another file").at("--truth"));
        }
        let mut out = Output::create(Some(path), false)?;
        writeln!(out, "{TRUTH_COLUMNS}")?;
        Ok(Some(Self { out }))
    }

    fn send(&mut self, source: Source, sink: &mut dyn Sink) -> Result<Imported> {
        let mut write = |stretch: &TrueStretch<'_>| write_truth(&mut self.out, stretch);
        match source {
            Source::Pattern(run) => run.generate(sink, &mut write).map(Imported::from),
            inputs => {
                let mut marked = TruthOfMarks::new(sink);
                let imported = inputs.send(&mut marked)?;
                marked.stretches(&imported.summary, &mut write).at(|| "--truth")?;
                Ok(imported)
            }
        }
    }
}

fn open(input: &Input) -> Result<import::Input> {
    match input {
        Input::Standard => Ok(import::Input::Stream(Box::new(std::io::stdin()))),
        Input::Path(path) => import::Input::open(path),
    }
}

/// One of several inputs has to be a file.
fn path(input: &Input) -> Result<PathBuf> {
    match input {
        Input::Standard => Err(Error::usage("standard input cannot be one of several inputs")),
        Input::Path(path) => Ok(path.clone()),
    }
}
