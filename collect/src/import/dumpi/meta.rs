//! The `.meta` file of a run: lines of `key=value`.

use std::io::Read;

use crate::import::set::Member;
use crate::trace::MOST_RANKS;
use crate::{Error, Result};

/// Longest `.meta` file that is read, bytes; they have about 150.
const LONGEST: u64 = 1 << 20;

/// What a `.meta` file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Meta {
    /// Number of ranks.
    pub(super) numprocs: Option<u32>,
    /// What the names of the ranks' files begin with.
    pub(super) fileprefix: Option<String>,
}

/// True for the beginning of a `.meta` file.
pub(in crate::import) fn is_meta(prefix: &[u8]) -> bool {
    let has = |key: &str| prefix.split(|byte| *byte == b'\n').any(|line| line.starts_with(key.as_bytes()));
    has("numprocs=") && has("fileprefix=")
}

impl Meta {
    /// # Errors
    /// A number of ranks that is none; an error of the operating system.
    pub(super) fn read(member: &Member) -> Result<Self> {
        let mut text = Vec::new();
        member.reader(4 << 10).take(LONGEST).read_to_end(&mut text)?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut meta = Self::default();
        for (number, line) in text.lines().enumerate() {
            match line.split_once('=') {
                Some(("numprocs", value)) => {
                    let ranks = value.trim().parse().ok().filter(|ranks| (1..=MOST_RANKS).contains(ranks));
                    let problem = format!("numprocs is `{value}`, expected a number of ranks");
                    let place = format!("line {}", number + 1);
                    meta.numprocs = Some(ranks.ok_or_else(|| Error::data(problem).at(place))?);
                }
                Some(("fileprefix", value)) => {
                    let name = value.trim().rsplit('/').next().unwrap_or_default();
                    meta.fileprefix = Some(name.to_string()).filter(|name| !name.is_empty());
                }
                _ => {}
            }
        }
        Ok(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_any_order() {
        let found = Meta::parse("hostname=a\nfileprefix=/tmp/run\r\nnumprocs=4\nversion=1\n").unwrap();
        assert_eq!(found, Meta { numprocs: Some(4), fileprefix: Some("run".into()) });
        let error = Meta::parse("a=b\nnumprocs=-4\n").unwrap_err().to_string();
        assert_eq!(error, "line 2: numprocs is `-4`, expected a number of ranks");
    }
}
