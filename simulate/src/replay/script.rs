//! From a trace to what each rank does.
//!
//! A trace tells when things happened on one network. To tell when they would happen on another one, the times have to go and
//! the reasons have to stay. For each rank the moments of its messages (receive posted, payload received, send posted, buffer
//! free again) are put in the order of time; between two of them the rank computed or waited.
//!
//! # Which waits are inferred
//!
//! - **What a rank does after it received a message depends on that message.** Every receive becomes a wait at the moment of its
//!   completion. Where a program waited for several, or for any, the trace says what it got, and in which order: wildcards match
//!   as they did when the trace was taken.
//! - Likewise for the buffer of a send, where the moment of its release is known.
//! - A receive whose completion is **not known** (text formats, expanded collectives) is waited for before the receiver's next
//!   send that was posted later than the message, or when the receiver leaves a call that it was in when the message was
//!   posted, whatever comes first; if there is neither, at the end.
//!
//! # What is computation
//!
//! - Time outside of calls, unless it ends with the completion of a request. Such a gap is a wait: blocking receives and sends are
//!   not calls of their own in a trace.
//! - If that completion is inside a call, the time before the call is computation.
//! - A gap that ends with a completion that is not known is computation.
//! - What begins before the excerpt or ends after it counts with its part inside; [margins](phaseflow_segment::Margins) tell what it was.
//! - Time inside of calls is none, so neither are the operations of a reduction.
//!
//! # What holds because of it
//!
//! Taking the moments by time, at equal times in the order of `Class`, is an order in which every rank could do its part: a script
//! made of a sound trace has no dead end. A rendezvous is only asked of messages whose receive was posted before the send's
//! buffer was free, which proves no rendezvous but allows one. Errors between the clocks of two ranks do not matter where the
//! order is that of one rank; they can make a message look as if it could have been a rendezvous.
//!
//! # Collectives
//!
//! The messages inside a collective are replayed as the trace has them. Where the calls are known too, a script also knows which messages
//! belong to which [collective](Script::collectives), so that something else can take their place: [`Replacement`](super::Replacement).
//!
//! # Where it fails
//!
//! A rank that receives without blocking, computes, and then finds the message there without having waited looks like one that
//! waited all the time, if the recorder left out the short wait: its computation is lost. What a rank waited for at the start of an excerpt may
//! have been sent before: nothing holds it up in the replay.

use phaseflow_collect::trace::{Message, Operation};
use phaseflow_collect::{Error, Result};

use super::collectives::{Collective, Collectives};
use super::excerpt::{Excerpt, too_many};
use super::inside::{Calls, Outside, is_inside};
use super::replacement::Writer;

/// What a rank does next. Numbers of messages are positions in [`Script::messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Computes; index of a gap.
    Compute(u32),
    /// Is ready to receive a message.
    ReceivePost(u32),
    /// Goes on when a message is there.
    ReceiveWait(u32),
    /// Sends a message.
    Send(u32),
    /// Goes on when the buffer of a message is free.
    SendWait(u32),
    /// Enters a collective: number of a [collective](Script::collectives). Where the network sums, goes on when it has the sum.
    Join(u32),
    /// Enters the next stretch of the run.
    Boundary(u32),
}

/// A message of a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Sending rank.
    pub src: u32,
    /// Receiving rank.
    pub dst: u32,
    /// Payload.
    pub bytes: u64,
    /// True if it is known to have left before its receiver was ready.
    pub buffered: bool,
    /// True if the receiver says when it is ready.
    pub announced: bool,
    /// True if it is part of a [collective](Script::collectives).
    pub collective: bool,
}

/// What each rank does, in its order. Memory: about 130 bytes a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub(super) ops: Vec<Op>,
    /// By rank: where its operations end.
    pub(super) ends: Vec<usize>,
    pub(super) gaps_ns: Vec<u64>,
    pub(super) messages: Vec<Transfer>,
    /// Stretches that the boundaries make.
    pub(super) stretches: usize,
    pub(super) collectives: Vec<Collective>,
    pub(super) groups: Vec<Vec<u32>>,
    /// Collectives are not carried out as recorded.
    pub(super) is_replaced: bool,
    pub(super) sums_in_network: bool,
    /// The last ranks.
    pub(super) servers: u32,
    /// Sends that nobody is known to receive although other receives are known: first few, and how many.
    pub(super) unmatched: (Vec<u32>, u64),
}

