//! One switch: `star[hosts=8]`, an XGFT(1; hosts; 1).

use phaseflow_collect::Result;
use phaseflow_collect::choice::Choice;

use super::parameters::positive;
use super::xgft::Arity;

/// Parameter `hosts`.
pub(super) fn arity(choice: &Choice) -> Result<Arity> {
    Ok(Arity::published(vec![positive(choice, "hosts")?], vec![1]))
}
