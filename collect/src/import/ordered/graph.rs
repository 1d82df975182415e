//! Programs as graphs: each operation of a rank waits for others of the same rank.
//!
//! Memory: 32 bytes an operation, and four for each thing that it waits for.

use super::{Action, Begin, Program, Token};
use crate::trace::Call;
use crate::{Error, Result};

/// An operation of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::import) enum Operation {
    /// Computation, or anything else that nobody sees.
    Nothing,
    /// As [`Action::Send`].
    Send { dst: u32, tag: i32, bytes: u64 },
    /// As [`Action::Receive`].
    Receive { src: Option<u32>, tag: Option<i32> },
    /// A collective of a communicator.
    Collective(Box<(Call, u32)>),
}

/// The operations of a rank, in the making.
#[derive(Debug, Default)]
pub(in crate::import) struct GraphBuilder {
    operations: Vec<Operation>,
    /// (before, after): the second one begins when the first one is over.
    requires: Vec<(u32, u32)>,
    /// Likewise when it has begun.
    requires_begun: Vec<(u32, u32)>,
}

/// The operations of a rank.
#[derive(Debug, Default)]
struct RankGraph {
    operations: Vec<Operation>,
    /// What each operation still waits for.
    waits: Vec<u32>,
    /// The position at which each may begin as far as is known.
    earliest: Vec<i64>,
    after_over: Successors,
    after_begun: Successors,
}

/// What follows each operation: a range of `next` between two of `starts`.
#[derive(Debug, Default)]
struct Successors {
    starts: Vec<u32>,
    next: Vec<u32>,
}

impl Successors {
    /// A counting sort by the first of each pair.
    fn new(operations: usize, mut pairs: Vec<(u32, u32)>) -> Self {
        if pairs.is_empty() {
            return Self::default();
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = Vec::with_capacity(operations + 1);
        let mut next = Vec::with_capacity(pairs.len());
        for (before, after) in pairs {
            while starts.len() <= before as usize {
                starts.push(next.len() as u32);
            }
            next.push(after);
        }
        while starts.len() <= operations {
            starts.push(next.len() as u32);
        }
        Self { starts, next }
    }

    fn of(&self, operation: Token) -> std::ops::Range<usize> {
        let at = operation as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }
}

impl GraphBuilder {
    /// Adds an operation; returns its number.
    ///
    /// # Errors
    /// More than 2³² − 1 operations.
    pub(in crate::import) fn add(&mut self, operation: Operation) -> Result<u32> {
        let number = u32::try_from(self.operations.len())
            .map_err(|_| Error::data("has more than 4294967295 operations of one rank"))?;
        self.operations.push(operation);
        Ok(number)
    }

    /// The second operation waits for the end of the first.
    pub(in crate::import) fn require(&mut self, before: u32, after: u32) {
        self.requires.push((before, after));
    }

    /// The second operation waits for the beginning of the first.
    pub(in crate::import) fn require_begun(&mut self, before: u32, after: u32) {
        self.requires_begun.push((before, after));
    }

    fn finish(self) -> RankGraph {
        let count = self.operations.len();
        let after_over = Successors::new(count, self.requires);
        let after_begun = Successors::new(count, self.requires_begun);
        let mut waits = vec![0; count];
        for after in after_over.next.iter().chain(&after_begun.next) {
            waits[*after as usize] += 1;
        }
        RankGraph { operations: self.operations, waits, earliest: vec![0; count], after_over, after_begun }
    }
}

/// The program of all ranks.
pub(in crate::import) struct Graph {
    ranks: Vec<RankGraph>,
    /// World ranks of communicators other than the world.
    communicators: Vec<(u32, Vec<u32>)>,
}

impl Graph {
    /// The graphs of ranks 0, 1, …; members of communicators other than the world.
    pub(in crate::import) fn new(ranks: Vec<GraphBuilder>, communicators: Vec<(u32, Vec<u32>)>) -> Self {
        Self { ranks: ranks.into_iter().map(GraphBuilder::finish).collect(), communicators }
    }

