//! Operations of the members of collectives that are carried out in another way than recorded.

use super::op::{Op, Transfer};

/// What each member of each collective does; messages are numbered from 0.
#[derive(Debug, Default)]
pub(super) struct CollectiveOperations {
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

impl CollectiveOperations {
    pub(super) fn begin(&mut self, members: usize) {
        self.lists.resize_with(members, Vec::new);
    }

    pub(super) fn end(&mut self) {
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

    /// A message between ranks of the replay; returns its number.
    pub(super) fn transfer(&mut self, src: u32, dst: u32, bytes: u64) -> u32 {
        self.transfers.push(Transfer { src, dst, bytes, ..Transfer::default() });
        (self.transfers.len() - 1) as u32
    }
}
