//! Interposed functions of MPI, under their MPI and PMPI names, as Open MPI's Fortran layer calls
//! the latter. Each is one line in a table: its arguments, and the body around the real function.

mod collective;
mod environment;
mod file;
mod making;
mod part;
mod point_to_point;
mod window;

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::system;

/// Defines functions: `NAME PROFILING_NAME(arguments) |real| body`, where `real()` is the call of
/// the program.
macro_rules! functions {
    ($($name:ident $profiling:ident ($($argument:ident),*) |$real:ident| $body:expr;)*) => { $(
        #[allow(non_snake_case, reason = "MPI's names")]
        #[allow(unused_variables, reason = "most bodies need some of the arguments only")]
        #[allow(clippy::too_many_arguments, reason = "as many as MPI's function has")]
        #[cfg_attr(not(phaseflow_cdylib), allow(dead_code, reason = "exported by the cdylib only"))]
        const _: () = {
            #[inline(always)]
            fn inner($($argument: usize),*) -> ::std::ffi::c_int {
                let $real = move || $crate::mpi::mpi!($profiling($($argument),*));
                $body
            }
            #[cfg_attr(phaseflow_cdylib, unsafe(no_mangle))]
            extern "C" fn $name($($argument: usize),*) -> ::std::ffi::c_int {
                inner($($argument),*)
            }
            #[cfg_attr(phaseflow_cdylib, unsafe(no_mangle))]
            extern "C" fn $profiling($($argument: usize),*) -> ::std::ffi::c_int {
                inner($($argument),*)
            }
        };
    )* };
}
pub(crate) use functions;

/// As [`functions!`], for calls that are recorded only without messages below. With them, the first
/// call redirects all later ones to MPI. The body is for recording by calls.
macro_rules! passing {
    ($($name:ident $profiling:ident ($($argument:ident),*) |$real:ident| $body:expr;)*) => { $(
        #[allow(non_snake_case, reason = "MPI's names")]
        #[allow(unused_variables, reason = "most bodies need some of the arguments only")]
        #[allow(clippy::too_many_arguments, reason = "as many as MPI's function has")]
        #[cfg_attr(not(phaseflow_cdylib), allow(dead_code, reason = "exported by the cdylib only"))]
        const _: () = {
            type Target = ::std::sync::atomic::AtomicPtr<()>;
            static TARGET: Target = Target::new(resolve_and_call as *mut ());
            extern "C" fn resolve_and_call($($argument: usize),*) -> ::std::ffi::c_int {
                let $real = move || $crate::mpi::mpi!($profiling($($argument),*));
                if $crate::recording::sees_messages() {
                    $crate::exports::pass(&TARGET, $crate::mpi::name!($profiling));
                    return $real();
                }
                if $crate::recording::is_on() { $body } else { $real() }
            }
            #[inline(always)]
            fn inner($($argument: usize),*) -> ::std::ffi::c_int {
                // SAFETY: the target is `resolve_and_call` or MPI's own function, which has the
                // same arguments.
                unsafe {
                    let target: extern "C" fn($($crate::exports::passing!(@usize $argument)),*) -> ::std::ffi::c_int =
                        ::std::mem::transmute(TARGET.load(::std::sync::atomic::Ordering::Relaxed));
                    target($($argument),*)
                }
            }
            #[cfg_attr(phaseflow_cdylib, unsafe(no_mangle))]
            extern "C" fn $name($($argument: usize),*) -> ::std::ffi::c_int {
                inner($($argument),*)
            }
            #[cfg_attr(phaseflow_cdylib, unsafe(no_mangle))]
            extern "C" fn $profiling($($argument: usize),*) -> ::std::ffi::c_int {
                inner($($argument),*)
            }
        };
    )* };
    (@usize $argument:ident) => { usize };
}
pub(crate) use passing;

/// Defines functions by one of the macros above, with counts of either width.
macro_rules! of_both_widths {
    ($how:ident: $($name:ident $profiling:ident $wide:ident $wide_profiling:ident ($($argument:ident),*)
        |$real:ident, $of:ident| $body:expr;)*) => { $how! { $(
        $name $profiling($($argument),*) |$real| { let $of = $crate::count::Width::Int; $body };
        $wide $wide_profiling($($argument),*) |$real| { let $of = $crate::count::Width::Count; $body };
    )* } };
}
pub(crate) use of_both_widths;

/// Redirects the calls of a function to MPI from now on.
#[cold]
fn pass(target: &AtomicPtr<()>, name: &CStr) {
    let function = system::next_function(name);
    if function != 0 {
        target.store(std::ptr::with_exposed_provenance_mut(function), Relaxed);
    }
}

/// An `int` that MPI has filled in.
fn int_at(address: usize) -> c_int {
    // SAFETY: the address of an int variable that the program gave to MPI, which has filled it.
    unsafe { std::ptr::with_exposed_provenance::<c_int>(address).read_unaligned() }
}
