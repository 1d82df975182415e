//! Two levels: `leaf-spine[leaves=16,spines=8,hosts=32]`, an XGFT(2; hosts, leaves; 1, spines).
//!
//! `hosts` is per leaf. Leaves are `s1.0`…, spines `s2.0`…; every leaf has `links` cables to
//! every spine, 1 by default. A leaf is oversubscribed by hosts / (spines · links).

use phaseflow_collect::Result;
use phaseflow_collect::choice::Choice;

use super::parameters::{positive, positive_or};
use super::xgft::Arity;

/// Parameters `leaves`, `spines`, `hosts` (per leaf) and `links` (per leaf and spine, default 1).
pub(super) fn arity(choice: &Choice) -> Result<Arity> {
    let (hosts, leaves) = (positive(choice, "hosts")?, positive(choice, "leaves")?);
    let tree = Arity::published(vec![hosts, leaves], vec![1, positive(choice, "spines")?]);
    Ok(tree.trunked(positive_or(choice, "links", 1)?))
}
