//! The whole report as a directory.

use std::fs::{self, File};
use std::io::{BufRead, BufWriter, Write};
use std::path::Path;

use phaseflow_collect::{At, Result, choice};
use phaseflow_simulate::result::PhaseRow;
use phaseflow_simulate::workload::Workload;

use crate::graph_file;
use crate::graphml::{self, Carried};
use crate::view::RunView;
use crate::{Page, Results, Summary, Table, TableWriter, gexf};

/// What a report consists of, in the directory; `graphml` is a directory.
pub const ENTRIES: [&str; 15] = [
    "runs.csv",
    "phases.csv",
    "links.csv",
    "jobs.csv",
    "series.csv",
    "ranks.csv",
    "statistics.csv",
    "agreement.csv",
    "intervals.csv",
    "path.csv",
    "blame.csv",
    "loads.csv",
    "graphml",
    "fabric.gexf",
    "index.html",
];

/// Links that the graphs of the phases of one run have together, about 80 MB of GraphML: what a
/// person opens is the hottest phase, and 50 phases of 100 000 links would be 1.4 GB a run.
pub const GRAPH_LINKS: usize = 250_000;

/// The directory of pictures, where they are asked for.
pub const PLOTS: &str = "plots";

/// How pictures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Vectors, with the fonts of who looks at them.
    Svg,
    /// Pixels.
    Png,
}

impl PictureFormat {
    /// The formats' names.
    pub const NAMES: [&str; 2] = ["svg", "png"];

    /// The format of a name.
    ///
    /// # Errors
    /// No format of this name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(choice::unknown_name("picture format", name, &Self::NAMES)),
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
        }
    }
}

/// Which phases get a graph of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Graphs {
    /// The hottest of each run, as many as have [`GRAPH_LINKS`] links together.
    #[default]
    Hottest,
    /// All.
    All,
}

impl Graphs {
    /// The choice of a name.
    ///
    /// # Errors
    /// No choice of this name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "hottest" => Ok(Self::Hottest),
            "all" => Ok(Self::All),
            _ => Err(choice::unknown_name("choice of graphs", name, &["hottest", "all"])),
        }
    }
}

/// What was written, for a person.
#[derive(Debug)]
pub struct Written {
    /// For the terminal.
    pub summary: Summary,
    /// What is not there for its size.
    pub notes: Vec<String>,
}

/// Writes all tables, graphs, the page and the pictures that are asked for into `directory`, which
/// exists and is empty.
///
/// # Errors
/// Damaged or contradictory archives, or what the operating system reports; files may be left.
pub fn write_directory<R: BufRead>(
    results: &mut Results<R>,
    directory: &Path,
    plots: Option<PictureFormat>,
    graphs: Graphs,
) -> Result<Written> {
    let create = |name: &str| -> Result<BufWriter<File>> {
        let path = directory.join(name);
        Ok(BufWriter::with_capacity(1 << 16, File::create(&path).at(|| path.display())?))
    };
    let several_models = results.may_have_several_models();
    let table =
        |table: &Table| TableWriter::new(*table, create(&format!("{}.csv", table.name()))?, several_models);
    let mut tables = Table::ALL.iter().map(table).collect::<Result<Vec<_>>>()?;
    fs::create_dir(directory.join("graphml")).at(|| directory.display())?;
    let mut page = Page::new(results.configurations().cloned().collect());
    let mut summary = Summary::default();
    let (mut runs, mut left_out) = (0, 0);
    while let Some(run) = results.next_run()? {
        let view = RunView::new(&run, results.networks(), results.workloads());
        // Of large results the tables take as long as all the rest.
        let (written, rest) = rayon::join(
            || tables.iter_mut().try_for_each(|table| table.run(&view)),
            || -> Result<()> {
                left_out += write_graphs(&view, graphs, |name| create(&format!("graphml/{name}")))?;
                if runs == 0 {
                    gexf::write(create("fabric.gexf")?, &view)?;
                }
                page.run(&view);
                summary.run(&view);
                Ok(())
            },
        );
        written?;
        rest?;
        runs += 1;
    }
    for table in tables {
        table.finish()?;
    }
    page.leave_out_graphs(left_out);
    let mut out = create("index.html")?;
    out.write_all(page.html(results.networks(), results.workloads()).as_bytes())?;
    out.flush()?;
    if let Some(format) = plots {
        write_pictures(&page, results.workloads(), &directory.join(PLOTS), format)?;
    }
    let note = format!("graphml/ lacks {left_out} of the cooler phases: --graphs all writes them too");
    Ok(Written { summary, notes: if left_out > 0 { vec![note] } else { Vec::new() } })
}

fn write_pictures(page: &Page, workloads: &[Workload], plots: &Path, format: PictureFormat) -> Result<()> {
    fs::create_dir(plots).at(|| plots.display())?;
    for picture in page.pictures(workloads) {
        let path = plots.join(format!("{}.{}", picture.name, format.extension()));
        let bytes = match format {
            PictureFormat::Svg => picture.svg().as_bytes().to_vec(),
            PictureFormat::Png => picture.png()?,
        };
        fs::write(&path, bytes).at(|| path.display())?;
    }
    Ok(())
}

/// One graph per phase of each job, or one for the run where jobs are only told together; one per
/// snapshot. Returns how many phases are left out.
fn write_graphs<W: Write>(
    view: &RunView<'_>,
    graphs: Graphs,
    mut create: impl FnMut(&str) -> Result<W>,
) -> Result<usize> {
    let links = &view.run.links;
    if !view.links_of(None, None).is_empty() {
        graphml::write(create(&graph_file::of_run(view))?, view.network, &Carried::by_run(view))?;
    }
    let mut left_out = 0;
    if links.job.iter().any(Option::is_some) {
        let mut phases: Vec<(u32, u32, &PhaseRow)> = Vec::new();
        for job in &view.run.jobs {
            let own = (0..).zip(view.phases_of(job.job));
            phases.extend(own.map(|(position, phase)| (job.job, position, phase)));
        }
        let most = (GRAPH_LINKS / view.network.links.len().max(1)).max(1);
        if graphs == Graphs::Hottest && phases.len() > most {
            let heat = |row: &PhaseRow| {
                let capacity = row.bottleneck.map_or(f64::INFINITY, |link| view.network.link(link).capacity);
                row.max_link_load.unwrap_or(0.0) / capacity
            };
            phases.sort_by(|a, b| heat(b.2).total_cmp(&heat(a.2)));
            left_out = phases.len() - most;
            phases.truncate(most);
        }
        for (job, position, phase) in phases {
            let name = graph_file::of_phase(view, job, position, &phase.phase);
            graphml::write(create(&name)?, view.network, &Carried::by_phase(view, job, position))?;
        }
    }
    for snapshot in &view.run.snapshots {
        let name = graph_file::of_snapshot(view, snapshot.time_s);
        graphml::write(create(&name)?, view.network, &Carried::by_snapshot(view, snapshot))?;
    }
    Ok(left_out)
}
