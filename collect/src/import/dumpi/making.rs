//! Calls that make communicators and groups, as a rank recorded them.

use super::functions::number as n;
use super::record::Record;

/// Handles that stand for no object.
pub(super) const COMM_NULL: u16 = 1;
/// Every rank of the run.
pub(super) const COMM_WORLD: u16 = 2;
/// The rank itself.
pub(super) const COMM_SELF: u16 = 3;
/// The group without members.
const GROUP_EMPTY: u16 = 2;

/// A call that makes or uses communicators or groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// A communicator is made by all members of `old`; `new` may be none for this rank.
    Make { old: u16, new: u16, how: How },
    /// A communicator is made of which nothing is known.
    MakeUnknown { new: u16 },
    /// The rank within a communicator.
    Rank { comm: u16, rank: i32 },
    /// A group is made by this rank alone.
    Group { new: u16, of: GroupOf },
}

/// How a communicator is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    Dup,
    Create { group: u16 },
    Split { color: i32, key: i32 },
    Cart { dims: Vec<i32> },
    Graph { nodes: i32 },
    CartSub { keep: Vec<bool> },
    Intercomm { leader: i32, peers: u16, remote_leader: i32, tag: i32 },
    Merge { high: bool },
}

/// How a group is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GroupOf {
    Comm(u16),
    Remote(u16),
    Union(u16, u16),
    Intersection(u16, u16),
    Difference(u16, u16),
    Include(u16, Vec<i32>),
    Exclude(u16, Vec<i32>),
}

/// Functions with a new communicator, and the place of its handle among their arguments.
pub(super) const MAKERS: [(u16, usize); 14] = [
    (n::COMM_DUP, 1),
    (n::COMM_CREATE, 2),
    (n::COMM_SPLIT, 3),
    (n::CART_CREATE, 5),
    (n::GRAPH_CREATE, 6),
    (n::CART_SUB, 3),
    (n::INTERCOMM_CREATE, 5),
    (n::INTERCOMM_MERGE, 2),
    (n::COMM_ACCEPT, 4),
    (n::COMM_CONNECT, 4),
    (n::COMM_SPAWN, 3),
    (n::COMM_SPAWN_MULTIPLE, 4),
    (n::COMM_GET_PARENT, 0),
    (n::COMM_JOIN, 1),
];

/// The handle that a call makes a communicator of, also where it makes none.
pub(super) fn made(record: &Record<'_>) -> Option<u16> {
    let (_, place) = MAKERS.iter().find(|(function, _)| *function == record.function())?;
    Some(record.handle(*place))
}

impl Op {
    /// What a call does in a run of `ranks`; `None` for all that concerns neither communicators nor
    /// groups.
    pub(super) fn of(record: &Record<'_>, ranks: u32) -> Option<Self> {
        if let Some(new) = made(record) {
            return Some(Self::making(record, new));
        }
        let handle = |place| record.handle(place);
        let ints = |place| record.ints(place).collect();
        let ranges = |place| ranges(&record.rows(place), ranks as usize);
        let (new, of) = match record.function() {
            n::COMM_RANK if handle(0) > COMM_SELF => {
                return Some(Op::Rank { comm: handle(0), rank: record.int(1) });
            }
            n::COMM_GROUP => (handle(1), GroupOf::Comm(handle(0))),
            n::COMM_REMOTE_GROUP => (handle(1), GroupOf::Remote(handle(0))),
            n::GROUP_UNION => (handle(2), GroupOf::Union(handle(0), handle(1))),
            n::GROUP_INTERSECTION => (handle(2), GroupOf::Intersection(handle(0), handle(1))),
            n::GROUP_DIFFERENCE => (handle(2), GroupOf::Difference(handle(0), handle(1))),
            n::GROUP_INCL => (handle(3), GroupOf::Include(handle(0), ints(2))),
            n::GROUP_EXCL => (handle(3), GroupOf::Exclude(handle(0), ints(2))),
            n::GROUP_RANGE_INCL => (handle(3), GroupOf::Include(handle(0), ranges(2))),
            n::GROUP_RANGE_EXCL => (handle(3), GroupOf::Exclude(handle(0), ranges(2))),
            _ => return None,
        };
        (new > GROUP_EMPTY).then_some(Op::Group { new, of })
    }

    fn making(record: &Record<'_>, new: u16) -> Self {
        let int = |place| record.int(place);
        let ints = |place| record.ints(place).collect();
        let (old, how) = match record.function() {
            n::COMM_DUP => (0, How::Dup),
            n::COMM_CREATE => (0, How::Create { group: record.handle(1) }),
            n::COMM_SPLIT => (0, How::Split { color: int(1), key: int(2) }),
            n::CART_CREATE => (0, How::Cart { dims: ints(2) }),
            n::GRAPH_CREATE => (1, How::Graph { nodes: int(2) }),
            n::CART_SUB => (1, How::CartSub { keep: record.ints(2).map(|keep| keep != 0).collect() }),
            n::INTERCOMM_CREATE => {
                let (leader, remote_leader, tag) = (int(1), int(3), int(4));
                (0, How::Intercomm { leader, peers: record.handle(2), remote_leader, tag })
            }
            n::INTERCOMM_MERGE => (0, How::Merge { high: int(1) != 0 }),
            _ => return Op::MakeUnknown { new },
        };
        Op::Make { old: record.handle(old), new, how }
    }
}

/// The ranks of triples first, last, stride; at most as many as the run has.
fn ranges(rows: &[Vec<i32>], most: usize) -> Vec<i32> {
    let mut ranks = Vec::new();
    for row in rows {
        let [first, last, stride] = row[..] else { continue };
        let mut rank = i64::from(first);
        let is_inside = |rank| if stride > 0 { rank <= i64::from(last) } else { rank >= i64::from(last) };
        while stride != 0 && is_inside(rank) && ranks.len() < most {
            ranks.push(rank as i32);
            rank += i64::from(stride);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_go_both_ways() {
        let rows = [vec![1, 7, 3], vec![9, 8, -1], vec![5, 4, 1], vec![1, 2], vec![0, 5, 0]];
        assert_eq!(ranges(&rows, 9), [1, 4, 7, 9, 8]);
        assert_eq!(ranges(&rows, 2), [1, 4]);
        assert_eq!(ranges(&[vec![i32::MAX - 1, i32::MAX, 1]], 9), [i32::MAX - 1, i32::MAX]);
    }

    #[test]
    fn new_handles_are_where_the_layouts_say() {
        for (function, place) in MAKERS {
            let name = super::super::functions::FUNCTIONS[usize::from(function)].fields[place].name;
            assert!(["newcomm", "parent", "comm"].contains(&name), "{name}");
        }
    }
}
