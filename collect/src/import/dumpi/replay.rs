//! Communicators of a run, from what all ranks recorded of making them.
//!
//! Handles are each rank's own. A communicator is made by all members of another one together, in
//! the same order on each (MPI 4.1, section 7.4.2). So the calls are replayed: each rank goes on
//! until it makes a communicator, and waits there until all members have come. Groups are each
//! rank's own affair.
//!
//! Order of members: by key and old rank (split), as in the old one (dup, Cartesian, graph: a
//! library may reorder them, which is seen by `MPI_Comm_rank` only), as in the group. Where
//! `MPI_Comm_rank` of all members says another order, that one counts. Memory: the members of all
//! communicators, and the calls that make them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::communicators::{Communicator, Communicators, Members};
use super::making::{COMM_NULL, COMM_SELF, COMM_WORLD, GroupOf, How, Op};

/// Replays the calls of all ranks.
pub(super) fn replay(calls: Vec<Vec<Op>>) -> Communicators {
    Replay::new(calls).run()
}

/// A rank on its way through its calls.
struct Walker {
    calls: std::vec::IntoIter<Op>,
    /// The call at which it waits.
    waiting: Option<Op>,
    comms: FxHashMap<u16, u32>,
    groups: FxHashMap<u16, Members>,
}

/// Ranks that have come to make a communicator of one.
#[derive(Default)]
struct Meeting {
    /// In the order of coming: the rank, its new handle, how.
    come: Vec<(u32, u16, How)>,
}

/// One side of an intercommunicator that waits for the other.
struct Side {
    members: Members,
    come: Vec<u32>,
}

struct Replay {
    walkers: Vec<Walker>,
    world: Members,
    made: Vec<Communicator>,
    by_rank: Vec<Vec<Option<u32>>>,
    meetings: FxHashMap<u32, Meeting>,
    /// By the lower and higher of the two leaders, and the tag.
    sides: FxHashMap<(u32, u32, i32), VecDeque<Side>>,
    /// What members say their ranks are, by communicator.
    claims: BTreeMap<u32, BTreeMap<u32, i32>>,
    ready: VecDeque<u32>,
    unknown: u64,
}

impl Replay {
    fn new(calls: Vec<Vec<Op>>) -> Self {
        let ranks = calls.len() as u32;
        let walkers = calls.into_iter().map(|calls| Walker {
            calls: calls.into_iter(),
            waiting: None,
            comms: FxHashMap::default(),
            groups: FxHashMap::default(),
        });
        Self {
            walkers: walkers.collect(),
            world: (0..ranks).collect(),
            made: Vec::new(),
            by_rank: vec![Vec::new(); ranks as usize],
            meetings: FxHashMap::default(),
            sides: FxHashMap::default(),
            claims: BTreeMap::new(),
            ready: (0..ranks).collect(),
            unknown: 0,
        }
    }

    fn run(mut self) -> Communicators {
        while let Some(rank) = self.ready.pop_front() {
            while let Some(call) = self.walkers[rank as usize].calls.next() {
                if !self.step(rank, call) {
                    break;
                }
            }
        }
        // Ranks that wait still, for members that never came, make what is unknown.
        for walker in &mut self.walkers {
            let left = walker.waiting.take().into_iter().chain(walker.calls.by_ref());
            self.unknown += left.filter(|call| matches!(call, Op::Make { .. })).count() as u64;
        }
        let ranks = self.walkers.len() as u32;
        self.settle_orders(ranks);
        Communicators { ranks, made: self.made, by_rank: self.by_rank, unknown: self.unknown }
    }

    /// A rank makes its next call; false if it has to wait for others.
    fn step(&mut self, rank: u32, call: Op) -> bool {
        match call {
            Op::Make { old, new, how } => match self.number(rank, old) {
                None => self.outcome(rank, new, None, true),
                Some(COMM_OF_NOBODY) => self.outcome(rank, new, None, false),
                Some(number) => {
                    self.walkers[rank as usize].waiting = Some(Op::Make { old, new, how: how.clone() });
                    self.meet(rank, number, new, how);
                    return false;
                }
            },
            Op::MakeUnknown { new } => self.outcome(rank, new, None, true),
            Op::Rank { comm, rank: claimed } => {
                if let Some(number) = self.walkers[rank as usize].comms.get(&comm) {
                    self.claims.entry(*number).or_default().insert(rank, claimed);
                }
            }
            Op::Group { new, of } => {
                let group = self.group(rank, &of);
                let groups = &mut self.walkers[rank as usize].groups;
                match group {
                    Some(group) => groups.insert(new, group),
                    None => groups.remove(&new),
                };
            }
        }
        true
    }

