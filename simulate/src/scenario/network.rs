//! An alternative on the first axis: a network.

use std::path::Path;

use phaseflow_collect::Result;

use crate::topology::{Scale, Topology, TopologyChoice, TopologyOptions, topology};

/// A network to build.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkChoice {
    /// Its label in tables: the user's text.
    pub label: String,
    /// File or generator.
    pub topology: TopologyChoice,
    /// What is different.
    pub scale: Option<Scale>,
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
        Self { label, topology, scale: None }
    }

    /// The same network with a changed link.
    #[must_use]
    pub fn what_if(&self, scale: &Scale) -> Self {
        let label = format!("{} with {scale}", self.label);
        Self { label, topology: self.topology.clone(), scale: Some(scale.clone()) }
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
        Ok(topology.labelled(&self.label))
    }
}
