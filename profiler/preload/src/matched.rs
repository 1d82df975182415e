//! Communicators of messages between `MPI_Mprobe` or `MPI_Improbe` and their receive, whose
//! arguments lack the communicator.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

static MATCHED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// A probe took a message.
pub(crate) fn insert(message: usize, communicator: usize) {
    MATCHED.lock().unwrap_or_else(PoisonError::into_inner).insert(message, communicator);
}

/// The communicator of a message that is about to be received; `None` for no message.
pub(crate) fn take(message: usize) -> Option<usize> {
    MATCHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&message)
}
