//! Collectives carried out in another way than the trace has them.

use std::borrow::Cow;
use std::ops::Range;

use phaseflow_collect::expand::{self, Algorithm, Counts, Rules, expand_with};
use phaseflow_collect::trace::Operation;
use phaseflow_collect::{Error, Result};

use super::excerpt::too_many;
use super::parameter_server::ParameterServer;
use super::script::{Op, Script, Transfer};

/// What takes the place of recorded collectives. Replaced are blocking `MPI_Allreduce` calls; all others stay as they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replacement {
    /// Messages of one of Open MPI's algorithms.
    Messages(Algorithm),
    /// A reduction and a broadcast along binomial trees with rank 0 at their root, one message of a rank at a time.
    Binomial,
    /// Servers that sum.
    Servers(ParameterServer),
    /// The network sums.
    Network,
}

/// Bytes of an element, where a vector has whole ones: a C float or int.
const ELEMENT: u64 = 4;

impl Replacement {
    /// Numbers of servers.
    pub fn servers(&self) -> u32 {
        match self {
            Self::Servers(servers) => servers.shards,
            Self::Messages(_) | Self::Binomial | Self::Network => 0,
        }
    }

    /// A script in which ranks do this instead; the same one if it has no collective.
    ///
    /// # Errors
    /// More than 2³²−1 messages.
    pub fn apply<'s>(&self, script: &'s Script) -> Result<Cow<'s, Script>> {
        if script.collectives().is_empty() {
            return Ok(Cow::Borrowed(script));
        }
        let mut writer = Writer::default();
        for collective in script.collectives() {
            writer.begin(script.groups()[collective.group as usize].len());
            let members = &script.groups()[collective.group as usize];
            match self {
                Self::Network => {}
                Self::Messages(algorithm) => {
                    writer.messages(collective.operation, *algorithm, members, collective.bytes)?;
                }
                Self::Binomial => writer.binomial(members, collective.bytes),
                Self::Servers(servers) => {
                    // Pieces may be single bytes: counted before any is made.
                    let pieces = collective.bytes / servers.chunk + u64::from(servers.shards);
                    let messages = pieces.saturating_mul(2 * members.len() as u64);
                    if messages.saturating_add(writer.transfers.len() as u64) > u64::from(u32::MAX / 2) {
                        return Err(too_many());
                    }
                    servers.write(&mut writer, members, collective.bytes, script.ranks());
                }
            }
            writer.end();
        }
        if script.messages().len() + writer.transfers.len() > u32::MAX as usize / 2 {
            return Err(too_many());
        }
        Ok(Cow::Owned(script.replaced(&writer, self.servers(), *self == Self::Network)))
    }
}

/// What each member of each collective does; messages are numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) transfers: Vec<Transfer>,
    /// By collective: where the operations of its members begin in `ends`.
    starts: Vec<usize>,
    /// Where the operations of a member end.
    ends: Vec<usize>,
    ops: Vec<Op>,
    /// Of the collective that is written: by member.
    lists: Vec<Vec<Op>>,
    /// By server: what it does, all collectives one after the other.
    pub(super) server_ops: Vec<Vec<Op>>,
}

impl Writer {
    fn begin(&mut self, members: usize) {
        self.lists.resize_with(members, Vec::new);
    }

    fn end(&mut self) {
        self.starts.push(self.ends.len());
        for list in &mut self.lists {
            self.ops.append(list);
            self.ends.push(self.ops.len());
        }
        self.lists.clear();
    }

    /// What a member does in a collective.
    pub(super) fn of(&self, collective: u32, member: usize) -> &[Op] {
        let place = self.starts[collective as usize] + member;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ops[start..self.ends[place]]
    }

    /// The operations of a member so far.
    pub(super) fn member(&mut self, member: usize) -> &mut Vec<Op> {
        &mut self.lists[member]
    }

    /// The operations of a server so far.
    pub(super) fn server(&mut self, server: usize) -> &mut Vec<Op> {
        if self.server_ops.len() <= server {
            self.server_ops.resize_with(server + 1, Vec::new);
        }
        &mut self.server_ops[server]
    }

    /// A message between ranks of the script; returns its number.
    pub(super) fn transfer(&mut self, src: u32, dst: u32, bytes: u64) -> u32 {
        self.transfers.push(Transfer { src, dst, bytes, ..Transfer::default() });
        (self.transfers.len() - 1) as u32
    }

    fn messages(
        &mut self,
        operation: Operation,
        algorithm: Algorithm,
        members: &[u32],
        bytes: u64,
    ) -> Result<()> {
        let type_bytes = if bytes.is_multiple_of(ELEMENT) { ELEMENT } else { 1 };
        let counts = Counts::Each(bytes / type_bytes);
        let ranks = members.len() as u32;
        let collective =
            expand::Collective { type_bytes, ..expand::Collective::new(operation, ranks, counts) };
        let mut all = Vec::new();
        expand_with(&collective, algorithm, Rules::OpenMpi41, &mut |transfer| all.push(transfer))?;
        // Rounds ascend.
        for round in all.chunk_by(|a, b| a.round == b.round) {
            let pairs = round.iter().map(|transfer| (transfer.src, transfer.dst, transfer.bytes));
            self.round(members, pairs);
        }
        Ok(())
    }

    /// Thakur, Rabenseifner and Gropp, 2005: in step k of the reduction ranks at distance 2ᵏ send to the lower one; the broadcast goes the
    /// same way back, so that the largest subtree is served first.
    fn binomial(&mut self, members: &[u32], bytes: u64) {
        let ranks = members.len() as u32;
        let steps: Vec<u32> =
            (0..u32::BITS).map(|k| 1 << k).take_while(|distance| *distance < ranks).collect();
        let pairs = |distance: u32| {
            let lower = (0..ranks).step_by(2 * distance as usize);
            lower.map(move |lower| (lower, lower + distance)).filter(move |(_, upper)| *upper < ranks)
        };
        for distance in &steps {
            self.round(members, pairs(*distance).map(|(lower, upper)| (upper, lower, bytes)));
        }
        for distance in steps.iter().rev() {
            self.round(members, pairs(*distance).map(|(lower, upper)| (lower, upper, bytes)));
        }
    }

    /// A round: messages between members, by their numbers. All receives are posted, then all sends; then both are waited for.
    fn round(&mut self, members: &[u32], pairs: impl Iterator<Item = (u32, u32, u64)>) {
        let mut round = Vec::new();
        for (src, dst, bytes) in pairs {
            let number = self.transfer(members[src as usize], members[dst as usize], bytes);
            round.push((src as usize, dst as usize, number));
        }
        round.iter().for_each(|(_, dst, number)| self.lists[*dst].push(Op::ReceivePost(*number)));
        round.iter().for_each(|(src, _, number)| self.lists[*src].push(Op::Send(*number)));
        round.iter().for_each(|(_, dst, number)| self.lists[*dst].push(Op::ReceiveWait(*number)));
        round.iter().for_each(|(src, _, number)| self.lists[*src].push(Op::SendWait(*number)));
    }
}

/// Sizes of `parts` parts of a whole, equal but for one byte.
pub(super) fn parts(whole: u64, parts: u64) -> impl Iterator<Item = u64> {
    let range: Range<u64> = 0..parts;
    range.map(move |part| whole / parts + u64::from(part < whole % parts))
}

/// A name that means nothing here.
pub(super) fn shares_of_nothing(what: &str) -> Error {
    Error::usage(format!("{what} is 0, expected 1 at least"))
}
