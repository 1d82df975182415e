//! `none`: the whole run is one phase.

use phaseflow_collect::Result;

use super::split::{Answer, Limits, Split};
use crate::first_pass::survey::Run;
use crate::plan::{Plan, Stretch};

/// The run as it is: what a simulation without phases sees.
pub(super) struct Whole;

impl Split for Whole {
    fn split(&self, _: &Run, _: &Limits) -> Result<Answer> {
        let plan = Plan::new(vec![Stretch::exact(Some(0), 0)]);
        Ok(Answer { plan, parameters: String::new() })
    }
}
