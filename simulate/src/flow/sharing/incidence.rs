//! Who crosses which link: routes by class, members by link, both in arenas that are reused.

use super::ClassId;
use crate::flow::spans::{Span, Spans};

/// A class on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) class: ClassId,
    /// Where the class's route names the link.
    place: u32,
}

/// Routes and members, each knowing where it stands in the other, so that a class leaves in one step per link.
#[derive(Clone, Debug, Default)]
pub(super) struct Incidence {
    routes: Spans,
    /// By place in `routes`: position among the members of that link.
    positions: Vec<u32>,
    /// By link.
    members: Vec<Vec<Member>>,
}

impl Incidence {
    pub(super) fn new(links: usize) -> Self {
        Self { members: vec![Vec::new(); links], ..Self::default() }
    }

    pub(super) fn reserve(&mut self, links: usize) {
        self.routes.reserve(links);
        self.positions.reserve(links);
    }

    pub(super) fn add_link(&mut self) {
        self.members.push(Vec::new());
    }

    /// Enters a class; its route names no link twice.
    pub(super) fn insert(&mut self, class: ClassId, route: impl ExactSizeIterator<Item = u32>) -> Span {
        let span = self.routes.insert(route);
        self.positions.resize(self.routes.len(), 0);
        let positions = &mut self.positions[span.places()];
        for ((place, position), link) in span.places().zip(positions).zip(self.routes.get(span)) {
            let members = &mut self.members[*link as usize];
            *position = members.len() as u32;
            members.push(Member { class, place: place as u32 });
        }
        span
    }

    /// Takes a class off its links.
    pub(super) fn remove(&mut self, span: Span) {
        for (place, link) in span.places().zip(self.routes.get(span)) {
            let members = &mut self.members[*link as usize];
            let position = self.positions[place];
            members.swap_remove(position as usize);
            if let Some(moved) = members.get(position as usize) {
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
        &self.members[link as usize]
    }
}
