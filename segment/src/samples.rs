//! What is simulated for all of a run: the data of `samples.json`.

use phaseflow_collect::{Error, Result};
use serde::{Deserialize, Serialize};

/// A stretch of time; nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// When it begins.
    pub start_ns: u64,
    /// When it ends; not before it begins.
    pub end_ns: u64,
}

/// What is known of a stretch of the trace, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Traits {
    /// How long it took when it was recorded.
    pub duration_ns: u64,
    /// Messages posted in it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long ranks compute in it and wait for each other where messages take no time, the mean
    /// of all of them; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub critical_ns: u64,
}

impl Traits {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.duration_ns = self.duration_ns.saturating_add(other.duration_ns);
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.critical_ns = self.critical_ns.saturating_add(other.critical_ns);
    }

    /// Takes away a part.
    pub fn without(&mut self, part: &Self) {
        self.duration_ns = self.duration_ns.saturating_sub(part.duration_ns);
        self.messages = self.messages.saturating_sub(part.messages);
        self.bytes = self.bytes.saturating_sub(part.bytes);
        self.critical_ns = self.critical_ns.saturating_sub(part.critical_ns);
    }
}

/// A phase in blocks of a kind: units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// The phase; `None`: idle stretches.
    pub phase: Option<u32>,
    /// How many units there are, without those that stand for themselves.
    pub units: u64,
    /// What there is in all units, those that stand for themselves too.
    pub total: Traits,
    /// Those that are sampled, in order of time; the stretches of each.
    pub samples: Vec<Vec<Span>>,
    /// Units that stand for themselves alone, likewise.
    pub certain: Vec<Vec<Span>>,
    /// [`Traits::critical_ns`] of each of `samples`, then of each of `certain`; none if that is not
    /// known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub critical_ns: Vec<u64>,
    /// True if all units are the same, with what surrounds them, so that one stands for all of
    /// them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub identical: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Units {
    /// All stretches that are sampled.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        self.samples.iter().chain(&self.certain).flatten().copied()
    }
}

/// What is simulated for all of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Stretches that are simulated as one, in order of time; they do not touch.
    pub windows: Vec<Span>,
    /// By innermost phase; each sample lies in a window.
    pub of_phase: Vec<Units>,
}

impl Samples {
    /// Checks that they fit an archive of `phases` phases.
    pub(crate) fn check(&self, phases: usize) -> Result<()> {
        let wrong = |what: String| Err(Error::data(what));
        let mut reached_ns = None;
        for (number, window) in self.windows.iter().enumerate() {
            if window.end_ns < window.start_ns || reached_ns.is_some_and(|end_ns| window.start_ns <= end_ns) {
                return wrong(format!(
                    "window {number} is not after the one before it, or ends before it starts"
                ));
            }
            reached_ns = Some(window.end_ns);
        }
        for units in &self.of_phase {
            if let Some(phase) = units.phase.filter(|phase| *phase as usize >= phases) {
                return wrong(format!("has samples of phase {phase}, the archive has {phases}"));
            }
            if units.units < units.samples.len() as u64 || (units.samples.is_empty() && units.units > 0) {
                let (found, all) = (units.samples.len(), units.units);
                return wrong(format!("has {found} samples of {all} units, expected 1 to {all}"));
            }
            let all = units.samples.len() + units.certain.len();
            if !matches!(units.critical_ns.len(), found if found == 0 || found == all) {
                let found = units.critical_ns.len();
                return wrong(format!("has {found} critical times of {all} samples, expected none or all"));
            }
            for stretches in [&units.samples, &units.certain] {
                let mut reached_ns = 0;
                for Span { start_ns, end_ns } in stretches.iter().flatten().copied() {
                    let is_in_window = self.window_of(Span { start_ns, end_ns }).is_some();
                    if start_ns < reached_ns || end_ns < start_ns || !is_in_window {
                        return wrong(format!(
                            "has a sample from {start_ns} to {end_ns} ns that lies in no window, or not after the one before it"
                        ));
                    }
                    reached_ns = end_ns;
                }
            }
        }
        Ok(())
    }

    /// The window that a stretch lies in.
    #[must_use]
    pub fn window_of(&self, span: Span) -> Option<usize> {
        let after = self.windows.partition_point(|window| window.start_ns <= span.start_ns);
        let window = after.checked_sub(1)?;
        self.windows.get(window).filter(|window| span.end_ns <= window.end_ns).map(|_| window)
    }
}
