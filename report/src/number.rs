//! Numbers as text: exact for programs, short for people.

use std::fmt::Write;

/// Appends the shortest decimal that reads back as `value`, never with an exponent.
pub(crate) fn exact(value: f64, text: &mut String) {
    let _ = write!(text, "{value}");
}

/// Three significant digits and a decimal multiple: `5.93 GB`, `741 MB/s`.
pub(crate) fn scaled(value: f64, unit: &str) -> String {
    const MULTIPLES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut scaled = value;
    let mut multiple = 0;
    // 999.5 would round to 1000.
    while scaled.abs() >= 999.5 && multiple + 1 < MULTIPLES.len() {
        scaled /= 1000.0;
        multiple += 1;
    }
    let prefix = MULTIPLES[multiple];
    if prefix.is_empty() && unit.is_empty() {
        significant(scaled)
    } else {
        format!("{} {prefix}{unit}", significant(scaled))
    }
}

/// A load in its unit: bytes per second, or bytes.
pub(crate) fn load(value: f64, rates: bool) -> String {
    scaled(value, if rates { "B/s" } else { "B" })
}

/// `47.4 %`.
pub(crate) fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if value != 0.0 && value.abs() < 0.01 { "< 0.01 %".into() } else { format!("{} %", significant(value)) }
}

/// Seconds with a fitting unit: `12.5 ms`.
pub(crate) fn seconds(value: f64) -> String {
    let (factor, unit) = match value.abs() {
        v if v == 0.0 || v >= 1.0 => (1.0, "s"),
        v if v >= 1e-3 => (1e3, "ms"),
        v if v >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    };
    format!("{} {unit}", significant(value * factor))
}

/// Three significant digits without trailing zeros behind the point.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "?".into();
    }
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        // Leading zeros behind the point are not significant.
        v => (2.0 - v.log10().floor()).clamp(0.0, 12.0) as usize,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_have_no_exponent_and_come_back() {
        for (value, expected) in [
            (5_928_262_656.0, "5928262656"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-7, "0.0000001"),
            (1e21, "1000000000000000000000"),
        ] {
            let mut text = String::new();
            exact(value, &mut text);
            assert_eq!(text, expected);
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }

    #[test]
    fn people_read_three_digits() {
        assert_eq!(load(5_928_262_656.0, false), "5.93 GB");
        assert_eq!(load(741_032_832.0, true), "741 MB/s");
        assert_eq!(load(999.6, true), "1 kB/s");
        assert_eq!(scaled(128.0, ""), "128");
        assert_eq!(percent(0.474), "47.4 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(1e-9), "< 0.01 %");
        assert_eq!(seconds(0.0125), "12.5 ms");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(significant(0.001_234), "0.00123");
    }
}
