//! Files that a scenario names.

use std::path::{Path, PathBuf};

/// Resolves what a scenario names relative to the scenario's folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files<'a> {
    pub(super) folder: &'a Path,
}

impl Files<'_> {
    /// The path of a file that the scenario names.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A word of a command: the file beside the scenario of that name if there is one, else the word itself.
    pub(super) fn beside(&self, word: &str) -> String {
        // A bare name would be searched on PATH.
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { self.folder };
        let path = folder.join(word);
        if path.is_file() { path.to_string_lossy().into_owned() } else { word.into() }
    }
}
