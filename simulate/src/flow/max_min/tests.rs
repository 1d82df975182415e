use proptest::prelude::*;

use super::oracle::{Demand, rates};
use super::*;

#[derive(Clone, Debug)]
enum Step {
    Arrive {
        route: Vec<u32>,
        weight: f64,
        cap: Option<f64>,
    },
    /// Joins the class of a flow that is there.
    Join(usize),
    Leave(usize),
    Solve,
}

/// Few distinct capacities, weights and caps, so that ties are common.
fn network() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        prop::collection::vec(prop_oneof![Just(1.0), Just(2.0), Just(10.0)], 1..12),
        prop::collection::vec(1e-3..1e3_f64, 1..24),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let route =
        prop::collection::btree_set(0..24_u32, 1..6).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    let weight = prop_oneof![4 => Just(1.0), 1 => Just(0.5), 1 => 1e-3..1e3_f64];
    let cap = proptest::option::weighted(0.2, prop_oneof![Just(0.25), 1e-2..10_f64]);
    prop_oneof![
        5 => (route, weight, cap).prop_map(|(route, weight, cap)| Step::Arrive { route, weight, cap }),
        1 => any::<usize>().prop_map(Step::Join),
        4 => any::<usize>().prop_map(Step::Leave),
        4 => Just(Step::Solve),
    ]
}

/// The oracle's rates; with a tolerance, what it promises instead.
fn check(
    capacities: &[f64],
    sharing: &Sharing,
    flows: &[(ClassId, Demand)],
    tolerance: f64,
) -> Result<(), TestCaseError> {
    let demands: Vec<Demand> = flows.iter().map(|(_, demand)| demand.clone()).collect();
    let mut sums = vec![0.0; capacities.len()];
    for (class, demand) in flows {
        demand.route.iter().for_each(|link| sums[*link as usize] += sharing.rate(*class));
    }
    if tolerance == 0.0 {
        for ((class, demand), rate) in flows.iter().zip(rates(capacities, &demands)) {
            let found = sharing.rate(*class);
            prop_assert!((found - rate).abs() <= 1e-9 * rate, "{found} instead of {rate} of {demand:?}");
        }
    }
    for (link, sum) in sums.iter().enumerate() {
        let capacity = capacities[link];
        prop_assert!(
            *sum <= capacity / (1.0 - tolerance) * (1.0 + 1e-9),
            "{sum} on link {link} of {capacity}"
        );
        let said = sharing.link_rate(link as u32);
        prop_assert!((said - sum).abs() <= 1e-9 * capacity, "{said} said of {sum}");
    }
    for (class, demand) in flows {
        let level = |class: ClassId, demand: &Demand| sharing.rate(class) / demand.weight;
        match sharing.bottleneck(*class) {
            Some(link) => {
                prop_assert!(demand.route.contains(&link));
                let full = capacities[link as usize] * (1.0 - tolerance - 1e-9);
                prop_assert!(sums[link as usize] >= full, "{} below {full}", sums[link as usize]);
                let others = flows.iter().filter(|(_, other)| other.route.contains(&link));
                for (other, other_demand) in others {
                    let most = level(*class, demand) * (1.0 + 3.0 * tolerance + 1e-9);
                    prop_assert!(level(*other, other_demand) <= most);
                }
            }
            None => prop_assert!((sharing.rate(*class) - demand.cap).abs() <= 1e-9 * demand.cap),
        }
    }
    Ok(())
}

fn lockstep(capacities: &[f64], steps: Vec<Step>, tolerance: f32) -> Result<(), TestCaseError> {
    let mut sharing = Sharing::new(capacities.iter().copied());
    sharing.set_tolerance(tolerance);
    let tolerance = f64::from(tolerance);
    let mut flows: Vec<(ClassId, Demand)> = Vec::new();
    for step in steps {
        match step {
            Step::Arrive { mut route, weight, cap } => {
                route.iter_mut().for_each(|link| *link %= capacities.len() as u32);
                route.sort_unstable();
                route.dedup();
                let links = sharing.add_route(route.iter().copied());
                let class = sharing.open(links, weight, cap);
                flows.push((class, Demand { route, weight, cap: cap.unwrap_or(f64::INFINITY) }));
            }
            Step::Join(number) if !flows.is_empty() => {
                let flow = flows[number % flows.len()].clone();
                sharing.join(flow.0);
                flows.push(flow);
            }
            Step::Leave(number) if !flows.is_empty() => {
                let (class, _) = flows.swap_remove(number % flows.len());
                sharing.leave(class);
            }
            Step::Solve => {
                sharing.solve();
                check(capacities, &sharing, &flows, tolerance)?;
            }
            Step::Join(_) | Step::Leave(_) => {}
        }
    }
    sharing.solve();
    check(capacities, &sharing, &flows, tolerance)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Rates are those of the oracle after each change, and no link exceeds its capacity. Every
    /// flow is at its cap or has a bottleneck: a full link without a faster flow.
    #[test]
    fn rates_are_max_min_fair(capacities in network(), steps in prop::collection::vec(step(), 1..120)) {
        lockstep(&capacities, steps, 0.0)?;
    }

    /// The same but for a tolerance, however many changes there were: small ones do not add up.
    #[test]
    fn rates_are_nearly_max_min_fair(
        capacities in network(),
        steps in prop::collection::vec(step(), 1..120),
        tolerance in prop_oneof![Just(1e-3_f32), Just(0.02), Just(0.1)],
    ) {
        lockstep(&capacities, steps, tolerance)?;
    }
}
