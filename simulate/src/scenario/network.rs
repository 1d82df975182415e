//! An alternative on the first axis: a network.

use std::path::Path;

use phaseflow_collect::Result;

use crate::topology::{Failure, Scale, Topology, TopologyChoice, TopologyOptions, topology};

/// A network to build.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkChoice {
    /// Its label in tables: the user's text.
    pub label: String,
    /// File or generator.
    pub topology: TopologyChoice,
    /// What is different.
    pub scale: Option<Scale>,
    /// What fails.
    pub failures: Vec<Failure>,
}

impl NetworkChoice {
    /// Parses a comma-separated list of files and generators; relative paths start at `folder`.
    ///
    /// # Errors
    /// As [`TopologyChoice::parse_list`].
    pub fn parse_list(text: &str, folder: &Path) -> Result<Vec<Self>> {
        let choices = TopologyChoice::parse_list(text)?;
        Ok(choices.into_iter().map(|choice| Self::new(choice, folder)).collect())
    }

    /// A network under the name it was given; a relative path starts at `folder`.
    pub fn new(mut topology: TopologyChoice, folder: &Path) -> Self {
        let label = topology.to_string();
        if let TopologyChoice::File(path) = &mut topology {
            *path = folder.join(&path);
        }
        Self { label, topology, scale: None, failures: Vec::new() }
    }

    /// The same network with a changed link.
    #[must_use]
    pub fn what_if(&self, scale: &Scale) -> Self {
        let label = format!("{} with {scale}", self.label);
        Self { label, scale: Some(scale.clone()), ..self.clone() }
    }

    /// The same network with failures.
    #[must_use]
    pub fn with_failures(mut self, failures: &[Failure]) -> Self {
        if !failures.is_empty() {
            let parts: Vec<String> = failures.iter().map(ToString::to_string).collect();
            self.label = format!("{} without {}", self.label, parts.join(" and "));
            self.failures.extend_from_slice(failures);
        }
        self
    }

    /// Reads or generates the network.
    ///
    /// # Errors
    /// As [`topology`].
    pub(crate) fn build(&self, options: &TopologyOptions) -> Result<Topology> {
        let mut topology = topology(&self.topology, options)?;
        if let Some(scale) = &self.scale {
            scale.apply(&mut topology)?;
        }
        if !self.failures.is_empty() {
            topology = topology.with_failures(&self.failures)?;
        }
        Ok(topology.labelled(&self.label))
    }
}
