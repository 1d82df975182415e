//! A pull parser for JSON text in memory, made for long arrays of numbers.
//!
//! PFProf's files are arrays of mostly zeros, one per line, so most of the text is white space.
//! [`Scanner::counts`] takes the text of the first repeated zero as a period, and compares the text
//! with itself one period earlier, eight bytes at a time. serde_json parses rare parts: escaped
//! strings, and values of unknown keys.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::super::digits::digits;
use crate::{Error, Result};

/// Text and a place in it.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// The next byte that is not white space.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
            // Indentation comes in long runs.
            while self.text[self.at..].starts_with(b"        ") {
                self.at += 8;
            }
        }
    }

    /// Where the next value begins, for [`error_in_line`](Self::error_in_line).
    pub(super) fn place(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// An error in the line of a [place](Self::place). Lines are only counted for errors.
    pub(super) fn error_in_line(&self, place: usize, problem: impl Into<String>) -> Error {
        let line = 1 + memchr::memchr_iter(b'\n', &self.text[..place]).count();
        Error::data(problem).at(format!("line {line}"))
    }

    /// An error at the current place.
    fn error(&self, problem: impl Into<String>) -> Error {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        let column = 1 + self.at - memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        Error::data(problem).at(format!("line {line}, column {column}"))
    }

    /// The error of the next byte.
    fn unexpected(&mut self, expected: &str) -> Error {
        match self.peek() {
            None => self.error(format!("ends too early, expected {expected}")),
            Some(byte) => {
                let found = if byte.is_ascii_graphic() {
                    char::from(byte).to_string()
                } else {
                    format!("\\x{byte:02x}")
                };
                self.error(format!("is not JSON: found `{found}`, expected {expected}"))
            }
        }
    }

    fn take(&mut self, byte: u8, expected: &str) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    /// After an element: true if another one follows, false if the container was closed.
    fn more(&mut self, close: u8, expected: &str) -> Result<bool> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Nothing but white space is left.
    pub(super) fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected("the end of the file")) }
    }

    /// An object: `each` is given every key (UTF-8) and has to consume its value.
    pub(super) fn object(&mut self, mut each: impl FnMut(&mut Self, &[u8]) -> Result<()>) -> Result<()> {
        self.take(b'{', "an object, `{`")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.take(b':', "`:`")?;
            each(self, &key)?;
            if !self.more(b'}', "`,` or `}`")? {
                return Ok(());
            }
        }
    }

    /// An array: `each` has to consume every element.
    pub(super) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.take(b'[', "an array, `[`")?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.more(b']', "`,` or `]`")? {
                return Ok(());
            }
        }
    }

    /// An array of counts, sparse: (index, value) of those that are not 0 into `out`, which is
    /// cleared first; its length.
    pub(super) fn counts(&mut self, name: &str, out: &mut Vec<(u32, u64)>) -> Result<usize> {
        out.clear();
        let mut index = 0;
        // Where the last value ended, if it was 0.
        let mut zero_end = None;
        self.array(|scanner| {
            let value = scanner.count(|| format!("{name}[{index}]"))?;
            if value != 0 {
                let index = u32::try_from(index)
                    .map_err(|_| scanner.error(format!("{name} has more than 2^32 entries")))?;
                out.push((index, value));
            } else if let Some(before) = zero_end {
                index += scanner.repeated(scanner.at - before);
            }
            zero_end = (value == 0).then_some(scanner.at);
            index += 1;
            Ok(())
        })?;
        Ok(index)
    }

    /// Skips repetitions of the last `period` bytes and returns their number. Only whole values are
    /// skipped: if the last repetition continues (`0` as the beginning of `0.5`), it remains.
    fn repeated(&mut self, period: usize) -> usize {
        let (ahead, behind) = (&self.text[self.at..], &self.text[self.at - period..]);
        let mut same = 0;
        for (a, b) in ahead.as_chunks::<8>().0.iter().zip(behind.as_chunks::<8>().0) {
            let equal = same_bytes(u64::from_le_bytes(*a), u64::from_le_bytes(*b));
            same += equal;
            if equal < 8 {
                break;
            }
        }
        let mut times = same / period;
        if times > 0 && !matches!(ahead.get(times * period), Some(b',' | b']' | b' ' | b'\n' | b'\r' | b'\t'))
        {
            times -= 1;
        }
        self.at += times * period;
        times
    }

    /// An array of objects that have two counts each, under `keys`; `each` is given both, in the
    /// order of `keys`; the objects come in any order.
    ///
    /// The text between numbers is the same in all objects, so it is taken from the first two and
    /// then compared.
    pub(super) fn pairs(
        &mut self,
        name: &str,
        keys: [&str; 2],
        mut each: impl FnMut([u64; 2]),
    ) -> Result<()> {
        let mut index = 0;
        // Where the second number of the object before ended.
        let mut last_end = None;
        self.array(|scanner| {
            let place = scanner.place();
            // Value and where it is written.
            let mut found: [Option<(u64, Range<usize>)>; 2] = [None, None];
            scanner.object(|scanner, key| {
                let Some(which) = keys.iter().position(|name| name.as_bytes() == key) else {
                    return scanner.skip();
                };
                let start = scanner.place();
                if found[which].is_some() {
                    return Err(
                        scanner.error_in_line(start, format!("{name}[{index}] has `{}` twice", keys[which]))
                    );
                }
                let value = scanner.count(|| format!("{name}[{index}].{}", keys[which]))?;
                let other = found[1 - which].clone();
                found[which] = Some((value, start..scanner.at));
                if let Some((_, first)) = other {
                    if let Some(last_end) = last_end {
                        let (before, between) =
                            (&scanner.text[last_end..first.start], &scanner.text[first.end..start]);
                        while let Some(pair) = scanner.next_pair(before, between) {
                            each(if which == 1 { pair } else { [pair[1], pair[0]] });
                            index += 1;
                        }
                    }
                    last_end = Some(scanner.at);
                }
                Ok(())
            })?;
            let [Some((a, _)), Some((b, _))] = found else {
                let [a, b] = keys;
                return Err(scanner.error_in_line(place, format!("{name}[{index}] lacks `{a}` or `{b}`")));
            };
            each([a, b]);
            index += 1;
            Ok(())
        })
    }

    /// Two counts with exactly this text before and between them.
    #[inline]
    fn next_pair(&mut self, before: &[u8], between: &[u8]) -> Option<[u64; 2]> {
        let rest = self.text[self.at..].strip_prefix(before)?;
        let (first, length) = plain_count(rest)?;
        let rest = rest[length..].strip_prefix(between)?;
        let (second, length) = plain_count(rest)?;
        self.at = self.text.len() - rest.len() + length;
        Some([first, second])
    }

    /// A number from 0 to 2⁶³−1; `name` says which in an error.
    pub(super) fn count(&mut self, name: impl FnOnce() -> String) -> Result<u64> {
        self.peek();
        if let Some((value, length)) = plain_count(&self.text[self.at..]) {
            self.at += length;
            return Ok(value);
        }
        let text = self.number()?;
        self.at -= text.len();
        let (name, text) = (name(), String::from_utf8_lossy(text));
        Err(self.error(format!("{name} is {text}, expected a whole number from 0 to 9223372036854775807")))
    }

    /// A number with or without fraction.
    pub(super) fn float(&mut self) -> Result<f64> {
        let text = self.number()?;
        serde_json::from_slice(text).map_err(|_| {
            self.at -= text.len();
            self.error(format!("`{}` is not a number", String::from_utf8_lossy(text)))
        })
    }

    /// The characters of a number, at least one.
    fn number(&mut self) -> Result<&'a [u8]> {
        self.peek();
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .count();
        if length == 0 {
            return Err(self.unexpected("a number"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// A string, as UTF-8.
    fn string(&mut self) -> Result<Cow<'a, [u8]>> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a string, `\"`"));
        }
        let body = &self.text[self.at + 1..];
        // A plain key is ASCII without escapes; others need decoding.
        let plain =
            body.iter().take_while(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
        let length = plain.count();
        if body.get(length) == Some(&b'"') {
            self.at += length + 2;
            return Ok(Cow::Borrowed(&body[..length]));
        }
        self.delegate::<String>().map(|text| Cow::Owned(text.into_bytes()))
    }

    /// Any value, unused.
    pub(super) fn skip(&mut self) -> Result<()> {
        self.peek();
        self.delegate::<IgnoredAny>().map(|_| ())
    }

    /// Lets serde_json parse the next value.
    fn delegate<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let mut values = serde_json::Deserializer::from_slice(&self.text[self.at..]).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(error)) => {
                // Its line and column count from here: go there and count ours.
                let rest = &self.text[self.at..];
                let newlines = memchr::memchr_iter(b'\n', rest);
                let line_start =
                    newlines.take(error.line().saturating_sub(1)).last().map_or(0, |newline| newline + 1);
                self.at += (line_start + error.column().saturating_sub(1)).min(rest.len());
                let problem = error.to_string();
                Err(self
                    .error(format!("is not JSON: {}", problem.split(" at line ").next().unwrap_or_default())))
            }
            None => Err(self.unexpected("a value")),
        }
    }
}

