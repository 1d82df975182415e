//! Where exactly a change is: the messages around it, and how well each tells the new phase from the old one.
//!
//! The log-likelihood ratio of the messages under the new against the old phase is summed up; the sum is least where the old
//! phase ends (a CUSUM, Page 1954, whose minimum is the most likely change). Messages that both phases send tell little, and a
//! few of them at a change can move the minimum by a part of a round: if those between the minimum and the place where the
//! rhythm changes tell little, the rhythm is believed.

use phaseflow_collect::{MatrixBuilder, Result};

use crate::tally::Total;
use crate::window::sketch::Ratio;

/// Messages that wait at most; if the change is not among so many, it is at the minimum so far.
const MOST: usize = 1 << 19;

/// Messages whose ratio is below this in the mean could be of both phases: e is 2.7 times as likely.
const LITTLE: f64 = 1.0;

/// Messages of one time; they stay together.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Messages before it.
    first: usize,
    start_ns: u64,
    /// Sum of the ratios of all messages before it.
    sum: f64,
}

/// A search in progress.
pub(crate) struct Search {
    ratio: Ratio,
    /// Where the rhythm changes.
    expected_ns: u64,
    sum: f64,
    last_ns: u64,
    groups: Vec<Group>,
    src: Vec<u32>,
    dst: Vec<u32>,
    bytes: Vec<u64>,
}

/// A stretch and its matrix, to which messages go.
pub(crate) struct Side<'a> {
    pub(crate) total: &'a mut Total,
    pub(crate) matrix: &'a mut MatrixBuilder,
}

impl Side<'_> {
    pub(crate) fn add(&mut self, src: &[u32], dst: &[u32], bytes: &[u64]) -> Result<()> {
        // Refuses sums beyond 63 bits.
        self.matrix.add_messages(src, dst, bytes)?;
        self.total.messages += src.len() as u64;
        self.total.bytes = bytes.iter().fold(self.total.bytes, |sum, bytes| sum.saturating_add(*bytes));
        Ok(())
    }
}

impl Search {
    /// `ratio` is positive for messages of the new phase.
    pub(crate) fn new(ratio: Ratio, expected_ns: u64) -> Self {
        Self {
            ratio,
            expected_ns,
            sum: 0.0,
            last_ns: 0,
            groups: Vec::new(),
            src: Vec::new(),
            dst: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Adds a message posted at `now_ns`; `operation` is its archive code. False if no more will be waited for.
    pub(crate) fn push(&mut self, now_ns: u64, (src, dst, bytes, operation): (u32, u32, u64, i64)) -> bool {
        if self.groups.is_empty() || now_ns > self.last_ns {
            self.groups.push(Group { first: self.src.len(), start_ns: now_ns, sum: self.sum });
            self.last_ns = now_ns;
        }
        self.sum += self.ratio.of(src, dst, bytes, operation);
        self.src.push(src);
        self.dst.push(dst);
        self.bytes.push(bytes);
        self.src.len() < MOST
    }

    /// Ends the search: hands the messages over, and tells when the new stretch begins. `now_ns` is when the message after
    /// these is posted.
    pub(crate) fn settle(mut self, now_ns: u64, old: &mut Side<'_>, new: &mut Side<'_>) -> Result<u64> {
        self.groups.push(Group { first: self.src.len(), start_ns: now_ns, sum: self.sum });
        let least = self.groups.iter().min_by(|a, b| a.sum.total_cmp(&b.sum).then(a.first.cmp(&b.first)));
        let expected = self.groups.binary_search_by_key(&self.expected_ns, |group| group.start_ns);
        let expected = expected.ok().and_then(|at| self.groups.get(at));
        let change = match (least, expected) {
            (Some(least), Some(expected)) => {
                let between = expected.first.abs_diff(least.first) as f64;
                if expected.sum - least.sum < LITTLE * between { expected } else { least }
            }
            (Some(least), None) => least,
            (None, _) => return Ok(now_ns),
        };
        let at = change.first;
        old.add(&self.src[..at], &self.dst[..at], &self.bytes[..at])?;
        new.add(&self.src[at..], &self.dst[at..], &self.bytes[at..])?;
        Ok(change.start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::sketch::Sketch;

    fn sketch(pairs: &[(u32, u32)]) -> Sketch {
        let mut sketch = Sketch::default();
        for (src, dst) in pairs {
            sketch.add_columns(&[*src], &[*dst], &[64], &[0]);
        }
        sketch
    }

    /// Messages before the change, and when it is.
    fn change(
        old: &[(u32, u32)],
        new: &[(u32, u32)],
        messages: &[(u32, u32)],
        expected_ns: u64,
    ) -> (u64, u64) {
        let mut search = Search::new(Ratio::new(&sketch(new), &sketch(old)), expected_ns);
        for (time, (src, dst)) in (1000..).zip(messages) {
            assert!(search.push(time, (*src, *dst, 64, 0)));
        }
        let (mut before, mut after) = (Total::default(), Total::default());
        let (mut one, mut other) = (MatrixBuilder::default(), MatrixBuilder::default());
        let end = 1000 + messages.len() as u64;
        let mut old = Side { total: &mut before, matrix: &mut one };
        let mut new = Side { total: &mut after, matrix: &mut other };
        let start_ns = search.settle(end, &mut old, &mut new).unwrap();
        assert_eq!(before.messages + after.messages, messages.len() as u64);
        assert_eq!(one.finish().messages(), before.messages);
        (before.messages, start_ns)
    }

    #[test]
    fn the_change_is_where_messages_change() {
        let (old, new) = ([(0, 1), (1, 2)].repeat(20), [(5, 9), (9, 4)].repeat(20));
        let messages = [&old[..7], &new[..5]].concat();
        assert_eq!(change(&old, &new, &messages, 0), (7, 1007));
        assert_eq!(change(&old, &new, &messages, 1003), (7, 1007));
        assert_eq!(change(&old, &new, &old[..6], 1003), (6, 1006));
        assert_eq!(change(&old, &new, &new[..6], 1003), (0, 1000));
    }

    #[test]
    fn where_both_phases_send_the_same_the_rhythm_tells() {
        // The old round is a a b, the new one a: the last `a a` could be of either.
        let old = [(0, 1), (0, 1), (7, 3)].repeat(20);
        let new = [(0, 1)].repeat(40);
        let messages = [&old[..6], &new[..6]].concat();
        assert_eq!(change(&old, &new, &messages, 1008), (8, 1008));
        // But not what only the old one sends.
        assert_eq!(change(&old, &new, &messages, 1004), (6, 1006));
    }
}
