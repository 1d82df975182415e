//! A method: it gets a run and returns a plan.

use phaseflow_collect::Result;

use crate::first_pass::survey::Run;
use crate::plan::Plan;

/// Options that all methods share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest number of windows.
    pub(crate) windows: usize,
    /// Seed of all random numbers.
    pub(crate) seed: u64,
}

/// A plan and the method's parameters as text, like `k=3,windows=1024`.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) plan: Plan,
    pub(crate) parameters: String,
}

/// One way to split a run.
pub(crate) trait Split {
    /// Splits `run`, which has messages and a length.
    ///
    /// # Errors
    /// Nothing to go by (no marks), or no numerical solution.
    fn split(&self, run: &Run, limits: &Limits) -> Result<Answer>;
}
