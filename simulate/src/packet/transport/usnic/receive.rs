//! Received packets: acknowledgements, then data.

use super::super::super::arena::Packet;
use super::super::super::fabric::Fabric;
use super::endpoint::{Arrival, expand};
use super::preset::TICK;
use super::segment::Place;
use super::segment::SegmentHandle;
use super::{CHUNK, HAS_ACK, ONLY_ACK, Usnic};
use crate::engine::Picoseconds;

impl Usnic {
    /// A packet that the adapter has put into a ring.
    pub(super) fn take_packet(&mut self, fabric: &mut Fabric<'_>, host: u32, packet: &Packet) {
        let endpoint = packet.flow;
        let bits = self.preset.sequence_bits;
        // The acknowledgement in a duplicate packet counts, too.
        if packet.flags & HAS_ACK != 0 {
            let near = self.endpoints[endpoint as usize].acknowledged;
            self.take_acknowledgement(fabric, endpoint, expand(packet.ack, near, bits));
        }
        if packet.flags & ONLY_ACK != 0 {
            return;
        }
        let [fragment, ..] = packet.words;
        let state = &mut self.endpoints[endpoint as usize];
        let seq = expand(packet.seq, state.next_contiguous, bits);
        let is_chunk = packet.flags & CHUNK != 0;
        // A packet without a free slot counts as lost. Packets that are already accepted are not
        // checked, as their fragment may be gone.
        let is_new = seq >= state.next_contiguous;
        if is_new && is_chunk && !state.has_slot(self.fragments[fragment].number) {
            return;
        }
        let owes = state.ack_due.is_some();
        if state.arrive(seq) == Arrival::Duplicate {
            self.counts.duplicates += 1;
            if !owes {
                state.ack_due = Some(0);
                self.modules[host as usize].owing.push(endpoint);
            }
            return;
        }
        if !owes {
            let due = |delay: Picoseconds| fabric.now().saturating_add(delay);
            let passes = || u64::from(self.preset.acknowledge_after).saturating_mul(self.preset.pass);
            let tick = || (fabric.now() / TICK + 1).saturating_mul(TICK);
            state.ack_due = Some(self.preset.ack_delay.map_or_else(|| due(passes()).min(tick()), due));
            self.modules[host as usize].owing.push(endpoint);
        }
        if is_chunk {
            let (number, of) = (self.fragments[fragment].number, self.fragments[fragment].bytes);
            if !state.put_together(number, of, u64::from(packet.payload)) {
                return;
            }
            // A whole fragment is acknowledged at once.
            state.ack_due = Some(0);
        }
        self.fragment_arrived(fabric, endpoint, fragment);
    }

    fn take_acknowledgement(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, ack: u64) {
        let state = &mut self.endpoints[endpoint as usize];
        if ack < state.acknowledged || ack >= state.next_seq {
            return;
        }
        if ack == state.acknowledged {
            if !self.preset.has_fast_retransmit {
                return;
            }
            let Some(id) = state.unacknowledged(ack + 1) else { return };
            let segment = &mut self.segments[id];
            if matches!(segment.place, Place::InFlight(_)) {
                segment.place = Place::Resend;
                self.counts.fast_resends += 1;
                self.modules[state.host as usize]
                    .resend
                    .push_back(SegmentHandle { id, generation: segment.generation });
            }
            return;
        }
        while self.endpoints[endpoint as usize].acknowledged < ack {
            let state = &mut self.endpoints[endpoint as usize];
            state.acknowledged += 1;
            let Some(id) = state.sent.pop_front() else { return };
            let segment = &mut self.segments[id];
            segment.place = Place::Acknowledged;
            let (fragment, bytes, posted) = (segment.fragment, segment.bytes, segment.posted);
            if posted == 0 {
                self.segments.remove(id);
            }
            let record = &mut self.fragments[fragment];
            record.acknowledged += u64::from(bytes);
            if record.acknowledged == record.bytes {
                self.fragment_acknowledged(fabric, fragment);
            }
        }
        self.check_ready(endpoint);
    }
}
