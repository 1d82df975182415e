//! A command's output that is a directory of files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use phaseflow_collect::{At, Error, Result};
use tempfile::TempDir;

use crate::drafts;

/// A directory whose files appear when all of them are complete.
///
/// They are written to a draft on the same file system and moved at the end. An existing directory
/// keeps its files, except those of the same name, which are replaced, and old files in
/// subdirectories of ours (see [`finish`](Self::finish)).
#[derive(Debug)]
pub struct OutputDirectory {
    path: PathBuf,
    draft: TempDir,
}

impl OutputDirectory {
    /// Opens a place to write the future content of `path` to. It is removed again if it is never
    /// [finished](Self::finish).
    ///
    /// # Errors
    /// A file of that name, or a parent that cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        if path.exists() && !path.is_dir() {
            return Err(Error::data("is a file, expected a directory to write").at(path.display()));
        }
        // The draft is inside an existing directory, whose parent may be read-only, or another file
        // system.
        let parent = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        fs::create_dir_all(parent).at(|| parent.display())?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".phaseflow-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Permissions of a created directory, by the user's umask.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let draft = builder.tempdir_in(parent).at(|| path.display())?;
        drafts::add(draft.path());
        Ok(Self { path: path.into(), draft })
    }

    /// The folder of the files.
    pub fn draft(&self) -> &Path {
        self.draft.path()
    }

    /// Moves all files to their places. In an existing subdirectory, files with the extension
    /// `stale` that are not part of this output are removed, as they belong to an earlier one.
    ///
    /// # Errors
    /// An error of the operating system; the files moved before it stay.
    pub fn finish(self, stale: &str) -> Result<()> {
        self.place(stale).at(|| self.path.display())
    }

    fn place(&self, stale: &str) -> io::Result<()> {
        if !self.path.exists() {
            fs::rename(self.draft.path(), &self.path)?;
            // Only the empty directory is left, which the handle removes.
            return fs::create_dir(self.draft.path());
        }
        for entry in fs::read_dir(self.draft.path())? {
            let entry = entry?;
            let place = self.path.join(entry.file_name());
            if entry.file_type()?.is_dir() && place.is_dir() {
                move_files(&entry.path(), &place, stale)?;
            } else {
                fs::rename(entry.path(), place)?;
            }
        }
        Ok(())
    }
}

impl Drop for OutputDirectory {
    fn drop(&mut self) {
        drafts::forget(self.draft.path());
    }
}

fn move_files(from: &Path, to: &Path, stale: &str) -> io::Result<()> {
    for old in fs::read_dir(to)? {
        let old = old?.path();
        let replaced = old.file_name().is_some_and(|name| from.join(name).exists());
        if old.extension().is_some_and(|extension| extension == stale) && !replaced {
            fs::remove_file(old)?;
        }
    }
    for new in fs::read_dir(from)? {
        let new = new?;
        fs::rename(new.path(), to.join(new.file_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(path: &Path, graph: &str) -> OutputDirectory {
        let output = OutputDirectory::create(path).unwrap();
        fs::write(output.draft().join("a.csv"), graph).unwrap();
        fs::create_dir(output.draft().join("graphs")).unwrap();
        fs::write(output.draft().join("graphs").join(graph), "").unwrap();
        output
    }

    #[test]
    fn unfinished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(output(&folder.path().join("new"), "g"));
        drop(output(folder.path(), "g"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_output_replaces_its_own_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/new");
        output(&path, "1.graphml").finish("graphml").unwrap();
        assert_eq!(fs::read_dir(folder.path().join("deep")).unwrap().count(), 1, "the draft is gone");
        fs::write(path.join("mine.txt"), "").unwrap();
        fs::write(path.join("graphs/mine.txt"), "").unwrap();
        output(&path, "2.graphml").finish("graphml").unwrap();
        assert_eq!(fs::read_to_string(path.join("a.csv")).unwrap(), "2.graphml");
        let mut names: Vec<_> =
            fs::read_dir(path.join("graphs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["2.graphml", "mine.txt"]);
        assert!(path.join("mine.txt").exists());
        assert_eq!(fs::read_dir(&path).unwrap().count(), 3, "the draft is gone");
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "").unwrap();
        let error = OutputDirectory::create(&path).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{}: is a file, expected a directory to write", path.display())
        );
    }
}
