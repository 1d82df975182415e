//! `pf-simulate`: runs the phases of programs on networks.

mod model_options;
mod options;
mod watch;

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use phaseflow::command;
use phaseflow::drafts;
use phaseflow::input::Input;
use phaseflow::output::{self, Output};
use phaseflow_collect::choice::Choice;
use phaseflow_collect::import;
use phaseflow_collect::{At, Error, ErrorKind, Result};
use phaseflow_simulate::bisection::effective_bisection;
use phaseflow_simulate::flow_list::FlowList;
use phaseflow_simulate::forwarding::forwarding_tables;
use phaseflow_simulate::result::{Network, ResultHeader, ResultReader, ResultWriter, RunResult};
use phaseflow_simulate::routing::router;
use phaseflow_simulate::run::Progress;
use phaseflow_simulate::scenario::Axis;
use phaseflow_simulate::sweep::{Plan, Selection, Sweep};
use phaseflow_simulate::topology::{Annotations, write_graphml};
use phaseflow_simulate::workload::{Reading, Workload};

use crate::options::Arguments;
use crate::watch::watched;

fn main() -> ExitCode {
    command::run(|arguments: &Arguments| &arguments.common, simulate)
}

fn simulate(arguments: &Arguments) -> Result<()> {
    let scenario = arguments.scenario()?;
    let selection = arguments.selection()?;
    for note in &scenario.notes {
        arguments.common.note(note);
    }
    let replays = scenario.axes.get(Axis::Model).iter().any(|model| model.name() != "traffic");
    if replays && !scenario.snapshots_s.is_empty() {
        arguments.common.note("only the traffic model takes snapshots");
    }
    let routers = scenario.axes.get(Axis::Router).to_vec();
    let seed = scenario.seed.unwrap_or(1);
    let plan = Plan::new(scenario)?;
    if let Some(divisions) = arguments.network.bisections {
        return bisections(arguments, &plan, routers, (divisions, seed));
    }
    if let Some((file, is_all)) = arguments.written_topology() {
        write_topology(&plan, file)?;
        if is_all {
            return Ok(());
        }
    }
    if arguments.sweep.check {
        return check(arguments, &plan);
    }
    let list = arguments.flows.as_deref().map(read_flows).transpose()?;
    let inputs = if list.is_some() { Vec::new() } else { arguments.inputs(&plan)? };
    let file = arguments.output_file()?;
    // Asked for the status of a file, the answer is not for that file.
    let name = arguments.common.output.as_deref().filter(|_| !arguments.sweep.status);
    let is_text = arguments.sweep.list || arguments.sweep.dry_run || arguments.sweep.status;
    if let Some(file) = file.filter(|_| !is_text) {
        output::nobody_writes(file)?;
    }
    let mut output = Output::create(name, !is_text)?;
    if !is_text {
        output.hold();
    }
    let reading = plan.reading(inputs.len());
    let sweep = match list {
        Some(list) => Sweep::load_flows(plan, list)?,
        None => {
            let workloads = inputs.iter().map(|input| read(input, reading)).collect::<Result<Vec<_>>>()?;
            Sweep::load(plan, workloads, tempfile::tempfile)?
        }
    };
    sweep.remarks().for_each(|remark| arguments.common.note(remark));
    if arguments.sweep.list || arguments.sweep.status {
        let done = file.filter(|_| arguments.sweep.status).map(|file| done(&sweep, file)).transpose()?;
        for point in selection.points(&sweep)? {
            let done = done.as_ref().map(|done| done.contains(&point.run));
            writeln!(output, "{}", sweep.listed(&point, done)?)?;
        }
    } else if arguments.sweep.dry_run {
        let estimate = sweep.estimate(selection.points(&sweep)?, rayon::current_num_threads());
        write!(output, "{estimate}")?;
    } else {
        let gzip = arguments.common.gzip || output.gzip();
        output = run(arguments, &sweep, &selection, output, gzip)?;
    }
    output.finish()
}

/// Prints what the routes of all networks and routers come to.
fn check(arguments: &Arguments, plan: &Plan) -> Result<()> {
    let mut output = Output::create(arguments.common.output.as_deref(), false)?;
    for check in plan.check_routes()? {
        writeln!(output, "{}", check.listed()?)?;
    }
    output.finish()
}

