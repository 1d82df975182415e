//! The recorder below Open MPI's collectives.
//!
//! Open MPI hands every point-to-point message, its collectives' included, to a table of function
//! pointers, the global `mca_pml` (point-to-point management layer). After `MPI_Init` the functions
//! of [`hooks`] replace its entries and call the original ones. The layout of the table and of
//! requests is no public interface. So [`patch`] checks sizes and pointers first, and [`probe`]
//! sends a message to the process itself, which must be recorded. Otherwise the table is restored,
//! and calls are recorded instead.

mod hooks;
mod probe;
mod request;
mod short;
mod waits;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::{clock, mpi, recording, system};

/// First tag of non-blocking collectives, Open MPI 4.1 and 5.0. Each instance takes the next lower
/// tag.
const NONBLOCKING_TAGS: [i32; 2] = [-27, -34];

/// Places of functions in the table of Open MPI 2.0 to 4.1; from `irecv_init` on they are one
/// further in 5.0 and later.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Entry {
    AddCommunicator = 4,
    DelCommunicator = 5,
    IrecvInit = 6,
    Irecv = 7,
    Recv = 8,
    IsendInit = 9,
    Isend = 10,
    Send = 11,
    Start = 14,
    Improbe = 15,
    Mprobe = 16,
    Imrecv = 17,
    Mrecv = 18,
}

/// The original functions of the table, by [`Entry`].
static REAL: [AtomicUsize; 19] = [const { AtomicUsize::new(0) }; 19];

/// The place of a patch in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    table: *mut usize,
    shift: usize,
}

// SAFETY: the table is a global of Open MPI; it is patched by MPI_Init and MPI_Finalize only.
unsafe impl Send for Patch {}

impl Patch {
    /// First tag of non-blocking collectives in this version.
    pub(crate) fn nonblocking_tag(&self) -> i32 {
        NONBLOCKING_TAGS[self.shift]
    }

    fn place(&self, entry: Entry) -> *mut usize {
        let index = entry as usize;
        let shift = if index >= Entry::IrecvInit as usize { self.shift } else { 0 };
        // SAFETY: the table's size, checked in `patch`, says that it has this many entries.
        unsafe { self.table.add(index + shift) }
    }
}

/// Installs the hooks and checks them; returns the reason if they do not work.
pub(crate) fn patch() -> Result<Patch, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("only known on x86-64".into());
    }
    let sized = |name: &std::ffi::CStr, text: &str| {
        let address = system::variable(name);
        if address == 0 {
            return Err(format!("this MPI has no {text}"));
        }
        system::symbol_size(address).map(|size| (address, size)).ok_or(format!("{text} has no known size"))
    };
    let (table, size) = sized(c"mca_pml", "mca_pml")?;
    let shift = match size {
        184 => 0,
        192 => 1,
        other => return Err(format!("mca_pml has {other} bytes, expected 184 or 192")),
    };
    let (_, request) = sized(c"ompi_request_empty", "ompi_request_empty")?;
    if request != request::SIZE {
        return Err(format!("a request has {request} bytes, expected {}", request::SIZE));
    }
    let patch = Patch { table: std::ptr::with_exposed_provenance_mut(table), shift };
    for (entry, _) in hooks::ALL {
        // SAFETY: an entry of the table.
        let function = unsafe { patch.place(entry).read() };
        let file = system::code_object(function).unwrap_or_default();
        if !["mca_", "libmpi", "libopen-pal", "libmca"].iter().any(|prefix| file.starts_with(prefix)) {
            return Err(format!("entry {} of mca_pml is no code of Open MPI", entry as usize));
        }
        REAL[entry as usize].store(function, Relaxed);
    }
    request::learn_datatype_layout();
    for (entry, hook) in hooks::ALL {
        // SAFETY: as above; the global is writable, and no other thread calls MPI during MPI_Init.
        unsafe { patch.place(entry).write(hook()) };
    }
    match probe::a_message_shows_up() {
        Ok(()) => {
            waits::patch();
            Ok(patch)
        }
        Err(problem) => {
            patch.undo();
            Err(problem)
        }
    }
}

impl Patch {
    /// Puts back what was there.
    pub(crate) fn undo(self) {
        waits::undo();
        for (entry, _) in hooks::ALL {
            // SAFETY: as in `patch`.
            unsafe { self.place(entry).write(REAL[entry as usize].load(Relaxed)) };
        }
    }
}

/// True if messages may take the [short] path.
pub(crate) fn has_short_way() -> bool {
    recording::is_on() && clock::is_counter() && request::size_is_read()
}

/// True if this process has Open MPI.
pub(crate) fn is_possible() -> bool {
    mpi::library().family == mpi::Family::OpenMpi
}
