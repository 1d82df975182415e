//! Expansion of recorded collective calls into messages by [`expand`](crate::expand).
//!
//! The n-th collective call of each member of a communicator belongs to the n-th of all others (MPI
//! 4.1, section 6.14). When the first member enters one, [`Collectives`] reads the other members'
//! calls ahead, so that the collective is complete before its first message.
//!
//! The time of a message is unknown. It is set to the fraction of its round in the sender's call:
//! of four rounds, the first is at the entry, the third half way. All messages thus lie inside
//! their calls, which suffices for phases; waiting times inside a collective have no meaning.
//! Messages of non-blocking collectives lie inside the call that starts them.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use super::remarks::Remarks;
use super::{Event, Expandable, Lane, Process, Wanted, place};
use crate::expand::{Collective, Counts, Rules, Transfer, expand};
use crate::trace::{Call, Message, Operation, Rank};
use crate::{At, Result};

/// Expands collectives as their first member enters them. Memory: the messages of those that some
/// members have not left yet, and the calls that were read ahead.
pub(super) struct Collectives<'a, P: Process + 'a> {
    rules: Option<Rules>,
    processes: &'a [P],
    ahead: Vec<Ahead<P::Lane<'a>>>,
    /// By number in the trace.
    communicators: FxHashMap<u32, Communicator>,
    /// Calls on a communicator that the merge has seen, by (process, communicator).
    entered: FxHashMap<(usize, u32), u64>,
    /// Pending messages, earliest first.
    ready: BinaryHeap<Ready>,
    made: u64,
    unexpanded: u64,
    inexpandable: u64,
}

#[derive(Default)]
struct Communicator {
    /// Places of the members in their order; `None` if some left no recording.
    members: Option<Vec<usize>>,
    /// Collectives dealt with so far.
    done: u64,
}

/// A collective call of one member.
struct Entered {
    communicator: u32,
    operation: Operation,
    enter_ns: i64,
    leave_ns: i64,
    root: Option<u32>,
    bytes: u64,
    /// To each member, from alltoallv and alltoallw.
    counts: Vec<u64>,
}

/// A process's collective calls that are read ahead of the merge.
struct Ahead<L> {
    threads: Vec<Thread<L>>,
    waiting: FxHashMap<u32, VecDeque<Entered>>,
}

struct Thread<L> {
    lane: L,
    /// The record after the last call's counts.
    next: Option<(i64, Event)>,
}

struct Ready {
    time_ns: i64,
    /// In the order of making.
    number: u64,
    message: Message,
}

impl<'a, P: Process> Collectives<'a, P> {
    /// Without rules it only counts.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn new(rules: Option<Rules>, processes: &'a [P]) -> Result<Self> {
        let mut ahead = Vec::new();
        if rules.is_some() {
            for process in processes {
                let mut threads = Vec::new();
                for mut lane in process.lanes(Wanted::Collectives)? {
                    let next = next_record(&mut lane, process)?;
                    threads.push(Thread { lane, next });
                }
                ahead.push(Ahead { threads, waiting: FxHashMap::default() });
            }
        }
        Ok(Self {
            rules,
            processes,
            ahead,
            communicators: FxHashMap::default(),
            entered: FxHashMap::default(),
            ready: BinaryHeap::new(),
            made: 0,
            unexpanded: 0,
            inexpandable: 0,
        })
    }

    /// The next message that is not later than `time_ns`.
    pub(super) fn before(&mut self, time_ns: i64) -> Option<Message> {
        let next = self.ready.peek()?;
        if next.time_ns > time_ns { None } else { self.ready.pop().map(|ready| ready.message) }
    }

    /// The merge has reached a call.
    ///
    /// # Errors
    /// Errors of the operating system; sizes that no collective has.
    pub(super) fn entered(&mut self, place: usize, call: &Call, collective: Expandable) -> Result<()> {
        if collective == Expandable::No {
            return Ok(());
        }
        let Some(rules) = self.rules else {
            self.unexpanded += 1;
            return Ok(());
        };
        let (Expandable::On(number), Some(in_trace)) = (collective, call.communicator) else {
            self.inexpandable += 1;
            return Ok(());
        };
        let process = &self.processes[place];
        let entered = self.entered.entry((place, in_trace)).or_default();
        *entered += 1;
        let processes = self.processes;
        let communicator = self
            .communicators
            .entry(in_trace)
            .or_insert_with(|| Communicator { members: members(process, number, processes), done: 0 });
        let Some(members) = &communicator.members else {
            self.inexpandable += 1;
            return Ok(());
        };
        if *entered <= communicator.done {
            return Ok(());
        }
        communicator.done += 1;
        let mut calls = Vec::with_capacity(members.len());
        for member in members {
            calls.extend(self.ahead[*member].next_on(in_trace, &processes[*member])?);
        }
        let ranks: Vec<u32> = members.iter().map(|member| processes[*member].rank()).collect();
        let complete = calls.len() == ranks.len();
        match if complete { transfers(&calls, &ranks, rules)? } else { None } {
            None => self.inexpandable += calls.len() as u64,
            Some((transfers, rounds)) => self.make(&calls, &ranks, &transfers, rounds),
        }
        Ok(())
    }

    /// Messages of a collective, at their times.
    fn make(&mut self, calls: &[Entered], ranks: &[u32], transfers: &[Transfer], rounds: u32) {
        let tags = self.rules == Some(Rules::OpenMpi41);
        for transfer in transfers {
            let call = &calls[transfer.src as usize];
            let stay = i128::from(call.leave_ns) - i128::from(call.enter_ns);
            let waited = stay * i128::from(transfer.round) / i128::from(rounds.max(1));
            let time_ns = call.enter_ns.saturating_add(i64::try_from(waited).unwrap_or(0));
            let message = Message {
                send_post_ns: time_ns,
                src: Rank(ranks[transfer.src as usize]),
                dst: Rank(ranks[transfer.dst as usize]),
                bytes: transfer.bytes,
                tag: tags.then_some(transfer.tag),
                communicator: Some(call.communicator),
                operation: call.operation,
                ..Message::default()
            };
            self.ready.push(Ready { time_ns, number: self.made, message });
            self.made += 1;
        }
    }

    /// Adds what was left out.
    pub(super) fn finish(&self, remarks: &mut Remarks) {
        remarks.unexpanded += self.unexpanded;
        remarks.inexpandable += self.inexpandable;
    }
}

