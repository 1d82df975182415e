//! What each rank does, in an order in which nobody waits for ever: for formats of programs.
//!
//! A message is a non-blocking send and receive, and a wait for each. The send stands where it was
//! posted; the receive where it was posted, at the earliest with its send; the waits where they
//! were over, at the earliest with the receive. What is not known stands at the earliest. All
//! operations are in the order of time, so each wait is for something that stands before it.
//!
//! Memory: the messages that are on their way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Result;
use crate::trace::{Message, MessageBlock};

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Send,
    Receive,
    AwaitReceive,
    AwaitSend,
}

/// A step of a rank's program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) time_ns: i64,
    pub(super) rank: u32,
    pub(super) kind: Kind,
    /// The message.
    pub(super) number: u64,
    pub(super) src: u32,
    pub(super) dst: u32,
    /// 0 if it is not known.
    pub(super) tag: i32,
    pub(super) bytes: u64,
}

impl Step {
    /// The other rank.
    pub(super) fn peer(&self) -> u32 {
        match self.kind {
            Kind::Send | Kind::AwaitSend => self.dst,
            Kind::Receive | Kind::AwaitReceive => self.src,
        }
    }
}

/// Makes steps of messages.
#[derive(Debug, Default)]
pub(super) struct Operations {
    /// Time, message and kind; earliest first.
    pending: BinaryHeap<Reverse<(i64, u64, Kind, Pending)>>,
    count: u64,
}

/// What a step needs of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    src: u32,
    dst: u32,
    tag: i32,
    bytes: u64,
}

impl Operations {
    /// Adds messages in the order of a trace; passes on the steps before them.
    ///
    /// # Errors
    /// An error of `each`.
    pub(super) fn add(
        &mut self,
        messages: &MessageBlock,
        each: &mut impl FnMut(&Step) -> Result<()>,
    ) -> Result<()> {
        for message in messages.iter() {
            self.until(message.send_post_ns, each)?;
            self.push(&message);
        }
        Ok(())
    }

    fn push(&mut self, message: &Message) {
        let sent = message.send_post_ns;
        let received = message.receive_post_ns.unwrap_or(sent).max(sent);
        let pending = Pending {
            src: message.src.0,
            dst: message.dst.0,
            tag: message.tag.unwrap_or(0),
            bytes: message.bytes,
        };
        for (kind, time_ns) in [
            (Kind::Send, sent),
            (Kind::Receive, received),
            (Kind::AwaitReceive, message.receive_complete_ns.unwrap_or(received).max(received)),
            (Kind::AwaitSend, message.send_complete_ns.unwrap_or(received).max(received)),
        ] {
            self.pending.push(Reverse((time_ns, self.count, kind, pending)));
        }
        self.count += 1;
    }

    /// Passes on the steps before a time.
    fn until(&mut self, time_ns: i64, each: &mut impl FnMut(&Step) -> Result<()>) -> Result<()> {
        while self.pending.peek().is_some_and(|Reverse((at, ..))| *at < time_ns) {
            self.next(each)?;
        }
        Ok(())
    }

    fn next(&mut self, each: &mut impl FnMut(&Step) -> Result<()>) -> Result<()> {
        let Some(Reverse((time_ns, number, kind, pending))) = self.pending.pop() else { return Ok(()) };
        let Pending { src, dst, tag, bytes } = pending;
        let rank = if matches!(kind, Kind::Send | Kind::AwaitSend) { src } else { dst };
        each(&Step { time_ns, rank, kind, number, src, dst, tag, bytes })
    }

    /// Passes on the rest.
    ///
    /// # Errors
    /// An error of `each`.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(&Step) -> Result<()>) -> Result<()> {
        while !self.pending.is_empty() {
            self.next(each)?;
        }
        Ok(())
    }
}

/// How long each rank computed since its last step.
#[derive(Debug)]
pub(super) struct Computation {
    /// When each rank did something last; `None` before.
    last_ns: Vec<Option<i64>>,
    is_timed: bool,
}

impl Computation {
    /// Without times nobody computes.
    pub(super) fn new(is_timed: bool) -> Self {
        Self { last_ns: Vec::new(), is_timed }
    }

    /// Nanoseconds of computation before a step: all of the time but what ends a wait.
    pub(super) fn before(&mut self, step: &Step) -> u64 {
        let at = step.rank as usize;
        if self.last_ns.len() <= at {
            self.last_ns.resize(at + 1, None);
        }
        let last = self.last_ns[at].replace(step.time_ns);
        match (last, step.kind) {
            (Some(last), Kind::Send | Kind::Receive) if self.is_timed => step.time_ns.abs_diff(last),
            _ => 0,
        }
    }
}
