//! The routes of all pairs of hosts: how long they are, where they meet, whether they can lock up.

use phaseflow_collect::{Result, TrafficMatrix};

use super::dependencies::Dependencies;
use super::{HostDemand, RouteRequest, Router, Routes};
use crate::process_mapping::Placement;
use crate::topology::{HostId, LinkId, Topology};

/// What routes between hosts come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// Number of pairs.
    pub pairs: u64,
    /// Most links of a route, those of hosts included.
    pub longest: usize,
    /// Mean number of links.
    pub mean_links: f64,
    /// The link between switches that most routes take, the first of equal ones, and how many do;
    /// `None` without such links.
    pub busiest: Option<(LinkId, u64)>,
    /// A circle of [dependencies](Dependencies), as text; `None` if there is none.
    pub circle: Option<String>,
}

/// Asks a router for the routes of all pairs of hosts, each with a demand of 1, destination by
/// destination. Of more than `most` pairs only those of every n-th source are looked at.
///
/// # Errors
/// Those of the [router](Router::route).
pub fn examine(topology: &Topology, router: &mut dyn Router, most: u64) -> Result<Examination> {
    let hosts = topology.host_count() as u64;
    let step = (hosts * hosts).div_ceil(most.max(1)).max(1);
    let mut load = vec![0.0; topology.link_count()];
    let mut dependencies = Dependencies::new(topology);
    let (mut demands, mut routes) = (Vec::new(), Routes::default());
    let (mut pairs, mut links, mut longest) = (0_u64, 0_u64, 0);
    let (placement, matrix) = (Placement::default(), TrafficMatrix::default());
    for dst in (0..hosts as u32).map(HostId) {
        let sources = (0..hosts as u32).step_by(step as usize).map(HostId).filter(|src| *src != dst);
        demands.clear();
        demands.extend(sources.map(|src| HostDemand { src, dst, bytes: 1, load: 1.0, flows: 1 }));
        routes.clear();
        let request = RouteRequest {
            topology,
            demands: &demands,
            link_load: &load,
            job: 0,
            phase: "0",
            placement: &placement,
            matrix: &matrix,
        };
        router.route(&request, &mut routes)?;
        for route in routes.iter() {
            dependencies.add(route);
            links += route.len() as u64;
            longest = longest.max(route.len());
            route.iter().for_each(|link| load[link.0 as usize] += 1.0);
        }
        pairs += demands.len() as u64;
    }
    let between =
        (0..topology.link_count() as u32).map(LinkId).filter(|link| topology.between_switches(*link));
    let busiest = between.fold(None, |best: Option<(LinkId, u64)>, link| {
        let routes = load[link.0 as usize] as u64;
        if best.is_none_or(|(_, most)| routes > most) { Some((link, routes)) } else { best }
    });
    Ok(Examination {
        pairs,
        longest,
        mean_links: links as f64 / pairs.max(1) as f64,
        busiest,
        circle: dependencies.circle().map(|circle| dependencies.described(&circle)),
    })
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::choice::Choice;

    use super::*;
    use crate::topology::measured::made;

    /// A fat tree of 16 hosts: 2 links to the neighbour, 4 within a pod of 4, else 6; D-mod-K gives
    /// each of the 4 uplinks of a level as many destinations.
    #[test]
    fn routes_of_a_fat_tree() {
        let net = made("fat-tree[k=4]");
        let mut router = super::super::router(&Choice::plain("dmodk"), 1).unwrap();
        let all = examine(&net, router.as_mut(), u64::MAX).unwrap();
        assert_eq!((all.pairs, all.longest), (240, 6));
        assert!((all.mean_links - (2.0 + 2.0 * 4.0 + 12.0 * 6.0) / 15.0).abs() < 1e-12);
        // From 2 hosts of a leaf to the 14 others, half of them by each uplink.
        assert_eq!(all.busiest.map(|(_, routes)| routes), Some(14));
        assert_eq!(all.circle, None);
        // Every second source.
        assert_eq!(examine(&net, router.as_mut(), 128).unwrap().pairs, 120);
        let ring = made("torus[dims=5]");
        let circle = examine(&ring, router.as_mut(), u64::MAX).unwrap().circle.unwrap();
        assert_eq!(circle.matches('→').count(), 5, "{circle}");
    }
}
