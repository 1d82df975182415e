//! Failure of a command in a pipeline is signalled to the next one, so that one fault gives one
//! message.
//!
//! A command that fails writes no data, and the next one would report an empty input. The signal
//! must not be data, as other programs read pipes, too. So the failing command sets the capacity of
//! the pipe to 256 KiB. A reader with an invalid standard input checks the capacity, and then ends
//! with exit code 1 and without a message. An input that is empty for another reason is reported.
//! Linux only; elsewhere each command has its own message.

/// Capacity of the pipe behind a failed command, bytes. It differs from Linux's default of 64 KiB,
/// from 4 and 8 KiB under pressure, and from the maximum of 1 MiB. It exceeds the default, so that
/// it can be set with any data in the pipe.
#[cfg(target_os = "linux")]
const FAILED: usize = 256 << 10;

/// Signals to the reader of standard output that this command has failed and reported it.
pub fn tell_failure() {
    #[cfg(target_os = "linux")]
    // Outputs that are no pipe have no capacity to set.
    let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), FAILED);
}

/// True if the command that writes to our standard input has failed and reported it.
pub fn has_failed_before() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::pipe::fcntl_getpipe_size(std::io::stdin()).is_ok_and(|size| size == FAILED);
    #[cfg(not(target_os = "linux"))]
    false
}
