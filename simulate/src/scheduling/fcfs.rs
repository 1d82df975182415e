//! First come, first served.

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

use super::{Occasion, QueueView, Scheduler};

/// Starts jobs in the order of submission; a head that does not fit blocks all behind it.
///
/// Fair and easy to predict, but large jobs leave hosts idle while they wait: [`Easy`](super::Easy)
/// fills those.
#[derive(Clone, Copy, Debug)]
pub struct Fcfs {
    pfsim: bool,
}

impl Fcfs {
    /// `fcfs` starts heads of the queue for as long as they fit.
    ///
    /// `fcfs[variant=pfsim]` is PFSim's: a submitted job starts at once only if the queue is empty,
    /// and the end of a job starts at most the head. The head may thus wait although it fits, until
    /// the next job ends.
    ///
    /// # Errors
    /// Another variant.
    pub fn new(choice: &Choice) -> Result<Self> {
        match choice.get("variant") {
            None => Ok(Self { pfsim: false }),
            Some("pfsim") => Ok(Self { pfsim: true }),
            Some(other) => Err(unknown_name("variant of `fcfs`", other, &["pfsim"])),
        }
    }
}

impl Scheduler for Fcfs {
    fn next(&mut self, view: &QueueView<'_>) -> Result<Option<usize>> {
        let holds_back = match view.occasion {
            Occasion::Submitted => view.queue.len() > 1,
            Occasion::Finished => view.started > 0,
        };
        let Some(head) = view.queue.first() else { return Ok(None) };
        Ok((view.fits(head) && !(self.pfsim && holds_back)).then_some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueuedJob;
    use super::*;
    use crate::topology::test_tree::tree;

    fn next(choice: &str, occasion: Occasion, started: u32, processes: &[u32]) -> Option<usize> {
        let mut scheduler = Fcfs::new(&Choice::parse(choice).unwrap()).unwrap();
        let job = |processes: &u32| QueuedJob { job: 0, processes: *processes, slots: 8, estimate: 1 };
        let queue: Vec<QueuedJob> = processes.iter().map(job).collect();
        let topology = &tree(&[vec![1; 8]], 1, &[1.0]);
        let view =
            QueueView { topology, now: 0, occasion, started, free_slots: 8, queue: &queue, running: &[] };
        scheduler.next(&view).unwrap()
    }

    #[test]
    fn all_heads_that_fit() {
        let plain = |occasion, started, queue: &[u32]| next("fcfs", occasion, started, queue);
        assert_eq!(plain(Occasion::Finished, 0, &[8, 1]), Some(0));
        assert_eq!(plain(Occasion::Finished, 5, &[8, 1]), Some(0));
        assert_eq!(plain(Occasion::Submitted, 0, &[8, 1]), Some(0));
        assert_eq!(plain(Occasion::Finished, 0, &[9, 1]), None);
        assert_eq!(plain(Occasion::Finished, 0, &[]), None);
    }

    #[test]
    fn pfsim_starts_at_most_one() {
        let pfsim = |occasion, started, queue: &[u32]| next("fcfs[variant=pfsim]", occasion, started, queue);
        assert_eq!(pfsim(Occasion::Submitted, 0, &[8]), Some(0));
        assert_eq!(pfsim(Occasion::Submitted, 0, &[9]), None);
        assert_eq!(pfsim(Occasion::Submitted, 0, &[1, 1]), None);
        assert_eq!(pfsim(Occasion::Finished, 0, &[1, 1]), Some(0));
        assert_eq!(pfsim(Occasion::Finished, 1, &[1]), None);
    }
}
