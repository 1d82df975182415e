//! Which messages wait for earlier ones before they begin to share links.
//!
//! A transport sends the messages of one connection one after the other: TCP has one byte stream
//! for a pair of processes, RDMA one queue pair. Without that order, messages that pile up on a
//! connection share its rate and arrive together, the last as early as the first. Ranks that wait
//! for the first then run in bursts, with idle links between them: a ring allreduce that some ranks
//! enter late takes three times as long (docs/models-flow.md, *Order*).
//!
//! Memory: 40 bytes for each connection with a message and for each of the latest ones without, 48
//! for each message that waits.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Pair;
use crate::topology::HostId;

/// Which messages go one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Those of one rank to another. Messages to different ranks share the sender's link, as TCP
    /// streams do and as RDMA adapters serve queue pairs in turn.
    #[default]
    Connection,
    /// All that leave a host, as from an adapter with one queue. The head of the queue holds up
    /// messages for other hosts, even if its own route is full further on.
    Adapter,
    /// None: all go at once, as in SimGrid's SMPI.
    None,
}

impl Order {
    /// Names, in the order of declaration.
    pub const NAMES: &[&str] = &["connection", "adapter", "none"];

    /// The order of a name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Connection, Self::Adapter, Self::None];
        all.into_iter().zip(Self::NAMES).find(|(_, own)| **own == name).map(|(order, _)| order)
    }
}

/// What messages of one queue have in common: job and ranks, or the sending host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Ranks(u32, Pair),
    Host(HostId),
}

/// Connections that are kept although no message uses them: 3 MB. Beyond it, one that is not used
/// gives its number away.
const KEPT: usize = 1 << 16;

/// No connection: the flow waits for no other one.
pub(super) const UNORDERED: u32 = u32::MAX;

/// The connections of a network; `W` is a flow that waits for one.
#[derive(Clone, Debug)]
pub(super) struct Connections<W> {
    order: Order,
    /// The job and ranks of flows that start now, if they have any.
    ranks: Option<(u32, Pair)>,
    numbers: FxHashMap<Key, u32>,
    all: Vec<Connection>,
    /// Numbers of `all` that no key has.
    unused: Vec<u32>,
    /// By connection that has some: flows that wait.
    queues: FxHashMap<u32, VecDeque<W>>,
}

/// A connection.
#[derive(Clone, Debug)]
struct Connection {
    key: Key,
    /// Flows that were given it and have not left.
    flows: u32,
    /// True if one of them is under way.
    is_busy: bool,
}

impl<W> Connections<W> {
    pub(super) fn new(order: Order) -> Self {
        Self {
            order,
            ranks: None,
            numbers: FxHashMap::default(),
            all: Vec::new(),
            unused: Vec::new(),
            queues: FxHashMap::default(),
        }
    }

    /// Flows that start from now on are from one of these ranks of a job to the other.
    pub(super) fn belong(&mut self, job: u32, pair: Pair) {
        self.ranks = Some((job, pair));
    }

