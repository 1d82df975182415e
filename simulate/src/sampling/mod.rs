//! Estimation of a whole run from a sample of it.

mod estimate;
pub mod regression;

pub(crate) use estimate::{Estimate, Estimates, WindowReplays};
