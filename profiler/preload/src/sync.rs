//! Measurement of clock offsets between hosts.
//!
//! Processes of one host share their clock. In a job on several hosts, the first process of each
//! host measures its offset to rank 0, in `MPI_Init` and in `MPI_Finalize`; between the two a clock
//! is a straight line. One measurement is a series of pings of which the fastest counts (Cristian,
//! *Probabilistic clock synchronization*, 1989): rank 0's clock was read within its round trip, so
//! half of that bounds the error.
//!
//! The measurement must not block a program, nor match its messages. A process does not know
//! whether others are recorded too, so there is no collective call. Each process that takes part
//! makes a file in the run directory before `MPI_Init`, so all files exist when that returns. In
//! `MPI_Init` pings use `MPI_COMM_WORLD` between processes that are still inside it, with a time
//! limit. In `MPI_Finalize`, when others may still wait for any message, they use a communicator of
//! their own.

use std::ffi::c_int;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::mpi::{SUCCESS, library, mpi, out};
use crate::{clock, system};

/// Tag of the pings. Any value serves: in `MPI_Init` there are no messages of the program.
const TAG: usize = 31_973;
/// Most pings of one measurement: 5 ms at 5 µs each.
const MOST_PINGS: u32 = 1000;
/// Least pings of a measurement: fewer in the given time show a busy machine, which gets up to ten
/// times the time.
const ENOUGH_PINGS: u32 = 300;
/// Time for the measurements of all hosts together, nanoseconds: 2 s, of which each of 100 hosts
/// can have its 20 ms.
const TOTAL_NS: u64 = 2_000_000_000;
/// Time for the measurement of one host, nanoseconds: 20 ms, [`MOST_PINGS`] at 20 µs each.
const EACH_NS: u64 = 20_000_000;
/// Time-out of rank 0 for a process that has announced itself, nanoseconds: 10 s.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Time-out of the other processes for rank 0, nanoseconds: longer, as rank 0 may wait for others
/// first.
const MORE_PATIENCE_NS: u64 = 30_000_000_000;
/// Part of the names of marker files.
const MARK: &str = ".clock-";

/// The marker file of a host that measures.
#[derive(Debug)]
pub(crate) struct Meeting {
    directory: PathBuf,
    own: PathBuf,
    /// The prefix of this job's files.
    job: String,
}

impl Meeting {
    /// Announces this process if it measures for its host; `None` if it does not, or with a single
    /// host.
    pub(crate) fn announce(environment: &Environment, host: &str) -> Option<Self> {
        let directory = environment.directory.clone()?;
        let place = environment.place.filter(|place| !place.one_host && place.local_rank == 0)?;
        let job = format!("{MARK}{:016x}-", hash(&[&environment.job]));
        let name = if place.rank == 0 { "root".to_owned() } else { format!("{:016x}", hash(&[host])) };
        let own = directory.join(format!("{job}{name}"));
        std::fs::write(&own, []).ok()?;
        Some(Self { directory, own, job })
    }

    /// Number of hosts besides rank 0's that have announced themselves; `None` if rank 0 has not.
    fn others(&self) -> Option<usize> {
        let names = std::fs::read_dir(&self.directory).ok()?;
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let of_job: Vec<String> = names.filter(|name| name.starts_with(&self.job)).collect();
        of_job.iter().any(|name| name.ends_with("-root")).then(|| of_job.len() - 1)
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.own);
    }
}

/// The measuring processes, with their communicator.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    rank: u32,
    /// A communicator of rank 0 and the processes that measured in `MPI_Init`; 0 without any.
    private: usize,
    /// Number of its members.
    members: u32,
}

impl Clocks {
    /// The first measurement: own ticks, rank 0's at the same moment, error bound; zeros without a
    /// measurement.
    pub(crate) fn begin(&mut self, rank: u32, size: u32, meeting: Option<Meeting>) -> [u64; 3] {
        self.rank = rank;
        let Some(meeting) = meeting else { return here(rank) };
        let Some(others) = meeting.others() else { return [0; 3] };
        if rank == 0 {
            let members = serve_all(others, size);
            self.make_communicator(&members);
            return here(0);
        }
        let measured = ping(0, library().world, Some(MORE_PATIENCE_NS));
        if measured[0] == 0 {
            return measured;
        }
        let mut members = vec![0_u64; others + 2];
        if receive(&mut members, 0, library().world, Some(MORE_PATIENCE_NS)) {
            let count = usize::try_from(members[0]).unwrap_or(0).min(others + 1);
            self.make_communicator(&members[1..=count]);
        }
        measured
    }

    /// Measures again.
    pub(crate) fn end(&self) -> [u64; 3] {
        if self.private == 0 {
            return here(self.rank);
        }
        if self.rank != 0 {
            return ping(0, self.private, None);
        }
        (1..self.members).for_each(|member| {
            serve(member, self.private, 0, None);
        });
        here(0)
    }

