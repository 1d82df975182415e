//! Runs an MPI program and records every message it sends.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, ValueEnum};
use phaseflow::command::{self, Common};
use phaseflow_collect::{At, Error, Result};
use phaseflow_profiler::launch::{LIBRARY_FILE, Launcher, Settings};
use phaseflow_profiler::{Run, Summary, format, library, signals};

/// Run an MPI program and record every message it sends, those inside collectives included
///
/// The program needs no change: a library is preloaded into each of its processes. With Open MPI
/// all messages are seen; with MPICH the program's own messages and its collective calls, which
/// pf-collect turns into messages.
#[derive(Parser)]
#[command(name = "pf-profile", version, after_help = EXAMPLES)]
#[command(mut_arg("output", |arg| arg.value_name("DIR").help("Run directory to write, where all hosts see it [default: phaseflow-run]")))]
#[command(mut_arg("threads", |arg| arg.hide(true)), mut_arg("gzip", |arg| arg.hide(true)))]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// What to record: messages below the collectives (pml), calls only (pmpi), or the most that is
    /// possible
    #[arg(long, value_enum, default_value = "auto")]
    level: Level,

    /// Print the environment settings for scripts that start MPI themselves, and end
    #[arg(long)]
    env: bool,

    /// Write into a directory that is not empty; recordings that are there are removed
    #[arg(long)]
    force: bool,

    /// The command to run with its arguments: mpirun, mpiexec, srun, or an MPI program by itself
    #[arg(last = true, required_unless_present_any = ["env", "man", "markdown", "completions"])]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    Auto,
    Pml,
    Pmpi,
}

const EXAMPLES: &str = "Examples:
  pf-profile -o run/ -- mpirun -n 4 ./app
  pf-collect run/ | pf-segment | pf-simulate --topology cluster.graphml | pf-report -o out/

In a batch script:
  # With Slurm
  eval \"$(pf-profile --env -o $SCRATCH/run)\"
  srun ./app

With PHASEFLOW_LOG=1 in the environment, every process prints one line when it starts.";

fn main() -> ExitCode {
    if let Some(command) = without_dashes() {
        return command::refuse(&Error::usage(format!(
            "`{}`: the command to record goes after --: pf-profile -- {command}",
            command.split(' ').next().unwrap_or_default()
        )));
    }
    let mut status = None;
    let ended = command::run(
        |arguments: &Arguments| &arguments.common,
        |arguments| {
            status = profile(arguments)?;
            Ok(())
        },
    );
    status.map_or(ended, |status| ExitCode::from(code(status)))
}

/// The command, where it is given without `--` before it.
fn without_dashes() -> Option<String> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.iter().any(|word| word == "--") {
        return None;
    }
    let error = Arguments::try_parse().err().filter(|error| error.kind() == ErrorKind::UnknownArgument)?;
    let Some(ContextValue::String(stray)) = error.get(ContextKind::InvalidArg) else { return None };
    // An option of that name, and not a command.
    if stray.starts_with('-') {
        return None;
    }
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let first = words.iter().position(|word| word == stray)?;
    Some(words[first..].join(" "))
}

/// As shells do: 128 and the signal's number for a command that a signal ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

fn profile(arguments: &Arguments) -> Result<Option<ExitStatus>> {
    if library().is_empty() {
        return Err(Error::data("recording needs Linux with the GNU C library"));
    }
    let named = arguments.common.output.as_deref().unwrap_or(Path::new("phaseflow-run"));
    let (directory, made) = prepare(named, arguments.force).at(|| named.display())?;
    let settings = Settings {
        directory: directory.clone(),
        level: arguments
            .level
            .to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default(),
        preloaded: std::env::var_os("LD_PRELOAD"),
        others: ["PHASEFLOW_LOG", "PHASEFLOW_CLOCK", "PHASEFLOW_CLOCK_SHIFT"]
            .into_iter()
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
            .collect(),
    };
    if arguments.env {
        std::io::stdout().write_all(settings.script().as_bytes())?;
        return Ok(None);
    }
    let Some(program) = arguments.command.first() else { return Err(Error::usage("no command to run")) };
    let launcher = Launcher::of(program, || version(program));
    let (wrapped, environment) = settings.wrap(launcher, &arguments.command);
    let mut words = wrapped.iter();
    let mut command = Command::new(words.next().unwrap_or(program));
    let mut child = match command.args(words).envs(environment).spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = std::fs::remove_file(directory.join(LIBRARY_FILE));
            remove_empty(&made);
            return Err(Error::from(error).at(program.to_string_lossy()));
        }
    };
    signals::leave_to(child.id());
    let status = child.wait()?;
    let _ = std::fs::remove_file(directory.join(LIBRARY_FILE));
    match closing_line(&directory, named) {
        Ok(line) => {
            remove_empty(&made);
            arguments.common.note(&line);
        }
        // The command's own end matters more than ours.
        Err(error) => arguments.common.note(&error.to_string()),
    }
    Ok(Some(status))
}

/// Removes directories of which nothing has come, the innermost first.
fn remove_empty(made: &[PathBuf]) {
    for directory in made {
        // Only where it is empty.
        let _ = std::fs::remove_dir(directory);
    }
}

/// Makes the run directory and puts the library into it; its absolute path, and the directories
/// that were not there before, the innermost first.
fn prepare(directory: &Path, force: bool) -> Result<(PathBuf, Vec<PathBuf>)> {
    let absolute = std::path::absolute(directory)?;
    if absolute.as_os_str().as_encoded_bytes().iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':')
    {
        return Err(Error::usage("has a space or colon in its path, which LD_PRELOAD cannot name"));
    }
    let made = absolute.ancestors().take_while(|path| !path.exists()).map(PathBuf::from).collect();
    std::fs::create_dir_all(directory)?;
    let directory = directory.canonicalize()?;
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if !force {
            return Err(Error::usage("is not empty; use --force to record into it, or another -o DIR"));
        }
        let ours = path.extension().is_some_and(|extension| extension == format::EXTENSION)
            || path.file_name().is_some_and(|name| {
                name == "recording-stopped" || name.to_string_lossy().starts_with(".clock-")
            });
        if ours {
            std::fs::remove_file(&path).at(|| path.display())?;
        }
    }
    let file = directory.join(LIBRARY_FILE);
    // A process of an earlier run may still have the old one mapped.
    let _ = std::fs::remove_file(&file);
    std::fs::write(&file, library()).at(|| file.display())?;
    Ok((directory, made))
}

/// What a launcher says of itself.
fn version(program: &OsString) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn closing_line(directory: &Path, named: &Path) -> Result<String> {
    let run = match Run::open(directory) {
        Ok(run) => run,
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Ok(format!(
                "{}: nothing was recorded: no process came out of MPI_Init, or the program is linked statically",
                named.display()
            ));
        }
        Err(error) => return Err(Error::from(error).at(named.display())),
    };
    let summary = Summary::of(&run).at(|| named.display())?;
    let mut line = format!(
        "{}: {} processes, {} messages, {} bytes",
        named.display(),
        summary.processes,
        summary.sent.messages,
        summary.sent.bytes
    );
    if summary.calls_only > 0 {
        line += &format!(", {} calls (messages inside collectives are not seen)", summary.calls);
    }
    if summary.ended_early > 0 {
        line += &format!(", {} did not reach MPI_Finalize", summary.ended_early);
    }
    Ok(line)
}
