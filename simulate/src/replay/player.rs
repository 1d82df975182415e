//! Lets scripts run: who may go on, and when.
//!
//! Every rank goes through its operations until it has to wait, for time to pass or for a message. Nothing here depends on the
//! number of messages that are under way: an operation costs O(1), a wait one event.

use phaseflow_collect::Error;

use super::dead_end::describe;
use super::path::{NONE, Wait, critical_path};
use super::sums::{Joined, Sums};
use super::{Account, Details, Op, Options, PathShare, RankSum, Script, Stretch, Transport};
use crate::engine::{EventQueue, Picoseconds, beyond_clock};
use crate::flow::Hold;
use crate::topology::HostId;

/// Scripts that run side by side over one network.
///
/// Memory beside the scripts, which are shared: 24 bytes a message and 120 a rank of those that run, 32 for each time that a rank waited, and
/// what the transport needs.
#[derive(Debug)]
pub struct Player<'s, T> {
    stage: Stage<T>,
    acts: Vec<Option<Box<Act<'s>>>>,
    free: Vec<u32>,
    arrived: Vec<u32>,
    /// Scripts so far.
    begun: u64,
    in_detail: bool,
    /// Boundaries that all ranks of a script have passed and nobody has asked for.
    crossed: Vec<Crossing>,
    /// Something would happen when the clock has ended: nothing goes on.
    is_beyond_clock: bool,
}

/// What all scripts share.
#[derive(Debug)]
struct Stage<T> {
    transport: T,
    queue: EventQueue<Wake>,
    keys: Keys,
}

/// The last rank of a script has passed a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The script's [token](Player::begin).
    pub token: u64,
    /// The boundary: it ends the stretch of this number.
    pub boundary: usize,
}

/// A rank goes on.
#[derive(Clone, Copy, Debug)]
struct Wake {
    act: u32,
    rank: u32,
}

/// The messages that are on their way, by the key that the transport knows them by.
#[derive(Debug, Default)]
struct Keys {
    of: Vec<Key>,
    free: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    act: u32,
    /// Or a sum, numbered on after the last message.
    message: u32,
    /// Of a sum.
    worker: u32,
    token: u64,
}

impl Keys {
    fn give(&mut self, key: Key) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.of[place as usize] = key;
                place
            }
            None => {
                self.of.push(key);
                (self.of.len() - 1) as u32
            }
        }
    }

    fn take(&mut self, place: u32) -> Key {
        self.free.push(place);
        self.of[place as usize]
    }
}

/// A script that runs.
#[derive(Debug)]
pub(super) struct Act<'s> {
    /// How many were begun before it.
    number: u64,
    place: u32,
    token: u64,
    pub(super) job: u32,
    pub(super) script: &'s Script,
    pub(super) options: Options,
    /// By rank.
    hosts: Vec<HostId>,
    pub(super) ranks: Vec<Rank>,
    pub(super) messages: Vec<Message>,
    /// By message: what held it up, where that is asked for and known.
    pub(super) holds: Option<Vec<Box<[Hold]>>>,
    pub(super) sums: Sums,
    pub(super) waits: Vec<Wait>,
    playing: u32,
    pub(super) began: Picoseconds,
    /// By boundary: when the last rank so far passed it.
    pub(super) boundaries: Vec<Picoseconds>,
    /// By boundary: when ranks passed it since the script began, summed up.
    passed: Vec<u128>,
    /// By boundary: how many ranks passed it.
    passers: Vec<u32>,
    /// By stretch.
    accounts: Vec<RankSum>,
    /// By stretch, then rank; empty where nobody wants to know.
    in_detail: Vec<Account>,
}

/// A rank of a script that runs.
#[derive(Clone, Debug)]
pub(super) struct Rank {
    /// Its next operation.
    pub(super) next: usize,
    /// What it waits for now: a message, or a sum, numbered on after the last message.
    pub(super) waiting: Option<u32>,
    since: Picoseconds,
    /// True if the overhead of the next operation has passed.
    paid: bool,
    pub(super) last_wait: u32,
    pub(super) ended: Option<Picoseconds>,
    /// The stretch it is in.
    stretch: usize,
    account: Account,
}

/// A message of a script that runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message {
    pub(super) started: Picoseconds,
    pub(super) arrived: Picoseconds,
    pub(super) sent: bool,
    pub(super) ready: bool,
    /// True if it was sent and waits for its receiver to be ready.
    held: bool,
    pub(super) is_there: bool,
    /// True if it started when its receiver was ready, and not when it was sent.
    pub(super) late_receiver: bool,
}

