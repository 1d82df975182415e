//! The merged stream, cut into pieces that travel from the thread that merges to the one that writes.

use std::sync::mpsc::{Receiver, SyncSender};

use crate::archive::columns::LARGEST_BLOCK;
use crate::trace::{Call, Mark, Message, MessageBlock};
use crate::{Error, Result};

/// Records of a stretch of time; calls and marks are not later than what follows.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) messages: MessageBlock,
    pub(super) calls: Vec<Call>,
    pub(super) marks: Vec<Mark>,
}

impl Piece {
    fn clear(&mut self) {
        self.messages.clear();
        self.calls.clear();
        self.marks.clear();
    }
}

/// Fills pieces and sends them off. Used ones come back, so that nothing is allocated in the long run.
pub(super) struct Pieces {
    current: Piece,
    /// Messages of one time, which have to leave in the order of their sources.
    same_time: Vec<Message>,
    full: SyncSender<Piece>,
    used: Receiver<Piece>,
}

impl Pieces {
    pub(super) fn new(full: SyncSender<Piece>, used: Receiver<Piece>) -> Self {
        Self { current: Piece::default(), same_time: Vec::new(), full, used }
    }

    /// Appends a message, not earlier than the one before it.
    pub(super) fn message(&mut self, message: &Message) -> Result<()> {
        if self.same_time.last().is_some_and(|last| last.send_post_ns != message.send_post_ns) {
            self.settle()?;
        }
        self.same_time.push(*message);
        Ok(())
    }

    pub(super) fn call(&mut self, call: Call) -> Result<()> {
        self.current.calls.push(call);
        if self.current.calls.len() == LARGEST_BLOCK { self.send() } else { Ok(()) }
    }

    pub(super) fn mark(&mut self, mark: Mark) -> Result<()> {
        self.current.marks.push(mark);
        if self.current.marks.len() == LARGEST_BLOCK { self.send() } else { Ok(()) }
    }

    /// Sends off what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        self.settle()?;
        self.send()
    }

    fn settle(&mut self) -> Result<()> {
        if self.same_time.len() > 1 {
            self.same_time.sort_by_key(|message| message.src);
        }
        for message in &self.same_time {
            self.current.messages.push(message);
        }
        self.same_time.clear();
        if self.current.messages.len() >= LARGEST_BLOCK { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<()> {
        let mut empty = self.used.try_recv().unwrap_or_default();
        empty.clear();
        let full = std::mem::replace(&mut self.current, empty);
        // Whoever took the pieces stopped and says why.
        self.full.send(full).map_err(|_| Error::data("stopped"))
    }
}