/// Places of a communicator's members; `None` if one left no recording or recorded its messages,
/// and for intercommunicators.
fn members<P: Process>(process: &P, number: u32, all: &[P]) -> Option<Vec<usize>> {
    process.members(number, all)?.into_iter().map(|rank| place(all, rank)).collect()
}

/// The messages of a collective, and the number of rounds; `None` if its calls are incomplete or
/// contradictory.
fn transfers(calls: &[Entered], ranks: &[u32], rules: Rules) -> Result<Option<(Vec<Transfer>, u32)>> {
    let Some(first) = calls.first() else { return Ok(None) };
    if calls.iter().any(|call| call.operation != first.operation) {
        return Ok(None);
    }
    let root = first.root.and_then(|root| ranks.iter().position(|rank| *rank == root));
    let root = root.and_then(|root| u32::try_from(root).ok());
    let parts: Vec<u64> = calls.iter().map(|call| call.bytes).collect();
    let Some(mut collective) = Collective::from_parts(first.operation, root, &parts) else { return Ok(None) };
    let each = calls.len();
    let pairs: Vec<u64> = calls.iter().flat_map(|call| call.counts.iter().copied()).collect();
    if pairs.len() == each * each && calls.iter().all(|call| call.counts.len() == each) {
        collective.counts = Counts::Pairs(&pairs);
    }
    let mut transfers = Vec::new();
    let rounds = expand(&collective, rules, &mut |transfer| transfers.push(transfer))?;
    Ok(Some((transfers, rounds)))
}

impl<L: Lane> Ahead<L> {
    /// The next call on a communicator.
    fn next_on(&mut self, communicator: u32, process: &impl Process) -> Result<Option<Entered>> {
        if let Some(call) = self.waiting.get_mut(&communicator).and_then(VecDeque::pop_front) {
            return Ok(Some(call));
        }
        while let Some(call) = self.next(process)? {
            if call.communicator == communicator {
                return Ok(Some(call));
            }
            self.waiting.entry(call.communicator).or_default().push_back(call);
        }
        Ok(None)
    }

    /// The collective call that was entered next, with its counts.
    fn next(&mut self, process: &impl Process) -> Result<Option<Entered>> {
        loop {
            let waiting = self.threads.iter_mut().filter_map(|thread| {
                let enter_ns = thread.next.as_ref()?.0;
                Some((enter_ns, thread))
            });
            let Some((_, thread)) = waiting.min_by_key(|(enter_ns, _)| *enter_ns) else { return Ok(None) };
            let Some((enter_ns, record)) = thread.next.take() else { return Ok(None) };
            let mut counts = Vec::new();
            loop {
                match next_record(&mut thread.lane, process)? {
                    Some((_, Event::Counts(more, len))) => counts.extend_from_slice(&more[..len]),
                    other => {
                        thread.next = other;
                        break;
                    }
                }
            }
            let Event::Call { call, .. } = record else { continue };
            let Some(communicator) = call.communicator else { continue };
            return Ok(Some(Entered {
                communicator,
                operation: call.operation,
                enter_ns,
                leave_ns: call.leave_ns.unwrap_or(enter_ns),
                root: call.root.map(|root| root.0),
                bytes: call.bytes.unwrap_or(0),
                counts,
            }));
        }
    }
}

/// The next call of a collective, or counts.
fn next_record(lane: &mut impl Lane, process: &impl Process) -> Result<Option<(i64, Event)>> {
    loop {
        let next = lane.next().at(|| process.file())?;
        match &next {
            Some((_, Event::Call { collective: Expandable::On(_), .. } | Event::Counts(..))) | None => {
                return Ok(next);
            }
            _ => {}
        }
    }
}

impl Ord for Ready {
    /// The heap gives its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time_ns, other.number).cmp(&(self.time_ns, self.number))
    }
}

impl PartialOrd for Ready {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ready {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ready {}
