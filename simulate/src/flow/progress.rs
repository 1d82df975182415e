//! How far the flows of a class have come.
//!
//! All flows of a class have one rate, so one sum serves all: the bytes of a flow that exists from
//! the beginning. A flow finishes when the sum has grown by its bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A flow that shares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    pub(super) bytes: u64,
    /// Flows of equal end finish in this order.
    pub(super) sequence: u64,
    pub(super) key: u32,
    pub(super) path: u32,
    pub(super) connection: u32,
}

/// The flows of one class, which take one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Bytes by flow from the beginning to `since`.
    served: f64,
    /// Picoseconds.
    since: f64,
    /// Bytes per picosecond.
    rate: f64,
    /// Where `served` will be when `first` finishes.
    target: f64,
    first: Flow,
    /// The other flows; most classes have none.
    rest: Option<Box<Rest>>,
}

/// Target by its bits, sequence, key, bytes, connection.
type Rest = BinaryHeap<Reverse<(u64, u64, u32, u64, u32)>>;

impl Progress {
    /// A class begins with one flow.
    pub(super) fn open(&mut self, now: f64, flow: Flow) {
        (self.served, self.since, self.rate) = (0.0, now, 0.0);
        (self.target, self.first) = (flow.bytes as f64, flow);
    }

    /// A flow more.
    pub(super) fn join(&mut self, now: f64, flow: Flow) {
        self.serve(now);
        let target = self.served + flow.bytes as f64;
        let (mut later, mut later_target) = (flow, target);
        if target < self.target {
            std::mem::swap(&mut self.first, &mut later);
            std::mem::swap(&mut self.target, &mut later_target);
        }
        let rest = self.rest.get_or_insert_default();
        let Flow { bytes, sequence, key, connection, .. } = later;
        rest.push(Reverse((later_target.to_bits(), sequence, key, bytes, connection)));
    }

    /// The first flow has finished; true if it was the last one.
    pub(super) fn leave(&mut self, now: f64) -> (Flow, bool) {
        let flow = self.first;
        self.serve(now);
        let next = self.rest.as_mut().and_then(|rest| rest.pop());
        if let Some(Reverse((target, sequence, key, bytes, connection))) = next {
            self.target = f64::from_bits(target);
            self.first = Flow { bytes, sequence, key, path: flow.path, connection };
        }
        (flow, next.is_none())
    }

    /// A flow goes on at the rate of the last one, which has just left.
    pub(super) fn follow(&mut self, flow: Flow) {
        (self.target, self.first) = (self.served + flow.bytes as f64, flow);
    }

    /// The flows, by key, and how many bytes each has got.
    pub(super) fn got(&self, now: f64) -> impl Iterator<Item = (u32, f64)> + Clone {
        let served = self.served + self.rate * (now - self.since);
        let first = (self.first.key, self.first.bytes, self.target);
        let rest = self.rest.iter().flat_map(|rest| rest.iter());
        let rest = rest.map(|Reverse((target, _, key, bytes, _))| (*key, *bytes, f64::from_bits(*target)));
        let got = move |(key, bytes, target): (u32, u64, f64)| {
            (key, (bytes as f64 - (target - served)).clamp(0.0, bytes as f64))
        };
        std::iter::once(first).chain(rest).map(got)
    }

    /// Takes all flows out of their class, with the bytes that each has got.
    pub(super) fn take_all(&mut self, now: f64) -> Vec<(Flow, f64)> {
        let got: Vec<f64> = self.got(now).map(|(_, bytes)| bytes).collect();
        let first = self.first;
        let others = self.rest.take().unwrap_or_default().into_vec().into_iter();
        let others = others.map(|Reverse((_, sequence, key, bytes, connection))| Flow {
            bytes,
            sequence,
            key,
            connection,
            path: first.path,
        });
        let mut flows: Vec<(Flow, f64)> = std::iter::once(first).chain(others).zip(got).collect();
        flows.sort_by_key(|(flow, _)| flow.sequence);
        flows
    }

    /// The rate of each flow from now on.
    #[inline]
    pub(super) fn set_rate(&mut self, now: f64, rate: f64) {
        self.serve(now);
        self.rate = rate;
    }

    /// When the first flow finishes at the present rate.
    #[inline]
    pub(super) fn end(&self) -> f64 {
        let rest = self.target - self.served;
        if rest > 0.0 { self.since + rest / self.rate } else { self.since }
    }

    #[inline]
    fn serve(&mut self, now: f64) {
        self.served += self.rate * (now - self.since);
        self.since = now;
    }
}
