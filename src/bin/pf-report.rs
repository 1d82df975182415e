//! `pf-report`: result archives → tables, graphs, a page.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use phaseflow::command::{self, Common};
use phaseflow::directory::OutputDirectory;
use phaseflow::input::Input;
use phaseflow::offered::Offered;
use phaseflow::output::Output;
use phaseflow_collect::{At, Error, ErrorKind, Result};
use phaseflow_profiler::Run;
use phaseflow_report::diff::{Diff, Side};
use phaseflow_report::{
    Graphs, PictureFormat, Results, RunView, Summary, Table, TableWriter, Written, write_directory,
};

/// Turn simulation results into tables, graphs and a page to look at
///
/// Prints the hot spot of every phase of every run. With -o, also writes a directory: index.html,
/// CSV tables, one GraphML file per run and phase, a dynamic GEXF of the first run. Results of the
/// shards of one sweep are merged; runs of another sweep are numbered on.
#[derive(Parser, Debug)]
#[command(name = "pf-report", version, after_help = EXAMPLES)]
struct Arguments {
    /// Result archives of pf-simulate; `-` or nothing is standard input
    results: Vec<PathBuf>,

    /// Print one table as CSV instead: runs, phases, links, jobs, series, statistics, ranks,
    /// agreement, intervals, path, blame or loads
    #[arg(long, value_name = "NAME", value_parser = Offered::new(Table::ALL.map(Table::name)), hide_possible_values = true)]
    table: Option<String>,

    /// Also write pictures into DIR/plots: matrices, time lines, link loads, runs and their
    /// speed-up
    ///
    /// svg or png; png needs a font on the machine.
    #[arg(long, value_name = "FORMAT", conflicts_with = "table", value_parser = Offered::new(PictureFormat::NAMES), hide_possible_values = true)]
    plots: Option<String>,

    /// Phases with a GraphML file: hottest (of each run, 250 000 links together), all
    #[arg(long, value_name = "WHICH", default_value = "hottest")]
    graphs: String,

    /// Say what changed between two results: runs that chose the same, or runs in order if none did
    ///
    /// On the terminal; with -o DIR as diff.csv, index.html and a GraphML file per run and phase.
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["results", "table", "plots"])]
    diff: Option<Vec<PathBuf>>,

    /// Read archives that a simulation did not finish, FILE.partial: the runs that are complete
    #[arg(long)]
    partial: bool,

    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  # The verdict and the hot spots, on the terminal
  pf-report results.tar.gz
  # Everything; open report/index.html
  pf-report results.tar.gz -o report/
  # Pictures too, in report/plots/
  pf-report results.tar.gz -o report/ --plots svg
  # One table of a sharded sweep as CSV
  pf-report shard-*.tar.gz --table phases
  # What changed; with -o also diff.csv, a page and graphs
  pf-report --diff before.tar.gz after.tar.gz
  # What a simulation has done that was ended, or that still goes on
  pf-report --partial results.tar.gz.partial

With -o and a table, -o names the CSV file. A directory that exists keeps its other files.";

fn main() -> ExitCode {
    command::run(
        |arguments: &Arguments| &arguments.common,
        |arguments| report(arguments).map_err(|error| advised(error, arguments.partial)),
    )
}

/// A failure with the way around it, where there is one.
fn advised(error: Error, partial: bool) -> Error {
    match error.kind() {
        ErrorKind::Truncated if !partial => error.advise("--partial reads the runs that are complete"),
        _ => error,
    }
}

fn report(arguments: &Arguments) -> Result<()> {
    let common = &arguments.common;
    let table = arguments.table.as_deref().map(Table::named).transpose()?;
    let graphs = Graphs::named(&arguments.graphs)?;
    let plots = arguments.plots.as_deref().map(PictureFormat::named).transpose()?;
    if plots.is_some() && common.output.is_none() {
        return Err(Error::usage("--plots writes files: add -o DIR"));
    }
    if let Some(paths) = &arguments.diff {
        return report_diff(arguments, paths);
    }
    let inputs = Input::all(&arguments.results)?;
    if let Some(Input::Path(path)) = inputs.iter().find(|input| is_directory(input)) {
        let problem = match Run::is_in(path) {
            Ok(true) => "is a run directory; run pf-collect, pf-segment and pf-simulate first",
            _ => "is a directory, expected a result archive of pf-simulate",
        };
        return Err(Error::data(problem).at(path.display()));
    }
    let inputs = inputs.iter().map(|input| Ok((input.to_string(), input.open()?)));
    let mut results = Results::open(inputs.collect::<Result<Vec<_>>>()?, arguments.partial)?;
    if let Some(table) = table {
        let several_models = results.may_have_several_models();
        let output = Output::create(common.output.as_deref(), false)?;
        let mut writer = TableWriter::new(table, output, several_models)?;
        each_run(&mut results, |view| writer.run(view))?;
        writer.finish()?.finish()?;
    } else {
        let summary = match &common.output {
            Some(path) if path == Path::new("-") => {
                return Err(Error::usage("-o -: a report is a directory; name one, or add --table"));
            }
            Some(path) => {
                let output = OutputDirectory::create(path)?;
                let Written { summary, notes } =
                    write_directory(&mut results, output.draft(), plots, graphs)?;
                output.finish("graphml")?;
                notes.iter().for_each(|note| common.note(note));
                summary
            }
            None => {
                let mut summary = Summary::default();
                each_run(&mut results, |view| {
                    summary.run(view);
                    Ok(())
                })?;
                summary
            }
        };
        let mut out = std::io::stdout().lock();
        let written = out.write_all(summary.text().as_bytes()).and_then(|()| out.flush());
        written.at(|| "standard output")?;
    }
    for note in results.notes() {
        common.note(note);
    }
    Ok(())
}

/// What changed between two results.
fn report_diff(arguments: &Arguments, paths: &[PathBuf]) -> Result<()> {
    let common = &arguments.common;
    let read = |path: &PathBuf| -> Result<Side> {
        let input = Input::all(std::slice::from_ref(path))?.remove(0);
        let mut results = Results::open([(input.to_string(), input.open()?)], arguments.partial)?;
        let side = Side::read(&mut results)?;
        results.notes().iter().for_each(|note| common.note(note));
        Ok(side)
    };
    let sides = paths.iter().map(read).collect::<Result<Vec<_>>>()?;
    let [first, second] = &sides[..] else { return Err(Error::usage("--diff takes two results")) };
    let diff = Diff::new(first, second);
    if let Some(path) = &common.output {
        let output = OutputDirectory::create(path)?;
        diff.write_directory(output.draft())?;
        output.finish("graphml")?;
    }
    let mut out = std::io::stdout().lock();
    out.write_all(diff.text().as_bytes()).and_then(|()| out.flush()).at(|| "standard output")?;
    diff.notes().iter().for_each(|note| common.note(note));
    Ok(())
}

fn is_directory(input: &Input) -> bool {
    matches!(input, Input::Path(path) if path.is_dir())
}

fn each_run<R: BufRead>(
    results: &mut Results<R>,
    mut take: impl FnMut(&RunView<'_>) -> Result<()>,
) -> Result<()> {
    while let Some(run) = results.next_run()? {
        take(&RunView::new(&run, results.networks(), results.workloads()))?;
    }
    Ok(())
}
