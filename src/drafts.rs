//! Files that have no name yet: they go when a signal ends the command, and the user is told what
//! stays.
//!
//! Whoever writes a draft takes it away again when a command fails. A signal (SIGINT, SIGTERM,
//! SIGHUP) ends it without that, so the drafts of a process are listed here, and a thread that
//! waits for a signal removes them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use phaseflow_profiler::signals;

static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// What is kept of the output, as a sentence.
static KEPT: Mutex<Option<String>> = Mutex::new(None);

/// From now on a signal removes drafts, says as `command` what is kept, and then ends the process
/// as it would have.
///
/// # Errors
/// No thread or pipe is to be had.
pub fn watch(command: String) -> io::Result<()> {
    signals::before_the_end(move || {
        // Held until the end: nobody begins a draft meanwhile.
        let mut drafts = locked(&DRAFTS);
        let kept = locked(&KEPT).take();
        let said = match kept {
            Some(kept) => Some(kept),
            None if drafts.is_empty() => None,
            None => Some("nothing is kept".into()),
        };
        for draft in drafts.drain(..) {
            let _ = if draft.is_dir() { fs::remove_dir_all(&draft) } else { fs::remove_file(&draft) };
        }
        if let Some(said) = said {
            let _ = writeln!(io::stderr(), "{command}: interrupted: {said}");
        }
        drafts
    })
}

/// A signal removes this file or directory.
pub fn add(path: &Path) {
    locked(&DRAFTS).push(path.into());
}

/// A signal leaves this one: it has its name, or is gone.
pub fn forget(path: &Path) {
    locked(&DRAFTS).retain(|draft| draft != path);
}

/// What is said to be kept if a signal ends the command now.
pub fn keeps(sentence: String) {
    *locked(&KEPT) = Some(sentence);
}

/// A thread that panicked takes the process with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