    /// The number of a rank's handle; `None` if it is unknown.
    fn number(&self, rank: u32, handle: u16) -> Option<u32> {
        match handle {
            COMM_NULL => Some(COMM_OF_NOBODY),
            COMM_WORLD => Some(0),
            COMM_SELF => Some(Communicators::of_self(rank)),
            made => self.walkers[rank as usize].comms.get(&made).copied(),
        }
    }

    fn get(&self, number: u32) -> Option<&Communicator> {
        self.made.get((number as usize).checked_sub(1 + self.walkers.len())?)
    }

    fn members(&self, number: u32) -> Members {
        match self.get(number) {
            Some(found) => Arc::clone(&found.members),
            None if number == 0 => Arc::clone(&self.world),
            None => Arc::from([number - 1]),
        }
    }

    fn remote(&self, number: u32) -> Option<Members> {
        self.get(number)?.remote.clone()
    }

    fn add(&mut self, members: Members, remote: Option<Members>, dims: Option<Vec<i32>>) -> u32 {
        self.made.push(Communicator { members, remote, dims });
        (self.walkers.len() + self.made.len()) as u32
    }

    /// What a rank's call has made.
    fn outcome(&mut self, rank: u32, new: u16, number: Option<u32>, is_unknown: bool) {
        let number = number.filter(|_| new != COMM_NULL);
        self.unknown += u64::from(is_unknown);
        self.by_rank[rank as usize].push(number);
        let comms = &mut self.walkers[rank as usize].comms;
        match number {
            Some(number) => comms.insert(new, number),
            None => comms.remove(&new),
        };
    }

    /// A rank comes to make a communicator of one; the last member's coming makes it.
    fn meet(&mut self, rank: u32, number: u32, new: u16, how: How) {
        let local_only = matches!(how, How::Intercomm { .. });
        let expected = match self.get(number) {
            Some(Communicator { members, remote: Some(remote), .. }) if !local_only => {
                members.len() + remote.len()
            }
            Some(found) => found.members.len(),
            None if number == 0 => self.walkers.len(),
            None => 1,
        };
        let meeting = self.meetings.entry(number).or_default();
        meeting.come.push((rank, new, how));
        if meeting.come.len() < expected {
            return;
        }
        let Some(mut meeting) = self.meetings.remove(&number) else { return };
        let members = self.members(number);
        let places: FxHashMap<u32, usize> =
            members.iter().enumerate().map(|(place, member)| (*member, place)).collect();
        meeting.come.sort_by_key(|(rank, ..)| (places.get(rank).copied().unwrap_or(usize::MAX), *rank));
        if let Some((_, _, How::Intercomm { .. })) = meeting.come.first() {
            self.join_sides(&meeting, &members);
            return;
        }
        let numbers = self.make(number, &members, &meeting);
        for (place, (rank, new, _)) in meeting.come.iter().enumerate() {
            let made = numbers.as_ref().map(|numbers| numbers[place]);
            self.go_on(*rank, *new, made.flatten(), made.is_none());
        }
    }

    fn go_on(&mut self, rank: u32, new: u16, number: Option<u32>, is_unknown: bool) {
        self.walkers[rank as usize].waiting = None;
        self.outcome(rank, new, number, is_unknown);
        self.ready.push_back(rank);
    }

    /// The numbers of the communicators that those who came have made, in their order; `None` if
    /// they do not fit together.
    fn make(&mut self, number: u32, members: &Members, meeting: &Meeting) -> Option<Vec<Option<u32>>> {
        let come = &meeting.come;
        let (_, _, first) = come.first()?;
        if come.iter().any(|(_, _, how)| std::mem::discriminant(how) != std::mem::discriminant(first)) {
            return None;
        }
        match first {
            How::Dup => {
                let (remote, dims) = (self.remote(number), self.get(number).and_then(|old| old.dims.clone()));
                let made = self.add(Arc::clone(members), remote, dims);
                Some(vec![Some(made); come.len()])
            }
            How::Cart { dims } => {
                let size = dims
                    .iter()
                    .try_fold(1usize, |size, extent| size.checked_mul(usize::try_from(*extent).ok()?));
                self.first_of(members, come.len(), size?, Some(dims.clone()))
            }
            How::Graph { nodes } => self.first_of(members, come.len(), usize::try_from(*nodes).ok()?, None),
            How::Merge { .. } => self.merge(number, come),
            How::Create { .. } => self.by_groups(come),
            How::Split { .. } => Some(self.by_colors(come, |_, how| match how {
                How::Split { color, key } => (vec![i64::from(*color)], i64::from(*key), None),
                _ => (Vec::new(), 0, None),
            })),
            How::CartSub { keep } => {
                let dims = self.get(number)?.dims.clone().filter(|dims| dims.len() == keep.len())?;
                Some(self.by_colors(come, |place, _| cart_color(place, &dims, keep)))
            }
            How::Intercomm { .. } => None,
        }
    }