/// What became of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Performance {
    /// The number that it was given.
    pub token: u64,
    /// When it ended: the last rank had done its last operation.
    pub end: Picoseconds,
    /// How long that took.
    pub makespan: Picoseconds,
    /// When each rank ended, servers left out.
    pub ends: Vec<Picoseconds>,
    /// The parts that boundaries make of it, in order.
    pub stretches: Vec<Stretch>,
    /// By rank, servers left out.
    pub accounts: Vec<Account>,
    /// What its critical path is made of, if its [options](Options) say so.
    pub details: Option<Details>,
    /// By stretch, then rank, if the player was told to [tell ranks by stretch](Player::tell_ranks_by_stretch).
    pub in_detail: Vec<Account>,
}

impl<'s, T: Transport> Player<'s, T> {
    /// Nothing runs yet.
    pub fn new(transport: T) -> Self {
        let stage = Stage { transport, queue: EventQueue::default(), keys: Keys::default() };
        Self {
            stage,
            acts: Vec::new(),
            free: Vec::new(),
            arrived: Vec::new(),
            begun: 0,
            in_detail: false,
            crossed: Vec::new(),
            is_beyond_clock: false,
        }
    }

    /// Of scripts that begin from now on it is told what each rank did in each stretch: 40 bytes for each of both.
    pub fn tell_ranks_by_stretch(&mut self) {
        self.in_detail = true;
    }

    /// What carries the messages.
    pub fn transport(&mut self) -> &mut T {
        &mut self.stage.transport
    }

    /// Starts a script with its ranks on `hosts`, each at its own time, now or later; `servers` are there for sums in the network. What
    /// becomes of it is told under `token`, which no other one has had; it is of a job. Its makespan counts from the last rank's start.
    pub fn begin(
        &mut self,
        starts: &[Picoseconds],
        (token, job): (u64, u32),
        script: &'s Script,
        (hosts, servers): (&[HostId], &[HostId]),
        options: Options,
    ) {
        let began = starts.iter().copied().max().unwrap_or(0);
        let rank = Rank {
            next: 0,
            waiting: None,
            since: began,
            paid: false,
            last_wait: NONE,
            ended: None,
            stretch: 0,
            account: Account::default(),
        };
        let messages = script.messages().iter();
        let sums = Sums::open(script, hosts, servers, token as u32, &mut self.stage.transport);
        let ready = |announced: bool| Message { ready: !announced, ..Message::default() };
        let place = self.free.pop().unwrap_or_else(|| {
            self.acts.push(None);
            (self.acts.len() - 1) as u32
        });
        self.begun += 1;
        let act = Act {
            number: self.begun,
            place,
            token,
            job,
            script,
            options,
            hosts: hosts
                .iter()
                .chain(servers.iter().chain(hosts).cycle().take(script.servers() as usize))
                .copied()
                .collect(),
            ranks: vec![rank; script.ranks() as usize],
            messages: messages.map(|message| ready(message.announced)).collect(),
            holds: (options.blame && self.stage.transport.tells_holds())
                .then(|| vec![Box::default(); script.messages().len()]),
            sums,
            waits: Vec::new(),
            playing: script.ranks(),
            began,
            boundaries: vec![began; script.stretches() - 1],
            passed: vec![0; script.stretches() - 1],
            passers: vec![0; script.stretches() - 1],
            accounts: vec![RankSum::default(); script.stretches()],
            in_detail: vec![
                Account::default();
                if self.in_detail { script.stretches() * script.ranks() as usize } else { 0 }
            ],
        };
        self.acts[place as usize] = Some(Box::new(act));
        let last = began;
        let starts = starts.iter().copied().chain(std::iter::repeat(last));
        for (rank, start) in (0..script.ranks()).zip(starts) {
            self.stage.queue.push(start, Wake { act: place, rank });
        }
    }

    /// When something happens next; if that is not before `limit`, any time from `limit` on, before which no script may be begun any more.
    pub fn next(&mut self, limit: Picoseconds) -> Option<Picoseconds> {
        if self.is_beyond_clock {
            return None;
        }
        let own = self.stage.queue.peek_time();
        let network = self.stage.transport.next(limit.min(own.unwrap_or(Picoseconds::MAX)));
        own.into_iter().chain(network).min()
    }

