//! The anchor file: who wrote the trace, and how its files are stored.

use super::fields::Fields;
use super::records::{BIG, LITTLE};
use crate::{Error, Result};

/// Largest anchor file, bytes; properties of a run are a few lines.
pub(super) const LARGEST: usize = 1 << 20;

/// Storage in one file for each location; the other one is a container of the library SIONlib.
const POSIX: u8 = 1;
/// No compression.
const PLAIN: u8 = 1;

/// The facts of an anchor file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    /// Number of locations.
    pub(super) locations: u64,
    /// The tool that measured; empty for EZTrace.
    pub(super) creator: String,
}

/// True if a file begins as an anchor file does.
pub(super) fn is_anchor(prefix: &[u8]) -> bool {
    matches!(prefix, [3, LITTLE | BIG, name @ ..] if name.starts_with(b"OTF2\0"))
}

/// True if a file begins as one of definitions or events does: with a chunk whose first record is
/// number 1.
pub(super) fn is_records(prefix: &[u8]) -> bool {
    let Some([3, order, first @ ..]) = prefix.first_chunk::<10>() else { return false };
    match *order {
        LITTLE => *first == 1u64.to_le_bytes(),
        BIG => *first == 1u64.to_be_bytes(),
        _ => false,
    }
}

impl Anchor {
    /// # Errors
    /// Damage; storage in another way than one plain file a location.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        if !is_anchor(bytes) {
            return Err(Error::data("is no anchor file of OTF2"));
        }
        let mut fields = Fields { rest: &bytes[7..], is_big: bytes[1] == BIG };
        Self::facts(&mut fields).map_err(|_| {
            Error::truncated(format!("ends at byte {} within the facts of the trace", bytes.len()))
        })?
    }

    /// Errors of the outer kind mean that the file is too short.
    fn facts(fields: &mut Fields<'_>) -> Result<Result<Self>> {
        let _anchor_format = fields.byte()?;
        let _trace_format = fields.byte()?;
        let _version = [fields.byte()?, fields.byte()?, fields.byte()?];
        let _chunk_sizes = [fields.eight()?, fields.eight()?];
        let substrate = fields.byte()?;
        let compression = fields.byte()?;
        let locations = fields.eight()?;
        let _definitions = fields.eight()?;
        let _machine = fields.text()?;
        let creator = fields.text()?;
        Ok(if substrate != POSIX {
            Err(Error::data(format!(
                "says storage {substrate} (SION is 2), expected {POSIX}: files for each location"
            )))
        } else if compression != PLAIN {
            Err(Error::data(format!("says compression {compression}, expected {PLAIN}: none")))
        } else {
            Ok(Self { locations, creator })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The anchor file of a trace in this storage.
    fn anchor(substrate: u8, compression: u8) -> Vec<u8> {
        let mut bytes = b"\x03\x23OTF2\0\x03\x02\x03\x00\x02".to_vec();
        bytes.extend([1u64, 2].map(u64::to_be_bytes).concat());
        bytes.extend([substrate, compression]);
        bytes.extend([3u64, 4].map(u64::to_be_bytes).concat());
        bytes.extend(b"machine\0Score-P 8\0");
        bytes
    }

    #[test]
    fn the_creator_is_known() {
        let expected = Anchor { locations: 3, creator: "Score-P 8".into() };
        assert_eq!(Anchor::parse(&anchor(POSIX, PLAIN)).unwrap(), expected);
    }

    #[test]
    fn other_storage_and_cut_files_are_refused() {
        let error = |bytes: &[u8]| Anchor::parse(bytes).unwrap_err().to_string();
        assert_eq!(
            error(&anchor(2, PLAIN)),
            "says storage 2 (SION is 2), expected 1: files for each location"
        );
        assert_eq!(error(&anchor(POSIX, 2)), "says compression 2, expected 1: none");
        for length in 7..anchor(POSIX, PLAIN).len() {
            let expected = format!("ends at byte {length} within the facts of the trace");
            assert_eq!(error(&anchor(POSIX, PLAIN)[..length]), expected);
        }
    }

    #[test]
    fn files_are_recognised() {
        assert!(is_anchor(&anchor(POSIX, PLAIN)) && !is_records(&anchor(POSIX, PLAIN)));
        assert!(is_records(b"\x03\x42\x01\0\0\0\0\0\0\0rest"));
        assert!(is_records(b"\x03\x23\0\0\0\0\0\0\0\x01rest"));
        assert!(!is_records(b"\x03\x23\x01\0\0\0\0\0\0\0rest"));
    }
}
