//! One process: its progress passes, and the adapter between them.

use std::collections::VecDeque;

use super::super::super::arena::{NONE, Packet};
use super::super::super::chance::mix;
use super::super::super::fabric::Fabric;
use super::super::super::timer::Timer;
use super::super::super::wire_bytes;
use super::preset::Preset;
use super::retransmission::Timers;
use super::segment::{Place, Segment, SegmentHandle};
use super::{CHUNK, COMMAND, DATA, HAS_ACK, ONLY_ACK, Usnic};
use crate::engine::Picoseconds;

/// State of a process besides that of its endpoints.
#[derive(Clone, Debug)]
pub(super) struct Module {
    /// Passes are at `phase` + n · pass: processes poll at different times.
    phase: Picoseconds,
    pub(super) next_pass: Picoseconds,
    last_pass: Option<Picoseconds>,
    pub(super) data_credits: u32,
    pub(super) command_credits: u32,
    /// Endpoints with something to send, in turn.
    pub(super) ready: VecDeque<u32>,
    /// Segments that wait for their resend.
    pub(super) resend: VecDeque<SegmentHandle>,
    /// Endpoints that owe an acknowledgement.
    pub(super) owing: Vec<u32>,
    pub(super) timers: Timers,
    /// Packets of the adapter with the ends of their transmission, in order.
    completions: VecDeque<Completion>,
    pub(super) command_ring: VecDeque<Packet>,
    pub(super) data_ring: VecDeque<Packet>,
}

/// A completion: the adapter has sent a packet and returns its credits.
#[derive(Clone, Copy, Debug)]
struct Completion {
    time: Picoseconds,
    /// [`NONE`] for an acknowledgement.
    segment: u32,
    endpoint: u32,
    channel: u8,
}

/// Credits of the command channel that an acknowledgement takes.
const ACK_CREDITS: u32 = 2;

impl Module {
    pub(super) fn new(host: u32, preset: &Preset) -> Self {
        Self {
            phase: mix(u64::from(host)) % preset.pass,
            next_pass: Picoseconds::MAX,
            last_pass: None,
            data_credits: preset.data_credits,
            command_credits: preset.command_credits,
            ready: VecDeque::new(),
            resend: VecDeque::new(),
            owing: Vec::new(),
            timers: Timers::default(),
            completions: VecDeque::new(),
            command_ring: VecDeque::new(),
            data_ring: VecDeque::new(),
        }
    }

    /// Packets of an endpoint, and credits of the data and the command channel, that the adapter
    /// has.
    #[cfg(test)]
    pub(super) fn with_adapter(&self, endpoint: u32) -> (i32, [u32; 2]) {
        let own = |done: &&Completion| done.segment != NONE && done.endpoint == endpoint;
        let takes = |done: &Completion| if done.segment == NONE { ACK_CREDITS } else { 1 };
        let of = |channel| self.completions.iter().filter(|done| done.channel == channel).map(takes).sum();
        (self.completions.iter().filter(own).map(|_| 1).sum(), [of(DATA), of(COMMAND)])
    }

    fn credits(&mut self, channel: u8) -> &mut u32 {
        if channel == COMMAND { &mut self.command_credits } else { &mut self.data_credits }
    }
}

impl Usnic {
    /// Schedules the first pass of a process at or after `time`.
    pub(super) fn schedule_pass(&mut self, fabric: &mut Fabric<'_>, host: u32, time: Picoseconds) {
        let pass = self.preset.pass;
        let module = &mut self.modules[host as usize];
        let earliest = module.last_pass.map_or(time, |last| time.max(last.saturating_add(1)));
        let passes = earliest.saturating_sub(module.phase).div_ceil(pass);
        let time = passes.saturating_mul(pass).saturating_add(module.phase);
        if time < module.next_pass {
            module.next_pass = time;
            fabric.call_at(time, Timer { kind: 0, words: [host, 0] });
        }
    }

    /// One call of the progress function.
    pub(super) fn pass(&mut self, fabric: &mut Fabric<'_>, host: u32) {
        let now = fabric.now();
        let module = &mut self.modules[host as usize];
        module.next_pass = Picoseconds::MAX;
        module.last_pass = Some(now);
        self.take_completions(now, host);
        // The command channel is polled first. Arrivals meanwhile wait for the next pass.
        for channel in [COMMAND, DATA] {
            let module = &mut self.modules[host as usize];
            let ring = if channel == COMMAND { &mut module.command_ring } else { &mut module.data_ring };
            for _ in 0..ring.len() {
                let module = &mut self.modules[host as usize];
                let ring = if channel == COMMAND { &mut module.command_ring } else { &mut module.data_ring };
                let Some(packet) = ring.pop_front() else { break };
                self.take_packet(fabric, host, &packet);
            }
        }
        self.expire_timers(now, host);
        self.progress_sends(fabric, host);
        self.plan(fabric, host);
    }

