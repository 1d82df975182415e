//! The messages of a connection, cut into packets: a list per connection through one vector.

use super::super::arena::NONE;

/// A message that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) bytes: u64,
    pub(super) key: u32,
    /// Number of its first packet within the connection.
    pub(super) first: u32,
    /// Its packets, at least one.
    pub(super) packets: u32,
    pub(super) next: u32,
}

impl Message {
    /// Bytes in the packet of this number, if each but the last one carries `most`.
    #[inline]
    pub(super) fn payload(&self, seq: u32, most: u32) -> u32 {
        let before = u64::from(seq - self.first) * u64::from(most);
        (self.bytes - before).min(u64::from(most)) as u32
    }

    /// Number of the packet after its last one.
    #[inline]
    pub(super) fn end(&self) -> u32 {
        self.first + self.packets
    }
}

/// Messages by id, with the free ids.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    all: Vec<Message>,
    free: u32,
}

impl Default for Messages {
    fn default() -> Self {
        Self { all: Vec::new(), free: NONE }
    }
}

impl Messages {
    pub(super) fn insert(&mut self, message: Message) -> u32 {
        let id = self.free;
        if let Some(free) = self.all.get_mut(id as usize) {
            self.free = free.next;
            *free = message;
            return id;
        }
        self.all.push(message);
        (self.all.len() - 1) as u32
    }

    /// Forgets a message; returns the one after it.
    pub(super) fn remove(&mut self, id: u32) -> u32 {
        let next = self.all[id as usize].next;
        self.all[id as usize].next = self.free;
        self.free = id;
        next
    }

    pub(super) fn append(&mut self, tail: u32, id: u32) {
        self.all[tail as usize].next = id;
    }
}

impl std::ops::Index<u32> for Messages {
    type Output = Message;

    #[inline]
    fn index(&self, id: u32) -> &Message {
        &self.all[id as usize]
    }
}
