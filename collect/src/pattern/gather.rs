//! `MPI_Gather` to rank 0 by the linear algorithm: everyone sends its part to rank 0 at once, as
//! libraries do with small communicators or large parts.
//!
//! Its messages are those of `incast`; the round is known as one collective call.

use super::Pattern;
use crate::trace::Operation;

pub(super) struct Gather {
    pub(super) bytes: u64,
}

impl Pattern for Gather {
    fn steps(&self) -> u32 {
        1
    }

    fn send(&self, _: u32, src: u32) -> Option<(u32, u64)> {
        (src != 0).then_some((0, self.bytes))
    }

    fn collective(&self, _: u32) -> Option<(Operation, u64)> {
        Some((Operation::Gather, self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_0_gets_the_part_of_each_other_rank_once() {
        let gather = Gather { bytes: 1024 };
        for ranks in 2..70 {
            let parts: Vec<u32> = (0..gather.steps())
                .flat_map(|step| (0..ranks).map(move |src| (step, src)))
                .filter_map(|(step, src)| gather.send(step, src).map(|message| (src, message)))
                .map(|(src, message)| {
                    assert_eq!(message, (0, 1024));
                    src
                })
                .collect();
            assert_eq!(parts, (1..ranks).collect::<Vec<_>>());
        }
        assert_eq!(gather.collective(3), Some((Operation::Gather, 1024)));
    }
}