    /// Does all that happens at `now`, which is [`next`](Self::next); appends what ended.
    pub fn advance(&mut self, now: Picoseconds, ended: &mut Vec<Performance>) {
        // Times that the clock cannot tell are all put down to its end.
        if now == Picoseconds::MAX {
            self.is_beyond_clock = true;
            return;
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        self.stage.transport.advance(now, &mut arrived);
        for key in arrived.drain(..) {
            let holds = self.stage.transport.take_holds(key);
            let Key { act, message, worker, token } = self.stage.keys.take(key);
            // What nobody waits for can outlive its script.
            let act = self.acts[act as usize].as_deref_mut().filter(|act| act.token == token);
            match act {
                Some(act) if act.is_sum(message) => act.sum(message, worker, now, &mut self.stage),
                Some(act) => {
                    if let Some(known) = &mut act.holds {
                        known[message as usize] = holds.into();
                    }
                    act.arrive(message, now, &mut self.stage);
                }
                None => {}
            }
        }
        self.arrived = arrived;
        while self.stage.queue.peek_time() == Some(now) {
            let Some((_, Wake { act: place, rank })) = self.stage.queue.pop() else { break };
            let Some(act) = self.acts[place as usize].as_deref_mut() else { continue };
            act.play(rank, now, &mut self.stage, &mut self.crossed);
            if act.playing == 0 {
                act.sums.close(&mut self.stage.transport);
                ended.extend(
                    self.acts[place as usize].take().map(|act| act.finish(now, &self.stage.transport)),
                );
                self.free.push(place);
                let earliest = self.acts.iter().flatten().map(|act| act.began).min();
                self.stage.transport.forget(earliest.unwrap_or(now));
            }
        }
    }

    /// What went wrong, if something did; looked at before a performance is believed: what the transport refuses, or an end beyond the clock.
    pub fn failure(&mut self) -> Option<Error> {
        let refused = self.stage.transport.failure();
        refused.or_else(|| self.is_beyond_clock.then(beyond_clock))
    }

    /// Boundaries that the last rank has passed since this was asked last, in that order.
    pub fn take_crossed(&mut self) -> impl Iterator<Item = Crossing> + '_ {
        self.crossed.drain(..)
    }

    /// Where nothing happens next although scripts have not ended: who waits for what, and the script's token.
    pub fn dead_end(&mut self) -> Option<(u64, String)> {
        if self.next(Picoseconds::MAX).is_some() {
            return None;
        }
        let act = self.acts.iter().flatten().next()?;
        let network = self.stage.transport.stuck().map_or_else(String::new, |text| format!("; {text}"));
        Some((act.token, describe(act) + &network))
    }
}

