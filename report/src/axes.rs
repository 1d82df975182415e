//! The axes of choice, and how the runs of a report are told apart.

use phaseflow_simulate::result::RunLabels;

/// Names of the axes.
pub(crate) const AXES: [&str; 10] = [
    "topology",
    "scheduler",
    "host selector",
    "process mapper",
    "router",
    "model",
    "transport",
    "collective",
    "phases",
    "seed",
];

/// The axes that say what is simulated, not what is chosen of a system: runs that differ on them
/// are not ranked against each other.
pub(crate) const MODEL: [usize; 3] = [5, 6, 8];

/// What a run chose, by axis.
pub(crate) type Choices = [String; AXES.len()];

/// The choices of a run.
pub(crate) fn choices(labels: &RunLabels) -> Choices {
    [
        labels.topology.clone(),
        labels.scheduler.clone(),
        labels.host_selector.clone(),
        labels.process_mapper.clone(),
        labels.router.clone(),
        labels.model.clone(),
        labels.transport.clone(),
        labels.collective.clone(),
        labels.phases.clone(),
        labels.seed.to_string(),
    ]
}

/// The axes on which the runs do not all agree.
pub(crate) fn differing(runs: &[&Choices]) -> Vec<usize> {
    let differs = |axis: &usize| runs.iter().any(|run| run[*axis] != runs[0][*axis]);
    (0..AXES.len()).filter(differs).collect()
}

/// What tells a run from the others: its choices on the axes that differ. Some models have no
/// transport.
pub(crate) fn told_by(choices: &Choices, axes: &[usize]) -> String {
    let chosen = axes.iter().map(|axis| choices[*axis].as_str()).filter(|choice| !choice.is_empty());
    chosen.collect::<Vec<_>>().join(" · ")
}
