//! Two levels: `leaf-spine[leaves=16,spines=8,hosts=32]`, an XGFT(2; hosts, leaves; 1, spines).
//!
//! `hosts` is per leaf. Leaves are `s1.0`…, spines `s2.0`…; every leaf has one link to every spine.

use phaseflow_collect::Result;
use phaseflow_collect::choice::Choice;

use super::parameters::positive;
use super::xgft::Arity;

/// Parameters `leaves`, `spines` and `hosts` (per leaf).
pub(super) fn arity(choice: &Choice) -> Result<Arity> {
    let (hosts, leaves) = (positive(choice, "hosts")?, positive(choice, "leaves")?);
    Ok(Arity::published(vec![hosts, leaves], vec![1, positive(choice, "spines")?]))
}
