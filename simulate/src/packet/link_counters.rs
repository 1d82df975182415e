//! Counters of a link: packets and bytes carried, dropped, lost, duplicated and marked.

use crate::engine::Picoseconds;

/// Counters of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTraffic {
    /// Bytes that its queue accepted, as they are [on the wire](super::wire_bytes).
    pub bytes: u64,
    /// Bytes that were put on the wire in the time of counting: at most the capacity.
    pub carried: u64,
    /// Packets that its queue accepted.
    pub packets: u64,
    /// Packets that the full queue dropped.
    pub drops: u64,
    /// Bytes of these.
    pub dropped_bytes: u64,
    /// Packets that were lost on the wire, after they had occupied it.
    pub losses: u64,
    /// Bytes of these.
    pub lost_bytes: u64,
    /// Packets that arrived twice; they occupied the link once.
    pub duplicates: u64,
    /// Bytes of these.
    pub duplicate_bytes: u64,
    /// Packets that were marked here.
    pub marks: u64,
    /// Bytes in the queue that half of the packets did not find exceeded; known to a quarter, as
    /// are the following. `None` without packets.
    pub queue_median: Option<u64>,
    /// Of 99 % of the packets.
    pub queue_p99: Option<u64>,
    /// Of all.
    pub queue_max: Option<u64>,
    /// Number of its pauses.
    pub pauses: u64,
    /// Sum of its pauses, up to the end of the last one.
    pub paused_ps: Picoseconds,
}

impl LinkTraffic {
    /// The counts times a factor; queue lengths are unchanged.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let times = |count: u64| (count as f64 * factor).round() as u64; // saturates
        Self {
            bytes: times(self.bytes),
            carried: times(self.carried),
            packets: times(self.packets),
            drops: times(self.drops),
            dropped_bytes: times(self.dropped_bytes),
            losses: times(self.losses),
            lost_bytes: times(self.lost_bytes),
            duplicates: times(self.duplicates),
            duplicate_bytes: times(self.duplicate_bytes),
            marks: times(self.marks),
            queue_median: self.queue_median,
            queue_p99: self.queue_p99,
            queue_max: self.queue_max,
            pauses: times(self.pauses),
            paused_ps: times(self.paused_ps),
        }
    }

    /// Adds the counts of another time; queue lengths are the longer ones.
    pub fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.carried += other.carried;
        self.packets += other.packets;
        self.drops += other.drops;
        self.dropped_bytes += other.dropped_bytes;
        self.losses += other.losses;
        self.lost_bytes += other.lost_bytes;
        self.duplicates += other.duplicates;
        self.duplicate_bytes += other.duplicate_bytes;
        self.marks += other.marks;
        self.queue_median = self.queue_median.max(other.queue_median);
        self.queue_p99 = self.queue_p99.max(other.queue_p99);
        self.queue_max = self.queue_max.max(other.queue_max);
        self.pauses += other.pauses;
        self.paused_ps += other.paused_ps;
    }
}

/// Counts of one link.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkCounters {
    /// Packets that the full queue dropped.
    pub(super) drops: u64,
    /// Bytes of these.
    pub(super) dropped_bytes: u64,
    /// Packets marked.
    pub(super) marks: u64,
    /// Bytes in the queue at the beginning of counting.
    pub(super) queued: u64,
}

impl LinkCounters {
    pub(super) fn drop(&mut self, wire: u32) {
        self.drops += 1;
        self.dropped_bytes += u64::from(wire);
    }
}

/// Counters of the faults of a link; only for networks with faults.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FaultCounters {
    /// Packets put on the link, ever.
    pub(super) traversals: u64,
    /// Packets lost on it.
    pub(super) losses: u64,
    /// Bytes of these.
    pub(super) lost_bytes: u64,
    /// Packets that arrived twice.
    pub(super) duplicates: u64,
    /// Bytes of these.
    pub(super) duplicate_bytes: u64,
}

impl FaultCounters {
    pub(super) fn lose(&mut self, wire: u32) {
        self.losses += 1;
        self.lost_bytes += u64::from(wire);
    }

    pub(super) fn duplicate(&mut self, wire: u32) {
        self.duplicates += 1;
        self.duplicate_bytes += u64::from(wire);
    }

    /// Resets the counters; the numbers of packets continue.
    pub(super) fn forget(&mut self) {
        *self = Self { traversals: self.traversals, ..Self::default() };
    }
}
