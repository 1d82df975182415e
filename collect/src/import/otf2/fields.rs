//! Fields of a record: compressed integers, full ones and texts.
//!
//! A compressed integer is a byte with the number of bytes that follow, and these without leading
//! zeros; 255 instead of the number means "undefined", which is the largest value of the type.

use crate::{Error, Result};

/// The value of a reference that points to nothing.
pub(super) const UNDEFINED: u32 = u32::MAX;

/// The fields of a record that are not read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) rest: &'a [u8],
    /// Order of the bytes in an integer.
    pub(super) is_big: bool,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// The record has no byte left, as for all others.
    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.rest.split_first().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(*byte)
    }

    /// A compressed integer of at most eight bytes.
    #[inline]
    pub(super) fn unsigned(&mut self) -> Result<u64> {
        let size = usize::from(self.byte()?);
        if size == 0xff {
            return Ok(u64::MAX);
        }
        if size > 8 {
            return Err(Error::data(format!("has an integer of {size} bytes, expected at most 8")));
        }
        let Some((digits, rest)) = self.rest.split_at_checked(size) else { return Err(too_short()) };
        let mut eight = [0; 8];
        if self.is_big {
            eight[8 - size..].copy_from_slice(digits);
        } else if let Some(all) = self.rest.first_chunk::<8>() {
            // Mostly there is more behind the integer: one load and a mask.
            self.rest = rest;
            let mask = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
            return Ok(u64::from_le_bytes(*all) & mask);
        } else {
            eight[..size].copy_from_slice(digits);
        }
        self.rest = rest;
        Ok(if self.is_big { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) })
    }

    /// A compressed integer of at most four bytes; [`UNDEFINED`] if it is undefined.
    #[inline]
    pub(super) fn id(&mut self) -> Result<u32> {
        match self.unsigned()? {
            u64::MAX => Ok(UNDEFINED),
            value => u32::try_from(value)
                .map_err(|_| Error::data(format!("has {value}, expected an integer of 32 bits"))),
        }
    }

    /// Eight bytes.
    #[inline]
    pub(super) fn eight(&mut self) -> Result<u64> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(if self.is_big { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) })
    }

    /// Bytes up to a zero.
    pub(super) fn text(&mut self) -> Result<String> {
        let end = memchr::memchr(0, self.rest).ok_or_else(too_short)?;
        let text = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }
}

#[cold]
fn too_short() -> Error {
    Error::data("is shorter than its fields")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_the_same_in_both_orders_of_bytes() {
        for (is_big, bytes) in [
            (false, [0, 1, 7, 3, 0x21, 0x43, 5, 0xff, 2, 1, 2]),
            (true, [0, 1, 7, 3, 5, 0x43, 0x21, 0xff, 2, 2, 1]),
        ] {
            let mut fields = Fields { rest: &bytes, is_big };
            let read: Vec<u64> = (0..5).map(|_| fields.unsigned().unwrap()).collect();
            assert_eq!(read, [0, 7, 0x5_4321, u64::MAX, 0x201]);
            assert!(fields.unsigned().is_err());
        }
    }

    #[test]
    fn damage_is_named() {
        let error = |bytes: &[u8]| Fields { rest: bytes, is_big: false }.id().unwrap_err().to_string();
        assert_eq!(error(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0]), "has an integer of 9 bytes, expected at most 8");
        assert_eq!(error(&[3, 0, 0]), "is shorter than its fields");
        assert_eq!(error(&[5, 0, 0, 0, 0, 1]), "has 4294967296, expected an integer of 32 bits");
        assert_eq!(Fields { rest: &[0xff], is_big: true }.id().unwrap(), UNDEFINED);
        assert!(Fields { rest: b"abc", is_big: false }.text().is_err());
    }
}
