//! How far runs agree that differ in their seed alone: means and confidence intervals.

use std::collections::HashMap;
use std::io::Write;

use phaseflow_collect::Result;
use phaseflow_simulate::result::RunLabels;

use super::Rows;
use crate::view::RunView;

/// A row without job and phase is of whole runs. The interval holds the mean with 95 % probability
/// if the values are normally distributed; it takes two runs.
pub(super) const COLUMNS: &[&str] =
    &["first_run", "job", "phase", "quantity", "runs", "mean", "low", "high", "stddev", "min", "max"];

/// Values so far, by what they are of.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// First run of each kind, by its labels without number and seed.
    first: HashMap<Vec<String>, u32>,
    /// In the order in which they came up.
    order: Vec<Key>,
    values: HashMap<Key, Vec<f64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    first_run: u32,
    /// Job and name of the phase.
    phase: Option<(u32, String)>,
    quantity: &'static str,
}

impl Samples {
    /// Takes note of a run.
    pub(super) fn add(&mut self, view: &RunView<'_>) {
        let run = view.run.labels.run;
        let first_run = *self.first.entry(key(&view.run.labels)).or_insert(run);
        self.value(Key { first_run, phase: None, quantity: "makespan_s" }, view.run.statistics.makespan_s);
        self.value(
            Key { first_run, phase: None, quantity: "max_congestion" },
            view.run.statistics.max_congestion,
        );
        for row in &view.run.phases {
            let phase = Some((row.job, row.phase.clone()));
            self.value(Key { first_run, phase: phase.clone(), quantity: "makespan_s" }, row.makespan_s);
            self.value(Key { first_run, phase, quantity: "max_link_load" }, row.max_link_load);
        }
    }

    fn value(&mut self, key: Key, value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let values = self.values.entry(key.clone()).or_insert_with(|| {
            self.order.push(key);
            Vec::new()
        });
        values.push(value);
    }

    /// Writes all rows.
    pub(super) fn write<W: Write>(&self, rows: &mut Rows<W>) -> Result<()> {
        let mut order: Vec<&Key> = self.order.iter().collect();
        order.sort_by_key(|key| key.first_run);
        for key in order {
            let values = self.values.get(key).map_or(&[][..], Vec::as_slice);
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let stddev = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
            let half = stddev.map(|stddev| t_quantile(values.len() - 1) * stddev / count.sqrt());
            rows.integer(key.first_run)?
                .count(key.phase.as_ref().map(|(job, _)| u64::from(*job)))?
                .text(key.phase.as_ref().map_or("", |(_, name)| name))?
                .text(key.quantity)?
                .integer(values.len() as u64)?
                .float(mean)?
                .float(half.map(|half| mean - half))?
                .float(half.map(|half| mean + half))?
                .float(stddev)?
                .float(values.iter().copied().reduce(f64::min))?
                .float(values.iter().copied().reduce(f64::max))?
                .end()?;
        }
        Ok(())
    }
}

/// All that two runs have in common that are repetitions of each other.
fn key(labels: &RunLabels) -> Vec<String> {
    let RunLabels {
        run: _,
        topology,
        scheduler,
        host_selector,
        process_mapper,
        router,
        model,
        transport,
        collective,
        phases,
        seed: _,
    } = labels;
    let words =
        [topology, scheduler, host_selector, process_mapper, router, model, transport, collective, phases];
    words.into_iter().cloned().collect()
}

/// The 0.975 quantile of Student's t distribution: tabulated up to 10 degrees of freedom, from
/// there on Cornish and Fisher's expansion around the normal one (Abramowitz and Stegun, 26.7.5),
/// right to four digits.
fn t_quantile(freedom: usize) -> f64 {
    const TABLE: [f64; 10] =
        [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];
    if let Some(known) = freedom.checked_sub(1).and_then(|place| TABLE.get(place)) {
        return *known;
    }
    let (x, n) = (1.959_963_984_540_054_f64, freedom as f64);
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    x + first / n + second / n.powi(2) + third / n.powi(3)
}

#[cfg(test)]
mod tests {
    use super::t_quantile;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Abramowitz and Stegun, table 26.10.
        for (freedom, expected) in
            [(1, 12.706), (10, 2.228), (11, 2.201), (15, 2.131), (30, 2.042), (120, 1.980)]
        {
            assert!((t_quantile(freedom) - expected).abs() < 0.0006, "{freedom}: {}", t_quantile(freedom));
        }
    }
}
