//! Counts in the arguments of MPI's functions, and the bytes they stand for.

use crate::mpi::{int, type_size};

/// Width of a call's counts: `int`, or `MPI_Count` in functions whose names end in `_c`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Width {
    Int,
    Count,
}

impl Width {
    /// A count argument; MPI reports negative ones as errors.
    #[inline(always)]
    pub(crate) fn count(self, argument: usize) -> u64 {
        match self {
            Self::Int => u64::try_from(int(argument)).unwrap_or(0),
            Self::Count => u64::try_from(argument.cast_signed()).unwrap_or(0),
        }
    }

    /// An argument that is an array of counts.
    pub(crate) fn array(self, address: usize) -> Counts {
        Counts { width: self, address }
    }
}

/// An array of counts that the program gave to MPI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    width: Width,
    address: usize,
}

impl Counts {
    /// An element; 0 without array.
    pub(crate) fn at(self, index: u32) -> u64 {
        if self.address == 0 {
            return 0;
        }
        let index = index as usize;
        // SAFETY: the program gave MPI an array of at least as many elements.
        let argument = unsafe {
            match self.width {
                Width::Int => {
                    std::ptr::with_exposed_provenance::<u32>(self.address + index * 4).read_unaligned() as usize
                }
                Width::Count => std::ptr::with_exposed_provenance::<usize>(self.address + index * 8).read_unaligned(),
            }
        };
        self.width.count(argument)
    }
}

/// Bytes of `count` elements. The datatype of 0 elements is not read, as it may be null.
#[inline]
pub(crate) fn bytes(count: u64, datatype: usize) -> u64 {
    if count == 0 { 0 } else { count.saturating_mul(type_size(datatype)) }
}
