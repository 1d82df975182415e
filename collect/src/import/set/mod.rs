//! Sets of files that are one run together, mostly a file a rank: in a directory, as arguments, or
//! in a tar; in any order, each gzip'ed or not.
//!
//! [`FileSet`] finds the files and keeps those of one format, which it recognises by their content.
//! A format then reads the ranks from names or content, and [`complete()`] refuses a set with a
//! rank missing or twice. Files of other content (a licence, a log) are passed over.

mod complete;
mod member;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

pub(super) use self::complete::{complete, number_in};
pub(super) use self::member::Member;
use super::input::PREFIX;
use super::tar_files::{Endless, tar_files};
use super::{Format, Scratch, member_format};
use crate::{At, Error, Result};

/// Deepest folder below the directory that is named; formats have at most two.
const DEEPEST: usize = 4;

/// Most files of a set: those of the largest run, and some more.
const MOST_FILES: usize = crate::trace::MOST_RANKS as usize + 1024;

/// The files of one run, in the order of their names.
pub(super) struct FileSet {
    members: Vec<Member>,
    /// The one file that was named to stand for all.
    named: Option<String>,
}

impl FileSet {
    /// The files of a directory and the folders in it, without hidden ones.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn of_directory(path: &Path) -> Result<Self> {
        Self::within(path, &|_| true)
    }

    /// The files of a directory and of those folders in it whose names are taken.
    fn within(path: &Path, takes: &dyn Fn(&str) -> bool) -> Result<Self> {
        let mut members = Vec::new();
        let mut folders = vec![(path.to_path_buf(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = folders.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with('.') {
                    continue;
                }
                let name = format!("{prefix}{name}");
                // Links to files are followed, links to directories may lead around in a circle.
                if entry.file_type()?.is_dir() {
                    if depth < DEEPEST && takes(&name) {
                        folders.push((entry.path(), format!("{name}/"), depth + 1));
                    }
                } else if std::fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_file()) {
                    let place = name.clone();
                    members.push(Member::of_file(name, &entry.path()).at(|| place)?);
                }
                check_number(members.len())?;
            }
        }
        Ok(Self::sorted(members))
    }

    /// Files that are named one by one; pipes among them are stored in a temporary file.
    ///
    /// One that stands for a run (an index of it) brings in its folder, and folders named after it.
    ///
    /// # Errors
    /// An error of the operating system; a directory.
    pub(super) fn of_files(paths: &[PathBuf], scratch: Scratch) -> Result<Self> {
        if let [path] = paths {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            // Folders of the run are named after the file; others are somebody else's.
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut set = Self::within(folder.unwrap_or(Path::new(".")), &|name| name.starts_with(&stem))?;
            set.named = path.file_name().map(|name| name.to_string_lossy().into_owned());
            return Ok(set);
        }
        let (mut members, mut spool) = (Vec::new(), Spool::new(scratch));
        for path in paths {
            let name = path.display().to_string();
            let metadata = std::fs::metadata(path).at(|| &name)?;
            if metadata.is_dir() {
                return Err(Error::usage("is a directory, expected the files of one run").at(name));
            }
            let place = name.clone();
            if metadata.is_file() {
                members.push(Member::of_file(name, path).at(|| place)?);
            } else {
                spool.add(name, &mut File::open(path).at(|| &place)?).at(|| place)?;
            }
        }
        members.extend(spool.finish()?);
        Ok(Self::sorted(members))
    }

    /// The files in a tar that is a regular file and not gzip'ed: they are read where they are.
    ///
    /// # Errors
    /// An error of the operating system, or a damaged tar.
    pub(super) fn of_tar_file(file: &File) -> Result<Self> {
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        let shared = Arc::new(file.try_clone()?);
        let mut members = Vec::new();
        let mut archive = tar::Archive::new(Endless(BufReader::new(file)));
        tar_files(archive.entries()?, &mut |name, entry| {
            if !is_hidden(name) {
                members.push(Member::within(name.into(), &shared, entry.raw_file_position(), entry.size())?);
            }
            check_number(members.len())
        })?;
        Ok(Self::sorted(members))
    }

    /// The files in a tar that comes from a stream: they are stored in a temporary file.
    ///
    /// # Errors
    /// An error of the operating system, or a damaged tar.
    pub(super) fn of_tar_stream(input: impl Read, scratch: Scratch) -> Result<Self> {
        let mut spool = Spool::new(scratch);
        let mut archive = tar::Archive::new(Endless(input));
        tar_files(archive.entries()?, &mut |name, entry| {
            if is_hidden(name) { Ok(()) } else { spool.add(name.into(), entry).at(|| name) }
        })?;
        // What follows the end of the tar still has gzip's checksum in it.
        io::copy(&mut archive.into_inner().0, &mut io::sink())?;
        Ok(Self::sorted(spool.finish()?))
    }

    /// One file that comes from a stream: it is stored in a temporary file.
    ///
    /// # Errors
    /// An error of the operating system.
    pub(super) fn of_stream(mut input: impl Read, scratch: Scratch) -> Result<Self> {
        let mut spool = Spool::new(scratch);
        spool.add("the stream".into(), &mut input)?;
        Ok(Self::sorted(spool.finish()?))
    }

    fn sorted(mut members: Vec<Member>) -> Self {
        // The order of a directory is undefined; sorting determines which of two bad files is
        // named.
        members.sort_by(|a, b| a.name().cmp(b.name()));
        Self { members, named: None }
    }

    /// The format of a set; `None` if it has no file of a format of sets.
    ///
    /// # Errors
    /// Files of two formats; an error of the operating system.
    pub(super) fn format(&self) -> Result<Option<Format>> {
        let mut found: Option<(Format, &Member)> = None;
        for member in self.members.iter().filter(|member| self.is_named(member)) {
            let Some(format) = self.format_of(member)? else { continue };
            match found {
                Some((first, before)) if first != format => {
                    let problem = format!(
                        "has files of two formats: {} is {}, {} is {}; expected one run",
                        before.name(),
                        first.name(),
                        member.name(),
                        format.name()
                    );
                    return Err(Error::data(problem).advise("--from takes the files of one format"));
                }
                _ => found = found.or(Some((format, member))),
            }
        }
        Ok(found.map(|(format, _)| format))
    }

    /// The named one or all are looked at.
    fn is_named(&self, member: &Member) -> bool {
        self.named.as_ref().is_none_or(|named| member.name() == named)
    }

    fn format_of(&self, member: &Member) -> Result<Option<Format>> {
        // A gzip'ed file that is damaged is of no format, unless it is the one that is named.
        match member.prefix() {
            Ok(prefix) => Ok(member_format(member.file_name(), &prefix)),
            Err(error) if self.named.is_some() => Err(error.at(member.name())),
            Err(_) if member.is_gzip() => Ok(None),
            Err(error) => Err(error.at(member.name())),
        }
    }

    /// Keeps the files of one format.
    ///
    /// # Errors
    /// None is of it; an error of the operating system.
    pub(super) fn only(mut self, format: Format) -> Result<Self> {
        let mut kept = Vec::new();
        for member in std::mem::take(&mut self.members) {
            if self.format_of(&member)? == Some(format) {
                kept.push(member);
            }
        }
        if kept.is_empty() {
            return Err(Error::data(format!("holds no file of format {}", format.name())));
        }
        self.members = kept;
        Ok(self)
    }

    /// All files in the order of their names.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The one file that was named for the run, if only one was.
    #[allow(dead_code, reason = "formats with an index use it")]
    pub(super) fn named(&self) -> Option<&Member> {
        self.named.as_ref().and_then(|named| self.members.iter().find(|member| member.name() == named))
    }

    /// Inflates gzip'ed files into a temporary file, so that all can be read from any position.
    ///
    /// # Errors
    /// An error of the operating system, or damage of gzip.
    pub(super) fn inflated(self, scratch: Scratch) -> Result<Self> {
        let Self { members, named } = self;
        let (packed, mut plain): (Vec<Member>, Vec<Member>) = members.into_iter().partition(Member::is_gzip);
        let mut spool = Spool::new(scratch);
        for member in packed {
            let mut reader = member.reader(COPY);
            spool.add(member.name().into(), &mut reader).at(|| member.name())?;
        }
        plain.extend(spool.finish()?);
        Ok(Self { named, ..Self::sorted(plain) })
    }
}

