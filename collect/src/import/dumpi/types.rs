//! Sizes of MPI datatypes by their handles, as a rank makes and frees them.
//!
//! Sources in this order: the calls that made a type, `MPI_Type_size`, the table of sizes in the
//! file, and for MPI's own types the sizes of 64-bit Linux. A type that only Fortran has is in none
//! of them: its size is unknown.

use super::functions::number;
use super::record::Record;

/// Handles of MPI's own types begin at 2 (`MPI_CHAR`); user types follow.
const FIRST_USER_TYPE: u16 = 28;

/// Sizes of MPI's own types by handle, bytes: char, signed char, unsigned char, byte, wchar, short,
/// unsigned short, int, unsigned, long, unsigned long, float, double, long double, long long int,
/// unsigned long long, long long, packed, LB, UB, float-int, double-int, long-int, short-int, 2
/// int, long-double-int; those of the x86-64 System V ABI.
const OWN: [u64; 26] = [1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20];

/// A size that is unknown.
const UNKNOWN: u64 = u64::MAX;

/// Sizes by handle.
#[derive(Clone, Debug)]
pub(super) struct Types {
    sizes: Vec<u64>,
}

impl Types {
    /// Of a file with this table of sizes; entries of 0 are those that its writer did not
    /// know.
    pub(super) fn new(table: &[u32]) -> Self {
        let mut sizes = vec![UNKNOWN; 2];
        sizes.extend(OWN);
        // C ints: what is below 0 is MPI_UNDEFINED.
        let known = |(handle, size): &(usize, &u32)| *handle > 1 && (1..1 << 31).contains(*size);
        for (handle, size) in table.iter().enumerate().filter(known) {
            if handle >= sizes.len() {
                sizes.resize(handle + 1, UNKNOWN);
            }
            sizes[handle] = u64::from(*size);
        }
        Self { sizes }
    }

    /// Bytes of one element; `None` if unknown.
    #[inline]
    pub(super) fn size(&self, handle: u16) -> Option<u64> {
        self.sizes.get(usize::from(handle)).copied().filter(|size| *size != UNKNOWN)
    }

    /// Bytes of `count` elements; `None` if unknown.
    #[inline]
    pub(super) fn bytes(&self, count: i32, handle: u16) -> Option<u64> {
        let count = u64::try_from(count).ok()?;
        if count == 0 { Some(0) } else { self.size(handle)?.checked_mul(count).filter(fits) }
    }

    fn set(&mut self, handle: u16, size: Option<u64>) {
        // MPI's own types cannot be made.
        if handle < FIRST_USER_TYPE {
            return;
        }
        let place = usize::from(handle);
        if place >= self.sizes.len() {
            self.sizes.resize(place + 1, UNKNOWN);
        }
        self.sizes[place] = size.unwrap_or(UNKNOWN);
    }

    /// Learns from a call that makes a type or tells its size; false for all other calls.
    pub(super) fn learn(&mut self, record: &Record<'_>) -> bool {
        use number as n;
        let times = |count: i32, handle| self.bytes(count, handle);
        let sum = |lengths: usize, handle: u16| {
            record.ints(lengths).try_fold(0u64, |sum, length| sum.checked_add(self.bytes(length, handle)?))
        };
        let each = |lengths: usize, handles: usize| {
            let mut both = record.ints(lengths).zip(record.handles(handles));
            both.try_fold(0u64, |sum, (length, handle)| sum.checked_add(self.bytes(length, handle)?))
        };
        let handle = |place| record.handle(place);
        let blocks = |count: i32, length: i32, old: u16| {
            self.bytes(length, old)?.checked_mul(u64::try_from(count).ok()?).filter(fits)
        };
        let (new, size) = match record.function() {
            n::TYPE_CONTIGUOUS => (handle(2), times(record.int(0), handle(1))),
            n::TYPE_VECTOR | n::TYPE_HVECTOR | n::TYPE_CREATE_HVECTOR => {
                (handle(4), blocks(record.int(0), record.int(1), handle(3)))
            }
            n::TYPE_INDEXED | n::TYPE_HINDEXED | n::TYPE_CREATE_HINDEXED => (handle(4), sum(1, handle(3))),
            n::TYPE_CREATE_INDEXED_BLOCK => (handle(4), blocks(record.int(0), record.int(1), handle(3))),
            n::TYPE_STRUCT | n::TYPE_CREATE_STRUCT => (handle(4), each(1, 3)),
            n::TYPE_DUP => (handle(1), self.size(handle(0))),
            n::TYPE_CREATE_RESIZED => (handle(3), self.size(handle(0))),
            n::TYPE_CREATE_SUBARRAY => {
                let elements = record.ints(2).try_fold(1i32, i32::checked_mul);
                (handle(6), elements.and_then(|count| times(count, handle(5))))
            }
            // The part of a distributed array depends on more than is worth it here: MPI_Type_size
            // or the receiver tells it.
            n::TYPE_CREATE_DARRAY => (handle(9), None),
            n::TYPE_SIZE => (handle(0), u64::try_from(record.int(1)).ok()),
            _ => return false,
        };
        self.set(new, size);
        true
    }
}

/// Sizes of messages have 63 bits.
fn fits(bytes: &u64) -> bool {
    i64::try_from(*bytes).is_ok()
}
