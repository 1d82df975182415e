//! D-mod-K: routes depend on the destination's number, so all traffic to a host takes one path
//! down.
//!
//! E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real life
//! fat trees" (CCIT report 776, Technion 2010): on the way up, at level l, port ⌊d / (w₁·…·w_l)⌋
//! mod w_{l+1}. On any network whose [levels](crate::topology::Levels) make it like a fat tree, w
//! is the most parents on a level; a switch that has lost some takes its port modulo those it has.
//! On other networks the divisor is the product of the numbers of candidates so far.
//!
//! Good for shifts and all-to-all on full fat trees whose ranks follow the hosts' order. It ignores
//! load: a pattern with the period of its modulus (every 16th host a server) loads one link only.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Error, Result};

use super::digits::Digits;
use super::walk::Walker;
use super::{RouteRequest, Router, Routes};

/// The router `dmodk`.
#[derive(Debug)]
pub(super) struct DModK {
    /// PFSim's: the same modulus at every level, so that trees of three levels use only part of
    /// their paths.
    same_modulus: bool,
    walker: Walker,
}

impl DModK {
    /// Parameter `variant`: `published` (default) or `pfsim`.
    pub(super) fn new(choice: &Choice) -> Result<Self> {
        let same_modulus = match choice.get("variant") {
            None | Some("published") => false,
            Some("pfsim") => true,
            Some(other) => {
                return Err(Error::usage(format!(
                    "`{choice}`: variant is `{other}`, expected published or pfsim"
                )));
            }
        };
        Ok(Self { same_modulus, walker: Walker::default() })
    }
}

impl Router for DModK {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        for demand in request.demands {
            let ends = (demand.src, demand.dst);
            if self.same_modulus {
                let number = demand.dst.0 as usize;
                self.walker.walk(request.topology, ends, routes, |_, candidates| number % candidates.len());
            } else {
                let mut digits = Digits::new(request.topology, demand.dst);
                self.walker
                    .walk(request.topology, ends, routes, |node, candidates| digits.port(node, candidates));
            }
        }
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }

    fn forgets_source(&self) -> bool {
        true
    }
}
