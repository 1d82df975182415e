//! The innermost occurrences of a segmentation: what is simulated, however deep the loops around it
//! are.

use crate::archive::Chosen;
use crate::segmentation::{Occurrence, Segmentation};

impl Segmentation {
    /// Rows that no deeper one lies in, with their numbers, in order of time. Together they tile
    /// the run, as those of depth 0 do.
    pub fn leaves(&self) -> impl Iterator<Item = (usize, &Occurrence)> {
        let rows = &self.occurrences;
        rows.iter()
            .enumerate()
            .filter(|(row, own)| rows.get(row + 1).is_none_or(|next| next.depth <= own.depth))
    }

    /// How many phases are no loops of others, if these come first, as they do in what this crate
    /// writes. `None` where they are mixed.
    pub fn leaf_phases(&self) -> Option<usize> {
        if self.occurrences.is_empty() {
            return Some(self.phases.len());
        }
        let mut is_leaf = vec![false; self.phases.len()];
        for phase in self.leaves().filter_map(|(_, row)| row.phase) {
            *is_leaf.get_mut(phase as usize)? = true;
        }
        let count = is_leaf.iter().take_while(|is_leaf| **is_leaf).count();
        is_leaf[count..].iter().all(|is_leaf| !is_leaf).then_some(count)
    }
}

impl Chosen {
    /// The innermost phases and occurrences alone, these at depth 0. `None` where loops come among
    /// them or are what is sampled, as in archives of earlier versions.
    pub fn leaves(&self) -> Option<Self> {
        let count = self.segmentation.leaf_phases()?;
        let samples_loop = |phase: u32| phase as usize >= count;
        let sampled = self.samples.iter().flat_map(|samples| &samples.of_phase);
        if sampled.filter_map(|units| units.phase).any(samples_loop) {
            return None;
        }
        let rows: Vec<usize> = self.segmentation.leaves().map(|(row, _)| row).collect();
        let flat = |row: &usize| Occurrence { depth: 0, ..self.segmentation.occurrences[*row] };
        let segmentation = Segmentation {
            header: self.segmentation.header.clone(),
            phases: self.segmentation.phases[..count].to_vec(),
            occurrences: rows.iter().map(flat).collect(),
        };
        let representatives = self.representatives.iter().take(count);
        let representatives = representatives.map(|row| rows.binary_search(row.as_ref()?).ok()).collect();
        Some(Self { segmentation, representatives, samples: self.samples.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Samples, Units};
    use crate::segmentation::{FORMAT, Header, Phase, VERSION};
    use phaseflow_collect::TrafficMatrix;

    /// Rows of phase, depth, start and end.
    fn chosen(phases: usize, rows: &[(Option<u32>, u32, u64, u64)]) -> Chosen {
        let phase = |name: usize| Phase {
            title: String::new(),
            name: name.to_string(),
            occurrences: 1,
            duration_ns: Some(1),
            matrix: TrafficMatrix::default(),
        };
        let row = |(phase, depth, start_ns, end_ns): &(Option<u32>, u32, u64, u64)| Occurrence {
            phase: *phase,
            depth: *depth,
            start_ns: *start_ns,
            end_ns: *end_ns,
            messages: 1,
            bytes: 1,
        };
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            source: "test".into(),
            method: "none".into(),
            ranks: 2,
            duration_ns: rows.last().map(|row| row.3),
            unmatched_receives: Default::default(),
        };
        Chosen {
            segmentation: Segmentation {
                header,
                phases: (0..phases).map(phase).collect(),
                occurrences: rows.iter().map(row).collect(),
            },
            representatives: vec![None; phases],
            samples: None,
        }
    }

    #[test]
    fn leaves_of_a_loop_tile_the_run() {
        let rows = [
            (Some(2), 0, 0, 30),
            (Some(0), 1, 0, 10),
            (Some(1), 1, 10, 20),
            (Some(0), 1, 20, 30),
            (None, 0, 30, 35),
            (Some(1), 0, 35, 40),
        ];
        let mut tree = chosen(3, &rows);
        tree.representatives = vec![Some(3), Some(5), None];
        let flat = tree.leaves().unwrap();
        let found: Vec<_> =
            flat.segmentation.occurrences.iter().map(|row| (row.phase, row.start_ns)).collect();
        assert_eq!(found, [(Some(0), 0), (Some(1), 10), (Some(0), 20), (None, 30), (Some(1), 35)]);
        assert!(flat.segmentation.occurrences.iter().all(|row| row.depth == 0));
        assert_eq!(flat.segmentation.phases.len(), 2);
        assert_eq!(flat.representatives, [Some(2), Some(4)]);
        // Samples of the loop stand for the loop.
        let of_loop = Units { phase: Some(2), ..Units::default() };
        tree.samples = Some(Samples { windows: Vec::new(), of_phase: vec![of_loop] });
        assert_eq!(tree.leaves(), None);
    }

    #[test]
    fn loops_among_the_leaves_are_left_as_they_are() {
        let tree = chosen(2, &[(Some(0), 0, 0, 20), (Some(1), 1, 0, 20)]);
        assert_eq!(tree.segmentation.leaf_phases(), None);
        assert_eq!(tree.leaves(), None);
    }
}
