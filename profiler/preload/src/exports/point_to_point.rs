//! Point-to-point calls: interception of `MPI_Send`, `MPI_Isend`, `MPI_Recv` and the like. If
//! messages are recorded below, sends and receives are redirected to MPI. Then only data that
//! messages lack is recorded: waits, successful tests, probes, and the brackets of combined calls.

use super::{functions, int_at, of_both_widths, passing};
use crate::call::{Call, polled, recorded, told_by_messages};
use crate::count::Width;
use crate::format::Kind::{Receive, Send};
use crate::mpi::{SUCCESS, library, mpi};
use crate::operation::Operation::{Probe, Sendrecv, Start, Test, Wait};
use crate::pmpi::{self, Done};
use crate::recording::{is_on, sees_messages};
use crate::matched;

/// True if messages are recorded from calls.
#[inline(always)]
fn records_messages() -> bool {
    !sees_messages() && is_on()
}

of_both_widths! { passing:
    MPI_Send PMPI_Send MPI_Send_c PMPI_Send_c(buffer, count, datatype, to, tag, comm)
        |real, of| pmpi::send((of.count(count), datatype, to, tag, comm), real);
    MPI_Bsend PMPI_Bsend MPI_Bsend_c PMPI_Bsend_c(buffer, count, datatype, to, tag, comm)
        |real, of| pmpi::send((of.count(count), datatype, to, tag, comm), real);
    MPI_Ssend PMPI_Ssend MPI_Ssend_c PMPI_Ssend_c(buffer, count, datatype, to, tag, comm)
        |real, of| pmpi::send((of.count(count), datatype, to, tag, comm), real);
    MPI_Rsend PMPI_Rsend MPI_Rsend_c PMPI_Rsend_c(buffer, count, datatype, to, tag, comm)
        |real, of| pmpi::send((of.count(count), datatype, to, tag, comm), real);
    MPI_Isend PMPI_Isend MPI_Isend_c PMPI_Isend_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::start(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Ibsend PMPI_Ibsend MPI_Ibsend_c PMPI_Ibsend_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::start(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Issend PMPI_Issend MPI_Issend_c PMPI_Issend_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::start(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Irsend PMPI_Irsend MPI_Irsend_c PMPI_Irsend_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::start(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Irecv PMPI_Irecv MPI_Irecv_c PMPI_Irecv_c(buffer, count, datatype, from, tag, comm, request)
        |real, of| pmpi::start(Receive, (of.count(count), datatype, from, tag, comm), request, real);
    MPI_Send_init PMPI_Send_init MPI_Send_init_c PMPI_Send_init_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::prepare(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Bsend_init PMPI_Bsend_init MPI_Bsend_init_c PMPI_Bsend_init_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::prepare(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Ssend_init PMPI_Ssend_init MPI_Ssend_init_c PMPI_Ssend_init_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::prepare(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Rsend_init PMPI_Rsend_init MPI_Rsend_init_c PMPI_Rsend_init_c(buffer, count, datatype, to, tag, comm, request)
        |real, of| pmpi::prepare(Send, (of.count(count), datatype, to, tag, comm), request, real);
    MPI_Recv_init PMPI_Recv_init MPI_Recv_init_c PMPI_Recv_init_c(buffer, count, datatype, from, tag, comm, request)
        |real, of| pmpi::prepare(Receive, (of.count(count), datatype, from, tag, comm), request, real);
    MPI_Imrecv PMPI_Imrecv MPI_Imrecv_c PMPI_Imrecv_c(buffer, count, datatype, message, request)
        |real, of| pmpi::start_matched((of.count(count), datatype, message), request, real);
}

passing! {
    MPI_Recv PMPI_Recv(buffer, count, datatype, from, tag, comm, status)
        |real| pmpi::receive((Width::Int.count(count), datatype, from, tag, comm), status, |status| {
            mpi!(PMPI_Recv(buffer, count, datatype, from, tag, comm, status))
        });
    MPI_Mrecv PMPI_Mrecv(buffer, count, datatype, message, status)
        |real| pmpi::receive_matched((Width::Int.count(count), datatype, message), status, |status| {
            mpi!(PMPI_Mrecv(buffer, count, datatype, message, status))
        });
    MPI_Recv_c PMPI_Recv_c(buffer, count, datatype, from, tag, comm, status)
        |real| pmpi::receive((Width::Count.count(count), datatype, from, tag, comm), status, |status| {
            mpi!(PMPI_Recv_c(buffer, count, datatype, from, tag, comm, status))
        });
    MPI_Mrecv_c PMPI_Mrecv_c(buffer, count, datatype, message, status)
        |real| pmpi::receive_matched((Width::Count.count(count), datatype, message), status, |status| {
            mpi!(PMPI_Mrecv_c(buffer, count, datatype, message, status))
        });
    MPI_Start PMPI_Start(request) |real| pmpi::start_prepared(1, request, real);
    MPI_Request_free PMPI_Request_free(request) |real| {
        pmpi::give_up(request);
        real()
    };
}

of_both_widths! { functions:
    MPI_Isendrecv PMPI_Isendrecv MPI_Isendrecv_c PMPI_Isendrecv_c(buffer, count, datatype, to, tag, to_buffer,
      to_count, to_type, from, from_tag, comm, request)
        |real, of| told_by_messages(Sendrecv, || if records_messages() {
            pmpi::start_exchange((of.count(count), datatype, to, tag, comm), (of.count(to_count), to_type, from,
            from_tag, comm), request, real)
        } else {
            real()
        });
    MPI_Isendrecv_replace PMPI_Isendrecv_replace MPI_Isendrecv_replace_c PMPI_Isendrecv_replace_c(buffer, count,
      datatype, to, tag, from, from_tag, comm, request)
        |real, of| told_by_messages(Sendrecv, || if records_messages() {
            pmpi::start_exchange((of.count(count), datatype, to, tag, comm), (of.count(count), datatype, from,
            from_tag, comm), request, real)
        } else {
            real()
        });
}

functions! {
    MPI_Sendrecv PMPI_Sendrecv(
        buffer, count, datatype, to, tag, to_buffer, to_count, to_type, from, from_tag, comm, status
    ) |real| told_by_messages(Sendrecv, || if records_messages() {
        let (send, receive) = ((Width::Int.count(count), datatype, to, tag, comm), (Width::Int.count(to_count),
        to_type, from, from_tag, comm));
        pmpi::exchange(send, receive, status, |status| {
            mpi!(PMPI_Sendrecv(
                buffer, count, datatype, to, tag, to_buffer, to_count, to_type, from, from_tag, comm, status
            ))
        })
    } else {
        real()
    });
    MPI_Sendrecv_replace PMPI_Sendrecv_replace(buffer, count, datatype, to, tag, from, from_tag, comm, status)
    |real| told_by_messages(Sendrecv, || if records_messages() {
        let (send, receive) = ((Width::Int.count(count), datatype, to, tag, comm), (Width::Int.count(count),
        datatype, from, from_tag, comm));
        pmpi::exchange(send, receive, status, |status| {
            mpi!(PMPI_Sendrecv_replace(buffer, count, datatype, to, tag, from, from_tag, comm, status))
        })
    } else {
        real()
    });
    MPI_Sendrecv_c PMPI_Sendrecv_c(
        buffer, count, datatype, to, tag, to_buffer, to_count, to_type, from, from_tag, comm, status
    ) |real| told_by_messages(Sendrecv, || if records_messages() {
        let (send, receive) = ((Width::Count.count(count), datatype, to, tag, comm), (Width::Count.count(to_count),
        to_type, from, from_tag, comm));
        pmpi::exchange(send, receive, status, |status| {
            mpi!(PMPI_Sendrecv_c(
                buffer, count, datatype, to, tag, to_buffer, to_count, to_type, from, from_tag, comm, status
            ))
        })
    } else {
        real()
    });
    MPI_Sendrecv_replace_c PMPI_Sendrecv_replace_c(buffer, count, datatype, to, tag, from, from_tag, comm, status)
    |real| told_by_messages(Sendrecv, || if records_messages() {
        let (send, receive) = ((Width::Count.count(count), datatype, to, tag, comm), (Width::Count.count(count),
        datatype, from, from_tag, comm));
        pmpi::exchange(send, receive, status, |status| {
            mpi!(PMPI_Sendrecv_replace_c(buffer, count, datatype, to, tag, from, from_tag, comm, status))
        })
    } else {
        real()
    });

    MPI_Startall PMPI_Startall(count, requests) |real| recorded(|| Call::of(Start).value(count), || {
        if records_messages() { pmpi::start_prepared(count, requests, real) } else { real() }
    });

    MPI_Wait PMPI_Wait(request, status) |real| recorded(|| Call::of(Wait).value(1), || {
        completing(1, request, status, real, |status| mpi!(PMPI_Wait(request, status)), || Done::All)
    });
    MPI_Waitall PMPI_Waitall(count, requests, statuses) |real| recorded(|| Call::of(Wait).value(count), || {
        completing(count, requests, statuses, real,
            |statuses| mpi!(PMPI_Waitall(count, requests, statuses)), || Done::All)
    });
    MPI_Waitany PMPI_Waitany(count, requests, index, status) |real| recorded(|| Call::of(Wait).value(1), || {
        completing(count, requests, status, real,
            |status| mpi!(PMPI_Waitany(count, requests, index, status)), || Done::One(int_at(index)))
    });
    MPI_Waitsome PMPI_Waitsome(count, requests, reported, indices, statuses)
    |real| recorded(|| Call::of(Wait).value(count), || {
        completing(count, requests, statuses, real,
            |statuses| mpi!(PMPI_Waitsome(count, requests, reported, indices, statuses)),
            || Done::Some(int_at(reported), indices))
    });
    MPI_Test PMPI_Test(request, flag, status) |real| polled(Test, || {
        completing(1, request, status, real,
            |status| mpi!(PMPI_Test(request, flag, status)), || all_if(flag))
    }, || int_at(flag) != 0);
    MPI_Testall PMPI_Testall(count, requests, flag, statuses) |real| polled(Test, || {
        completing(count, requests, statuses, real,
            |statuses| mpi!(PMPI_Testall(count, requests, flag, statuses)), || all_if(flag))
    }, || int_at(flag) != 0);
    MPI_Testany PMPI_Testany(count, requests, index, flag, status) |real| polled(Test, || {
        completing(count, requests, status, real,
            |status| mpi!(PMPI_Testany(count, requests, index, flag, status)),
            || if int_at(flag) != 0 { Done::One(int_at(index)) } else { Done::None })
    }, || int_at(flag) != 0);
    MPI_Testsome PMPI_Testsome(count, requests, reported, indices, statuses) |real| polled(Test, || {
        completing(count, requests, statuses, real,
            |statuses| mpi!(PMPI_Testsome(count, requests, reported, indices, statuses)),
            || Done::Some(int_at(reported), indices))
    }, || int_at(reported) != 0);

    MPI_Probe PMPI_Probe(from, tag, comm, status) |real| recorded(|| Call::of(Probe).on(comm), real);
    MPI_Iprobe PMPI_Iprobe(from, tag, comm, flag, status) |real| polled(Probe, real, || int_at(flag) != 0);
    MPI_Mprobe PMPI_Mprobe(from, tag, comm, message, status) |real| {
        probed(recorded(|| Call::of(Probe).on(comm), real), true, comm, message)
    };
    MPI_Improbe PMPI_Improbe(from, tag, comm, flag, message, status) |real| {
        let result = polled(Probe, real, || int_at(flag) != 0);
        probed(result, result == SUCCESS && int_at(flag) != 0, comm, message)
    };
}

fn all_if(flag: usize) -> Done {
    if int_at(flag) != 0 { Done::All } else { Done::None }
}

#[inline(always)]
fn completing(
    count: usize,
    requests: usize,
    statuses: usize,
    real: impl FnOnce() -> i32,
    with_statuses: impl FnOnce(usize) -> i32,
    done: impl FnOnce() -> Done,
) -> i32 {
    if records_messages() { pmpi::completing(count, requests, statuses, with_statuses, done) } else { real() }
}

/// Stores the communicator of a message that a matching probe took.
fn probed(result: i32, taken: bool, comm: usize, message: usize) -> i32 {
    if records_messages() && taken && result == SUCCESS {
        // SAFETY: MPI stored the message there.
        matched::insert(unsafe { library().handle_at(message) }, library().handle(comm));
    }
    result
}
