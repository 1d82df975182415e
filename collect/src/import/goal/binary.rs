//! Schedules as `txt2bin` stores them, in the order of bytes of x86.
//!
//! Magic u64, number of ranks u32, two u8, then for each rank where its data begin and end, u64,
//! counted from behind the magic. A rank's data are the numbers of its operations and of those that
//! wait for nothing, u32; the latter; 39 bytes for each operation; and lists of operations that
//! wait for others (LogGOPSim, `Parser.hpp`).

use std::collections::BTreeMap;
use std::io::Read;

use super::{ANY, check_count, complete, peer};
use crate::import::ordered::{GraphBuilder, GraphOperation};
use crate::{At, Error, Result};

/// The first eight bytes.
const MAGIC: u64 = 4223;
/// Bytes of an operation.
const OPERATION: usize = 39;

/// Types of operations, as LogGOPSim numbers them.
const SEND: u8 = 1;
const RECEIVE: u8 = 2;
const COMPUTE: u8 = 3;

/// True if a file begins as a binary schedule does: magic, and at least one rank.
pub(in crate::import) fn is_binary(prefix: &[u8]) -> bool {
    prefix.starts_with(&MAGIC.to_le_bytes())
}

/// Bytes with their place in the file.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(bytes) = rest.first_chunk::<N>() else {
            let end = self.bytes.len();
            return Err(Error::truncated(format!("ends at byte {end}, expected {N} bytes from here"))
                .at(format!("byte {}", self.at)));
        };
        self.at += N;
        Ok(*bytes)
    }

    fn number(&mut self) -> Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

/// Reads the operations of all ranks.
///
/// # Errors
/// Damage or truncation with the byte; an error of the operating system.
pub(super) fn read(input: &mut dyn Read) -> Result<Vec<GraphBuilder>> {
    let mut all = Vec::new();
    input.read_to_end(&mut all)?;
    let mut bytes = Bytes { bytes: &all, at: 8 };
    let count = check_count(u64::from(bytes.number()?))?;
    bytes.take::<2>()?;
    let mut ranks = BTreeMap::new();
    for rank in 0..count {
        let (start, _end) = (bytes.long()?, bytes.long()?);
        let start = usize::try_from(start.saturating_add(8)).unwrap_or(usize::MAX);
        let builder = operations(Bytes { bytes: &all, at: start }, count).at(|| format!("rank {rank}"))?;
        ranks.insert(rank, builder);
    }
    complete(ranks, count)
}

fn operations(mut bytes: Bytes<'_>, count: u32) -> Result<GraphBuilder> {
    let (operations, free) = (bytes.number()?, bytes.number()?);
    let first = bytes.at.saturating_add(4 * free as usize);
    let lists = first.saturating_add(OPERATION * operations as usize);
    if lists > bytes.bytes.len() {
        let end = bytes.bytes.len();
        return Err(Error::truncated(format!("ends at byte {end} within {operations} operations")));
    }
    let mut builder = GraphBuilder::default();
    for number in 0..operations {
        let mut fields = Bytes { bytes: bytes.bytes, at: first + OPERATION * number as usize };
        let place = format!("byte {}: operation {}", fields.at, number + 1);
        let added = operation(&mut fields, count).at(|| &place)?;
        builder.add(added)?;
        for is_begun in [false, true] {
            let (after, start) = (fields.number()?, fields.number()?);
            let from = lists.saturating_add(4 * start as usize);
            let mut list = Bytes { bytes: bytes.bytes, at: from };
            for _ in 0..after {
                let next = list.number().at(|| &place)?;
                if next >= operations {
                    let problem = format!("names operation {next}, expected less than {operations}");
                    return Err(Error::data(problem).at(place));
                }
                if is_begun {
                    builder.require_begun(number, next);
                } else {
                    builder.require(number, next);
                }
            }
        }
    }
    Ok(builder)
}

/// The fields of an operation up to its lists.
fn operation(fields: &mut Bytes<'_>, count: u32) -> Result<GraphOperation> {
    let _waits = fields.number()?;
    let [kind] = fields.take::<1>()?;
    let (to, bytes, tag) = (fields.number()?, fields.long()?, fields.number()?);
    fields.take::<2>()?;
    let is_any = |number: u32| i64::from(number.cast_signed()) == ANY;
    let from = || peer(if is_any(to) { ANY } else { i64::from(to) }, count);
    let bytes = i64::try_from(bytes).map(i64::cast_unsigned);
    let bytes = bytes.map_err(|_| Error::data("moves more than 2^63 - 1 bytes"));
    Ok(match kind {
        SEND => {
            let dst = from()?.ok_or_else(|| Error::data("sends to any rank, expected one"))?;
            GraphOperation::Send { dst, tag: tag.cast_signed(), bytes: bytes? }
        }
        RECEIVE => {
            GraphOperation::Receive { src: from()?, tag: Some(tag.cast_signed()).filter(|_| !is_any(tag)) }
        }
        COMPUTE => GraphOperation::Nothing,
        other => return Err(Error::data(format!("is of kind {other}, expected 1, 2 or 3"))),
    })
}
