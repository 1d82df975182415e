//! Decimal numbers, eight digits at a time.
//!
//! Text traces are mostly digits in numbers of varying length, each of which costs a loop over
//! bytes a mispredicted branch. Eight bytes in one register suffice to find the first that is no
//! digit, and to convert those before it by three multiplications (Lemire, "Quickly parsing eight
//! digits", 2018, after Muła).

/// Powers of ten.
const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The number that `bytes` begin with and its length; `None` without digits or with more than 19,
/// which a u64 might not hold.
#[inline]
pub(super) fn digits(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut length = 0;
    while let Some(eight) = bytes[length..].first_chunk::<8>() {
        // Digits become 0 to 9; in other bytes the addition or the byte itself sets the highest
        // bit. It may carry into the bytes after such a one, which do not matter.
        let digits = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
        let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        if others == 0 {
            value = value.wrapping_mul(100_000_000).wrapping_add(eight_digits(digits));
            length += 8;
            continue;
        }
        let count = others.trailing_zeros() / 8;
        if count > 0 {
            // The bytes after the number are replaced by leading zeros.
            let part = eight_digits(digits << (64 - 8 * count));
            value = value.wrapping_mul(POWERS[count as usize]).wrapping_add(part);
        }
        length += count as usize;
        return (1..20).contains(&length).then_some((value, length));
    }
    while let Some(digit) = bytes.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (1..20).contains(&length).then_some((value, length))
}

/// The number of eight digits, the first in the lowest byte.
#[inline]
fn eight_digits(digits: u64) -> u64 {
    /// Two of eight digits: the pairs that one multiplication adds.
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & MASK).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_standard_library_parses(text in "[0-9]{0,21}", rest in "([^0-9][ -~\u{80}-\u{ff}]{0,20})?") {
            let expected = text.parse::<u64>().ok().filter(|_| text.len() < 20).map(|value| (value, text.len()));
            prop_assert_eq!(digits(format!("{text}{rest}").as_bytes()), expected);
        }
    }
}