    /// Makes the communicator; all of `members` call this.
    fn make_communicator(&mut self, members: &[u64]) {
        if members.len() < 2 {
            return;
        }
        let ranks: Vec<c_int> = members.iter().map(|rank| *rank as c_int).collect();
        let (mut world, mut group, mut private) = (0_usize, 0_usize, 0_usize);
        let library = library();
        mpi!(PMPI_Comm_group(library.world, out(&mut world)));
        mpi!(PMPI_Group_incl(world, ranks.len(), ranks.as_ptr().expose_provenance(), out(&mut group)));
        if mpi!(PMPI_Comm_create_group(library.world, group, TAG, out(&mut private))) == SUCCESS {
            self.private = library.handle(private);
            self.members = ranks.len() as u32;
        }
        mpi!(PMPI_Group_free(out(&mut group)));
        mpi!(PMPI_Group_free(out(&mut world)));
    }
}

/// Rank 0 is its own reference; others of its host are found by the host's identity.
fn here(rank: u32) -> [u64; 3] {
    let now = clock::ticks();
    if rank == 0 { [now, now, 0] } else { [0; 3] }
}

fn send(values: &[u64], to: u32, comm: usize) -> bool {
    let (at, bytes) = (values.as_ptr().expose_provenance(), size_of_val(values));
    mpi!(PMPI_Send(at, bytes, library().byte, to as usize, TAG, comm)) == SUCCESS
}

/// Receives at most `values.len()` values; false after a time-out.
fn receive(values: &mut [u64], from: u32, comm: usize, limit_ns: Option<u64>) -> bool {
    if let Some(limit) = limit_ns
        && awaited(from as usize, comm, limit).is_none()
    {
        return false;
    }
    let library = library();
    let (at, bytes) = (values.as_mut_ptr().expose_provenance(), size_of_val(values));
    mpi!(PMPI_Recv(at, bytes, library.byte, from as usize, TAG, comm, library.no_status)) == SUCCESS
}

/// Waits for a message; its source.
fn awaited(from: usize, comm: usize, limit_ns: u64) -> Option<u32> {
    let library = library();
    let start = system::monotonic_ns();
    let mut status = [0_u64; 8];
    loop {
        let mut flag: c_int = 0;
        if mpi!(PMPI_Iprobe(from, TAG, comm, out(&mut flag), out(&mut status))) != SUCCESS {
            return None;
        }
        if flag != 0 {
            let place = out(&mut status) + library.source_at;
            // SAFETY: inside the status that MPI filled.
            return Some(unsafe { std::ptr::with_exposed_provenance::<u32>(place).read_unaligned() });
        }
        if system::monotonic_ns() - start > limit_ns {
            return None;
        }
    }
}

/// Serves processes in the order of arrival, until all are served or a time-out. Returns the
/// members of the private communicator, and sends them the list.
fn serve_all(others: usize, size: u32) -> Vec<u64> {
    let world = library().world;
    let budget = EACH_NS.min(TOTAL_NS / others.max(1) as u64);
    let mut members = vec![0_u64];
    while members.len() <= others {
        let any = library().any_source as usize;
        let Some(rank) = awaited(any, world, PATIENCE_NS).filter(|rank| *rank < size) else { break };
        if serve(rank, world, budget, Some(PATIENCE_NS)) {
            members.push(u64::from(rank));
        }
    }
    let mut list = vec![members.len() as u64];
    list.extend_from_slice(&members);
    members[1..].iter().for_each(|rank| {
        send(&list, *rank as u32, world);
    });
    members
}

/// Answers the pings of one process with the time, until it ends.
fn serve(rank: u32, comm: usize, budget: u64, limit: Option<u64>) -> bool {
    let mut more = [0];
    while receive(&mut more, rank, comm, limit) {
        if more[0] == 0 {
            return true;
        }
        if !send(&[clock::ticks(), budget], rank, comm) {
            return false;
        }
    }
    false
}

fn ping(reference: u32, comm: usize, limit: Option<u64>) -> [u64; 3] {
    let mut best = [0, 0, u64::MAX];
    let mut started = 0;
    for i in 0..MOST_PINGS {
        let before = clock::ticks();
        let mut answer = [0, 0];
        // Only the first answer may take long: rank 0 serves one host after the other.
        if !send(&[1], reference, comm) || !receive(&mut answer, reference, comm, limit.filter(|_| i == 0)) {
            return [0; 3];
        }
        let round_trip = clock::ticks().wrapping_sub(before);
        if round_trip < best[2] {
            best = [before.wrapping_add(round_trip / 2), answer[0], round_trip];
        }
        if i == 0 {
            started = system::monotonic_ns();
        }
        let budget = if answer[1] == 0 { EACH_NS } else { answer[1] };
        let elapsed = system::monotonic_ns() - started;
        if elapsed > if i >= ENOUGH_PINGS { budget } else { budget * 10 } {
            break;
        }
    }
    send(&[0], reference, comm);
    [best[0], best[1], best[2].div_ceil(2)]
}

/// The same number for processes whose ticks are the same.
pub(crate) fn host_identity(host_name: &str, tsc: bool) -> u64 {
    let boot = std::fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default();
    hash(&[host_name, &boot, if tsc { "tsc" } else { "monotonic" }])
}

/// FNV-1a over texts, ended by a mixer.
pub(crate) fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
