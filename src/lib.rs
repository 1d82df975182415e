//! Behaviour of all commands: shared options, inputs, outputs, exit codes.
//!
//! The five binaries parse arguments and pass inputs and outputs to their stage's library;
//! [`command`] has their common behaviour. This crate does not depend on a stage.

pub mod command;
pub mod directory;
pub mod documentation;
pub mod drafts;
pub mod input;
pub mod offered;
pub mod output;
pub mod pipe;