    /// The first members make a communicator, the others none.
    fn first_of(
        &mut self,
        members: &Members,
        come: usize,
        size: usize,
        dims: Option<Vec<i32>>,
    ) -> Option<Vec<Option<u32>>> {
        let chosen: Members = members.get(..size)?.into();
        let made = self.add(chosen, None, dims);
        Some((0..come).map(|place| (place < size).then_some(made)).collect())
    }

    /// Those of one color make a communicator together, in the order of their keys and places.
    fn by_colors(
        &mut self,
        come: &[(u32, u16, How)],
        color: impl Fn(usize, &How) -> (Vec<i64>, i64, Option<Vec<i32>>),
    ) -> Vec<Option<u32>> {
        let mut groups: BTreeMap<Vec<i64>, Vec<(i64, usize)>> = BTreeMap::new();
        let mut extents = BTreeMap::new();
        for (place, (_, new, how)) in come.iter().enumerate() {
            if *new == COMM_NULL {
                continue;
            }
            let (color, key, dims) = color(place, how);
            extents.insert(color.clone(), dims);
            groups.entry(color).or_default().push((key, place));
        }
        let mut numbers = vec![None; come.len()];
        for (color, mut places) in groups {
            places.sort_unstable();
            let members = places.iter().map(|(_, place)| come[*place].0).collect();
            let made = self.add(members, None, extents.remove(&color).flatten());
            places.iter().for_each(|(_, place)| numbers[*place] = Some(made));
        }
        numbers
    }

    /// Those who named the same group make its communicator.
    fn by_groups(&mut self, come: &[(u32, u16, How)]) -> Option<Vec<Option<u32>>> {
        let mut made: BTreeMap<Members, u32> = BTreeMap::new();
        let mut numbers = Vec::with_capacity(come.len());
        for (rank, new, how) in come {
            let How::Create { group } = how else { return None };
            if *new == COMM_NULL {
                numbers.push(None);
                continue;
            }
            let group = self.walkers[*rank as usize].groups.get(group).map(Arc::clone)?;
            let number = match made.get(&group) {
                Some(number) => *number,
                None => {
                    let number = self.add(Arc::clone(&group), None, None);
                    made.insert(group, number);
                    number
                }
            };
            numbers.push(Some(number));
        }
        Some(numbers)
    }

    /// Both groups of an intercommunicator, the low one first.
    fn merge(&mut self, number: u32, come: &[(u32, u16, How)]) -> Option<Vec<Option<u32>>> {
        let (first, second) = (self.members(number), self.remote(number)?);
        let is_high = |group: &Members| {
            come.iter().any(|(rank, _, how)| *how == How::Merge { high: true } && group.contains(rank))
        };
        // Where both say the same, MPI leaves the order open; MPI_Comm_rank may tell it.
        let (low, high) =
            if is_high(&first) && !is_high(&second) { (second, first) } else { (first, second) };
        let made = self.add(low.iter().chain(high.iter()).copied().collect(), None, None);
        Some(vec![Some(made); come.len()])
    }

    /// One side of an intercommunicator is complete; the second one makes it.
    fn join_sides(&mut self, meeting: &Meeting, members: &Members) {
        let leaders = self.leaders(meeting, members);
        let Some((own, other, tag)) = leaders else {
            for (rank, new, _) in &meeting.come {
                self.go_on(*rank, *new, None, true);
            }
            return;
        };
        let key = (own.min(other), own.max(other), tag);
        let come = meeting.come.iter().map(|(rank, ..)| *rank).collect();
        let side = Side { members: Arc::clone(members), come };
        let waiting = self.sides.entry(key).or_default();
        let is_other = waiting.front().is_some_and(|first| first.members.contains(&other));
        let Some(first) = waiting.pop_front().filter(|_| is_other) else {
            waiting.push_back(side);
            return;
        };
        let (low, high) =
            if own < other { (&side.members, &first.members) } else { (&first.members, &side.members) };
        let number = self.add(Arc::clone(low), Some(Arc::clone(high)), None);
        for rank in first.come.into_iter().chain(side.come) {
            let waiting = self.walkers[rank as usize].waiting.take();
            let new = if let Some(Op::Make { new, .. }) = waiting { new } else { COMM_NULL };
            self.go_on(rank, new, Some(number), false);
        }
    }

