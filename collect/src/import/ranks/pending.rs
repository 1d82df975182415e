//! Events of one rank in the order of their times, held back until their requests complete.
//!
//! A source tells at a wait when an earlier send or receive completed. An event leaves when all
//! before it have left and its own completion is known. Memory: at most [`MOST_HELD`] events; those
//! beyond leave without their completion.

use std::collections::VecDeque;

use super::requests::Requests;
use super::{Event, Lane};

/// Most events that are held back: about 2 MB a rank. A program that posts more requests at a time
/// loses their times of completion, nothing else.
const MOST_HELD: usize = 1 << 14;

/// The completion of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::import) struct Completion {
    /// When the call that found it complete returned.
    pub(in crate::import) time_ns: i64,
    /// Sender of what was received, in the run, if it is known.
    pub(in crate::import) src: Option<u32>,
    /// Its tag, if it is known.
    pub(in crate::import) tag: Option<i32>,
    /// Its size, if it is known.
    pub(in crate::import) bytes: Option<u64>,
    /// It did not take place.
    pub(in crate::import) cancelled: bool,
}

/// The events of a rank on their way.
#[derive(Default)]
pub(in crate::import) struct Pending {
    queue: VecDeque<Held>,
    /// Number of the first event of the queue.
    first: u64,
    /// Open requests, and the number of the event of each.
    open: Requests,
    last_ns: i64,
    back_ns: u64,
    is_begun: bool,
}

struct Held {
    time_ns: i64,
    event: Event,
    /// Its completion is not known yet.
    waits: bool,
}

impl Pending {
    /// Appends an event. Times that go back are set to that of the event before.
    #[inline(always)]
    pub(in crate::import) fn push(&mut self, time_ns: i64, event: Event) {
        self.append(time_ns, event, false);
    }

    /// Appends an event that is complete already.
    #[inline(always)]
    pub(in crate::import) fn push_complete(
        &mut self,
        time_ns: i64,
        mut event: Event,
        completion: &Completion,
    ) {
        finish(&mut event, completion);
        self.append(time_ns, event, false);
    }

    /// Appends an event that waits for its completion; returns its number.
    #[inline(always)]
    pub(in crate::import) fn push_waiting(&mut self, time_ns: i64, event: Event) -> u64 {
        self.append(time_ns, event, true);
        self.first + self.queue.len() as u64 - 1
    }

    /// Appends a send or receive that is complete when its request is. A request that is open
    /// already is so by mistake: its event stays without completion.
    #[inline(always)]
    pub(in crate::import) fn push_open(&mut self, time_ns: i64, event: Event, request: i64) {
        let number = self.push_waiting(time_ns, event);
        if let Some(before) = self.open.insert(request, number, self.first) {
            self.settle(before);
        }
    }

    /// A request is complete; one that is not open changes nothing.
    pub(in crate::import) fn complete(&mut self, request: i64, completion: &Completion) {
        if let Some(event) = self.close(request) {
            finish(event, completion);
        }
    }

    /// A request is complete: its event, which waits no longer, if it has not left.
    #[inline]
    pub(in crate::import) fn close(&mut self, request: i64) -> Option<&mut Event> {
        let number = self.open.remove(request)?;
        self.settle(number)
    }

    /// The event of a number waits no longer; `None` if it has left.
    #[inline]
    pub(in crate::import) fn settle(&mut self, number: u64) -> Option<&mut Event> {
        let held = self.held(number)?;
        held.waits = false;
        Some(&mut held.event)
    }

    /// A request that nobody waits for; its event stays without completion.
    pub(in crate::import) fn release(&mut self, request: i64) {
        self.close(request);
    }

    /// The event of an open request.
    pub(in crate::import) fn opened(&mut self, request: i64) -> Option<&mut Event> {
        let number = self.open.get(request)?;
        self.held(number).map(|held| &mut held.event)
    }

    /// The open requests, in no order.
    pub(in crate::import) fn open(&self) -> impl Iterator<Item = i64> + '_ {
        self.open.iter()
    }

    /// Nothing more will complete.
    pub(in crate::import) fn close_all(&mut self) {
        self.open.clear();
        self.queue.iter_mut().for_each(|held| held.waits = false);
    }

    /// The time of the next event that can leave.
    #[inline]
    pub(in crate::import) fn ready_ns(&self) -> Option<i64> {
        let first = self.queue.front()?;
        (!first.waits || self.queue.len() > MOST_HELD).then_some(first.time_ns)
    }

    /// The next event; call [`ready_ns`](Self::ready_ns) first.
    #[inline]
    pub(in crate::import) fn pop(&mut self) -> Option<(i64, Event)> {
        let held = self.queue.pop_front()?;
        self.first += 1;
        Some((held.time_ns, held.event))
    }

    /// The largest step back of the times.
    pub(in crate::import) fn back_ns(&self) -> u64 {
        self.back_ns
    }

    #[inline(always)]
    fn append(&mut self, time_ns: i64, mut event: Event, waits: bool) {
        if self.is_begun && time_ns < self.last_ns {
            self.back_ns = self.back_ns.max(self.last_ns.abs_diff(time_ns));
        } else {
            (self.last_ns, self.is_begun) = (time_ns, true);
        }
        stamp(&mut event, self.last_ns);
        self.queue.push_back(Held { time_ns: self.last_ns, event, waits });
    }

    fn held(&mut self, number: u64) -> Option<&mut Held> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.queue.get_mut(place)
    }
}

