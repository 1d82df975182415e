//! The lines of each rank, from a file for each or from one for all.

use std::collections::VecDeque;
use std::io::{BufRead, Read};

use super::action::rank_of;
use crate::import::set::Member;
use crate::{At, Error, Result};

/// Bytes that are read at once of a rank's file.
const BUFFER: usize = 16 << 10;

/// Longest line, bytes: an alltoallv of 16 384 ranks has two numbers for each.
const LONGEST_LINE: u64 = 1 << 20;

/// Lines of a file, with their numbers.
struct File {
    name: String,
    reader: Box<dyn BufRead + Send>,
    number: u64,
    offset: u64,
    line: String,
}

impl File {
    fn new(member: &Member) -> Self {
        let reader = member.reader(BUFFER);
        Self { name: member.name().into(), reader, number: 0, offset: 0, line: String::new() }
    }

    /// Reads the next line into `self.line`; false at the end. A last line without line end counts.
    fn read(&mut self) -> Result<bool> {
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        let read = read.at(|| self.place())?;
        self.number += 1;
        self.offset += read as u64;
        if read as u64 == LONGEST_LINE && bytes.last() != Some(&b'\n') {
            let problem = format!("has more than {LONGEST_LINE} bytes, the most of a line");
            return Err(Error::data(problem).at(self.place()));
        }
        self.line =
            String::from_utf8(bytes).map_err(|_| Error::data("is not UTF-8 text").at(self.place()))?;
        Ok(read > 0)
    }

    fn place(&self) -> String {
        format!("{}: line {}", self.name, self.number)
    }
}

/// Where the lines of ranks are.
enum Storage {
    /// A file for each rank.
    Each(Vec<File>),
    /// One for all; lines that were read for other ranks wait.
    All(File, Vec<VecDeque<(u64, String)>>),
}

/// The lines of all ranks, each rank's from front to back.
pub(super) struct Lines {
    storage: Storage,
    /// Number of the last line of each rank.
    numbers: Vec<u64>,
}

impl Lines {
    /// A file for each rank, in the order of ranks.
    pub(super) fn of_each(members: &[&Member]) -> Self {
        let files: Vec<File> = members.iter().map(|member| File::new(member)).collect();
        Self { numbers: vec![0; files.len()], storage: Storage::Each(files) }
    }

    /// One file for all ranks, whose number is found by reading it once.
    ///
    /// # Errors
    /// A line without rank, or an error of the operating system.
    pub(super) fn of_all(member: &Member) -> Result<Self> {
        let mut file = File::new(member);
        let mut ranks = 0;
        while file.read()? {
            let rank = rank_of(&file.line).at(|| file.place())?.map(|(rank, _)| rank);
            ranks = ranks.max(rank.map_or(0, |rank| rank + 1));
        }
        // Memory follows the file: ranks that have no line are none.
        if u64::from(ranks) > file.offset {
            return Err(
                Error::data(format!("has a line of rank {}, but few lines", ranks - 1)).at(&file.name)
            );
        }
        let waiting = (0..ranks).map(|_| VecDeque::new()).collect();
        Ok(Self { storage: Storage::All(File::new(member), waiting), numbers: vec![0; ranks as usize] })
    }

    pub(super) fn ranks(&self) -> u32 {
        self.numbers.len() as u32
    }

    /// The next line of a rank that says something.
    ///
    /// # Errors
    /// A line that is no text or of another rank than the file; an error of the operating system.
    pub(super) fn next(&mut self, rank: u32) -> Result<Option<String>> {
        let at = rank as usize;
        match &mut self.storage {
            Storage::Each(files) => {
                let file = &mut files[at];
                while file.read()? {
                    match rank_of(&file.line).at(|| file.place())? {
                        None => {}
                        Some((found, _)) if found == rank => {
                            self.numbers[at] = file.number;
                            return Ok(Some(std::mem::take(&mut file.line)));
                        }
                        Some((found, _)) => {
                            let problem = format!("is of rank {found}, expected {rank} as before");
                            return Err(Error::data(problem).at(file.place()));
                        }
                    }
                }
                Ok(None)
            }
            Storage::All(file, waiting) => loop {
                if let Some((number, line)) = waiting[at].pop_front() {
                    self.numbers[at] = number;
                    return Ok(Some(line));
                }
                if !file.read()? {
                    return Ok(None);
                }
                let Some((found, _)) = rank_of(&file.line).at(|| file.place())? else { continue };
                let line = file.line.clone();
                match waiting.get_mut(found as usize) {
                    Some(queue) => queue.push_back((file.number, line)),
                    None => return Err(Error::data("has changed while it was read").at(file.place())),
                }
            },
        }
    }

    /// The place of a rank's last line.
    pub(super) fn place(&self, rank: u32) -> String {
        let number = self.numbers.get(rank as usize).copied().unwrap_or_default();
        let name = match &self.storage {
            Storage::Each(files) => &files[rank as usize].name,
            Storage::All(file, _) => &file.name,
        };
        format!("{name}: rank {rank}: line {number}")
    }
}