    fn take_completions(&mut self, now: Picoseconds, host: u32) {
        loop {
            let module = &mut self.modules[host as usize];
            let Some(done) = module.completions.front().copied().filter(|done| done.time <= now) else {
                return;
            };
            module.completions.pop_front();
            if done.segment == NONE {
                *module.credits(done.channel) += ACK_CREDITS;
                continue;
            }
            *module.credits(done.channel) += 1;
            self.endpoints[done.endpoint as usize].credits += 1;
            let segment = &mut self.segments[done.segment];
            segment.posted -= 1;
            if segment.posted == 0 && segment.place == Place::Acknowledged {
                self.segments.remove(done.segment);
            }
            self.check_ready(done.endpoint);
        }
    }

    /// Resends, new sends, acknowledgements: in the order of the code, from which its comment
    /// differs.
    fn progress_sends(&mut self, fabric: &mut Fabric<'_>, host: u32) {
        for _ in 0..self.preset.resends {
            let module = &mut self.modules[host as usize];
            if module.data_credits <= 1 {
                break;
            }
            let Some(SegmentHandle { id, generation }) = module.resend.pop_front() else { break };
            let segment = self.segments[id];
            // Acknowledged while it waited.
            if segment.generation != generation || segment.place != Place::Resend {
                continue;
            }
            if segment.posted == 0 {
                self.counts.resends += 1;
                self.give(fabric, id, DATA, None);
            }
            self.start_timer(fabric.now(), host, id);
        }
        while self.modules[host as usize].data_credits > 1 {
            let Some(endpoint) = self.modules[host as usize].ready.front().copied() else { break };
            self.send_next(fabric, endpoint);
            let state = &mut self.endpoints[endpoint as usize];
            if state.first == NONE || state.credits <= 0 || !state.window_is_open() {
                state.is_listed = false;
                self.modules[host as usize].ready.pop_front();
            }
        }
        let mut owing = std::mem::take(&mut self.modules[host as usize].owing);
        owing.retain(|endpoint| match self.endpoints[*endpoint as usize].ack_due {
            None => false,
            Some(due) if due > fabric.now() || self.modules[host as usize].command_credits <= 1 => true,
            Some(_) => {
                self.acknowledge(fabric, *endpoint);
                false
            }
        });
        self.modules[host as usize].owing = owing;
    }

    /// Time of the next work.
    fn plan(&mut self, fabric: &mut Fabric<'_>, host: u32) {
        let module = &self.modules[host as usize];
        let due = module.owing.iter().filter_map(|endpoint| self.endpoints[*endpoint as usize].ack_due).min();
        if let Some(time) = due.filter(|_| module.command_credits > 1) {
            self.schedule_pass(fabric, host, time);
        }
        self.plan_sends(fabric, host);
    }

    /// Time of the next work on packets that are sent.
    fn plan_sends(&mut self, fabric: &mut Fabric<'_>, host: u32) {
        let expiry = self.next_expiry(host);
        let module = &self.modules[host as usize];
        let has_work = !module.resend.is_empty() || !module.ready.is_empty();
        let times = [
            // Without credits only a completion helps.
            (has_work && module.data_credits > 1).then_some(fabric.now()),
            module.completions.front().map(|done| done.time),
            expiry,
        ];
        if let Some(time) = times.into_iter().flatten().min() {
            self.schedule_pass(fabric, host, time);
        }
    }

    /// The message layer sends a fragment.
    pub(super) fn send(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, fragment: u32) {
        let state = &mut self.endpoints[endpoint as usize];
        let host = state.host;
        let bytes = self.fragments[fragment].bytes;
        if bytes > u64::from(self.preset.largest_fragment()) {
            self.fragments[fragment].number = state.next_fragment;
            // Number 0 stands for none.
            state.next_fragment = state.next_fragment.checked_add(1).unwrap_or(1);
        }
        let channel = if self.preset.tiny_on_command { COMMAND } else { DATA };
        let has_credits = *self.modules[host as usize].credits(channel) >= self.preset.fast_path().max(1);
        let is_tiny =
            bytes < u64::from(self.preset.tiny) && bytes <= u64::from(self.preset.largest_fragment());
        if is_tiny && has_credits && state.window_is_open() {
            self.post(fabric, endpoint, fragment, bytes as u32, channel);
        } else {
            self.fragments[fragment].next = NONE;
            let last = std::mem::replace(&mut state.last, fragment);
            if last == NONE {
                state.first = fragment;
            } else {
                self.fragments[last].next = fragment;
            }
            self.check_ready(endpoint);
        }
        self.plan_sends(fabric, host);
    }

    /// An endpoint that can send is put into the list of these.
    pub(super) fn check_ready(&mut self, endpoint: u32) {
        let state = &mut self.endpoints[endpoint as usize];
        if !state.is_listed && state.first != NONE && state.credits > 0 && state.window_is_open() {
            state.is_listed = true;
            self.modules[state.host as usize].ready.push_back(endpoint);
        }
    }

