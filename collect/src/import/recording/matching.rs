//! Matching of receives to the sends of the merge.

use super::piece::Leaving;
use super::process::{NO_COMMUNICATOR, Process};
use super::receives::{Envelope, MOST_AHEAD, Match, Receives};
use super::remarks::Remarks;
use crate::Result;

/// Completes messages by the times of their receives.
pub(super) struct Matching<'a> {
    processes: &'a [Process<'a>],
    /// By the place of their process.
    receives: Vec<Receives<'a>>,
    remarks: Remarks,
}

impl<'a> Matching<'a> {
    /// # Errors
    /// An error of the operating system.
    pub(super) fn new(processes: &'a [Process<'a>]) -> Result<Self> {
        Self::with_room(processes, MOST_AHEAD)
    }

    /// [`new`](Self::new), with room for `most_ahead` receives of a rank.
    pub(super) fn with_room(processes: &'a [Process<'a>], most_ahead: usize) -> Result<Self> {
        let receives =
            processes.iter().map(|process| Receives::new(process, most_ahead)).collect::<Result<_>>()?;
        Ok(Self { processes, receives, remarks: Remarks::default() })
    }

    /// The next message in the order of time: adds the times of its receive.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn complete(&mut self, leaving: &mut Leaving) -> Result<()> {
        let message = &mut leaving.message;
        if !leaving.is_received {
            return Ok(());
        }
        let envelope = Envelope {
            communicator: message.communicator.unwrap_or(NO_COMMUNICATOR),
            src: message.src.0,
            tag: message.tag.unwrap_or(0),
        };
        let place = Process::place(self.processes, message.dst.0);
        let found = match place.and_then(|place| self.receives.get_mut(place)) {
            Some(receives) => receives.take(envelope)?,
            None => Match::None,
        };
        match found {
            Match::None => self.remarks.unreceived += 1,
            Match::Owed => self.remarks.owed += 1,
            Match::Found(received) => {
                message.receive_post_ns = Some(received.post_ns);
                message.receive_complete_ns = received.complete_ns;
                if received.bytes.is_some_and(|bytes| bytes != message.bytes) {
                    self.remarks.unlike += 1;
                }
            }
        }
        Ok(())
    }

    /// The unmatched receives, after the last message.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn finish(mut self) -> Result<Remarks> {
        for receives in self.receives {
            let left = receives.finish()?;
            self.remarks.unsent += left.unsent;
            self.remarks.unreceived += left.owed;
            self.remarks.unmatched = self.remarks.unmatched.and(&left.unmatched);
        }
        Ok(self.remarks)
    }
}
