//! What entropies of counts are sums of.

/// x·ln x, 0 at 0; tiny values that rounding leaves count as 0.
pub(crate) fn x_ln_x(x: f64) -> f64 {
    if x > 1e-9 { x * x.ln() } else { 0.0 }
}
