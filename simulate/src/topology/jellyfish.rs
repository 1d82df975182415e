//! Jellyfish: `jellyfish[switches=20,degree=4,hosts=2,seed=1]`, a random regular graph of switches.
//!
//! A. Singla, C.-Y. Hong, L. Popa and P. B. Godfrey, "Jellyfish: networking data centers randomly"
//! (NSDI 2012), section 3: pairs of switches that have free ports and no cable yet are joined at
//! random until there is no such pair. Two free ports that are left take the place of a random
//! cable, which becomes two. At most one port of the whole network stays free, one where switches ·
//! degree is odd.
//!
//! The same seed gives the same network on every machine. A seed may give a network that is not
//! connected where the degree is small; it is refused, and another seed will do.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::parameters::{positive, positive_or};
use super::uniform::UniformNetwork;

/// Random tries per free port before all pairs are looked at: where one pair in 64 is left, a
/// search of all pairs costs as much.
const TRIES: usize = 64;

/// Sizes and seed.
pub(super) struct Jellyfish {
    switches: u32,
    degree: u32,
    hosts: u32,
    seed: u64,
}

impl Jellyfish {
    /// Parameters `switches`, `degree` (ports to other switches), `hosts` (per switch, default 1)
    /// and `seed` (default 1).
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let (switches, degree) = (positive(choice, "switches")?, positive(choice, "degree")?);
        if degree >= switches {
            return Err(Error::usage(format!(
                "`{choice}`: degree is {degree}, expected less than the {switches} switches"
            )));
        }
        Ok(Self { switches, degree, hosts: positive_or(choice, "hosts", 1)?, seed: choice.value("seed", 1)? })
    }
}

/// Builds the network: hosts `h0`…, then switches `s0`… .
pub(super) fn build(jellyfish: &Jellyfish, network: &mut UniformNetwork<'_>) -> Result<()> {
    let (switches, per_switch) = (u64::from(jellyfish.switches), u64::from(jellyfish.hosts));
    let hosts = switches.saturating_mul(per_switch);
    let links = switches.saturating_mul(u64::from(jellyfish.degree));
    network.reserve(hosts.saturating_add(switches), hosts.saturating_mul(2).saturating_add(links))?;

    for host in 0..hosts {
        network.host(format!("h{host}"));
    }
    for switch in 0..switches {
        network.switch(format!("s{switch}"));
    }
    for host in 0..hosts {
        network.cable(host, hosts + host / per_switch);
    }
    let graph = RandomGraph::grown(jellyfish);
    for (switch, others) in (0..).zip(&graph.neighbours) {
        for other in others.iter().map(|other| u64::from(*other)).filter(|other| switch < *other) {
            network.cable(hosts + switch, hosts + other);
        }
    }
    Ok(())
}

/// A graph on its way to regularity.
struct RandomGraph {
    degree: usize,
    neighbours: Vec<Vec<u32>>,
    /// Switches with free ports.
    open: Vec<u32>,
    random: Xoshiro256PlusPlus,
}

impl RandomGraph {
    fn grown(jellyfish: &Jellyfish) -> Self {
        let degree = jellyfish.degree as usize;
        let mut graph = Self {
            degree,
            neighbours: vec![Vec::with_capacity(degree); jellyfish.switches as usize],
            open: (0..jellyfish.switches).collect(),
            random: Xoshiro256PlusPlus::seed_from_u64(jellyfish.seed),
        };
        while let Some((a, b)) = graph.free_pair() {
            graph.join(a, b);
        }
        while let Some((a, b)) = graph.last_ports() {
            if !graph.insert(a, b) {
                break;
            }
        }
        graph.neighbours.iter_mut().for_each(|others| others.sort_unstable());
        graph
    }

    fn free(&self, switch: u32) -> usize {
        self.degree - self.neighbours[switch as usize].len()
    }

    fn are_joined(&self, a: u32, b: u32) -> bool {
        self.neighbours[a as usize].contains(&b)
    }

    /// A random pair of open switches without a cable; none if there is no such pair.
    fn free_pair(&mut self) -> Option<(u32, u32)> {
        let fits = |graph: &Self, a: u32, b: u32| a != b && !graph.are_joined(a, b);
        for _ in 0..TRIES {
            if self.open.len() < 2 {
                return None;
            }
            let [a, b] = [0, 0].map(|_: u8| self.open[self.random.gen_range(0..self.open.len())]);
            if fits(self, a, b) {
                return Some((a, b));
            }
        }
        let open = &self.open;
        let pairs = open.iter().enumerate().flat_map(|(at, a)| open[at + 1..].iter().map(move |b| (*a, *b)));
        let pairs: Vec<(u32, u32)> = pairs.filter(|(a, b)| fits(self, *a, *b)).collect();
        (!pairs.is_empty()).then(|| pairs[self.random.gen_range(0..pairs.len())])
    }

