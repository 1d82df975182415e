//! Binary tables: blocks of delta-coded, byte-packed, checksummed columns of integers.
//!
//! A block is a small table. Its bytes, all little endian:
//!
//! ```text
//! u32 rows, u8 columns,
//! per column: u8 id, u8 transform (0 plain, 1 delta), u32 length of the data, data
//! u32 CRC-32 (IEEE, as in gzip) of all before
//! ```
//!
//! A column's values are signed 64-bit. `delta` stores the differences between neighbours (the
//! first value minus 0), modulo 2⁶⁴. The stored values go in groups of 256 (the last one shorter):
//! `u8 width` (0, 1, 2, 4 or 8), `i64 base` (the group's least), then `width` bytes a value, the
//! value minus base. Width 0 means that all equal base. Fixed widths decode without a branch per
//! value; gzip removes the runs of zero bytes. An outlier enlarges its group, not the block.
//!
//! A column that is unknown for all rows is left out; [`UNKNOWN`] marks single unknown values.
//! Readers skip columns whose id they do not know.

use crate::{Error, Result};

/// A value that is not known, in columns that allow it.
pub const UNKNOWN: i64 = i64::MIN;

/// Values that share a width and a base. At 256 their 9 bytes add 4 % to values of one byte; larger
/// groups suffer more from outliers.
const GROUP: usize = 256;

/// Rows in the largest block; it bounds a reader's memory to 0.5 MiB a column.
pub const LARGEST_BLOCK: usize = 1 << 16;

/// Largest member of columns, bytes: 256 columns with 8 bytes a value and 9 a group.
pub const LARGEST_BYTES: u64 = (5 + 256 * (6 + LARGEST_BLOCK * 8 + LARGEST_BLOCK / GROUP * 9) + 4) as u64;

/// The encoding of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// As they are: identifiers, sizes.
    Plain = 0,
    /// As differences between neighbours: times.
    Delta = 1,
}

/// Builds one block.
#[derive(Debug)]
pub struct BlockWriter {
    bytes: Vec<u8>,
    rows: usize,
    columns: u8,
}

impl BlockWriter {
    /// An empty block of `rows` rows, at most [`LARGEST_BLOCK`]; `bytes` is cleared and used as the
    /// buffer.
    pub fn new(rows: usize, mut bytes: Vec<u8>) -> Self {
        debug_assert!(rows <= LARGEST_BLOCK);
        bytes.clear();
        bytes.extend_from_slice(&(rows as u32).to_le_bytes());
        bytes.push(0);
        Self { bytes, rows, columns: 0 }
    }

    /// Appends a column of exactly `rows` values.
    pub fn column(
        &mut self,
        id: u8,
        transform: Transform,
        values: impl ExactSizeIterator<Item = i64>,
    ) -> &mut Self {
        debug_assert_eq!(values.len(), self.rows);
        self.columns += 1;
        self.bytes.extend_from_slice(&[id, transform as u8, 0, 0, 0, 0]);
        let start = self.bytes.len();
        let mut group = [0i64; GROUP];
        let mut filled = 0;
        let mut previous = 0i64;
        for value in values {
            group[filled] = match transform {
                Transform::Plain => value,
                Transform::Delta => value.wrapping_sub(std::mem::replace(&mut previous, value)),
            };
            filled += 1;
            if filled == GROUP {
                pack(&group, &mut self.bytes);
                filled = 0;
            }
        }
        if filled > 0 {
            pack(&group[..filled], &mut self.bytes);
        }
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start - 4..start].copy_from_slice(&length.to_le_bytes());
        self
    }

    /// The block's bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes[4] = self.columns;
        let crc = crc32fast::hash(&self.bytes);
        self.bytes.extend_from_slice(&crc.to_le_bytes());
        self.bytes
    }
}

