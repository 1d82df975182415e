//! Execution of a program in the order of positions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::inbox::{Inbox, envelope};
use super::{Action, Begin, Program, Token};
use crate::expand::Rules;
use crate::import::Imported;
use crate::import::expansion::transfers;
use crate::import::gathering::{Gathered, Gathering};
use crate::import::held::{Held, Record};
use crate::trace::{
    Call, Header, Kind, Message, Operation, Rank, RunFacts, Sink, UnmatchedReceive, UnmatchedReceives,
};
use crate::{At, Result};

/// What did not fit in an execution.
#[derive(Debug, Default)]
struct Outcome {
    /// Messages that nobody received.
    unreceived: u64,
    /// Receives whose message was never sent.
    unsent: UnmatchedReceives,
    /// Calls of collectives that not all members entered.
    incomplete: u64,
    /// Collective calls that nobody asked to be made messages of.
    unexpanded: u64,
    /// Collective calls that could not be made messages of.
    inexpandable: u64,
}

/// A member's call of a collective that has not begun for all.
struct Member {
    rank: u32,
    token: Token,
    /// Among the held records.
    number: u64,
    call: Call,
    pairs: Option<Vec<u64>>,
}

/// The execution of a program.
struct Execution<'a, P> {
    program: &'a mut P,
    rules: Option<Rules>,
    ready: BinaryHeap<Reverse<Begin>>,
    added: Vec<Begin>,
    inbox: Inbox,
    gathering: Gathering<Member>,
    /// Members of incomplete collectives, in the order of entry.
    entered: BTreeMap<Begin, u64>,
    held: Held,
    /// Receives of each rank.
    receives: Vec<u64>,
    outcome: Outcome,
}

/// Executes a program and passes its messages and calls to a sink, as an ordered trace.
///
/// # Errors
/// Damage, an error of the operating system or of the sink; sizes that no collective has.
pub(in crate::import) fn schedule<P: Program>(
    program: &mut P,
    source: &str,
    rules: Option<Rules>,
    sink: &mut dyn Sink,
) -> Result<Imported> {
    sink.begin(&Header::new(Kind::Ordered, source))?;
    let ranks = program.ranks();
    let mut execution = Execution {
        receives: vec![0; ranks as usize],
        program,
        rules,
        ready: BinaryHeap::new(),
        added: Vec::new(),
        inbox: Inbox::default(),
        gathering: Gathering::default(),
        entered: BTreeMap::new(),
        held: Held::default(),
        outcome: Outcome::default(),
    };
    execution.run(sink)?;
    let Execution { held, inbox, mut outcome, .. } = execution;
    held.finish(sink)?;
    outcome.unreceived = inbox.unreceived();
    let facts = RunFacts {
        ranks: Some(ranks),
        unmatched: Some(outcome.unreceived + outcome.unsent.count),
        unmatched_receives: outcome.unsent.clone(),
        is_ordered: true,
        ..RunFacts::default()
    };
    Ok(Imported { summary: sink.finish(&facts)?, remarks: outcome.sentences() })
}