/// What comes first of what happens on a rank at the same nanosecond: what a moment depends on is always earlier, or at the same time
/// and of an earlier class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Of a message that was there at once.
    EarlyReceivePost,
    /// Of a message that was sent earlier.
    Receive,
    /// Of a message that is posted outside of the excerpt: something that the rank may have waited for was complete.
    OutsideCompletion,
    /// Of a message whose completion is not known.
    Inferred,
    /// Of a send that was posted earlier, to a receiver that was ready earlier.
    SendWait,
    ReceivePost,
    /// Of a send whose receiver became ready at this moment.
    LateSendWait,
    Boundary,
    /// Of a collective that is entered.
    Join,
    /// Of a message that is posted outside of the excerpt: something was posted.
    OutsidePost,
    Send,
    /// Of a send that took no time.
    ShortSendWait,
    /// Of a message that took no time.
    ShortReceive,
}

impl Class {
    /// True of what a rank may have waited for.
    fn completes(self) -> bool {
        matches!(
            self,
            Self::Receive
                | Self::ShortReceive
                | Self::SendWait
                | Self::LateSendWait
                | Self::ShortSendWait
                | Self::OutsideCompletion
        )
    }
}

/// A moment of a rank.
#[derive(Clone, Copy, Debug)]
struct Moment {
    time_ns: i64,
    class: Class,
    number: u32,
}

impl Moment {
    fn op(&self) -> Option<Op> {
        Some(match self.class {
            Class::ReceivePost | Class::EarlyReceivePost => Op::ReceivePost(self.number),
            Class::Receive | Class::Inferred | Class::ShortReceive => Op::ReceiveWait(self.number),
            Class::SendWait | Class::LateSendWait | Class::ShortSendWait => Op::SendWait(self.number),
            Class::Boundary => Op::Boundary(self.number),
            Class::Send => Op::Send(self.number),
            Class::Join => Op::Join(self.number),
            Class::OutsidePost | Class::OutsideCompletion => return None,
        })
    }
}

/// Unmatched sends that are named.
pub(super) const NAMED: usize = 5;

impl Script {
    /// What `ranks` ranks do from `start_ns` to `end_ns` on the clock of the excerpt; stretches begin at `start_ns` and at each of
    /// `boundaries_ns`, which ascend.
    ///
    /// # Errors
    /// A rank that the run does not have; more than 2³²−1 messages.
    pub fn new(
        excerpt: &Excerpt,
        ranks: u32,
        (start_ns, end_ns): (i64, i64),
        boundaries_ns: &[i64],
    ) -> Result<Self> {
        let count = u32::try_from(excerpt.len()).map_err(|_| too_many())?;
        let messages = excerpt.messages();
        for i in 0..excerpt.len() {
            let message = messages.get(i);
            let rank = message.src.0.max(message.dst.0);
            if rank >= ranks {
                return Err(Error::data(format!("message {i} is of rank {rank}, the run has {ranks} ranks")));
            }
        }
        let knows_receives = (0..excerpt.len()).any(|i| is_received(&messages.get(i)));
        let calls = Calls::new(excerpt.stays(), ranks);
        let sends = Sends::new(excerpt, ranks);
        let collectives = Collectives::new(excerpt.collectives(), ranks, (start_ns, end_ns));
        let each = |visit: &mut dyn FnMut(u32, Moment)| {
            for number in 0..count {
                let message = messages.get(number as usize);
                sending(&message, number, start_ns, visit);
                if is_received(&message) || !knows_receives {
                    receiving(&message, number, start_ns, &calls, &sends, visit);
                }
            }
            for message in excerpt.margin().iter() {
                outside(&message, (start_ns, end_ns), ranks, visit);
            }
            collectives.entries(&mut |rank, time_ns, number| {
                let time_ns = time_ns.max(start_ns);
                visit(rank, Moment { time_ns, class: Class::Join, number });
            });
            for rank in 0..ranks {
                for (number, time_ns) in (0..).zip(boundaries_ns) {
                    visit(rank, Moment { time_ns: *time_ns, class: Class::Boundary, number });
                }
            }
        };
        // Counted, then filled in, then sorted rank by rank.
        let mut ends = vec![0_usize; ranks as usize + 1];
        each(&mut |rank, _| ends[rank as usize + 1] += 1);
        for rank in 0..ranks as usize {
            ends[rank + 1] += ends[rank];
        }
        let nothing = Moment { time_ns: 0, class: Class::Boundary, number: 0 };
        let mut all = vec![nothing; ends.last().copied().unwrap_or(0)];
        let mut next = ends.clone();
        each(&mut |rank, moment| {
            let place = &mut next[rank as usize];
            all[*place] = moment;
            *place += 1;
        });
        let mut script = Self {
            ops: Vec::with_capacity(all.len()),
            ends: Vec::with_capacity(ranks as usize),
            gaps_ns: Vec::new(),
            messages: (0..excerpt.len()).map(|i| transfer(&messages.get(i), &collectives)).collect(),
            stretches: boundaries_ns.len() + 1,
            collectives: Vec::new(),
            groups: Vec::new(),
            is_replaced: false,
            sums_in_network: false,
            servers: 0,
            unmatched: unmatched(excerpt, knows_receives),
        };
        for rank in 0..ranks as usize {
            let moments = &mut all[ends[rank]..ends[rank + 1]];
            moments.sort_unstable_by_key(|moment| (moment.time_ns, moment.class, moment.number));
            script.rank(moments, calls.of(rank as u32), (start_ns, end_ns))?;
        }
        (script.collectives, script.groups) = (collectives.all, collectives.groups);
        Ok(script)
    }