/// A number from 0 to 2⁶³−1 as JSON writes integers, and its length.
#[inline]
fn plain_count(text: &[u8]) -> Option<(u64, usize)> {
    let (value, length) = digits(text)?;
    let whole = !matches!(text.get(length), Some(b'.' | b'e' | b'E' | b'+' | b'-'));
    let plain = whole && (length == 1 || text[0] != b'0') && i64::try_from(value).is_ok();
    plain.then_some((value, length))
}

/// How many bytes, from the lowest on, are the same.
#[inline]
fn same_bytes(a: u64, b: u64) -> usize {
    (a ^ b).trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(text: &str) -> Result<(usize, Vec<(u32, u64)>)> {
        let (mut scanner, mut out) = (Scanner::new(text.as_bytes()), Vec::new());
        let length = scanner.counts("n", &mut out)?;
        scanner.end()?;
        Ok((length, out))
    }

    proptest! {
        #[test]
        fn arrays_agree_with_serde_json(
            values in prop::collection::vec(prop_oneof![4 => Just(0u64), 1 => 0..300u64], 0..60),
            spaces in prop::collection::vec(prop_oneof![8 => Just("\n    "), 1 => Just(""), 1 => Just(" ")], 60),
        ) {
            let elements: Vec<String> = values.iter().zip(&spaces).map(|(v, s)| format!("{s}{v}")).collect();
            let text = format!("[{}\n]", elements.join(","));
            let expected: Vec<u64> = serde_json::from_str(&text).unwrap();
            let (length, sparse) = counts(&text).unwrap();
            let mut found = vec![0; length];
            sparse.iter().for_each(|(i, v)| found[*i as usize] = *v);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn what_serde_json_refuses_is_refused(mut text in "\\[ ?(0,){0,30}(0|00|-0|1|0\\.5|0 ,|5|1e3|,| ){0,3}(,0){0,9}[\\]}]? ?") {
            if serde_json::from_str::<Vec<u64>>(&text).is_err() {
                prop_assert!(counts(&text).is_err(), "{}", text);
            }
            // The same with white space to skip.
            text = text.replace(',', ",\n        ");
            if serde_json::from_str::<Vec<u64>>(&text).is_err() {
                prop_assert!(counts(&text).is_err(), "{}", text);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",:0-9a\\\\ \n-]{0,40}") {
            let _ = counts(&text);
            let _ = Scanner::new(text.as_bytes()).object(|scanner, _| scanner.skip());
        }
    }

    proptest! {
        #[test]
        fn pairs_agree_with_serde_json(
            objects in prop::collection::vec((0..300u64, 0..3u64, 0..12usize), 0..12),
        ) {
            // Mostly objects written alike, some in another order, with more keys or spaces.
            let objects: Vec<String> = objects.into_iter().map(|(a, b, style)| match style {
                0 => format!(r#"{{"b":{b},"a":{a}}}"#),
                1 => format!(r#"{{"a":{a},"b":{b},"c":[1]}}"#),
                2 => format!(r#"{{ "a":{a},"b":{b}}}"#),
                _ => format!(r#"{{"a":{a},"b":{b}}}"#),
            }).collect();
            let text = format!("[{}]", objects.join(","));
            let expected: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
            let mut expected: Vec<_> = expected.iter().map(|o| [o["a"].as_u64().unwrap(), o["b"].as_u64().unwrap()]).collect();
            let (mut scanner, mut found) = (Scanner::new(text.as_bytes()), Vec::new());
            scanner.pairs("h", ["a", "b"], |pair| found.push(pair)).unwrap();
            scanner.end().unwrap();
            // Repetitions are found while their first object is still open.
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn errors_say_where() {
        for (text, expected) in [
            (
                "[\n 0,\n -5]",
                "line 3, column 2: n[1] is -5, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                "[0,0,0,0,0,0.5]",
                "line 1, column 12: n[5] is 0.5, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                "[9223372036854775808]",
                "line 1, column 2: n[0] is 9223372036854775808, expected a whole number from 0 to 9223372036854775807",
            ),
            ("[0,\n0,\n0,\n0,", "line 4, column 3: ends too early, expected a number"),
            ("[0 0]", "line 1, column 4: is not JSON: found `0`, expected `,` or `]`"),
            ("hello", "line 1, column 1: is not JSON: found `h`, expected an array, `[`"),
            ("[0]]", "line 1, column 4: is not JSON: found `]`, expected the end of the file"),
        ] {
            assert_eq!(counts(text).unwrap_err().to_string(), expected, "{text}");
        }
        let pairs = |text: &str| {
            let mut out = Vec::new();
            Scanner::new(text.as_bytes()).pairs("h", ["a", "b"], |pair| out.push(pair)).map(|()| out)
        };
        for (text, expected) in [
            (r#"[{"a":1,"b":2},{"a":1}]"#, "line 1: h[1] lacks `a` or `b`"),
            (r#"[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"b":2,"a":3}]"#, "line 1: h[2] has `a` twice"),
            (
                r#"[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"b":2.5}]"#,
                "line 1, column 41: h[2].b is 2.5, expected a whole number from 0 to 9223372036854775807",
            ),
            (
                r#"[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"b":2"#,
                "line 1, column 42: ends too early, expected `,` or `}`",
            ),
        ] {
            assert_eq!(pairs(text).unwrap_err().to_string(), expected, "{text}");
        }
        let mut scanner = Scanner::new(b"{\"a\": 1,\n \"b\\\"\": [1,\n tru]}");
        let error = scanner.object(|scanner, _| scanner.skip()).unwrap_err();
        assert_eq!(error.to_string(), "line 3, column 5: is not JSON: expected ident");
    }
}
