//! A window as later steps see it.

/// A window on the run's own clock.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Begin; the unit ends where the next one begins.
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Time of its last message.
    pub(super) last_ns: u64,
    /// All ranks meet at a barrier where it begins.
    pub(super) meets: bool,
    /// Idle time in it.
    pub(super) idle_ns: u64,
    /// Messages until the same tokens come again, in the geometric mean; `None` where they do not.
    pub(super) round: Option<f64>,
    pub(super) messages: f64,
    /// How long it lasts without idleness, if that is known.
    pub(super) active_ns: Option<u64>,
}

impl Unit {
    /// Length of a round, as far as this unit tells; without rounds, of all its messages.
    pub(super) fn round_ns(&self) -> u64 {
        let active = self.end_ns - self.start_ns - self.idle_ns;
        match self.round {
            None => self.last_ns - self.start_ns,
            Some(messages) => (active as f64 / self.messages.max(1.0) * messages) as u64,
        }
    }
}

/// A window as a point of a trend: the messages before its middle, and their size and rate in
/// octaves, if known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) place: f64,
    pub(super) size: f64,
    pub(super) rate: Option<f64>,
}
