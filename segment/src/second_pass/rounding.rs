//! Ratios rounded so that their sums do not depend on their order.

/// Between 2³² and 2³³, neighbouring numbers of 53 significant bits (IEEE 754) are 2⁻²⁰ apart. The
/// middle of that range, in nats: a sum with it is rounded to 20 binary places.
const MIDDLE: f64 = 1.5 * (1u64 << 32) as f64;

/// A ratio in nats to 20 binary places, a millionth, so that sums do not depend on the order of
/// messages of one time. It is less than 2³¹.
pub(super) fn rounded(value: f64) -> f64 {
    (value + MIDDLE) - MIDDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_twenty_binary_places() {
        let unit = (-20f64).exp2();
        for (value, places) in [(0.1, 104_858.0), (-0.1, -104_858.0), (1e-7, 0.0), (-7.0, -7.0 / unit)] {
            assert!((rounded(value) - places * unit).abs() < 1e-12, "{value}");
        }
    }
}
