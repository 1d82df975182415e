//! The table `loads`: how evenly the links between switches are loaded, a row per run, job and
//! phase.

use std::io::Write;

use phaseflow_collect::Result;
use phaseflow_simulate::topology::LinkId;

use super::Rows;
use crate::view::RunView;

/// `links` are those between switches, `used` those of them with traffic. Percentiles (nearest
/// rank) are of load / capacity over all of them, idle ones included. `fairness` is Jain's index of
/// the same, 1 where all are loaded alike, 1 / n where one alone is (Jain, Chiu and Hawe,
/// DEC-TR-301, 1984). `tenth_i` counts the links between (i − 1) and i tenths of the most loaded
/// one, idle ones in the first.
pub(super) const COLUMNS: &[&str] = &[
    "run", "job", "phase", "links", "used", "p50", "p90", "p95", "p99", "max", "fairness", "tenth_1",
    "tenth_2", "tenth_3", "tenth_4", "tenth_5", "tenth_6", "tenth_7", "tenth_8", "tenth_9", "tenth_10",
];

/// Parts of the highest load that links are counted in.
const PARTS: usize = 10;

pub(super) fn write<W: Write>(view: &RunView<'_>, rows: &mut Rows<W>) -> Result<()> {
    let mut places: Vec<(Option<u32>, Option<u32>)> = Vec::new();
    for job in &view.run.jobs {
        places.extend((0..view.phases_of(job.job).len()).map(|phase| (Some(job.job), Some(phase as u32))));
    }
    places.push((None, None));
    for (job, phase) in places {
        let found = view.links_of(job, phase);
        if found.is_empty() {
            continue;
        }
        let name = view.phase(job, phase).map_or("", |phase| &phase.phase);
        rows.integer(view.run.labels.run)?.count(job.map(u64::from))?.text(name)?;
        Spread::of(view, found).write(rows)?;
        rows.end()?;
    }
    Ok(())
}

/// Load / capacity of the links between switches, ascending.
struct Spread(Vec<f64>);

impl Spread {
    fn of(view: &RunView<'_>, rows: &[usize]) -> Self {
        let network = view.network;
        let is_switch =
            |node: phaseflow_simulate::topology::NodeId| network.nodes[node.0 as usize].slots.is_none();
        let between = |link: &LinkId| {
            let link = network.link(*link);
            is_switch(link.src) && is_switch(link.dst)
        };
        let mut ratios = vec![0.0; network.links.len()];
        for row in rows {
            let link = view.run.links.link[*row];
            ratios[link.0 as usize] += view.run.links.load[*row] / network.link(link).capacity;
        }
        let links = (0..network.links.len() as u32).map(LinkId);
        let mut ratios: Vec<f64> = links.filter(between).map(|link| ratios[link.0 as usize]).collect();
        ratios.sort_by(f64::total_cmp);
        Self(ratios)
    }

    /// The value that this percentage of the links does not exceed; `None` without links.
    fn percentile(&self, percent: usize) -> Option<f64> {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied()
    }

    /// Jain's index; `None` without a load.
    fn fairness(&self) -> Option<f64> {
        let (sum, squares) = self.0.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        (squares > 0.0).then(|| sum * sum / (self.0.len() as f64 * squares))
    }

    fn tenths(&self) -> [u64; PARTS] {
        let mut counts = [0; PARTS];
        let most = self.0.last().copied().unwrap_or(0.0);
        for ratio in &self.0 {
            let part = if most > 0.0 { (ratio / most * PARTS as f64).ceil() as usize } else { 1 };
            counts[part.clamp(1, PARTS) - 1] += 1;
        }
        counts
    }

    fn write<W: Write>(&self, rows: &mut Rows<W>) -> Result<()> {
        let used = self.0.iter().filter(|ratio| **ratio > 0.0).count();
        rows.integer(self.0.len() as u64)?.integer(used as u64)?;
        for percent in [50, 90, 95, 99, 100] {
            rows.float(self.percentile(percent))?;
        }
        rows.float(self.fairness())?;
        for count in self.tenths() {
            rows.integer(count)?;
        }
        Ok(())
    }
}

#[allow(clippy::float_cmp, reason = "these numbers are exact")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_links_by_hand() {
        let spread = Spread(vec![0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0, 8.0]);
        let found = [50, 90, 91, 100].map(|percent| spread.percentile(percent).unwrap());
        assert_eq!(found, [1.0, 4.0, 8.0, 8.0]);
        // (Σ 20)² / (10 · 92)
        assert!((spread.fairness().unwrap() - 400.0 / 920.0).abs() < 1e-12);
        assert_eq!(spread.tenths(), [2, 4, 2, 0, 1, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn equal_loads_are_fair_and_no_loads_unknown() {
        assert_eq!(Spread(vec![3.0; 4]).fairness(), Some(1.0));
        assert_eq!(Spread(vec![0.0; 4]).fairness(), None);
        assert_eq!((Spread(Vec::new()).percentile(50), Spread(vec![0.0; 4]).tenths()[0]), (None, 4));
    }
}
