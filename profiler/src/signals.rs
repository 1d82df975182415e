//! What a launcher does with signals while its command runs: the command decides.

#![allow(unsafe_code, reason = "signal handlers are a matter of the C library")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

unsafe extern "C" {
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn kill(process: c_int, number: c_int) -> c_int;
}

const HANGUP: c_int = 1;
const INTERRUPT: c_int = 2;
const QUIT: c_int = 3;
const TERMINATE: c_int = 15;

static CHILD: AtomicI32 = AtomicI32::new(0);

/// Interrupts from the terminal reach the child by themselves; whoever else ends this process means the child.
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
        unsafe { signal(number, handler) };
    }
}
