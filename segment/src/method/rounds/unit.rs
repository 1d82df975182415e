//! A window as later steps see it.

/// A window on the run's own clock.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Begin; the unit ends where the next one begins.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Its last message.
    pub(super) last_ns: u64,
    /// All ranks meet at a barrier where it begins.
    pub(super) meets: bool,
    /// Idle time in it.
    pub(super) idle_ns: u64,
    /// Messages until the same come again, in the geometric mean; `None` where they do not.
    pub(super) round: Option<f64>,
    pub(super) messages: f64,
    /// Its time, if it is known how long it lasts.
    pub(super) active_ns: Option<u64>,
}

impl Unit {
    /// How long a round is, as far as this unit knows.
    pub(super) fn round_ns(&self) -> u64 {
        let active = self.end_ns - self.start_ns - self.idle_ns;
        match self.round {
            None => self.last_ns - self.start_ns,
            Some(messages) => (active as f64 / self.messages.max(1.0) * messages) as u64,
        }
    }
}

/// A window as a point of a trend: how many messages are before its middle, how large they are and
/// how fast they come, in octaves, if that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) place: f64,
    pub(super) size: f64,
    pub(super) rate: Option<f64>,
}