    /// The connection of a flow that leaves a host now; [`UNORDERED`] if it has none.
    pub(super) fn of(&mut self, src: HostId) -> u32 {
        let key = match self.order {
            Order::Connection => self.ranks.map(|(job, pair)| Key::Ranks(job, pair)),
            Order::Adapter => Some(Key::Host(src)),
            Order::None => None,
        };
        let Some(key) = key else { return UNORDERED };
        let (all, unused) = (&mut self.all, &mut self.unused);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            let idle = Connection { key, flows: 0, is_busy: false };
            let number = unused.pop().unwrap_or(all.len() as u32);
            match all.get_mut(number as usize) {
                Some(place) => *place = idle,
                None => all.push(idle),
            }
            number
        });
        all[number as usize].flows += 1;
        number
    }

    /// Queues a flow on its connection. Returns it if it may start at once.
    pub(super) fn enter(&mut self, connection: u32, flow: W) -> Option<W> {
        let Some(state) = self.all.get_mut(connection as usize) else { return Some(flow) };
        if std::mem::replace(&mut state.is_busy, true) {
            self.queues.entry(connection).or_default().push_back(flow);
            return None;
        }
        Some(flow)
    }

    /// The flows that wait for others of their connection.
    pub(super) fn waiting_mut(&mut self) -> impl Iterator<Item = &mut W> {
        self.queues.values_mut().flatten()
    }

    /// Ends the active flow of a connection and returns the next one, if any waits.
    pub(super) fn leave(&mut self, connection: u32) -> Option<W> {
        let state = self.all.get_mut(connection as usize)?;
        state.flows -= 1;
        let Some(queue) = self.queues.get_mut(&connection) else {
            state.is_busy = false;
            if state.flows == 0 && self.numbers.len() > KEPT {
                self.numbers.remove(&state.key);
                self.unused.push(connection);
            }
            return None;
        };
        let next = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&connection);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_a_connection_go_one_after_the_other() {
        let mut connections = Connections::new(Order::Connection);
        connections.belong(0, (1, 2));
        let one = connections.of(HostId(0));
        connections.belong(0, (1, 3));
        let other = connections.of(HostId(0));
        for _ in 0..3 {
            connections.belong(0, (1, 2));
            assert_eq!(connections.of(HostId(0)), one);
        }
        assert_eq!(connections.enter(one, 'a'), Some('a'));
        assert_eq!(connections.enter(one, 'b'), None);
        assert_eq!(connections.enter(one, 'c'), None);
        assert_eq!(connections.enter(other, 'd'), Some('d'));
        assert_eq!(connections.leave(one), Some('b'));
        assert_eq!(connections.leave(other), None);
        assert_eq!(connections.leave(one), Some('c'));
        assert_eq!(connections.leave(one), None);
        assert_eq!(connections.enter(one, 'e'), Some('e'));
    }

    #[test]
    fn connections_that_no_flow_uses_are_given_away() {
        let mut connections = Connections::new(Order::Connection);
        let many = KEPT as u32 + 1000;
        for other in 0..many {
            connections.belong(0, (0, other));
            let number = connections.of(HostId(0));
            assert_eq!(connections.enter(number, other), Some(other));
            assert_eq!(connections.leave(number), None);
        }
        assert_eq!((connections.numbers.len(), connections.all.len()), (KEPT, KEPT + 1));
        // One that has a flow keeps its number.
        connections.belong(0, (1, 1));
        let used = connections.of(HostId(0));
        for other in many..2 * many {
            connections.belong(0, (0, other));
            let number = connections.of(HostId(0));
            assert_ne!(number, used);
            connections.enter(number, other);
            connections.leave(number);
        }
        connections.belong(0, (1, 1));
        assert_eq!(connections.of(HostId(0)), used);
    }

    #[test]
    fn an_adapter_has_one_queue_and_no_order_none() {
        let mut connections = Connections::<()>::new(Order::Adapter);
        let [one, other] = [0, 1].map(|host| connections.of(HostId(host)));
        connections.belong(3, (1, 3));
        assert_eq!([one, other], [0, 1].map(|host| connections.of(HostId(host))));
        assert_ne!(one, other);
        let mut none = Connections::<()>::new(Order::None);
        none.belong(3, (1, 3));
        assert_eq!(none.of(HostId(0)), UNORDERED);
        // Flows without ranks, as those of a list, have no connection.
        assert_eq!(Connections::<()>::new(Order::Connection).of(HostId(0)), UNORDERED);
    }

    #[test]
    fn names_are_those_of_the_orders() {
        assert_eq!(
            Order::NAMES.iter().map(|name| Order::named(name)).collect::<Vec<_>>(),
            [Some(Order::Connection), Some(Order::Adapter), Some(Order::None)]
        );
        assert_eq!(Order::named("fifo"), None);
    }
}
