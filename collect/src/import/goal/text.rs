//! Schedules in text.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use rustc_hash::FxHashMap;

use super::{ANY, check_count, complete, peer};
use crate::import::ordered::{GraphBuilder, GraphOperation};
use crate::{At, Error, Result};

/// Longest line, bytes: an operation has about 60.
const LONGEST_LINE: u64 = 64 << 10;

/// A schedule that is being read.
#[derive(Default)]
struct Schedule {
    count: Option<u32>,
    ranks: BTreeMap<u32, GraphBuilder>,
    open: Option<Open>,
    is_in_comment: bool,
}

/// The rank whose operations are being read.
struct Open {
    rank: u32,
    builder: GraphBuilder,
    labels: FxHashMap<Box<str>, u32>,
    /// Dependencies on labels that come later: line, after, before, whether on its beginning.
    later: Vec<(u64, Box<str>, Box<str>, bool)>,
}

/// The words of a line.
struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
}

/// Reads the operations of all ranks.
///
/// # Errors
/// A statement that is none, with its line; ranks that are missing; an error of the operating
/// system.
pub(super) fn read(input: &mut dyn BufRead) -> Result<Vec<GraphBuilder>> {
    let mut schedule = Schedule::default();
    let (mut bytes, mut number, mut offset) = (Vec::new(), 0u64, 0u64);
    loop {
        bytes.clear();
        let read = input.take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            break;
        }
        number += 1;
        let place = || format!("line {number}");
        if read as u64 == LONGEST_LINE && bytes.last() != Some(&b'\n') {
            return Err(Error::data(format!("has more than {LONGEST_LINE} bytes")).at(place()));
        }
        let line = std::str::from_utf8(&bytes).map_err(|_| Error::data("is not UTF-8 text")).at(place)?;
        schedule.line(line, number).at(place)?;
        offset += read as u64;
    }
    if let Some(open) = &schedule.open {
        let problem = format!("ends at byte {offset} within the operations of rank {}", open.rank);
        return Err(Error::truncated(problem).at(format!("line {number}")));
    }
    let Some(count) = schedule.count else {
        return Err(Error::data("has no `num_ranks`, which a schedule begins with"));
    };
    complete(schedule.ranks, count)
}

impl Schedule {
    fn line(&mut self, line: &str, number: u64) -> Result<()> {
        let line = self.without_comments(line);
        let mut words = Words::new(&line);
        while let Some(word) = words.next() {
            match (word, &mut self.open) {
                ("num_ranks", None) => self.count = Some(check_count(words.number()?.unsigned_abs())?),
                ("rank", None) => self.rank(&mut words)?,
                ("}", open @ Some(_)) => {
                    if let Some(open) = open.take() {
                        let (rank, builder) = open.close()?;
                        self.ranks.insert(rank, builder);
                    }
                }
                (word, Some(open)) => {
                    let count = self.count.unwrap_or_default();
                    open.statement(word, &mut words, number, count)?;
                }
                (word, None) => {
                    return Err(Error::data(format!(
                        "found `{}`, expected `num_ranks N` or `rank R {{`",
                        short(word)
                    )));
                }
            }
        }
        Ok(())
    }

    fn rank(&mut self, words: &mut Words<'_>) -> Result<()> {
        let Some(count) = self.count else { return Err(Error::data("`rank` stands before `num_ranks`")) };
        let number = words.number()?;
        let rank = u32::try_from(number).ok().filter(|rank| *rank < count);
        let rank =
            rank.ok_or_else(|| Error::data(format!("is of rank {number}, expected less than {count}")))?;
        if self.ranks.contains_key(&rank) {
            return Err(Error::data(format!("holds rank {rank} again")));
        }
        words.expect("{")?;
        self.open = Some(Open {
            rank,
            builder: GraphBuilder::default(),
            labels: FxHashMap::default(),
            later: Vec::new(),
        });
        Ok(())
    }

    /// The line without `// …` and `/* … */`, which may go on over lines.
    fn without_comments<'a>(&mut self, line: &'a str) -> std::borrow::Cow<'a, str> {
        if !self.is_in_comment && !line.contains('/') {
            return line.into();
        }
        let (mut kept, mut rest) = (String::new(), line);
        loop {
            if self.is_in_comment {
                let Some((_, after)) = rest.split_once("*/") else { return kept.into() };
                (self.is_in_comment, rest) = (false, after);
                kept.push(' ');
            }
            let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() else {
                kept.push_str(rest);
                return kept.into();
            };
            kept.push_str(&rest[..at]);
            if rest[at..].starts_with("//") {
                return kept.into();
            }
            (self.is_in_comment, rest) = (true, &rest[at + 2..]);
        }
    }
}

