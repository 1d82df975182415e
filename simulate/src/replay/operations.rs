//! What each rank of a replay does, in its order.

use super::collectives::Collective;
use super::op::{Op, Transfer};

/// What each rank does, in its order. Memory: about 130 bytes a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operations {
    pub(super) ops: Vec<Op>,
    /// By rank: where its operations end.
    pub(super) ends: Vec<usize>,
    pub(super) gaps_ns: Vec<u64>,
    pub(super) messages: Vec<Transfer>,
    /// Stretches that the boundaries make.
    pub(super) stretches: usize,
    pub(super) collectives: Vec<Collective>,
    pub(super) groups: Vec<Vec<u32>>,
    /// Collectives are not carried out as recorded.
    pub(super) is_replaced: bool,
    pub(super) sums_in_network: bool,
    /// The last ranks.
    pub(super) servers: u32,
    /// Sends without a known receive in a trace that has other receives: the first few, and their
    /// number.
    pub(super) unmatched: (Vec<u32>, u64),
}

/// Unmatched sends that are named.
pub(super) const NAMED: usize = 5;

impl Operations {
    /// The collectives that can be carried out in another way.
    pub fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    /// The sets of ranks that take part in collectives, each in ascending order.
    pub fn groups(&self) -> &[Vec<u32>] {
        &self.groups
    }

    /// True if the network computes the sums that ranks [join](Op::Join).
    pub fn sums_in_network(&self) -> bool {
        self.sums_in_network
    }

    /// Number of servers: the last ranks, which are not part of the program.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// Number of ranks, with servers.
    pub fn ranks(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The operations of a rank.
    pub fn of(&self, rank: u32) -> &[Op] {
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        &self.ops[start..self.ends[rank]]
    }

    /// The messages.
    pub fn messages(&self) -> &[Transfer] {
        &self.messages
    }

    /// Messages that are sent, without those that a replacement stands for.
    pub fn live_messages(&self) -> impl Iterator<Item = &Transfer> {
        self.messages.iter().filter(|message| !(self.is_replaced && message.collective))
    }

    /// Length of a gap, nanoseconds.
    pub fn gap_ns(&self, index: u32) -> u64 {
        self.gaps_ns[index as usize]
    }

    /// How many stretches the run is split into.
    pub fn stretches(&self) -> usize {
        self.stretches
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        let of = |count: usize, size: usize| (count * size) as u64;
        of(self.ops.len(), size_of::<Op>())
            + of(self.ends.len() + self.gaps_ns.len(), 8)
            + of(self.messages.len(), size_of::<Transfer>())
            + of(self.collectives.len(), size_of::<Collective>())
    }

    /// Visits numbers that identify the operations.
    pub(crate) fn digest(&self, number: &mut dyn FnMut(u64)) {
        for rank in 0..self.ranks() {
            number(self.of(rank).len() as u64);
            for op in self.of(rank) {
                let (kind, value) = match op {
                    Op::Compute(gap) => (0, self.gap_ns(*gap)),
                    Op::ReceivePost(message) => (1, u64::from(*message)),
                    Op::ReceiveWait(message) => (2, u64::from(*message)),
                    Op::Send(message) => (3, u64::from(*message)),
                    Op::SendWait(message) => (4, u64::from(*message)),
                    Op::Boundary(boundary) => (5, u64::from(*boundary)),
                    Op::Join(collective) => (6, u64::from(*collective)),
                };
                number(kind);
                number(value);
            }
        }
        for Collective { group, bytes, .. } in &self.collectives {
            number(u64::from(*group));
            number(*bytes);
        }
        for Transfer { src, dst, bytes, buffered, announced, collective } in &self.messages {
            number(u64::from(*src) << 32 | u64::from(*dst));
            number(*bytes);
            number(u64::from(*collective) << 2 | u64::from(*buffered) << 1 | u64::from(*announced));
        }
    }

    /// Number of a message among the sends of its rank, from 1.
    pub fn position(&self, message: u32) -> usize {
        let Some(transfer) = self.messages.get(message as usize) else { return 0 };
        let sends = self.of(transfer.src).iter().filter_map(|op| match op {
            Op::Send(number) => Some(*number),
            _ => None,
        });
        sends.take_while(|number| *number != message).count() + 1
    }

    /// Sends without a known receive in a trace that has other receives, a line each, by rank and
    /// position; `None` if there are none.
    pub fn unmatched(&self) -> Option<String> {
        let (first, count) = &self.unmatched;
        let name = |number: &u32| {
            let Transfer { src, dst, bytes, .. } = self.messages[*number as usize];
            format!("rank {src}, send {} ({bytes} bytes to rank {dst})", self.position(*number))
        };
        let named: Vec<String> = first.iter().map(name).collect();
        let more = if *count > named.len() as u64 { ", …" } else { "" };
        (*count > 0).then(|| format!("{count} sends have no known receive: {}{more}", named.join(", ")))
    }
}