    /// Two free ports, when no open switches can be joined; none if there is one port at most.
    fn last_ports(&self) -> Option<(u32, u32)> {
        let first = *self.open.first()?;
        let second = if self.free(first) > 1 { Some(first) } else { self.open.get(1).copied() };
        second.map(|second| (first, second))
    }

    fn join(&mut self, a: u32, b: u32) {
        for (a, b) in [(a, b), (b, a)] {
            self.neighbours[a as usize].push(b);
            if self.free(a) == 0 {
                self.open.retain(|open| *open != a);
            }
        }
    }

    /// Uses two free ports of `a` and `b`, which may be one switch, for a random cable between
    /// others: one of its ends is joined with `a` in its place, the other one with `b`. False if no
    /// cable allows that, as in networks of a few switches that are nearly complete.
    fn insert(&mut self, a: u32, b: u32) -> bool {
        let fits = |end: u32, other: u32| end != other && !self.are_joined(end, other);
        let mut cables = Vec::new();
        for x in (0..self.neighbours.len() as u32).filter(|x| fits(a, *x)) {
            let others = self.neighbours[x as usize].iter().copied();
            cables.extend(others.filter(|y| fits(b, *y)).map(|y| (x, y)));
        }
        if cables.is_empty() {
            return false;
        }
        let (x, y) = cables[self.random.gen_range(0..cables.len())];
        self.neighbours[x as usize].retain(|other| *other != y);
        self.neighbours[y as usize].retain(|other| *other != x);
        for (end, other) in [(a, x), (b, y)] {
            self.neighbours[end as usize].push(other);
            self.neighbours[other as usize].push(end);
        }
        let Self { open, neighbours, degree, .. } = self;
        open.retain(|open| neighbours[*open as usize].len() < *degree);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::topology::measured::{diameter, found_bisection, made};
    use crate::topology::{LinkId, Topology};

    fn ends(net: &Topology) -> Vec<(u32, u32)> {
        (0..net.link_count() as u32).map(|link| (net.src(LinkId(link)).0, net.dst(LinkId(link)).0)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// All ports are used, but for one where their number is odd; no two switches are joined
        /// twice.
        #[test]
        fn graphs_are_simple_and_regular(switches in 6_u32..80, degree in 1_u32..6, seed in any::<u64>()) {
            let graph = RandomGraph::grown(&Jellyfish { switches, degree, hosts: 1, seed });
            let mut free = 0;
            for (switch, others) in (0..).zip(&graph.neighbours) {
                free += degree as usize - others.len();
                prop_assert!(others.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(!others.contains(&switch));
                for other in others {
                    prop_assert!(graph.neighbours[*other as usize].contains(&switch));
                }
            }
            prop_assert_eq!(free as u32, switches * degree % 2);
        }
    }

    #[test]
    fn a_seed_is_a_network() {
        let [one, same, other] =
            [1, 1, 2].map(|seed| made(&format!("jellyfish[switches=50,degree=5,hosts=3,seed={seed}]")));
        assert_eq!((one.host_count(), one.switch_count(), one.link_count()), (150, 50, 2 * (150 + 125)));
        assert_eq!(ends(&one), ends(&same));
        assert_ne!(ends(&one), ends(&other));
    }

    /// B. Bollobás and W. F. de la Vega, "The diameter of random regular graphs" (Combinatorica 2,
    /// 1982): almost surely at most 1 + ⌈log_{r−1}((2 + ε) r n ln n)⌉. From below, a switch reaches
    /// r(r−1)^{d−1} others with d cables at most (Moore's bound).
    #[test]
    fn diameters_are_those_of_random_regular_graphs() {
        for seed in 1..6 {
            let net = made(&format!("jellyfish[switches=200,degree=6,seed={seed}]"));
            let (n, r) = (200.0_f64, 6.0_f64);
            let above = 1.0 + ((2.0 * r * n * n.ln()).ln() / (r - 1.0).ln()).ceil();
            let found = diameter(&net);
            assert!(f64::from(found) <= above, "{found}");
            // 1 + 6 + 30 < 200 ≤ 1 + 6 + 30 + 150 + …
            assert!(found >= 4, "{found}");
        }
    }

    /// B. Bollobás, "The isoperimetric number of random regular graphs" (European J. Combin. 9,
    /// 1988), as in section 4.1 of the paper: almost surely at least n/2 · (r/2 − √(r ln 2))
    /// cables. A random division has r·n/4 · n/(n − 1) in the mean, so the best has no more.
    #[test]
    fn bisections_are_those_of_random_regular_graphs() {
        let (n, r) = (100.0_f64, 8.0_f64);
        let least = n / 2.0 * (r / 2.0 - (r * std::f64::consts::LN_2).sqrt());
        let most = r * n / 4.0 * n / (n - 1.0);
        for seed in 1..6 {
            let found = found_bisection(&made(&format!("jellyfish[switches=100,degree=8,seed={seed}]")), 10);
            assert!((least..most).contains(&(found as f64)), "{found}: {least} to {most}");
        }
    }
}
