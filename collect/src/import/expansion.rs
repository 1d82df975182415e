//! A collective's messages from the calls of all its members.

use crate::Result;
use crate::expand::{Collective, Counts, Rules, Transfer, expand};
use crate::trace::Operation;

/// The messages of a collective, and the number of rounds; `None` if the operation and these parts
/// do not determine them.
///
/// `root` is a member's number. `parts` has the bytes of each member's call, as
/// [`Call::bytes`](crate::trace::Call::bytes); `pairs` the bytes from each member to each other
/// one, row by row, where they are known (alltoallv, alltoallw).
///
/// # Errors
/// Sizes that no collective has.
pub(super) fn transfers(
    operation: Operation,
    root: Option<u32>,
    parts: &[u64],
    pairs: Option<&[u64]>,
    rules: Rules,
) -> Result<Option<(Vec<Transfer>, u32)>> {
    let Some(mut collective) = Collective::from_parts(operation, root, parts) else { return Ok(None) };
    if let Some(pairs) = pairs.filter(|pairs| pairs.len() == parts.len() * parts.len()) {
        collective.counts = Counts::Pairs(pairs);
    }
    let mut transfers = Vec::new();
    let rounds = expand(&collective, rules, &mut |transfer| transfers.push(transfer))?;
    Ok(Some((transfers, rounds)))
}
