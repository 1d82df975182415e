//! SplitMix64's mixing function, the hash behind chance and the choice of routes.
//!
//! Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).

/// One step of SplitMix64.
#[inline]
pub(super) fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
