//! Packet counts of links: columns of the table `links` of the packet model.

/// Packets on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkPackets {
    /// Put on the link.
    pub packets: u64,
    /// Found no room in its queue.
    pub drops: u64,
    /// Lost on it.
    pub losses: u64,
    /// Marked for congestion.
    pub marks: u64,
    /// Bytes in its queue that half of the packets did not find exceeded, to a quarter, in the
    /// worst simulated occurrence.
    pub queue_median: u64,
    /// Likewise, 99 %.
    pub queue_p99: u64,
    /// Likewise, all.
    pub queue_max: u64,
    /// Number of its pauses.
    pub pauses: u64,
    /// Its duration, picoseconds.
    pub paused_ps: u64,
    /// Arrived twice.
    pub duplicates: u64,
}

/// A column: its id in the archive, its name, and its value in a row.
type Column = (u8, &'static str, fn(&mut LinkPackets) -> &mut u64);

impl LinkPackets {
    /// The columns.
    pub const COLUMNS: [Column; 10] = [
        (7, "packets", |row| &mut row.packets),
        (8, "drops", |row| &mut row.drops),
        (9, "losses", |row| &mut row.losses),
        (10, "marks", |row| &mut row.marks),
        (11, "queue_median", |row| &mut row.queue_median),
        (12, "queue_p99", |row| &mut row.queue_p99),
        (13, "queue_max", |row| &mut row.queue_max),
        (14, "pauses", |row| &mut row.pauses),
        (15, "paused_ps", |row| &mut row.paused_ps),
        (16, "duplicates", |row| &mut row.duplicates),
    ];
}
