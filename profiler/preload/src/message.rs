//! Records of messages: posted at the call of MPI, and completed in place.

use crate::communicator::Communicator;
use crate::communicator_table;
use crate::format::{Kind, MOST_BYTES, Slot, TIME, flags};
use crate::lane::{self, Lane};
use crate::operation::Operation;
use crate::{clock, recording};

/// A message in flight: its slot, which stays writable until the process ends; null if it is not
/// recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posted(pub(crate) *mut Slot);

// SAFETY: a slot is completed once, by the thread that gets the completion; MPI orders this after
// the post.
unsafe impl Send for Posted {}

impl Posted {
    /// A message that is not recorded.
    pub(crate) const NONE: Self = Self(std::ptr::null_mut());

    /// The transfer is over, now.
    #[inline(always)]
    pub(crate) fn complete(self) {
        if !self.0.is_null() {
            self.complete_at(clock::now());
        }
    }

    /// The transfer was over at `time`. The first word counts: a callback may come twice.
    #[inline(always)]
    pub(crate) fn complete_at(self, time: u64) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: see the type.
        unsafe {
            let word = self.0.cast::<u64>().add(1);
            let old = word.read_volatile();
            if old & TIME == 0 {
                word.write_volatile(old | time & TIME);
            }
        }
    }

    /// The transfer was complete when its starting call returned: the post time serves as complete
    /// time.
    #[inline(always)]
    pub(crate) fn complete_at_once(self) {
        if !self.0.is_null() {
            // SAFETY: see the type.
            let post = unsafe { self.0.cast::<u64>().read_volatile() };
            self.complete_at(post);
        }
    }

    /// The transfer counts as over now, although it was over before.
    pub(crate) fn complete_later(self) {
        if !self.0.is_null() {
            // SAFETY: see the type.
            unsafe {
                let word = self.0.cast::<u64>().add(1);
                word.write_volatile(word.read_volatile() & !TIME | clock::now() & TIME);
            }
        }
    }

    /// The result of a receive. `source` is a rank of the communicator.
    #[inline(always)]
    pub(crate) fn received(self, source: i32, tag: i32, bytes: u64, cancelled: bool) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: see the type; of words 2 and 3 only fields that a completion knows change.
        unsafe {
            let words = self.0.cast::<u64>();
            let old = Slot([0, 0, words.add(2).read_volatile(), words.add(3).read_volatile()]);
            if old.value() == tag && old.flags() & flags::ANY_SOURCE == 0 && !cancelled {
                words.add(2).write_volatile(old.0[2] & !MOST_BYTES | bytes.min(MOST_BYTES));
            } else {
                let new = learnt(old, source, tag, bytes, cancelled);
                words.add(3).write_volatile(new.0[3]);
                words.add(2).write_volatile(new.0[2]);
            }
        }
    }

    /// It was cancelled.
    pub(crate) fn cancelled(self) {
        if !self.0.is_null() {
            // SAFETY: see the type.
            unsafe {
                let word = self.0.cast::<u64>().add(3);
                word.write_volatile(word.read_volatile() | u64::from(flags::CANCELLED) << 56);
            }
        }
    }
}

/// The slot of a receive with what its completion tells.
#[inline(never)]
fn learnt(old: Slot, source: i32, tag: i32, bytes: u64, cancelled: bool) -> Slot {
    let (mut rank, mut bits) = (old.rank(), old.flags());
    if bits & flags::ANY_SOURCE != 0 {
        rank = communicator_table::numbered(old.communicator_number()).map_or(rank, |found| found.world(source));
    }
    if cancelled {
        bits |= flags::CANCELLED;
    }
    Slot::new(Kind::Receive, 0, 0, bytes, rank, tag, old.communicator_number(), bits)
}

/// The data of a persistent request, equal for every start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// Rank in the communicator; negative: any source.
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    pub(crate) communicator: usize,
    pub(crate) flags: u8,
}