/// Runs the selected points into the archive.
fn run(
    arguments: &Arguments,
    sweep: &Sweep,
    selection: &Selection,
    output: Output,
    gzip: bool,
) -> Result<Output> {
    if sweep.loads_are_bytes() {
        arguments.common.note("loads are bytes, not bytes per second: the trace has no duration");
    }
    let tables = arguments.runs.forwarding_tables.as_deref();
    if let Some(folder) = tables {
        std::fs::create_dir_all(folder).at(|| folder.display())?;
    }
    let runs = fitting(arguments, sweep, selection)?;
    sweep.lockups(&runs)?.iter().for_each(|remark| arguments.common.note(remark));
    let mut ends = ends_file(arguments, runs.len())?;
    let header = ResultHeader::new(sweep.configuration());
    let mut results = ResultWriter::new(output, gzip, &header, sweep.topologies(), sweep.workloads())?;
    let file = arguments.output_file()?;
    let mut done = match file {
        Some(file) if arguments.sweep.resume => take_over(arguments, sweep, &runs, file, &mut results)?,
        Some(file) => refuse_to_discard(sweep, file)?,
        None => 0,
    };
    results.output().show()?;
    if done > 0 {
        results.output().save()?;
        if let Some(file) = file {
            drafts::keeps(kept(file, done, runs.len()));
        }
    }
    let rest = &runs[done..];
    let progress = Progress::default();
    let outcome = watched(&progress, sweep, rest, arguments.common.quiet, |bar| {
        let tell = |done| bar.set_message(format!("{done}/{} runs", runs.len()));
        tell(done);
        sweep.execute(rest.iter().copied(), tables.is_some(), &progress, |result| {
            if let Some(folder) = tables {
                write_forwarding_tables(folder, sweep, &result)?;
            }
            if let Some(ends) = &mut ends {
                write_ends(ends, &result)?;
            }
            results.run(&result)?;
            results.output().save()?;
            done += 1;
            tell(done);
            if let Some(file) = file {
                drafts::keeps(kept(file, done, runs.len()));
            }
            Ok(())
        })
    });
    if let (Err(_), Some(file), 1..) = (&outcome, file, done) {
        arguments.common.note(&kept(file, done, runs.len()));
    }
    outcome?;
    ends.map_or(Ok(()), Output::finish)?;
    results.finish()
}

/// The file of `--ends`, for one run.
fn ends_file(arguments: &Arguments, runs: usize) -> Result<Option<Output>> {
    let Some(path) = arguments.ends.as_deref() else { return Ok(None) };
    if runs != 1 {
        return Err(Error::usage(format!(
            "is for one run, and there are {runs}: choose with --only or --shard"
        ))
        .at("--ends"));
    }
    if path == Path::new("-") || Some(path) == arguments.common.output.as_deref() {
        return Err(Error::usage("is where the results go, expected another file").at("--ends"));
    }
    Output::create(Some(path), false).map(Some)
}

fn write_ends(out: &mut Output, result: &RunResult) -> Result<()> {
    writeln!(out, "end_s,duration_s")?;
    let seconds = |time: Option<f64>| time.map_or(String::new(), |time| format!("{time:.12}"));
    for end in &result.flow_ends {
        writeln!(out, "{},{}", seconds(end.end_s), seconds(end.duration_s))?;
    }
    Ok(())
}

fn read_flows(path: &Path) -> Result<FlowList> {
    let input = Input::of(path);
    FlowList::read(input.open()?, &input.to_string())
}

/// Prints the effective bisection bandwidth of networks and routers.
fn bisections(
    arguments: &Arguments,
    plan: &Plan,
    mut routers: Vec<Choice>,
    (divisions, seed): (u32, u64),
) -> Result<()> {
    if routers.is_empty() {
        routers.push(Choice::plain("dmodk"));
    }
    let mut out = Output::create(arguments.common.output.as_deref(), false)?;
    writeln!(out, "topology,router,divisions,mean,least,stddev")?;
    for network in plan.topologies()? {
        for choice in &routers {
            let mut router = router(choice, seed)?;
            let Some(found) = effective_bisection(&network, &mut *router, divisions, seed)? else { continue };
            let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
            let (label, router) = (quoted(network.label()), quoted(choice.label()));
            let stddev = found.stddev.map_or(String::new(), |value| value.to_string());
            writeln!(out, "{label},{router},{divisions},{},{},{stddev}", found.mean, found.least)?;
        }
    }
    out.finish()
}

/// Writes the only network of a plan.
fn write_topology(plan: &Plan, file: &Path) -> Result<()> {
    let networks = plan.topologies()?;
    let [network] = &networks[..] else {
        let problem = format!("is for one network, and there are {}", networks.len());
        return Err(Error::usage(problem).at("--write-topology"));
    };
    let mut out = Output::create(Some(file), false)?;
    write_graphml(&mut out, &Network::from(network), &Annotations::default())?;
    out.finish()
}

