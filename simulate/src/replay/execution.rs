//! Execution of the operations of ranks: which rank continues, and when.

use super::account::Account;
use super::active::{ActiveReplay, Wait};
use super::context::{Context, Crossing, InFlightMessage};
use super::message_parts::Part;
use super::noise::OperationPlace;
use super::op::Op;
use super::sums::Joined;
use super::transport::Transport;
use crate::engine::Picoseconds;

/// Whether a rank can execute its next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// At once.
    Continues,
    /// After an event or a message.
    Waits,
}

impl ActiveReplay<'_> {
    /// Executes operations of a rank until it has to wait or has ended.
    pub(super) fn run_rank<T: Transport>(&mut self, rank: u32, now: Picoseconds, context: &mut Context<T>) {
        let operations = self.operations.of(rank);
        let state = rank as usize;
        while let Some(op) = operations.get(self.ranks[state].next) {
            let progress = match *op {
                Op::Compute(gap) => self.compute(rank, gap, now, context),
                Op::ReceivePost(message) => self.post_receive(rank, message, now, context),
                Op::Send(message) => self.send(rank, message, now, context),
                Op::SendWait(message) => self.wait_for_buffer(rank, message, now),
                Op::ReceiveWait(message) => self.wait_for_message(rank, message, now, context),
                Op::Join(number) => self.enter_collective(rank, number, now, context),
                Op::Boundary(number) => self.pass_boundary(rank, number as usize, now, context),
            };
            if progress == Progress::Waits {
                return;
            }
        }
        if self.ranks[state].ended.replace(now).is_none() {
            self.unfinished -= 1;
        }
    }

    fn compute<T>(&mut self, rank: u32, gap: u32, now: Picoseconds, context: &mut Context<T>) -> Progress {
        let state = &mut self.ranks[rank as usize];
        let place = OperationPlace { replay: self.number, rank, position: state.next };
        state.next += 1;
        let time = self.options.compute_ps(self.operations.gap_ns(gap));
        let time = self.options.noise.apply(time, self.hosts[rank as usize], place);
        self.spend(rank, Account { compute: time, ..Account::default() });
        if time == 0 {
            return Progress::Continues;
        }
        context.schedule(now.saturating_add(time), self.slot, rank);
        Progress::Waits
    }

    fn post_receive<T: Transport>(
        &mut self,
        rank: u32,
        number: u32,
        now: Picoseconds,
        context: &mut Context<T>,
    ) -> Progress {
        self.ranks[rank as usize].next += 1;
        let message = &mut self.messages[number as usize];
        message.ready = true;
        if message.held {
            message.held = false;
            message.late_receiver = true;
            self.start(number, now, context);
        } else {
            self.admit(number, now, context);
        }
        Progress::Continues
    }

    fn send<T: Transport>(
        &mut self,
        rank: u32,
        number: u32,
        now: Picoseconds,
        context: &mut Context<T>,
    ) -> Progress {
        if self.takes_overhead(rank, self.options.send_overhead_ps, now, context) {
            return Progress::Waits;
        }
        let (rendezvous, asks) = (self.is_rendezvous(number), self.asks(number));
        let message = &mut self.messages[number as usize];
        message.sent = true;
        if asks {
            self.request(number, now, context);
            return Progress::Continues;
        }
        message.held = rendezvous && !message.ready;
        if !message.held {
            self.start(number, now, context);
        }
        Progress::Continues
    }

    fn wait_for_buffer(&mut self, rank: u32, message: u32, now: Picoseconds) -> Progress {
        let must_wait = self.is_rendezvous(message) && !self.messages[message as usize].is_there;
        let state = &mut self.ranks[rank as usize];
        if must_wait {
            state.wait_for(message, now);
            return Progress::Waits;
        }
        state.next += 1;
        Progress::Continues
    }

    fn wait_for_message<T>(
        &mut self,
        rank: u32,
        message: u32,
        now: Picoseconds,
        context: &mut Context<T>,
    ) -> Progress {
        if !self.messages[message as usize].is_there {
            self.ranks[rank as usize].wait_for(message, now);
            return Progress::Waits;
        }
        match self.takes_overhead(rank, self.options.receive_overhead_ps, now, context) {
            true => Progress::Waits,
            false => Progress::Continues,
        }
    }

    /// True if the overhead of the rank's next operation begins now.
    fn takes_overhead<T>(
        &mut self,
        rank: u32,
        overhead: Picoseconds,
        now: Picoseconds,
        context: &mut Context<T>,
    ) -> bool {
        if !self.ranks[rank as usize].owes(overhead) {
            return false;
        }
        self.spend(rank, Account { overhead, ..Account::default() });
        context.schedule(now.saturating_add(overhead), self.slot, rank);
        true
    }

    fn enter_collective<T: Transport>(
        &mut self,
        rank: u32,
        number: u32,
        now: Picoseconds,
        context: &mut Context<T>,
    ) -> Progress {
        self.ranks[rank as usize].next += 1;
        if !self.operations.sums_in_network() {
            return Progress::Continues;
        }
        self.join_sum(rank, number, now, context);
        Progress::Waits
    }

    fn pass_boundary<T>(
        &mut self,
        rank: u32,
        number: usize,
        now: Picoseconds,
        context: &mut Context<T>,
    ) -> Progress {
        let state = &mut self.ranks[rank as usize];
        state.next += 1;
        state.stretch = number + 1;
        // Time ascends, so the last rank to pass sets the value.
        self.boundaries[number] = now;
        self.passed[number] += u128::from(now.saturating_sub(self.began));
        self.passers[number] += 1;
        if self.passers[number] == self.operations.ranks() {
            context.crossed.push(Crossing { token: self.token, boundary: number });
        }
        Progress::Continues
    }

    pub(super) fn is_rendezvous(&self, message: u32) -> bool {
        let transfer = &self.operations.messages()[message as usize];
        transfer.bytes > self.options.eager_limit() && !transfer.buffered
    }

    fn start<T: Transport>(&mut self, message: u32, now: Picoseconds, context: &mut Context<T>) {
        let transfer = &self.operations.messages()[message as usize];
        self.messages[message as usize].started = now;
        let (src, dst) = (self.hosts[transfer.src as usize], self.hosts[transfer.dst as usize]);
        if src == dst && self.options.network.memory_gbps.is_none() {
            return self.arrive(message, now, context);
        }
        self.carry(message, Part::Data, now, context);
    }

    /// A rank joins a sum, and waits for it.
    fn join_sum<T: Transport>(&mut self, rank: u32, number: u32, now: Picoseconds, context: &mut Context<T>) {
        let message = self.messages.len() as u32 + number;
        self.ranks[rank as usize].wait_for(message, now);
        match self.sums.join(self.operations, number, rank, now) {
            Joined::Waits => {}
            Joined::Done => self.complete_sum(message, 0, now, context),
            Joined::Contributes { group, worker } => {
                let bytes = self.operations.collectives()[number as usize].bytes;
                let in_flight = InFlightMessage {
                    replay: self.slot,
                    message,
                    worker,
                    part: Part::Data,
                    token: self.token,
                };
                let key = context.in_flight.insert(in_flight);
                context.transport.contribute(now, group, worker, bytes, key);
            }
        }
    }

    /// A worker has a sum: its ranks continue.
    pub(super) fn complete_sum<T>(
        &mut self,
        message: u32,
        worker: u32,
        now: Picoseconds,
        context: &mut Context<T>,
    ) {
        let number = message - self.messages.len() as u32;
        let (_, complete) = self.sums.of[number as usize].last;
        for place in 0..self.sums.ranks(self.operations, number, worker).len() {
            let rank = self.sums.ranks(self.operations, number, worker)[place];
            let Some(since) = self.ranks[rank as usize].end_wait(message) else { continue };
            let late_sender = complete.saturating_sub(since);
            let network = now - complete.max(since);
            let account = Account { late_sender, network, ..Account::default() };
            self.resume(rank, message, now, account, context);
        }
    }

    /// A rank has waited for a message until now, and continues.
    fn resume<T>(
        &mut self,
        rank: u32,
        message: u32,
        now: Picoseconds,
        account: Account,
        context: &mut Context<T>,
    ) {
        let state = &mut self.ranks[rank as usize];
        if now > state.since {
            self.waits.push(Wait { message, before: state.last_wait, end: now });
            state.last_wait = (self.waits.len() - 1) as u32;
        }
        self.spend(rank, account);
        context.schedule(now, self.slot, rank);
    }

    /// A message has arrived: the ranks that wait for it continue.
    pub(super) fn arrive<T>(&mut self, number: u32, now: Picoseconds, context: &mut Context<T>) {
        let message = &mut self.messages[number as usize];
        message.arrived = now;
        message.is_there = true;
        let started = message.started;
        let transfer = self.operations.messages()[number as usize];
        for (rank, is_sender) in [(transfer.dst, false), (transfer.src, true)] {
            let Some(since) = self.ranks[rank as usize].end_wait(number) else { continue };
            let late = started.saturating_sub(since);
            let network = now - started.max(since);
            let account = if is_sender {
                Account { late_receiver: late, network, ..Account::default() }
            } else {
                Account { late_sender: late, network, ..Account::default() }
            };
            self.resume(rank, number, now, account, context);
        }
    }
}
