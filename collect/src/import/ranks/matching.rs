//! Matching of receives to the sends of the merge.

use super::piece::Leaving;
use super::receives::{Envelope, MOST_AHEAD, Match, Receives};
use super::remarks::Remarks;
use super::{NO_COMMUNICATOR, Process, place};
use crate::Result;

/// Completes messages by the times of their receives.
pub(in crate::import) struct Matching<'a, P: Process> {
    processes: &'a [P],
    /// By the place of their process.
    receives: Vec<Receives<'a, P>>,
    remarks: Remarks,
}

impl<'a, P: Process> Matching<'a, P> {
    /// # Errors
    /// An error of the operating system.
    pub(in crate::import) fn new(processes: &'a [P]) -> Result<Self> {
        Self::with_room(processes, MOST_AHEAD)
    }

    /// [`new`](Self::new), with room for `most_ahead` receives of a rank.
    pub(in crate::import) fn with_room(processes: &'a [P], most_ahead: usize) -> Result<Self> {
        let receives =
            processes.iter().map(|process| Receives::new(process, most_ahead)).collect::<Result<_>>()?;
        Ok(Self { processes, receives, remarks: Remarks::default() })
    }

    /// The next message in the order of time: adds the times of its receive.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(in crate::import) fn complete(&mut self, leaving: &mut Leaving) -> Result<()> {
        if leaving.is_received {
            self.receive(leaving)?;
        }
        self.remarks.sizeless += u64::from(!leaving.is_sized);
        Ok(())
    }

    fn receive(&mut self, leaving: &mut Leaving) -> Result<()> {
        let message = &mut leaving.message;
        let envelope = Envelope {
            communicator: message.communicator.unwrap_or(NO_COMMUNICATOR),
            src: message.src.0,
            tag: message.tag.unwrap_or(0),
        };
        let place = place(self.processes, message.dst.0);
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
                match received.bytes {
                    Some(bytes) if !leaving.is_sized => (message.bytes, leaving.is_sized) = (bytes, true),
                    Some(bytes) if bytes != message.bytes => self.remarks.unlike += 1,
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The unmatched receives, after the last message.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(in crate::import) fn finish(mut self) -> Result<Remarks> {
        for receives in self.receives {
            let left = receives.finish()?;
            self.remarks.unsent += left.unsent;
            self.remarks.unreceived += left.owed;
            self.remarks.anonymous += left.anonymous;
            self.remarks.unmatched = self.remarks.unmatched.and(&left.unmatched);
        }
        Ok(self.remarks)
    }
}
