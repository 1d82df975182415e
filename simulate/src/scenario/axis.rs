//! The axes of a sweep and the alternatives on each.

use std::fmt;

use phaseflow_collect::choice::Choice;

/// An axis of choice besides the topology, in the order of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The choice of the next job in the queue.
    Scheduler,
    /// Its hosts.
    HostSelector,
    /// Mapping of ranks to the selected hosts.
    ProcessMapper,
    /// Routes of its demands.
    Router,
    /// Network model: `traffic`, `flow`, `packet` or `auto`.
    Model,
    /// The transport.
    Transport,
    /// The replacement of recorded collectives.
    Collective,
    /// `segmented`, or `merged` into one averaged phase.
    Phases,
}

impl Axis {
    /// All axes, slowest first: the last one varies fastest between consecutive runs.
    pub const ALL: [Self; 8] = [
        Self::Scheduler,
        Self::HostSelector,
        Self::ProcessMapper,
        Self::Router,
        Self::Model,
        Self::Transport,
        Self::Collective,
        Self::Phases,
    ];

    /// The axis' name in scenario files and tables.
    pub fn key(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::HostSelector => "host_selector",
            Self::ProcessMapper => "process_mapper",
            Self::Router => "router",
            Self::Model => "model",
            Self::Transport => "transport",
            Self::Collective => "collective",
            Self::Phases => "phases",
        }
    }

    /// The defaults. The traffic model has no transport, so that axis has a choice without a name.
    fn default_choice(self) -> Choice {
        Choice::plain(match self {
            Self::Scheduler => "fcfs",
            Self::HostSelector => "linear",
            Self::ProcessMapper => "block",
            Self::Router => "dmodk",
            Self::Model => "traffic",
            Self::Transport => "",
            Self::Collective => "recorded",
            Self::Phases => "segmented",
        })
    }
}

/// As in a sentence: `host selector`.
impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key().replace('_', " "))
    }
}

/// The alternatives on each axis; an empty list leaves the axis to its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    choices: [Vec<Choice>; Axis::ALL.len()],
}

impl Axes {
    /// The alternatives on an axis.
    pub fn get(&self, axis: Axis) -> &[Choice] {
        &self.choices[axis as usize]
    }

    /// Replaces the alternatives on an axis.
    pub fn set(&mut self, axis: Axis, choices: Vec<Choice>) {
        self.choices[axis as usize] = choices;
    }

    /// These alternatives, and on axes without any those of `other`.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        for (own, other) in self.choices.iter_mut().zip(other.choices) {
            if own.is_empty() {
                *own = other;
            }
        }
        self
    }

    /// These alternatives, and on axes without any the default.
    #[must_use]
    pub fn or_default(self) -> Self {
        self.or(Self { choices: Axis::ALL.map(|axis| vec![axis.default_choice()]) })
    }
}
