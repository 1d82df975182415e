//! What the line-oriented formats share: one message a line, in any order, with line numbers in the errors.

use std::fs::File;
use std::io::BufRead;

use memchr::memchr;

use super::Peeked;
use crate::archive::columns::LARGEST_BLOCK;
use crate::order::{Posted, Scratch, Sorter};
use crate::trace::{Block, Header, Kind, MessageBlock, RunFacts, Sink, Summary};
use crate::{At, Error, Result};

/// No message needs a longer line; bounds what a file without line ends makes us hold.
const LONGEST_LINE: usize = 64 << 10;

/// A format with one message a line.
pub(super) trait Lines: Default {
    /// The `source` of its traces.
    const SOURCE: &'static str;

    /// The message of a line (without its line end), `None` for lines that hold none.
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
) -> Result<Summary> {
    let (mut input, mut ordered) = (input, false);
    if let Some(file) = again {
        ordered = in_order::<L>(input)?;
        input = Peeked::rewound(file)?;
    }
    sink.begin(&Header::new(Kind::Timed, L::SOURCE))?;
    let mut block = MessageBlock::default();
    let mut out = |message: Posted| -> Result<()> {
        block.push(&message.message());
        if block.len() == LARGEST_BLOCK {
            sink.block(Block::Messages(&block))?;
            block.clear();
        }
        Ok(())
    };
    if ordered {
        each_message::<L>(input, |message| out(message).map(|()| true))?;
    } else {
        let mut sorter = Sorter::new(scratch);
        each_message::<L>(input, |message| sorter.push(message).map(|()| true))?;
        sorter.drain(&mut out)?;
    }
    if !block.is_empty() {
        sink.block(Block::Messages(&block))?;
    }
    sink.finish(&RunFacts::default())
}

/// True if the messages are in trace order already; does not look beyond the first disorder.
fn in_order<L: Lines>(input: Peeked) -> Result<bool> {
    let mut last = (i64::MIN, 0);
    let mut ordered = true;
    each_message::<L>(input, |message| {
        ordered = message.key() >= last;
        last = message.key();
        Ok(ordered)
    })?;
    Ok(ordered)
}

/// Calls `each` for every message until it says false.
fn each_message<L: Lines>(input: Peeked, mut each: impl FnMut(Posted) -> Result<bool>) -> Result<()> {
    let mut format = L::default();
    let ended = each_line(&mut *input.into_reader(), |line| match format.line(line)? {
        Some(message) => each(message),
        None => Ok(true),
    })?;
    if ended { format.end() } else { Ok(()) }
}

/// Calls `each` for every line, without its `\n` or `\r\n`, until it says false; true if all lines were seen. A last line
/// without line end counts.
fn each_line(input: &mut dyn BufRead, mut each: impl FnMut(&[u8]) -> Result<bool>) -> Result<bool> {
    let mut number = 0u64;
    let mut line = |bytes: &[u8]| {
        number += 1;
        each(bytes.strip_suffix(b"\r").unwrap_or(bytes)).at(|| format!("line {number}"))
    };
    // A line whose end is not in the buffer yet.
    let mut begun = Vec::new();
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let length = chunk.len();
        let mut rest = chunk;
        if !begun.is_empty() {
            let end = memchr(b'\n', rest);
            begun.extend_from_slice(&rest[..end.unwrap_or(length)]);
            rest = &rest[end.map_or(length, |end| end + 1)..];
            if end.is_some() {
                if !line(&begun)? {
                    return Ok(false);
                }
                begun.clear();
            }
        }
        while let Some(end) = memchr(b'\n', rest) {
            if !line(&rest[..end])? {
                return Ok(false);
            }
            rest = &rest[end + 1..];
        }
        begun.extend_from_slice(rest);
        if begun.len() > LONGEST_LINE {
            let place = format!("line {}", number + 1);
            let problem = format!("has more than {LONGEST_LINE} bytes, the most of a line with one message");
            return Err(Error::data(problem).at(place));
        }
        input.consume(length);
    }
    if begun.is_empty() { Ok(true) } else { line(&begun) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn lines(text: &[u8], buffer: usize) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        each_line(&mut BufReader::with_capacity(buffer, text), |line| {
            seen.push(line.to_vec());
            Ok(true)
        })
        .unwrap();
        seen
    }

    #[test]
    fn lines_do_not_depend_on_the_buffer() {
        let text = b"one\r\n\ntwo,2\nlast";
        for buffer in 1..20 {
            assert_eq!(lines(text, buffer), [&b"one"[..], b"", b"two,2", b"last"], "buffer of {buffer}");
        }
        assert_eq!(lines(b"a\n", 8), [b"a"]);
        assert!(lines(b"", 8).is_empty());
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let endless = std::io::repeat(b'7');
        let error = each_line(&mut BufReader::new(endless), |_| Ok(true)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1: has more than 65536 bytes, the most of a line with one message"
        );
    }
}
