//! Rendezvous: how a message above the eager limit begins, and what that costs.
//!
//! ```text
//! sender    request ─────►        data ──────────►
//! receiver          reply ◄────── (once its receive is posted)
//! ```
//!
//! Requests and replies are messages of their own: they take the latency of the network and wait
//! for what was sent before on the same connection. Each side is busy with them for its overheads,
//! beside whatever its rank does. The reply waits for the receive, not for the rank to look: MPI
//! libraries without a thread of their own answer later where a rank computes.
//!
//! Source of both protocols: Open MPI 4.1, `ompi/mca/pml/ob1/pml_ob1_sendreq.h` (`start_btl`) and
//! `pml_ob1_recvreq.c` (`recv_request_ack`). Over TCP `btl_tcp_flags` has PUT by default. The
//! request then has no payload, the receiver asks for all of the message, and this waits behind
//! what the receiver itself sends to the sender: a connection that is busy in both directions takes
//! turns.

use super::active::ActiveReplay;
use super::context::{Context, InFlightMessage};
use super::message_parts::{Part, Rendezvous};
use super::options::Options;
use super::transport::Transport;
use crate::engine::Picoseconds;

/// Bytes of a request or reply beside the payload: the largest header of Open MPI's ob1
/// (`mca_pml_ob1_hdr_t`, which it also takes off the eager limit). Half and double are less than a
/// packet.
const HEADER: u64 = 64;

impl Options {
    /// The largest message that nobody asks for. A limit of 64 KiB counts the header where there is
    /// one: a message of 65 536 bytes is above it, one of 65 472 is not.
    pub(super) fn eager_limit(&self) -> u64 {
        match self.rendezvous {
            Rendezvous::Free => self.eager_bytes,
            Rendezvous::Handshake | Rendezvous::Put => self.eager_bytes.saturating_sub(HEADER),
        }
    }
}

impl ActiveReplay<'_> {
    /// True if a message begins with a request.
    pub(super) fn asks(&self, message: u32) -> bool {
        let transfer = &self.operations.messages()[message as usize];
        self.options.rendezvous != Rendezvous::Free
            && self.is_rendezvous(message)
            && (self.hosts[transfer.src as usize] != self.hosts[transfer.dst as usize]
                || self.options.network.memory_gbps.is_some())
    }

    /// Payload that goes with a request.
    fn ahead(&self) -> u64 {
        if self.options.rendezvous == Rendezvous::Handshake { self.options.eager_limit() } else { 0 }
    }

    /// The sender asks whether it may send.
    pub(super) fn request<T: Transport>(&mut self, number: u32, now: Picoseconds, context: &mut Context<T>) {
        self.messages[number as usize].started = now;
        self.carry(number, Part::Request, now, context);
    }

    /// A request is there.
    pub(super) fn requested<T: Transport>(
        &mut self,
        number: u32,
        now: Picoseconds,
        context: &mut Context<T>,
    ) {
        let message = &mut self.messages[number as usize];
        message.is_requested = true;
        if message.ready {
            self.answer(number, Part::Reply, now, context);
        }
    }

    /// The receive of a message is posted; its request may be there already. The reply then
    /// precedes what the rank sends next: on a connection that is busy both ways, who asks later
    /// waits for all of the other's message.
    pub(super) fn admit<T: Transport>(&mut self, number: u32, now: Picoseconds, context: &mut Context<T>) {
        let message = &mut self.messages[number as usize];
        if message.is_requested {
            message.late_receiver = true;
            message.started = now;
            self.prepare(number, Part::Reply, self.options.send_overhead_ps, now, context);
        }
    }

    /// A part follows from one that has arrived: the host takes both overheads.
    pub(super) fn answer<T: Transport>(
        &mut self,
        message: u32,
        part: Part,
        now: Picoseconds,
        context: &mut Context<T>,
    ) {
        let overheads = self.options.receive_overhead_ps.saturating_add(self.options.send_overhead_ps);
        self.prepare(message, part, overheads, now, context);
    }

    /// The next part of a message leaves after a time.
    fn prepare<T: Transport>(
        &mut self,
        message: u32,
        part: Part,
        delay: Picoseconds,
        now: Picoseconds,
        context: &mut Context<T>,
    ) {
        if delay == 0 {
            return self.carry(message, part, now, context);
        }
        let next = InFlightMessage { replay: self.slot, message, worker: 0, part, token: self.token };
        context.schedule_part(now.saturating_add(delay), next);
    }

    /// Hands a part of a message to the network.
    pub(super) fn carry<T: Transport>(
        &mut self,
        message: u32,
        part: Part,
        now: Picoseconds,
        context: &mut Context<T>,
    ) {
        let transfer = &self.operations.messages()[message as usize];
        let (src, dst, bytes) = match part {
            Part::Request => (transfer.src, transfer.dst, self.ahead() + HEADER),
            Part::Reply => (transfer.dst, transfer.src, HEADER),
            Part::Data if self.asks(message) => (transfer.src, transfer.dst, transfer.bytes - self.ahead()),
            Part::Data => (transfer.src, transfer.dst, transfer.bytes),
        };
        let in_flight = InFlightMessage { replay: self.slot, message, worker: 0, part, token: self.token };
        let key = context.in_flight.insert(in_flight);
        context.transport.belong(self.job, (src, dst));
        context.transport.start(now, self.hosts[src as usize], self.hosts[dst as usize], bytes, key);
    }
}
