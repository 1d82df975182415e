//! Drafts: unfinished output files, which are removed when a signal ends the command.
//!
//! The writer of a draft removes it when a command fails. A signal (SIGINT, SIGTERM, SIGHUP) ends
//! the process without that. So the drafts of a process are listed here, and a thread that waits
//! for a signal removes them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use phaseflow_profiler::signals;

static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The part of the output that is kept, as a sentence.
static KEPT: Mutex<Option<String>> = Mutex::new(None);

/// From now on a signal removes drafts, prints as `command` the part that is kept, and then ends
/// the process.
///
/// # Errors
/// No thread or pipe is to be had.
pub fn watch(command: String) -> io::Result<()> {
    signals::before_the_end(move || {
        // The lock is held until the end, so that no draft begins meanwhile.
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

/// Adds a file or directory that a signal removes.
pub fn add(path: &Path) {
    locked(&DRAFTS).push(path.into());
}

/// Removes a file from the list: it has its final name, or is deleted.
pub fn forget(path: &Path) {
    locked(&DRAFTS).retain(|draft| draft != path);
}

/// Sets the text on the part that is kept after a signal.
pub fn keeps(sentence: String) {
    *locked(&KEPT) = Some(sentence);
}

/// A panic of a thread ends the process.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