impl Envelope {
    /// Records the start of a transfer.
    #[inline(always)]
    pub(crate) fn post(self) -> Posted {
        if !recording::is_on() {
            return Posted::NONE;
        }
        let lane = lane::current();
        if lane.is_null() {
            return Posted::NONE;
        }
        // SAFETY: the calling thread's lane; `of` is given a communicator that MPI was given too.
        unsafe {
            let communicator = communicator_table::of(lane, self.communicator);
            let (operation, mut bits) = match self.kind {
                Kind::Send | Kind::Receive => belongs_to(lane, communicator, self.tag),
                _ => ((*lane).operation, if (*lane).inside { flags::INSIDE } else { 0 }),
            };
            bits |= self.flags;
            if self.peer < 0 {
                bits |= flags::ANY_SOURCE;
            }
            let peer = communicator.world(self.peer);
            let series = self.kind as u8 == Kind::Receive as u8 && bits & flags::NONBLOCKING != 0;
            let slot = Slot::new(
                self.kind,
                if series { 0 } else { clock::now() },
                operation,
                self.bytes,
                peer,
                self.tag,
                communicator.number,
                bits,
            );
            Posted(if series { (*lane).push_started_receive(slot, clock::now) } else { (*lane).push(slot) })
        }
    }
}

/// What blocking collectives are built from, Open MPI's tags −10 to −26 in order.
const BUILDING_BLOCKS: [Operation; 17] = [
    Operation::Allgather,
    Operation::Allgatherv,
    Operation::Allreduce,
    Operation::Alltoall,
    Operation::Alltoallv,
    Operation::Alltoallw,
    Operation::Barrier,
    Operation::Bcast,
    Operation::Exscan,
    Operation::Gather,
    Operation::Gatherv,
    Operation::Reduce,
    Operation::ReduceScatter,
    Operation::ReduceScatterBlock,
    Operation::Scan,
    Operation::Scatter,
    Operation::Scatterv,
];

/// The operation that a message is part of, 0 for the program's own, and its flags.
///
/// # Safety
/// `lane` is the calling thread's.
#[inline(always)]
unsafe fn belongs_to(lane: *const Lane, communicator: &Communicator, tag: i32) -> (u8, u8) {
    // SAFETY: the caller's promise.
    let (inside, around) = unsafe { ((*lane).inside, (*lane).operation) };
    let bits = if inside { flags::INSIDE } else { 0 };
    // −1 is MPI_ANY_TAG in Open MPI, MPICH's and the standard ABI's is −1 or −2: no internal tag.
    if tag >= -2 && communicator.made_by == 0 {
        let sendrecv = Operation::Sendrecv as u8;
        return (if around == sendrecv { sendrecv } else { 0 }, bits);
    }
    (internal(communicator, tag, around), bits | flags::INTERNAL)
}

#[inline(never)]
fn internal(communicator: &Communicator, tag: i32, around: u8) -> u8 {
    // Calls that only make progress are not the operation of a message.
    let explains = around != 0
        && !matches!(
            Operation::from_code(around),
            Some(
                Operation::Wait
                    | Operation::Test
                    | Operation::Probe
                    | Operation::Sendrecv
                    | Operation::Start
                    | Operation::Send
                    | Operation::Recv
            )
        );
    let explained = explains.then_some(around);
    if tag >= -2 {
        if communicator.made_by == Operation::Window as u8 {
            recording::one_sided_as_messages();
        }
        return explained.unwrap_or(communicator.made_by);
    }
    if tag <= recording::nonblocking_tag() {
        return communicator.nonblocking(tag, explained).unwrap_or(Operation::Nonblocking as u8);
    }
    explained.unwrap_or_else(|| {
        let block = usize::try_from(-10 - tag).ok().and_then(|place| BUILDING_BLOCKS.get(place));
        block.map_or(Operation::Internal as u8, |operation| *operation as u8)
    })
}
