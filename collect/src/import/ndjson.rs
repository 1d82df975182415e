//! NDJSON messages: one object a line, `{"t_ns":0,"src":0,"dst":1,"bytes":8,"tag":7,"op":"bcast"}`;
//! `t_ns`, `tag` and `op` may be absent or null, other keys are skipped.
//!
//! Lines with the keys in that order are parsed by a few nom combinators; any other line goes to
//! serde_json, which defines its meaning.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::{char, line_ending};
use nom::combinator::{map_opt, opt};
use nom::error::ErrorKind;
use nom::sequence::{delimited, preceded};
use nom::{IResult, Parser};
use serde::Deserialize;
use serde_json::Number;

use super::digits::digits;
use super::field::{self, REQUIRED, UNKNOWN_TIME};
use super::text::Lines;
use crate::order::Posted;
use crate::trace::{MOST_RANKS, Operation};
use crate::{Error, Result};

#[derive(Default)]
pub(super) struct Ndjson;

impl Lines for Ndjson {
    const SOURCE: &'static str = "ndjson";

    #[inline]
    fn plain(&self, text: &[u8]) -> Option<(Posted, usize)> {
        let (rest, message) = plain(text).ok()?;
        Some((message, text.len() - rest.len()))
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<Posted>> {
        if line.trim_ascii().is_empty() { Ok(None) } else { careful(line).map(Some) }
    }
}

/// The key of the next field in our form, `exact`, or in Python's, with a space on either side.
fn key<'a>(
    exact: &'static str,
    spaced: &'static str,
) -> impl Parser<&'a [u8], Output = &'a [u8], Error = nom::error::Error<&'a [u8]>> {
    alt((tag(exact), tag(spaced)))
}

/// A JSON integer: no leading zeros, and not −0, which serde_json takes for a fraction; what
/// follows it is the caller's to check.
fn integer(input: &[u8]) -> IResult<&[u8], i64> {
    let (negative, rest) = input.strip_prefix(b"-").map_or((false, input), |rest| (true, rest));
    let value = digits(rest).filter(|(_, length)| rest[0] != b'0' || (*length == 1 && !negative));
    match value.and_then(|(value, length)| Some((i64::try_from(value).ok()?, length))) {
        Some((value, length)) => Ok((&rest[length..], if negative { -value } else { value })),
        None => Err(nom::Err::Error(nom::error::Error::new(input, ErrorKind::Digit))),
    }
}

