//! Parameters of generators that count something: whole numbers from 1 up.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

/// A parameter that counts something, at least 1.
pub(super) fn positive(choice: &Choice, key: &str) -> Result<u32> {
    let value: u32 = choice.required(key)?;
    nonzero(choice, key, value)
}

/// As [`positive`], with a default.
pub(super) fn positive_or(choice: &Choice, key: &str, default: u32) -> Result<u32> {
    let value = choice.value(key, default)?;
    nonzero(choice, key, value)
}

fn nonzero(choice: &Choice, key: &str, value: u32) -> Result<u32> {
    if value == 0 {
        return Err(Error::usage(format!("`{choice}`: {key} is 0, expected at least 1")));
    }
    Ok(value)
}
