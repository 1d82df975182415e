//! Tracker of the stretches of a run with messages in flight.

use std::collections::VecDeque;

use crate::Result;
use crate::truth::TrueStretch;

/// Names of a stretch, as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) label: usize,
    pub(super) outer: usize,
}

/// Tracks the stretches with messages in flight, and passes on complete ones in order.
pub(super) struct Tracker<'a> {
    names: &'a [String],
    emit: &'a mut dyn FnMut(&TrueStretch<'_>) -> Result<()>,
    open: VecDeque<Open>,
    /// Number of the first open stretch.
    first: u64,
    /// Messages so far.
    position: u64,
}

#[derive(Debug)]
struct Open {
    name: Name,
    idle: bool,
    start_ns: Option<i64>,
    sent: u64,
    seen: u64,
    closed: bool,
    messages: Option<(u64, u64)>,
    /// Latest arrival of its messages so far.
    arrival_ns: i64,
}

impl<'a> Tracker<'a> {
    pub(super) fn new(names: &'a [String], emit: &'a mut dyn FnMut(&TrueStretch<'_>) -> Result<()>) -> Self {
        Self { names, emit, open: VecDeque::new(), first: 0, position: 0 }
    }

    /// The program goes on to another stretch; its number.
    pub(super) fn begin(&mut self, name: Name, idle: bool) -> u64 {
        if let Some(last) = self.open.back_mut() {
            last.closed = true;
        }
        let number = self.first + self.open.len() as u64;
        self.open.push_back(Open {
            name,
            idle,
            start_ns: (number == 0).then_some(0),
            sent: 0,
            seen: 0,
            closed: false,
            messages: None,
            arrival_ns: 0,
        });
        number
    }

    /// The last stretch sends a message.
    pub(super) fn sent(&mut self) {
        if let Some(last) = self.open.back_mut() {
            last.sent += 1;
        }
    }

    /// The next message of the trace belongs to this stretch, or to none.
    pub(super) fn seen(&mut self, stretch: Option<u64>, post_ns: i64, arrival_ns: i64) -> Result<()> {
        let position = self.position;
        self.position += 1;
        let Some(number) = stretch else { return Ok(()) };
        let Some(open) = self.open.get_mut((number - self.first) as usize) else { return Ok(()) };
        open.start_ns.get_or_insert(post_ns);
        open.seen += 1;
        open.messages = Some((open.messages.map_or(position, |messages| messages.0), position));
        open.arrival_ns = open.arrival_ns.max(arrival_ns);
        self.settle(None)
    }

    /// Passes on complete stretches; all of them once the end of the run is known.
    pub(super) fn settle(&mut self, end_ns: Option<i64>) -> Result<()> {
        while let Some(front) = self.open.front() {
            if front.sent != front.seen || !(front.closed || end_ns.is_some()) {
                break;
            }
            let end = match self.open.get(1) {
                Some(next) if next.idle => Some(front.arrival_ns),
                Some(next) => next.start_ns,
                None => end_ns,
            };
            let Some(end) = end else { break };
            let start = front.start_ns.unwrap_or_default();
            let end = end.max(start);
            let name = |index: usize| self.names.get(index).map_or("", String::as_str);
            let stretch = TrueStretch {
                start_ns: start.cast_unsigned(),
                end_ns: end.cast_unsigned(),
                label: name(front.name.label),
                outer: Some(name(front.name.outer)),
                messages: front.messages,
            };
            (self.emit)(&stretch)?;
            self.open.pop_front();
            self.first += 1;
            if let Some(next) = self.open.front_mut() {
                next.start_ns = Some(end);
            }
        }
        Ok(())
    }
}
