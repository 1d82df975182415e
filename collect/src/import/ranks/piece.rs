//! Pieces of the merged stream, which pass from thread to thread: merge, matching, sink.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::archive::columns::LARGEST_BLOCK;
use crate::trace::{Call, Mark, Message};
use crate::{Error, Result};

/// Messages in a piece: about 300 KiB, which fits into a second-level cache on the way between
/// threads.
const MOST_MESSAGES: usize = 4096;

/// A message on its way to its receive.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct Leaving {
    pub(in crate::import) message: Message,
    /// It must have a receive.
    pub(in crate::import) is_received: bool,
    /// The sender knows its size; otherwise the receiver may.
    pub(in crate::import) is_sized: bool,
}

/// Records of an interval of time; calls and marks are not later than records of the next piece.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) messages: Vec<Leaving>,
    pub(super) calls: Vec<Call>,
    pub(super) marks: Vec<Mark>,
}

/// Fills and sends pieces. Used ones return, so that no memory is allocated in the long run.
pub(super) struct Pieces {
    current: Piece,
    /// Where in the piece the messages of the last time begin.
    same_time: usize,
    full: SyncSender<Piece>,
    used: Receiver<Piece>,
}

impl Pieces {
    pub(super) fn new(full: SyncSender<Piece>, used: Receiver<Piece>) -> Self {
        Self { current: Piece::default(), same_time: 0, full, used }
    }

    /// Appends a message, not earlier than the one before it.
    pub(super) fn message(&mut self, leaving: Leaving) -> Result<()> {
        let messages = &mut self.current.messages;
        if messages.last().is_some_and(|last| last.message.send_post_ns != leaving.message.send_post_ns) {
            settle(&mut messages[self.same_time..]);
            self.same_time = messages.len();
            if messages.len() >= MOST_MESSAGES {
                self.send()?;
            }
        }
        self.current.messages.push(leaving);
        Ok(())
    }

    pub(super) fn call(&mut self, call: Call) -> Result<()> {
        if self.current.calls.len() == LARGEST_BLOCK {
            self.send_calls_and_marks()?;
        }
        self.current.calls.push(call);
        Ok(())
    }

    pub(super) fn mark(&mut self, mark: Mark) -> Result<()> {
        if self.current.marks.len() == LARGEST_BLOCK {
            self.send_calls_and_marks()?;
        }
        self.current.marks.push(mark);
        Ok(())
    }

    /// Sends off what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        settle(&mut self.current.messages[self.same_time..]);
        self.send()
    }

    /// Keeps the messages: more of the last one's time may come.
    fn send_calls_and_marks(&mut self) -> Result<()> {
        let messages = std::mem::take(&mut self.current.messages);
        let same_time = self.same_time;
        self.send()?;
        (self.current.messages, self.same_time) = (messages, same_time);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        let mut empty = self.used.try_recv().unwrap_or_default();
        empty.messages.clear();
        empty.calls.clear();
        empty.marks.clear();
        self.same_time = 0;
        let full = std::mem::replace(&mut self.current, empty);
        // The receiver of the pieces has stopped, and reports the cause.
        self.full.send(full).map_err(|_| Error::data("stopped"))
    }
}

/// Messages of one time leave in the order of their sources.
fn settle(messages: &mut [Leaving]) {
    if messages.len() > 1 {
        messages.sort_by_key(|leaving| leaving.message.src);
    }
}
