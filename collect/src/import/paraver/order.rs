//! Messages and calls in the order of a trace archive, from a text that is nearly in it.

use std::collections::BTreeMap;

use crate::archive::columns::LARGEST_BLOCK;
use crate::trace::{Block, Call, Message, MessageBlock, Sink};
use crate::{Error, Result};

/// Records that are held back to restore their order: about 20 MB. A message may stand this number
/// of messages and calls behind its place; calls that last longer lose their ends.
pub(super) const HELD: usize = 1 << 17;

/// Time and rank of a record, and its number among all.
pub(super) type Key = (i64, u32, u64);

enum Held {
    Message(Message),
    /// `false` until its end is read.
    Call(Call, bool),
}

/// Holds records back, and passes them on in order.
pub(super) struct Order<'a> {
    sink: &'a mut dyn Sink,
    held: BTreeMap<Key, Held>,
    most_held: usize,
    number: u64,
    last_ns: i64,
    messages: MessageBlock,
    calls: Vec<Call>,
    /// Calls that left before their ends.
    endless: u64,
}

impl<'a> Order<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink) -> Self {
        Self::holding(sink, HELD)
    }

    /// [`new`](Self::new), with room for `most_held` records.
    pub(super) fn holding(sink: &'a mut dyn Sink, most_held: usize) -> Self {
        Self {
            sink,
            held: BTreeMap::new(),
            most_held,
            number: 0,
            last_ns: i64::MIN,
            messages: MessageBlock::default(),
            calls: Vec::new(),
            endless: 0,
        }
    }

    fn add(&mut self, time_ns: i64, rank: u32, held: Held) -> Result<Key> {
        if time_ns < self.last_ns {
            let problem = format!(
                "has time {time_ns} ns, {} records before it have later ones, up to {} ns",
                self.most_held, self.last_ns
            );
            return Err(Error::data(problem).advise("sort the trace by time"));
        }
        let key = (time_ns, rank, self.number);
        self.number += 1;
        self.held.insert(key, held);
        if self.held.len() > self.most_held {
            self.leave()?;
        }
        Ok(key)
    }

    pub(super) fn message(&mut self, message: Message) -> Result<()> {
        self.add(message.send_post_ns, message.src.0, Held::Message(message)).map(|_| ())
    }

    /// A call begins; its end comes later.
    pub(super) fn begin(&mut self, call: Call) -> Result<Key> {
        self.add(call.enter_ns, call.rank.0, Held::Call(call, false))
    }

    /// What a call that has begun becomes; nothing if it has left already.
    pub(super) fn call(&mut self, key: &Key) -> Option<&mut Call> {
        match self.held.get_mut(key) {
            Some(Held::Call(call, _)) => Some(call),
            _ => None,
        }
    }

    /// A call ends.
    pub(super) fn end(&mut self, key: &Key, leave_ns: i64) {
        if let Some(Held::Call(call, is_complete)) = self.held.get_mut(key) {
            (call.leave_ns, *is_complete) = (Some(leave_ns.max(call.enter_ns)), true);
        }
    }

    /// The first record leaves.
    fn leave(&mut self) -> Result<()> {
        let Some(((time_ns, ..), held)) = self.held.pop_first() else { return Ok(()) };
        self.last_ns = time_ns;
        match held {
            Held::Message(message) => {
                self.messages.push(&message);
                if self.messages.len() == LARGEST_BLOCK {
                    self.flush()?;
                }
            }
            Held::Call(call, is_complete) => {
                self.endless += u64::from(!is_complete);
                self.calls.push(call);
                if self.calls.len() == LARGEST_BLOCK {
                    self.sink.block(Block::Calls(&self.calls))?;
                    self.calls.clear();
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.calls.is_empty() {
            self.sink.block(Block::Calls(&self.calls))?;
            self.calls.clear();
        }
        if !self.messages.is_empty() {
            self.sink.block(Block::Messages(&self.messages))?;
            self.messages.clear();
        }
        Ok(())
    }

    /// Passes on the rest; returns the number of calls that left before their ends were read.
    ///
    /// # Errors
    /// An error of the sink.
    pub(super) fn finish(mut self) -> Result<u64> {
        let endless = self.endless;
        while !self.held.is_empty() {
            self.leave()?;
        }
        self.flush()?;
        Ok(endless)
    }
}
