//! The runs of a sweep that an archive holds, to resume the sweep and to list points that are done.
//!
//! An archive belongs to a sweep if their configurations are equal: settings, axes, and the
//! contents of networks and traces. External programs count by their command.

use std::collections::HashSet;
use std::io::BufRead;

use phaseflow_collect::{Error, Result};

use super::Sweep;
use crate::result::{ResultReader, RunResult};

impl Sweep {
    /// True if an archive holds runs of this sweep, or of shards of it.
    pub fn has_written<R: BufRead>(&self, archive: &ResultReader<R>) -> bool {
        archive.header().configuration == self.configuration()
    }

    /// Passes the runs of an archive of this sweep to `sink` and returns their number. They have to
    /// be the first ones of `runs`, so that the rest can be written after them.
    ///
    /// # Errors
    /// An archive of another sweep, or with other runs, a damaged one, or a failure of the sink.
    pub fn take_over<R: BufRead>(
        &self,
        archive: &mut ResultReader<R>,
        runs: &[u32],
        mut sink: impl FnMut(&RunResult) -> Result<()>,
    ) -> Result<usize> {
        self.check_archive(archive)?;
        let mut taken = 0;
        while let Some(run) = archive.next_run()? {
            let expected = runs.get(taken).copied();
            if expected != Some(run.labels.run) {
                let expected = expected.map_or("no more".into(), |run| format!("run {run}"));
                let problem =
                    format!("holds run {}, expected {expected}: other points were selected", run.labels.run);
                return Err(Error::data(problem));
            }
            sink(&run)?;
            taken += 1;
        }
        Ok(taken)
    }

    /// The numbers of the runs that an archive of this sweep holds.
    ///
    /// # Errors
    /// An archive of another sweep, or a damaged one.
    pub fn done<R: BufRead>(&self, archive: &mut ResultReader<R>) -> Result<HashSet<u32>> {
        self.check_archive(archive)?;
        let mut done = HashSet::new();
        while let Some(run) = archive.next_run()? {
            done.insert(run.labels.run);
        }
        Ok(done)
    }

    fn check_archive<R: BufRead>(&self, archive: &ResultReader<R>) -> Result<()> {
        if self.has_written(archive) {
            return Ok(());
        }
        Err(Error::data("is of another sweep: other options, networks or traces"))
    }
}
