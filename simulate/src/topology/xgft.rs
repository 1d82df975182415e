//! Extended generalised fat trees: `xgft[m=4:4:3,w=1:2:2]`.
//!
//! XGFT(h; m₁…m_h; w₁…w_h), after Öhring, Ibel, Das and Kumar, "On generalized fat trees" (IPPS 1995): a node of level l
//! has m_l children and w_{l+1} parents. It is named by digits (x_h … x_{l+1}, y_l … y_1), x_i < m_i and y_i < w_i, and its
//! parents are the nodes that differ from it by a digit y_{l+1} in place of x_{l+1}. Level 0 are the hosts, their number
//! d = x₁ + m₁·(x₂ + m₂·(…)) is the one that D-mod-K divides; within a level, nodes are numbered by their digits, the x
//! above the y, so that the parents of a node ascend by y_{l+1}.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::choice::Fabric;

/// Children (`m`) and parents (`w`) per node, from the hosts up.
pub(super) struct Arity {
    pub(super) m: Vec<u32>,
    pub(super) w: Vec<u32>,
}

impl Arity {
    /// Parameters `m` and `w`, lists of equal length.
    pub(super) fn parse(choice: &Choice) -> Result<Self> {
        let (m, w): (Vec<u32>, Vec<u32>) = (choice.required_list("m")?, choice.required_list("w")?);
        if m.len() != w.len() {
            return Err(Error::usage(format!(
                "`{choice}`: m has {} levels and w has {}, expected the same number",
                m.len(),
                w.len()
            )));
        }
        if m.iter().chain(&w).any(|arity| *arity == 0) {
            return Err(Error::usage(format!("`{choice}`: m and w have no zeros")));
        }
        Ok(Self { m, w })
    }

    /// Number of nodes of a level, or `u64::MAX` if it does not fit.
    fn nodes(&self, level: usize) -> u64 {
        let digits = self.m[level..].iter().chain(&self.w[..level]);
        digits.fold(1, |product: u64, digit| product.saturating_mul(u64::from(*digit)))
    }
}

/// Builds the tree: hosts `h0`…, then the switches `s1.0`… level by level.
pub(super) fn build(arity: &Arity, fabric: &mut Fabric<'_>) -> Result<()> {
    let levels = arity.m.len();
    let counts: Vec<u64> = (0..=levels).map(|level| arity.nodes(level)).collect();
    let up = (0..levels).map(|level| counts[level].saturating_mul(2 * u64::from(arity.w[level])));
    let sum = |a: u64, b: u64| a.saturating_add(b);
    fabric.reserve(counts.iter().copied().fold(0, sum), up.fold(0, sum))?;

    for host in 0..counts[0] {
        fabric.host(format!("h{host}"));
    }
    let (mut below, mut first) = (0, counts[0]);
    let mut lower_y = 1;
    for level in 0..levels {
        let (m, w) = (u64::from(arity.m[level]), u64::from(arity.w[level]));
        for index in 0..counts[level + 1] {
            fabric.switch(format!("s{}.{index}", level + 1));
        }
        // A node's number is x·lower_y + y, where x and y hold the digits above and up to this level.
        for index in 0..counts[level] {
            let (x, y) = (index / lower_y, index % lower_y);
            for parent in 0..w {
                let above = (x / m * w + parent) * lower_y + y;
                fabric.cable(below + index, first + above);
            }
        }
        lower_y *= w;
        below = first;
        first += counts[level + 1];
    }
    Ok(())
}
