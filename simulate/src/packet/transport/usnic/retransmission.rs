//! Retransmission timers: a segment that nobody acknowledges in time is sent again.
//!
//! Open MPI 4.1 keeps these timers in an `opal_hotel`: a segment checks in when it is sent, and is
//! evicted when its time is over.

use std::collections::VecDeque;

use super::Usnic;
use super::segment::{Noted, Place};
use crate::engine::Picoseconds;

/// The timers of one process in the order of expiry; first in, first out, as all run equally long.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(VecDeque<(Picoseconds, Noted)>);

impl Timers {
    /// All timers, the first to expire at the front.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Picoseconds, Noted)> {
        self.0.iter()
    }
}

impl Usnic {
    /// Starts the timer of a segment.
    pub(super) fn start_timer(&mut self, now: Picoseconds, host: u32, id: u32) {
        let deadline = now.saturating_add(self.preset.timeout);
        let segment = &mut self.segments[id];
        segment.place = Place::InFlight(deadline);
        self.modules[host as usize].timers.0.push_back((deadline, (id, segment.generation)));
    }

    /// Lists the segments whose timers have expired for sending again.
    pub(super) fn expire_timers(&mut self, now: Picoseconds, host: u32) {
        while let Some(deadline) = self.next_expiry(host)
            && deadline <= now
        {
            let module = &mut self.modules[host as usize];
            let Some((_, noted)) = module.timers.0.pop_front() else { return };
            self.segments[noted.0].place = Place::Resend;
            module.resend.push_back(noted);
            self.counts.timeouts += 1;
        }
    }

    /// When the next timer expires. Timers of acknowledged segments are dropped: no pass is made
    /// for them.
    pub(super) fn next_expiry(&mut self, host: u32) -> Option<Picoseconds> {
        let timers = &mut self.modules[host as usize].timers.0;
        while let Some((deadline, noted)) = timers.front().copied() {
            if self.segments[noted.0].has_timer(noted, deadline) {
                return Some(deadline);
            }
            timers.pop_front();
        }
        None
    }
}
