//! Volumes, times and rates as users write them: `64KiB`, `5us`, `400G`.

use crate::{Error, Result};

/// Bytes: `4096`, `64KiB`, `16MB`; decimal (kB, MB, GB, TB) and binary (KiB, MiB, GiB, TiB)
/// multiples.
///
/// ```
/// assert_eq!(phaseflow_collect::units::parse_size("64KiB").unwrap(), 65_536);
/// assert_eq!(phaseflow_collect::units::parse_size("16MB").unwrap(), 16_000_000);
/// ```
pub fn parse_size(text: &str) -> Result<u64> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1),
        ("B", 1),
        ("kB", 1_000),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    scaled(text, UNITS)
        .ok_or_else(|| Error::usage(format!("`{text}` is not a size; write 4096, 64KiB or 16MB")))
}

/// Nanoseconds: `250ns`, `5us`, `1ms`, `2s`; a unit is required.
///
/// ```
/// assert_eq!(phaseflow_collect::units::parse_time_ns("1.5us").unwrap(), 1_500);
/// ```
pub fn parse_time_ns(text: &str) -> Result<u64> {
    const UNITS: &[(&str, u64)] = &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
    ];
    scaled(text, UNITS)
        .ok_or_else(|| Error::usage(format!("`{text}` is not a time; write 250ns, 5us, 1ms or 2s")))
}

/// Gbit/s: `10`, `2.5`, `400G`, `1T`, `100M`; a bare number is in Gbit/s.
///
/// ```
/// assert_eq!(phaseflow_collect::units::parse_rate_gbps("400G").unwrap(), 400.0);
/// ```
pub fn parse_rate_gbps(text: &str) -> Result<f64> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'M') => (&text[..text.len() - 1], 1e-3),
        Some(b'G') => (&text[..text.len() - 1], 1.0),
        Some(b'T') => (&text[..text.len() - 1], 1e3),
        _ => (text, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate * factor),
        _ => Err(Error::usage(format!("`{text}` is not a rate; write 10 (Gbit/s), 2.5 or 400G"))),
    }
}

/// `number unit`, the number whole or with a fraction that leaves a whole result's nearest integer.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit.trim_start())?.1;
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = digits.parse::<f64>().ok()? * factor as f64;
    // 2^53: larger numbers have no exact fraction as an `f64`.
    (value.is_finite() && value <= 9_007_199_254_740_992.0).then(|| value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("1.5KiB", 1536), ("2GiB", 2 << 30), ("100MB", 100_000_000)]
        {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "KiB", "-1", "1XB", "18446744073709551616", "99999999999TiB", "1e3"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, ns) in
            [("250ns", 250), ("5us", 5_000), ("1ms", 1_000_000), ("2s", 2_000_000_000), ("0.5s", 500_000_000)]
        {
            assert_eq!(parse_time_ns(text).unwrap(), ns, "{text}");
        }
        for text in ["5", "", "s", "1h", "-1s"] {
            assert!(parse_time_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates() {
        for (text, gbps) in [("10", 10.0), ("400G", 400.0), ("1T", 1000.0), ("100M", 0.1), ("2.5", 2.5)] {
            assert!((parse_rate_gbps(text).unwrap() - gbps).abs() < 1e-12, "{text}");
        }
        for text in ["", "0", "-1", "G", "inf", "nan", "10K"] {
            assert!(parse_rate_gbps(text).is_err(), "{text}");
        }
    }
}
