//! Who sends over the bottleneck of a phase.

use crate::demand::PairDemand;
use crate::result::Sender;
use crate::topology::{HostId, LinkId, Topology};

/// Pairs kept: three tell whether one, a few or many of them load a link.
const KEPT: usize = 3;

/// The pairs of hosts whose routes contain `link`, those with the most bytes first, ties in the
/// order of the pairs. `hosts` are those of the job by number, `route` gives the links of pair i.
pub(super) fn heaviest<'r>(
    link: LinkId,
    pairs: &[PairDemand],
    route: impl Fn(usize) -> &'r [LinkId],
    topology: &Topology,
    hosts: &[HostId],
) -> Vec<Sender> {
    let mut kept: Vec<&PairDemand> = Vec::with_capacity(KEPT + 1);
    for (i, pair) in pairs.iter().enumerate() {
        // Few pairs are heavy enough for a look at their route.
        if kept.get(KEPT - 1).is_some_and(|least| pair.bytes <= least.bytes) || !route(i).contains(&link) {
            continue;
        }
        let place = kept.partition_point(|other| other.bytes >= pair.bytes);
        kept.insert(place, pair);
        kept.truncate(KEPT);
    }
    let node = |host: u32| topology.host(hosts[host as usize]);
    kept.into_iter()
        .map(|pair| Sender { src: node(pair.src), dst: node(pair.dst), bytes: pair.bytes })
        .collect()
}
