//! The first line of a Paraver trace: `#Paraver (date):end[_ns]:nodes(cpus,…):applications:…`, and
//! for each application `tasks(threads:node,…)[,communicators]`.

use crate::trace::MOST_RANKS;
use crate::{Error, Result};

/// Time and ranks of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// End of the trace, nanoseconds.
    pub(super) end_ns: Option<i64>,
    /// Nanoseconds of a unit of time.
    pub(super) unit_ns: i64,
    /// The rank of the first task of each application, and of one behind the last.
    first_ranks: Vec<u32>,
}

impl Layout {
    /// # Errors
    /// A line that is no header.
    pub(super) fn parse(line: &[u8]) -> Result<Self> {
        let line = String::from_utf8_lossy(line);
        let expected = |what: &str| {
            let found: String = line.chars().take(80).collect();
            let form = "#Paraver (date):time:nodes:applications:tasks(threads:node,…)";
            Error::data(format!("found `{}`, expected {what} of `{form}`", found.trim_end()))
        };
        let rest = line.strip_prefix("#Paraver").ok_or_else(|| expected("the beginning"))?;
        // The date has colons of its own.
        let (_, rest) = rest.split_once("):").ok_or_else(|| expected("the date"))?;
        let mut fields = divide(rest.trim_end());
        let time = fields.next().unwrap_or_default();
        let (digits, unit_ns) = time.strip_suffix("_ns").map_or((time, 1000), |digits| (digits, 1));
        let end: i64 = digits.trim().parse().map_err(|_| expected("the time"))?;
        let _nodes = fields.next().ok_or_else(|| expected("the nodes"))?;
        let count: usize = fields
            .next()
            .and_then(|count| count.trim().parse().ok())
            .ok_or_else(|| expected("the applications"))?;
        let mut first_ranks = vec![0u32];
        for application in fields.by_ref().take(count) {
            let tasks = application.split('(').next().and_then(|tasks| tasks.trim().parse::<u32>().ok());
            let last = first_ranks.last().copied().unwrap_or(0);
            let next = tasks.and_then(|tasks| last.checked_add(tasks)).filter(|ranks| *ranks <= MOST_RANKS);
            first_ranks.push(next.ok_or_else(|| expected("the tasks of an application"))?);
        }
        if first_ranks.len() != count.saturating_add(1) || count == 0 {
            return Err(expected("as many applications as it says"));
        }
        Ok(Self { end_ns: end.checked_mul(unit_ns), unit_ns, first_ranks })
    }

    /// Ranks of all applications.
    pub(super) fn ranks(&self) -> u32 {
        self.first_ranks.last().copied().unwrap_or(0)
    }

    /// The rank of a task; both are numbered from 1.
    pub(super) fn rank(&self, application: i64, task: i64) -> Option<u32> {
        let application = usize::try_from(application).ok()?.checked_sub(1)?;
        let (first, end) = (*self.first_ranks.get(application)?, *self.first_ranks.get(application + 1)?);
        let rank = first.checked_add(u32::try_from(task).ok()?.checked_sub(1)?)?;
        (rank < end).then_some(rank)
    }

    /// The ranks of an application.
    pub(super) fn tasks(&self, application: i64) -> Option<u32> {
        let application = usize::try_from(application).ok()?.checked_sub(1)?;
        Some(self.first_ranks.get(application + 1)? - self.first_ranks[application])
    }
}

/// Fields between colons that are not in brackets.
fn divide(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0u32;
    text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ':' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_both_units() {
        let layout =
            Layout::parse(b"#Paraver (10/04/2001 at 18:21):620244_ns:2(4,4):2:2(1:1,1:2),1:3(1:1,1:1,2:2)\n");
        let layout = layout.unwrap();
        assert_eq!((layout.end_ns, layout.unit_ns, layout.ranks()), (Some(620_244), 1, 5));
        let found = [(1, 1), (1, 2), (2, 1), (2, 3), (1, 3), (3, 1), (0, 1), (1, 0), (2, i64::MAX)]
            .map(|(application, task)| layout.rank(application, task));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(4), None, None, None, None, None]);
        let micros = Layout::parse(b"#Paraver (1/1/01 at 0:0):5:0:1:1(1:1)").unwrap();
        assert_eq!((micros.end_ns, micros.unit_ns), (Some(5000), 1000));
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for bad in [
            "#Paraver",
            "#Paraver (x):",
            "#Paraver (x):y:0:1:1(1:1)",
            "#Paraver (x):1:0:2:1(1:1)",
            "#Paraver (x):1:0:1:99999999(1:1)",
            "#Paraver (x):1:0:0",
            "#Paraver (x):1:0:18446744073709551615:1",
        ] {
            assert!(Layout::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
