//! The whole report as a directory.

use std::fs::{self, File};
use std::io::{BufRead, BufWriter, Write};
use std::path::Path;

use phaseflow_collect::{At, Result, choice};

use crate::graph_file;
use crate::graphml::{self, Carried};
use crate::view::RunView;
use crate::{Page, Results, Summary, Table, TableWriter, gexf};

/// What a report consists of, in the directory; `graphml` is a directory.
pub const ENTRIES: [&str; 14] = [
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
    "graphml",
    "fabric.gexf",
    "index.html",
];

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

/// Writes all tables, graphs, the page and the pictures that are asked for into `directory`, which exists and is empty; the summary
/// for the terminal.
///
/// # Errors
/// Damaged or contradictory archives, or what the operating system reports; files may be left.
pub fn write_directory<R: BufRead>(
    results: &mut Results<R>,
    directory: &Path,
    plots: Option<PictureFormat>,
) -> Result<Summary> {
    let create = |name: &str| -> Result<BufWriter<File>> {
        let path = directory.join(name);
        Ok(BufWriter::with_capacity(1 << 16, File::create(&path).at(|| path.display())?))
    };
    let tables = Table::ALL.iter();
    let tables = tables.map(|table| TableWriter::new(*table, create(&format!("{}.csv", table.name()))?));
    let mut tables = tables.collect::<Result<Vec<_>>>()?;
    fs::create_dir(directory.join("graphml")).at(|| directory.display())?;
    let mut page = Page::new(results.configurations().cloned().collect());
    let mut summary = Summary::default();
    let mut runs = 0;
    while let Some(run) = results.next_run()? {
        let view = RunView::new(&run, results.networks(), results.workloads());
        for table in &mut tables {
            table.run(&view)?;
        }
        write_graphs(&view, |name| create(&format!("graphml/{name}")))?;
        if runs == 0 {
            gexf::write(create("fabric.gexf")?, &view)?;
        }
        page.run(&view);
        summary.run(&view);
        runs += 1;
    }
    for table in tables {
        table.finish()?;
    }
    let mut out = create("index.html")?;
    out.write_all(page.html(results.networks(), results.workloads()).as_bytes())?;
    out.flush()?;
    if let Some(format) = plots {
        fs::create_dir(directory.join(PLOTS)).at(|| directory.display())?;
        for picture in page.pictures(results.workloads()) {
            let path = directory.join(PLOTS).join(format!("{}.{}", picture.name, format.extension()));
            let bytes = match format {
                PictureFormat::Svg => picture.svg().as_bytes().to_vec(),
                PictureFormat::Png => picture.png()?,
            };
            fs::write(&path, bytes).at(|| path.display())?;
        }
    }
    Ok(summary)
}

/// One graph per phase of each job, or one for the run where jobs are only told together; one per
/// snapshot.
fn write_graphs<W: Write>(view: &RunView<'_>, mut create: impl FnMut(&str) -> Result<W>) -> Result<()> {
    let links = &view.run.links;
    if !view.links_of(None, None).is_empty() {
        graphml::write(create(&graph_file::of_run(view))?, view.network, &Carried::by_run(view))?;
    }
    if links.job.iter().any(Option::is_some) {
        for job in &view.run.jobs {
            for (position, phase) in (0..).zip(view.phases_of(job.job)) {
                let name = graph_file::of_phase(view, job.job, position, &phase.phase);
                graphml::write(create(&name)?, view.network, &Carried::by_phase(view, job.job, position))?;
            }
        }
    }
    for snapshot in &view.run.snapshots {
        let name = graph_file::of_snapshot(view, snapshot.time_s);
        graphml::write(create(&name)?, view.network, &Carried::by_snapshot(view, snapshot))?;
    }
    Ok(())
}
