//! Collective calls of liballprof: where their counts, types, roots and communicators are.
//!
//! Arrays of counts are two fields: an address, and the counts with commas between.

use super::line::{Comm, Line};
use crate::Result;
use crate::trace::Operation;

/// A collective call.
pub(super) struct Collective {
    pub(super) comm: Comm,
    /// As in the line, in the communicator.
    pub(super) root: Option<i64>,
    /// The rank's own bytes, as [`Call::bytes`](crate::trace::Call::bytes) has them.
    pub(super) bytes: Option<u64>,
    /// Bytes to each member, of an alltoallv.
    pub(super) counts: Vec<u64>,
}

/// Reads the arguments of a collective; `None` for those whose arguments the format does not give.
///
/// # Errors
/// A field that has something else.
pub(super) fn read(line: &Line<'_>, operation: Operation) -> Result<Option<Collective>> {
    use Operation as Op;
    let product = |count: usize, datatype: usize| -> Result<Option<u64>> {
        let size = line.type_size(datatype)?;
        Ok(u64::try_from(line.number(count)?).ok().and_then(|count| count.checked_mul(size)))
    };
    let of = |comm: usize, root: Option<usize>, bytes: Option<u64>| -> Result<Option<Collective>> {
        let root = root.map(|place| line.number(place)).transpose()?;
        Ok(Some(Collective { comm: line.comm(comm)?, root, bytes, counts: Vec::new() }))
    };
    match operation {
        Op::Barrier => of(2, None, Some(0)),
        Op::Bcast => of(6, Some(5), product(3, 4)?),
        Op::Reduce => of(8, Some(7), product(4, 5)?),
        Op::Allreduce | Op::Scan | Op::Exscan => of(7, None, product(4, 5)?),
        Op::Gather => of(9, Some(8), product(3, 4)?),
        Op::Scatter => of(9, Some(8), product(6, 7)?),
        Op::Allgather => of(8, None, product(3, 4)?),
        Op::Alltoall => {
            let comm = line.comm(8)?;
            let each = product(3, 4)?;
            of(8, None, each.and_then(|each| each.checked_mul(u64::from(comm.size))))
        }
        Op::Gatherv => of(12, Some(11), product(3, 4)?),
        Op::Scatterv => of(12, Some(11), product(9, 10)?),
        Op::Allgatherv => of(11, None, product(3, 4)?),
        Op::ReduceScatter => {
            let (comm, size) = (line.comm(8)?, line.type_size(6)?);
            let own = line.counts(5).and_then(|counts| counts.get(comm.rank as usize).copied());
            of(8, None, own.and_then(|own| own.checked_mul(size)))
        }
        Op::Alltoallv => {
            let size = line.type_size(7)?;
            let bytes = |counts: Vec<u64>| {
                counts.into_iter().map(|count| count.checked_mul(size)).collect::<Option<Vec<u64>>>()
            };
            let counts = line.counts(4).and_then(bytes).unwrap_or_default();
            let sum = counts.iter().try_fold(0u64, |sum, bytes| sum.checked_add(*bytes));
            let call = of(14, None, sum.filter(|_| !counts.is_empty()))?;
            Ok(call.map(|call| Collective { counts, ..call }))
        }
        // Types of each member are an address only.
        _ => Ok(None),
    }
}
