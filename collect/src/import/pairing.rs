//! First in, first out by envelope: messages from one rank to another with one communicator and tag
//! do not overtake each other (MPI 4.1, section 3.5), so the n-th send belongs to the n-th receive
//! in the order of posting.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// The envelope of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Envelope {
    pub(super) communicator: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) tag: i32,
}

/// Queues by key. Memory: what is in them; a queue that is empty again is forgotten.
#[derive(Debug)]
pub(super) struct Queues<K, T> {
    /// First and last node of each queue.
    ends: FxHashMap<K, (u32, u32)>,
    nodes: Vec<Node<T>>,
    /// A list of nodes that are not in use.
    free: Option<u32>,
    len: usize,
}

#[derive(Debug)]
struct Node<T> {
    value: T,
    next: Option<u32>,
}

impl<K, T> Default for Queues<K, T> {
    fn default() -> Self {
        Self { ends: FxHashMap::default(), nodes: Vec::new(), free: None, len: 0 }
    }
}

impl<K: Copy + Eq + Hash, T: Copy> Queues<K, T> {
    /// Number of all values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends a value to the queue of a key.
    #[inline]
    pub(super) fn push(&mut self, key: K, value: T) {
        let node = Node { value, next: None };
        let place = match self.free {
            Some(free) => {
                let used = &mut self.nodes[free as usize];
                self.free = used.next;
                *used = node;
                free
            }
            None => {
                self.nodes.push(node);
                // There are fewer values than bytes in memory; 2³² of them would be 64 GB.
                (self.nodes.len() - 1) as u32
            }
        };
        self.len += 1;
        match self.ends.get_mut(&key) {
            Some((_, last)) => {
                self.nodes[*last as usize].next = Some(place);
                *last = place;
            }
            None => {
                self.ends.insert(key, (place, place));
            }
        }
    }

    /// The oldest value of a key.
    #[inline]
    pub(super) fn pop(&mut self, key: &K) -> Option<T> {
        let (first, _) = self.ends.get_mut(key)?;
        let place = *first;
        let node = &mut self.nodes[place as usize];
        let value = node.value;
        match node.next {
            Some(next) => *first = next,
            None => {
                self.ends.remove(key);
            }
        }
        self.nodes[place as usize].next = self.free;
        self.free = Some(place);
        self.len -= 1;
        Some(value)
    }

    /// The oldest value of a key, which stays.
    pub(super) fn peek(&self, key: &K) -> Option<T> {
        self.ends.get(key).map(|(first, _)| self.nodes[*first as usize].value)
    }

    /// The oldest value of each key, in undefined order.
    pub(super) fn heads(&self) -> impl Iterator<Item = (&K, &T)> {
        self.ends.iter().map(|(key, (first, _))| (key, &self.nodes[*first as usize].value))
    }

    /// All keys and values that are left, by queue, in undefined order of the queues.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.ends.iter().flat_map(|(key, (first, _))| {
            let nodes = std::iter::successors(Some(&self.nodes[*first as usize]), |node| {
                node.next.map(|next| &self.nodes[next as usize])
            });
            nodes.map(move |node| (key, &node.value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, VecDeque};

    proptest! {
        #[test]
        fn as_queues_of_the_standard_library(steps in prop::collection::vec((0u8..4, any::<bool>(), any::<u16>()), 0..200)) {
            let mut queues = Queues::default();
            let mut plain: HashMap<u8, VecDeque<u16>> = HashMap::new();
            for (key, is_push, value) in steps {
                if is_push {
                    queues.push(key, value);
                    plain.entry(key).or_default().push_back(value);
                } else {
                    prop_assert_eq!(queues.pop(&key), plain.get_mut(&key).and_then(VecDeque::pop_front));
                }
            }
            prop_assert_eq!(queues.len(), plain.values().map(VecDeque::len).sum::<usize>());
            for (key, left) in plain {
                let of_key = queues.iter().filter(|(found, _)| **found == key).map(|(_, value)| *value);
                prop_assert_eq!(of_key.collect::<VecDeque<_>>(), left);
            }
        }
    }
}
