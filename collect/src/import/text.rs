//! Line-oriented formats: one message per line, in any order, with line numbers in errors.
//!
//! Lines without times are messages in their order: positions stand where times would, as in other
//! formats without times. A text has times on all lines or on none.

use std::fs::File;

use memchr::memchr;

use super::field::UNKNOWN_TIME;
use super::{Imported, Peeked};
use crate::archive::columns::LARGEST_BLOCK;
use crate::order::{Posted, Scratch, Sorter};
use crate::trace::{Block, Header, Kind, MessageBlock, RunFacts, Sink};
use crate::{At, Error, Result};

/// Longest line, bytes: a message needs less than 1 % of it. It bounds the memory for a file
/// without line ends.
const LONGEST_LINE: usize = 64 << 10;

/// A format with one message a line.
pub(super) trait Lines: Default {
    /// The `source` of its traces.
    const SOURCE: &'static str;

    /// Fast parser: the first message of `text`, and its length with the line end. `None` leaves
    /// the line to [`line`](Self::line). A message without a time has [`UNKNOWN_TIME`].
    fn plain(&self, text: &[u8]) -> Option<(Posted, usize)>;

    /// Complete parser: the message of a line without its line end; `None` for lines without a
    /// message.
    ///
    /// # Errors
    /// The error of the line.
    fn line(&mut self, line: &[u8]) -> Result<Option<Posted>>;

    /// Called after the last line.
    fn end(&self) -> Result<()> {
        Ok(())
    }
}

/// Reads a text into `sink`; `again` is the file it comes from, if it can be read a second time.
pub(super) fn import<L: Lines>(
    input: Peeked,
    again: Option<&File>,
    scratch: Scratch,
    sink: &mut dyn Sink,
) -> Result<Imported> {
    let unsorted = match again {
        None => input,
        Some(file) => {
            let kind = in_order::<L>(input)?;
            let input = Peeked::rewound(file)?;
            if let Some(kind) = kind {
                let mut out = Out::begin(kind, L::SOURCE, sink)?;
                each_message::<L>(input, |message| out.message(message).map(|()| true))?;
                return out.finish();
            }
            input
        }
    };
    let mut sorter = Sorter::new(scratch);
    let kind = each_message::<L>(unsorted, |message| sorter.push(message).map(|()| true))?;
    let mut out = Out::begin(kind, L::SOURCE, sink)?;
    sorter.drain(|message| out.message(message))?;
    out.finish()
}

/// Passes messages on in blocks.
struct Out<'a> {
    kind: Kind,
    block: MessageBlock,
    sink: &'a mut dyn Sink,
}

impl<'a> Out<'a> {
    fn begin(kind: Kind, source: &str, sink: &'a mut dyn Sink) -> Result<Self> {
        sink.begin(&Header::new(kind, source))?;
        Ok(Self { kind, block: MessageBlock::default(), sink })
    }

    #[inline]
    fn message(&mut self, message: Posted) -> Result<()> {
        self.block.push(&message.message());
        if self.block.len() == LARGEST_BLOCK {
            self.sink.block(Block::Messages(&self.block))?;
            self.block.clear();
        }
        Ok(())
    }

    fn finish(self) -> Result<Imported> {
        if !self.block.is_empty() {
            self.sink.block(Block::Messages(&self.block))?;
        }
        let is_ordered = self.kind == Kind::Ordered;
        let facts = RunFacts { is_ordered, ..RunFacts::default() };
        let mut imported = Imported::from(self.sink.finish(&facts)?);
        if is_ordered {
            let remark = "the messages have no times (t_ns); they are taken in the order of their lines";
            imported.remarks.push(remark.into());
        }
        Ok(imported)
    }
}

/// The kind of a trace whose messages are in order already; stops at the first one that is not.
fn in_order<L: Lines>(input: Peeked) -> Result<Option<Kind>> {
    let mut last = (i64::MIN, 0);
    let mut ordered = true;
    let kind = each_message::<L>(input, |message| {
        ordered = message.key() >= last;
        last = message.key();
        Ok(ordered)
    })?;
    Ok(ordered.then_some(kind))
}

/// Whether the lines have times, and where the next one stands if they have none.
#[derive(Default)]
struct Times {
    kind: Option<Kind>,
    next: i64,
}

impl Times {
    /// Sets the position of a message without a time.
    ///
    /// # Errors
    /// Some lines have times and some have none.
    #[inline]
    fn place(&mut self, message: &mut Posted) -> Result<()> {
        let is_timed = message.t_ns != UNKNOWN_TIME;
        let kind = if is_timed { Kind::Timed } else { Kind::Ordered };
        if *self.kind.get_or_insert(kind) != kind {
            let (found, before) = if is_timed { ("a", "none") } else { ("no", "one") };
            let problem = format!("has {found} time, and the lines before it have {before}");
            return Err(Error::data(problem).advise("t_ns is known on all lines or on none"));
        }
        if !is_timed {
            message.t_ns = self.next;
            self.next += 1;
        }
        Ok(())
    }
}

/// Calls `each` for every message until it returns false; returns the kind of the trace. A last
/// line without line end counts.
fn each_message<L: Lines>(input: Peeked, mut each: impl FnMut(Posted) -> Result<bool>) -> Result<Kind> {
    let mut times = Times::default();
    read_lines::<L>(input, |mut message| {
        times.place(&mut message)?;
        each(message)
    })?;
    Ok(times.kind.unwrap_or(Kind::Timed))
}

