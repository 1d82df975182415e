//! Windows of whole rounds: a round ends where its [tokens] come again ([cutter]).

mod cutter;
mod idle;
mod once;
pub(crate) mod ranks;
pub(crate) mod sums;
pub(crate) mod token_set;
mod tokens;
pub(crate) mod windows;
