//! Functions of the C library that `std` lacks, declared by hand: this library has no dependencies,
//! so one `rustc` call builds it.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dladdr1(address: *const c_void, info: *mut DlInfo, extra: *mut *mut c_void, flags: c_int) -> c_int;
    fn dl_iterate_phdr(
        visit: extern "C" fn(*const PhdrInfo, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
    fn mmap(at: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
    fn fallocate(fd: c_int, mode: c_int, offset: i64, len: i64) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut [c_long; 2]) -> c_int;
    fn gethostname(name: *mut c_char, len: usize) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Pseudo handle of all loaded objects (glibc's dlfcn.h).
const RTLD_DEFAULT: *mut c_void = std::ptr::null_mut();
/// Pseudo handle of the objects behind this one (same).
const RTLD_NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

#[repr(C)]
struct PhdrInfo {
    base: usize,
    name: *const c_char,
    headers: *const ProgramHeader,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    alignment: u64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// Handle of the MPI library once it was found among the loaded objects.
static MPI_LIBRARY: AtomicUsize = AtomicUsize::new(0);

/// Address of a function of the MPI library itself, behind this one; 0 if there is none.
pub(crate) fn next_function(name: &CStr) -> usize {
    // SAFETY: dlsym takes a NUL-terminated name; RTLD_NEXT is a valid pseudo handle in a loaded
    // library.
    let found = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) };
    if found.is_null() { in_mpi_library(name) } else { found.addr() }
}

/// Address of a global variable of the MPI library; 0 if there is none. The executable may hold the
/// live copy (a COPY relocation), so the search starts with it.
pub(crate) fn variable(name: &CStr) -> usize {
    // SAFETY: as above.
    let found = unsafe { dlsym(RTLD_DEFAULT, name.as_ptr()) };
    if found.is_null() { in_mpi_library(name) } else { found.addr() }
}

/// Searches the library that only a plugin of the process has loaded (mpi4py does so): invisible to
/// the searches above.
fn in_mpi_library(name: &CStr) -> usize {
    let mut handle = MPI_LIBRARY.load(Ordering::Relaxed);
    if handle == 0 {
        handle = find_mpi_library();
        MPI_LIBRARY.store(handle, Ordering::Relaxed);
    }
    if handle == 0 {
        return 0;
    }
    // SAFETY: the handle is one that dlopen returned and that is not closed.
    unsafe { dlsym(std::ptr::with_exposed_provenance_mut(handle), name.as_ptr()) }.addr()
}

fn find_mpi_library() -> usize {
    extern "C" fn visit(info: *const PhdrInfo, _size: usize, data: *mut c_void) -> c_int {
        /// RTLD_NOLOAD and RTLD_LAZY (same).
        const NOLOAD_LAZY: c_int = 4 | 1;
        // SAFETY: the dynamic linker hands a valid record; its name is NUL-terminated.
        let name = unsafe { CStr::from_ptr((*info).name) };
        let file = name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if !file.starts_with(b"libmpi") {
            return 0;
        }
        // SAFETY: the path names a loaded object, which RTLD_NOLOAD does not load again; dlsym as
        // above.
        let handle = unsafe { dlopen(name.as_ptr(), NOLOAD_LAZY) };
        // SAFETY: a null handle is excluded.
        if !handle.is_null() && !unsafe { dlsym(handle, c"PMPI_Init".as_ptr()) }.is_null() {
            // SAFETY: `data` is the address of the caller's variable.
            unsafe { *data.cast::<usize>() = handle.expose_provenance() };
            return 1;
        }
        0
    }
    let mut found = 0_usize;
    // SAFETY: `visit` has the signature that is asked for and `found` outlives the call.
    unsafe { dl_iterate_phdr(visit, (&raw mut found).cast()) };
    found
}

/// Size that the symbol table gives to the variable at `address`; also in a stripped library.
pub(crate) fn symbol_size(address: usize) -> Option<u64> {
    /// Request of `dladdr1` for the symbol (same).
    const RTLD_DL_SYMENT: c_int = 1;
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    let mut entry: *mut c_void = std::ptr::null_mut();
    // SAFETY: both results are variables of ours; any address may be asked for.
    let known = unsafe {
        dladdr1(std::ptr::without_provenance(address), &raw mut info, &raw mut entry, RTLD_DL_SYMENT)
    };
    if known == 0 || entry.is_null() || info.address.addr() != address {
        return None;
    }
    // SAFETY: with RTLD_DL_SYMENT the entry points at an Elf64_Sym of a loaded object.
    Some(unsafe { (*entry.cast::<Symbol>()).size })
}

/// File name, without folders, of the loaded object that has `address` in its code.
pub(crate) fn code_object(address: usize) -> Option<String> {
    struct Search {
        address: u64,
        file: Option<String>,
    }
    extern "C" fn visit(info: *const PhdrInfo, _size: usize, data: *mut c_void) -> c_int {
        /// PT_LOAD (elf.h).
        const LOAD: u32 = 1;
        /// PF_X (elf.h).
        const EXECUTABLE: u32 = 1;
        // SAFETY: `data` is the caller's Search; the dynamic linker hands a valid record.
        let (search, info) = unsafe { (&mut *data.cast::<Search>(), &*info) };
        // SAFETY: the record has `count` program headers.
        let headers = unsafe { std::slice::from_raw_parts(info.headers, usize::from(info.count)) };
        let holds = headers.iter().filter(|h| h.kind == LOAD && h.flags & EXECUTABLE != 0).any(|header| {
            let start = (info.base as u64).wrapping_add(header.address);
            search.address.wrapping_sub(start) < header.memory_size
        });
        if holds {
            // SAFETY: a NUL-terminated name.
            let path = unsafe { CStr::from_ptr(info.name) }.to_string_lossy();
            search.file = path.rsplit('/').next().map(str::to_owned);
        }
        c_int::from(holds)
    }
    let mut search = Search { address: address as u64, file: None };
    // SAFETY: as in `find_mpi_library`.
    unsafe { dl_iterate_phdr(visit, (&raw mut search).cast()) };
    search.file
}

/// PROT_READ and PROT_WRITE (Linux's mman.h).
const READ_WRITE: c_int = 1 | 2;

/// Maps `len` bytes of a file from `offset`, shared, so that what is stored there survives the
/// process.
pub(crate) fn map_shared(fd: c_int, offset: u64, len: usize) -> Option<*mut u8> {
    /// MAP_SHARED (same).
    const SHARED: c_int = 1;
    let offset = i64::try_from(offset).ok()?;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let at = unsafe { mmap(std::ptr::null_mut(), len, READ_WRITE, SHARED, fd, offset) };
    (at.addr() != usize::MAX).then_some(at.cast())
}

/// Replaces a shared mapping by private memory: late writes have no effect, instead of failing on
/// the truncated file.
///
/// # Safety
/// `at` and `len` are those of a mapping of [`map_shared`].
pub(crate) unsafe fn unshare(at: *mut u8, len: usize) {
    /// The flags of `mmap` that it names (same).
    const PRIVATE_FIXED_ANONYMOUS_NORESERVE: c_int = 0x2 | 0x10 | 0x20 | 0x4000;
    // SAFETY: replaces a mapping that is ours alone by one of the same size.
    unsafe { mmap(at.cast(), len, READ_WRITE, PRIVATE_FIXED_ANONYMOUS_NORESERVE, -1, 0) };
}

/// Makes the pages of a mapping present, so that writing there does not fault.
///
/// # Safety
/// The range lies in a mapping of [`map_shared`] and holds nothing yet.
pub(crate) unsafe fn populate(at: *mut u8, len: usize) {
    /// MADV_POPULATE_WRITE (same).
    const POPULATE_WRITE: c_int = 23;
    // SAFETY: advice about our own mapping.
    if unsafe { madvise(at.cast(), len, POPULATE_WRITE) } != 0 {
        // Kernels before 5.14.
        for page in (0..len).step_by(4096) {
            // SAFETY: inside the range, and zero is what is there.
            unsafe { at.add(page).write_volatile(0) };
        }
    }
}

/// Releases the pages of a full mapping to the kernel's cache, so the process does not grow with
/// its recording.
///
/// # Safety
/// The range lies in a mapping of [`map_shared`].
pub(crate) unsafe fn release(at: *mut u8, len: usize) {
    /// MADV_DONTNEED (same).
    const DONTNEED: c_int = 4;
    // SAFETY: of a shared file mapping only the page table entries go; the data stays.
    unsafe { madvise(at.cast(), len, DONTNEED) };
}

/// Reserves space in a file; false if there is none. Without it a full disk causes a SIGBUS at a
/// later store.
pub(crate) fn reserve(file: &std::fs::File, offset: u64, len: usize) -> bool {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;
    let (Ok(start), Ok(length)) = (i64::try_from(offset), i64::try_from(len)) else { return false };
    // SAFETY: a system call on a file that we own.
    if unsafe { fallocate(file.as_raw_fd(), 0, start, length) } == 0 {
        return true;
    }
    /// EOPNOTSUPP, ENOSYS and EINVAL (Linux's errno.h).
    const NOT_SUPPORTED: [i32; 3] = [95, 38, 22];
    if !std::io::Error::last_os_error().raw_os_error().is_some_and(|code| NOT_SUPPORTED.contains(&code)) {
        return false;
    }
    // File systems without reservations take zeros.
    let zeros = [0_u8; 65536];
    (0..len).step_by(zeros.len()).all(|done| {
        let part = &zeros[..zeros.len().min(len - done)];
        file.write_all_at(part, offset + done as u64).is_ok()
    })
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(1)
}

/// `CLOCK_REALTIME`, in nanoseconds since 1970.
pub(crate) fn realtime_ns() -> u64 {
    clock_ns(0)
}

#[inline]
fn clock_ns(clock: c_int) -> u64 {
    let mut time = [0; 2];
    // SAFETY: writes one timespec.
    unsafe { clock_gettime(clock, &raw mut time) };
    (time[0] * 1_000_000_000 + time[1]).cast_unsigned()
}

/// Name of this host.
pub(crate) fn host_name() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: writes at most the given length.
    unsafe { gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Calls `child` in every process that this one forks.
pub(crate) fn in_forked_child(child: extern "C" fn()) {
    // SAFETY: the library is never unloaded, so the function stays.
    unsafe { pthread_atfork(None, None, Some(child)) };
}

/// One line on standard error, whole: all processes may write there.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("phaseflow: {text}\n").as_bytes());
}
