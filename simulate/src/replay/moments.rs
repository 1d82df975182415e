//! The moments of ranks in a trace: when messages are posted and completed, in the order of
//! dependence.

use phaseflow_collect::trace::Message;

use super::inside::Calls;
use super::interval::TraceInterval;
use super::op::Op;

/// Order of moments of one rank at the same nanosecond. A moment depends on earlier ones only, or
/// on ones of the same time and an earlier class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Completion of a message that takes no time.
    EarlyReceivePost,
    /// Completion of a message that is sent earlier.
    Receive,
    /// Completion of a message that is posted outside of the interval; the rank may have waited for
    /// it.
    OutsideCompletion,
    /// Wait for a message whose completion is not known.
    Inferred,
    /// Release of the buffer of an earlier send, whose receiver was ready earlier.
    SendWait,
    ReceivePost,
    /// Release of the buffer of a send whose receiver becomes ready at this moment.
    LateSendWait,
    Boundary,
    /// Of a collective that is entered.
    Join,
    /// Post of a message that is posted outside of the interval.
    OutsidePost,
    Send,
    /// Of a send that took no time.
    ShortSendWait,
    /// Of a message that took no time.
    ShortReceive,
}

impl Class {
    /// True if a rank may have waited for this moment.
    pub(super) fn completes(self) -> bool {
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
pub(super) struct Moment {
    pub(super) time_ns: i64,
    pub(super) class: Class,
    pub(super) number: u32,
}

impl Moment {
    pub(super) fn op(&self) -> Option<Op> {
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

/// The moments of all ranks, rank by rank.
pub(super) struct MomentsByRank {
    all: Vec<Moment>,
    /// Where the moments of a rank begin, and where those of the last rank end.
    starts: Vec<usize>,
}

impl MomentsByRank {
    /// Takes the moments that `each` visits, twice in the same order: they are counted, then
    /// stored.
    pub(super) fn new(ranks: u32, each: impl Fn(&mut dyn FnMut(u32, Moment))) -> Self {
        let mut starts = vec![0_usize; ranks as usize + 1];
        each(&mut |rank, _| starts[rank as usize + 1] += 1);
        for rank in 0..ranks as usize {
            starts[rank + 1] += starts[rank];
        }
        let nothing = Moment { time_ns: 0, class: Class::Boundary, number: 0 };
        let mut all = vec![nothing; starts.last().copied().unwrap_or(0)];
        let mut next = starts.clone();
        each(&mut |rank, moment| {
            let place = &mut next[rank as usize];
            all[*place] = moment;
            *place += 1;
        });
        Self { all, starts }
    }

    /// Number of moments.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The moments of a rank in order of time, equal ones in order of dependence.
    pub(super) fn sorted(&mut self, rank: u32) -> &[Moment] {
        let moments = &mut self.all[self.starts[rank as usize]..self.starts[rank as usize + 1]];
        moments.sort_unstable_by_key(|moment| (moment.time_ns, moment.class, moment.number));
        moments
    }
}

/// The moments of a message at its sender.
pub(super) fn sending(message: &Message, number: u32, start_ns: i64, visit: &mut dyn FnMut(u32, Moment)) {
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
pub(super) fn receiving(
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
        // Times before the interval count as its start.
        let time_ns = ready.max(start_ns).min(received.time_ns);
        let at_once = time_ns == received.time_ns;
        let class = if at_once { Class::EarlyReceivePost } else { Class::ReceivePost };
        visit(dst, Moment { time_ns, class, number });
    }
    visit(dst, received);
}

/// The moments of a message that is posted outside of the interval. Those after its end only show
/// whether the last gap is a wait.
pub(super) fn outside(
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

pub(super) fn is_received(message: &Message) -> bool {
    message.receive_complete_ns.is_some() || message.receive_post_ns.is_some()
}

/// Send times by rank.
pub(super) struct Sends {
    times_ns: Vec<i64>,
    ends: Vec<usize>,
}

impl Sends {
    pub(super) fn new(interval: &TraceInterval, ranks: u32) -> Self {
        let columns = interval.messages().columns();
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
    pub(super) fn after(&self, rank: u32, time_ns: i64) -> i64 {
        let times = &self.times_ns[self.ends[rank as usize]..self.ends[rank as usize + 1]];
        times.get(times.partition_point(|time| *time <= time_ns)).copied().unwrap_or(i64::MAX)
    }
}