impl Act<'_> {
    /// Lets a rank go on until it has to wait or has ended.
    fn play<T: Transport>(
        &mut self,
        rank: u32,
        now: Picoseconds,
        stage: &mut Stage<T>,
        crossed: &mut Vec<Crossing>,
    ) {
        let script = self.script;
        let ops = script.of(rank);
        let r = rank as usize;
        let wake = Wake { act: self.place, rank };
        while let Some(op) = ops.get(self.ranks[r].next) {
            match *op {
                Op::Compute(gap) => {
                    let place = (self.number, rank, self.ranks[r].next);
                    let time = self.options.compute_ps(script.gap_ns(gap));
                    let time = self.options.noise.apply(time, self.hosts[r], place);
                    self.ranks[r].next += 1;
                    self.spend(rank, Account { compute: time, ..Account::default() });
                    if time > 0 {
                        return stage.queue.push(now.saturating_add(time), wake);
                    }
                }
                Op::ReceivePost(m) => {
                    self.ranks[r].next += 1;
                    let message = &mut self.messages[m as usize];
                    message.ready = true;
                    if message.held {
                        message.held = false;
                        message.late_receiver = true;
                        self.start(m, now, stage);
                    }
                }
                Op::Send(m) => {
                    let overhead = self.options.send_overhead_ps;
                    if self.ranks[r].owes(overhead) {
                        self.spend(rank, Account { overhead, ..Account::default() });
                        return stage.queue.push(now.saturating_add(overhead), wake);
                    }
                    let rendezvous = self.is_rendezvous(m);
                    let message = &mut self.messages[m as usize];
                    message.sent = true;
                    message.held = rendezvous && !message.ready;
                    if !message.held {
                        self.start(m, now, stage);
                    }
                }
                Op::SendWait(m) => {
                    if self.is_rendezvous(m) && !self.messages[m as usize].is_there {
                        return self.ranks[r].wait_for(m, now);
                    }
                    self.ranks[r].next += 1;
                }
                Op::ReceiveWait(m) => {
                    if !self.messages[m as usize].is_there {
                        return self.ranks[r].wait_for(m, now);
                    }
                    let overhead = self.options.receive_overhead_ps;
                    if self.ranks[r].owes(overhead) {
                        self.spend(rank, Account { overhead, ..Account::default() });
                        return stage.queue.push(now.saturating_add(overhead), wake);
                    }
                }
                Op::Join(number) => {
                    self.ranks[r].next += 1;
                    if script.sums_in_network() {
                        return self.join(rank, number, now, stage);
                    }
                }
                Op::Boundary(number) => {
                    self.ranks[r].next += 1;
                    self.ranks[r].stretch = number as usize + 1;
                    // Time ascends: the last rank to pass has the last word.
                    self.boundaries[number as usize] = now;
                    self.passed[number as usize] += u128::from(now.saturating_sub(self.began));
                    self.passers[number as usize] += 1;
                    if self.passers[number as usize] == script.ranks() {
                        crossed.push(Crossing { token: self.token, boundary: number as usize });
                    }
                }
            }
        }
        if self.ranks[r].ended.replace(now).is_none() {
            self.playing -= 1;
        }
    }

    fn is_rendezvous(&self, message: u32) -> bool {
        let transfer = &self.script.messages()[message as usize];
        transfer.bytes > self.options.eager_bytes && !transfer.buffered
    }

    fn start<T: Transport>(&mut self, message: u32, now: Picoseconds, stage: &mut Stage<T>) {
        let transfer = &self.script.messages()[message as usize];
        self.messages[message as usize].started = now;
        let (src, dst) = (self.hosts[transfer.src as usize], self.hosts[transfer.dst as usize]);
        if src == dst && self.options.network.memory_gbps.is_none() {
            return self.arrive(message, now, stage);
        }
        let key = stage.keys.give(Key { act: self.place, message, worker: 0, token: self.token });
        stage.transport.belong(self.job, (transfer.src, transfer.dst));
        stage.transport.start(now, src, dst, transfer.bytes, key);
    }

    /// A rank joins a sum, and waits for it.
    fn join<T: Transport>(&mut self, rank: u32, number: u32, now: Picoseconds, stage: &mut Stage<T>) {
        let message = self.messages.len() as u32 + number;
        self.ranks[rank as usize].wait_for(message, now);
        match self.sums.join(self.script, number, rank, now) {
            Joined::Waits => {}
            Joined::Done => self.sum(message, 0, now, stage),
            Joined::Contributes { group, worker } => {
                let bytes = self.script.collectives()[number as usize].bytes;
                let key = stage.keys.give(Key { act: self.place, message, worker, token: self.token });
                stage.transport.contribute(now, group, worker, bytes, key);
            }
        }
    }

    /// True if this is the number of a sum.
    pub(super) fn is_sum(&self, message: u32) -> bool {
        message as usize >= self.messages.len()
    }

    /// A worker has a sum: its ranks go on.
    fn sum<T>(&mut self, message: u32, worker: u32, now: Picoseconds, stage: &mut Stage<T>) {
        let number = message - self.messages.len() as u32;
        let (_, complete) = self.sums.of[number as usize].last;
        for place in 0..self.sums.ranks(self.script, number, worker).len() {
            let rank = self.sums.ranks(self.script, number, worker)[place];
            let Some(since) = self.ranks[rank as usize].go_on(message) else { continue };
            let late_sender = complete.saturating_sub(since);
            let network = now - complete.max(since);
            self.waited(rank, message, now, Account { late_sender, network, ..Account::default() }, stage);
        }
    }

    /// A rank has waited, and goes on now.
    fn waited<T>(
        &mut self,
        rank: u32,
        message: u32,
        now: Picoseconds,
        account: Account,
        stage: &mut Stage<T>,
    ) {
        let state = &mut self.ranks[rank as usize];
        if now > state.since {
            self.waits.push(Wait { message, before: state.last_wait, end: now });
            state.last_wait = (self.waits.len() - 1) as u32;
        }
        self.spend(rank, account);
        stage.queue.push(now, Wake { act: self.place, rank });
    }

    /// A message is there: who waits for it goes on.
    fn arrive<T>(&mut self, number: u32, now: Picoseconds, stage: &mut Stage<T>) {
        let message = &mut self.messages[number as usize];
        message.arrived = now;
        message.is_there = true;
        let started = message.started;
        let transfer = self.script.messages()[number as usize];
        for (rank, is_sender) in [(transfer.dst, false), (transfer.src, true)] {
            let Some(since) = self.ranks[rank as usize].go_on(number) else { continue };
            let late = started.saturating_sub(since);
            let network = now - started.max(since);
            let account = if is_sender {
                Account { late_receiver: late, network, ..Account::default() }
            } else {
                Account { late_sender: late, network, ..Account::default() }
            };
            self.waited(rank, number, now, account, stage);
        }
    }

    /// Puts time down to a rank and to the stretch that it is in.
    fn spend(&mut self, rank: u32, time: Account) {
        let (ranks, number) = (self.ranks.len(), rank as usize);
        let rank = &mut self.ranks[number];
        rank.account.add(&time, 1);
        self.accounts[rank.stretch].include(&time);
        if let Some(account) = self.in_detail.get_mut(rank.stretch * ranks + number) {
            account.add(&time, 1);
        }
    }

    fn finish<T: Transport>(self, end: Picoseconds, transport: &T) -> Performance {
        let own = self.hosts.len() - self.script.servers() as usize;
        let (paths, details) = critical_path(&self, end, transport);
        let ends = self.boundaries.iter().chain([&end]);
        let ranks = self.ranks.len().max(1) as u128;
        // A rank that starts first can end before the last one starts, which is when time begins.
        let ended = |rank: &Rank| u128::from(rank.ended.unwrap_or(end).saturating_sub(self.began));
        let ended = self.ranks.iter().map(ended).sum();
        let means = self.passed.iter().chain([&ended]).map(|sum| (sum / ranks) as Picoseconds); // at most the latest
        // Time and its mean count from the last rank's start.
        let (mut since, mut lag) = (self.began, 0);
        let began = self.began;
        let stretch =
            |(((time, mean), account), path): (((&Picoseconds, Picoseconds), RankSum), PathShare)| {
                let next_lag = (time - began).saturating_sub(mean);
                Stretch {
                    time: time - std::mem::replace(&mut since, *time),
                    lag: std::mem::replace(&mut lag, next_lag),
                    next_lag,
                    account,
                    path,
                }
            };
        Performance {
            token: self.token,
            end,
            makespan: end - self.began,
            stretches: ends.zip(means).zip(self.accounts).zip(paths).map(stretch).collect(),
            ends: self.ranks.iter().take(own).map(|rank| rank.ended.unwrap_or(end)).collect(),
            accounts: self.ranks.into_iter().take(own).map(|rank| rank.account).collect(),
            details,
            in_detail: self.in_detail,
        }
    }
}

