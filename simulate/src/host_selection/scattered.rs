//! Hosts far from each other.

use phaseflow_collect::Result;

use super::edges::Edges;
use super::{Enough, HostRequest, HostSelector};
use crate::topology::HostId;

/// One free host of each edge switch in turn, until there are enough slots. The first switches are
/// spread over all of them: they come in bit-reversed order (the sequence of van der Corput), in
/// which any beginning is spread evenly.
///
/// It gives a job the uplinks of many switches, and neighbours that disturb it on each. It is the
/// opposite of [`Compact`](super::Compact).
#[derive(Clone, Debug, Default)]
pub struct Scattered {
    edges: Option<Edges>,
}

impl HostSelector for Scattered {
    fn select(&mut self, request: &HostRequest<'_>) -> Result<Vec<HostId>> {
        let edges = self.edges.get_or_insert_with(|| Edges::new(request.topology));
        let mut groups: Vec<Vec<HostId>> = Vec::new();
        for hosts in edges.switches() {
            let free: Vec<HostId> =
                hosts.iter().copied().filter(|host| request.free[host.0 as usize]).collect();
            groups.extend(Some(free).filter(|free| !free.is_empty()));
        }
        let bits = groups.len().next_power_of_two().trailing_zeros();
        let reversed = |number: usize| number.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
        let order = (0..1_usize << bits).map(reversed).filter(|group| *group < groups.len());
        let order: Vec<usize> = order.collect();
        let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
        let mut enough = Enough::new(request);
        for turn in 0..longest {
            enough.take(order.iter().filter_map(|group| groups[*group].get(turn).copied()));
        }
        Ok(enough.hosts)
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::TrafficMatrix;

    use super::*;
    use crate::topology::test_tree::tree;

    #[test]
    fn one_of_each_switch_in_turn_evenly_spread() {
        let topology = tree(&[vec![1; 2], vec![1; 2], vec![1; 1], vec![1; 3]], 1, &[1.0]);
        let mut free = vec![true; 8];
        free[2] = false;
        let select = |processes| {
            let matrix = &TrafficMatrix::default();
            let request = HostRequest { topology: &topology, free: &free, processes, matrix, judge: None };
            Scattered::default().select(&request).unwrap().into_iter().map(|host| host.0).collect::<Vec<_>>()
        };
        // Switches 0, 2, 1, 3; of switch 1 host 3 alone is free.
        assert_eq!(select(2), [0, 4]);
        assert_eq!(select(7), [0, 4, 3, 5, 1, 6, 7]);
    }
}