fn pack(group: &[i64], bytes: &mut Vec<u8>) {
    let (least, greatest) = group.iter().fold((i64::MAX, i64::MIN), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
    let span = greatest.wrapping_sub(least).cast_unsigned();
    let offset = |value: i64| value.wrapping_sub(least).cast_unsigned();
    let width: u8 = match span {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    };
    bytes.push(width);
    bytes.extend_from_slice(&least.to_le_bytes());
    match width {
        0 => {}
        1 => bytes.extend(group.iter().map(|v| offset(*v) as u8)),
        2 => put(bytes, group, |v| (offset(v) as u16).to_le_bytes()),
        4 => put(bytes, group, |v| (offset(v) as u32).to_le_bytes()),
        _ => put(bytes, group, |v| offset(v).to_le_bytes()),
    }
}

/// Appends what `packed` makes of each value.
fn put<const WIDTH: usize>(bytes: &mut Vec<u8>, group: &[i64], packed: impl Fn(i64) -> [u8; WIDTH]) {
    let start = bytes.len();
    bytes.resize(start + WIDTH * group.len(), 0);
    let places = bytes[start..].as_chunks_mut::<WIDTH>().0;
    places.iter_mut().zip(group).for_each(|(place, value)| *place = packed(*value));
}

/// A checked block, its columns not decoded yet.
#[derive(Debug)]
pub struct BlockReader<'a> {
    rows: usize,
    columns: Vec<(u8, Transform, &'a [u8])>,
}

impl<'a> BlockReader<'a> {
    /// Checks length, checksum and column directory.
    ///
    /// # Errors
    /// Bytes that are no block, or a damaged one.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let too_short =
            || Error::data(format!("{} bytes are too short for the columns they declare", bytes.len()));
        if bytes.len() < 9 {
            return Err(too_short());
        }
        let (body, crc) = bytes.split_at(bytes.len() - 4);
        let (stored, found) = (le_u32(crc), crc32fast::hash(body));
        if stored != found {
            return Err(Error::data(format!("is damaged: checksum {found:08x}, expected {stored:08x}")));
        }
        let rows = le_u32(body) as usize;
        if rows > LARGEST_BLOCK {
            return Err(Error::data(format!("declares {rows} rows, a block has at most {LARGEST_BLOCK}")));
        }
        let mut columns = Vec::with_capacity(usize::from(body[4]));
        let mut rest = &body[5..];
        for _ in 0..body[4] {
            if rest.len() < 6 {
                return Err(too_short());
            }
            let transform = match rest[1] {
                0 => Transform::Plain,
                1 => Transform::Delta,
                other => return Err(Error::data(format!("column {}: unknown transform {other}", rest[0]))),
            };
            let length = le_u32(&rest[2..]) as usize;
            let data = rest[6..].get(..length).ok_or_else(too_short)?;
            columns.push((rest[0], transform, data));
            rest = &rest[6 + length..];
        }
        Ok(Self { rows, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// True if there is a column of this id.
    pub fn has(&self, id: u8) -> bool {
        self.columns.iter().any(|column| column.0 == id)
    }

    /// Decodes column `id` into `out`, which is cleared first; false if the block has no such
    /// column.
    ///
    /// # Errors
    /// A column that does not hold as many values as the block has rows, or a value outside `T`.
    pub fn column<T: Value>(&self, id: u8, out: &mut Vec<T>) -> Result<bool> {
        out.clear();
        let Some((_, transform, data)) = self.columns.iter().find(|column| column.0 == id) else {
            return Ok(false);
        };
        out.reserve(self.rows);
        let mut rest = *data;
        let mut previous = 0i64;
        let mut doubtful: Vec<i64> = Vec::new();
        while out.len() < self.rows {
            let (group, after) = Group::first(rest, GROUP.min(self.rows - out.len())).ok_or_else(|| {
                Error::data(format!("column {id}: ends after {} of {} values", out.len(), self.rows))
            })?;
            rest = after;
            if group.fits::<T>(*transform) {
                group.decode(*transform, &mut previous, out);
                continue;
            }
            doubtful.clear();
            group.decode(*transform, &mut previous, &mut doubtful);
            for value in &doubtful {
                let row = out.len();
                out.push(T::try_from(*value).map_err(|_| {
                    Error::data(format!("column {id}: row {row}: value {value} is out of range"))
                })?);
            }
        }
        if !rest.is_empty() {
            return Err(Error::data(format!("column {id}: {} bytes after the last value", rest.len())));
        }
        Ok(true)
    }

    /// As [`column`](Self::column), for a column that has to be there.
    ///
    /// # Errors
    /// As for [`column`](Self::column), and a block without it.
    pub fn required<T: Value>(&self, id: u8, name: &str, out: &mut Vec<T>) -> Result<()> {
        if self.column(id, out)? {
            return Ok(());
        }
        Err(Error::data(format!("column {id} ({name}) is missing")))
    }
}

/// An integer that columns are decoded into.
pub trait Value: Copy + TryFrom<i64> {
    /// `value`, which is in range.
    fn wrapped(value: i64) -> Self;

    /// True if all values from `least` to `greatest` are in range.
    fn holds(least: i64, greatest: i64) -> bool {
        Self::try_from(least).is_ok() && Self::try_from(greatest).is_ok()
    }
}

macro_rules! values {
    ($($integer:ty),*) => {$(
        impl Value for $integer {
            fn wrapped(value: i64) -> Self {
                value as $integer
            }
        }
    )*};
}

values!(u8, u32, u64, i32, i64);

/// Neighbouring values, at most [`GROUP`], that are not decoded yet.
struct Group<'a> {
    len: usize,
    width: usize,
    base: i64,
    data: &'a [u8],
}

impl<'a> Group<'a> {
    /// The group of `len` values at the front of `bytes`, and the rest; `None` if `bytes` are too
    /// few or the width is unknown.
    fn first(bytes: &'a [u8], len: usize) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(9)?;
        let width = usize::from(head[0]);
        let base = i64::from_le_bytes(head[1..].try_into().ok()?);
        let (data, rest) = rest.split_at_checked(width * len)?;
        matches!(width, 0 | 1 | 2 | 4 | 8).then_some((Self { len, width, base, data }, rest))
    }

    /// True if no value can be out of range, so that values need no check.
    fn fits<T: Value>(&self, transform: Transform) -> bool {
        let greatest = |width: usize| self.base.checked_add((1 << (8 * width)) - 1);
        T::holds(i64::MIN, i64::MAX)
            || transform == Transform::Plain
                && self.width < 8
                && greatest(self.width).is_some_and(|greatest| T::holds(self.base, greatest))
    }

    /// Appends the values, which are in range; `previous` is the one before them, and the last one
    /// of them afterwards.
    fn decode<T: Value>(&self, transform: Transform, previous: &mut i64, out: &mut Vec<T>) {
        let base = self.base;
        match transform {
            Transform::Plain => self.extend(out, |offset| base.wrapping_add(offset)),
            Transform::Delta => {
                let mut sum = *previous;
                self.extend(out, |offset| {
                    sum = sum.wrapping_add(base.wrapping_add(offset));
                    sum
                });
                *previous = sum;
            }
        }
    }

    /// Appends `value` of each difference to the base. One loop per width without branches, so that
    /// the compiler vectorizes them.
    fn extend<T: Value>(&self, out: &mut Vec<T>, mut value: impl FnMut(i64) -> i64) {
        match self.width {
            0 => out.extend((0..self.len).map(|_| T::wrapped(value(0)))),
            1 => out.extend(offsets::<1>(self.data).map(|offset| T::wrapped(value(offset)))),
            2 => out.extend(offsets::<2>(self.data).map(|offset| T::wrapped(value(offset)))),
            4 => out.extend(offsets::<4>(self.data).map(|offset| T::wrapped(value(offset)))),
            _ => out.extend(offsets::<8>(self.data).map(|offset| T::wrapped(value(offset)))),
        }
    }
}

/// Little-endian numbers of `WIDTH` bytes each.
fn offsets<const WIDTH: usize>(data: &[u8]) -> impl ExactSizeIterator<Item = i64> {
    data.as_chunks::<WIDTH>().0.iter().map(|bytes| {
        let mut wide = [0; 8];
        wide[..WIDTH].copy_from_slice(bytes);
        i64::from_le_bytes(wide)
    })
}

fn le_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(transform: Transform, values: &[i64]) -> Vec<i64> {
        let mut writer = BlockWriter::new(values.len(), Vec::new());
        writer.column(3, transform, values.iter().copied());
        let bytes = writer.finish();
        let mut back = Vec::new();
        BlockReader::new(&bytes).unwrap().required(3, "v", &mut back).unwrap();
        back
    }

    fn decoded<T: Value>(block: &BlockReader<'_>, id: u8) -> Option<Vec<T>> {
        let mut values = Vec::new();
        block.column(id, &mut values).ok().map(|_| values)
    }

    fn all_in_range<T: Value>(values: &[i64]) -> Option<Vec<T>> {
        values.iter().map(|value| T::try_from(*value).ok()).collect()
    }

    proptest! {
        #[test]
        fn values_come_back(values in prop::collection::vec(any::<i64>(), 0..700), small in prop::collection::vec(-300i64..300, 0..700)) {
            for transform in [Transform::Plain, Transform::Delta] {
                prop_assert_eq!(&round_trip(transform, &values), &values);
                prop_assert_eq!(&round_trip(transform, &small), &small);
            }
        }

        /// Values near to the ends of a type, and groups with a base near to them, of all widths.
        #[test]
        fn a_type_takes_what_is_in_range_and_nothing_else(
            base in prop::sample::select(vec![i64::MIN, -(1 << 31), -1, 0, 250, 1 << 31, (1 << 32) - 300, i64::MAX - 9]),
            above in prop::collection::vec(prop_oneof![0i64..10, 0i64..300, any::<i64>()], 1..600),
        ) {
            let values: Vec<i64> = above.iter().map(|above| base.wrapping_add(*above)).collect();
            let mut writer = BlockWriter::new(values.len(), Vec::new());
            writer.column(3, Transform::Plain, values.iter().copied());
            writer.column(4, Transform::Delta, values.iter().copied());
            let bytes = writer.finish();
            let block = BlockReader::new(&bytes).unwrap();
            for id in [3, 4] {
                prop_assert_eq!(decoded::<u8>(&block, id), all_in_range(&values));
                prop_assert_eq!(decoded::<u32>(&block, id), all_in_range(&values));
                prop_assert_eq!(decoded::<i32>(&block, id), all_in_range(&values));
                prop_assert_eq!(decoded::<u64>(&block, id), all_in_range(&values));
                prop_assert_eq!(decoded::<i64>(&block, id), all_in_range(&values));
            }
        }

        #[test]
        fn no_bytes_make_the_reader_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), fix in any::<bool>()) {
            if fix && bytes.len() >= 4 {
                // A right checksum lets the damage through to the decoder.
                let body = bytes.len() - 4;
                let crc = crc32fast::hash(&bytes[..body]);
                bytes[body..].copy_from_slice(&crc.to_le_bytes());
            }
            if let Ok(block) = BlockReader::new(&bytes) {
                for id in 0..=255 {
                    let _ = block.column::<u32>(id, &mut Vec::new());
                }
            }
        }
    }

    #[test]
    fn the_documented_bytes() {
        // Worked out by hand from the module's description; docs/formats.md shows the same example.
        let mut writer = BlockWriter::new(3, Vec::new());
        writer.column(1, Transform::Delta, [1000, 1005, 1015].into_iter());
        let bytes = writer.finish();
        let body = [
            3, 0, 0, 0, 1, // rows, columns
            1, 1, 15, 0, 0, 0, // id, delta, length
            2, 5, 0, 0, 0, 0, 0, 0, 0, // two bytes a value above 5
            0xe3, 0x03, 0, 0, 5, 0, // 1000-5, 5-5, 10-5
        ];
        assert_eq!(bytes[..bytes.len() - 4], body);
        assert_eq!(bytes[bytes.len() - 4..], crc32fast::hash(&body).to_le_bytes());
    }

    #[test]
    fn a_flipped_bit_is_noticed() {
        let mut writer = BlockWriter::new(2, Vec::new());
        writer.column(1, Transform::Plain, [4, 5].into_iter());
        let bytes = writer.finish();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(BlockReader::new(&damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_value_outside_its_type_names_column_and_row() {
        let mut writer = BlockWriter::new(2, Vec::new());
        writer.column(2, Transform::Plain, [4, -1].into_iter());
        let bytes = writer.finish();
        let error = BlockReader::new(&bytes).unwrap().column::<u32>(2, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "column 2: row 1: value -1 is out of range");
    }
}
