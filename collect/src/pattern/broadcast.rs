//! `MPI_Bcast` from rank 0 along a binomial tree: in step k each rank with the vector sends it to
//! the rank 2ᵏ further on.

use super::Pattern;
use crate::trace::Operation;

pub(super) struct Broadcast {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
}

impl Pattern for Broadcast {
    fn steps(&self) -> u32 {
        self.ranks.next_power_of_two().ilog2()
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let distance = 1 << step;
        (src < distance && src + distance < self.ranks).then_some((src + distance, self.bytes))
    }

    fn collective(&self, rank: u32) -> Option<(Operation, u64)> {
        Some((Operation::Bcast, if rank == 0 { self.bytes } else { 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_gets_it_once_from_someone_who_has_it() {
        for ranks in 2..70 {
            let broadcast = Broadcast { ranks, bytes: 8 };
            let mut has = vec![false; ranks as usize];
            has[0] = true;
            for step in 0..broadcast.steps() {
                for (src, dst) in
                    (0..ranks).filter_map(|src| broadcast.send(step, src).map(|(dst, _)| (src, dst)))
                {
                    assert!(has[src as usize] && !has[dst as usize], "{src} -> {dst} of {ranks}");
                    has[dst as usize] = true;
                }
            }
            assert!(has.iter().all(|has| *has), "{ranks}");
        }
    }
}
