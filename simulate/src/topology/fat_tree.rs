//! Fat trees of equal switches with `k` ports: `fat-tree[k=8]`, an XGFT(3; k/2, k/2, k; 1, k/2,
//! k/2).
//!
//! After Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture"
//! (SIGCOMM 2008): k pods of k/2 edge (`s1.…`) and k/2 aggregation (`s2.…`) switches, (k/2)² core
//! switches (`s3.…`), k³/4 hosts.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::xgft::Arity;

/// Parameter `k`, the number of ports of a switch: even.
pub(super) fn arity(choice: &Choice) -> Result<Arity> {
    let k: u32 = choice.required("k")?;
    if k == 0 || !k.is_multiple_of(2) {
        return Err(Error::usage(format!("`{choice}`: k is {k}, expected an even number of ports")));
    }
    Ok(Arity::published(vec![k / 2, k / 2, k], vec![1, k / 2, k / 2]))
}
