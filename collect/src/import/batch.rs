//! Records on their way to a sink: collected into blocks, those of one time by rank.

use crate::Result;
use crate::trace::{Block, Call, Message, MessageBlock, Sink};

/// Messages of a block, mostly: about 400 KiB, which fits into a second-level cache.
const MOST_MESSAGES: usize = 4096;

/// Collects records that come in ascending time.
#[derive(Default)]
pub(super) struct Batch {
    messages: Vec<Message>,
    calls: Vec<Call>,
    last_ns: i64,
    block: MessageBlock,
}

impl Batch {
    /// Adds a message, not earlier than the records before it.
    ///
    /// # Errors
    /// An error of the sink.
    #[inline]
    pub(super) fn message(&mut self, message: &Message, sink: &mut dyn Sink) -> Result<()> {
        self.make_room(message.send_post_ns, sink)?;
        self.messages.push(*message);
        Ok(())
    }

    /// Adds a call, likewise.
    ///
    /// # Errors
    /// An error of the sink.
    pub(super) fn call(&mut self, call: &Call, sink: &mut dyn Sink) -> Result<()> {
        self.make_room(call.enter_ns, sink)?;
        self.calls.push(*call);
        Ok(())
    }

    /// Records of one time stay together.
    #[inline]
    fn make_room(&mut self, time_ns: i64, sink: &mut dyn Sink) -> Result<()> {
        if self.messages.len() + self.calls.len() >= MOST_MESSAGES && time_ns > self.last_ns {
            self.send(sink)?;
        }
        self.last_ns = time_ns;
        Ok(())
    }

    /// Sends off what there is.
    ///
    /// # Errors
    /// An error of the sink.
    pub(super) fn send(&mut self, sink: &mut dyn Sink) -> Result<()> {
        if !self.calls.is_empty() {
            self.calls.sort_by_key(|call| (call.enter_ns, call.rank));
            for calls in self.calls.chunks(crate::archive::columns::LARGEST_BLOCK) {
                sink.block(Block::Calls(calls))?;
            }
            self.calls.clear();
        }
        self.messages.sort_by_key(|message| (message.send_post_ns, message.src));
        for messages in self.messages.chunks(crate::archive::columns::LARGEST_BLOCK) {
            self.block.clear();
            messages.iter().for_each(|message| self.block.push(message));
            sink.block(Block::Messages(&self.block))?;
        }
        self.messages.clear();
        Ok(())
    }
}