/// The format of a file by its name and first bytes, which may be gzip'ed.
pub(super) fn content_format(name: &str, prefix: &[u8]) -> Option<Format> {
    let name = name.rsplit('/').next().unwrap_or(name);
    if !prefix.starts_with(&[0x1f, 0x8b]) {
        return member_format(name, prefix);
    }
    let mut inflated = Vec::new();
    // The stream is cut, which is no damage.
    let _ = MultiGzDecoder::new(prefix).take(PREFIX as u64).read_to_end(&mut inflated);
    member_format(name.strip_suffix(".gz").unwrap_or(name), &inflated)
}

/// Bytes that are copied at once.
const COPY: usize = 64 << 10;

/// Files one after the other in one temporary file.
struct Spool {
    scratch: Scratch,
    file: Option<BufWriter<File>>,
    length: u64,
    /// Name, start and length of each.
    files: Vec<(String, u64, u64)>,
}

impl Spool {
    fn new(scratch: Scratch) -> Self {
        Self { scratch, file: None, length: 0, files: Vec::new() }
    }

    fn add(&mut self, name: String, content: &mut impl Read) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(BufWriter::with_capacity(COPY, (self.scratch)()?)),
        };
        let length = io::copy(content, file)?;
        self.files.push((name, self.length, length));
        self.length += length;
        check_number(self.files.len())
    }

    fn finish(self) -> Result<Vec<Member>> {
        let Some(mut file) = self.file else { return Ok(Vec::new()) };
        file.flush()?;
        let file = Arc::new(file.into_inner().map_err(io::IntoInnerError::into_error)?);
        let member = |(name, start, length)| Member::within(name, &file, start, length);
        self.files.into_iter().map(member).collect()
    }
}