    /// Appends what a rank does.
    fn rank(
        &mut self,
        moments: &[Moment],
        calls: &[(i64, i64)],
        (start_ns, end_ns): (i64, i64),
    ) -> Result<()> {
        // Whether the gap before a moment is a wait; a boundary is in the middle of one.
        let mut is_wait = vec![false; moments.len() + 1];
        for (i, moment) in moments.iter().enumerate().rev() {
            is_wait[i] = match moment.class {
                Class::Boundary => is_wait[i + 1],
                _ => moment.class.completes() && !is_inside(calls, moment.time_ns),
            };
        }
        let (mut at, mut calls) = (start_ns, Outside::new(calls));
        for (moment, is_wait) in moments.iter().zip(is_wait) {
            // What a rank computes beyond the end is the concern of the next excerpt.
            let time = moment.time_ns.clamp(at, end_ns.max(at));
            let outside = calls.until(at, time);
            if !is_wait {
                self.compute(outside)?;
            }
            self.ops.extend(moment.op());
            at = time;
        }
        self.compute(calls.until(at, end_ns.max(at)))?;
        self.ends.push(self.ops.len());
        Ok(())
    }

    fn compute(&mut self, gap_ns: u64) -> Result<()> {
        if gap_ns > 0 {
            let index = u32::try_from(self.gaps_ns.len()).map_err(|_| too_many())?;
            self.gaps_ns.push(gap_ns);
            self.ops.push(Op::Compute(index));
        }
        Ok(())
    }

    /// The same with collectives carried out as `writer` says, by so many more ranks that serve, or by the network.
    pub(super) fn replaced(&self, writer: &Writer, servers: u32, sums_in_network: bool) -> Self {
        let first = self.messages.len() as u32;
        let renumber = |op: &Op| match *op {
            Op::ReceivePost(number) => Op::ReceivePost(first + number),
            Op::ReceiveWait(number) => Op::ReceiveWait(first + number),
            Op::Send(number) => Op::Send(first + number),
            Op::SendWait(number) => Op::SendWait(first + number),
            other => other,
        };
        let is_kept = |op: &Op| match *op {
            Op::ReceivePost(m) | Op::ReceiveWait(m) | Op::Send(m) | Op::SendWait(m) => {
                !self.messages[m as usize].collective
            }
            _ => true,
        };
        let (mut ops, mut ends) = (Vec::with_capacity(self.ops.len()), Vec::new());
        for rank in 0..self.ranks() {
            for op in self.of(rank).iter().filter(|op| is_kept(op)) {
                ops.push(*op);
                if let Op::Join(number) = *op {
                    let members = &self.groups[self.collectives[number as usize].group as usize];
                    let member = members.partition_point(|member| *member < rank);
                    ops.extend(writer.of(number, member).iter().map(renumber));
                }
            }
            ends.push(ops.len());
        }
        for server in 0..servers {
            let of_server = writer.server_ops.get(server as usize);
            ops.extend(of_server.into_iter().flatten().map(renumber));
            ends.push(ops.len());
        }
        // What is left of the recorded messages keeps its number.
        let messages = self.messages.iter().chain(&writer.transfers).copied().collect();
        Self { ops, ends, messages, is_replaced: true, sums_in_network, servers, ..self.clone() }
    }

    /// The collectives that can be carried out in another way.
    pub fn collectives(&self) -> &[Collective] {
        &self.collectives
    }

