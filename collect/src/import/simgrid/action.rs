//! A line of a time-independent trace: `RANK ACTION ARGUMENTS…`.

use crate::trace::Operation;
use crate::{Error, Result};

/// Any source, and any tag (SimGrid's `smpi.h`). Other negative peers are no process.
const ANY_SOURCE: i64 = -555;
const ANY_TAG: i64 = -444;

/// Sizes of datatypes by id, bytes (`smpi_datatype.cpp`, 3.32, on 64-bit Linux); 0 has none.
const TYPE_BYTES: [u64; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16,
    8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
];

/// Ids of the two datatypes that are meant where none is written.
const DOUBLE: usize = 0;
const BYTE: usize = 6;

/// Actions that concern no other rank.
const SILENT: [&str; 14] = [
    "init",
    "finalize",
    "comm_size",
    "comm_split",
    "comm_dup",
    "compute",
    "sleep",
    "location",
    "test",
    "testall",
    "testany",
    "testsome",
    "iprobe",
    "probe",
];

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It concerns no other rank.
    Silent,
    /// The last line of a rank.
    Finalize,
    /// A peer of `None` is no process.
    Send {
        dst: Option<u32>,
        tag: i32,
        bytes: u64,
    },
    Receive {
        src: Peer,
        tag: Option<i32>,
        is_blocking: bool,
    },
    Exchange {
        dst: Option<u32>,
        bytes: u64,
        src: Peer,
    },
    Wait {
        src: i64,
        dst: i64,
        tag: i64,
    },
    WaitAll,
    Collective {
        operation: Operation,
        root: Option<u32>,
        bytes: Option<u64>,
        pairs: Option<Vec<u64>>,
    },
    /// One that is not known.
    Other(String),
}

/// From whom a message comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Nobody,
    Any,
    Rank(u32),
}

/// What a line means besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Context {
    /// Number of ranks.
    pub(super) ranks: u32,
    /// Where no datatype is written: bytes, or doubles after `init X`.
    pub(super) default_type: usize,
}

impl Context {
    pub(super) fn new(ranks: u32) -> Self {
        Self { ranks, default_type: BYTE }
    }
}

/// The rank that a line is of, and its other words.
///
/// # Errors
/// No rank.
pub(super) fn rank_of(line: &str) -> Result<Option<(u32, std::str::SplitAsciiWhitespace<'_>)>> {
    let mut words = line.split_ascii_whitespace();
    let Some(first) = words.next() else { return Ok(None) };
    if first.starts_with('#') {
        return Ok(None);
    }
    let rank = first.parse().ok().filter(|rank| *rank < crate::trace::MOST_RANKS);
    let rank = rank.ok_or_else(|| Error::data(format!("found `{}`, expected a rank", short(first))))?;
    Ok(Some((rank, words)))
}

/// True if a file begins as a time-independent trace does.
pub(in crate::import) fn is_trace(prefix: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&prefix[..prefix.len().min(1024)]);
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let Some(first) = lines.take(1).next() else { return false };
    let Ok(Some((_, mut words))) = rank_of(first) else { return false };
    words.next().is_some_and(|name| SILENT.contains(&name) || is_known(name))
}

fn is_known(name: &str) -> bool {
    matches!(name, "send" | "isend" | "recv" | "irecv" | "sendRecv" | "wait" | "waitall")
        || collective(name).is_some()
}

/// The collective of a name; the non-blocking ones have an i before it.
fn collective(name: &str) -> Option<Operation> {
    Some(match name.strip_prefix('i').unwrap_or(name) {
        "barrier" => Operation::Barrier,
        "bcast" => Operation::Bcast,
        "reduce" => Operation::Reduce,
        "allreduce" => Operation::Allreduce,
        "alltoall" => Operation::Alltoall,
        "alltoallv" => Operation::Alltoallv,
        "gather" => Operation::Gather,
        "scatter" => Operation::Scatter,
        "gatherv" => Operation::Gatherv,
        "scatterv" => Operation::Scatterv,
        "allgather" => Operation::Allgather,
        "allgatherv" => Operation::Allgatherv,
        "reducescatter" => Operation::ReduceScatter,
        "scan" => Operation::Scan,
        "exscan" => Operation::Exscan,
        _ => return None,
    })
}

/// The arguments of a line.
struct Words<'a> {
    name: &'a str,
    words: Vec<&'a str>,
    default_type: usize,
}

