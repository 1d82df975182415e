//! Accounts of time: how long ranks compute, send, receive and wait.

use crate::engine::Picoseconds;

/// Time of a rank, picoseconds; of several ranks together, [`RankSum`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account<T = Picoseconds> {
    /// Computation.
    pub compute: T,
    /// Overheads of sending and receiving.
    pub overhead: T,
    /// Waiting for a message that had not been sent yet.
    pub late_sender: T,
    /// Waiting, as a sender, for a receiver that was not ready yet.
    pub late_receiver: T,
    /// Waiting for a message that was on its way.
    pub network: T,
}

/// Sums over ranks, picoseconds. They need more bits than a time: 65 536 ranks of 282 s each exceed
/// 64 bits.
pub type RankSum = Account<u128>;

impl RankSum {
    /// Adds the time of a rank, or of other ranks.
    pub fn include<T: Copy + Into<u128>>(&mut self, other: &Account<T>) {
        let sum = |a: &mut u128, b: T| *a = a.saturating_add(b.into());
        sum(&mut self.compute, other.compute);
        sum(&mut self.overhead, other.overhead);
        sum(&mut self.late_sender, other.late_sender);
        sum(&mut self.late_receiver, other.late_receiver);
        sum(&mut self.network, other.network);
    }
}

impl Account {
    /// All but computation.
    pub fn communication(&self) -> Picoseconds {
        self.overhead
            .saturating_add(self.late_sender)
            .saturating_add(self.late_receiver)
            .saturating_add(self.network)
    }

    /// Adds `times` times another account.
    pub fn add(&mut self, other: &Self, times: u64) {
        let sum = |a: &mut Picoseconds, b: Picoseconds| *a = a.saturating_add(b.saturating_mul(times));
        sum(&mut self.compute, other.compute);
        sum(&mut self.overhead, other.overhead);
        sum(&mut self.late_sender, other.late_sender);
        sum(&mut self.late_receiver, other.late_receiver);
        sum(&mut self.network, other.network);
    }

    /// Adds a part of another one, to the nearest picosecond.
    pub fn add_part(&mut self, other: &Self, part: f64) {
        let of = |time: Picoseconds| (time as f64 * part).round() as Picoseconds; // saturates
        let Self { compute, overhead, late_sender, late_receiver, network } = *other;
        let part = Self {
            compute: of(compute),
            overhead: of(overhead),
            late_sender: of(late_sender),
            late_receiver: of(late_receiver),
            network: of(network),
        };
        self.add(&part, 1);
    }
}

/// One stretch of a replay: all ranks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Time from the last rank's entry into the stretch to the last rank's entry into the next one.
    pub time: Picoseconds,
    /// Lag: the last rank's entry less the mean entry, to a picosecond. The time from mean entry to
    /// mean entry is `time` + `lag` − lag of the next stretch.
    pub lag: Picoseconds,
    /// Lag of the next stretch, or of the end.
    pub next_lag: Picoseconds,
    /// What ranks did while they were in it, summed up.
    pub account: RankSum,
    /// The critical path's part in its time.
    pub path: PathShare,
}

/// Parts of a critical path, picoseconds; they add up to the makespan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathShare {
    /// On ranks: computation and overheads.
    pub ranks: Picoseconds,
    /// In the network.
    pub network: Picoseconds,
    /// Messages on it.
    pub messages: u64,
}
