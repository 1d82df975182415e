//! Replacement of recorded collectives by other algorithms.

use std::borrow::Cow;

use phaseflow_collect::Result;
use phaseflow_collect::expand::Algorithm;

use super::collective_operations::CollectiveOperations;
use super::op::{Op, too_many_messages};
use super::operations::Operations;
use super::parameter_server::ParameterServer;

/// The algorithm that replaces recorded collectives. Blocking `MPI_Allreduce` calls are replaced;
/// all others stay as recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replacement {
    /// Messages of one of Open MPI's algorithms.
    Messages(Algorithm),
    /// A reduction and a broadcast along binomial trees with rank 0 at their root, one message of a
    /// rank at a time.
    Binomial,
    /// Servers that sum.
    Servers(ParameterServer),
    /// The network sums.
    Network,
}

impl Operations {
    /// The same with collectives carried out as `collectives` says: by further ranks that serve,
    /// or by the network.
    pub(super) fn replaced(
        &self,
        collectives: &CollectiveOperations,
        servers: u32,
        sums_in_network: bool,
    ) -> Self {
        let first = self.messages.len() as u32;
        let renumber = |op: &Op| match *op {
            Op::ReceivePost(number) => Op::ReceivePost(first + number),
            Op::ReceiveWait(number) => Op::ReceiveWait(first + number),
            Op::Send(number) => Op::Send(first + number),
            Op::SendWait(number) => Op::SendWait(first + number),
            other => other,
        };
        let is_kept = |op: &Op| match *op {
            Op::ReceivePost(m) | Op::ReceiveWait(m) | Op::Send(m) | Op::SendWait(m) => {
                !self.messages[m as usize].collective
            }
            _ => true,
        };
        let (mut ops, mut ends) = (Vec::with_capacity(self.ops.len()), Vec::new());
        for rank in 0..self.ranks() {
            for op in self.of(rank).iter().filter(|op| is_kept(op)) {
                ops.push(*op);
                if let Op::Join(number) = *op {
                    let members = &self.groups[self.collectives[number as usize].group as usize];
                    let member = members.partition_point(|member| *member < rank);
                    ops.extend(collectives.of(number, member).iter().map(renumber));
                }
            }
            ends.push(ops.len());
        }
        for server in 0..servers {
            let of_server = collectives.server_ops.get(server as usize);
            ops.extend(of_server.into_iter().flatten().map(renumber));
            ends.push(ops.len());
        }
        // Recorded messages that remain keep their numbers.
        let messages = self.messages.iter().chain(&collectives.transfers).copied().collect();
        Self { ops, ends, messages, is_replaced: true, sums_in_network, servers, ..self.clone() }
    }
}

impl Replacement {
    /// Numbers of servers.
    pub fn servers(&self) -> u32 {
        match self {
            Self::Servers(servers) => servers.shards,
            Self::Messages(_) | Self::Binomial | Self::Network => 0,
        }
    }

    /// Operations with replaced collectives; the same ones if there are none.
    ///
    /// # Errors
    /// More than 2³²−1 messages.
    pub fn apply<'s>(&self, operations: &'s Operations) -> Result<Cow<'s, Operations>> {
        if operations.collectives().is_empty() {
            return Ok(Cow::Borrowed(operations));
        }
        let mut built = CollectiveOperations::default();
        for collective in operations.collectives() {
            built.begin(operations.groups()[collective.group as usize].len());
            let members = &operations.groups()[collective.group as usize];
            match self {
                Self::Network => {}
                Self::Messages(algorithm) => {
                    built.messages(collective.operation, *algorithm, members, collective.bytes)?;
                }
                Self::Binomial => built.binomial(members, collective.bytes),
                Self::Servers(servers) => {
                    // The pieces are counted before they are made: a piece may be a single byte.
                    let pieces = collective.bytes / servers.chunk + u64::from(servers.shards);
                    let messages = pieces.saturating_mul(2 * members.len() as u64);
                    if messages.saturating_add(built.transfers.len() as u64) > u64::from(u32::MAX / 2) {
                        return Err(too_many_messages());
                    }
                    servers.write(&mut built, members, collective.bytes, operations.ranks());
                }
            }
            built.end();
        }
        if operations.messages().len() + built.transfers.len() > u32::MAX as usize / 2 {
            return Err(too_many_messages());
        }
        Ok(Cow::Owned(operations.replaced(&built, self.servers(), *self == Self::Network)))
    }
}
