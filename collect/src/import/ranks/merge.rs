//! All processes' records in one stream, in the order of time; receives are left to
//! [`matching`](super::matching).

use super::collectives::Collectives;
use super::piece::{Leaving, Pieces};
use super::remarks::Remarks;
use super::tournament::Tournament;
use super::{Event, Lane, Process, Wanted};
use crate::Result;

/// Merges what the threads of all processes did: sends, one-sided operations, calls, marks.
pub(super) struct Merge<'a, P: Process + 'a> {
    processes: &'a [P],
    collectives: Collectives<'a, P>,
    threads: Vec<Thread<P::Lane<'a>>>,
    remarks: Remarks,
}

/// A thread of a process.
struct Thread<L> {
    process: usize,
    lane: L,
}

impl<'a, P: Process> Merge<'a, P> {
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn new(processes: &'a [P], collectives: Collectives<'a, P>) -> Result<Self> {
        let mut threads = Vec::new();
        for (place, process) in processes.iter().enumerate() {
            let lanes = process.lanes(Wanted::Leading)?;
            threads.extend(lanes.into_iter().map(|lane| Thread { process: place, lane }));
        }
        Ok(Self { processes, collectives, threads, remarks: Remarks::default() })
    }

    /// Writes everything into `out`.
    ///
    /// # Errors
    /// Errors of the operating system, or of `out`.
    pub(super) fn run(mut self, out: &mut Pieces) -> Result<Remarks> {
        let firsts: Vec<_> =
            (0..self.threads.len()).map(|number| self.peek_ns(number)).collect::<Result<_>>()?;
        let mut tournament = Tournament::new(&firsts);
        while let Some((earliest_ns, number)) = tournament.earliest() {
            if let Some(message) = self.collectives.before(earliest_ns) {
                out.message(Leaving { message, is_received: false, is_sized: true })?;
                continue;
            }
            let Thread { process, lane } = &mut self.threads[number];
            // Errors get their place apart, so that events are not moved for it.
            match lane.next() {
                Ok(Some((_, Event::Message(leaving)))) => out.message(leaving)?,
                Ok(Some((_, Event::Foreign))) => self.remarks.foreign += 1,
                Ok(Some((_, Event::Call { call, collective }))) => {
                    out.call(call)?;
                    self.collectives.entered(*process, &call, collective)?;
                }
                Ok(Some((_, Event::Mark(mark)))) => out.mark(mark)?,
                Ok(Some((_, Event::Receive { .. } | Event::Counts(..) | Event::Nothing)) | None) => {}
                Err(error) => return Err(error.at(self.processes[*process].file())),
            }
            tournament.replace(self.peek_ns(number)?);
        }
        while let Some(message) = self.collectives.before(i64::MAX) {
            out.message(Leaving { message, is_received: false, is_sized: true })?;
        }
        for thread in &self.threads {
            self.remarks.back_ns = self.remarks.back_ns.max(thread.lane.back_ns());
        }
        self.collectives.finish(&mut self.remarks);
        Ok(self.remarks)
    }

    /// Time at which a thread continues.
    #[inline]
    fn peek_ns(&mut self, number: usize) -> Result<Option<i64>> {
        let Thread { process, lane } = &mut self.threads[number];
        match lane.peek_ns() {
            Ok(time_ns) => Ok(time_ns),
            Err(error) => Err(error.at(self.processes[*process].file())),
        }
    }
}
