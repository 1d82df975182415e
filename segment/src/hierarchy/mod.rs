//! Loops of phases, and the levels at which they are shown.

pub(crate) mod chapters;
mod leaves;
pub(crate) mod level;
pub(crate) mod loops;
