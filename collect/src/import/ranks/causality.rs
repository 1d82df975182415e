//! Clocks of several hosts on one line, by causality: no message arrives before it is sent, nobody
//! leaves a barrier before everybody has come (Lamport, "Time, clocks, and the ordering of events",
//! 1978; intervals as in Jézéquel, "Building a global time on parallel machines", 1989).
//!
//! The shortest time that messages seem to take from one host to another bounds the difference of
//! their clocks on one side, messages back on the other. The offset is the middle of the interval,
//! its error half the width. Hosts are joined by a minimum spanning tree of the narrowest
//! intervals; errors add up along it. Clocks are taken to run at one rate: over an hour, 1 ppm of
//! difference is 3.6 ms, which shows as an interval of negative width.
//!
//! Memory: two numbers for each pair of hosts that talk, and for each barrier that is under way two
//! for each host.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Process;
use crate::Result;
use crate::trace::{Block, Call, Header, MessageBlock, Operation, RunFacts, Sink, Summary};

/// The offsets of all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::import) struct Offsets {
    /// To be added to the clock of each host, nanoseconds.
    pub(in crate::import) by_host: Vec<i64>,
    /// Bound of the error between any host and the first; `None` if nothing bounds some host.
    pub(in crate::import) error_ns: Option<u64>,
    /// Pairs of hosts of whose clocks no offset fits all messages.
    pub(in crate::import) contradictions: usize,
}

impl Offsets {
    /// What the user should know.
    pub(in crate::import) fn sentence(&self) -> Option<String> {
        let hosts = self.by_host.len();
        match self.contradictions {
            _ if hosts < 2 => None,
            0 => Some(format!(
                "{hosts} hosts have clocks of their own; that no message arrives before it is sent gave their offsets"
            )),
            pairs => Some(format!(
                "{hosts} hosts have clocks of their own, which drift: between {pairs} pairs of them some messages arrive before they are sent"
            )),
        }
    }
}

/// Hosts by number, in the order of the ranks.
pub(in crate::import) fn host_numbers(hosts: &[&str]) -> Vec<u32> {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    hosts
        .iter()
        .map(|host| {
            let next = numbers.len() as u32;
            *numbers.entry(host).or_insert(next)
        })
        .collect()
}

/// Puts the processes of several hosts on one time line: reads them once, and shifts each.
///
/// # Errors
/// Damage, or errors of the operating system.
pub(in crate::import) fn align<P: Process>(
    processes: &mut [P],
    hosts: Vec<u32>,
    shift: impl Fn(&mut P, i64),
) -> Result<Offsets> {
    if hosts.iter().max().is_none_or(|most| *most == 0) {
        return Ok(Offsets { by_host: vec![0], error_ns: Some(0), contradictions: 0 });
    }
    let mut causality = Causality::new(hosts.clone());
    super::merge(processes, None, &mut causality)?;
    let offsets = causality.offsets();
    for (process, host) in processes.iter_mut().zip(hosts) {
        shift(process, offsets.by_host[host as usize]);
    }
    Ok(offsets)
}

/// Collects from a trace, on clocks that may be off, how long messages seem to take.
struct Causality {
    /// Host of each rank.
    hosts: Vec<u32>,
    host_count: usize,
    /// Shortest time from a host to another, nanoseconds.
    shortest_ns: FxHashMap<(u32, u32), i64>,
    /// Barriers of the run that some ranks have not entered yet, and the number of the first.
    barriers: VecDeque<Barrier>,
    first_barrier: u64,
    /// Barriers that each rank has entered.
    entered: Vec<u64>,
}

/// A collective on all ranks that nobody leaves before everybody has entered.
struct Barrier {
    missing: usize,
    /// Latest entry and earliest leaving by host.
    span_ns: Vec<(i64, i64)>,
}

