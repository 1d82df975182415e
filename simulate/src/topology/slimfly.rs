//! Slim Flies: `slimfly[q=5]`, networks of diameter 2.
//!
//! M. Besta and T. Hoefler, "Slim Fly: a cost effective low-diameter network topology" (SC 2014),
//! section II: the graphs of B. McKay, M. Miller and J. Širáň, "A note on large graphs of diameter
//! two and given maximum degree" (J. Combin. Theory B 74, 1998). For a prime power q = 4w + δ with
//! δ of −1, 0 or 1 there are 2q² switches, each with (3q − δ) / 2 cables to others. Let ξ be a
//! primitive element of GF(q), and X and X′ sets of powers of it:
//!
//! - (0, x, y) is joined with (0, x, y′) if y − y′ is in X,
//! - (1, m, c) is joined with (1, m, c′) if c − c′ is in X′,
//! - (0, x, y) is joined with (1, m, c) if y = m·x + c.
//!
//! `hosts` per switch are half of its cables by default, rounded up: then the network carries
//! uniform traffic in full (section II-B of the paper). Switches are `s0.0.0`…, as above.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::galois::Field;
use super::parameters::{positive, positive_or};
use super::uniform::UniformNetwork;

/// Largest q: 2q² switches with 3q/2 cables each are then 12 million links.
const LARGEST: u32 = 127;

/// The field, and hosts per switch.
pub(super) struct SlimFly {
    field: Field,
    q: u32,
    degree: u32,
    hosts: u32,
}

impl SlimFly {
    /// Parameters `q` and `hosts` (per switch).
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let q = positive(choice, "q")?;
        let field = Field::new(q).filter(|_| (3..=LARGEST).contains(&q) && q % 4 != 2);
        let Some(field) = field else {
            return Err(Error::usage(format!(
                "`{choice}`: q is {q}, expected a prime power from 3 to {LARGEST}: 3, 4, 5, 7, 8, 9, 11, 13, …"
            )));
        };
        let degree = match q % 4 {
            1 => (3 * q - 1) / 2,
            3 => (3 * q).div_ceil(2),
            _ => 3 * q / 2,
        };
        Ok(Self { field, q, degree, hosts: positive_or(choice, "hosts", degree.div_ceil(2))? })
    }

    /// The sets X and X′.
    fn generators(&self) -> [Vec<u32>; 2] {
        let q = self.q;
        let powers =
            |exponents: Vec<u32>| exponents.into_iter().map(|exponent| self.field.power(exponent)).collect();
        let every_second = |from: u32, count: u32| (0..count).map(move |i| from + 2 * i);
        let exponents = match q % 4 {
            1 => [every_second(0, (q - 1) / 2).collect(), every_second(1, (q - 1) / 2).collect()],
            3 => {
                let w = q.div_ceil(4);
                let both =
                    |from: u32| every_second(from, w).chain(every_second(from + 2 * w - 1, w)).collect();
                [both(0), both(1)]
            }
            _ => [every_second(0, q / 2).collect(), every_second(1, q / 2).collect()],
        };
        exponents.map(powers)
    }
}

/// Builds the network: hosts `h0`…, then switches.
pub(super) fn build(slimfly: &SlimFly, network: &mut UniformNetwork<'_>) -> Result<()> {
    let (q, per_switch) = (u64::from(slimfly.q), u64::from(slimfly.hosts));
    let switches = 2 * q * q;
    let hosts = switches.saturating_mul(per_switch);
    let links = hosts.saturating_mul(2).saturating_add(switches * u64::from(slimfly.degree));
    network.reserve(hosts.saturating_add(switches), links)?;

    for host in 0..hosts {
        network.host(format!("h{host}"));
    }
    for (half, x, y) in (0..2).flat_map(|half| (0..q).flat_map(move |x| (0..q).map(move |y| (half, x, y)))) {
        network.switch(format!("s{half}.{x}.{y}"));
    }
    for host in 0..hosts {
        network.cable(host, hosts + host / per_switch);
    }
    let switch = |half: u64, x: u32, y: u32| hosts + (half * q + u64::from(x)) * q + u64::from(y);
    for (half, generators) in (0..2).zip(slimfly.generators()) {
        for x in 0..slimfly.q {
            for y in 0..slimfly.q {
                for other in
                    generators.iter().map(|step| slimfly.field.sum(y, *step)).filter(|other| y < *other)
                {
                    network.cable(switch(half, x, y), switch(half, x, other));
                }
            }
        }
    }
    for x in 0..slimfly.q {
        for m in 0..slimfly.q {
            for c in 0..slimfly.q {
                let y = slimfly.field.sum(slimfly.field.product(m, x), c);
                network.cable(switch(0, x, y), switch(1, m, c));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::topology::measured::{diameter, found_bisection, joined, made};

    /// Table II of the paper has q = 5 (50 switches of degree 7, the graph of Hoffman and
    /// Singleton), 19 (722 of 29), and so on; all have diameter 2.
    #[test]
    fn sizes_degrees_and_diameter_are_those_of_the_paper() {
        for (q, degree) in [(3, 5), (4, 6), (5, 7), (7, 11), (8, 12), (9, 13), (11, 17), (13, 19), (16, 24)] {
            let net = made(&format!("slimfly[q={q},hosts=1]"));
            let switches = 2 * q * q;
            assert_eq!(
                (net.switch_count(), net.link_count()),
                (switches, 2 * switches + switches * degree),
                "{q}"
            );
            for switch in 0..switches {
                let mut ends: Vec<_> =
                    net.outgoing(net.switch(switch)).iter().map(|link| net.dst(*link)).collect();
                ends.dedup();
                assert_eq!(ends.len(), degree + 1, "{q}: simple");
            }
            assert_eq!(diameter(&net), 2, "{q}");
        }
        let balanced = made("slimfly[q=19]");
        assert_eq!((balanced.switch_count(), balanced.host_count()), (722, 722 * 15));
    }

    /// The graph of Hoffman and Singleton has no triangles and no squares: with 50 switches of
    /// degree 7, each pair has exactly one path of at most two cables.
    #[test]
    fn q_of_5_is_the_graph_of_hoffman_and_singleton() {
        let net = made("slimfly[q=5,hosts=1]");
        for host in 0..50 {
            let counts = net.paths_to(crate::topology::HostId(host)).counts();
            assert!(counts.iter().all(|count| (count - 1.0).abs() < 1e-12));
        }
    }

    /// The same in matrices: A² + A − 6I is all ones, so A has the eigenvalues 7, 2 and −3 (Hoffman
    /// and Singleton, "On Moore graphs with diameters 2 and 3", IBM J. Res. Dev. 4, 1960). A
    /// division of n switches in halves cuts at least (degree − second eigenvalue) · n/4 cables
    /// (Fiedler, "Algebraic connectivity of graphs", 1973): 62.5 here. A random one cuts 89 in the
    /// mean.
    #[test]
    fn bisection_of_the_graph_of_hoffman_and_singleton() {
        let net = made("slimfly[q=5,hosts=1]");
        let joined = joined(&net);
        for a in 0..50 {
            for b in 0..50 {
                let walks = (0..50).filter(|between| joined[a][*between] && joined[*between][b]).count();
                assert_eq!(walks + usize::from(joined[a][b]), if a == b { 7 } else { 1 });
            }
        }
        let found = found_bisection(&net, 20);
        assert!((63..=75).contains(&found), "{found}");
    }
}
