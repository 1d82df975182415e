//! Who crosses which link: routes by class, members by link, both in arenas that are reused.

use super::ClassId;
use crate::flow::spans::{Span, Spans};

/// A class on a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Member {
    pub(super) class: ClassId,
    /// Where the class's route names the link.
    place: u32,
}

/// Members that a link's first block has room for, and those from which blocks grow by half as much: copies are cheap, then memory is.
const LEAST_ROOM: u32 = 2;
const MUCH_ROOM: u32 = 128;

/// Routes and members, each knowing where it stands in the other, so that a class leaves in one step per link.
#[derive(Clone, Debug, Default)]
pub(super) struct Incidence {
    routes: Spans,
    /// By place in `routes`: position among the members of that link.
    positions: Vec<u32>,
    members: Members,
}

/// Members by link, in one arena: links that few cross cost no allocation.
#[derive(Clone, Debug, Default)]
struct Members {
    links: Vec<Block>,
    arena: Vec<Member>,
    /// By binary logarithm of their room: blocks that links have outgrown.
    outgrown: Vec<Vec<u32>>,
}

/// Where the members of a link stand.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    start: u32,
    len: u32,
    /// A power of two.
    room: u32,
}

impl Members {
    fn add_link(&mut self) {
        self.links.push(Block { start: self.arena.len() as u32, len: 0, room: LEAST_ROOM });
        self.arena.resize(self.arena.len() + LEAST_ROOM as usize, Member::default());
    }

    #[inline]
    fn of(&self, link: u32) -> &[Member] {
        let block = self.links[link as usize];
        &self.arena[block.start as usize..(block.start + block.len) as usize]
    }

    /// The position of the new member.
    #[inline]
    fn push(&mut self, link: u32, member: Member) -> u32 {
        let block = self.links[link as usize];
        if block.len == block.room {
            self.grow(link);
        }
        let block = &mut self.links[link as usize];
        self.arena[(block.start + block.len) as usize] = member;
        block.len += 1;
        block.len - 1
    }

    /// Takes the last member into the place of this one; returns it unless this was the last.
    #[inline]
    fn remove(&mut self, link: u32, position: u32) -> Option<Member> {
        let block = &mut self.links[link as usize];
        block.len -= 1;
        let moved = self.arena[(block.start + block.len) as usize];
        self.arena[(block.start + position) as usize] = moved;
        (block.len > position).then_some(moved)
    }

    #[cold]
    fn grow(&mut self, link: u32) {
        let Block { start, len, room } = self.links[link as usize];
        let more = if room < MUCH_ROOM { room * 4 } else { room * 2 };
        let size = more.trailing_zeros() as usize;
        let old = start as usize..(start + len) as usize;
        let place = match self.outgrown.get_mut(size).and_then(Vec::pop) {
            Some(place) => {
                self.arena.copy_within(old, place as usize);
                place
            }
            None => {
                let place = self.arena.len();
                self.arena.extend_from_within(old);
                self.arena.resize(place + more as usize, Member::default());
                place as u32
            }
        };
        let size = room.trailing_zeros() as usize;
        if self.outgrown.len() <= size {
            self.outgrown.resize_with(size + 1, Vec::new);
        }
        self.outgrown[size].push(start);
        self.links[link as usize] = Block { start: place, len, room: more };
    }
}

impl Incidence {
    pub(super) fn new(links: usize) -> Self {
        let mut members = Members { links: Vec::with_capacity(links), ..Members::default() };
        members.arena.reserve(links * LEAST_ROOM as usize);
        (0..links).for_each(|_| members.add_link());
        Self { members, ..Self::default() }
    }

    pub(super) fn reserve(&mut self, links: usize) {
        self.routes.reserve(links);
        self.positions.reserve(links);
        self.members.arena.reserve(links);
    }

    pub(super) fn add_link(&mut self) {
        self.members.add_link();
    }

    /// Enters a class; its route names no link twice.
    pub(super) fn insert(&mut self, class: ClassId, route: impl ExactSizeIterator<Item = u32>) -> Span {
        let span = self.routes.insert(route);
        self.positions.resize(self.routes.len(), 0);
        let positions = &mut self.positions[span.places()];
        for ((place, position), link) in span.places().zip(positions).zip(self.routes.get(span)) {
            *position = self.members.push(*link, Member { class, place: place as u32 });
        }
        span
    }

    /// Takes a class off its links.
    pub(super) fn remove(&mut self, span: Span) {
        for (place, link) in span.places().zip(self.routes.get(span)) {
            let position = self.positions[place];
            if let Some(moved) = self.members.remove(*link, position) {
                self.positions[moved.place as usize] = position;
            }
        }
        self.routes.remove(span);
    }

    #[inline]
    pub(super) fn route(&self, span: Span) -> &[u32] {
        self.routes.get(span)
    }

    #[inline]
    pub(super) fn members(&self, link: u32) -> &[Member] {
        self.members.of(link)
    }
}