impl Causality {
    /// Of a run with the host of each rank, numbered from 0.
    fn new(hosts: Vec<u32>) -> Self {
        let host_count = hosts.iter().max().map_or(0, |most| *most as usize + 1);
        let entered = vec![0; hosts.len()];
        Self {
            hosts,
            host_count,
            shortest_ns: FxHashMap::default(),
            barriers: VecDeque::new(),
            first_barrier: 0,
            entered,
        }
    }

    fn passed(&mut self, from: u32, to: u32, ns: i64) {
        let shortest = self.shortest_ns.entry((from, to)).or_insert(i64::MAX);
        *shortest = ns.min(*shortest);
    }

    fn messages(&mut self, block: &MessageBlock) {
        for message in block.iter() {
            let host = |rank: u32| self.hosts.get(rank as usize).copied();
            let (Some(from), Some(to)) = (host(message.src.0), host(message.dst.0)) else { continue };
            if let Some(complete_ns) = message.receive_complete_ns.filter(|_| from != to) {
                self.passed(from, to, complete_ns.saturating_sub(message.send_post_ns));
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let rank = call.rank.0 as usize;
        let joins_all = matches!(
            call.operation,
            Operation::Barrier | Operation::Allreduce | Operation::Allgather | Operation::Alltoall
        );
        let (Some(host), Some(leave_ns)) = (self.hosts.get(rank).copied(), call.leave_ns) else { return };
        if !joins_all || call.communicator != Some(0) {
            return;
        }
        let place = (self.entered[rank] - self.first_barrier) as usize;
        self.entered[rank] += 1;
        while self.barriers.len() <= place {
            let span_ns = vec![(i64::MIN, i64::MAX); self.host_count];
            self.barriers.push_back(Barrier { missing: self.hosts.len(), span_ns });
        }
        let barrier = &mut self.barriers[place];
        let (entry_ns, left_ns) = &mut barrier.span_ns[host as usize];
        *entry_ns = call.enter_ns.max(*entry_ns);
        *left_ns = leave_ns.min(*left_ns);
        barrier.missing -= 1;
        // The n-th is complete before the one after it.
        while self.barriers.front().is_some_and(|first| first.missing == 0) {
            if let Some(barrier) = self.barriers.pop_front() {
                self.first_barrier += 1;
                self.leave(&barrier);
            }
        }
    }

    /// Everybody was in a barrier: each host and the first one bound each other.
    fn leave(&mut self, barrier: &Barrier) {
        let [(first_entry, first_left), others @ ..] = &barrier.span_ns[..] else { return };
        for (host, (entry, left)) in (1..).zip(others) {
            self.passed(0, host, left.saturating_sub(*first_entry));
            self.passed(host, 0, first_left.saturating_sub(*entry));
        }
    }

    /// The offsets that fit best.
    fn offsets(&self) -> Offsets {
        // Width of the interval, hosts, middle of what is added to the second against the first.
        let mut pairs: Vec<(i64, u32, u32, i64)> = Vec::new();
        for ((a, b), there) in self.shortest_ns.iter().filter(|((a, b), _)| a < b) {
            if let Some(back) = self.shortest_ns.get(&(*b, *a)) {
                pairs.push((there.saturating_add(*back), *a, *b, (back.saturating_sub(*there)) / 2));
            }
        }
        pairs.sort_unstable();
        let contradictions = pairs.iter().filter(|pair| pair.0 < 0).count();
        let mut edges: Vec<Vec<(usize, i64, u64)>> = vec![Vec::new(); self.host_count];
        let mut trees = Trees::new(self.host_count);
        for (width, a, b, middle) in pairs {
            let (a, b) = (a as usize, b as usize);
            if trees.join(a, b) {
                let error = width.unsigned_abs().div_ceil(2);
                edges[a].push((b, middle, error));
                edges[b].push((a, middle.saturating_neg(), error));
            }
        }
        let mut found: Vec<Option<(i64, u64)>> = vec![None; self.host_count];
        let mut next = vec![(0, 0, 0)];
        while let Some((host, offset, error)) = next.pop() {
            let Some(place) = found.get_mut(host).filter(|place| place.is_none()) else { continue };
            *place = Some((offset, error));
            next.extend(edges[host].iter().map(|(other, middle, more)| {
                (*other, offset.saturating_add(*middle), error.saturating_add(*more))
            }));
        }
        Offsets {
            by_host: found.iter().map(|place| place.map_or(0, |(offset, _)| offset)).collect(),
            error_ns: found.iter().try_fold(0, |most, place| Some(place.as_ref()?.1.max(most))),
            contradictions,
        }
    }
}

impl Sink for Causality {
    fn begin(&mut self, _header: &Header) -> Result<()> {
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match block {
            Block::Messages(block) => self.messages(block),
            Block::Calls(calls) => calls.iter().for_each(|call| self.call(call)),
            Block::Marks(_) | Block::Matrix(_) | Block::Sizes(_) => {}
        }
        Ok(())
    }

    fn finish(&mut self, _facts: &RunFacts) -> Result<Summary> {
        Ok(Summary::default())
    }
}

/// Hosts that are joined already (union-find with path halving).
struct Trees {
    parents: Vec<usize>,
}

impl Trees {
    fn new(count: usize) -> Self {
        Self { parents: (0..count).collect() }
    }

    fn root(&mut self, mut host: usize) -> usize {
        while self.parents[host] != host {
            self.parents[host] = self.parents[self.parents[host]];
            host = self.parents[host];
        }
        host
    }

    /// Joins two trees; false if both are one already.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[b] = a;
        a != b
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Message, Rank};
    use proptest::prelude::*;

    proptest! {
        /// Messages that take at least a known time between clocks with known offsets.
        #[test]
        fn offsets_are_found_to_within_the_error_that_is_stated(
            truth in prop::collection::vec(-1_000_000i64..1_000_000, 2..6),
            sent in prop::collection::vec((0usize..6, 0usize..6, 0i64..1_000_000, 1i64..5_000), 1..200),
        ) {
            let hosts = truth.len();
            let mut causality = Causality::new((0..hosts as u32).collect());
            let mut block = MessageBlock::default();
            for (src, dst, at, takes) in sent {
                let (src, dst) = (src % hosts, dst % hosts);
                block.push(&Message {
                    send_post_ns: at - truth[src],
                    receive_complete_ns: Some(at + takes - truth[dst]),
                    src: Rank(src as u32),
                    dst: Rank(dst as u32),
                    ..Message::default()
                });
            }
            causality.block(Block::Messages(&block)).unwrap();
            let found = causality.offsets();
            prop_assert_eq!(found.contradictions, 0);
            if let Some(error) = found.error_ns {
                for (host, offset) in found.by_host.iter().enumerate() {
                    let wrong = (offset - (truth[host] - truth[0])).unsigned_abs();
                    // The middle of an interval of odd width is rounded, once for each edge.
                    prop_assert!(wrong <= error + hosts as u64, "{wrong} > {error}");
                }
            }
        }
    }

    #[test]
    fn barriers_alone_join_hosts() {
        let mut causality = Causality::new(vec![0, 0, 1]);
        // Host 1's clock is 1000 behind; the barrier lasts from 110 to 130.
        for (rank, enter_ns, leave_ns) in [(0, 100, 130), (1, 110, 131), (2, 105 - 1000, 132 - 1000)] {
            let call = Call {
                enter_ns,
                leave_ns: Some(leave_ns),
                rank: Rank(rank),
                operation: Operation::Barrier,
                communicator: Some(0),
                ..Call::default()
            };
            causality.block(Block::Calls(&[call])).unwrap();
        }
        let found = causality.offsets();
        // From host 0 to 1 it took at most 132−110, back at most 130−105.
        assert_eq!(found, Offsets { by_host: vec![0, 1001], error_ns: Some(24), contradictions: 0 });
    }

    #[test]
    fn hosts_that_nothing_binds_have_no_error() {
        let causality = Causality::new(vec![0, 1]);
        let none = Offsets { by_host: vec![0, 0], error_ns: None, contradictions: 0 };
        assert_eq!(causality.offsets(), none);
    }
}
