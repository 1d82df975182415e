//! Scaled capacity: the same network with a factor on one link, for what-if runs.

use std::fmt;

use phaseflow_collect::{Error, Result};

use super::{LinkId, Topology};

/// A factor on the capacity of the links from one node to another: `leaf0>spine1×2`, or in both
/// directions, `leaf0<>spine1×2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    src: String,
    dst: String,
    both: bool,
    factor: f64,
}

impl Scale {
    /// Parses `SRC>DST×F` or `SRC<>DST×F`; `*` and `x` do as well as `×`, and `→` as well as `>`.
    ///
    /// # Errors
    /// Anything else; a factor that is not above 0.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            Error::usage(format!(
                "`{text}` is not a change of a link; write leaf0>spine1×2 or leaf0<>spine1×2"
            ))
        };
        let (link, factor) = text.rsplit_once(['×', '*', 'x']).ok_or_else(wrong)?;
        let factor: f64 = factor.parse().map_err(|_| wrong())?;
        let (src, dst) = link.split_once(['>', '→']).ok_or_else(wrong)?;
        let (src, both) = src.strip_suffix('<').map_or((src, false), |src| (src, true));
        if src.is_empty() || dst.is_empty() || !factor.is_finite() || factor <= 0.0 {
            return Err(wrong());
        }
        Ok(Self { src: src.into(), dst: dst.into(), both, factor })
    }

    /// Changes a network.
    ///
    /// # Errors
    /// No link between these nodes.
    pub fn apply(&self, topology: &mut Topology) -> Result<()> {
        let name = |node| &topology.node(node).name;
        let is = |src: &str, dst: &str| self.src == *src && self.dst == *dst;
        let links = (0..topology.link_count() as u32).map(LinkId).filter(|link| {
            let (src, dst) = (name(topology.src(*link)), name(topology.dst(*link)));
            is(src, dst) || (self.both && is(dst, src))
        });
        let links: Vec<LinkId> = links.collect();
        if links.is_empty() {
            let problem = format!("has no link from {} to {}", self.src, self.dst);
            return Err(Error::usage(problem).at(topology.label()));
        }
        for LinkId(link) in links {
            let capacity = topology.links[link as usize].capacity * self.factor;
            if !(capacity.is_finite() && capacity > 0.0) {
                let problem =
                    format!("`{self}` makes its capacity {capacity}, expected a positive number of Gbit/s");
                return Err(Error::usage(problem).at(topology.label()));
            }
            topology.links[link as usize].capacity = capacity;
        }
        Ok(())
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = if self.both { "<>" } else { ">" };
        write!(f, "{}{arrow}{}×{}", self.src, self.dst, self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::test_tree::tree;

    #[test]
    fn one_link_becomes_faster() {
        let mut topology = tree(&[vec![1], vec![1]], 1, &[10.0]);
        let capacity = |topology: &Topology, from: &str, to: &str| {
            let mut links = (0..topology.link_count() as u32).map(LinkId);
            let name = |node| topology.node(node).name.as_str();
            let link =
                links.find(|link| name(topology.src(*link)) == from && name(topology.dst(*link)) == to);
            topology.link(link.unwrap()).capacity
        };
        Scale::parse("edge00>core00×2.5").unwrap().apply(&mut topology).unwrap();
        assert!((capacity(&topology, "edge00", "core00") - 25.0).abs() < 1e-12);
        assert!((capacity(&topology, "core00", "edge00") - 10.0).abs() < 1e-12);
        Scale::parse("core00<>edge01x0.5").unwrap().apply(&mut topology).unwrap();
        assert!((capacity(&topology, "edge01", "core00") - 5.0).abs() < 1e-12);
        assert!((capacity(&topology, "core00", "edge01") - 5.0).abs() < 1e-12);
        let error = Scale::parse("edge00→edge01*2").unwrap().apply(&mut topology).unwrap_err();
        assert_eq!(error.to_string(), "tree: has no link from edge00 to edge01");
        for wrong in ["a>b", "ab×2", "a>×2", "a>b×0", "a>b×-1", "a>b×inf"] {
            assert!(Scale::parse(wrong).is_err(), "{wrong}");
        }
    }
}
