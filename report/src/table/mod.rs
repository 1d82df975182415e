//! The tables, as CSV (RFC 4180, lines end in a newline alone): one file per table.
//!
//! Columns only ever get added at the end. An unknown is an empty cell. A number has as many digits
//! as it takes to read the same number back, and no exponent.

mod agreement;
mod blame;
mod intervals;
mod jobs;
mod links;
mod loads;
mod path;
mod phases;
mod ranks;
mod rows;
mod runs;
mod series;
mod statistics;

use std::io::Write;

use phaseflow_collect::{Result, choice};

use crate::view::RunView;
use agreement::References;
pub(crate) use rows::Rows;

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// One row per run: its choices and its statistics.
    Runs,
    /// One row per run, job and phase.
    Phases,
    /// One row per run, job, phase and link that carries something.
    Links,
    /// One row per run and job.
    Jobs,
    /// One row per run, series and change of value.
    Series,
    /// One row per run and series: what PFSim says of it.
    Statistics,
    /// One row per run, job, phase and rank: where its time went in a replay.
    Ranks,
    /// One row per run, job, phase and link, where the run differs from an earlier one in its model
    /// alone: how far both agree.
    Agreement,
    /// One row per kind of run, job, phase and quantity: what runs that differ in their seed alone
    /// have in common.
    Intervals,
    /// Steps of the critical path of each run, job and phase.
    Path,
    /// One row per run, job, phase and what its critical path waited for in the network.
    Blame,
    /// One row per run, job and phase: how evenly the links between switches are loaded.
    Loads,
}

impl Table {
    /// All tables, in the order of the documentation.
    pub const ALL: [Self; 12] = [
        Self::Runs,
        Self::Phases,
        Self::Links,
        Self::Jobs,
        Self::Series,
        Self::Statistics,
        Self::Ranks,
        Self::Agreement,
        Self::Intervals,
        Self::Path,
        Self::Blame,
        Self::Loads,
    ];

    /// The table called `name`.
    ///
    /// # Errors
    /// No table of this name.
    pub fn named(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|table| table.name() == name);
        found.ok_or_else(|| choice::unknown_name("table", name, &Self::ALL.map(Self::name)))
    }

    /// Its name, also that of its file without `.csv`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Phases => "phases",
            Self::Links => "links",
            Self::Jobs => "jobs",
            Self::Series => "series",
            Self::Statistics => "statistics",
            Self::Ranks => "ranks",
            Self::Agreement => "agreement",
            Self::Intervals => "intervals",
            Self::Path => "path",
            Self::Blame => "blame",
            Self::Loads => "loads",
        }
    }

    /// Its columns.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Runs => runs::COLUMNS,
            Self::Phases => phases::COLUMNS,
            Self::Links => links::COLUMNS,
            Self::Jobs => jobs::COLUMNS,
            Self::Series => series::COLUMNS,
            Self::Statistics => statistics::COLUMNS,
            Self::Ranks => ranks::COLUMNS,
            Self::Agreement => agreement::COLUMNS,
            Self::Intervals => intervals::COLUMNS,
            Self::Path => path::COLUMNS,
            Self::Blame => blame::COLUMNS,
            Self::Loads => loads::COLUMNS,
        }
    }
}

/// Writes one table, run by run.
#[derive(Debug)]
pub struct TableWriter<W: Write> {
    table: Table,
    rows: Rows<W>,
    references: References,
    samples: intervals::Samples,
}

impl<W: Write> TableWriter<W> {
    /// Starts a table with its line of column names. Runs of one model have none to be compared
    /// with: unless `several_models`, `agreement` keeps nothing of them and stays empty.
    ///
    /// # Errors
    /// What the output reports.
    pub fn new(table: Table, out: W, several_models: bool) -> Result<Self> {
        let rows = Rows::new(out, table.columns())?;
        Ok(Self { table, rows, references: References::new(several_models), samples: Default::default() })
    }

    /// Appends the rows of a run.
    ///
    /// # Errors
    /// What the output reports.
    pub fn run(&mut self, view: &RunView<'_>) -> Result<()> {
        match self.table {
            Table::Runs => runs::write(view, &mut self.rows),
            Table::Phases => phases::write(view, &mut self.rows),
            Table::Links => links::write(view, &mut self.rows),
            Table::Jobs => jobs::write(view, &mut self.rows),
            Table::Series => series::write(view, &mut self.rows),
            Table::Statistics => statistics::write(view, &mut self.rows),
            Table::Ranks => ranks::write(view, &mut self.rows),
            Table::Path => path::write(view, &mut self.rows),
            Table::Blame => blame::write(view, &mut self.rows),
            Table::Loads => loads::write(view, &mut self.rows),
            Table::Agreement => agreement::write(&mut self.references, view, &mut self.rows),
            Table::Intervals => {
                self.samples.add(view);
                Ok(())
            }
        }
    }

    /// Ends the table and hands the output back, flushed.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(mut self) -> Result<W> {
        self.samples.write(&mut self.rows)?;
        self.rows.finish()
    }
}
