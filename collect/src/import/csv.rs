//! CSV messages: a header line with the columns `t_ns,src,dst,bytes[,tag][,op]` in any order, then
//! one message a line.
//!
//! Columns of other names are skipped. An empty `t_ns` or `tag` is unknown, an empty `op`
//! point-to-point.
//! Lines of plain numbers are parsed in place. All other lines (quotes, spaces, mistakes) go to the
//! csv crate, which defines their meaning.

use super::digits::digits;
use super::field::{self, REQUIRED, UNKNOWN_TIME};
use super::text::Lines;
use crate::order::Posted;
use crate::trace::{MOST_RANKS, Operation};
use crate::{Error, Result};

/// The columns of the file.
#[derive(Default)]
pub(super) struct Csv {
    columns: Vec<Column>,
    names: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Src,
    Dst,
    Bytes,
    Tag,
    Op,
    Other,
}

/// A message with unknown optional columns.
const BLANK: Posted =
    Posted { t_ns: 0, bytes: 0, src: 0, dst: 0, tag: None, operation: Operation::PointToPoint };

impl Lines for Csv {
    const SOURCE: &'static str = "csv";

    #[inline]
    fn plain(&self, text: &[u8]) -> Option<(Posted, usize)> {
        let mut message = BLANK;
        let mut rest = text;
        for (number, column) in self.columns.iter().enumerate() {
            if number > 0 {
                rest = rest.strip_prefix(b",")?;
            }
            match column {
                Column::Time if word(rest) == 0 => message.t_ns = UNKNOWN_TIME,
                Column::Time => (message.t_ns, rest) = signed(rest)?,
                Column::Src => (message.src, rest) = rank(rest)?,
                Column::Dst => (message.dst, rest) = rank(rest)?,
                Column::Bytes => {
                    (message.bytes, rest) = unsigned(rest)?;
                    i64::try_from(message.bytes).ok()?;
                }
                Column::Tag if word(rest) == 0 => {}
                Column::Tag => {
                    let (value, after) = signed(rest)?;
                    (message.tag, rest) = (Some(i32::try_from(value).ok()?), after);
                }
                Column::Op if word(rest) == 0 => {}
                Column::Op => {
                    let (name, after) = rest.split_at(word(rest));
                    (message.operation, rest) =
                        (Operation::from_name(std::str::from_utf8(name).ok()?)?, after);
                }
                Column::Other => rest = &rest[word(rest)..],
            }
        }
        if self.columns.is_empty() {
            return None;
        }
        rest = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n")?;
        Some((message, text.len() - rest.len()))
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<Posted>> {
        if self.columns.is_empty() {
            return self.header(line).map(|()| None);
        }
        if line.is_empty() { Ok(None) } else { self.careful(line).map(Some) }
    }

    fn end(&self) -> Result<()> {
        if self.columns.is_empty() { Err(Error::data("is empty, expected a header line")) } else { Ok(()) }
    }
}

impl Csv {
    fn header(&mut self, line: &[u8]) -> Result<()> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line); // a byte order mark
        let fields = split(line)?;
        self.names = fields.join(",");
        for name in &fields {
            let column = match name.trim() {
                "t_ns" => Column::Time,
                "src" => Column::Src,
                "dst" => Column::Dst,
                "bytes" => Column::Bytes,
                "tag" => Column::Tag,
                "op" => Column::Op,
                _ => Column::Other,
            };
            if column != Column::Other && self.columns.contains(&column) {
                return Err(Error::data(format!("the header has column `{}` twice", name.trim())));
            }
            self.columns.push(column);
        }
        for (name, column) in REQUIRED.iter().zip([Column::Time, Column::Src, Column::Dst, Column::Bytes]) {
            if !self.columns.contains(&column) {
                let found = self.names.chars().take(80).collect::<String>();
                return Err(Error::data(format!(
                    "the header `{found}` lacks `{name}`, expected t_ns,src,dst,bytes[,tag][,op]"
                )));
            }
        }
        Ok(())
    }

    /// Parses any line, or returns its error.
    fn careful(&self, line: &[u8]) -> Result<Posted> {
        let fields = split(line)?;
        if fields.len() != self.columns.len() {
            let (found, expected) = (fields.len(), self.columns.len());
            let s = if found == 1 { "" } else { "s" };
            return Err(Error::data(format!("has {found} field{s}, expected {expected} ({})", self.names)));
        }
        let mut message = BLANK;
        for (field, column) in fields.iter().map(|field| field.trim()).zip(&self.columns) {
            let whole = |name, range| field::within(name, field.parse().ok(), field, &range);
            match column {
                Column::Time if field.is_empty() => message.t_ns = UNKNOWN_TIME,
                Column::Time => message.t_ns = whole("t_ns", field::TIMES)?,
                Column::Src => message.src = whole("src", field::RANKS)? as u32,
                Column::Dst => message.dst = whole("dst", field::RANKS)? as u32,
                Column::Bytes => message.bytes = whole("bytes", field::SIZES)?.cast_unsigned(),
                Column::Tag if field.is_empty() => {}
                Column::Tag => message.tag = Some(whole("tag", field::TAGS)? as i32),
                Column::Op => message.operation = field::operation(field)?,
                Column::Other => {}
            }
        }
        Ok(message)
    }
}

