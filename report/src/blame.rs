//! What slowed the critical path of a phase, in a few numbers.

use std::collections::BTreeMap;

use phaseflow_simulate::result::{BlameRow, Cause};
use phaseflow_simulate::topology::LinkId;

/// Time of a critical path in the network, seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slowed {
    /// Lost to other messages of the same job.
    pub(crate) same_job_s: f64,
    /// Lost to messages of other jobs.
    pub(crate) other_jobs_s: f64,
    /// The other job that it lost most to.
    pub(crate) by_job: Option<u32>,
    /// For which links it waited, for its own bytes and for others.
    pub(crate) links: BTreeMap<LinkId, f64>,
}

impl Slowed {
    /// Sums up the rows of one phase; `None` if there are none, as nothing is known then.
    pub(crate) fn new<'r>(rows: impl IntoIterator<Item = &'r BlameRow>) -> Option<Self> {
        let mut rows = rows.into_iter().peekable();
        rows.peek()?;
        let mut slowed = Self::default();
        let mut others: BTreeMap<u32, f64> = BTreeMap::new();
        for row in rows {
            if let Some(link) = row.link {
                *slowed.links.entry(link).or_default() += row.path_s;
            }
            match row.by_job {
                Some(job) if row.cause == Cause::Sharing && job != row.job => {
                    slowed.other_jobs_s += row.path_s;
                    *others.entry(job).or_default() += row.path_s;
                }
                _ if row.cause == Cause::Sharing => slowed.same_job_s += row.path_s,
                _ => {}
            }
        }
        // The first of equal ones.
        slowed.by_job = others.iter().rev().max_by(|a, b| a.1.total_cmp(b.1)).map(|(job, _)| *job);
        Some(slowed)
    }

    /// The link that it waited for the longest.
    pub(crate) fn link(&self) -> Option<LinkId> {
        self.links.iter().rev().max_by(|a, b| a.1.total_cmp(b.1)).map(|(link, _)| *link)
    }
}
