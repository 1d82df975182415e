//! Switches on a grid: numbers and coordinates, the last of which counts fastest.

/// Number of switches of a grid, or `u64::MAX` if it does not fit.
pub(super) fn volume(dims: &[u32]) -> u64 {
    dims.iter().fold(1, |product: u64, dim| product.saturating_mul(u64::from(*dim)))
}

/// Name of a switch after its coordinates: `1.0.3`.
pub(super) fn coordinates(switch: u64, dims: &[u32]) -> String {
    let (mut rest, mut digits) = (switch, Vec::new());
    for dim in dims.iter().rev() {
        digits.push((rest % u64::from(*dim)).to_string());
        rest /= u64::from(*dim);
    }
    digits.reverse();
    digits.join(".")
}

/// By dimension, the last one first: its extent, and how far apart the numbers of neighbours in it
/// are.
pub(super) fn strides(dims: &[u32]) -> impl Iterator<Item = (u64, u64)> + '_ {
    dims.iter().rev().scan(1, |next, dim| {
        let stride = *next;
        *next *= u64::from(*dim);
        Some((u64::from(*dim), stride))
    })
}