/// Points that one selection leaves out and names, at most.
const NAMED: usize = 5;

/// The selected points whose choices go together; the user is told of the others, which are an
/// error only if there are no more.
fn fitting(arguments: &Arguments, sweep: &Sweep, selection: &Selection) -> Result<Vec<u32>> {
    let (mut runs, mut misfits) = (Vec::new(), Vec::new());
    for point in selection.points(sweep)? {
        match sweep.check(&point) {
            Ok(()) => runs.push(point.run),
            Err(misfit) => misfits.push(misfit.at(format!("run {}", point.run))),
        }
    }
    let is_any = |sweep: &Sweep| (0..sweep.len()).any(|run| sweep.check(&sweep.point(run)).is_ok());
    // A shard may have only points that do not fit.
    if runs.is_empty() && !misfits.is_empty() && !(selection.shard.is_some() && is_any(sweep)) {
        return Err(misfits.swap_remove(0));
    }
    for misfit in misfits.iter().take(NAMED) {
        arguments.common.note(&format!("{misfit}; this point is left out"));
    }
    if misfits.len() > NAMED {
        arguments.common.note(&format!("{} points are left out in all", misfits.len()));
    }
    Ok(runs)
}

/// What there is of a sweep that is ended.
fn kept(file: &Path, done: usize, of: usize) -> String {
    let partial = output::partial_name(file);
    let partial = partial.display();
    format!(
        "{partial} has the first {done} of {of} runs: pf-report --partial reads them, --resume goes on after them"
    )
}

/// The numbers of the runs that are in the file, or in what there is of it so far.
fn done(sweep: &Sweep, file: &Path) -> Result<HashSet<u32>> {
    let Some(left) = output::left(file) else { return Ok(HashSet::new()) };
    match ResultReader::open_partial(Input::of(&left).open()?) {
        Err(error) if error.kind() == ErrorKind::Truncated => Ok(HashSet::new()),
        archive => archive.and_then(|mut archive| sweep.done(&mut archive)).at(|| left.display()),
    }
}

/// Writes the runs that an earlier command left of the file; how many.
fn take_over(
    arguments: &Arguments,
    sweep: &Sweep,
    runs: &[u32],
    file: &Path,
    results: &mut ResultWriter<Output>,
) -> Result<usize> {
    let Some(left) = output::left(file) else { return Ok(0) };
    let mut archive = match ResultReader::open_partial(Input::of(&left).open()?) {
        Err(error) if error.kind() == ErrorKind::Truncated => return Ok(0),
        archive => archive.at(|| left.display())?,
    };
    let taken = sweep.take_over(&mut archive, runs, |run| results.run(run)).at(|| left.display())?;
    arguments.common.note(&format!("{taken} of {} runs are taken over from {}", runs.len(), left.display()));
    Ok(taken)
}

/// Runs that an earlier command left and that could be gone on with are not lost for a forgotten
/// option. No run is taken over.
fn refuse_to_discard(sweep: &Sweep, file: &Path) -> Result<usize> {
    let partial = output::partial_name(file);
    let Ok(input) = Input::of(&partial).open() else { return Ok(0) };
    let Ok(mut archive) = ResultReader::open_partial(input) else { return Ok(0) };
    if sweep.has_written(&archive) && archive.next_run().is_ok_and(|run| run.is_some()) {
        let problem = "has finished runs of this sweep: go on after them with --resume, or remove it";
        return Err(Error::usage(problem).at(partial.display()));
    }
    Ok(0)
}

/// A file per run and phase, and per job where there are several.
fn write_forwarding_tables(folder: &Path, sweep: &Sweep, result: &RunResult) -> Result<()> {
    for routes in &result.routes {
        let run = result.labels.run;
        // Names come from the input: nothing of them may lead out of the folder.
        let phase = routes.phase.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_");
        let name = match result.jobs.len() {
            1 => format!("{run}-{phase}.yml"),
            _ => format!("{run}-{}-{phase}.yml", routes.job),
        };
        let mut file = Output::create(Some(&folder.join(name)), false)?;
        file.write_all(forwarding_tables(&sweep.topologies()[result.topology], routes).as_bytes())?;
        file.finish()?;
    }
    Ok(())
}

fn read(input: &Input, reading: Reading) -> Result<Workload> {
    let opened = match input {
        Input::Standard => Ok(import::Input::Stream(Box::new(std::io::stdin()))),
        Input::Path(path) => import::Input::open(path),
    };
    opened.and_then(|opened| Workload::read(opened, tempfile::tempfile, reading)).at(|| input)
}