impl<P: Program> Execution<'_, P> {
    fn run(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.program.begin(&mut self.added)?;
        loop {
            self.ready.extend(self.added.drain(..).map(Reverse));
            match self.ready.pop() {
                Some(Reverse(begin)) => self.step(begin, sink)?,
                None if self.give_up(sink)? => {}
                None => return Ok(()),
            }
        }
    }

    fn step(&mut self, begin: Begin, sink: &mut dyn Sink) -> Result<()> {
        let (position, rank, _) = begin;
        let (token, action) = self.program.perform(begin, &mut self.added)?;
        match action {
            Action::Nothing => self.over(rank, token, position),
            Action::Waits | Action::Ends => Ok(()),
            Action::Send { dst, tag, communicator, bytes } => {
                let message = Message {
                    send_post_ns: position,
                    src: Rank(rank),
                    dst: Rank(dst),
                    bytes,
                    tag: Some(tag),
                    communicator,
                    ..Message::default()
                };
                self.held.message(message, 0, sink)?;
                self.held.release(sink)?;
                if let Some((began, receiver, receive)) =
                    self.inbox.send(envelope(rank, dst, tag, communicator), position)
                {
                    self.over(receiver, receive, began.max(position) + 1)?;
                }
                self.over(rank, token, position + 1)
            }
            Action::Receive { src, tag, communicator } => {
                self.receives[rank as usize] += 1;
                match self.inbox.receive((position, rank, token), src, tag, communicator) {
                    Some(sent) => self.over(rank, token, sent.max(position) + 1),
                    None => Ok(()),
                }
            }
            Action::Collective { call, communicator, pairs } => {
                self.collective((position, rank, token), call, communicator, pairs, sink)
            }
        }
    }

    fn over(&mut self, rank: u32, token: Token, position: i64) -> Result<()> {
        self.program.over(rank, token, position, &mut self.added)
    }

    fn collective(
        &mut self,
        begin: Begin,
        call: Call,
        communicator: u32,
        pairs: Option<Vec<u64>>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let (position, rank, token) = begin;
        let call = Call { enter_ns: position, rank: Rank(rank), communicator: Some(communicator), ..call };
        let number = self.held.call(call, 1, sink)?;
        self.entered.insert(begin, number);
        let member = Member { rank, token, number, call, pairs };
        let program = &*self.program;
        match self.gathering.add(communicator, rank, member, || program.members(communicator)) {
            Some(gathered) => self.complete(&gathered, position, sink),
            None => Ok(()),
        }
    }

    /// The last member enters a collective: its messages are made, and all members go on.
    fn complete(&mut self, gathered: &Gathered<Member>, position: i64, sink: &mut dyn Sink) -> Result<()> {
        let calls = &gathered.calls;
        let has_messages =
            |call: &&Member| (Operation::Barrier..=Operation::Exscan).contains(&call.call.operation);
        let count = calls.iter().filter(has_messages).count() as u64;
        let mut rounds = 1;
        match self.rules {
            _ if count == 0 || calls.len() == 1 => {}
            None => self.outcome.unexpanded += count,
            Some(rules) => match self.expand(gathered, position, rules)? {
                Some(made) => rounds = i64::from(made.max(1)),
                None => self.outcome.inexpandable += count,
            },
        }
        for member in calls {
            // One that gave up is on its way already.
            if self.entered.remove(&(member.call.enter_ns, member.rank, member.token)).is_some() {
                self.leave(member.number, position + rounds, sink)?;
                self.over(member.rank, member.token, position + rounds)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, number: u64, position: i64, sink: &mut dyn Sink) -> Result<()> {
        if let Some(Record::Call(call)) = self.held.get_mut(number) {
            call.leave_ns = Some(position);
        }
        self.held.settle(number, sink)
    }

    /// Makes the messages of a collective, a round a step; returns the number of rounds.
    fn expand(&mut self, gathered: &Gathered<Member>, position: i64, rules: Rules) -> Result<Option<u32>> {
        let calls = &gathered.calls;
        let Some(first) = calls.first().map(|member| member.call) else { return Ok(None) };
        if calls.iter().any(|member| member.call.operation != first.operation) {
            return Ok(None);
        }
        let root = first.root.and_then(|root| gathered.members.iter().position(|rank| *rank == root.0));
        let root = root.and_then(|root| u32::try_from(root).ok());
        let parts: Vec<u64> = calls.iter().map(|member| member.call.bytes.unwrap_or(0)).collect();
        let pairs: Vec<u64> =
            calls.iter().filter_map(|member| member.pairs.as_ref()).flatten().copied().collect();
        let Some((transfers, rounds)) = transfers(first.operation, root, &parts, Some(&pairs), rules)? else {
            return Ok(None);
        };
        for transfer in transfers {
            self.held.make(Message {
                send_post_ns: position + i64::from(transfer.round),
                src: Rank(gathered.members[transfer.src as usize]),
                dst: Rank(gathered.members[transfer.dst as usize]),
                bytes: transfer.bytes,
                tag: (rules == Rules::OpenMpi41).then_some(transfer.tag),
                communicator: first.communicator,
                operation: first.operation,
                ..Message::default()
            });
        }
        Ok(Some(rounds))
    }

    /// Nobody can go on: what began first goes on without what it waits for. False at the end.
    fn give_up(&mut self, sink: &mut dyn Sink) -> Result<bool> {
        if let Some((begin, waiting)) = self.inbox.give_up() {
            let (position, rank, token) = begin;
            self.outcome.unsent.add(UnmatchedReceive {
                rank,
                position: self.receives[rank as usize],
                src: waiting.src,
                tag: waiting.tag,
                bytes: None,
            });
            self.over(rank, token, position + 1).at(|| self.program.place(rank))?;
            return Ok(true);
        }
        let Some(((position, rank, token), number)) = self.entered.pop_first() else { return Ok(false) };
        self.outcome.incomplete += 1;
        self.leave(number, position + 1, sink)?;
        self.over(rank, token, position + 1)?;
        Ok(true)
    }
}

impl Outcome {
    /// A sentence each.
    fn sentences(&self) -> Vec<String> {
        let mut said = vec![
            "the source has an order but no times: what needs times or durations is unknown".to_string(),
        ];
        said.extend(self.unsent.sentence());
        let counts = [
            (self.incomplete, "collective calls were not entered by all members"),
            (
                self.unexpanded,
                "collective calls were recorded without their messages; --expand open-mpi or basic computes them",
            ),
            (self.inexpandable, "collective calls could not be expanded"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        said.extend(counts.map(|(count, what)| format!("{count} {what}")));
        said
    }
}