    /// Sends the next packet of the first fragment in the queue of an endpoint.
    fn send_next(&mut self, fabric: &mut Fabric<'_>, endpoint: u32) {
        let state = &mut self.endpoints[endpoint as usize];
        let fragment = state.first;
        let record = &self.fragments[fragment];
        let is_small = record.number == 0;
        let largest = if is_small { self.preset.largest_fragment() } else { self.preset.largest_chunk() };
        let bytes = (record.bytes - record.sent).min(u64::from(largest));
        if record.sent + bytes == record.bytes {
            state.first = record.next;
            if state.first == NONE {
                state.last = NONE;
            }
        }
        self.post(fabric, endpoint, fragment, bytes as u32, DATA);
    }

    /// Makes a segment of the next bytes of a fragment, and sends it.
    fn post(&mut self, fabric: &mut Fabric<'_>, endpoint: u32, fragment: u32, bytes: u32, channel: u8) {
        let state = &mut self.endpoints[endpoint as usize];
        let record = &mut self.fragments[fragment];
        let segment = Segment {
            endpoint,
            fragment,
            seq: state.next_seq,
            offset: record.sent,
            bytes,
            posted: 0,
            place: Place::InFlight(Picoseconds::MAX),
            generation: 0,
            next: NONE,
        };
        record.sent += u64::from(bytes);
        let is_sent = record.sent == record.bytes;
        let id = self.segments.insert(segment);
        state.next_seq += 1;
        state.sent.push_back(id);
        self.counts.most_in_flight = self.counts.most_in_flight.max(state.sent.len() as u64);
        let host = state.host;
        let ack = state.ack_due.take().map(|_| state.next_contiguous - 1);
        self.give(fabric, id, channel, ack);
        self.start_timer(fabric.now(), host, id);
        if is_sent {
            self.fragment_sent(fabric, fragment);
        }
    }

    /// Gives the adapter a copy of a segment.
    fn give(&mut self, fabric: &mut Fabric<'_>, id: u32, channel: u8, ack: Option<u64>) {
        let segment = &mut self.segments[id];
        segment.posted += 1;
        let Segment { endpoint, fragment, seq, offset, bytes, .. } = *segment;
        let state = &mut self.endpoints[endpoint as usize];
        state.credits -= 1;
        let is_chunk = self.fragments[fragment].number != 0;
        let header = if is_chunk { self.preset.chunk_header } else { self.preset.fragment_header };
        let packet = Packet {
            route: state.route,
            dst: state.peer_host,
            flow: state.peer,
            seq: self.digits(seq),
            ack: self.digits(ack.unwrap_or(0)),
            wire: wire_bytes(self.preset.frame_header + header + bytes),
            payload: bytes,
            kind: channel,
            flags: if is_chunk { CHUNK } else { 0 } | if ack.is_some() { HAS_ACK } else { 0 },
            words: [fragment, offset as u32, (offset >> 32) as u32, 0],
        };
        self.hand_over(fabric, packet, Completion { time: 0, segment: id, endpoint, channel });
    }

    /// An acknowledgement of its own.
    fn acknowledge(&mut self, fabric: &mut Fabric<'_>, endpoint: u32) {
        let state = &mut self.endpoints[endpoint as usize];
        state.ack_due = None;
        let packet = Packet {
            route: state.route,
            dst: state.peer_host,
            flow: state.peer,
            ack: 0,
            wire: wire_bytes(self.preset.frame_header + self.preset.fragment_header),
            kind: COMMAND,
            flags: HAS_ACK | ONLY_ACK,
            ..Packet::default()
        };
        let ack = state.next_contiguous - 1;
        let packet = Packet { ack: self.digits(ack), ..packet };
        self.counts.acknowledgements += 1;
        self.hand_over(fabric, packet, Completion { time: 0, segment: NONE, endpoint, channel: COMMAND });
    }

    fn hand_over(&mut self, fabric: &mut Fabric<'_>, packet: Packet, completion: Completion) {
        let module = &mut self.modules[self.endpoints[completion.endpoint as usize].host as usize];
        let takes = if completion.segment == NONE { ACK_CREDITS } else { 1 };
        let credits = module.credits(completion.channel);
        *credits = credits.saturating_sub(takes);
        let link = fabric.first_link(packet.route);
        fabric.send(packet);
        let after = module.completions.back().map_or(0, |last| last.time);
        let time = fabric.free_at(link).max(after);
        module.completions.push_back(Completion { time, ..completion });
    }

    /// The digits of a sequence number in a header.
    fn digits(&self, seq: u64) -> u32 {
        if self.preset.sequence_bits == 16 { u32::from(seq as u16) } else { seq as u32 }
    }
}