/// The fields of a line, by the csv crate.
fn split(line: &[u8]) -> Result<Vec<String>> {
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let record = reader.records().next();
    let record = record.transpose().map_err(|_| Error::data("is not UTF-8 text"))?;
    Ok(record.map(|record| record.iter().map(String::from).collect()).unwrap_or_default())
}

/// Length of an unquoted field, up to a separator, quote or line end.
#[inline]
fn word(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| matches!(byte, b',' | b'\n' | b'\r' | b'"')).unwrap_or(bytes.len())
}

#[inline]
fn unsigned(bytes: &[u8]) -> Option<(u64, &[u8])> {
    digits(bytes).map(|(value, length)| (value, &bytes[length..]))
}

#[inline]
fn signed(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (negative, bytes) = bytes.strip_prefix(b"-").map_or((false, bytes), |rest| (true, rest));
    let (value, rest) = unsigned(bytes)?;
    let value = i64::try_from(value).ok()?;
    Some((if negative { -value } else { value }, rest))
}

#[inline]
fn rank(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (value, rest) = unsigned(bytes)?;
    Some((u32::try_from(value).ok().filter(|rank| *rank < MOST_RANKS)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_header(header: &str) -> Csv {
        let mut csv = Csv::default();
        assert_eq!(csv.line(header.as_bytes()).unwrap(), None);
        csv
    }

    fn check_error(header: &str, line: &str, expected: &str) {
        assert_eq!(with_header(header).line(line.as_bytes()).unwrap_err().to_string(), expected, "{line}");
    }

    #[test]
    fn columns_come_in_any_order_and_unknown_ones_are_skipped() {
        let mut csv = with_header("\u{feff}op,bytes,\"host name\",dst,src,t_ns,tag");
        let message = csv.line(b"allreduce,8,node 1,2,1,-5,-12").unwrap().unwrap();
        let expected =
            Posted { t_ns: -5, bytes: 8, src: 1, dst: 2, tag: Some(-12), operation: Operation::Allreduce };
        assert_eq!(message, expected);
        assert_eq!(csv.line(b"\"allreduce\", 8 ,\"node, 1\",2,1,-5,-12").unwrap(), Some(expected));
        let blank = Posted { tag: None, operation: Operation::PointToPoint, ..expected };
        assert_eq!(csv.line(b",8,,2,1,-5,").unwrap(), Some(blank));
        let timeless = Posted { t_ns: UNKNOWN_TIME, ..blank };
        for line in [",8,,2,1,,", ",8,,2,1,\"\","] {
            assert_eq!(csv.line(line.as_bytes()).unwrap(), Some(timeless));
        }
        assert_eq!(csv.line(b"").unwrap(), None);
    }

    #[test]
    fn every_mistake_is_named() {
        const ALL: &str = "t_ns,src,dst,bytes,tag,op";
        let field = |line, expected| check_error(ALL, line, expected);
        field("1,2,3", "has 3 fields, expected 6 (t_ns,src,dst,bytes,tag,op)");
        field("1,2,3,4,5,,7", "has 7 fields, expected 6 (t_ns,src,dst,bytes,tag,op)");
        field("1,2,3,-4,,", "bytes: found `-4`, expected a whole number from 0 to 9223372036854775807");
        field(
            "1,2,3,9223372036854775808,,",
            "bytes: found `9223372036854775808`, expected a whole number from 0 to 9223372036854775807",
        );
        field("1,-2,3,4,,", "src: found `-2`, expected a whole number from 0 to 16777215");
        field("1,2,16777216,4,,", "dst: found `16777216`, expected a whole number from 0 to 16777215");
        field(
            "1.5,2,3,4,,",
            "t_ns: found `1.5`, expected a whole number from -9223372036854775807 to 9223372036854775807",
        );
        field(
            "1,2,3,4,3000000000,",
            "tag: found `3000000000`, expected a whole number from -2147483648 to 2147483647",
        );
        field(
            "1,2,3,4,,alreduce",
            "op: found `alreduce`, expected an MPI operation in lower case such as `allreduce`, or nothing",
        );
        let header = |header: &str| Csv::default().line(header.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            header("t_ns,src,dst,size"),
            "the header `t_ns,src,dst,size` lacks `bytes`, expected t_ns,src,dst,bytes[,tag][,op]"
        );
        assert_eq!(header("t_ns,src,dst,src,bytes"), "the header has column `src` twice");
    }

    proptest! {
        /// The fast parser agrees with the careful one.
        #[test]
        fn plain_and_careful_agree(line in "(-?[0-9]{1,20})?,[0-9]{0,11},[0-9]{1,3},-?[0-9]{1,20}(,(-?[0-9]{0,11}),(bcast|)?|x|\"| )?") {
            let csv = with_header("t_ns,src,dst,bytes,tag,op");
            for end in ["\n", "\r\n", "\n0,1"] {
                if let Some((message, length)) = csv.plain(format!("{line}{end}").as_bytes()) {
                    prop_assert_eq!(length, line.len() + end.trim_end_matches("0,1").len());
                    prop_assert_eq!(csv.careful(line.as_bytes()).unwrap(), message);
                }
            }
            prop_assert_eq!(csv.plain(line.as_bytes()), None, "a line without end may go on in the next buffer");
        }
    }
}