impl Performance {
    /// What its critical path is made of.
    pub fn path(&self) -> PathShare {
        self.stretches.iter().fold(PathShare::default(), |sum, stretch| PathShare {
            ranks: sum.ranks + stretch.path.ranks,
            network: sum.network + stretch.path.network,
            messages: sum.messages + stretch.path.messages,
        })
    }
}

impl Rank {
    fn wait_for(&mut self, message: u32, now: Picoseconds) {
        self.waiting = Some(message);
        self.since = now;
    }

    /// Stops waiting for a message, if that is what it waited for; returns since when.
    fn go_on(&mut self, message: u32) -> Option<Picoseconds> {
        self.waiting.take_if(|waiting| *waiting == message).map(|_| self.since)
    }

    /// Goes past the operation once its overhead has passed; true if that is still to come.
    fn owes(&mut self, overhead: Picoseconds) -> bool {
        self.paid = overhead > 0 && !self.paid;
        self.next += usize::from(!self.paid);
        self.paid
    }
}

/// Plays one script alone, each rank so much ahead of the last one; `None` if it has a dead end. Hands the transport back.
pub fn play_alone<T: Transport>(
    transport: T,
    script: &Script,
    hosts: &[HostId],
    leads: &[Picoseconds],
    options: Options,
) -> (Option<Performance>, T) {
    let mut player = Player::new(transport);
    let last = leads.iter().copied().max().unwrap_or(0);
    let starts: Vec<Picoseconds> = leads.iter().map(|lead| last - lead).collect();
    player.begin(&starts, (0, 0), script, (hosts, &[]), options);
    let mut ended = Vec::new();
    while let Some(now) = player.next(Picoseconds::MAX).filter(|_| ended.is_empty()) {
        player.advance(now, &mut ended);
    }
    (ended.pop(), player.stage.transport)
}
