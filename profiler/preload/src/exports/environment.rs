//! `MPI_Init`, `MPI_Finalize`, marks.

use super::functions;
use crate::call::Call;
use crate::format::{Kind, Slot};
use crate::mpi::{SUCCESS, int};
use crate::operation::Operation;
use crate::{clock, lane, recording, session};

functions! {
    MPI_Init PMPI_Init(argc, argv) |real| initialised(real);
    MPI_Init_thread PMPI_Init_thread(argc, argv, required, provided) |real| initialised(real);
    MPI_Finalize PMPI_Finalize() |real| { ended(); real() };
    MPI_Pcontrol PMPI_Pcontrol(level) |real| { marked(level); real() };
}

fn initialised(real: impl FnOnce() -> i32) -> i32 {
    let before = session::before();
    let result = real();
    if result == SUCCESS {
        session::begin(before);
    }
    result
}

fn ended() {
    let lane = lane::current();
    if recording::is_on() && !lane.is_null() {
        // SAFETY: the calling thread's lane.
        unsafe { Call::of(Operation::Finalize).record(lane).complete() };
    }
    session::end();
}

fn marked(level: usize) {
    let lane = lane::current();
    if recording::is_on() && !lane.is_null() {
        let slot = Slot::new(Kind::Mark, clock::now(), 0, 0, 0, int(level), 0, 0);
        // SAFETY: the calling thread's lane.
        unsafe { (*lane).push(slot) };
    }
}
