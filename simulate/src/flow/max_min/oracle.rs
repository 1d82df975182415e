//! The oracle of tests: textbook water filling from scratch.

/// A flow with its links, its weight and its cap.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(crate) route: Vec<u32>,
    pub(crate) weight: f64,
    pub(crate) cap: f64,
}

/// Rates by flow. Each step finds the lowest level at which a link is full or a flow at its cap,
/// and fixes the flows there.
pub(crate) fn rates(capacities: &[f64], flows: &[Demand]) -> Vec<f64> {
    let mut rates: Vec<Option<f64>> = vec![None; flows.len()];
    while rates.contains(&None) {
        let mut lowest = f64::INFINITY;
        let level = |link: usize, rates: &[Option<f64>]| {
            let (mut rest, mut weight) = (capacities[link], 0.0);
            for (flow, rate) in
                flows.iter().zip(rates).filter(|(flow, _)| flow.route.contains(&(link as u32)))
            {
                match rate {
                    Some(rate) => rest -= rate,
                    None => weight += flow.weight,
                }
            }
            if weight > 0.0 { rest / weight } else { f64::INFINITY }
        };
        let levels: Vec<f64> = (0..capacities.len()).map(|link| level(link, &rates)).collect();
        lowest = levels.iter().copied().fold(lowest, f64::min);
        for (flow, _) in flows.iter().zip(&rates).filter(|(_, rate)| rate.is_none()) {
            lowest = lowest.min(flow.cap / flow.weight);
        }
        for (flow, rate) in flows.iter().zip(&mut rates).filter(|(_, rate)| rate.is_none()) {
            let full = flow.route.iter().any(|link| levels[*link as usize] <= lowest * (1.0 + 1e-13));
            if full || flow.cap / flow.weight <= lowest * (1.0 + 1e-13) {
                *rate = Some(flow.weight * lowest);
            }
        }
    }
    rates.into_iter().flatten().collect()
}
