//! The flows of each link.
//!
//! A class that ends is not removed from the lists of its links at once. It stays there as *stale*
//! until the list is next scanned, or full. Its number is not reused before.

use super::{Class, ClassId};

/// Members of a link's first block: most links of a large network have few.
const LEAST_ROOM: u32 = 2;
/// Members from which full blocks double, which saves memory; smaller ones grow fourfold, which
/// saves copies. A quarter and four times as many change the time of the flow model by less than
/// the noise, 10 % (`halo3d`, `alltoall` and `random` on 128 ranks).
const MUCH_ROOM: u32 = 128;

/// Classes by link, in one arena: links that few cross cost no allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    links: Vec<Block>,
    arena: Vec<ClassId>,
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
    pub(super) fn new(links: usize) -> Self {
        let mut members = Self { links: Vec::with_capacity(links), ..Self::default() };
        members.arena.reserve(links * LEAST_ROOM as usize);
        (0..links).for_each(|_| members.add_link());
        members
    }

    /// Room for `members` members on all links together.
    pub(super) fn reserve(&mut self, members: usize) {
        self.arena.reserve(members);
    }

    pub(super) fn add_link(&mut self) {
        self.links.push(Block { start: self.arena.len() as u32, len: 0, room: LEAST_ROOM });
        self.arena.resize(self.arena.len() + LEAST_ROOM as usize, ClassId::default());
    }

    /// The members, stale ones among them.
    #[inline]
    pub(super) fn of(&self, link: u32) -> &[ClassId] {
        let block = self.links[link as usize];
        &self.arena[block.start as usize..(block.start + block.len) as usize]
    }

    /// Adds a class; false if there is no [room](Self::make_room).
    #[inline]
    pub(super) fn push(&mut self, link: u32, class: ClassId) -> bool {
        let block = &mut self.links[link as usize];
        if block.len == block.room {
            return false;
        }
        self.arena[(block.start + block.len) as usize] = class;
        block.len += 1;
        true
    }

    /// Drops stale members of a link, all but `live` of them, and says which classes are no member
    /// of any link any more.
    #[inline]
    pub(super) fn clean(&mut self, link: u32, live: u32, classes: &mut [Class], gone: &mut Vec<u32>) {
        if self.links[link as usize].len != live {
            self.drop_stale(link, classes, gone);
        }
    }

    fn drop_stale(&mut self, link: u32, classes: &mut [Class], gone: &mut Vec<u32>) {
        let block = &mut self.links[link as usize];
        let members = &mut self.arena[block.start as usize..(block.start + block.len) as usize];
        let mut kept = 0;
        for place in 0..members.len() {
            let member = members[place];
            let class = &mut classes[member.0 as usize];
            members[kept] = member;
            if class.count > 0 {
                kept += 1;
                continue;
            }
            class.stale -= 1;
            if class.stale == 0 {
                gone.push(member.0);
            }
        }
        block.len = kept as u32;
    }

    /// Makes room on a link that is full.
    #[cold]
    pub(super) fn make_room(&mut self, link: u32, live: u32, classes: &mut [Class], gone: &mut Vec<u32>) {
        self.clean(link, live, classes, gone);
        let Block { start, len, room } = self.links[link as usize];
        if len <= room / 2 {
            return;
        }
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
                self.arena.resize(place + more as usize, ClassId::default());
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
