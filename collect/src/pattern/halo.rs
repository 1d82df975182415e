//! Exchanging halos with the neighbours in a grid with open edges, one direction a step: −x, +x,
//! −y, +y, …
//!
//! Ranks run along the last side first. Corners are not exchanged; a rank on an edge has fewer
//! neighbours.

use super::Pattern;

pub(super) struct Halo {
    sides: Vec<u32>,
    bytes: u64,
}

impl Halo {
    pub(super) fn new(sides: Vec<u32>, bytes: u64) -> Self {
        Self { sides, bytes }
    }
}

impl Pattern for Halo {
    fn steps(&self) -> u32 {
        2 * self.sides.len() as u32
    }

    fn send(&self, step: u32, src: u32) -> Option<(u32, u64)> {
        let axis = self.sides.len() - 1 - step as usize / 2;
        let stride: u32 = self.sides[axis + 1..].iter().product();
        let place = src / stride % self.sides[axis];
        let dst = if step.is_multiple_of(2) {
            (place > 0).then(|| src - stride)
        } else {
            (place + 1 < self.sides[axis]).then_some(src + stride)
        };
        dst.map(|dst| (dst, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_those_of_corners_edges_and_the_inside() {
        for (sides, expected) in [
            (vec![4, 4], [0, 0, 4, 8, 4, 0, 0]),
            (vec![3, 3, 3], [0, 0, 0, 8, 12, 6, 1]),
            (vec![1, 5], [0, 2, 3, 0, 0, 0, 0]),
        ] {
            let ranks = sides.iter().product();
            let halo = Halo::new(sides, 8);
            let mut degrees = [0; 7];
            for src in 0..ranks {
                let neighbours: Vec<u32> =
                    (0..halo.steps()).filter_map(|step| halo.send(step, src)).map(|(dst, _)| dst).collect();
                degrees[neighbours.len()] += 1;
            }
            assert_eq!(degrees, expected);
        }
    }

    #[test]
    fn neighbours_of_the_middle() {
        let halo = Halo::new(vec![3, 3], 8);
        let neighbours: Vec<_> = (0..4).map(|step| halo.send(step, 4).unwrap().0).collect();
        assert_eq!(neighbours, [3, 5, 1, 7]);
    }
}