    /// Ranks in the run of this side's leader and the other one's, and the tag.
    fn leaders(&self, meeting: &Meeting, members: &Members) -> Option<(u32, u32, i32)> {
        let (_, _, How::Intercomm { leader, .. }) = meeting.come.first()? else { return None };
        let own = *members.get(usize::try_from(*leader).ok()?)?;
        // Only the leader's arguments on the other side count.
        let (_, _, how) = meeting.come.iter().find(|(rank, ..)| *rank == own)?;
        let How::Intercomm { peers, remote_leader, tag, .. } = how else { return None };
        let peers = self.members(self.number(own, *peers).filter(|peers| *peers != COMM_OF_NOBODY)?);
        Some((own, *peers.get(usize::try_from(*remote_leader).ok()?)?, *tag))
    }

    fn group(&self, rank: u32, of: &GroupOf) -> Option<Members> {
        let walker = &self.walkers[rank as usize];
        let get = |handle: &u16| match walker.groups.get(handle) {
            Some(group) => Some(Arc::clone(group)),
            // MPI_GROUP_EMPTY.
            None => (*handle == 2).then(|| Arc::from([])),
        };
        let known = |handle: u16| self.number(rank, handle).filter(|number| *number != COMM_OF_NOBODY);
        let chosen = |ranks: &[i32], group: &Members| -> Option<Vec<u32>> {
            ranks.iter().map(|place| group.get(usize::try_from(*place).ok()?).copied()).collect()
        };
        let without = |a: &Members, b: &[u32], keep: bool| -> Members {
            let b: rustc_hash::FxHashSet<u32> = b.iter().copied().collect();
            a.iter().copied().filter(|member| b.contains(member) == keep).collect()
        };
        Some(match of {
            GroupOf::Comm(comm) => {
                let number = known(*comm)?;
                match self.remote(number).filter(|remote| remote.contains(&rank)) {
                    Some(own) => own,
                    None => self.members(number),
                }
            }
            GroupOf::Remote(comm) => {
                let number = known(*comm)?;
                let (members, remote) = (self.members(number), self.remote(number)?);
                if members.contains(&rank) { remote } else { members }
            }
            GroupOf::Union(a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                a.iter().chain(without(&b, &a, false).iter()).copied().collect()
            }
            GroupOf::Intersection(a, b) => without(&get(a)?, &get(b)?, true),
            GroupOf::Difference(a, b) => without(&get(a)?, &get(b)?, false),
            GroupOf::Include(group, ranks) => chosen(ranks, &get(group)?)?.into(),
            GroupOf::Exclude(group, ranks) => {
                let group = get(group)?;
                without(&group, &chosen(ranks, &group)?, false)
            }
        })
    }

    /// Sets orders that all members together say otherwise.
    fn settle_orders(&mut self, ranks: u32) {
        for (number, claims) in std::mem::take(&mut self.claims) {
            let Some(found) = number.checked_sub(1 + ranks).and_then(|n| self.made.get_mut(n as usize))
            else {
                continue;
            };
            if found.remote.is_some() || claims.len() != found.members.len() {
                continue;
            }
            let mut order: Vec<(i32, u32)> = claims.into_iter().map(|(rank, claim)| (claim, rank)).collect();
            order.sort_unstable();
            let is_order = order.iter().enumerate().all(|(place, (claim, rank))| {
                usize::try_from(*claim) == Ok(place) && found.members.contains(rank)
            });
            if is_order {
                found.members = order.into_iter().map(|(_, rank)| rank).collect();
            }
        }
    }
}

/// Number of a communicator that this rank has no part in.
const COMM_OF_NOBODY: u32 = u32::MAX;

/// The slice of a Cartesian communicator that a place belongs to: its coordinates that are dropped,
/// its place in the slice, and the extents of the slice.
fn cart_color(place: usize, dims: &[i32], keep: &[bool]) -> (Vec<i64>, i64, Option<Vec<i32>>) {
    let (mut rest, mut coordinates) = ((place as u64).cast_signed(), Vec::with_capacity(dims.len()));
    for extent in dims.iter().rev() {
        let extent = i64::from(*extent).max(1);
        coordinates.push(rest % extent);
        rest /= extent;
    }
    coordinates.reverse();
    let dropped = coordinates.iter().zip(keep).filter(|(_, keep)| !**keep).map(|(at, _)| *at).collect();
    let kept = || dims.iter().zip(keep).zip(&coordinates).filter(|((_, keep), _)| **keep);
    let key = kept().fold(0, |key, ((extent, _), at)| key * i64::from(*extent) + at);
    (dropped, key, Some(kept().map(|((extent, _), _)| *extent).collect()))
}
