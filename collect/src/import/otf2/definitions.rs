//! Global definitions: the clock, which location is which rank, communicators and windows.
//!
//! Lenient, as EZTrace is not strict: definitions may come in any order and twice. The first one of
//! an id counts; EZTrace gives one id to the list of all locations and to a group.

use rustc_hash::FxHashMap;

use super::clock::Clock;
use super::fields::{Fields, UNDEFINED};
use super::records::{Holds, Records};
use crate::import::set::Member;
use crate::trace::MOST_RANKS;
use crate::{At, Error, Result};

/// Types of records.
mod kind {
    pub(super) const CLOCK_PROPERTIES: u8 = 5;
    pub(super) const LOCATION: u8 = 14;
    pub(super) const GROUP: u8 = 18;
    pub(super) const COMM: u8 = 22;
    pub(super) const RMA_WIN: u8 = 24;
    pub(super) const INTER_COMM: u8 = 43;
}

/// The paradigm MPI.
const MPI: u8 = 4;
/// Locations that took part in a paradigm, by rank.
const COMM_LOCATIONS: u8 = 4;
/// Members of a communicator.
const COMM_GROUP: u8 = 5;
/// Each process alone, as in `MPI_COMM_SELF`.
const COMM_SELF: u8 = 6;
/// Flag: peers in events are ranks of `MPI_COMM_WORLD`.
const GLOBAL_MEMBERS: u32 = 1;
/// The type of locations that run a program, not an accelerator or a counter.
const CPU_THREAD: u8 = 1;

/// A location that runs a rank's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) id: u64,
    pub(super) rank: u32,
    /// Number of its events; EZTrace's is wrong.
    pub(super) events: u64,
}

/// The members of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// Peers are ranks of the world, or it is unknown who they are.
    World,
    /// Each process by itself.
    Own,
    /// World ranks of the members.
    Listed(Vec<u32>),
}

/// A communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Communicator {
    pub(super) members: Members,
    /// The other group of an intercommunicator.
    pub(super) remote: Option<Members>,
}

impl Communicator {
    /// It is one for each process alone.
    pub(super) fn is_own(&self) -> bool {
        self.members == Members::Own
    }
}

/// What the file of global definitions says.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) clock: Clock,
    /// Start and end of the run in ticks, as far as the trace says.
    pub(super) span: Option<(u64, u64)>,
    /// Number of ranks.
    pub(super) ranks: u32,
    /// By rank, then in the order of the file.
    pub(super) locations: Vec<Location>,
    pub(super) communicators: FxHashMap<u32, Communicator>,
    /// Communicator of each window.
    pub(super) windows: FxHashMap<u32, u32>,
}

/// A group as it is defined.
struct Group {
    kind: u8,
    members: Vec<u32>,
    flags: u32,
}

/// Definitions before they are put together.
#[derive(Default)]
struct Found {
    /// The clock, and the span of the run in its ticks.
    clock: Option<(Clock, (u64, u64))>,
    /// Id, number of events and location group; only of program threads.
    locations: Vec<(u64, u64, u32)>,
    /// Location of each rank.
    ranks: Vec<u64>,
    groups: FxHashMap<u32, Group>,
    /// Group and, of intercommunicators, the second group.
    communicators: FxHashMap<u32, (u32, Option<u32>)>,
    windows: FxHashMap<u32, u32>,
}

impl Definitions {
    /// Reads the file of global definitions.
    ///
    /// # Errors
    /// Damage, truncation, an error of the operating system; definitions without MPI.
    pub(super) fn read(member: &Member) -> Result<Self> {
        let mut records = Records::new(member, Holds::Definitions);
        let mut found = Found::default();
        let is_wanted = |kind: u8| {
            matches!(
                kind,
                kind::CLOCK_PROPERTIES
                    | kind::LOCATION
                    | kind::GROUP
                    | kind::COMM
                    | kind::RMA_WIN
                    | kind::INTER_COMM
            )
        };
        while let Some(record) = records.next(is_wanted)? {
            let place = || format!("byte {}: definition of type {}", record.offset, record.kind);
            found.add(record.kind, record.fields).at(place)?;
        }
        found.finish()
    }

    /// World rank of a peer in events on a communicator; `None` for no process (`MPI_PROC_NULL`)
    /// and for one that is not in the trace.
    #[inline]
    pub(super) fn peer(&self, communicator: u32, own: u32, peer: u32) -> Option<u32> {
        let world = || (peer < self.ranks).then_some(peer);
        let Some(known) = self.communicators.get(&communicator) else { return world() };
        let members = match (&known.remote, &known.members) {
            // Peers of an intercommunicator are of the group in which one is not.
            (Some(remote), Members::Listed(local)) if local.contains(&own) => remote,
            (_, members) => members,
        };
        match members {
            Members::World => world(),
            Members::Own => (peer == 0).then_some(own),
            Members::Listed(ranks) => ranks.get(peer as usize).copied(),
        }
    }

    /// World ranks of a communicator's members; `None` if they are unknown or in two groups.
    pub(super) fn members(&self, communicator: u32, own: u32) -> Option<Vec<u32>> {
        let known = self.communicators.get(&communicator)?;
        match (&known.members, &known.remote) {
            (_, Some(_)) | (Members::World, _) => None,
            (Members::Own, None) => Some(vec![own]),
            (Members::Listed(ranks), None) => Some(ranks.clone()),
        }
    }
}

