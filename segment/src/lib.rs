//! Splits a trace into communication phases.
//!
//! A *phase* is a kind of communication behaviour; one stretch of it is an *occurrence*. The ordered occurrences that cover a
//! run are its *segmentation*. Each phase has a traffic matrix over all its occurrences, which the next stage puts on a
//! network.

mod archive;

pub use archive::{
    FORMAT, Header, Occurrence, Phase, Segmentation, VERSION, read_segmentation, write_segmentation,
};
