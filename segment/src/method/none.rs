//! `none`: the whole run is one phase.

use phaseflow_collect::Result;

use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::plan::{Plan, Stretch};

/// One phase for the whole run, as a simulation without phases has it.
pub(super) struct Whole;

impl Split for Whole {
    fn split(&self, _: &Run, _: &Limits) -> Result<Answer> {
        let plan = Plan::new(vec![Stretch::exact(Some(0), 0)]);
        Ok(Answer { plan, parameters: String::new() })
    }
}
