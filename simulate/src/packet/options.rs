//! What the network is like, besides its topology.

use phaseflow_collect::{Error, Result};

use crate::engine::Picoseconds;
use crate::topology::{Faults, LinkId, Topology};

/// Properties of all links and switches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FabricOptions {
    /// Bytes that each output port of a switch can queue; `None` for no limit. A packet that is
    /// being sent counts with what is left of it. Has to hold the largest packet.
    pub buffer: Option<u64>,
    /// The ports of a switch share `buffer` bytes, each may take this factor (α) times what is
    /// free; `None` for `buffer` each.
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
    /// How packets find their way where no router has said it.
    pub paths: Paths,
    /// Of losses, second copies, delays, marks, paths.
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

    /// The same, but all links have the faults that any has: what may happen somewhere.
    #[must_use]
    pub fn worst(&self, topology: &Topology) -> Self {
        let Faults { loss, duplicate, reorder_ps } =
            self.faults_by_link(topology).fold(Faults::default(), Faults::and);
        Self { loss, duplicate, reorder_ps, ..*self }
    }

    /// Refuses what cannot work; `largest` is the size of the largest packet on the wire.
    ///
    /// # Errors
    /// A probability or factor out of range, a buffer below the largest packet, thresholds the
    /// wrong way round, shares of nothing.
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

/// How packets find their way where no router has said it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    /// A pair of hosts keeps the shortest path that a hash of the pair chooses: ECMP.
    #[default]
    Flow,
    /// Each packet takes a shortest path of its own, and overtakes others.
    Spray,
}

/// When a switch pauses a link that leads to it: by the bytes in its memory that came by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Above this many bytes the link is told to stop.
    pub stop: u64,
    /// Down to this many it is told to go on.
    pub go: u64,
}

/// Congestion marks by the bytes in the queue that a packet joins: never up to `from`, always above
/// `to`, with a probability that grows to `probability` in between (RED on the instantaneous queue;
/// Floyd and Jacobson 1993). DCTCP has one threshold, `from` = `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Marking {
    /// Up to this many bytes nothing is marked.
    pub from: u64,
    /// Above this many bytes everything is.
    pub to: u64,
    /// Share of packets marked just below `to`.
    pub probability: f64,
}

impl Marking {
    /// One threshold.
    pub fn above(bytes: u64) -> Self {
        Self { from: bytes, to: bytes, probability: 1.0 }
    }

    /// True if a packet is marked that joins a queue of `queued` bytes, more than `from`; `share` is
    /// a random number from 0 to 1, uniformly distributed.
    #[inline]
    pub(super) fn marks(&self, queued: impl FnOnce() -> u64, share: impl FnOnce() -> f64) -> bool {
        if self.from == self.to {
            return true;
        }
        let above = queued().saturating_sub(self.from) as f64 / (self.to - self.from) as f64;
        above >= 1.0 || share() < self.probability * above
    }
}