/// A message as we write it, with its line end.
fn plain(input: &[u8]) -> IResult<&[u8], Posted> {
    let rank = || map_opt(integer, |value| u32::try_from(value).ok().filter(|rank| *rank < MOST_RANKS));
    let size = map_opt(integer, |value| u64::try_from(value).ok());
    let label = map_opt(integer, |value| i32::try_from(value).ok());
    let name = delimited(char('"'), take_while(|byte| byte != b'"'), char('"'));
    let operation = map_opt(name, |name| Operation::from_name(std::str::from_utf8(name).ok()?));
    let timed = (
        preceded(key(r#"{"t_ns":"#, r#"{"t_ns": "#), integer),
        preceded(key(r#","src":"#, r#", "src": "#), rank()),
    );
    let timeless = preceded(key(r#"{"src":"#, r#"{"src": "#), rank()).map(|src| (UNKNOWN_TIME, src));
    let (rest, ((t_ns, src), dst, bytes, tag, operation, ..)) = (
        alt((timed, timeless)),
        preceded(key(r#","dst":"#, r#", "dst": "#), rank()),
        preceded(key(r#","bytes":"#, r#", "bytes": "#), size),
        opt(preceded(key(r#","tag":"#, r#", "tag": "#), label)),
        opt(preceded(key(r#","op":"#, r#", "op": "#), operation)),
        char('}'),
        line_ending,
    )
        .parse(input)?;
    let operation = operation.unwrap_or_default();
    Ok((rest, Posted { t_ns, bytes, src, dst, tag, operation }))
}

#[derive(Deserialize)]
struct Line<'a> {
    t_ns: Option<Number>,
    src: Option<Number>,
    dst: Option<Number>,
    bytes: Option<Number>,
    tag: Option<Number>,
    #[serde(borrow)]
    op: Option<std::borrow::Cow<'a, str>>,
}

/// Parses any line, or returns its error.
fn careful(line: &[u8]) -> Result<Posted> {
    if !line.trim_ascii_start().starts_with(b"{") {
        // serde accepts an array as an object without keys.
        return Err(Error::data("is not a message in JSON: expected an object, `{`"));
    }
    let parsed: Line<'_> = serde_json::from_slice(line).map_err(|error| {
        // serde_json's line number counts within this line only.
        let problem = error.to_string();
        let problem = problem.split(" at line ").next().unwrap_or_default();
        Error::data(format!("is not a message in JSON: {problem}")).at(format!("column {}", error.column()))
    })?;
    let whole = |name: &str, number: &Number, range| field::within(name, number.as_i64(), number, &range);
    let required = |name: &'static str, number: &Option<Number>, range| match number {
        Some(number) => whole(name, number, range),
        None => Err(Error::data(format!("lacks `{name}`, expected {}", REQUIRED.join(", ")))),
    };
    Ok(Posted {
        t_ns: parsed.t_ns.map_or(Ok(UNKNOWN_TIME), |number| whole("t_ns", &number, field::TIMES))?,
        src: required("src", &parsed.src, field::RANKS)? as u32,
        dst: required("dst", &parsed.dst, field::RANKS)? as u32,
        bytes: required("bytes", &parsed.bytes, field::SIZES)?.cast_unsigned(),
        tag: parsed.tag.map(|number| whole("tag", &number, field::TAGS)).transpose()?.map(|tag| tag as i32),
        operation: field::operation(parsed.op.as_deref().unwrap_or_default())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FULL: Posted =
        Posted { t_ns: -5, bytes: 8, src: 1, dst: 2, tag: Some(-12), operation: Operation::Allreduce };

    #[test]
    fn keys_come_in_any_order_with_any_spaces() {
        for line in [
            r#"{"t_ns":-5,"src":1,"dst":2,"bytes":8,"tag":-12,"op":"allreduce"}"#,
            r#"{"t_ns": -5, "src": 1, "dst": 2, "bytes": 8, "tag": -12, "op": "allreduce"} "#,
            r#"  {"op":"allreduce","x":{"y":[1,"}"]},"tag":-12,"bytes":8,"dst":2,"src":1,"t_ns":-5}"#,
        ] {
            assert_eq!(Ndjson.line(line.as_bytes()).unwrap(), Some(FULL), "{line}");
        }
        let blank = Posted { tag: None, operation: Operation::PointToPoint, ..FULL };
        for line in [
            r#"{"t_ns":-5,"src":1,"dst":2,"bytes":8}"#,
            r#"{"t_ns":-5,"src":1,"dst":2,"bytes":8,"tag":null,"op":null}"#,
            r#"{"t_ns":-5,"src":1,"dst":2,"bytes":8,"op":""}"#,
        ] {
            assert_eq!(Ndjson.line(line.as_bytes()).unwrap(), Some(blank), "{line}");
        }
        for line in [
            r#"{"src":1,"dst":2,"bytes":8}"#,
            r#"{"src": 1, "dst": 2, "bytes": 8}"#,
            r#"{"t_ns":null,"src":1,"dst":2,"bytes":8}"#,
        ] {
            let timeless = Posted { t_ns: UNKNOWN_TIME, ..blank };
            assert_eq!(Ndjson.line(line.as_bytes()).unwrap(), Some(timeless), "{line}");
        }
        assert_eq!(Ndjson.line(b" \t").unwrap(), None);
    }

    #[test]
    fn every_mistake_is_named() {
        for (line, expected) in [
            (r#"{"t_ns":1,"src":0,"dst":1}"#, "lacks `bytes`, expected t_ns, src, dst, bytes"),
            (
                r#"{"t_ns":1,"src":0,"dst":1,"bytes":-8}"#,
                "bytes: found `-8`, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                r#"{"t_ns":1,"src":0,"dst":1,"bytes":-0}"#,
                "bytes: found `-0.0`, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                r#"{"t_ns":1,"src":0,"dst":1,"bytes":9223372036854775808}"#,
                "bytes: found `9223372036854775808`, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                r#"{"t_ns":1,"src":4294967295,"dst":1,"bytes":8}"#,
                "src: found `4294967295`, expected a whole number from 0 to 16777215",
            ),
            (
                r#"{"t_ns":1,"src":0,"dst":1.5,"bytes":8}"#,
                "dst: found `1.5`, expected a whole number from 0 to 16777215",
            ),
            (
                r#"{"t_ns":1,"src":0,"dst":1,"bytes":8,"op":"foo"}"#,
                "op: found `foo`, expected an MPI operation in lower case such as `allreduce`, or nothing",
            ),
            (
                r#"{"t_ns":1,"src":0,"src":1,"dst":1,"bytes":8}"#,
                "column 23: is not a message in JSON: duplicate field `src`",
            ),
            (
                r#"{"t_ns":"1","src":0,"dst":1,"bytes":8}"#,
                "column 11: is not a message in JSON: invalid type: string \"1\", expected a JSON number",
            ),
            (
                r#"{"t_ns":1,"src":0,"dst""#,
                "column 23: is not a message in JSON: EOF while parsing an object",
            ),
            ("[1,0,1,8]", "is not a message in JSON: expected an object, `{`"),
        ] {
            let found =
                Ndjson.line(line.as_bytes()).map_or_else(|error| error.to_string(), |_| "fine".into());
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn the_fast_parser_leaves_minus_zero_alone() {
        for (number, is_plain) in [("0", true), ("-0", false), ("-1", true), ("01", false)] {
            let line = format!("{{\"t_ns\":{number},\"src\":0,\"dst\":1,\"bytes\":8}}\n");
            assert_eq!(Ndjson.plain(line.as_bytes()).is_some(), is_plain, "{line}");
        }
    }

    proptest! {
        /// The fast parser agrees with serde_json.
        #[test]
        fn plain_and_careful_agree(line in r#"\{("t_ns": ?-?[0-9]{1,20} ?, ?)?"src":[0-9]{1,11},"dst":0?[0-9]{1,3},"bytes":-?[0-9]{1,20}(,"tag":-?[0-9]{1,11})?(,"op":"(bcast|\\u0062cast|x)?")?\}? ?"#) {
            for end in ["\n", "\r\n", "\n{\"t"] {
                if let Some((message, length)) = Ndjson.plain(format!("{line}{end}").as_bytes()) {
                    prop_assert_eq!(length, line.len() + end.trim_end_matches("{\"t").len());
                    prop_assert_eq!(careful(line.as_bytes()).unwrap(), message);
                }
            }
        }
    }
}
