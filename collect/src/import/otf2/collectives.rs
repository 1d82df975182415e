//! Ends of collectives: what their calls were, and the messages that they are made of.
//!
//! The time of a message in a collective is unknown. As for recordings, it is set to the fraction
//! of its round in the sender's call.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::definitions::{Communicator, Definitions};
use super::lane::Collective;
use super::remarks::Remarks;
use super::sizes::{self, Dialect, Part};
use crate::Result;
use crate::expand::Rules;
use crate::import::expansion::transfers;
use crate::import::gathering::{Gathered, Gathering};
use crate::import::held::{Held, Record};
use crate::trace::{Message, Operation, Rank, Sink};

/// A rank leaves a collective.
pub(super) struct Ending {
    /// Its call among the held records, if its beginning was recorded.
    pub(super) number: Option<u64>,
    pub(super) rank: u32,
    pub(super) leave_ns: i64,
    pub(super) collective: Collective,
}

/// Completes calls, and expands them on request.
pub(super) struct Collectives {
    rules: Option<Rules>,
    dialect: Dialect,
    gathering: Gathering<Member>,
    /// World ranks of a communicator's members; `None` where unknown.
    members: FxHashMap<u32, Option<Rc<[u32]>>>,
    inexpandable: u64,
    unexpanded: u64,
}

/// A member's call.
struct Member {
    number: u64,
    operation: Operation,
    root: Option<u32>,
    bytes: u64,
}

impl Collectives {
    /// Without rules calls stay calls.
    pub(super) fn new(rules: Option<Rules>, dialect: Dialect) -> Self {
        Self {
            rules,
            dialect,
            gathering: Gathering::default(),
            members: FxHashMap::default(),
            inexpandable: 0,
            unexpanded: 0,
        }
    }

    /// Facts that a call waits for: its end, and its messages.
    pub(super) fn facts(&self) -> u8 {
        1 + u8::from(self.rules.is_some())
    }

    /// A call that never ended waits no longer.
    ///
    /// # Errors
    /// An error of the sink.
    pub(super) fn given_up(&self, number: u64, held: &mut Held, sink: &mut dyn Sink) -> Result<()> {
        (0..self.facts()).try_for_each(|_| held.settle(number, sink))
    }

    /// A rank leaves a collective.
    ///
    /// # Errors
    /// An error of the sink; sizes that no collective has.
    pub(super) fn ended(
        &mut self,
        ending: &Ending,
        definitions: &Definitions,
        held: &mut Held,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let Ending { number: Some(number), rank, leave_ns, collective } = *ending else { return Ok(()) };
        let communicator = if collective.is_of_window {
            definitions.windows.get(&collective.communicator).copied()
        } else {
            Some(collective.communicator)
        };
        let members = communicator.and_then(|communicator| self.members(communicator, rank, definitions));
        let member = members.as_ref().and_then(|all| all.iter().position(|other| *other == rank));
        let operation = sizes::operation(collective.operation, collective.is_of_window);
        let operation = operation.unwrap_or(Operation::Internal);
        let part = Part {
            operation,
            sent: collective.sent,
            received: collective.received,
            members: members.as_ref().map_or(u64::from(definitions.ranks), |all| all.len() as u64),
            member: member.unwrap_or_default() as u64,
        };
        let root = sizes::root(collective.root);
        let bytes = part.bytes(self.dialect);
        if let Some(Record::Call(call)) = held.get_mut(number) {
            call.leave_ns = Some(leave_ns.max(call.enter_ns));
            call.operation = operation;
            call.communicator = communicator;
            let world = |root| definitions.peer(communicator.unwrap_or(u32::MAX), rank, root);
            call.root = root.and_then(world).map(Rank);
            call.bytes = Some(bytes).filter(|_| operation != Operation::Barrier);
        }
        held.settle(number, sink)?;
        let has_messages = (Operation::Barrier..=Operation::Exscan).contains(&operation);
        let Some(rules) = self.rules else {
            self.unexpanded += u64::from(has_messages);
            return Ok(());
        };
        let (Some(communicator), Some(members), true) = (communicator, members, has_messages) else {
            self.inexpandable += u64::from(has_messages);
            return held.settle(number, sink);
        };
        if members.len() == 1 {
            return held.settle(number, sink);
        }
        let call = Member { number, operation, root, bytes };
        match self.gathering.add(communicator, rank, call, || members.to_vec()) {
            Some(gathered) => self.expand(&gathered, communicator, rules, held, sink),
            None => Ok(()),
        }
    }

    fn members(&mut self, communicator: u32, rank: u32, definitions: &Definitions) -> Option<Rc<[u32]>> {
        let of_all = || definitions.members(communicator, rank).map(Rc::from);
        let is_own = definitions.communicators.get(&communicator).is_some_and(Communicator::is_own);
        // Each rank alone has collectives of its own.
        if is_own {
            Some(Rc::from([rank]))
        } else {
            self.members.entry(communicator).or_insert_with(of_all).clone()
        }
    }

    /// All members have left: their messages are put between their calls' beginnings and ends.
    fn expand(
        &mut self,
        gathered: &Gathered<Member>,
        communicator: u32,
        rules: Rules,
        held: &mut Held,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let calls = &gathered.calls;
        let operation = calls.first().map_or(Operation::Barrier, |call| call.operation);
        let is_one = calls.iter().all(|call| call.operation == operation && held.has(call.number));
        let parts: Vec<u64> = calls.iter().map(|call| call.bytes).collect();
        let root = calls.first().and_then(|call| call.root);
        let made = if is_one { transfers(operation, root, &parts, None, rules)? } else { None };
        let Some((transfers, rounds)) = made else {
            self.inexpandable += calls.len() as u64;
            return calls.iter().try_for_each(|call| held.settle(call.number, sink));
        };
        let spans: Vec<(i64, i64)> = calls.iter().map(|call| span(held, call.number)).collect();
        for transfer in transfers {
            let (enter_ns, leave_ns) = spans[transfer.src as usize];
            let stay = i128::from(leave_ns) - i128::from(enter_ns);
            let waited = stay * i128::from(transfer.round) / i128::from(rounds.max(1));
            held.make(Message {
                send_post_ns: enter_ns.saturating_add(i64::try_from(waited).unwrap_or(0)),
                src: Rank(gathered.members[transfer.src as usize]),
                dst: Rank(gathered.members[transfer.dst as usize]),
                bytes: transfer.bytes,
                tag: (rules == Rules::OpenMpi41).then_some(transfer.tag),
                communicator: Some(communicator),
                operation,
                ..Message::default()
            });
        }
        calls.iter().try_for_each(|call| held.settle(call.number, sink))
    }

    /// Adds what was left out.
    pub(super) fn finish(&self, remarks: &mut Remarks) {
        remarks.inexpandable += self.inexpandable + self.gathering.left();
        remarks.unexpanded += self.unexpanded;
    }
}

/// Beginning and end of a held call.
fn span(held: &mut Held, number: u64) -> (i64, i64) {
    match held.get_mut(number) {
        Some(Record::Call(call)) => (call.enter_ns, call.leave_ns.unwrap_or(call.enter_ns)),
        _ => (0, 0),
    }
}
