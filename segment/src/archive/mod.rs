//! The phase archive: a segmentation, the traffic matrix of each phase, and the messages that are
//! simulated for it.

mod agreement;
mod contents;
mod margin;
mod members;
mod occurrences;
mod read;
mod records;
mod write;

pub use contents::{Chosen, Place};
pub use margin::Margins;
pub use read::{Records, read_segmentation, read_with_messages};
pub use write::{write_segmentation, write_with_messages};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segmentation::{FORMAT, Header, Occurrence, Phase, Segmentation, VERSION};
    use phaseflow_collect::archive::ArchiveReader;
    use phaseflow_collect::trace::Rank;
    use phaseflow_collect::{Cell, Result, TrafficMatrix};

    fn sample() -> Segmentation {
        let cell = |src, dst| Cell { src: Rank(src), dst: Rank(dst), messages: 1, bytes: 10 };
        let phase = |name: &str, cells: &[Cell]| Phase {
            name: name.into(),
            title: name.into(),
            occurrences: 1,
            duration_ns: Some(5),
            matrix: TrafficMatrix::from_cells(cells.iter().copied()).unwrap(),
        };
        let occurrence = |phase, start_ns, end_ns| Occurrence {
            phase,
            depth: 0,
            start_ns,
            end_ns,
            messages: 1,
            bytes: 10,
        };
        Segmentation {
            header: Header {
                format: FORMAT.into(),
                version: VERSION,
                source: "test".into(),
                method: "none".into(),
                ranks: 4,
                duration_ns: Some(12),
                unmatched_receives: Default::default(),
            },
            phases: vec![phase("0", &[cell(0, 1)]), phase("1", &[cell(2, 3), cell(3, 2)])],
            occurrences: vec![occurrence(Some(0), 0, 5), occurrence(None, 5, 7), occurrence(Some(1), 7, 12)],
        }
    }

    fn again(segmentation: &Segmentation) -> Result<Segmentation> {
        let bytes = write_segmentation(Vec::new(), true, segmentation).unwrap();
        read_segmentation(ArchiveReader::open(&bytes[..]).unwrap())
    }

    #[test]
    fn a_segmentation_comes_back() {
        assert_eq!(again(&sample()).unwrap(), sample());
    }

    #[test]
    fn a_hundred_thousand_occurrences_come_back() {
        let mut long = sample();
        let occurrence = |i: u64| Occurrence {
            phase: Some((i % 2) as u32),
            depth: 0,
            start_ns: 3 * i,
            end_ns: 3 * i + 3,
            messages: i,
            bytes: 1 << 40,
        };
        long.occurrences = (0..100_000).map(occurrence).collect();
        long.header.duration_ns = Some(300_000);
        assert_eq!(again(&long).unwrap(), long);
    }

    #[test]
    fn contradictions_are_refused() {
        let broken = |breakage: &dyn Fn(&mut Segmentation)| {
            let mut segmentation = sample();
            breakage(&mut segmentation);
            again(&segmentation).unwrap_err().to_string()
        };
        assert_eq!(
            broken(&|s| s.occurrences[2].phase = Some(2)),
            "occurrence 2 is of phase 2, the archive has 2"
        );
        assert_eq!(
            broken(&|s| s.occurrences[1].start_ns = 6),
            "occurrence 1 starts at 6 ns, expected 5 ns where the last one ends"
        );
        assert_eq!(
            broken(&|s| s.header.duration_ns = Some(13)),
            "occurrences end at 12 ns, the run at 13 ns"
        );
        assert_eq!(broken(&|s| s.header.ranks = 3), "phases.json: phase 1 has rank 3, the run 3 ranks");
    }
}
