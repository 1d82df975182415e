//! Who crosses which link: routes by class, members by link, both in arenas that are reused.

use super::ClassId;

/// A class on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) class: ClassId,
    /// Where the class's route names the link.
    place: u32,
}

/// Where the route of a class stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: u32,
    len: u32,
}

/// Routes and members, each knowing where it stands in the other, so that a class leaves in one step per link.
#[derive(Clone, Debug, Default)]
pub(super) struct Incidence {
    /// Links of all routes.
    links: Vec<u32>,
    /// By place in `links`: position among the members of that link.
    positions: Vec<u32>,
    /// By length of route: unused stretches.
    unused: Vec<Vec<u32>>,
    /// By link.
    members: Vec<Vec<Member>>,
}

impl Incidence {
    pub(super) fn new(links: usize) -> Self {
        Self { members: vec![Vec::new(); links], ..Self::default() }
    }

    pub(super) fn add_link(&mut self) {
        self.members.push(Vec::new());
    }

    /// Enters a class; its route names no link twice.
    pub(super) fn insert(&mut self, class: ClassId, route: impl ExactSizeIterator<Item = u32>) -> Span {
        let len = route.len();
        if self.unused.len() <= len {
            self.unused.resize_with(len + 1, Vec::new);
        }
        let start = self.unused[len].pop().unwrap_or_else(|| {
            let start = self.links.len();
            self.links.resize(start + len, 0);
            self.positions.resize(start + len, 0);
            start as u32
        });
        for (place, link) in (start..).zip(route) {
            let members = &mut self.members[link as usize];
            self.links[place as usize] = link;
            self.positions[place as usize] = members.len() as u32;
            members.push(Member { class, place });
        }
        Span { start, len: len as u32 }
    }

    /// Takes a class off its links.
    pub(super) fn remove(&mut self, span: Span) {
        for place in span.start..span.start + span.len {
            let members = &mut self.members[self.links[place as usize] as usize];
            let position = self.positions[place as usize];
            members.swap_remove(position as usize);
            if let Some(moved) = members.get(position as usize) {
                self.positions[moved.place as usize] = position;
            }
        }
        self.unused[span.len as usize].push(span.start);
    }

    #[inline]
    pub(super) fn route(&self, span: Span) -> &[u32] {
        &self.links[span.start as usize..(span.start + span.len) as usize]
    }

    #[inline]
    pub(super) fn members(&self, link: u32) -> &[Member] {
        &self.members[link as usize]
    }
}
