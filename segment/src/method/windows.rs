//! `windows`: equal slices of time, each a phase of its own.

use phaseflow_collect::Result;

use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::plan::{Plan, Stretch};

/// As many equal windows as the limit allows; if the division leaves a remainder, the last ones are
/// a nanosecond longer. No segmentation to believe in, but what a time series of matrices needs.
pub(super) struct EqualWindows;

impl Split for EqualWindows {
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer> {
        let count = (limits.windows as u64).clamp(1, run.duration_ns.max(1));
        let start = |i: u64| (u128::from(run.duration_ns) * u128::from(i) / u128::from(count)) as u64;
        let stretches = (0..count).map(|i| Stretch::exact(Some(i as u32), start(i))).collect();
        Ok(Answer { plan: Plan::new(stretches), parameters: format!("windows={count}") })
    }
}
