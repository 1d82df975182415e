//! Records of one thread, with times on the time line of the run.

use phaseflow_profiler::{Clock, Record, RecordingFile, Records};

use crate::{Error, Result};

/// Most that a thread's clock may go back, nanoseconds, when it moves to a core whose counter is
/// behind: Linux rejects counters that differ by more than microseconds. More is damage.
const MOST_BACK_NS: u64 = 1_000_000;

/// Records of a lane in program order, their times never descending.
pub(super) struct Lane<'a> {
    records: Records<'a, RecordingFile>,
    clock: Clock,
    /// Records read so far.
    count: u64,
    last_ns: i64,
    /// The largest step back of the clock.
    back_ns: u64,
}

impl<'a> Lane<'a> {
    pub(super) fn new(records: Records<'a, RecordingFile>, clock: Clock) -> Self {
        Self { records, clock, count: 0, last_ns: i64::MIN, back_ns: 0 }
    }

    /// Post, enter or mark time of the next record before it is taken; that of the call before for
    /// counts.
    ///
    /// # Errors
    /// An error of the operating system.
    #[inline]
    pub(super) fn peek_ns(&mut self) -> Result<Option<i64>> {
        Ok(self.records.peek()?.map(|ticks| self.clock.ns(ticks).max(self.last_ns)))
    }

    /// The next record and its time.
    ///
    /// # Errors
    /// Errors of the operating system; a time that goes back too far.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<Option<(i64, Record)>> {
        let Some(record) = self.records.next().transpose()? else { return Ok(None) };
        self.count += 1;
        let ticks = match &record {
            Record::Message(message) => message.post,
            Record::Call(call) => call.enter,
            Record::Mark(mark) => mark.time,
            Record::Counts(_) => return Ok(Some((self.last_ns, record))),
        };
        let time_ns = self.clock.ns(ticks);
        if time_ns < self.last_ns {
            self.went_back(self.last_ns.abs_diff(time_ns))?;
        }
        self.last_ns = self.last_ns.max(time_ns);
        Ok(Some((self.last_ns, record)))
    }

    #[cold]
    fn went_back(&mut self, back_ns: u64) -> Result<()> {
        if back_ns > MOST_BACK_NS {
            return Err(Error::data(format!(
                "record {} of its kinds goes back in time by {back_ns} ns, expected ascending times: the file is damaged",
                self.count
            )));
        }
        self.back_ns = self.back_ns.max(back_ns);
        Ok(())
    }

    /// The error of the clock by descending times.
    pub(super) fn back_ns(&self) -> u64 {
        self.back_ns
    }
}
