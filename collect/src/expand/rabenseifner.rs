//! Rabenseifner's reductions: recursive halving of the vector, then a gather of the pieces in
//! reverse.
//!
//! R. Thakur, R. Rabenseifner, W. Gropp, Optimization of collective communication operations in
//! MPICH, IJHPCA 19(1),
//! 2005. 2 log₂ p rounds and 2(p−1)/p·m bytes a rank: the choice for long vectors on many ranks,
//!       wrong for short ones. Needs an element for each survivor and a commutative operator.

use super::schedule::{Part, Schedule};
use super::survivors::Survivors;

/// A vector of `count` elements of `unit` bytes.
#[derive(Clone, Copy)]
pub(super) struct Vector {
    pub(super) count: u64,
    pub(super) unit: u64,
}

/// Elements from `first` on.
#[derive(Clone, Copy)]
struct Window {
    first: u64,
    count: u64,
}

impl Vector {
    /// The part of a survivor after `steps` halvings.
    fn window(self, survivor: u32, steps: u32) -> Window {
        (0..steps).fold(Window { first: 0, count: self.count }, |Window { first, count }, step| {
            let left = count / 2;
            if survivor >> step & 1 == 0 {
                Window { first, count: left }
            } else {
                Window { first: first + left, count: count - left }
            }
        })
    }

    fn combine(self, schedule: &mut Schedule, src: u32, dst: u32, window: Window) {
        let part = Part::Combine { offset: window.first * self.unit };
        schedule.send(src, dst, window.count * self.unit, part);
    }

    fn copy(self, schedule: &mut Schedule, src: u32, dst: u32, window: Window) {
        let part = Part::Copy { offset: window.first * self.unit };
        schedule.send(src, dst, window.count * self.unit, part);
    }
}

/// `ompi_coll_base_allreduce_intra_redscat_allgather`.
pub(super) fn allreduce(schedule: &mut Schedule, ranks: u32, vector: Vector) {
    let survivors = Survivors::even(ranks);
    reduce_scatter(schedule, survivors, vector);
    for distance in survivors.distances().rev() {
        for survivor in 0..survivors.count {
            let (src, dst) = (survivors.rank(survivor), survivors.rank(survivor ^ distance));
            vector.copy(schedule, src, dst, vector.window(survivor, distance.ilog2() + 1));
        }
        schedule.next_round();
    }
    for (even, odd) in survivors.pairs() {
        vector.copy(schedule, even, odd, vector.window(0, 0));
    }
}

/// `ompi_coll_base_reduce_intra_redscat_gather`. A root that is no survivor takes the place of rank
/// 0 before the gather.
pub(super) fn reduce(schedule: &mut Schedule, ranks: u32, root: u32, vector: Vector) {
    let survivors = Survivors::even(ranks);
    reduce_scatter(schedule, survivors, vector);
    let replaces_first = root < 2 * survivors.merged && root % 2 == 1;
    let rank = |survivor| if replaces_first && survivor == 0 { root } else { survivors.rank(survivor) };
    let steps = survivors.count.ilog2();
    let root = if replaces_first {
        vector.copy(schedule, 0, root, vector.window(0, steps));
        schedule.next_round();
        0
    } else if root < 2 * survivors.merged {
        root / 2
    } else {
        root - survivors.merged
    };
    // A node that differs from the root in the present bit sends its part and ends.
    for distance in survivors.distances().rev() {
        let target_group = root - root % distance;
        for survivor in (0..distance).map(|low| (target_group ^ distance) + low) {
            let window = vector.window(survivor, distance.ilog2() + 1);
            vector.copy(schedule, rank(survivor), rank(survivor ^ distance), window);
        }
        schedule.next_round();
    }
}

/// Leaves each survivor with its last window reduced over all ranks.
fn reduce_scatter(schedule: &mut Schedule, survivors: Survivors, vector: Vector) {
    let (left, right) = (vector.window(0, 1), vector.window(1, 1));
    for (even, odd) in survivors.pairs() {
        vector.combine(schedule, even, odd, right);
        vector.combine(schedule, odd, even, left);
    }
    schedule.next_round();
    for (even, odd) in survivors.pairs() {
        vector.copy(schedule, odd, even, right);
    }
    schedule.next_round();
    for distance in survivors.distances() {
        for survivor in 0..survivors.count {
            let partner = survivor ^ distance;
            let window = vector.window(partner, distance.ilog2() + 1);
            vector.combine(schedule, survivors.rank(survivor), survivors.rank(partner), window);
        }
        schedule.next_round();
    }
}
