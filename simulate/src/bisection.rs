//! Effective bisection bandwidth: what the hosts of random halves get of each other.
//!
//! As ORCS does (T. Hoefler, T. Schneider and A. Lumsdaine, "Multistage switches are not crossbars:
//! effects of static routing in high-performance networks", CLUSTER 2008): the hosts are divided
//! into two halves at random, and each host of the one sends to one of the other. A message gets
//! capacity / messages of each link of its route, in the end the least of them. The effective
//! bisection bandwidth is the mean of that over all messages and divisions, as part of what the
//! host links carry. A network with full bisection has less than 1 by its routing alone.

use phaseflow_collect::{Result, TrafficMatrix};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::process_mapping::Placement;
use crate::routing::{HostDemand, RouteRequest, Router, Routes};
use crate::topology::{HostId, LinkId, Topology};

/// Bandwidth of messages between random halves, as part of that of the host links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveBisection {
    /// Mean over all messages and divisions.
    pub mean: f64,
    /// Mean over the messages of the worst division.
    pub least: f64,
    /// Sample standard deviation of the means of divisions; of a single one unknown.
    pub stddev: Option<f64>,
}

/// Divides the hosts `divisions` times; `None` without two hosts or a division. An odd host is left
/// out.
///
/// # Errors
/// Those of the router.
pub fn effective_bisection(
    topology: &Topology,
    router: &mut dyn Router,
    divisions: u32,
    seed: u64,
) -> Result<Option<EffectiveBisection>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut hosts: Vec<HostId> = (0..topology.host_count() as u32).map(HostId).collect();
    let half = hosts.len() / 2;
    if half == 0 || divisions == 0 {
        return Ok(None);
    }
    let mut means = Vec::with_capacity(divisions as usize);
    let mut routes = Routes::default();
    for _ in 0..divisions {
        hosts.shuffle(&mut random);
        let demand = |(src, dst): (&HostId, &HostId)| HostDemand {
            src: *src,
            dst: *dst,
            bytes: 1,
            load: 1.0,
            flows: 1,
        };
        let demands: Vec<HostDemand> = hosts[..half].iter().zip(&hosts[half..]).map(demand).collect();
        routes.clear();
        router.route(
            &RouteRequest {
                topology,
                demands: &demands,
                link_load: &vec![0.0; topology.link_count()],
                job: 0,
                phase: "bisection",
                placement: &Placement::default(),
                matrix: &TrafficMatrix::default(),
            },
            &mut routes,
        )?;
        means.push(mean_share(topology, &routes));
    }
    let count = f64::from(divisions);
    let mean = means.iter().sum::<f64>() / count;
    let deviations: f64 = means.iter().map(|other| (other - mean).powi(2)).sum();
    Ok(Some(EffectiveBisection {
        mean,
        least: means.iter().copied().fold(f64::INFINITY, f64::min),
        stddev: (divisions > 1).then(|| (deviations / (count - 1.0)).sqrt()),
    }))
}

/// Mean over routes of the least share of a link, over the least capacity of its host links.
fn mean_share(topology: &Topology, routes: &Routes) -> f64 {
    let mut messages = vec![0_u32; topology.link_count()];
    routes.iter().flatten().for_each(|link| messages[link.0 as usize] += 1);
    let capacity = |link: &LinkId| topology.link(*link).capacity;
    let share = |route: &[LinkId]| {
        let shares = route.iter().map(|link| capacity(link) / f64::from(messages[link.0 as usize]));
        let own = route.first().into_iter().chain(route.last()).map(capacity).fold(f64::INFINITY, f64::min);
        shares.fold(f64::INFINITY, f64::min) / own
    };
    routes.iter().map(share).sum::<f64>() / routes.len() as f64
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::choice::Choice;

    use super::*;
    use crate::routing::router;
    use crate::topology::{TopologyChoice, TopologyOptions, topology};

    fn of(net: &str, name: &str) -> EffectiveBisection {
        let net = topology(&TopologyChoice::parse(net).unwrap(), &TopologyOptions::default()).unwrap();
        let mut router = router(&Choice::parse(name).unwrap(), 1).unwrap();
        effective_bisection(&net, &mut *router, 200, 5).unwrap().unwrap()
    }

    #[test]
    fn a_crossbar_has_all_of_it() {
        let whole = EffectiveBisection { mean: 1.0, least: 1.0, stddev: Some(0.0) };
        assert_eq!(of("star[hosts=7]", "dmodk"), whole);
    }

    #[test]
    fn one_link_between_two_switches_is_shared_by_those_that_cross() {
        // Four hosts on two switches have 24 divisions into two pairs that send. In 8 both pairs
        // stay on their switch, in 8 they cross in opposite directions: each message gets all. In 8
        // both cross in one direction: each gets half.
        let found = of("leaf-spine[leaves=2,spines=1,hosts=2]", "dmodk");
        // Five standard deviations of the mean of 200 draws with deviation √2/6.
        assert!((found.mean - 5.0 / 6.0).abs() < 5.0 * 2_f64.sqrt() / 6.0 / 200_f64.sqrt(), "{found:?}");
        assert!((found.least - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn static_routes_do_not_get_what_greedy_ones_do() {
        let (fixed, greedy) = (of("fat-tree[k=8]", "dmodk"), of("fat-tree[k=8]", "greedy"));
        assert!(fixed.mean < greedy.mean && greedy.mean <= 1.0, "{fixed:?} {greedy:?}");
    }
}
