//! Options common to all commands, and how a command ends.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use clap_complete::Shell;
use phaseflow_collect::{Error, ErrorKind, Result};

use crate::input::STANDARD_INPUT;
use crate::{documentation, drafts, pipe};

/// Options that every command has.
#[derive(Args, Debug)]
pub struct Common {
    /// Where to write the result; `-` or nothing is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Number of threads [default: all cores]; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Compress the archive with gzip, whatever its name [default: as the name of the output says,
    /// .gz or .tgz]
    #[arg(long)]
    pub gzip: bool,

    /// Print nothing on standard error but failures
    #[arg(long)]
    pub quiet: bool,

    /// Print the manual page (roff) and end
    #[arg(long, hide = true)]
    pub man: bool,

    /// Print the page of docs/commands (Markdown) and end
    #[arg(long, hide = true)]
    pub markdown: bool,

    /// Print the completions for a shell and end
    #[arg(long, hide = true, value_name = "SHELL")]
    pub completions: Option<Shell>,
}

impl Common {
    /// A remark for the user, on standard error unless `--quiet` is given.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}: {text}", name());
        }
    }
}

/// Parses the arguments, runs `body` and ends as every command does: 0 when done or when the reader
/// of a pipe went away, 1 for a data or run-time failure, 2 for a usage error; failures in one line
/// on standard error.
pub fn run<A: Parser>(common: impl FnOnce(&A) -> &Common, body: impl FnOnce(&A) -> Result<()>) -> ExitCode {
    let arguments = A::parse();
    // Without it, drafts are left behind by a signal: no reason not to begin.
    let _ = drafts::watch(name());
    match begin::<A>(common(&arguments)).and_then(|begun| if begun { body(&arguments) } else { Ok(()) }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.kind() {
            ErrorKind::ClosedPipe => ExitCode::SUCCESS,
            // The command before this one has said why there is no input.
            ErrorKind::Data | ErrorKind::Truncated
                if error.place() == Some(STANDARD_INPUT) && pipe::has_failed_before() =>
            {
                pipe::tell_failure();
                ExitCode::from(1)
            }
            ErrorKind::Data | ErrorKind::Truncated => failed(&error, 1),
            ErrorKind::Usage => failed(&error, 2),
        },
    }
}

/// Sets the number of threads, or prints the documentation asked for; false if that was all.
fn begin<A: Parser>(common: &Common) -> Result<bool> {
    if let Some(shell) = common.completions {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut A::command(), name(), &mut text);
        io::stdout().write_all(&text)?;
        return Ok(false);
    }
    if common.man {
        let mut page = Vec::new();
        documentation::write_man(&A::command(), &mut page)?;
        io::stdout().write_all(&page)?;
        return Ok(false);
    }
    if common.markdown {
        io::stdout().write_all(documentation::markdown(&A::command()).as_bytes())?;
        return Ok(false);
    }
    if let Some(threads) = common.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
        pool.map_err(|error| Error::data(format!("cannot start {threads} threads: {error}")))?;
    }
    Ok(true)
}

/// Ends with a usage error that was found before arguments could be parsed.
pub fn refuse(error: &Error) -> ExitCode {
    failed(error, 2)
}

fn failed(error: &Error, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}: {error}", name());
    pipe::tell_failure();
    ExitCode::from(code)
}

/// The command's name as the user called it.
fn name() -> String {
    let called = std::env::args_os().next().map(PathBuf::from);
    called
        .and_then(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "phaseflow".into())
}
