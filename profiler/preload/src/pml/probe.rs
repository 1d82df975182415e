//! The last guard: a message to the process itself, which must be recorded correctly.

use crate::format::{Kind, SLOT, Slot};
use crate::lane;
use crate::mpi::{library, mpi, out};

/// Bytes of the probe message.
const BYTES: u64 = 8;
/// Tag of the probe message; any value serves on `MPI_COMM_SELF` in `MPI_Init`.
const TAG: i32 = 7919;

/// Sends 8 bytes on `MPI_COMM_SELF`, checks the records, and removes them.
pub(super) fn a_message_shows_up() -> Result<(), String> {
    let lane = lane::current();
    if lane.is_null() {
        return Err("no thread state".into());
    }
    // SAFETY: the calling thread's lane; the first chunk has room for the records of the probe.
    let mark = unsafe { (*lane).mark() };
    if mark.is_null() {
        return Err("nothing can be recorded".into());
    }
    lane::set_on(true);
    exchange();
    lane::set_on(false);
    // SAFETY: as above; the records lie between the mark and the cursor.
    let seen: Vec<Slot> = unsafe {
        let count = (*lane).mark().addr().saturating_sub(mark.addr()) / SLOT;
        let seen = (0..count).map(|i| mark.add(i).read_volatile()).collect();
        (*lane).rewind(mark);
        seen
    };
    let rank = crate::communicator_table::numbered(1).map_or(u32::MAX, |myself| myself.world(0));
    let expected = |kind: Kind| {
        seen.iter().any(|slot| {
            (slot.code(), slot.bytes(), slot.value(), slot.rank()) == (kind as u8, BYTES, TAG, rank)
                && slot.end() >= slot.start()
                && slot.communicator_number() == 1
        })
    };
    if seen.len() == 2 && expected(Kind::Send) && expected(Kind::Receive) {
        Ok(())
    } else {
        Err(format!("a message to itself was not seen as it should ({} records)", seen.len()))
    }
}

fn exchange() {
    let library = library();
    let (mut sent, mut received, mut request) = (0x5046_5046_u64, 0_u64, 0_usize);
    let tag = TAG as usize;
    let (bytes, byte, myself) = (BYTES as usize, library.byte, library.myself);
    mpi!(PMPI_Irecv(out(&mut received), bytes, byte, 0, tag, myself, out(&mut request)));
    mpi!(PMPI_Send(out(&mut sent), bytes, byte, 0, tag, myself));
    mpi!(PMPI_Wait(out(&mut request), library.no_status));
}