    /// The sets of ranks that take part in collectives, each in ascending order.
    pub fn groups(&self) -> &[Vec<u32>] {
        &self.groups
    }

    /// True if the network sums what ranks [join](Op::Join) for.
    pub fn sums_in_network(&self) -> bool {
        self.sums_in_network
    }

    /// How many of the ranks, the last ones, only serve others and are none of the program's.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// Number of ranks, with servers.
    pub fn ranks(&self) -> u32 {
        self.ends.len() as u32
    }

    /// What a rank does.
    pub fn of(&self, rank: u32) -> &[Op] {
        let rank = rank as usize;
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        &self.ops[start..self.ends[rank]]
    }

    /// The messages.
    pub fn messages(&self) -> &[Transfer] {
        &self.messages
    }

    /// Those that are sent: without what something else took the place of.
    pub fn live_messages(&self) -> impl Iterator<Item = &Transfer> {
        self.messages.iter().filter(|message| !(self.is_replaced && message.collective))
    }

    /// Length of a gap, nanoseconds.
    pub fn gap_ns(&self, index: u32) -> u64 {
        self.gaps_ns[index as usize]
    }

    /// How many stretches the run is split into.
    pub fn stretches(&self) -> usize {
        self.stretches
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        let of = |count: usize, size: usize| (count * size) as u64;
        of(self.ops.len(), size_of::<Op>())
            + of(self.ends.len() + self.gaps_ns.len(), 8)
            + of(self.messages.len(), size_of::<Transfer>())
            + of(self.collectives.len(), size_of::<Collective>())
    }

    /// Hands out numbers that say all of it.
    pub(crate) fn digest(&self, number: &mut dyn FnMut(u64)) {
        for rank in 0..self.ranks() {
            number(self.of(rank).len() as u64);
            for op in self.of(rank) {
                let (kind, value) = match op {
                    Op::Compute(gap) => (0, self.gap_ns(*gap)),
                    Op::ReceivePost(message) => (1, u64::from(*message)),
                    Op::ReceiveWait(message) => (2, u64::from(*message)),
                    Op::Send(message) => (3, u64::from(*message)),
                    Op::SendWait(message) => (4, u64::from(*message)),
                    Op::Boundary(boundary) => (5, u64::from(*boundary)),
                    Op::Join(collective) => (6, u64::from(*collective)),
                };
                number(kind);
                number(value);
            }
        }
        for Collective { group, bytes, .. } in &self.collectives {
            number(u64::from(*group));
            number(*bytes);
        }
        for Transfer { src, dst, bytes, buffered, announced, collective } in &self.messages {
            number(u64::from(*src) << 32 | u64::from(*dst));
            number(*bytes);
            number(u64::from(*collective) << 2 | u64::from(*buffered) << 1 | u64::from(*announced));
        }
    }

    /// Which send of its rank a message is, from 1.
    pub fn position(&self, message: u32) -> usize {
        let Some(transfer) = self.messages.get(message as usize) else { return 0 };
        let sends = self.of(transfer.src).iter().filter_map(|op| match op {
            Op::Send(number) => Some(*number),
            _ => None,
        });
        sends.take_while(|number| *number != message).count() + 1
    }

    /// Sends that no receive is known of in a trace that knows of others, a line each, by rank and position; `None` if there are none.
    pub fn unmatched(&self) -> Option<String> {
        let (first, count) = &self.unmatched;
        let name = |number: &u32| {
            let Transfer { src, dst, bytes, .. } = self.messages[*number as usize];
            format!("rank {src}, send {} ({bytes} bytes to rank {dst})", self.position(*number))
        };
        let named: Vec<String> = first.iter().map(name).collect();
        let more = if *count > named.len() as u64 { ", …" } else { "" };
        (*count > 0).then(|| format!("{count} sends have no known receive: {}{more}", named.join(", ")))
    }
}

fn transfer(message: &Message, collectives: &Collectives) -> Transfer {
    let buffered =
        message.send_complete_ns.zip(message.receive_post_ns).is_some_and(|(free, ready)| free < ready);
    Transfer {
        src: message.src.0,
        dst: message.dst.0,
        bytes: message.bytes,
        buffered,
        announced: message.receive_post_ns.is_some(),
        collective: collectives.has(message),
    }
}

