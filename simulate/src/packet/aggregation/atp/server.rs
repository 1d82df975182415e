//! The state of each sum at a server (paper § 3.6): its contributors, and the result.
//!
//! A packet contains either workers of one rack or several whole racks, so contributors are pairs
//! of a rack and a worker. A packet with any contributor that is already in the sum is dropped.

use super::header::{COLLISION, OVERFLOW, is_marked};
use super::vectors::{Vectors, add_floats, add_integers};
use crate::packet::arena::{NONE, Packet};

/// Whom one server expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// A bit for each port of the second level: racks, and workers in the server's own rack.
    pub(super) ports: u32,
    /// By port: a bit for each of its workers.
    pub(super) workers: Vec<u32>,
}

/// The state of one sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its number; [`NONE`] for none.
    pub(super) seq: u32,
    /// Ports with a contributor.
    pub(super) touched: u32,
    /// Ports with all contributors.
    pub(super) full: u32,
    /// The aggregator of its last packet.
    pub(super) index: u32,
    /// Its replacement from now on, or [`NONE`].
    pub(super) renamed: u32,
    /// The sum, among the vectors.
    pub(super) value: u32,
    /// Number of wrong elements, or [`NONE`] before the check.
    pub(super) wrong: u32,
    pub(super) is_complete: bool,
    /// It has overflowed and consists of raw floats.
    pub(super) is_raw: bool,
    pub(super) is_marked: bool,
    pub(super) has_collided: bool,
}

/// What a packet makes a server do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Wait for others.
    Nothing,
    /// The sum has just become complete.
    Result,
    /// It is complete already: the result is sent once more.
    Again,
    /// It has overflown: all workers are asked for floats.
    Ask,
}

/// The sums of a job by number, for the largest distance between its workers.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    mask: u32,
    /// By slot and port: workers in the sum, where racks have several.
    partial: Vec<u32>,
    ports: usize,
}

/// A free slot.
const UNUSED: Slot = Slot {
    seq: NONE,
    touched: 0,
    full: 0,
    index: 0,
    renamed: NONE,
    value: NONE,
    wrong: NONE,
    is_complete: false,
    is_raw: false,
    is_marked: false,
    has_collided: false,
};

impl Slots {
    /// A worker has at most `window` packets in flight, and a sum is complete only when all workers
    /// have sent it. If the last worker has all results before `e`, no worker has sent `e + 2 ·
    /// window` yet, so `2 · window` slots are enough. `ports` is 0 with one level.
    pub(super) fn new(window: u32, ports: usize) -> Self {
        let slots = (2 * window).next_power_of_two();
        let partial = vec![0; slots as usize * ports];
        Self { slots: vec![UNUSED; slots as usize], mask: slots - 1, partial, ports }
    }

    /// The slot of a number, unless another number has it.
    #[inline]
    pub(super) fn get(&mut self, seq: u32) -> Option<&mut Slot> {
        self.slots.get_mut((seq & self.mask) as usize).filter(|slot| slot.seq == seq)
    }

    /// All of them.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Slot> {
        self.slots.iter()
    }

    /// A packet with contributions has come in.
    #[inline]
    pub(super) fn take(
        &mut self,
        packet: &Packet,
        expected: &Expected,
        vectors: &mut Vectors,
        is_code: bool,
    ) -> Answer {
        let place = (packet.seq & self.mask) as usize;
        let partial = self.partial.get_mut(place * self.ports..(place + 1) * self.ports).unwrap_or_default();
        let slot = &mut self.slots[place];
        let value = packet.words[3];
        if slot.seq != packet.seq {
            if slot.seq != NONE && packet.seq < slot.seq {
                // All workers have its result already.
                vectors.release(value);
                return Answer::Nothing;
            }
            vectors.release(slot.value);
            partial.fill(0);
            *slot = Slot { seq: packet.seq, ..UNUSED };
        }
        slot.is_marked |= is_marked(packet);
        if slot.is_complete {
            vectors.release(value);
            return Answer::Again;
        }
        slot.has_collided |= packet.flags & COLLISION != 0;
        slot.index = packet.words[2];
        let is_raw = packet.flags & OVERFLOW != 0;
        let mut answer = Answer::Nothing;
        if slot.is_raw && !is_raw {
            // Its worker does not have the result yet.
            vectors.release(value);
            return Answer::Ask;
        }
        if is_raw && !slot.is_raw {
            slot.ask(partial, vectors);
            answer = Answer::Ask;
        } else if !is_raw && vectors.is_saturated(value) {
            slot.ask(partial, vectors);
            vectors.release(value);
            return Answer::Ask;
        }
        let [workers, ports, ..] = packet.words;
        let is_whole = ports == expected.ports && is_full(ports, workers, expected);
        if is_code && is_whole {
            // The code accepts a whole sum in any state.
            slot.clear(partial, vectors);
        }
        if !slot.unite(ports, workers, partial, expected) {
            vectors.release(value);
            return answer;
        }
        if slot.value == NONE {
            slot.value = value;
        } else {
            vectors.add(slot.value, value, if is_raw { add_floats } else { add_integers });
        }
        if slot.full != expected.ports {
            return answer;
        }
        if !is_raw && vectors.is_saturated(slot.value) {
            slot.ask(partial, vectors);
            return Answer::Ask;
        }
        slot.is_complete = true;
        Answer::Result
    }
}

impl Slot {
    /// Forgets all contributions.
    fn clear(&mut self, partial: &mut [u32], vectors: &mut Vectors) {
        vectors.release(self.value);
        partial.fill(0);
        (self.touched, self.full, self.value) = (0, 0, NONE);
    }

    /// From now on only floats count.
    fn ask(&mut self, partial: &mut [u32], vectors: &mut Vectors) {
        self.clear(partial, vectors);
        self.is_raw = true;
    }

    /// Adds contributors; false if one of them is already in the sum.
    #[inline]
    fn unite(&mut self, ports: u32, workers: u32, partial: &mut [u32], expected: &Expected) -> bool {
        let port = ports.trailing_zeros() as usize;
        match partial.get_mut(port) {
            Some(known) if ports.is_power_of_two() => {
                if *known & workers != 0 {
                    return false;
                }
                *known |= workers;
                if is_full(ports, *known, expected) {
                    self.full |= ports;
                }
            }
            _ => {
                if self.touched & ports != 0 {
                    return false;
                }
                partial.iter_mut().zip(&expected.workers).enumerate().for_each(|(port, (known, all))| {
                    if ports >> port & 1 != 0 {
                        *known = *all;
                    }
                });
                self.full |= ports;
            }
        }
        self.touched |= ports;
        true
    }
}

/// True if all workers behind the ports are meant: several racks in one packet are whole.
fn is_full(ports: u32, workers: u32, expected: &Expected) -> bool {
    let port = ports.trailing_zeros() as usize;
    !ports.is_power_of_two() || expected.workers.get(port).is_none_or(|all| *all == workers)
}
