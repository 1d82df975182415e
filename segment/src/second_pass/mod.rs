//! The second pass over a trace: what each stretch of a plan holds, and at which message it begins.

mod collectives;
mod likelihood;
mod pauses;
pub(crate) mod recurrence;
pub(crate) mod repeats;
pub(crate) mod representative;
mod rounding;
pub(crate) mod search;
mod side;
pub(crate) mod tally;
pub(crate) mod total;