fn check_number(files: usize) -> Result<()> {
    if files <= MOST_FILES {
        return Ok(());
    }
    Err(Error::data(format!("has more than {MOST_FILES} files, the most of a run")))
}

/// Hidden files are an operating system's.
fn is_hidden(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// The magic of a rank's file of DUMPI, and a letter.
    fn file(letter: char) -> Vec<u8> {
        [b"\xff\xaa\xddDUMPI".to_vec(), vec![letter as u8; 9000]].concat()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn tar_of(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &bytes[..]).unwrap();
        }
        tar.into_inner().unwrap()
    }

    /// Names, first letters and sizes of what a set has.
    fn content(set: FileSet) -> Vec<(String, char, usize)> {
        assert_eq!(set.format().unwrap(), Some(Format::Dumpi));
        let set = set.only(Format::Dumpi).unwrap().inflated(tempfile::tempfile).unwrap();
        let read = |member: &Member| {
            let mut bytes = Vec::new();
            member.reader(100).read_to_end(&mut bytes).unwrap();
            let mut two = [0; 2];
            assert_eq!(member.read_at(&mut two, member.length() - 1).unwrap(), 1);
            assert_eq!(two[0], bytes[bytes.len() - 1]);
            (member.file_name().to_string(), char::from(bytes[8]), bytes.len())
        };
        set.members().iter().map(read).collect()
    }

    #[test]
    fn a_set_is_the_same_wherever_it_is() {
        let files = [
            ("x/run-1.bin.gz", packed(&file('b'))),
            ("x/README", b"hello".to_vec()),
            ("x/run-0.bin", file('a')),
        ];
        let expected = [("run-0.bin".to_string(), 'a', 9008), ("run-1.bin".to_string(), 'b', 9008)];
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("x")).unwrap();
        for (name, bytes) in &files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        std::fs::write(folder.path().join("run.tar"), tar_of(&files)).unwrap();
        let stream = Cursor::new(tar_of(&files));
        let tar = File::open(folder.path().join("run.tar")).unwrap();
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.path().join(name)).collect();
        for set in [
            FileSet::of_directory(folder.path()),
            FileSet::of_directory(&folder.path().join("x")),
            FileSet::of_files(&paths, tempfile::tempfile),
            FileSet::of_tar_file(&tar),
            FileSet::of_tar_stream(stream, tempfile::tempfile),
        ] {
            assert_eq!(content(set.unwrap()), expected);
        }
    }

    #[test]
    fn numbers_of_ranks_are_read_from_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, expected) in [
            ("run-2017-0012.bin", Some((12, "run-2017-"))),
            ("0.txt", Some((0, ""))),
            ("é7é.bin", Some((7, "é"))),
            ("trace.3", Some((3, "trace."))),
            ("trace.txt", None),
            ("99999999999.bin", None),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            let member = Member::of_file(name.into(), &path).unwrap();
            assert_eq!(number_in(&member), expected, "{name}");
        }
    }
}
