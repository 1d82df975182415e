//! What the processes of a job agree on: a name, who measures the clock of each host, who speaks up.
//!
//! Processes of one host share their clock, so one of each host measures its offset to rank 0, once at `MPI_Init` and once at
//! `MPI_Finalize`; between the two the clock is a straight line. One measurement is a series of pings of which the
//! fastest counts (Cristian, *Probabilistic clock synchronization*, 1989): rank 0's clock was read within its round trip, so half
//! of that bounds the error.

use std::ffi::c_int;

use crate::mpi::{SUCCESS, library, mpi, out};
use crate::{clock, system};

/// A tag unlikely to meet a message that the program left behind.
const TAG: usize = 31_973;
const MOST_PINGS: u32 = 1000;
const FEWEST_PINGS: u32 = 10;
/// Time for all hosts together, and for one at most, in nanoseconds.
const TOTAL_NS: u64 = 2_000_000_000;
const EACH_NS: u64 = 20_000_000;

/// How recording started on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum State {
    Well = 0,
    CallsOnly = 1,
    NotRecording = 2,
}

/// What a process tells rank 0, and what it is told.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Report {
    host: u64,
    state: u64,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Role {
    job: u64,
    /// Nanoseconds that it may measure; 0: somebody else measures for this host.
    budget_ns: u64,
    /// 0: says nothing of its state, else it speaks for so many.
    speaks_for: u64,
}

/// What a process knows of the others' clocks.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    rank: u32,
    /// The same number for all of this `MPI_COMM_WORLD`.
    pub(crate) job: u64,
    /// The same number where clock ticks are the same.
    pub(crate) host: u64,
    budget_ns: u64,
    /// How many others are in this process's state, if it is the one to say so.
    pub(crate) speaks_for: Option<u64>,
    /// On rank 0: those who measure.
    measuring: Vec<u32>,
}

impl Clocks {
    /// Agrees; collective.
    pub(crate) fn agree(rank: u32, size: u32, tsc: bool, host_name: &str, state: State) -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let host = text_hash(&[host_name, &boot, if tsc { "tsc" } else { "monotonic" }]);
        let mut own = Report { host, state: state as u64 };
        let (mut reports, mut roles, mut measuring) = (Vec::new(), Vec::new(), Vec::new());
        if rank == 0 {
            reports.resize(size as usize, Report::default());
            roles.resize(size as usize, Role::default());
        }
        let library = library();
        mpi!(PMPI_Gather(
            out(&mut own),
            size_of::<Report>(),
            library.byte,
            reports.as_mut_ptr().expose_provenance(),
            size_of::<Report>(),
            library.byte,
            0,
            library.world,
        ));
        if rank == 0 {
            let seed = [system::realtime_ns(), u64::from(std::process::id()), host];
            measuring = distribute(&reports, &mut roles, text_hash(&[&format!("{seed:?}")]));
        }
        let mut role = Role::default();
        mpi!(PMPI_Scatter(
            roles.as_mut_ptr().expose_provenance(),
            size_of::<Role>(),
            library.byte,
            out(&mut role),
            size_of::<Role>(),
            library.byte,
            0,
            library.world,
        ));
        let speaks_for = role.speaks_for.checked_sub(1);
        Self { rank, job: role.job, host, budget_ns: role.budget_ns, speaks_for, measuring }
    }

    /// Measures own ticks, rank 0's ticks at the same moment and the error bound; zeros where somebody else does it for
    /// this host. Rank 0 serves those who measure one after the other.
    pub(crate) fn measure(&self) -> [u64; 3] {
        if self.rank == 0 {
            self.measuring.iter().for_each(|rank| serve(*rank));
            let now = clock::ticks();
            [now, now, 0]
        } else if self.budget_ns > 0 {
            ping(self.budget_ns)
        } else {
            [0; 3]
        }
    }
}

/// Roles of all processes; those who measure.
fn distribute(reports: &[Report], roles: &mut [Role], job: u64) -> Vec<u32> {
    let mut hosts = std::collections::BTreeSet::new();
    let first_of_host = |(rank, report): (usize, &Report)| hosts.insert(report.host).then_some(rank as u32);
    // Rank 0 is the first of its host and needs no measurement.
    let measuring: Vec<u32> = reports.iter().enumerate().filter_map(first_of_host).filter(|rank| *rank != 0).collect();
    let budget_ns = EACH_NS.min(TOTAL_NS / measuring.len().max(1) as u64);
    for role in roles.iter_mut() {
        role.job = job;
    }
    for rank in &measuring {
        roles[*rank as usize].budget_ns = budget_ns;
    }
    for state in [State::CallsOnly as u64, State::NotRecording as u64] {
        let mut of_state = reports.iter().enumerate().filter(|(_, report)| report.state == state);
        if let Some((speaker, _)) = of_state.next() {
            roles[speaker].speaks_for = 1 + of_state.count() as u64;
        }
    }
    measuring
}

fn send(value: &mut u64, to: u32) -> c_int {
    mpi!(PMPI_Send(out(value), 8, library().byte, to as usize, TAG, library().world))
}

fn receive(value: &mut u64, from: u32) -> c_int {
    let library = library();
    mpi!(PMPI_Recv(out(value), 8, library.byte, from as usize, TAG, library.world, library.no_status))
}

/// Answers pings with the time until the other one has enough.
fn serve(rank: u32) {
    let mut more = 0;
    while receive(&mut more, rank) == SUCCESS && more != 0 {
        if send(&mut clock::ticks(), rank) != SUCCESS {
            return;
        }
    }
}

fn ping(budget_ns: u64) -> [u64; 3] {
    let mut best = [0, 0, u64::MAX];
    let mut started = 0;
    for i in 0..MOST_PINGS {
        let (before, mut theirs) = (clock::ticks(), 0);
        if send(&mut 1, 0) != SUCCESS || receive(&mut theirs, 0) != SUCCESS {
            return [0; 3];
        }
        let round_trip = clock::ticks().wrapping_sub(before);
        if round_trip < best[2] {
            best = [before.wrapping_add(round_trip / 2), theirs, round_trip];
        }
        // The first answer comes when it is this host's turn.
        if i == 0 {
            started = system::monotonic_ns();
        }
        if i >= FEWEST_PINGS && system::monotonic_ns() - started > budget_ns {
            break;
        }
    }
    send(&mut 0, 0);
    [best[0], best[1], best[2].div_ceil(2)]
}

fn text_hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_host_measures_and_one_of_each_state_speaks() {
        let report = |host, state: State| Report { host, state: state as u64 };
        let reports = [
            report(7, State::Well),
            report(9, State::NotRecording),
            report(7, State::Well),
            report(9, State::NotRecording),
            report(5, State::CallsOnly),
        ];
        let mut roles = [Role::default(); 5];
        assert_eq!(distribute(&reports, &mut roles, 42), [1, 4]);
        assert_eq!(roles.map(|role| role.budget_ns > 0), [false, true, false, false, true]);
        assert_eq!(roles.map(|role| role.speaks_for), [0, 2, 0, 0, 1]);
        assert!(roles.iter().all(|role| role.job == 42));
    }
}
