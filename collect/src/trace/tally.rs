//! Counting a trace while it passes.

use super::record::{Call, MOST_RANKS, Mark, check_rank};
use super::{MessageBlock, RunFacts, Summary};
use crate::{Cell, Error, Result};

/// Counts records into a [`Summary`] in constant memory. All sinks share it, so `--summary` and an
/// archive's `summary.json` agree.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    summary: Summary,
    span: Option<(i64, i64)>,
}

impl Tally {
    /// Counts messages.
    ///
    /// # Errors
    /// More than 2⁶³−1 bytes in all, or a rank beyond [`MOST_RANKS`].
    pub fn messages(&mut self, block: &MessageBlock) -> Result<()> {
        let columns = block.columns();
        let volume: u128 = columns.bytes.iter().map(|bytes| u128::from(*bytes)).sum();
        self.volume(volume)?;
        self.summary.messages += block.len() as u64;
        let highest = columns.src.iter().chain(&columns.dst).max();
        highest.map_or(Ok(()), |rank| self.rank(*rank))?;
        let (first, last) = block.span_ns().unzip();
        first.into_iter().chain(last).for_each(|time| self.time(time));
        Ok(())
    }

    /// Counts calls.
    ///
    /// # Errors
    /// A rank beyond [`MOST_RANKS`].
    pub fn calls(&mut self, calls: &[Call]) -> Result<()> {
        self.summary.calls += calls.len() as u64;
        for call in calls {
            self.rank(call.rank.0)?;
            self.time(call.enter_ns);
            call.leave_ns.into_iter().for_each(|time| self.time(time));
        }
        Ok(())
    }

    /// Counts marks.
    ///
    /// # Errors
    /// A rank beyond [`MOST_RANKS`].
    pub fn marks(&mut self, marks: &[Mark]) -> Result<()> {
        self.summary.marks += marks.len() as u64;
        for mark in marks {
            self.rank(mark.rank.0)?;
            self.time(mark.time_ns);
        }
        Ok(())
    }

    /// Counts cells of an aggregate trace's matrix.
    ///
    /// # Errors
    /// As [`messages`](Self::messages), and more than 2⁶³−1 messages.
    pub fn cells(&mut self, cells: &[Cell]) -> Result<()> {
        for cell in cells {
            self.volume(u128::from(cell.bytes))?;
            let messages = self.summary.messages.checked_add(cell.messages);
            self.summary.messages = messages
                .filter(|sum| i64::try_from(*sum).is_ok())
                .ok_or_else(|| Error::data("there are more than 2^63-1 messages"))?;
            self.rank(cell.src.0.max(cell.dst.0))?;
        }
        Ok(())
    }

    /// The summary, completed by the facts of the source.
    ///
    /// # Errors
    /// A rank beyond the source's number of ranks, or more ranks than [`MOST_RANKS`].
    pub fn finish(&self, facts: &RunFacts) -> Result<Summary> {
        let mut summary = self.summary.clone();
        if let Some(ranks) = facts.ranks {
            if ranks < summary.ranks {
                let highest = summary.ranks - 1;
                return Err(Error::data(format!("rank {highest} occurs, the trace has {ranks} ranks")));
            }
            if ranks > MOST_RANKS {
                return Err(Error::data(format!(
                    "the trace has {ranks} ranks, expected at most {MOST_RANKS}"
                )));
            }
            summary.ranks = ranks;
        }
        let span = match (facts.span_ns, self.span) {
            // Positions are no times.
            _ if facts.is_ordered => None,
            (Some((start, end)), Some((first, last))) => Some((start.min(first), end.max(last))),
            (stated, seen) => stated.or(seen),
        };
        (summary.start_ns, summary.end_ns) = span.unzip();
        summary.duration_ns = span.map(|(start, end)| end.abs_diff(start)).or(facts.duration_ns);
        summary.unmatched = facts.unmatched;
        summary.unmatched_receives = facts.unmatched_receives.clone();
        summary.clock_error_ns = facts.clock_error_ns;
        Ok(summary)
    }

    fn volume(&mut self, bytes: u128) -> Result<()> {
        let sum = u128::from(self.summary.bytes) + bytes;
        let fits = i64::try_from(sum).ok().map(i64::cast_unsigned);
        self.summary.bytes =
            fits.ok_or_else(|| Error::data("all messages together have more than 2^63-1 bytes"))?;
        Ok(())
    }

    fn rank(&mut self, rank: u32) -> Result<()> {
        if rank >= self.summary.ranks {
            check_rank(rank)?;
            self.summary.ranks = rank + 1;
        }
        Ok(())
    }

    fn time(&mut self, time: i64) {
        let (start, end) = self.span.unwrap_or((time, time));
        self.span = Some((start.min(time), end.max(time)));
    }
}
