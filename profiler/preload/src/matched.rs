//! Messages that `MPI_Mprobe` or `MPI_Improbe` has taken and nobody received yet: their
//! communicators, which the receiving call does not name.

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
