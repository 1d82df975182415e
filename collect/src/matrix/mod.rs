//! Traffic matrices, and how they are summed up.

mod builder;
mod sparse;
mod square;

pub use builder::{MatrixBuilder, sum_of_bytes};
pub use sparse::{Cell, TrafficMatrix};
