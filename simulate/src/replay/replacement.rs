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
    /// Messages of one algorithm after the other: reduce and broadcast along binomial trees are two.
    Messages(&'static [(Operation, Algorithm)]),
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
            Self::Messages(_) | Self::Network => 0,
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
                Self::Messages(algorithms) => writer.messages(algorithms, members, collective.bytes)?,
                Self::Servers(servers) => {
                    servers.write(&mut writer, members, collective.bytes, script.ranks())
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

    fn messages(&mut self, algorithms: &[(Operation, Algorithm)], members: &[u32], bytes: u64) -> Result<()> {
        let type_bytes = if bytes.is_multiple_of(ELEMENT) { ELEMENT } else { 1 };
        for (operation, algorithm) in algorithms {
            let counts = Counts::Each(bytes / type_bytes);
            let ranks = members.len() as u32;
            let collective =
                expand::Collective { type_bytes, ..expand::Collective::new(*operation, ranks, counts) };
            // Rounds ascend.
            let mut round: Vec<(expand::Transfer, u32)> = Vec::new();
            let mut all = Vec::new();
            expand_with(&collective, *algorithm, Rules::OpenMpi41, &mut |transfer| all.push(transfer))?;
            for transfer in all {
                if round.first().is_some_and(|(first, _)| first.round != transfer.round) {
                    self.round(&round);
                    round.clear();
                }
                let (src, dst) = (members[transfer.src as usize], members[transfer.dst as usize]);
                round.push((transfer, self.transfer(src, dst, transfer.bytes)));
            }
            self.round(&round);
        }
        Ok(())
    }

    /// In each round all receives are posted, then all sends; then both are waited for.
    fn round(&mut self, round: &[(expand::Transfer, u32)]) {
        for (transfer, number) in round {
            self.lists[transfer.dst as usize].push(Op::ReceivePost(*number));
        }
        for (transfer, number) in round {
            self.lists[transfer.src as usize].push(Op::Send(*number));
        }
        for (transfer, number) in round {
            self.lists[transfer.dst as usize].push(Op::ReceiveWait(*number));
        }
        for (transfer, number) in round {
            self.lists[transfer.src as usize].push(Op::SendWait(*number));
        }
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
