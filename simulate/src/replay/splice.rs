//! Operations of several stretches of a run one after the other, as one replay.
//!
//! The rest of the run is left out. Each rank continues from one stretch to the next on its own, so
//! the skew of ranks and the messages in flight carry over. A stretch that is replayed alone starts
//! without skew, on an empty network.

use phaseflow_collect::Result;

use super::op::{Op, too_many_messages};
use super::operations::{NAMED, Operations};

impl Operations {
    /// One after the other; each begins a stretch of its own. All of them have the same ranks.
    ///
    /// # Errors
    /// More than 2³²−1 messages.
    pub(super) fn spliced(parts: &[Self]) -> Result<Self> {
        let sum = |of: fn(&Self) -> usize| parts.iter().map(of).sum::<usize>();
        let (ops, messages) = (sum(|part| part.ops.len()), sum(|part| part.messages.len()));
        u32::try_from(messages.max(ops)).map_err(|_| too_many_messages())?;
        let ranks = parts.iter().map(Self::ranks).max().unwrap_or(0);
        let mut spliced = Self {
            ops: Vec::with_capacity(ops + parts.len() * ranks as usize),
            ends: Vec::with_capacity(ranks as usize),
            gaps_ns: Vec::with_capacity(sum(|part| part.gaps_ns.len())),
            messages: Vec::with_capacity(messages),
            stretches: sum(|part| part.stretches).max(1),
            ..Self::default()
        };
        for rank in 0..ranks {
            let (mut message, mut gap, mut stretch) = (0, 0, 0);
            for part in parts {
                if stretch > 0 {
                    spliced.ops.push(Op::Boundary(stretch - 1));
                }
                // Collectives are done as they were recorded.
                let ops = part.of(rank).iter().filter(|op| !matches!(op, Op::Join(_)));
                spliced.ops.extend(ops.map(|op| match *op {
                    Op::Compute(number) => Op::Compute(number + gap),
                    Op::ReceivePost(number) => Op::ReceivePost(number + message),
                    Op::ReceiveWait(number) => Op::ReceiveWait(number + message),
                    Op::Send(number) => Op::Send(number + message),
                    Op::SendWait(number) => Op::SendWait(number + message),
                    Op::Boundary(number) => Op::Boundary(number + stretch),
                    Op::Join(number) => Op::Join(number),
                }));
                // Each number fits, as their sum does.
                message += part.messages.len() as u32;
                gap += part.gaps_ns.len() as u32;
                stretch += part.stretches as u32;
            }
            spliced.ends.push(spliced.ops.len());
        }
        for part in parts {
            let first = spliced.messages.len() as u32;
            spliced.gaps_ns.extend(&part.gaps_ns);
            spliced.messages.extend(&part.messages);
            let (named, count) = (&mut spliced.unmatched.0, part.unmatched.1);
            let room = NAMED.saturating_sub(named.len());
            named.extend(part.unmatched.0.iter().take(room).map(|number| number + first));
            spliced.unmatched.1 += count;
        }
        Ok(spliced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::op::Transfer;

    /// Rank 0 computes and sends to rank 1, in two stretches.
    fn part(gap_ns: u64, bytes: u64) -> Operations {
        let message = Transfer { dst: 1, bytes, ..Transfer::default() };
        Operations {
            ops: vec![Op::Compute(0), Op::Boundary(0), Op::Send(0), Op::Boundary(0), Op::ReceiveWait(0)],
            ends: vec![3, 5],
            gaps_ns: vec![gap_ns],
            messages: vec![message],
            stretches: 2,
            unmatched: (vec![0], 1),
            ..Operations::default()
        }
    }

    #[test]
    fn each_rank_does_one_after_the_other() {
        let spliced = Operations::spliced(&[part(5, 10), part(7, 20)]).unwrap();
        let sender = [
            Op::Compute(0),
            Op::Boundary(0),
            Op::Send(0),
            Op::Boundary(1),
            Op::Compute(1),
            Op::Boundary(2),
            Op::Send(1),
        ];
        let receiver =
            [Op::Boundary(0), Op::ReceiveWait(0), Op::Boundary(1), Op::Boundary(2), Op::ReceiveWait(1)];
        assert_eq!((spliced.of(0), spliced.of(1)), (&sender[..], &receiver[..]));
        assert_eq!((spliced.gap_ns(0), spliced.gap_ns(1)), (5, 7));
        assert_eq!(spliced.messages().iter().map(|message| message.bytes).collect::<Vec<_>>(), [10, 20]);
        assert_eq!((spliced.stretches(), spliced.unmatched), (4, (vec![0, 1], 2)));
    }

    #[test]
    fn one_is_itself_and_none_is_nothing() {
        assert_eq!(Operations::spliced(&[part(5, 10)]).unwrap(), part(5, 10));
        assert_eq!(Operations::spliced(&[]).unwrap().ranks(), 0);
    }
}