/// Calls `each` for every message until it returns false.
fn read_lines<L: Lines>(input: Peeked, mut each: impl FnMut(Posted) -> Result<bool>) -> Result<()> {
    let mut format = L::default();
    let mut input = input.into_reader();
    let mut number = 1u64;
    // A line whose end is not in the buffer yet.
    let mut begun = Vec::new();
    loop {
        let chunk = input.fill_buf()?;
        let (length, last) = (chunk.len(), chunk.is_empty());
        let mut rest = chunk;
        if !begun.is_empty() {
            let end = memchr(b'\n', rest).map_or(length, |end| end + 1);
            begun.extend_from_slice(&rest[..end]);
            rest = &rest[end..];
            if begun.ends_with(b"\n") || last {
                let line = std::mem::take(&mut begun);
                if !one_line(&mut format, &line, &mut each).at(|| format!("line {number}"))? {
                    return Ok(());
                }
                number += 1;
            }
        }
        loop {
            while let Some((message, length)) = format.plain(rest) {
                if !each(message).at(|| format!("line {number}"))? {
                    return Ok(());
                }
                number += 1;
                rest = &rest[length..];
            }
            let Some(end) = memchr(b'\n', rest) else { break };
            if !one_line(&mut format, &rest[..end], &mut each).at(|| format!("line {number}"))? {
                return Ok(());
            }
            number += 1;
            rest = &rest[end + 1..];
        }
        begun.extend_from_slice(rest);
        if begun.len() > LONGEST_LINE {
            let problem = format!("has more than {LONGEST_LINE} bytes, the most of a line with one message");
            return Err(Error::data(problem).at(format!("line {number}")));
        }
        if last {
            return format.end();
        }
        input.consume(length);
    }
}

/// Passes on the message of a line, if it has one, with or without its line end.
fn one_line<L: Lines>(
    format: &mut L,
    line: &[u8],
    each: &mut impl FnMut(Posted) -> Result<bool>,
) -> Result<bool> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    format.line(line)?.map_or(Ok(true), each)
}

#[cfg(test)]
mod tests {
    use super::super::csv::Csv;
    use super::*;
    use std::io::{BufReader, Cursor, Read};

    /// Messages are the same for any size of the buffer.
    fn sizes(text: &'static [u8], buffer: usize) -> Result<Vec<u64>> {
        let input = Peeked::buffered(BufReader::with_capacity(buffer, Cursor::new(text)));
        let mut sizes = Vec::new();
        each_message::<Csv>(input, |message| {
            sizes.push(message.bytes);
            Ok(true)
        })?;
        Ok(sizes)
    }

    #[test]
    fn lines_do_not_depend_on_the_buffer() {
        let text = b"t_ns,src,dst,bytes\r\n1,0,1,12345678\n\n1,0,1,\"23\"\r\n1,0,1,34\r\n \t5 ,0,1,45";
        let wrong = b"t_ns,src,dst,bytes\r\n1,0,1,12345678\n\n1,0,1\n";
        for buffer in 1..80 {
            assert_eq!(sizes(text, buffer).unwrap(), [12_345_678, 23, 34, 45], "buffer of {buffer}");
            let error = sizes(wrong, buffer).unwrap_err().to_string();
            assert_eq!(error, "line 4: has 3 fields, expected 4 (t_ns,src,dst,bytes)", "buffer of {buffer}");
        }
        assert_eq!(sizes(b"t_ns,src,dst,bytes\n1,2,3,4\n", 8).unwrap(), [4]);
        assert_eq!(sizes(b"", 8).unwrap_err().to_string(), "is empty, expected a header line");
    }

    #[test]
    fn times_are_on_all_lines_or_on_none() {
        let read = |text: &'static [u8]| {
            let input = Peeked::buffered(BufReader::with_capacity(9, Cursor::new(text)));
            let mut places = Vec::new();
            let kind = each_message::<Csv>(input, |message| {
                places.push(message.t_ns);
                Ok(true)
            });
            kind.map(|kind| (kind, places)).map_err(|error| error.to_string())
        };
        assert_eq!(read(b"t_ns,src,dst,bytes\n,0,1,8\n\n,1,0,8\n"), Ok((Kind::Ordered, vec![0, 1])));
        assert_eq!(read(b"t_ns,src,dst,bytes\n7,0,1,8\n5,1,0,8\n"), Ok((Kind::Timed, vec![7, 5])));
        for (text, expected) in [
            (
                &b"t_ns,src,dst,bytes\n7,0,1,8\n,1,0,8\n"[..],
                "line 3: has no time, and the lines before it have one; t_ns is known on all lines or on none",
            ),
            (
                b"t_ns,src,dst,bytes\n,0,1,8\n7,1,0,8\n",
                "line 3: has a time, and the lines before it have none; t_ns is known on all lines or on none",
            ),
        ] {
            assert_eq!(read(text), Err(expected.into()));
        }
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let endless = Peeked::new(std::io::repeat(b'7')).unwrap();
        let error = each_message::<Csv>(endless, |_| Ok(true)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1: has more than 65536 bytes, the most of a line with one message"
        );
        let cut = Peeked::new(Cursor::new(b"t_ns").chain(std::io::repeat(0).take(9))).unwrap();
        assert!(each_message::<Csv>(cut, |_| Ok(true)).is_err());
    }
}
