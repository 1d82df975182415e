//! How PhaseFlow's commands behave: options that all share, inputs, outputs, exit codes.
//!
//! The five binaries are thin: they parse arguments, hand inputs and outputs to their stage's
//! library, and leave conduct to [`command`]. Nothing here knows a stage.

pub mod command;
pub mod directory;
pub mod documentation;
pub mod drafts;
pub mod input;
pub mod offered;
pub mod output;
pub mod pipe;
