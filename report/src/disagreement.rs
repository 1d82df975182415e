//! Phases whose time two models of a sweep do not agree on, and which of them to trust.

use std::collections::BTreeMap;

use phaseflow_simulate::result::RunLabels;

use crate::makespan::Makespan;
use crate::number;
use crate::view::RunView;

/// Models that are further apart than this do not describe the same thing: what the flow model
/// leaves out (headers, queues, acknowledgements) is worth some tens of per cent.
const APART: f64 = 2.0;
/// Packets that are sent again, as part of all hops, from which timers rather than the network
/// decide.
const RESENT: f64 = 0.01;
/// Phases of which it is said.
const SHOWN: usize = 5;

/// All that two runs to compare have in common. The transport is part of the model.
pub(crate) fn all_but_model(labels: &RunLabels) -> Vec<String> {
    let RunLabels { topology, scheduler, host_selector, process_mapper, router, collective, phases, .. } =
        labels;
    let words = [topology, scheduler, host_selector, process_mapper, router, collective, phases];
    words.into_iter().cloned().chain([labels.seed.to_string()]).collect()
}

/// What a run says of a phase.
#[derive(Clone, Debug)]
struct Said {
    run: u32,
    model: String,
    makespan: Makespan,
    /// Packets sent again, as part of all hops.
    resent: Option<f64>,
}

/// What runs have in common, then job and position of a phase.
type Place = (Vec<String>, u32, u32);

/// Runs that differ in their model alone, phase by phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disagreements {
    /// Its name and what is said of it.
    phases: BTreeMap<Place, (String, Vec<Said>)>,
}

impl Disagreements {
    /// Takes note of a run.
    pub(crate) fn run(&mut self, view: &RunView<'_>) {
        let labels = &view.run.labels;
        let common = all_but_model(labels);
        for job in &view.run.jobs {
            for (position, row) in (0..).zip(view.phases_of(job.job)) {
                let Some(makespan) = Makespan::of_phase(row) else { continue };
                let resent = |counts: &phaseflow_simulate::result::PacketCounts| {
                    counts.retransmits as f64 / counts.hops.max(1) as f64
                };
                let said = Said {
                    run: labels.run,
                    model: model(labels),
                    makespan,
                    resent: row.packets.as_ref().map(resent),
                };
                let name = || (row.phase.clone(), Vec::new());
                self.phases.entry((common.clone(), job.job, position)).or_insert_with(name).1.push(said);
            }
        }
    }

    /// A sentence or two for each phase whose shortest and longest time are more than twice apart,
    /// the furthest apart first.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut found: Vec<(f64, String)> = Vec::new();
        for (phase, said) in self.phases.values() {
            let known = || said.iter().filter(|said| said.makespan.seconds > 0.0);
            let by_time = |a: &&Said, b: &&Said| a.makespan.seconds.total_cmp(&b.makespan.seconds);
            let (Some(short), Some(long)) = (known().min_by(by_time), known().max_by(by_time)) else {
                continue;
            };
            let ratio = long.makespan.seconds / short.makespan.seconds;
            if ratio > APART {
                let text = format!(
                    "phase {phase}: {} by {} (run {}), {} by {} (run {}), {} times apart. {}",
                    long.makespan.text(),
                    long.model,
                    long.run,
                    short.makespan.text(),
                    short.model,
                    short.run,
                    number::significant(ratio),
                    advice(short, long),
                );
                found.push((ratio, text));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let more = found.len().saturating_sub(SHOWN);
        let mut sentences: Vec<String> = found.into_iter().take(SHOWN).map(|(_, text)| text).collect();
        if more > 0 {
            sentences.push(format!("{more} more phases on which models disagree: --table agreement"));
        }
        sentences
    }
}

/// What to trust.
fn advice(short: &Said, long: &Said) -> String {
    let off = |said: &Said| said.makespan.off_s().unwrap_or(0.0);
    if long.makespan.seconds - short.makespan.seconds <= off(long) + off(short) {
        let least = if off(long) > off(short) { short } else { long };
        return format!("The stated error covers that: trust {}, or ask with --sampling off", least.model);
    }
    match (&short.resent, &long.resent) {
        (None, Some(resent)) | (Some(resent), None) => {
            let packets = if short.resent.is_some() { short } else { long };
            if *resent > RESENT {
                format!(
                    "Trust neither yet: {} sends {} of its packets again, so its timers and buffers decide; see whether they suit this network",
                    packets.model,
                    number::percent(*resent)
                )
            } else {
                format!(
                    "Trust {}: it has the headers, queues and transport that flows leave out",
                    packets.model
                )
            }
        }
        _ => "Trust the one whose parameters are those of the network".into(),
    }
}

/// A model with what carries its messages.
fn model(labels: &RunLabels) -> String {
    if labels.transport.is_empty() {
        labels.model.clone()
    } else {
        format!("{}, {}", labels.model, labels.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(model: &str, seconds: f64, error: Option<f64>, resent: Option<f64>) -> Said {
        Said { run: 0, model: model.into(), makespan: Makespan { seconds, error }, resent }
    }

    #[test]
    fn an_error_that_covers_the_difference_is_named_first() {
        let flow = said("flow", 0.342, Some(0.96), None);
        let packet = said("packet", 0.026, Some(0.0), Some(0.0));
        assert_eq!(
            advice(&packet, &flow),
            "The stated error covers that: trust packet, or ask with --sampling off"
        );
        let sure = said("flow", 0.342, Some(0.01), None);
        assert_eq!(
            advice(&packet, &sure),
            "Trust packet: it has the headers, queues and transport that flows leave out"
        );
        let resent = said("packet", 0.9, Some(0.0), Some(0.12));
        assert_eq!(
            advice(&sure, &resent),
            "Trust neither yet: packet sends 12 % of its packets again, so its timers and buffers decide; see whether they suit this network"
        );
        let other = said("flow[compute-scale=0]", 0.1, None, None);
        assert_eq!(advice(&other, &sure), "Trust the one whose parameters are those of the network");
    }
}