/// Sets the time of an event; what follows it is not earlier.
#[inline]
fn stamp(event: &mut Event, time_ns: i64) {
    match event {
        Event::Message(leaving) => {
            let message = &mut leaving.message;
            message.send_post_ns = time_ns;
            message.send_complete_ns = message.send_complete_ns.map(|end| end.max(time_ns));
            message.receive_complete_ns = message.receive_complete_ns.map(|end| end.max(time_ns));
        }
        Event::Receive { received, .. } => {
            received.post_ns = time_ns;
            received.complete_ns = received.complete_ns.map(|end| end.max(time_ns));
        }
        Event::Call { call, .. } => {
            call.enter_ns = time_ns;
            call.leave_ns = call.leave_ns.map(|end| end.max(time_ns));
        }
        Event::Mark(mark) => mark.time_ns = time_ns,
        Event::Foreign | Event::Counts(..) | Event::Nothing => {}
    }
}

/// Adds to an event what its completion says.
#[inline]
pub(in crate::import) fn finish(event: &mut Event, completion: &Completion) {
    if completion.cancelled {
        *event = Event::Nothing;
        return;
    }
    match event {
        Event::Message(leaving) => {
            let message = &mut leaving.message;
            message.send_complete_ns = Some(completion.time_ns.max(message.send_post_ns));
        }
        Event::Receive { source, received } => {
            received.complete_ns = Some(completion.time_ns.max(received.post_ns));
            received.bytes = completion.bytes;
            source.src = completion.src.or(source.src);
            source.tag = completion.tag.or(source.tag);
        }
        _ => {}
    }
}

/// Reads a source of events up to the next one that can leave.
pub(in crate::import) trait Advance {
    /// What is on its way.
    fn pending(&mut self) -> &mut Pending;

    /// Reads one record further; false at the end.
    ///
    /// # Errors
    /// Damage, or errors of the operating system.
    fn advance(&mut self) -> crate::Result<bool>;

    /// The largest step back of the clock.
    fn back_ns(&self) -> u64;

    /// Reads on until an event can leave; its time.
    ///
    /// # Errors
    /// Damage, or errors of the operating system.
    fn read_on(&mut self) -> crate::Result<Option<i64>> {
        while self.pending().ready_ns().is_none() {
            if !self.advance()? {
                self.pending().close_all();
                break;
            }
        }
        Ok(self.pending().ready_ns())
    }
}

impl<A: Advance> Lane for A {
    #[inline]
    fn peek_ns(&mut self) -> crate::Result<Option<i64>> {
        match self.pending().ready_ns() {
            Some(time_ns) => Ok(Some(time_ns)),
            None => self.read_on(),
        }
    }

    #[inline]
    fn next(&mut self) -> crate::Result<Option<(i64, Event)>> {
        if self.pending().ready_ns().is_none() && self.read_on()?.is_none() {
            return Ok(None);
        }
        Ok(self.pending().pop())
    }

    fn back_ns(&self) -> u64 {
        Advance::back_ns(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::ranks::Leaving;
    use crate::import::ranks::requests::MANY;
    use crate::trace::Message;

    fn sent(tag: i32) -> Event {
        let message = Message { tag: Some(tag), ..Message::default() };
        Event::Message(Leaving { message, is_received: true, is_sized: true })
    }

    /// Tag, post and completion of all that leaves.
    fn leaving(pending: &mut Pending) -> Vec<(i32, i64, Option<i64>)> {
        let mut out = Vec::new();
        while pending.ready_ns().is_some() {
            if let Some((_, Event::Message(Leaving { message, .. }))) = pending.pop() {
                out.push((message.tag.unwrap(), message.send_post_ns, message.send_complete_ns));
            }
        }
        out
    }

    #[test]
    fn events_leave_in_the_order_of_their_posts_when_they_are_complete() {
        let mut pending = Pending::default();
        let at = |time_ns| Completion { time_ns, ..Completion::default() };
        pending.push_open(1, sent(1), 7);
        pending.push_open(2, sent(2), 8);
        pending.push(3, sent(3));
        pending.complete(8, &at(20));
        assert_eq!(leaving(&mut pending), []);
        pending.complete(7, &at(30));
        assert_eq!(leaving(&mut pending), [(1, 1, Some(30)), (2, 2, Some(20)), (3, 3, None)]);
        // A number that is used again, one that is released, one that is cancelled, the end.
        pending.push_open(4, sent(4), 7);
        pending.push_open(5, sent(5), 7);
        pending.push_open(6, sent(6), 9);
        pending.push_open(7, sent(7), 10);
        pending.push_open(8, sent(8), 11);
        pending.release(9);
        pending.complete(10, &Completion { cancelled: true, ..at(9) });
        pending.complete(99, &at(9));
        assert_eq!(leaving(&mut pending), [(4, 4, None)]);
        pending.close_all();
        assert_eq!(leaving(&mut pending), [(5, 5, None), (6, 6, None), (8, 8, None)]);
    }

    #[test]
    fn what_never_completes_does_not_hold_back_everything() {
        let mut pending = Pending::default();
        pending.push_open(0, sent(-1), 1);
        for request in 0..i64::try_from(3 * MANY).unwrap() {
            pending.push_open(0, sent(0), request);
        }
        for time in 0..i64::try_from(2 * MOST_HELD).unwrap() {
            pending.push(time, sent(0));
            pending.ready_ns().map(|_| pending.pop());
            assert!(pending.queue.len() <= MOST_HELD + 1);
        }
    }

    #[test]
    fn times_that_go_back_are_clamped_and_told() {
        let mut pending = Pending::default();
        pending.push(-5, sent(1));
        pending.push(-9, sent(2));
        assert_eq!(leaving(&mut pending), [(1, -5, None), (2, -5, None)]);
        assert_eq!(pending.back_ns(), 4);
    }
}
