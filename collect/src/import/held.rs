//! Messages and calls in the order of their beginnings, held back until their ends are known.
//!
//! A trace has a message where it was sent, with the times at which it was received, which stand
//! later in the recording. So does the size of a collective call. At most [`MOST_HELD`] records are
//! held back; then the oldest one leaves without what is not known yet.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::batch::Batch;
use crate::Result;
use crate::trace::{Call, Message, Sink};

/// Most records that are held back: 30 MB. Programs have far fewer messages on their way.
const MOST_HELD: usize = 1 << 18;

/// The records that are held back.
#[derive(Default)]
pub(super) struct Held {
    entries: VecDeque<Entry>,
    /// Number of the first entry.
    first: u64,
    /// Messages that were made of calls, earliest first, in the order of making.
    made: BinaryHeap<Reverse<(i64, u64)>>,
    made_messages: VecDeque<Option<Message>>,
    first_made: u64,
    batch: Batch,
}

struct Entry {
    record: Record,
    /// How many facts it waits for.
    waits: u8,
}

/// A record that is held back.
#[allow(clippy::large_enum_variant, reason = "most are messages")]
pub(super) enum Record {
    Message(Message),
    Call(Call),
}

impl Held {
    /// Holds a message back until [`settle`](Self::settle) was called `waits` times; returns its
    /// number.
    ///
    /// # Errors
    /// An error of the sink.
    #[inline]
    pub(super) fn message(&mut self, message: Message, waits: u8, sink: &mut dyn Sink) -> Result<u64> {
        self.add(Entry { record: Record::Message(message), waits }, sink)
    }

    /// Holds a call back, likewise.
    ///
    /// # Errors
    /// An error of the sink.
    pub(super) fn call(&mut self, call: Call, waits: u8, sink: &mut dyn Sink) -> Result<u64> {
        self.add(Entry { record: Record::Call(call), waits }, sink)
    }

    #[inline]
    fn add(&mut self, entry: Entry, sink: &mut dyn Sink) -> Result<u64> {
        if self.entries.len() >= MOST_HELD {
            self.leave(sink)?;
        }
        self.entries.push_back(entry);
        Ok(self.first + self.entries.len() as u64 - 1)
    }

    /// The record of a number, unless it has left.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Record> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(place).map(|entry| &mut entry.record)
    }

    /// True if the record of this number is still held back.
    pub(super) fn has(&self, number: u64) -> bool {
        number >= self.first
    }

    /// A record waits for one fact less; those that wait for nothing leave.
    ///
    /// # Errors
    /// An error of the sink.
    #[inline]
    pub(super) fn settle(&mut self, number: u64, sink: &mut dyn Sink) -> Result<()> {
        let Some(place) = number.checked_sub(self.first) else { return Ok(()) };
        if let Some(entry) = usize::try_from(place).ok().and_then(|place| self.entries.get_mut(place)) {
            entry.waits = entry.waits.saturating_sub(1);
        }
        self.release(sink)
    }

    /// Passes on the records at the front that wait for nothing.
    ///
    /// # Errors
    /// An error of the sink.
    #[inline]
    pub(super) fn release(&mut self, sink: &mut dyn Sink) -> Result<()> {
        while self.entries.front().is_some_and(|entry| entry.waits == 0) {
            self.leave(sink)?;
        }
        Ok(())
    }

    /// Adds a message that a call which is still held back is made of.
    pub(super) fn make(&mut self, message: Message) {
        let number = self.first_made + self.made_messages.len() as u64;
        self.made.push(Reverse((message.send_post_ns, number)));
        self.made_messages.push_back(Some(message));
    }

    /// The first record leaves, after the made messages that are before it.
    #[inline]
    fn leave(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let Some(entry) = self.entries.pop_front() else { return Ok(()) };
        self.first += 1;
        let time_ns = match &entry.record {
            Record::Message(message) => message.send_post_ns,
            Record::Call(call) => call.enter_ns,
        };
        if !self.made.is_empty() {
            // A call stands before the messages of its time.
            let is_call = matches!(entry.record, Record::Call(_));
            self.leave_made(time_ns.saturating_add(i64::from(!is_call)), sink)?;
        }
        match &entry.record {
            Record::Message(message) => self.batch.message(message, sink),
            Record::Call(call) => self.batch.call(call, sink),
        }
    }

    /// The made messages before a time leave.
    fn leave_made(&mut self, before_ns: i64, sink: &mut dyn Sink) -> Result<()> {
        while let Some(Reverse((time_ns, number))) = self.made.peek().copied() {
            if time_ns >= before_ns {
                break;
            }
            self.made.pop();
            let message = self.made_messages[(number - self.first_made) as usize].take();
            message.map_or(Ok(()), |message| self.batch.message(&message, sink))?;
        }
        while self.made_messages.front().is_some_and(Option::is_none) {
            self.made_messages.pop_front();
            self.first_made += 1;
        }
        Ok(())
    }

    /// Passes on all, whatever they wait for.
    ///
    /// # Errors
    /// An error of the sink.
    pub(super) fn finish(mut self, sink: &mut dyn Sink) -> Result<()> {
        while !self.entries.is_empty() {
            self.leave(sink)?;
        }
        self.leave_made(i64::MAX, sink)?;
        self.batch.send(sink)
    }
}
