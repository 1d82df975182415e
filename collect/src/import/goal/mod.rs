//! GOAL schedules (Group Operation Assembly Language; Hoefler, Siebert and Lumsdaine, ICPP 2009),
//! as LogGOPSim and ATLAHS read them: text, or the binary form that `txt2bin` makes of it.
//!
//! Each rank has sends, receives and computations; `a requires b` lets a wait for the end of b,
//! `a irequires b` for its beginning. There are no times: lengths of computations are left out, as
//! is what processor and network interface operations take. Tags are 32 bits without sign; they are
//! taken as MPI's, whose negative ones our own writer stores so.
//!
//! Memory: about the size of the file, as the order of a rank's operations is known at its end.

mod binary;
mod text;

use std::collections::BTreeMap;

use super::input::Peeked;
use super::ordered::{Graph, GraphBuilder, schedule};
use super::rank_list::rank_list;
use super::{Imported, Reading};
use crate::trace::{MOST_RANKS, Sink};
use crate::{Error, Result};

/// Peer or tag that stands for any.
const ANY: i64 = -1;

/// True if a file begins as a schedule in text does, perhaps after comments.
pub(super) fn is_text(prefix: &[u8]) -> bool {
    let text = String::from_utf8_lossy(prefix);
    let mut rest = text.trim_start();
    loop {
        if let Some(comment) = rest.strip_prefix("//") {
            let Some((_, after)) = comment.split_once('\n') else { return false };
            rest = after.trim_start();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let Some((_, after)) = comment.split_once("*/") else { return false };
            rest = after.trim_start();
        } else {
            return rest.strip_prefix("num_ranks").is_some_and(|after| after.starts_with([' ', '\t']));
        }
    }
}

pub(super) use self::binary::is_binary;

/// Reads a schedule into `sink`.
///
/// # Errors
/// A statement that is none, with its line; ranks that are missing; operations that wait for each
/// other; an error of the operating system or of `sink`.
pub(super) fn read(peeked: Peeked, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let is_binary = is_binary(peeked.prefix());
    let mut input = peeked.into_reader();
    let ranks = if is_binary { binary::read(&mut *input)? } else { text::read(&mut *input)? };
    let mut graph = Graph::new(ranks, Vec::new());
    let imported = schedule(&mut graph, "goal", reading.expand, sink)?;
    if let Some((rank, operation)) = graph.left() {
        return Err(Error::data(format!(
            "operations of rank {rank} wait for each other, number {} is one of them",
            operation + 1
        )));
    }
    Ok(imported)
}

/// All ranks of a schedule, if none is missing.
fn complete(mut ranks: BTreeMap<u32, GraphBuilder>, count: u32) -> Result<Vec<GraphBuilder>> {
    if ranks.len() < count as usize {
        let missing = rank_list((0..count).filter(|rank| !ranks.contains_key(rank))).unwrap_or_default();
        return Err(Error::data(format!("the operations of {missing} are missing, expected {count} ranks")));
    }
    Ok(std::mem::take(&mut ranks).into_values().collect())
}

/// A number of ranks that a run may have.
fn check_count(count: u64) -> Result<u32> {
    match u32::try_from(count) {
        Ok(count @ 1..=MOST_RANKS) => Ok(count),
        _ => Err(Error::data(format!("has {count} ranks, expected 1 to {MOST_RANKS}"))),
    }
}

/// A peer of the run; `None` for any.
fn peer(number: i64, count: u32) -> Result<Option<u32>> {
    if number == ANY {
        return Ok(None);
    }
    match u32::try_from(number) {
        Ok(peer) if peer < count => Ok(Some(peer)),
        _ => Err(Error::data(format!("names rank {number}, expected less than {count}"))),
    }
}
