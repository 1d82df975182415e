//! Signals: while a launcher's command runs, they are passed to it; otherwise a process cleans up
//! before it ends.

#![allow(unsafe_code, reason = "signal handlers are a matter of the C library")]

use std::ffi::c_int;
use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::sync::atomic::{AtomicI32, Ordering};

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    fn raise(number: c_int) -> c_int;
    fn write(file: c_int, bytes: *const u8, count: usize) -> isize;
    fn kill(process: c_int, number: c_int) -> c_int;
}

/// SIGHUP of Linux's signal.h.
const HANGUP: c_int = 1;
/// SIGINT.
const INTERRUPT: c_int = 2;
/// SIGQUIT.
const QUIT: c_int = 3;
/// SIGTERM.
const TERMINATE: c_int = 15;

/// SIG_DFL of Linux's signal.h, a disposition.
const DEFAULT: usize = 0;
/// SIG_IGN.
const IGNORE: usize = 1;

static CHILD: AtomicI32 = AtomicI32::new(0);

/// The terminal sends interrupts to the child too; other signals to this process are passed to the
/// child.
pub fn leave_to(child: u32) {
    extern "C" fn ignore(_: c_int) {}
    extern "C" fn pass_on(number: c_int) {
        let child = CHILD.load(Ordering::Relaxed);
        if child > 0 {
            // SAFETY: a system call that handlers may make.
            unsafe { kill(child, number) };
        }
    }
    CHILD.store(i32::try_from(child).unwrap_or(0), Ordering::Relaxed);
    for (number, handler) in
        [(INTERRUPT, ignore as extern "C" fn(c_int)), (QUIT, ignore), (HANGUP, pass_on), (TERMINATE, pass_on)]
    {
        // SAFETY: the handlers only do what handlers may.
        unsafe { signal(number, handler as usize) };
    }
}

/// The pipe into which handlers write a signal.
static TELL: AtomicI32 = AtomicI32::new(-1);

/// Has `act` done by a thread of its own when the process is told to end (SIGINT, SIGTERM, SIGHUP),
/// and then lets the signal end it; what `act` hands out lives until then. Signals that are ignored
/// stay so.
///
/// # Errors
/// No pipe or thread is to be had.
pub fn before_the_end<T>(act: impl FnOnce() -> T + Send + 'static) -> io::Result<()> {
    extern "C" fn tell(number: c_int) {
        let byte = number as u8;
        // SAFETY: a system call that handlers may make, with one byte to read.
        unsafe { write(TELL.load(Ordering::Relaxed), &raw const byte, 1) };
    }
    let (mut told, tells) = io::pipe()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut number = [0];
        if told.read_exact(&mut number).is_ok() {
            let number = c_int::from(number[0]);
            let _held = act();
            // SAFETY: system calls without memory.
            unsafe {
                signal(number, DEFAULT);
                raise(number);
            }
        }
    })?;
    TELL.store(tells.into_raw_fd(), Ordering::Relaxed);
    for number in [HANGUP, INTERRUPT, TERMINATE] {
        // SAFETY: the handler only does what handlers may.
        unsafe {
            if signal(number, tell as extern "C" fn(c_int) as usize) == IGNORE {
                signal(number, IGNORE);
            }
        }
    }
    Ok(())
}
