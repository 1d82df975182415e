//! `pf-segment`: a trace becomes phases, their occurrences and a traffic matrix each.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use phaseflow::command::{self, Common};
use phaseflow::input::Input;
use phaseflow::offered::Offered;
use phaseflow::output::Output;
use phaseflow_collect::choice::Choice;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::import::{self, Format, Reading};
use phaseflow_collect::units::parse_time_ns;
use phaseflow_collect::{At, Error, Result};
use phaseflow_segment::{
    LARGEST_WINDOWS, Level, METHODS, Method, Options, Outcome, Rewind, Rewindable, Spool, read_truth, score,
    segment, write_list, write_matrix_list, write_segmentation, write_with_messages,
};

/// Split a trace into communication phases and write a phase archive.
///
/// A phase is a kind of communication behaviour. Each of its occurrences is a stretch of the run;
/// together they cover it. A trace of which only sums are known (PFProf's) is one phase. Without
/// TRACE, standard input is read.
#[derive(Parser, Debug)]
#[command(name = "pf-segment", version, after_help = EXAMPLES)]
struct Arguments {
    /// A trace archive, or a file or directory of any format that pf-collect recognises
    #[arg(value_name = "TRACE")]
    trace: Option<PathBuf>,

    /// How to find phases: rounds, kmeans, kmeans[k=N], dbscan, dbscan[radius=R], optics,
    /// optics[radius=R], gmm, gmm[k=N], jsd, jsd[penalty=F], marks (MPI_Pcontrol), windows (each of
    /// --windows a phase), none (one phase)
    #[arg(long, value_name = "METHOD", default_value = "rounds", value_parser = Offered::new(METHODS), hide_possible_values = true)]
    method: String,

    /// Largest number of equal time windows, 2 to 4096; rounds has its own
    #[arg(long, value_name = "N", default_value_t = Options::default().windows)]
    windows: usize,

    /// Which level of nested phases has depth 0; what it consists of has depth 1 and more. All
    /// innermost phases are simulated, whatever it is
    #[arg(long, value_enum, default_value_t = LevelName::Auto)]
    level: LevelName,

    /// Merge the most similar phases until at most N are left; loops of them are not counted
    #[arg(long, value_name = "N")]
    max_phases: Option<usize>,

    /// Innermost occurrences shorter than this join the neighbour whose messages are most like
    /// theirs: 250ns, 5us, 1ms, 2s
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    min_duration: String,

    /// Keep all messages and calls in the phase archive, not only those of an occurrence of each
    /// phase
    #[arg(long)]
    keep_messages: bool,

    /// Seed of methods that use random numbers
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    seed: u64,

    /// Print the occurrences instead, as CSV: occurrence,phase,depth,start_ns,end_ns,messages,bytes
    #[arg(long, conflicts_with_all = ["matrix", "score"])]
    list: bool,

    /// Print the traffic of one phase instead, as CSV: src,dst,messages,bytes
    #[arg(long, value_name = "PHASE", conflicts_with = "score")]
    matrix: Option<String>,

    /// Print instead how near the phases are to a truth: CSV with the columns start_ns,end_ns,label
    ///
    /// Lines boundary_f1, covering, label_ari; and exact_f1, boundaries that are right to a
    /// message, where the truth has the columns first_message,last_message (pf-collect --truth).
    #[arg(long, value_name = "TRUTH.csv")]
    score: Option<PathBuf>,

    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "Examples:
  pf-segment run.tar.gz --list
  pf-segment run.tar.gz --method 'kmeans[k=3]' -o phases.tar.gz
  pf-collect phaseflow-run/ | pf-segment | pf-simulate --topology cluster.graphml
  pf-collect --pattern halo2d,alltoall --ranks 16 --repeat 20 | pf-segment --matrix 1";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelName {
    /// As a person would draw it: leaf if innermost phases occur at most 32 times in all. Otherwise
    /// the finest level of longer windows that the next coarser one finds again, or that has at
    /// most 32; outer if these are all alike.
    /// Only rounds has levels; other methods show what they found
    Auto,
    /// The innermost phases
    Leaf,
    /// The outermost loops, and phases in none
    Outer,
}

