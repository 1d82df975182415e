//! The table of communicators: each has a number, and an identity that is equal on all its members.
//!
//! Numbers of communicators depend on the implementation, and in Open MPI 5 on the process. All
//! members agree on the list of members, and on the order in which communicators with these members
//! are made, as this is collective. The hash of both is a communicator's identity. If several
//! threads make communicators with the same members at once, identities may be swapped.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::communicator::Communicator;
use crate::format::{NO_GROUP, NO_RANK, Run, Slot, flags};
use crate::lane::{self, Lane, Near};
use crate::mpi::{SUCCESS, library, mpi, out};
use crate::operation::Operation;
use crate::pml;

struct Table {
    by_handle: BTreeMap<usize, &'static Communicator>,
    by_number: Vec<&'static Communicator>,
    groups: BTreeMap<u64, Group>,
    group_count: u32,
    /// How many communicators were made of the same groups, lower hash first, and flags.
    made: BTreeMap<(u64, u64, u8), u32>,
    control: Lane,
    world_size: u32,
    world_group: usize,
}

#[derive(Clone, Copy)]
struct Group {
    hash: u64,
    number: u32,
    ranks: &'static [u32],
    /// The ranks are 0, 1, 2, …
    identity: bool,
}

// SAFETY: the lane's pointers are used under the table's lock only.
unsafe impl Send for Table {}

static TABLE: Mutex<Table> = Mutex::new(Table {
    by_handle: BTreeMap::new(),
    by_number: Vec::new(),
    groups: BTreeMap::new(),
    group_count: 0,
    made: BTreeMap::new(),
    control: Lane::control(),
    world_size: 0,
    world_group: 0,
});
/// Grows when a handle is removed, which invalidates the caches of lanes.
static GENERATION: AtomicU64 = AtomicU64::new(1);

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the predefined communicators: the world as number 0, and itself.
pub(crate) fn start(world_size: u32) {
    let mut group = 0_usize;
    mpi!(PMPI_Comm_group(library().world, out(&mut group)));
    {
        let mut table = table();
        table.world_size = world_size;
        table.world_group = group;
    }
    created(library().world, 0);
    created(library().myself, 0);
    let mut parent = 0_usize;
    mpi!(PMPI_Comm_get_parent(out(&mut parent)));
    created(library().handle(parent), 0);
}

/// The communicator of a handle, by the cache of the lane.
///
/// # Safety
/// `lane` is the calling thread's; `handle` a valid communicator.
#[inline(always)]
pub(crate) unsafe fn of(lane: *mut Lane, handle: usize) -> &'static Communicator {
    // SAFETY: the caller's promise; no reference to the lane is held over a call into MPI.
    unsafe {
        if (*lane).handle == handle
            && (*lane).generation == GENERATION.load(Relaxed)
            && let Some(known) = (*lane).communicator
        {
            return known;
        }
        let made_by = match Operation::from_code((*lane).operation) {
            // First seen inside the making of a window or file: MPI's own.
            Some(code @ (Operation::Window | Operation::File)) if (*lane).depth > 0 => code as u8,
            _ => 0,
        };
        let generation = GENERATION.load(Relaxed);
        let found = lookup(handle, made_by);
        ((*lane).handle, (*lane).generation, (*lane).communicator) = (handle, generation, Some(found));
        if lane == lane::single() && pml::has_short_way() && found.made_by == 0 {
            let peers = found.peers.map_or(std::ptr::null(), <[u32]>::as_ptr);
            (*lane).near = Near { handle, peers, size: found.size, number: found.number };
        }
        found
    }
}

#[cold]
fn lookup(handle: usize, made_by: u8) -> &'static Communicator {
    let known = table().by_handle.get(&handle).copied();
    known.or_else(|| created(handle, made_by)).unwrap_or(&STRANGER)
}

/// The entry for handles that are not in the table, such as `MPI_COMM_NULL`.
static STRANGER: Communicator = Communicator {
    number: NO_RANK,
    peers: None,
    size: 0,
    rank: NO_RANK,
    made_by: 0,
    recent: [const { AtomicU64::new(0) }; 16],
};

/// Registers a communicator that exists from now on; `None` if it is none.
pub(crate) fn created(handle: usize, made_by: u8) -> Option<&'static Communicator> {
    if handle == library().no_communicator || handle == 0 {
        return None;
    }
    let (mut inter, mut rank, mut group) = (0 as c_int, 0 as c_int, 0_usize);
    if mpi!(PMPI_Comm_group(handle, out(&mut group))) != SUCCESS {
        return None;
    }
    mpi!(PMPI_Comm_rank(handle, out(&mut rank)));
    mpi!(PMPI_Comm_test_inter(handle, out(&mut inter)));
    let own = world_ranks(group);
    let mut remote = None;
    if inter != 0 {
        let mut group = 0_usize;
        mpi!(PMPI_Comm_remote_group(handle, out(&mut group)));
        remote = Some(world_ranks(group));
    }
    Some(table().add(handle, own, remote, rank.cast_unsigned(), made_by, 0))
}