impl Words<'_> {
    fn number(&self, at: usize) -> Result<i64> {
        let Some(word) = self.words.get(at) else {
            let problem = format!("{} has {} arguments, expected more", self.name, self.words.len());
            return Err(Error::data(problem));
        };
        // Some tools write counts as 1e6.
        let whole = word.parse::<i64>().ok();
        let rounded =
            || word.parse::<f64>().ok().filter(|value| value.abs() < 9e15).map(|value| value as i64);
        whole.or_else(rounded).ok_or_else(|| {
            Error::data(format!(
                "argument {} of {} is `{}`, expected a number",
                at + 1,
                self.name,
                short(word)
            ))
        })
    }

    /// Elements times the size of the datatype that stands at `type_at`.
    fn bytes(&self, at: usize, type_at: usize) -> Result<u64> {
        let each = self.type_bytes(type_at)?;
        self.count(at)?
            .checked_mul(each)
            .filter(|bytes| i64::try_from(*bytes).is_ok())
            .ok_or_else(|| Error::data(format!("{} moves more than 2^63 - 1 bytes", self.name)))
    }

    fn count(&self, at: usize) -> Result<u64> {
        u64::try_from(self.number(at)?).map_err(|_| {
            Error::data(format!("argument {} of {} is negative, expected a size", at + 1, self.name))
        })
    }

    fn type_bytes(&self, at: usize) -> Result<u64> {
        let id = match self.words.get(at) {
            None => self.default_type,
            Some(_) => usize::try_from(self.number(at)?).unwrap_or(usize::MAX),
        };
        TYPE_BYTES.get(id).copied().ok_or_else(|| {
            let last = TYPE_BYTES.len() - 1;
            Error::data(format!("{} has the datatype {id}, expected 0 to {last}", self.name))
        })
    }

    fn peer(&self, at: usize) -> Result<Option<u32>> {
        Ok(u32::try_from(self.number(at)?).ok())
    }

    fn source(&self, at: usize) -> Result<Peer> {
        Ok(match self.number(at)? {
            ANY_SOURCE => Peer::Any,
            number => u32::try_from(number).map_or(Peer::Nobody, Peer::Rank),
        })
    }

    fn tag(&self, at: usize) -> Result<i32> {
        i32::try_from(self.number(at)?)
            .map_err(|_| Error::data(format!("the tag of {} is beyond 32 bits", self.name)))
    }

    fn root(&self, at: usize) -> Result<Option<u32>> {
        if self.words.len() > at { self.peer(at) } else { Ok(Some(0)) }
    }

    /// One count a rank, in bytes.
    fn each(&self, from: usize, ranks: usize, type_at: usize) -> Result<Vec<u64>> {
        if self.words.len() < from + ranks {
            let problem = format!(
                "{} has {} arguments, expected a count for each of {ranks} ranks",
                self.name,
                self.words.len()
            );
            return Err(Error::data(problem));
        }
        (from..from + ranks).map(|at| self.bytes(at, type_at)).collect()
    }
}

/// Parses what stands after the rank.
///
/// # Errors
/// Arguments that are missing or no numbers.
pub(super) fn parse<'a>(
    mut words: impl Iterator<Item = &'a str>,
    rank: u32,
    context: &mut Context,
) -> Result<Action> {
    let Some(name) = words.next() else { return Err(Error::data("has no action")) };
    let words = Words { name, words: words.collect(), default_type: context.default_type };
    Ok(match name {
        "init" => {
            context.default_type = if words.words.is_empty() { BYTE } else { DOUBLE };
            Action::Silent
        }
        "finalize" => Action::Finalize,
        "send" | "isend" => {
            Action::Send { dst: words.peer(0)?, tag: words.tag(1)?, bytes: words.bytes(2, 3)? }
        }
        "recv" | "irecv" => Action::Receive {
            src: words.source(0)?,
            tag: Some(words.tag(1)?).filter(|tag| i64::from(*tag) != ANY_TAG),
            is_blocking: name == "recv",
        },
        "sendRecv" => {
            Action::Exchange { dst: words.peer(1)?, bytes: words.bytes(0, 4)?, src: words.source(3)? }
        }
        "wait" => Action::Wait { src: words.number(0)?, dst: words.number(1)?, tag: words.number(2)? },
        "waitall" => Action::WaitAll,
        _ if SILENT.contains(&name) => Action::Silent,
        _ => match collective(name) {
            Some(operation) => self::arguments(operation, &words, rank, context.ranks)?,
            None => Action::Other(short(name)),
        },
    })
}

