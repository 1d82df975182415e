//! The moments of ranks in a trace: when messages are posted and completed, in the order of
//! dependence.

use phaseflow_collect::Result;
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

/// Moments in memory at a time, unless one rank has more: 256 MB.
const PART: usize = 1 << 24;

/// The moments of all ranks, rank by rank, some ranks at a time.
pub(super) struct MomentsByRank<F> {
    each: F,
    /// By rank: the number of its moments.
    counts: Vec<usize>,
    /// Moments in memory at a time, unless one rank has more.
    part: usize,
}

impl<F: Fn(&mut dyn FnMut(u32, Moment))> MomentsByRank<F> {
    /// The moments that `each` visits. It is called once to count them, and once for each part of
    /// the ranks, always in the same order.
    pub(super) fn new(ranks: u32, each: F) -> Self {
        let mut counts = vec![0; ranks as usize];
        each(&mut |rank, _| counts[rank as usize] += 1);
        Self { each, counts, part: PART }
    }

    /// Number of moments.
    pub(super) fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Calls `of_rank` for each rank with its moments in order of time, equal ones in order of
    /// dependence.
    ///
    /// # Errors
    /// Those of `of_rank`.
    pub(super) fn sorted(&self, mut of_rank: impl FnMut(u32, &[Moment]) -> Result<()>) -> Result<()> {
        let mut moments = Vec::new();
        let mut first = 0;
        while first < self.counts.len() {
            let mut size = 0;
            let others = self.counts[first..].iter().enumerate().take_while(|(place, count)| {
                size += **count;
                *place == 0 || size <= self.part
            });
            let ranks = first..first + others.count();
            self.load(ranks.clone(), &mut moments);
            let mut rest = &mut moments[..];
            for rank in ranks.clone() {
                let (own, others) = rest.split_at_mut(self.counts[rank]);
                own.sort_unstable_by_key(|moment| (moment.time_ns, moment.class, moment.number));
                of_rank(rank as u32, own)?;
                rest = others;
            }
            first = ranks.end;
        }
        Ok(())
    }

    /// Moments of these ranks, rank by rank, as they come.
    fn load(&self, ranks: std::ops::Range<usize>, moments: &mut Vec<Moment>) {
        let mut next = Vec::with_capacity(ranks.len());
        let mut size = 0;
        for rank in ranks.clone() {
            next.push(size);
            size += self.counts[rank];
        }
        moments.clear();
        moments.resize(size, Moment { time_ns: 0, class: Class::Boundary, number: 0 });
        (self.each)(&mut |rank, moment| {
            let rank = (rank as usize).wrapping_sub(ranks.start);
            if let Some(place) = next.get_mut(rank) {
                moments[*place] = moment;
                *place += 1;
            }
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever fits into a part, each rank comes once, in order, with its moments by time.
    #[test]
    fn parts_of_any_size_hold_the_same_moments() {
        // By moment: rank and time; rank 2 has none, and rank 4 more than a small part.
        let all = [(4, 9), (1, 5), (0, 3), (4, 2), (1, 1), (3, 7), (4, 4), (4, 1), (0, 8), (1, 3)];
        let visit = |visit: &mut dyn FnMut(u32, Moment)| {
            for (number, (rank, time_ns)) in (0..).zip(all) {
                visit(rank, Moment { time_ns, class: Class::Send, number });
            }
        };
        for part in 1..12 {
            let moments = MomentsByRank { part, ..MomentsByRank::new(5, visit) };
            assert_eq!(moments.len(), all.len());
            let mut found = Vec::new();
            let each = |rank: u32, own: &[Moment]| {
                found.push((rank, own.iter().map(|moment| moment.time_ns).collect::<Vec<_>>()));
                Ok(())
            };
            moments.sorted(each).unwrap();
            let expected =
                [(0, vec![3, 8]), (1, vec![1, 3, 5]), (2, vec![]), (3, vec![7]), (4, vec![1, 2, 4, 9])];
            assert_eq!(found, expected, "{part}");
        }
    }
}