impl Open {
    /// An operation, or what it waits for.
    fn statement(&mut self, first: &str, words: &mut Words<'_>, line: u64, count: u32) -> Result<()> {
        let (mut verb, mut label) = (first, None);
        if !matches!(first, "send" | "recv" | "calc") {
            match words.next() {
                Some(":") => {
                    label = Some(first);
                    verb = words.next().unwrap_or_default();
                }
                Some(word @ ("requires" | "irequires")) => {
                    let Some(before) = words.next() else {
                        return Err(Error::data(format!("`{word}` without the label of an operation")));
                    };
                    return self.require(first, before, word == "irequires", line);
                }
                _ => {
                    return Err(Error::data(format!(
                        "found `{}`, expected send, recv, calc, a label, or }}",
                        short(first)
                    )));
                }
            }
        }
        let operation = operation(verb, words, count)?;
        let number = self.builder.add(operation)?;
        if let Some(label) = label
            && self.labels.insert(label.into(), number).is_some()
        {
            return Err(Error::data(format!("has the label {} again", short(label))));
        }
        Ok(())
    }

    fn require(&mut self, after: &str, before: &str, is_begun: bool, line: u64) -> Result<()> {
        match (self.labels.get(after), self.labels.get(before)) {
            (Some(after), Some(before)) => self.add(*after, *before, is_begun),
            _ => self.later.push((line, after.into(), before.into(), is_begun)),
        }
        Ok(())
    }

    fn add(&mut self, after: u32, before: u32, is_begun: bool) {
        if is_begun {
            self.builder.require_begun(before, after);
        } else {
            self.builder.require(before, after);
        }
    }

    fn close(mut self) -> Result<(u32, GraphBuilder)> {
        for (line, after, before, is_begun) in std::mem::take(&mut self.later) {
            let find = |label: &str| {
                self.labels.get(label).copied().ok_or_else(|| {
                    Error::data(format!("the label {} of line {line} is of no operation", short(label)))
                })
            };
            let (after, before) = (find(&after)?, find(&before)?);
            self.add(after, before, is_begun);
        }
        Ok((self.rank, self.builder))
    }
}

/// `send 8b to 1 tag 2 cpu 0 nic 0`, `recv 8b from 1 tag 2`, `calc 10`.
fn operation(verb: &str, words: &mut Words<'_>, count: u32) -> Result<GraphOperation> {
    let is_send = match verb {
        "send" => true,
        "recv" => false,
        "calc" => {
            words.number()?;
            words.options()?;
            return Ok(GraphOperation::Nothing);
        }
        _ => return Err(Error::data(format!("found `{}`, expected send, recv or calc", short(verb)))),
    };
    let bytes = words.size()?;
    words.expect(if is_send { "to" } else { "from" })?;
    let peer = peer(words.number()?, count)?;
    let tag = words.options()?;
    let tag_number = || u32::try_from(tag).map(u32::cast_signed);
    if !is_send {
        let tag = if tag == ANY { None } else { Some(tag_number().map_err(|_| far_tag(tag))?) };
        return Ok(GraphOperation::Receive { src: peer, tag });
    }
    let dst = peer.ok_or_else(|| Error::data("sends to any rank, expected one"))?;
    Ok(GraphOperation::Send { dst, tag: tag_number().map_err(|_| far_tag(tag))?, bytes })
}

fn far_tag(tag: i64) -> Error {
    Error::data(format!("has the tag {tag}, expected 0 to {}", u32::MAX))
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        let mut words = Vec::new();
        for word in line.split_ascii_whitespace() {
            let mut rest = word;
            while let Some(at) = rest.find([':', '{', '}']) {
                words.extend((at > 0).then(|| &rest[..at]));
                words.push(&rest[at..=at]);
                rest = &rest[at + 1..];
            }
            words.extend((!rest.is_empty()).then_some(rest));
        }
        Self { words, at: 0 }
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    fn expect(&mut self, expected: &str) -> Result<()> {
        match self.next() {
            Some(found) if found == expected => Ok(()),
            found => Err(Error::data(format!(
                "found `{}`, expected `{expected}`",
                short(found.unwrap_or_default())
            ))),
        }
    }

    fn number(&mut self) -> Result<i64> {
        let word = self.next().unwrap_or_default();
        let number = word.parse().ok();
        number.ok_or_else(|| Error::data(format!("found `{}`, expected a whole number", short(word))))
    }

    /// `8b`.
    fn size(&mut self) -> Result<u64> {
        let word = self.next().unwrap_or_default();
        let digits = match word.strip_suffix('b') {
            Some(digits) => digits,
            None => {
                self.expect("b")?;
                word
            }
        };
        let size = digits.parse::<u64>().ok().filter(|size| i64::try_from(*size).is_ok());
        size.ok_or_else(|| Error::data(format!("found `{}`, expected a size such as 8b", short(word))))
    }

    /// Options of an operation; returns the tag.
    fn options(&mut self) -> Result<i64> {
        let mut tag = 0;
        while let Some(word @ ("tag" | "cpu" | "nic")) = self.words.get(self.at).copied() {
            self.at += 1;
            let number = self.number()?;
            if word == "tag" {
                tag = number;
            }
        }
        Ok(tag)
    }
}

fn short(word: &str) -> String {
    word.chars().take(40).collect()
}