impl Found {
    fn add(&mut self, kind: u8, mut fields: Fields<'_>) -> Result<()> {
        let fields = &mut fields;
        match kind {
            kind::CLOCK_PROPERTIES => {
                let (ticks_per_second, origin) = (fields.unsigned()?, fields.unsigned()?);
                let clock = Clock::new(ticks_per_second, origin)?;
                let length = fields.unsigned()?;
                self.clock.get_or_insert((clock, (origin, origin.saturating_add(length))));
            }
            kind::LOCATION => {
                let (id, _name, kind) = (fields.unsigned()?, fields.id()?, fields.byte()?);
                let (events, group) = (fields.unsigned()?, fields.id()?);
                if kind == CPU_THREAD {
                    self.locations.push((id, events, group));
                }
            }
            kind::GROUP => self.group(fields)?,
            kind::COMM => {
                let (id, _name, group) = (fields.id()?, fields.id()?, fields.id()?);
                self.communicators.entry(id).or_insert((group, None));
            }
            kind::INTER_COMM => {
                let (id, _name) = (fields.id()?, fields.id()?);
                let (first, second) = (fields.id()?, fields.id()?);
                self.communicators.entry(id).or_insert((first, Some(second)));
            }
            _ => {
                let (id, _name, communicator) = (fields.id()?, fields.id()?, fields.id()?);
                self.windows.entry(id).or_insert(communicator);
            }
        }
        Ok(())
    }

    fn group(&mut self, fields: &mut Fields<'_>) -> Result<()> {
        let (id, _name, old_kind) = (fields.id()?, fields.id()?, fields.byte()?);
        let count = fields.id()?;
        // Members have a byte at least, so memory is in proportion to the record.
        let count = count.min(u32::try_from(fields.rest.len()).unwrap_or(u32::MAX));
        let mut members = Vec::with_capacity(count as usize);
        for _ in 0..count {
            members.push(fields.unsigned()?);
        }
        // Files before version 1.2 have MPI's groups only, under other numbers.
        let (kind, paradigm, flags) = match fields.rest {
            [] => {
                let kind = match old_kind {
                    4 => COMM_GROUP,
                    5 => COMM_SELF,
                    6 => COMM_LOCATIONS,
                    _ => 0,
                };
                (kind, MPI, 0)
            }
            _ => (fields.byte()?, fields.byte()?, fields.id()?),
        };
        match kind {
            COMM_LOCATIONS if paradigm == MPI => {
                if members.len() > MOST_RANKS as usize {
                    return Err(Error::data(format!(
                        "has {} ranks, expected at most {MOST_RANKS}",
                        members.len()
                    )));
                }
                if self.ranks.is_empty() {
                    self.ranks = members;
                }
            }
            COMM_GROUP | COMM_SELF => {
                let members =
                    members.iter().map(|member| u32::try_from(*member).unwrap_or(UNDEFINED)).collect();
                self.groups.entry(id).or_insert(Group { kind, members, flags });
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<Definitions> {
        if self.ranks.is_empty() {
            return Err(Error::data("defines no processes of MPI (a group of type COMM_LOCATIONS)"));
        }
        let mut definitions = Definitions {
            clock: self.clock.map(|(clock, _)| clock).unwrap_or_default(),
            span: self.clock.map(|(_, span)| span),
            ranks: u32::try_from(self.ranks.len()).unwrap_or(MOST_RANKS),
            windows: self.windows,
            ..Definitions::default()
        };
        let rank_of: FxHashMap<u64, u32> = (0..).zip(&self.ranks).map(|(rank, id)| (*id, rank)).collect();
        // A rank's other threads are of the location group of its first one.
        let ranks = self.locations.iter().filter_map(|(id, _, group)| Some((*group, *rank_of.get(id)?)));
        let rank_of_group: FxHashMap<u32, u32> = ranks.collect();
        let mut seen = rustc_hash::FxHashSet::default();
        for (id, events, group) in self.locations {
            let rank = rank_of.get(&id).or_else(|| rank_of_group.get(&group));
            if let Some(rank) = rank.filter(|_| seen.insert(id)) {
                definitions.locations.push(Location { id, rank: *rank, events });
            }
        }
        if let Some(rank) = (0..definitions.ranks).find(|rank| !seen.contains(&self.ranks[*rank as usize])) {
            let id = self.ranks[rank as usize];
            return Err(Error::data(format!("does not define location {id}, which is rank {rank}")));
        }
        definitions.locations.sort_by_key(|location| location.rank);
        let members = |id: u32| match self.groups.get(&id) {
            Some(group) if group.kind == COMM_SELF => Members::Own,
            Some(group) if group.flags & GLOBAL_MEMBERS == 0 => Members::Listed(group.members.clone()),
            _ => Members::World,
        };
        for (id, (first, second)) in &self.communicators {
            let communicator = Communicator { members: members(*first), remote: second.map(members) };
            definitions.communicators.insert(*id, communicator);
        }
        Ok(definitions)
    }
}