/// Registers a window that exists from now on.
pub(crate) fn window_created(handle: usize) {
    let mut group = 0_usize;
    if mpi!(PMPI_Win_get_group(handle, out(&mut group))) == SUCCESS {
        let ranks = world_ranks(group);
        table().add(handle, ranks, None, NO_RANK, Operation::Window as u8, flags::WINDOW);
    }
}

/// Removes a handle before it is freed, as another communicator may reuse it.
pub(crate) fn forget(handle: usize) {
    GENERATION.fetch_add(1, Relaxed);
    lane::ask_again();
    table().by_handle.remove(&handle);
}

/// The communicator of a number in this recording.
pub(crate) fn numbered(number: u32) -> Option<&'static Communicator> {
    table().by_number.get(number as usize).copied()
}

/// World ranks of a group, which is freed.
fn world_ranks(mut group: usize) -> Vec<u32> {
    let (world_size, world_group) = {
        let table = table();
        (table.world_size, table.world_group)
    };
    let mut size: c_int = 0;
    mpi!(PMPI_Group_size(group, out(&mut size)));
    let size = size.max(0);
    let (mut likeness, mut identical) = (-1, -2);
    if size.cast_unsigned() == world_size {
        // Open MPI translates in quadratic time; the common case needs no translation.
        mpi!(PMPI_Group_compare(world_group, world_group, out(&mut identical)));
        mpi!(PMPI_Group_compare(group, world_group, out(&mut likeness)));
    }
    let mut ranks: Vec<c_int> = (0..size).collect();
    if likeness != identical && size > 0 {
        let mut translated = vec![library().undefined; ranks.len()];
        mpi!(PMPI_Group_translate_ranks(
            group,
            ranks.len(),
            ranks.as_mut_ptr().expose_provenance(),
            world_group,
            translated.as_mut_ptr().expose_provenance(),
        ));
        ranks = translated;
    }
    mpi!(PMPI_Group_free(out(&mut group)));
    ranks.iter().map(|rank| u32::try_from(*rank).unwrap_or(NO_RANK)).collect()
}

impl Table {
    fn add(
        &mut self,
        handle: usize,
        own: Vec<u32>,
        remote: Option<Vec<u32>>,
        rank: u32,
        made_by: u8,
        extra: u8,
    ) -> &'static Communicator {
        if let Some(known) = self.by_handle.get(&handle) {
            return known;
        }
        let own = self.group(own);
        let remote = remote.map(|ranks| self.group(ranks));
        let to = remote.unwrap_or(own);
        let (identity, peers) = (to.identity, to.ranks);
        // Both sides of an intercommunicator have to find the same identity.
        let other = remote.map_or(0, |group| group.hash);
        let key = if remote.is_some() {
            (own.hash.min(other), own.hash.max(other), extra)
        } else {
            (own.hash, 0, extra)
        };
        let order = self.made.entry(key).or_insert(0);
        *order += 1;
        let name = hash([key.0, key.1, u64::from(extra), u64::from(*order)]);

        let number = self.by_number.len() as u32;
        let entry: &'static Communicator = Box::leak(Box::new(Communicator {
            number,
            peers: (!identity).then_some(peers),
            size: peers.len() as u32,
            rank,
            made_by,
            recent: [const { AtomicU64::new(0) }; 16],
        }));
        let internal = if made_by == 0 { 0 } else { flags::INTERNAL };
        self.control.push(Slot::communicator(
            number,
            name,
            own.number,
            remote.map_or(NO_GROUP, |group| group.number),
            made_by,
            internal | extra,
        ));
        self.by_handle.insert(handle, entry);
        self.by_number.push(entry);
        entry
    }

    /// A group by its members, written once.
    fn group(&mut self, ranks: Vec<u32>) -> Group {
        let mut key = hash(ranks.iter().map(|rank| u64::from(*rank)));
        while let Some(group) = self.groups.get(&key) {
            if group.ranks == ranks {
                return *group;
            }
            key = key.wrapping_add(1);
        }
        let identity = ranks.iter().zip(0..).all(|(rank, i)| *rank == i);
        let mut number = 0;
        if !identity || ranks.len() as u32 != self.world_size {
            self.group_count += 1;
            number = self.group_count;
            for pair in Run::of(&ranks).chunks(2) {
                self.control.push(Slot::runs(number, pair));
            }
        }
        let group = Group { hash: key, number, ranks: Box::leak(ranks.into_boxed_slice()), identity };
        self.groups.insert(key, group);
        group
    }
}

/// FNV-1a over words, ended by a mixer.
fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        state = (state ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        state ^= state >> 29;
    }
    state ^= state >> 32;
    state.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
