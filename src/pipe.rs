//! How a command tells the next one of a pipeline that it failed, so that one fault gives one
//! message.
//!
//! A command that fails writes nothing, and the next one would complain of an empty input. What it
//! is told must not be data: other programs read pipes, too. The capacity of a pipe is no data, so
//! the failing command sets it to 256 KiB. A reader that finds its standard input at fault looks
//! for that, and ends with exit code 1 and without a message. An input that is empty for another
//! reason is complained of. Linux only; elsewhere each command has its own message.

/// Capacity of the pipe behind a command that failed, bytes: not the usual 64 KiB, nor the 4 and 8
/// KiB and 1 MiB that pipes have under pressure and at most, and more than the usual, so that it
/// can be set whatever is in the pipe.
#[cfg(target_os = "linux")]
const FAILED: usize = 256 << 10;

/// This command has failed and said so; for who reads its standard output.
pub fn tell_failure() {
    #[cfg(target_os = "linux")]
    // What is no pipe has no capacity, and nobody to tell.
    let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), FAILED);
}

/// True if the command that writes to our standard input has failed and said so.
pub fn has_failed_before() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::pipe::fcntl_getpipe_size(std::io::stdin()).is_ok_and(|size| size == FAILED);
    #[cfg(not(target_os = "linux"))]
    false
}
