//! Retransmission timers: a segment without an acknowledgement in time is sent again.
//!
//! The code keeps them in an `opal_hotel`: a segment checks in when it is sent, and is evicted at
//! its time-out.

use std::collections::VecDeque;

use super::Usnic;
use super::segment::{Place, SegmentHandle};
use crate::engine::Picoseconds;

/// The timers of one process in the order of expiry: first in, first out, as all have the same
/// duration.
#[derive(Clone, Debug, Default)]
pub(super) struct Timers(VecDeque<(Picoseconds, SegmentHandle)>);

impl Timers {
    /// All timers, the first to expire at the front.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Picoseconds, SegmentHandle)> {
        self.0.iter()
    }
}

impl Usnic {
    /// Starts the timer of a segment.
    pub(super) fn start_timer(&mut self, now: Picoseconds, host: u32, id: u32) {
        let deadline = now.saturating_add(self.preset.timeout);
        let segment = &mut self.segments[id];
        segment.place = Place::InFlight(deadline);
        self.modules[host as usize]
            .timers
            .0
            .push_back((deadline, SegmentHandle { id, generation: segment.generation }));
    }

    /// Lists the segments whose timers have expired for sending again.
    pub(super) fn expire_timers(&mut self, now: Picoseconds, host: u32) {
        while let Some(deadline) = self.next_expiry(host)
            && deadline <= now
        {
            let module = &mut self.modules[host as usize];
            let Some((_, handle)) = module.timers.0.pop_front() else { return };
            self.segments[handle.id].place = Place::Resend;
            module.resend.push_back(handle);
            self.counts.timeouts += 1;
        }
    }

    /// Time of the next expiry. Timers of acknowledged segments are dropped without a pass.
    pub(super) fn next_expiry(&mut self, host: u32) -> Option<Picoseconds> {
        let timers = &mut self.modules[host as usize].timers.0;
        while let Some((deadline, handle)) = timers.front().copied() {
            if self.segments[handle.id].has_timer(handle, deadline) {
                return Some(deadline);
            }
            timers.pop_front();
        }
        None
    }
}
