//! Some of a sweep's points.

use std::collections::HashSet;

use phaseflow_collect::{Error, Result};

use super::{Point, Sweep};

/// Which points to run; by default all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `(i, n)`, 1 ≤ i ≤ n: every n-th point, beginning with the i-th, so that shards are of like
    /// cost.
    pub shard: Option<(u32, u32)>,
    /// Identifiers; empty for all points.
    pub only: Vec<String>,
}

impl Selection {
    /// Parses `I/N`.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse_shard(text: &str) -> Result<(u32, u32)> {
        let pair = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        pair.filter(|(i, n)| (1..=*n).contains(i))
            .ok_or_else(|| Error::usage(format!("`{text}` is not a shard; write 1/4 for the first of four")))
    }

    /// The selected points in ascending order.
    ///
    /// # Errors
    /// An identifier that no point has.
    pub fn points<'a>(&'a self, sweep: &'a Sweep) -> Result<impl Iterator<Item = Point> + use<'a>> {
        let wanted: HashSet<&str> = self.only.iter().map(String::as_str).collect();
        let (first, step) = self.shard.map_or((0, 1), |(i, n)| (i - 1, n));
        let mut missing = wanted.clone();
        if !wanted.is_empty() {
            for run in 0..sweep.len() {
                missing.remove(sweep.id(&sweep.point(run)).as_str());
            }
        }
        // The first as the user wrote them, whatever the order of the set.
        if let Some(id) = self.only.iter().find(|id| missing.contains(id.as_str())) {
            return Err(Error::usage(format!("no point has the identifier `{id}`; --list shows them")));
        }
        let runs = (first..sweep.len()).step_by(step as usize).map(|run| sweep.point(run));
        Ok(runs.filter(move |point| wanted.is_empty() || wanted.contains(sweep.id(point).as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_count_from_one() {
        assert_eq!(Selection::parse_shard("2/3").unwrap(), (2, 3));
        for text in ["0/3", "4/3", "1", "1/0", "a/b", "1/2/3"] {
            let error = Selection::parse_shard(text).unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` is not a shard; write 1/4 for the first of four"));
        }
    }
}
