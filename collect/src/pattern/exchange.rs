//! Every rank sends to both neighbours in the ring, and receives from both: the benchmark Exchange
//! of the Intel MPI Benchmarks (IMB-MPI1), the boundary exchange of a domain that is cut in slices.
//!
//! A rank first sends to the previous one, then to the next one. Of two ranks each is both
//! neighbours of the other.

use super::Pattern;

pub(super) struct Exchange {
    pub(super) ranks: u32,
    pub(super) bytes: u64,
}

impl Pattern for Exchange {
    fn steps(&self) -> u32 {
        2
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let distance = if step == 0 { self.ranks - 1 } else { 1 };
        Some(((src + distance) % self.ranks, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IMB's users guide: a rank sends two messages and receives two, so it moves 4X bytes.
    #[test]
    fn everyone_moves_four_messages_one_each_way_on_both_sides() {
        for ranks in 2..70 {
            let exchange = Exchange { ranks, bytes: 8 };
            let mut moved = vec![0; ranks as usize];
            for (step, src) in (0..2).flat_map(|step| (0..ranks).map(move |src| (step, src))) {
                let (dst, bytes) = exchange.send(step, src).unwrap();
                let ring = src.abs_diff(dst);
                assert!(bytes == 8 && (ring == 1 || ring == ranks - 1), "{src} -> {dst} of {ranks}");
                moved[src as usize] += bytes;
                moved[dst as usize] += bytes;
            }
            assert!(moved.iter().all(|moved| *moved == 4 * 8), "{ranks}: {moved:?}");
        }
    }
}
