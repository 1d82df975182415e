//! Lists of links in one arena: a list costs no allocation, and the room of one that has gone is
//! for the next of its length.

/// The place of a list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkList {
    start: u32,
    len: u32,
}

/// The lists.
#[derive(Clone, Debug, Default)]
pub(super) struct LinkLists {
    links: Vec<u32>,
    /// By length: unused spans.
    unused: Vec<Vec<u32>>,
}

impl LinkList {
    /// Places of its links in the arena.
    #[inline]
    pub(super) fn places(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

impl LinkLists {
    /// Room for `links` more links.
    pub(super) fn reserve(&mut self, links: usize) {
        self.links.reserve(links);
    }

    #[inline]
    pub(super) fn insert(&mut self, list: impl ExactSizeIterator<Item = u32>) -> LinkList {
        let len = list.len();
        if let Some(start) = self.unused.get_mut(len).and_then(Vec::pop) {
            let span = LinkList { start, len: len as u32 };
            self.links[span.places()].iter_mut().zip(list).for_each(|(place, link)| *place = link);
            return span;
        }
        let start = self.links.len() as u32;
        self.links.extend(list);
        LinkList { start, len: len as u32 }
    }

    #[inline]
    pub(super) fn get(&self, span: LinkList) -> &[u32] {
        &self.links[span.places()]
    }

    #[inline]
    pub(super) fn remove(&mut self, span: LinkList) {
        let len = span.len as usize;
        if self.unused.len() <= len {
            self.unused.resize_with(len + 1, Vec::new);
        }
        self.unused[len].push(span.start);
    }
}
