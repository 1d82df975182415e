//! The phases of a sweep that has too many runs to tell each of each: how far a phase differs from
//! run to run, and which run is best for it.

use crate::axes::{self, Choices};
use crate::hotspot::HotSpot;
use crate::number;
use crate::view::RunView;

/// Collects phases run by run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spreads {
    phases: Vec<Spread>,
}

/// A phase in the runs of one model.
#[derive(Clone, Debug)]
struct Spread {
    /// Choices of model, transport and view of phases: other models' times are other claims.
    model: Vec<String>,
    workload: Option<usize>,
    phase: Option<String>,
    name: String,
    runs: usize,
    /// Runs in which it is not negligible.
    counting: usize,
    /// Simulated seconds: lowest and highest; `None` if a run does not know it.
    seconds: Option<(f64, f64)>,
    lowest: Peak,
    highest: Peak,
    /// What the best run chose, and how many runs are as good: by time where it is known of all.
    best: Choices,
    best_value: f64,
}

/// The hottest link of a phase in one run.
#[derive(Clone, Debug)]
struct Peak {
    congestion: f64,
    measure: String,
    link: String,
}

impl Spreads {
    /// Takes note of a hot spot of a run; of all jobs together where it has no phase.
    pub(crate) fn spot(&mut self, view: &RunView<'_>, spot: &HotSpot, is_negligible: bool) {
        let choices = axes::choices(&view.run.labels);
        let model: Vec<String> = axes::MODEL.iter().map(|axis| choices[*axis].clone()).collect();
        let is_timed = view.run.labels.model != "traffic";
        let seconds = spot.makespan.filter(|_| is_timed).map(|time| time.seconds);
        let (src, dst) = view.ends(spot.link);
        let peak = Peak {
            congestion: spot.congestion,
            measure: spot.utilization.map_or_else(|| number::load(spot.load, spot.rates), number::percent),
            link: if spot.link.is_some() { format!("{src} → {dst}") } else { String::new() },
        };
        let value = seconds.unwrap_or(spot.congestion);
        let is_own = |known: &&mut Spread| {
            known.model == model && known.workload == spot.workload && known.phase == spot.phase
        };
        let Some(known) = self.phases.iter_mut().find(is_own) else {
            self.phases.push(Spread {
                model,
                workload: spot.workload,
                phase: spot.phase.clone(),
                name: match &spot.phase {
                    Some(phase) if !spot.title.is_empty() => format!("{phase}  {}", spot.title),
                    Some(phase) => phase.clone(),
                    None => "all".into(),
                },
                runs: 1,
                counting: usize::from(!is_negligible),
                seconds: seconds.map(|seconds| (seconds, seconds)),
                lowest: peak.clone(),
                highest: peak,
                best: choices,
                best_value: value,
            });
            return;
        };
        known.runs += 1;
        known.counting += usize::from(!is_negligible);
        let both = known.seconds.zip(seconds);
        known.seconds = both.map(|((low, high), own)| (low.min(own), high.max(own)));
        if peak.congestion < known.lowest.congestion {
            known.lowest = peak.clone();
        }
        if peak.congestion > known.highest.congestion {
            known.highest = peak;
        }
        if value < known.best_value {
            (known.best_value, known.best) = (value, choices);
        }
    }

    /// A row a phase: name, time, how full its hottest link is, which link that is where it is
    /// fullest, and what the best run chose on the axes `differ`. Phases that are negligible in all
    /// runs are left out.
    pub(crate) fn rows(&self, differ: &[usize]) -> Vec<[String; 5]> {
        let several = self.phases.iter().any(|phase| phase.model != self.phases[0].model);
        let counting = self.phases.iter().filter(|phase| phase.counting > 0);
        let row = |phase: &Spread| {
            let range =
                |low: String, high: String| if low == high { low } else { format!("{low} to {high}") };
            let of = phase.model.iter().filter(|word| !word.is_empty() && *word != "segmented");
            let model = if several {
                format!(" ({})", of.cloned().collect::<Vec<_>>().join(", "))
            } else {
                String::new()
            };
            let is_choice = phase.runs > 1 && self.differs(phase);
            [
                format!("{}{model}", phase.name),
                phase.seconds.map_or_else(String::new, |(low, high)| {
                    range(number::seconds(low), number::seconds(high))
                }),
                range(phase.lowest.measure.clone(), phase.highest.measure.clone()),
                phase.highest.link.clone(),
                if is_choice { axes::told_by(&phase.best, differ) } else { String::new() },
            ]
        };
        counting.map(row).collect()
    }

    /// True if there is anything to choose for a phase.
    fn differs(&self, phase: &Spread) -> bool {
        match phase.seconds {
            Some((low, high)) => high > low * (1.0 + crate::effects::TIE),
            None => phase.highest.congestion > phase.lowest.congestion * (1.0 + crate::effects::TIE),
        }
    }
}