fn main() -> ExitCode {
    command::run(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let options = options(arguments)?;
    let truth = match &arguments.score {
        None => None,
        Some(path) => {
            let file = File::open(path).at(|| path.display())?;
            Some(read_truth(file).at(|| path.display())?)
        }
    };
    let text = arguments.list || arguments.matrix.is_some() || truth.is_some();
    let input = Input::all(arguments.trace.as_slice())?.remove(0);
    let mut out = Output::create(arguments.common.output.as_deref(), !text)?;
    let mut trace = open(&input, &arguments.common).at(|| &input)?;
    let outcome = segment(&mut *trace, &options).at(|| &input)?;
    for note in &outcome.notes {
        arguments.common.note(note);
    }
    let segmentation = &outcome.segmentation;
    if arguments.list {
        write_list(&mut out, &outcome)?;
    } else if let Some(phase) = &arguments.matrix {
        write_matrix_list(&mut out, segmentation, phase).at(|| "--matrix")?;
    } else if let Some(truth) = truth {
        if !outcome.ordered.is_empty() {
            let problem = "compares times, and the trace has an order but no times";
            return Err(Error::usage(problem).at("--score"));
        }
        let score = score(segmentation, &truth);
        writeln!(out, "boundary_f1: {:.6}", score.boundary_f1)?;
        writeln!(out, "covering: {:.6}", score.covering)?;
        writeln!(out, "label_ari: {:.6}", score.label_ari)?;
        if let Some(exact_f1) = score.exact_f1 {
            writeln!(out, "exact_f1: {exact_f1:.6}")?;
        }
    } else {
        let gzip = arguments.common.gzip || out.gzip();
        archive(&mut out, gzip, &outcome, arguments.keep_messages, &mut *trace).at(|| &input)?;
    }
    out.finish()
}

fn archive(
    out: &mut Output,
    gzip: bool,
    outcome: &Outcome,
    all: bool,
    trace: &mut dyn Rewindable,
) -> Result<()> {
    let Outcome { segmentation, representatives, .. } = outcome;
    match outcome.start_ns {
        Some(_) => {
            write_with_messages(out, gzip, segmentation, representatives, all, trace)?;
        }
        None if all => {
            let problem = "the trace has no messages with times";
            return Err(Error::usage(problem).at("--keep-messages"));
        }
        None => {
            write_segmentation(out, gzip, segmentation)?;
        }
    }
    Ok(())
}

fn options(arguments: &Arguments) -> Result<Options> {
    if !(2..=LARGEST_WINDOWS).contains(&arguments.windows) {
        let problem = format!("is {}, expected 2 to {LARGEST_WINDOWS}", arguments.windows);
        return Err(Error::usage(problem).at("--windows"));
    }
    if arguments.max_phases == Some(0) {
        return Err(Error::usage("is 0, expected at least 1").at("--max-phases"));
    }
    let choice = Choice::parse(&arguments.method).at(|| "--method")?;
    Ok(Options {
        method: Method::parse(&choice).at(|| "--method")?,
        windows: arguments.windows,
        max_phases: arguments.max_phases,
        min_duration_ns: parse_time_ns(&arguments.min_duration).at(|| "--min-duration")?,
        level: match arguments.level {
            LevelName::Auto => Level::Auto,
            LevelName::Leaf => Level::Leaf,
            LevelName::Outer => Level::Outer,
        },
        seed: arguments.seed,
    })
}

/// The input as a trace archive that can be read twice; other formats become one in a temporary
/// file.
fn open(input: &Input, common: &Common) -> Result<Box<dyn Rewindable>> {
    let opened = match input {
        Input::Standard => import::Input::Stream(Box::new(std::io::stdin())),
        Input::Path(path) => import::Input::open(path)?,
    };
    match import::recognise(opened)? {
        (Some(Format::Phaseflow), import::Input::Stream(stream)) => Ok(Box::new(Spool::new(stream)?)),
        (Some(Format::Phaseflow), import::Input::File(file)) => Ok(Box::new(Rewind(file))),
        (_, other) => {
            let mut archive = tempfile::tempfile()?;
            let out = std::io::BufWriter::new(&mut archive);
            let reading = Reading::new(tempfile::tempfile);
            let imported = import::import(other, reading, &mut ArchiveExport::new(out, false))?;
            imported.remarks.iter().for_each(|remark| common.note(remark));
            Ok(Box::new(Rewind(archive)))
        }
    }
}
