//! Options of the fabric: buffers, pauses, thresholds of ECN marks, faults, paths.

use phaseflow_collect::{Error, Result};

use crate::engine::Picoseconds;
use crate::topology::{Faults, LinkId, Topology};

/// Properties of all links and switches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FabricOptions {
    /// Bytes that each output port of a switch can queue; `None` for no limit. A packet in
    /// transmission counts with its remaining bytes. The buffer has to hold the largest packet.
    pub buffer: Option<u64>,
    /// The ports of a switch share `buffer` bytes; each may hold this factor (α) times the free
    /// memory. `None` for `buffer` bytes each.
    pub shared: Option<f64>,
    /// Switches pause their neighbours instead of dropping packets; `None` if they do not.
    pub pause: Option<Pause>,
    /// Which packets switches mark; `None` for none.
    pub marking: Option<Marking>,
    /// Probability that a packet is lost on a link, per traversal; this and the next two are beside
    /// the [faults](Faults) of single links.
    pub loss: f64,
    /// Probability that a packet that passes a link arrives twice.
    pub duplicate: f64,
    /// A traversal takes up to this much longer, evenly distributed, so packets overtake each
    /// other; 0 keeps every link in order.
    pub reorder_ps: Picoseconds,
    /// Paths of packets without a route of the router.
    pub paths: Paths,
    /// Seed of losses, duplicates, delays, marks and paths.
    pub seed: u64,
}

impl FabricOptions {
    /// Faults of all links.
    pub fn faults(&self) -> Faults {
        let Self { loss, duplicate, reorder_ps, .. } = *self;
        Faults { loss, duplicate, reorder_ps }
    }

    /// Faults of each link, in the order of their numbers.
    pub fn faults_by_link(&self, topology: &Topology) -> impl Iterator<Item = Faults> {
        let all = self.faults();
        (0..topology.link_count() as u32).map(move |link| topology.link(LinkId(link)).faults.and(all))
    }

    /// The same with the worst faults of any link on all links.
    #[must_use]
    pub fn worst(&self, topology: &Topology) -> Self {
        let Faults { loss, duplicate, reorder_ps } =
            self.faults_by_link(topology).fold(Faults::default(), Faults::and);
        Self { loss, duplicate, reorder_ps, ..*self }
    }

    /// Refuses invalid options; `largest` is the size of the largest packet on the wire.
    ///
    /// # Errors
    /// A probability or factor out of range, a buffer below the largest packet, thresholds in the
    /// wrong order, a shared buffer without a size.
    pub fn check(&self, largest: u32) -> Result<()> {
        let wrong = |what: String| Err(Error::usage(what));
        for (name, share) in [("loss", self.loss), ("duplicate", self.duplicate)] {
            if !(0.0..1.0).contains(&share) {
                return wrong(format!("{name} is {share}, expected a probability below 1"));
            }
        }
        match (self.buffer, self.shared) {
            (Some(buffer), _) if buffer < u64::from(largest) => {
                return wrong(format!(
                    "buffer is {buffer} bytes, expected at least the largest packet, {largest} bytes"
                ));
            }
            (None, Some(_)) => return wrong("ports share a buffer, but its size is not given".into()),
            (_, Some(alpha)) if !(alpha.is_finite() && alpha > 0.0) => {
                return wrong(format!("share of free memory is {alpha}, expected a factor above 0"));
            }
            _ => {}
        }
        if let Some(Pause { stop, go }) = self.pause.filter(|pause| pause.go > pause.stop) {
            return wrong(format!("links stop above {stop} bytes and go on at {go}, expected fewer"));
        }
        match self.marking {
            Some(Marking { from, to, probability }) if from > to || !(0.0..=1.0).contains(&probability) => {
                wrong(format!("marks from {from} to {to} bytes with probability {probability}"))
            }
            _ => Ok(()),
        }
    }
}

/// Paths of packets without a route of the router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    /// A pair of hosts keeps the shortest path that a hash of the pair chooses: ECMP.
    #[default]
    Flow,
    /// Each packet takes a shortest path of its own, and overtakes others.
    Spray,
}

/// Thresholds of pauses (priority flow control): bytes in a switch's memory that arrived by one
/// link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Bytes above which the link is paused.
    pub stop: u64,
    /// Bytes down to which the link resumes.
    pub go: u64,
}

/// Thresholds of ECN marks, by the bytes in the queue that a packet joins: none up to `from`, all
/// above `to`, with a probability that grows to `probability` in between (RED on the instantaneous
/// queue; Floyd and Jacobson 1993). DCTCP has one threshold, `from` = `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Marking {
    /// Bytes up to which no packet is marked.
    pub from: u64,
    /// Bytes above which every packet is marked.
    pub to: u64,
    /// Share of packets marked just below `to`.
    pub probability: f64,
}

impl Marking {
    /// One threshold.
    pub fn above(bytes: u64) -> Self {
        Self { from: bytes, to: bytes, probability: 1.0 }
    }

    /// True if a packet is marked that joins a queue of `queued` bytes, more than `from`; `share`
    /// is a random number from 0 to 1, uniformly distributed.
    #[inline]
    pub(super) fn marks(&self, queued: impl FnOnce() -> u64, share: impl FnOnce() -> f64) -> bool {
        if self.from == self.to {
            return true;
        }
        let above = queued().saturating_sub(self.from) as f64 / (self.to - self.from) as f64;
        above >= 1.0 || share() < self.probability * above
    }
}
