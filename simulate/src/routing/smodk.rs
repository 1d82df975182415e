//! S-mod-K: routes depend on the source's number, so all traffic of a host takes one path up.
//!
//! The mirror of D-mod-K, with the source's number in place of the destination's; both are compared
//! in G. Rodriguez, C. Minkenberg, R. Beivide, R. P. Luijten, J. Labarta and M. Valero, "Oblivious
//! routing schemes in extended generalized fat tree networks" (CLUSTER 2009). S-mod-K spreads many
//! sources of one destination over different paths down; D-mod-K spreads many destinations of one
//! source. The better one depends on the pattern.

use phaseflow_collect::Result;

use super::digits::Digits;
use super::walk::Walker;
use super::{RouteRequest, Router, Routes};

/// The router `smodk`.
#[derive(Debug, Default)]
pub(super) struct SModK {
    walker: Walker,
}

impl Router for SModK {
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()> {
        for demand in request.demands {
            let mut digits = Digits::new(request.topology, demand.src);
            let ends = (demand.src, demand.dst);
            self.walker
                .walk(request.topology, ends, routes, |node, candidates| digits.port(node, candidates));
        }
        Ok(())
    }

    fn repeats(&self) -> bool {
        true
    }
}
