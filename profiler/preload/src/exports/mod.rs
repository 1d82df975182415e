//! The functions that this library puts in front of MPI's, under their MPI and PMPI names: Open MPI's Fortran layer calls
//! the latter. Each is one line in a table: its arguments and what is done around the real one.

mod collective;
mod environment;
mod file;
mod making;
mod point_to_point;
mod window;

use std::ffi::c_int;

/// Defines functions: `NAME PROFILING_NAME(arguments) |real| body`, where `real()` is the call as the program made it.
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

/// An `int` that MPI has filled in.
fn int_at(address: usize) -> c_int {
    // SAFETY: the address of an int variable that the program gave to MPI, which has filled it.
    unsafe { std::ptr::with_exposed_provenance::<c_int>(address).read_unaligned() }
}

/// Element of an array of `int` that the program gave to MPI; 0 without array.
fn int_of(array: usize, index: u32) -> c_int {
    if array == 0 { 0 } else { int_at(array + index as usize * 4) }
}
