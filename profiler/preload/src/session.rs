//! The recording of one process, from `MPI_Init` to `MPI_Finalize`.

use std::ffi::c_int;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::environment::{Environment, Wish};
use crate::format::{EXTENSION, at};
use crate::mpi::{library, mpi, out};
use crate::{clock, communicator_table, lane, mpi, pml, recording, storage, sync, system};

static SESSION: Mutex<Option<Session>> = Mutex::new(None);

struct Session {
    patch: Option<pml::Patch>,
    clocks: sync::Clocks,
}

/// Preparations before `MPI_Init`.
pub(crate) struct Before {
    environment: Environment,
    meeting: Option<sync::Meeting>,
}

/// `MPI_Init` is about to be called.
pub(crate) fn before() -> Before {
    let environment = Environment::from_process();
    let meeting = sync::Meeting::announce(&environment, &system::host_name());
    Before { environment, meeting }
}

/// After `MPI_Init`: starts to record, if the environment has a run directory.
pub(crate) fn begin(before: Before) {
    let Before { environment, meeting } = before;
    let Some(directory) = environment.directory.clone() else { return };
    let (mut rank, mut size, mut threads): (c_int, c_int, c_int) = (0, 0, 0);
    mpi!(PMPI_Comm_rank(library().world, out(&mut rank)));
    mpi!(PMPI_Comm_size(library().world, out(&mut size)));
    mpi!(PMPI_Query_thread(out(&mut threads)));
    let (rank, size) = (rank.cast_unsigned(), size.cast_unsigned());
    lane::overlap(threads == library().multiple);
    let tsc = clock::start(environment.tsc, environment.clock_shift);

    let host = system::host_name();
    let file = directory.join(file_name(&environment.job, rank, &host));
    let created = storage::create(&file);
    let recording = created.is_ok();
    let mut problem = created.err().map(|error| format!("cannot record into {}: {error}", file.display()));
    let mut patch = Err(String::new());
    if recording {
        describe(&environment, rank, size, threads, tsc, &host);
        communicator_table::start(size);
        patch = match environment.level {
            Wish::Pmpi => Err(String::new()),
            Wish::Auto if !pml::is_possible() => Err(String::new()),
            _ => pml::patch(),
        };
        if let Err(reason) = &patch
            && !reason.is_empty()
        {
            problem = Some(format!("recording calls only, not the messages inside collectives: {reason}"));
        }
    }
    let patch = patch.ok();
    recording::set_messages(patch.is_some(), patch.map_or(i32::MIN, |patch| patch.nonblocking_tag()));
    storage::header(at::LEVEL, &[if patch.is_some() { 1 } else { 2 }]);

    // One voice a host is enough.
    if let Some(problem) = problem
        && environment.place.is_none_or(|place| place.local_rank == 0)
    {
        system::say(&problem);
    }
    if !recording {
        return;
    }
    let mut clocks = sync::Clocks::default();
    header_words(at::SYNCS, &clocks.begin(rank, size, meeting));
    if environment.log {
        let level = if patch.is_some() { "pml" } else { "pmpi" };
        let clock = if tsc { "tsc" } else { "monotonic" };
        system::say(&format!("rank {rank} of {size}: {}, level {level}, clock {clock}, {}", mpi::version(), file.display()));
    }
    *SESSION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Session { patch, clocks });
    recording::set_directory(Some(directory));
    system::in_forked_child(forked);
    lane::set_on(true);
}

/// Before `MPI_Finalize`: completes the recording.
pub(crate) fn end() {
    let Some(session) = SESSION.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
    recording::set_directory(None);
    lane::set_on(false);
    if let Some(patch) = session.patch {
        patch.undo();
    }
    header_words(at::SYNCS + 24, &session.clocks.end());
    header_words(at::PAIRS + 24, &clock::triple());
    storage::header(at::STATE, &1_u32.to_le_bytes());
    storage::close();
}

/// A forked child shares the mapping with its parent and must not write.
extern "C" fn forked() {
    lane::set_on(false);
    recording::abandon();
    if let Ok(mut session) = SESSION.try_lock() {
        session.take();
    }
    storage::abandon();
}

fn describe(environment: &Environment, rank: u32, size: u32, threads: c_int, tsc: bool, host: &str) {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    storage::header(at::RANK, &rank.to_le_bytes());
    storage::header(at::SIZE, &size.to_le_bytes());
    storage::header(at::PID, &std::process::id().to_le_bytes());
    storage::header(at::CLOCK, &[if tsc { 1 } else { 2 }]);
    storage::header(at::LIBRARY, &[library().family as u8]);
    storage::header(at::THREADS, &[if threads == library().multiple { 3 } else { threads as u8 & 3 }]);
    storage::header(at::JOB, &sync::hash(&[&environment.job]).to_le_bytes());
    storage::header(at::HOST, &sync::host_identity(host, tsc).to_le_bytes());
    storage::header(at::BASE, &clock::base().to_le_bytes());
    header_words(at::PAIRS, &clock::triple());
    header_text(at::HOST_NAME, 64, host);
    header_text(at::LIBRARY_NAME, 128, &mpi::version());
    header_text(at::JOB_NAME, 128, &environment.job);
    header_text(at::PROGRAM, 128, &program.unwrap_or_default());
}

fn header_words(offset: usize, words: &[u64; 3]) {
    for (place, word) in (offset..).step_by(8).zip(words) {
        storage::header(place, &word.to_le_bytes());
    }
}

/// Longer text is truncated between characters.
fn header_text(offset: usize, room: usize, text: &str) {
    let cut = (0..=text.len().min(room - 1)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    storage::header(offset, &text.as_bytes()[..cut]);
}

/// Ranks repeat when a program spawns, process ids on different hosts: all of them are in the name.
fn file_name(job: &str, rank: u32, host: &str) -> String {
    let plain = |text: &str, most: usize| -> String {
        let letters = text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' });
        letters.take(most).collect()
    };
    let job = if job.is_empty() { "job" } else { job };
    format!("{}.{rank}.{}.{}.{EXTENSION}", plain(job, 64), plain(host, 64), std::process::id())
}