/// Root and bytes of a collective, as [`Call::bytes`](crate::trace::Call::bytes) has them.
fn arguments(operation: Operation, words: &Words<'_>, rank: u32, ranks: u32) -> Result<Action> {
    let all = ranks as usize;
    let (mut root, mut pairs) = (None, None);
    let bytes = match operation {
        Operation::Barrier => None,
        Operation::Bcast => {
            root = words.root(1)?;
            Some(words.bytes(0, 2)?)
        }
        Operation::Reduce => {
            root = words.root(2)?;
            Some(words.bytes(0, 3)?)
        }
        Operation::Alltoall => Some(words.bytes(0, 2)?.saturating_mul(u64::from(ranks))),
        Operation::Alltoallv => {
            let counts = words.each(1, all, 2 + 2 * all)?;
            let sum = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
            pairs = Some(counts);
            Some(sum)
        }
        Operation::Gather => {
            root = words.root(2)?;
            Some(words.bytes(0, 3)?)
        }
        Operation::Scatter => {
            root = words.root(2)?;
            Some(words.bytes(1, 4)?)
        }
        Operation::Gatherv => {
            root = words.root(1 + all)?;
            Some(words.bytes(0, 2 + all)?)
        }
        Operation::Scatterv => {
            root = words.root(1 + all)?;
            Some(words.bytes(all, 3 + all)?)
        }
        Operation::Allgather => Some(words.bytes(0, 2)?),
        Operation::Allgatherv => Some(words.bytes(0, 1 + all)?),
        Operation::ReduceScatter => {
            let counts = words.each(0, all, 1 + all)?;
            counts.get(rank as usize).copied()
        }
        // allreduce, scan, exscan: elements, work, datatype.
        _ => Some(words.bytes(0, 2)?),
    };
    Ok(Action::Collective { operation, root, bytes, pairs })
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Action> {
        let (rank, words) = rank_of(line)?.unwrap();
        parse(words, rank, &mut Context::new(3))
    }

    #[test]
    fn sizes_are_counts_of_datatypes() {
        assert_eq!(of("0 send 2 7 10 1").unwrap(), Action::Send { dst: Some(2), tag: 7, bytes: 40 });
        assert_eq!(of("0 isend -333 7 10").unwrap(), Action::Send { dst: None, tag: 7, bytes: 10 });
        let doubles = &mut Context::new(3);
        parse(["init", "0"].into_iter(), 0, doubles).unwrap();
        let sent = parse(["isend", "1", "0", "1e3"].into_iter(), 0, doubles).unwrap();
        assert_eq!(sent, Action::Send { dst: Some(1), tag: 0, bytes: 8000 });
    }

    /// Lines with the counts that stand in the comments of SimGrid's reader.
    #[test]
    fn collectives_have_the_bytes_of_calls() {
        let check = |line: &str, expected_root, expected_bytes, expected_pairs: Option<&[u64]>| {
            let Action::Collective { root, bytes, pairs, .. } = of(line).unwrap() else { panic!("{line}") };
            assert_eq!(
                (root, bytes, pairs.as_deref()),
                (expected_root, expected_bytes, expected_pairs),
                "{line}"
            );
        };
        check("1 barrier", None, None, None);
        check("1 bcast 5 2 1", Some(2), Some(20), None);
        check("1 bcast 5", Some(0), Some(5), None);
        check("1 reduce 5 100 1 0", Some(1), Some(40), None);
        check("1 allreduce 8 0 2 ", None, Some(8), None);
        check("1 alltoall 4 4 2 2", None, Some(12), None);
        check("1 alltoallv 100 1 7 10 100 1 70 10 1 1", None, Some(72), Some(&[4, 28, 40]));
        check("1 gather 6 6 2 1 1", Some(2), Some(24), None);
        check("1 gatherv 6 1 2 3 2 1 1", Some(2), Some(24), None);
        check("1 scatterv 1 2 3 6 2 1 0", Some(2), Some(48), None);
        check("1 allgatherv 6 1 2 3 1 1", None, Some(24), None);
        check("1 reducescatter 1 2 3 99 1", None, Some(8), None);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |line: &str| of(line).unwrap_err().to_string();
        assert_eq!(error("x init"), "found `x`, expected a rank");
        assert_eq!(error("0 send 1"), "send has 1 arguments, expected more");
        assert_eq!(error("0 send 1 2 z"), "argument 3 of send is `z`, expected a number");
        assert_eq!(error("0 send 1 2 3 99"), "send has the datatype 99, expected 0 to 59");
        assert_eq!(error("0 send 1 2 -3"), "argument 3 of send is negative, expected a size");
        assert_eq!(
            error("0 reducescatter 1 2"),
            "reducescatter has 2 arguments, expected a count for each of 3 ranks"
        );
    }
}