    /// Operations that never began: they wait for each other.
    pub(in crate::import) fn left(&self) -> Option<(u32, u32)> {
        (0..).zip(&self.ranks).find_map(|(rank, graph)| {
            let place = graph.waits.iter().position(|waits| *waits > 0)?;
            Some((rank, u32::try_from(place).ok()?))
        })
    }
}

impl RankGraph {
    /// An operation waits for one thing less, which allows it from a position on.
    fn allow(&mut self, rank: u32, operation: u32, position: i64, ready: &mut Vec<Begin>) {
        let at = operation as usize;
        self.earliest[at] = self.earliest[at].max(position);
        self.waits[at] -= 1;
        if self.waits[at] == 0 {
            ready.push((self.earliest[at], rank, operation));
        }
    }
}

impl Program for Graph {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn begin(&mut self, ready: &mut Vec<Begin>) -> Result<()> {
        for (rank, graph) in (0..).zip(&self.ranks) {
            let free = (0..).zip(&graph.waits).filter(|(_, waits)| **waits == 0);
            ready.extend(free.map(|(operation, _)| (0, rank, operation)));
        }
        Ok(())
    }

    fn perform(&mut self, begin: Begin, ready: &mut Vec<Begin>) -> Result<(Token, Action)> {
        let (position, rank, operation) = begin;
        let graph = &mut self.ranks[rank as usize];
        for place in graph.after_begun.of(operation) {
            let next = graph.after_begun.next[place];
            graph.allow(rank, next, position, ready);
        }
        let action = match &graph.operations[operation as usize] {
            Operation::Nothing => Action::Nothing,
            Operation::Send { dst, tag, bytes } => {
                Action::Send { dst: *dst, tag: *tag, communicator: None, bytes: *bytes }
            }
            Operation::Receive { src, tag } => Action::Receive { src: *src, tag: *tag, communicator: None },
            Operation::Collective(collective) => {
                Action::Collective { call: collective.0, communicator: collective.1, pairs: None }
            }
        };
        Ok((operation, action))
    }

    fn over(&mut self, rank: u32, token: Token, position: i64, ready: &mut Vec<Begin>) -> Result<()> {
        let graph = &mut self.ranks[rank as usize];
        for place in graph.after_over.of(token) {
            let next = graph.after_over.next[place];
            graph.allow(rank, next, position, ready);
        }
        Ok(())
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        let known = self.communicators.iter().find(|(number, _)| *number == communicator);
        known.map_or_else(|| (0..self.ranks.len() as u32).collect(), |(_, members)| members.clone())
    }

    fn place(&self, rank: u32) -> String {
        format!("rank {rank}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule;
    use super::*;
    use crate::export::CsvExport;

    fn csv(ranks: Vec<GraphBuilder>) -> (String, Option<u64>) {
        let mut out = Vec::new();
        let mut graph = Graph::new(ranks, Vec::new());
        let imported = schedule(&mut graph, "test", None, &mut CsvExport::new(&mut out)).unwrap();
        assert_eq!(imported.summary.duration_ns, None);
        (
            String::from_utf8(out).unwrap().lines().skip(1).collect::<Vec<_>>().join(" "),
            imported.summary.unmatched,
        )
    }

    fn send(dst: u32, bytes: u64) -> Operation {
        Operation::Send { dst, tag: 1, bytes }
    }

    const RECEIVE: Operation = Operation::Receive { src: None, tag: None };

    /// Rank 0 sends to 1, which sends on to 2 after it has received; 2 sends at once.
    #[test]
    fn a_message_comes_after_those_that_it_waits_for() {
        let mut ranks = [(); 3].map(|()| GraphBuilder::default());
        ranks[0].add(send(1, 10)).unwrap();
        let on = ranks[1].add(send(2, 11)).unwrap();
        let received = ranks[1].add(RECEIVE).unwrap();
        ranks[1].require(received, on);
        ranks[2].add(send(0, 12)).unwrap();
        ranks[2].add(Operation::Receive { src: Some(1), tag: Some(1) }).unwrap();
        ranks[0].add(Operation::Receive { src: Some(2), tag: None }).unwrap();
        let expected = ",0,1,10,1, ,2,0,12,1, ,1,2,11,1,";
        assert_eq!(csv(ranks.into()), (expected.to_string(), Some(0)));
    }

    #[test]
    fn who_waits_for_nothing_goes_on() {
        let mut ranks = [(); 2].map(|()| GraphBuilder::default());
        let lost = ranks[0].add(RECEIVE).unwrap();
        let after = ranks[0].add(send(1, 5)).unwrap();
        ranks[0].require(lost, after);
        assert_eq!(csv(ranks.into()), (",0,1,5,1,".to_string(), Some(2)));
    }
}
