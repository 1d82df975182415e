//! `pf-profile`: runs an MPI program with the recorder in every process. Its library is not built yet; the interface is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use phaseflow::command::{self, Common};
use phaseflow_collect::{Error, Result};

/// Record every message of an unmodified MPI program (not available yet).
///
/// Runs COMMAND with the recorder preloaded in every MPI process, ends with COMMAND's exit status and leaves a run
/// directory that pf-collect reads. Works with mpirun, mpiexec and srun, on one host or many.
#[derive(Parser, Debug)]
#[command(name = "pf-profile", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Where to record: below the collectives (pml, Open MPI), at the MPI calls (pmpi, any), or the deepest that works
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = Level::Auto)]
    level: Level,

    /// Record into a run directory that is not empty
    #[arg(long)]
    force: bool,

    /// Print the environment settings for a batch script that starts MPI itself, and end
    #[arg(long, conflicts_with = "command")]
    env: bool,

    /// The program to run, with its arguments
    #[arg(value_name = "COMMAND", last = true, required_unless_present_any = ["env", "man", "completions"])]
    command: Vec<OsString>,
}

const EXAMPLES: &str = "The run directory is the one that -o names [default: phaseflow-run].

Examples:
  pf-profile -o run -- mpirun -n 64 ./app
  pf-profile -- srun -n 1024 ./app input.nml
  pf-profile --env -o run";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    /// pml where the MPI library allows it, else pmpi
    Auto,
    /// Every point-to-point message, those inside collectives included
    Pml,
    /// MPI calls; collectives are expanded by pf-collect
    Pmpi,
}

fn main() -> ExitCode {
    command::run(|arguments: &Arguments| &arguments.common, profile)
}

fn profile(arguments: &Arguments) -> Result<()> {
    let directory = arguments.common.output.clone().unwrap_or_else(|| PathBuf::from("phaseflow-run"));
    let what = if arguments.env { "printing the environment for" } else { "recording into" };
    Err(Error::usage(format!("{what} {} is not available yet", directory.display())))
}
