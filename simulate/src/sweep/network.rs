//! An alternative on the first axis: a network.

use std::path::Path;

use phaseflow_collect::Result;

use crate::topology::{Topology, TopologyChoice, TopologyOptions, topology};

/// A network to build.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkChoice {
    /// How it is called in tables: as the user wrote it.
    pub label: String,
    /// File or generator.
    pub topology: TopologyChoice,
    /// What the file or the generator's parameters leave open.
    pub options: TopologyOptions,
}

impl NetworkChoice {
    /// Parses a comma-separated list of files and generators; commas inside brackets separate parameters. Relative paths
    /// start at `folder`.
    ///
    /// # Errors
    /// A generator that does not exist, or brackets that do not close.
    pub fn parse_list(text: &str, options: &TopologyOptions, folder: &Path) -> Result<Vec<Self>> {
        let mut networks = Vec::new();
        for label in split_list(text) {
            let mut topology = TopologyChoice::parse(label)?;
            if let TopologyChoice::File(path) = &mut topology {
                *path = folder.join(&path);
            }
            networks.push(Self { label: label.into(), topology, options: options.clone() });
        }
        Ok(networks)
    }

    /// Reads or generates the network.
    ///
    /// # Errors
    /// As [`topology`].
    pub fn build(&self) -> Result<Topology> {
        Ok(topology(&self.topology, &self.options)?.labelled(&self.label))
    }
}

/// The pieces between commas that stand outside brackets.
fn split_list(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_do_not_separate() {
        let pieces: Vec<&str> = split_list("a/b.graphml,xgft[m=4:4,w=1:2],star[hosts=8]").collect();
        assert_eq!(pieces, ["a/b.graphml", "xgft[m=4:4,w=1:2]", "star[hosts=8]"]);
    }
}
