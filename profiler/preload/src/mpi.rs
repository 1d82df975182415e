//! MPI without its headers: functions found by name, and the constants in which implementations
//! differ.
//!
//! Every argument is a `usize`. On 64-bit machines an `int` handle (MPICH) and a pointer handle
//! (Open MPI) then pass through unchanged, in registers and on the stack alike; the upper half of
//! an `int` is undefined and never read.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::system;

/// `MPI_SUCCESS`.
pub(crate) const SUCCESS: c_int = 0;

/// An MPI function of the library, looked up at its first call.
pub(crate) struct Function {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Function {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Its address; for a name that this MPI lacks, that of a function that fails.
    #[inline(always)]
    pub(crate) fn address(&self) -> usize {
        let known = self.address.load(Ordering::Relaxed);
        if known == 0 { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> usize {
        extern "C" fn missing() -> c_int {
            const ERR_OTHER: c_int = 15;
            ERR_OTHER
        }
        let found = match system::next_function(self.name) {
            0 => missing as *const () as usize,
            address => address,
        };
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// The name of a function for the dynamic linker.
macro_rules! name {
    ($name:ident) => {
        match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    };
}
pub(crate) use name;

/// Calls an MPI function by its profiling name, behind this library.
macro_rules! mpi {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        static FUNCTION: $crate::mpi::Function = $crate::mpi::Function::new($crate::mpi::name!($name));
        // SAFETY: MPI functions have the C calling convention and take integers and pointers only.
        unsafe {
            let function: unsafe extern "C" fn($($crate::mpi::mpi!(@usize $argument)),*) -> ::std::ffi::c_int =
                ::std::mem::transmute(FUNCTION.address());
            function($($argument),*)
        }
    }};
    (@usize $argument:expr) => { usize };
}
pub(crate) use mpi;

/// An `int` argument. The upper half of its register is undefined.
#[inline(always)]
pub(crate) fn int(argument: usize) -> c_int {
    (argument as u32).cast_signed()
}

/// A result variable as an argument.
pub(crate) fn out<T>(variable: &mut T) -> usize {
    std::ptr::from_mut(variable).expose_provenance()
}

/// Implementations by what differs in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    OpenMpi = 1,
    Mpich = 2,
    /// The ABI that MPI 5 standardises.
    Standard = 3,
}

/// The constants of the MPI library in this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library {
    pub(crate) family: Family,
    pub(crate) world: usize,
    pub(crate) myself: usize,
    pub(crate) no_communicator: usize,
    pub(crate) byte: usize,
    pub(crate) int: usize,
    pub(crate) any_source: i32,
    pub(crate) proc_null: i32,
    pub(crate) root: i32,
    pub(crate) in_place: usize,
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`.
    pub(crate) no_status: usize,
    pub(crate) no_statuses: usize,
    pub(crate) undefined: i32,
    /// `MPI_THREAD_MULTIPLE`.
    pub(crate) multiple: i32,
    /// Bytes of a status; offsets of MPI_SOURCE and MPI_TAG.
    pub(crate) status_size: usize,
    pub(crate) source_at: usize,
    pub(crate) tag_at: usize,
    /// Mask for handles: MPICH's are `int`.
    handle_mask: usize,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// The constants, found at the first call.
pub(crate) fn library() -> &'static Library {
    LIBRARY.get_or_init(|| detected().unwrap_or_else(mpich))
}

impl Library {
    /// A handle argument as a key.
    #[inline(always)]
    pub(crate) fn handle(&self, argument: usize) -> usize {
        argument & self.handle_mask
    }

    /// The handle in a variable.
    ///
    /// # Safety
    /// `at` is the address of a handle variable of this library.
    pub(crate) unsafe fn handle_at(&self, at: usize) -> usize {
        // SAFETY: the caller's promise; reads no more than the handle's size.
        unsafe {
            if self.handle_mask == usize::MAX {
                std::ptr::with_exposed_provenance::<usize>(at).read_unaligned()
            } else {
                std::ptr::with_exposed_provenance::<u32>(at).read_unaligned() as usize
            }
        }
    }

    /// Bytes of a handle variable.
    pub(crate) fn handle_size(&self) -> usize {
        if self.handle_mask == usize::MAX { 8 } else { 4 }
    }
}

fn detected() -> Option<Library> {
    if system::variable(c"ompi_mpi_comm_world") != 0 { Some(open_mpi()) } else { standard() }
}

fn open_mpi() -> Library {
    Library {
        family: Family::OpenMpi,
        world: system::variable(c"ompi_mpi_comm_world"),
        myself: system::variable(c"ompi_mpi_comm_self"),
        no_communicator: system::variable(c"ompi_mpi_comm_null"),
        byte: system::variable(c"ompi_mpi_byte"),
        int: system::variable(c"ompi_mpi_int"),
        any_source: -1,
        proc_null: -2,
        root: -4,
        in_place: 1,
        no_status: 0,
        no_statuses: 0,
        undefined: -32766,
        multiple: 3,
        status_size: 24,
        source_at: 0,
        tag_at: 4,
        handle_mask: usize::MAX,
    }
}

fn mpich() -> Library {
    Library {
        family: Family::Mpich,
        world: 0x4400_0000,
        myself: 0x4400_0001,
        no_communicator: 0x0400_0000,
        byte: 0x4c00_010d,
        int: 0x4c00_0405,
        any_source: -2,
        proc_null: -1,
        root: -3,
        in_place: usize::MAX,
        no_status: 1,
        no_statuses: 1,
        undefined: -32766,
        multiple: 3,
        status_size: 20,
        source_at: 8,
        tag_at: 12,
        handle_mask: u32::MAX as usize,
    }
}

/// MPI 5's ABI, known by the name of the library file, which the standard fixes.
fn standard() -> Option<Library> {
    let file = system::code_object(system::next_function(c"PMPI_Init"))?;
    if !file.starts_with("libmpi_abi") {
        return None;
    }
    Some(Library {
        family: Family::Standard,
        world: 0x101,
        myself: 0x102,
        no_communicator: 0x100,
        byte: 0x247,
        int: 0x209,
        any_source: -1,
        proc_null: -3,
        root: -4,
        in_place: 1,
        no_status: 0,
        no_statuses: 0,
        undefined: -32766,
        multiple: 4096,
        status_size: 32,
        source_at: 0,
        tag_at: 4,
        handle_mask: usize::MAX,
    })
}

/// First line of `MPI_Get_library_version`.
pub(crate) fn version() -> String {
    let mut text = vec![0_u8; 8192];
    let mut length: c_int = 0;
    mpi!(PMPI_Get_library_version(text.as_mut_ptr().expose_provenance(), out(&mut length)));
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
    let line = text.lines().next().unwrap_or_default();
    let line = line.trim_start_matches("MPICH Version:");
    let name = if library().family == Family::Mpich { "MPICH " } else { "" };
    let text = line.split(", package").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{name}{text}")
}

/// Bytes of one element of a datatype; 0 if the library does not know.
pub(crate) fn type_size(datatype: usize) -> u64 {
    let mut size: c_int = 0;
    if mpi!(PMPI_Type_size(datatype, out(&mut size))) != SUCCESS {
        return 0;
    }
    u64::try_from(size).unwrap_or(0)
}