/// The moments of a message at its sender.
fn sending(message: &Message, number: u32, start_ns: i64, visit: &mut dyn FnMut(u32, Moment)) {
    let (src, post) = (message.src.0, message.send_post_ns);
    visit(src, Moment { time_ns: post, class: Class::Send, number });
    if let Some(free) = message.send_complete_ns {
        let free = free.max(post);
        let class = match message.receive_post_ns {
            _ if free == post => Class::ShortSendWait,
            Some(ready) if ready.max(start_ns) == free => Class::LateSendWait,
            _ => Class::SendWait,
        };
        visit(src, Moment { time_ns: free, class, number });
    }
}

/// The moments of a message at its receiver.
fn receiving(
    message: &Message,
    number: u32,
    start_ns: i64,
    calls: &Calls,
    sends: &Sends,
    visit: &mut dyn FnMut(u32, Moment),
) {
    let (dst, post) = (message.dst.0, message.send_post_ns);
    let received = match message.receive_complete_ns {
        Some(time_ns) if time_ns == post => Moment { time_ns, class: Class::ShortReceive, number },
        Some(time_ns) => Moment { time_ns, class: Class::Receive, number },
        None => {
            let time_ns = sends.after(dst, post).min(calls.leave(dst, post));
            Moment { time_ns, class: Class::Inferred, number }
        }
    };
    if let Some(ready) = message.receive_post_ns {
        // Before the excerpt is at its start.
        let time_ns = ready.max(start_ns).min(received.time_ns);
        let at_once = time_ns == received.time_ns;
        let class = if at_once { Class::EarlyReceivePost } else { Class::ReceivePost };
        visit(dst, Moment { time_ns, class, number });
    }
    visit(dst, received);
}

/// The moments of a message that is posted outside of the excerpt; after its end they only tell what the rank was about then.
fn outside(
    message: &Message,
    (start_ns, end_ns): (i64, i64),
    ranks: u32,
    visit: &mut dyn FnMut(u32, Moment),
) {
    let mut moment = |rank: u32, time_ns: Option<i64>, class: Class| {
        if let Some(time_ns) = time_ns.filter(|time_ns| *time_ns >= start_ns && rank < ranks) {
            visit(rank, Moment { time_ns, class, number: 0 });
        }
    };
    let (src, dst) = (message.src.0, message.dst.0);
    moment(src, Some(message.send_post_ns), Class::OutsidePost);
    moment(src, message.send_complete_ns, Class::OutsideCompletion);
    moment(dst, message.receive_post_ns.filter(|ready| *ready < end_ns), Class::OutsidePost);
    moment(dst, message.receive_complete_ns, Class::OutsideCompletion);
}

fn is_received(message: &Message) -> bool {
    message.receive_complete_ns.is_some() || message.receive_post_ns.is_some()
}

fn is_one_sided(message: &Message) -> bool {
    matches!(message.operation, Operation::Put | Operation::Get | Operation::Accumulate)
}

fn unmatched(excerpt: &Excerpt, knows_receives: bool) -> (Vec<u32>, u64) {
    // A source that knows of no receive at all does not tell of unmatched ones.
    if !knows_receives {
        return (Vec::new(), 0);
    }
    let messages = excerpt.messages();
    // Nobody receives what is put into memory, or got from it.
    let is_lacking = |message: &Message| !is_received(message) && !is_one_sided(message);
    let lacking = || (0..excerpt.len()).filter(|i| is_lacking(&messages.get(*i)));
    (lacking().take(NAMED).map(|i| i as u32).collect(), lacking().count() as u64)
}

/// Send times by rank.
struct Sends {
    times_ns: Vec<i64>,
    ends: Vec<usize>,
}

impl Sends {
    fn new(excerpt: &Excerpt, ranks: u32) -> Self {
        let columns = excerpt.messages().columns();
        let mut ends = vec![0; ranks as usize + 1];
        for src in &columns.src {
            ends[*src as usize + 1] += 1;
        }
        for rank in 0..ranks as usize {
            ends[rank + 1] += ends[rank];
        }
        let (mut next, mut times_ns) = (ends.clone(), vec![0; columns.src.len()]);
        // Messages are in order of time, so each rank's are.
        for (src, time) in columns.src.iter().zip(&columns.send_post_ns) {
            times_ns[next[*src as usize]] = *time;
            next[*src as usize] += 1;
        }
        Self { times_ns, ends }
    }

    /// When a rank next sends after a time; [`i64::MAX`] if it does not.
    fn after(&self, rank: u32, time_ns: i64) -> i64 {
        let times = &self.times_ns[self.ends[rank as usize]..self.ends[rank as usize + 1]];
        times.get(times.partition_point(|time| *time <= time_ns)).copied().unwrap_or(i64::MAX)
    }
}
