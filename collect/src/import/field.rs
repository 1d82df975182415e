//! Limits of a message's fields, and the errors beyond them.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::trace::{MOST_RANKS, Operation};
use crate::{Error, Result};

/// The required fields, in the order of our exports.
pub(super) const REQUIRED: [&str; 4] = ["t_ns", "src", "dst", "bytes"];

/// An unknown time.
pub(super) const UNKNOWN_TIME: i64 = i64::MIN;
/// Known times, nanoseconds.
pub(super) const TIMES: RangeInclusive<i64> = UNKNOWN_TIME + 1..=i64::MAX;
/// Numbers of ranks, below the most that a trace may have.
pub(super) const RANKS: RangeInclusive<i64> = 0..=MOST_RANKS as i64 - 1;
/// Sizes of messages, bytes.
pub(super) const SIZES: RangeInclusive<i64> = 0..=i64::MAX;
/// Tags: a C int.
pub(super) const TAGS: RangeInclusive<i64> = i32::MIN as i64..=i32::MAX as i64;

/// A whole number within `range`, or an error that quotes `found`.
pub(super) fn within(
    name: &str,
    value: Option<i64>,
    found: impl Display,
    range: &RangeInclusive<i64>,
) -> Result<i64> {
    value.filter(|value| range.contains(value)).ok_or_else(|| {
        let (low, high) = (range.start(), range.end());
        Error::data(format!("found `{found}`, expected a whole number from {low} to {high}")).at(name)
    })
}

/// The operation of a name; nothing is point-to-point.
pub(super) fn operation(name: &str) -> Result<Operation> {
    Operation::from_name(name).ok_or_else(|| {
        let problem = format!(
            "found `{name}`, expected an MPI operation in lower case such as `allreduce`, or nothing"
        );
        Error::data(problem).at("op")
    })
}
