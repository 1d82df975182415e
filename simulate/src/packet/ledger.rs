//! What happened to packets on a link, besides passing it.

/// Counts of one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// Packets that found no room in the queue.
    pub(super) drops: u64,
    /// Bytes of these.
    pub(super) dropped_bytes: u64,
    /// Packets lost on the wire.
    pub(super) losses: u64,
    /// Bytes of these.
    pub(super) lost_bytes: u64,
    /// Packets marked.
    pub(super) marks: u64,
}

impl Ledger {
    pub(super) fn drop(&mut self, wire: u32) {
        self.drops += 1;
        self.dropped_bytes += u64::from(wire);
    }

    pub(super) fn lose(&mut self, wire: u32) {
        self.losses += 1;
        self.lost_bytes += u64::from(wire);
    }
}
