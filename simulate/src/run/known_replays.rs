//! Replays of flows that the points of a sweep share.
//!
//! A replay that has the network to itself depends on its operations, its options, the hosts of its
//! ranks and their starts, and of the network on the links of its routes alone. Points that agree
//! in all of these have the same result to the bit, since each replay has a network of its own:
//! points that differ in a link that no message takes, in the scheduler, or in a router or mapping
//! that comes to the same routes. Results therefore do not depend on which point is simulated
//! first.
//!
//! Memory: results up to [`MOST_BYTES`], and while a digest is computed, 16 bytes for each pair of
//! hosts of the replay.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use phaseflow_collect::Result;
use rustc_hash::{FxHashMap, FxHashSet};

use super::link_peak::LinkPeak;
use super::solo::{SoloNetwork, SoloOutcome, SoloRequest};
use crate::replay::{MessageRoutes, Noise, Options, Rendezvous};
use crate::routing::Routes;
use crate::topology::{HostId, LinkId, Topology};

/// Most bytes of results that are kept, about; later ones are simulated at each point. It bounds
/// the memory of a sweep, which would grow with its points: a replay takes 40 bytes a rank and
/// stretch. Results do not depend on it.
const MOST_BYTES: usize = 256 << 20;

/// The known replays of a sweep.
#[derive(Debug, Default)]
pub struct KnownReplays(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By digest.
    replays: FxHashMap<u64, Arc<KnownReplay>>,
    bytes: usize,
    reused: u64,
}

/// The outcome of a replay, and the peaks of the links that it used.
#[derive(Debug)]
pub(super) struct KnownReplay {
    pub(super) outcome: SoloOutcome,
    pub(super) peaks: Vec<(LinkId, LinkPeak)>,
}

impl KnownReplays {
    /// How often a result was used again.
    pub fn reused(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).reused
    }

    /// The replay of a [digest], if it is known.
    pub(super) fn get(&self, key: u64) -> Option<Arc<KnownReplay>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.replays.get(&key).cloned();
        kept.reused += u64::from(found.is_some());
        found
    }

    /// Keeps the replay of a [digest], if there is room.
    pub(super) fn keep(&self, key: u64, replay: Arc<KnownReplay>) {
        let bytes = replay.outcome.replay.bytes() + size_of_val(&replay.peaks[..]);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + bytes <= MOST_BYTES && kept.replays.insert(key, replay).is_none() {
            kept.bytes += bytes;
        }
    }
}

/// A digest of all that determines a replay: two replays have the same one with a probability of
/// 2⁻⁶⁴.
///
/// # Errors
/// Those of the router, if routes are [asked for](MessageRoutes::are_asked_for).
pub(super) fn digest(
    topology: &Topology,
    routes: &MessageRoutes,
    options: &Options,
    request: &SoloRequest<'_, '_>,
) -> Result<u64> {
    let SoloRequest { job, operations, hosts, skew, on } = *request;
    let mut hasher = DefaultHasher::new();
    // Without noise, its seed is of no account. The text of an f64 is exact.
    format!("{:?}", Options { noise: Noise::default(), ..*options }).hash(&mut hasher);
    (on == SoloNetwork::Model, on == SoloNetwork::Baseline).hash(&mut hasher);
    // Delays name the job.
    options.blame.then_some(job).hash(&mut hasher);
    operations.hash(&mut hasher);
    (hosts.ranks, hosts.servers, skew).hash(&mut hasher);
    (topology.link_count(), topology.switch_latency_ps()).hash(&mut hasher);
    let mut seen = FxHashSet::default();
    let mut route = Routes::default();
    let has_replies = options.rendezvous != Rendezvous::Free;
    let all: Vec<HostId> = request.all_hosts().collect();
    for message in operations.live_messages() {
        let (src, dst) = (all[message.src as usize], all[message.dst as usize]);
        for (src, dst) in [(src, dst), (dst, src)].into_iter().take(1 + usize::from(has_replies)) {
            if src == dst || !seen.insert((src.0, dst.0)) {
                continue;
            }
            route.clear();
            routes.append(topology, (src, dst), &mut route)?;
            for link in route.get(0) {
                let properties = topology.link(*link);
                (link.0, properties.capacity.to_bits(), properties.latency_ps).hash(&mut hasher);
            }
            LinkId(u32::MAX).hash(&mut hasher);
        }
    }
    Ok(hasher.finish())
}
