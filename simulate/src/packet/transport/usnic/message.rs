//! The message layer: the protocol of Open MPI's `ob1` over the transport.
//!
//! A message up to the eager limit is sent whole. Of a longer one the first bytes are sent; when
//! they are matched, the receiver answers. The sender then streams the rest in fragments, of which
//! at most three wait for the adapter. With PUT the receiver answers with an address, the sender
//! writes the rest there in one fragment, and reports its acknowledgement. Messages are matched in
//! the order of sending; a receive is always posted.

use super::super::super::arena::NONE;
use super::super::super::fabric::Fabric;
use super::Usnic;
use super::preset::{EAGER_LIMIT, OB1_HEADER, RENDEZVOUS_BYTES};
use super::segment::{Chained, Fragment, What};

/// Bytes of ob1's header of an eager message (`mca_pml_ob1_match_hdr_t`, as all of the following:
/// `pml_ob1_hdr.h` of Open MPI 4.1).
const MATCH: u64 = 14;
/// Bytes of the header of a rendezvous.
const RENDEZVOUS: u64 = 32;
/// Bytes of its acknowledgement.
const READY: u64 = 40;
/// Bytes of the header of a fragment.
const DATA: u64 = 32;
/// Bytes of the request of a PUT.
const PUT_REQUEST: u64 = 56;
/// Bytes of the end of a PUT.
const FINISHED: u64 = 24;
/// Fragments of a message that may wait for the adapter: `send_pipeline_depth`.
const PIPELINE: u32 = 3;

/// A message that has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) key: u32,
    bytes: u64,
    /// The sender's endpoint.
    from: u32,
    /// Number among the messages of its endpoint.
    number: u32,
    /// Bytes in fragments so far.
    sent: u64,
    arrived: u64,
    /// Fragments with bytes that the adapter has not got.
    outstanding: u32,
    next: u32,
}

impl Chained for Message {
    fn next(&mut self) -> &mut u32 {
        &mut self.next
    }
    fn follow(&mut self, _: &Self) {}
}

impl Usnic {
    /// The program sends a message.
    pub(super) fn send_message(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, bytes: u64, key: u32) {
        let from = &mut self.endpoints[endpoint as usize];
        let number = from.next_match;
        from.next_match = number.wrapping_add(1);
        let is_eager = bytes <= EAGER_LIMIT - OB1_HEADER;
        let sent = if is_eager { bytes } else { RENDEZVOUS_BYTES };
        let record =
            Message { key, bytes, from: endpoint, number, sent, arrived: 0, outstanding: 0, next: NONE };
        let message = self.messages.insert(record);
        let (what, header) = if is_eager { (What::Match, MATCH) } else { (What::Rendezvous, RENDEZVOUS) };
        self.send_fragment(fabric, endpoint, what, message, header + sent);
    }

    fn send_fragment(
        &mut self,
        fabric: &mut Fabric<'_>,
        endpoint: u32,
        what: What,
        message: u32,
        bytes: u64,
    ) {
        let fragment = Fragment { what, message, number: 0, bytes, sent: 0, acknowledged: 0, next: NONE };
        let id = self.fragments.insert(fragment);
        self.send(fabric, endpoint, id);
    }

    /// The adapter has got all of a fragment.
    pub(super) fn fragment_sent(&mut self, fabric: &mut Fabric<'_>, fragment: u32) {
        let Fragment { what, message, .. } = self.fragments[fragment];
        if what == What::Data {
            self.messages[message].outstanding -= 1;
            self.stream(fabric, message);
        }
    }

    /// All of a fragment was acknowledged.
    pub(super) fn fragment_acknowledged(&mut self, fabric: &mut Fabric<'_>, fragment: u32) {
        let Fragment { what, message, .. } = self.fragments[fragment];
        self.fragments.remove(fragment);
        if what == What::Put {
            let from = self.messages[message].from;
            self.send_fragment(fabric, from, What::Finished, message, FINISHED);
        }
    }

    /// All of a fragment has arrived at an endpoint.
    pub(super) fn fragment_arrived(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, fragment: u32) {
        let Fragment { what, message, bytes, .. } = self.fragments[fragment];
        match what {
            What::Match | What::Rendezvous => self.match_in_order(fabric, endpoint, message),
            What::Ready => self.stream(fabric, message),
            What::Data => {
                let state = &mut self.messages[message];
                state.arrived += bytes - DATA;
                if state.arrived == state.bytes {
                    self.deliver(message);
                }
            }
            What::PutRequest => {
                let state = &mut self.messages[message];
                let (from, rest) = (state.from, state.bytes - state.sent);
                state.sent = state.bytes;
                self.send_fragment(fabric, from, What::Put, message, rest);
            }
            // The receiver is informed by a later fragment.
            What::Put => {}
            What::Finished => self.deliver(message),
        }
    }

    fn match_in_order(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, message: u32) {
        let number = self.messages[message].number;
        let at = &mut self.endpoints[endpoint as usize];
        if number != at.expected_match {
            at.early.push((number, message));
            return;
        }
        self.matched(fabric, endpoint, message);
        loop {
            let at = &mut self.endpoints[endpoint as usize];
            at.expected_match = at.expected_match.wrapping_add(1);
            let Some(position) = at.early.iter().position(|(number, _)| *number == at.expected_match) else {
                return;
            };
            let (_, message) = at.early.swap_remove(position);
            self.matched(fabric, endpoint, message);
        }
    }

    fn matched(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, message: u32) {
        let state = &mut self.messages[message];
        if state.bytes <= EAGER_LIMIT - OB1_HEADER {
            self.deliver(message);
            return;
        }
        state.arrived = RENDEZVOUS_BYTES;
        let (what, bytes) =
            if self.preset.has_put { (What::PutRequest, PUT_REQUEST) } else { (What::Ready, READY) };
        self.send_fragment(fabric, endpoint, what, message, bytes);
    }

    /// Keeps the pipeline of a message full.
    fn stream(&mut self, fabric: &mut Fabric<'_>, message: u32) {
        loop {
            let state = &mut self.messages[message];
            let rest = state.bytes - state.sent;
            if rest == 0 || state.outstanding >= PIPELINE {
                return;
            }
            let bytes = rest.min(EAGER_LIMIT - DATA);
            state.sent += bytes;
            state.outstanding += 1;
            let from = state.from;
            self.send_fragment(fabric, from, What::Data, message, DATA + bytes);
        }
    }

    fn deliver(&mut self, message: u32) {
        self.delivered.push(self.messages[message].key);
        self.messages.remove(message);
    }
}
