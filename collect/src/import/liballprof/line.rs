//! A line of liballprof: the name of a function, when it began, its arguments, when it returned,
//! with colons between. Times are microseconds with or without decimals.

use crate::{Error, Result};

/// Most fields of a line: `MPI_Alltoallw` has 19.
const MOST_FIELDS: usize = 24;

/// The fields of a line.
pub(super) struct Line<'a> {
    fields: [&'a [u8]; MOST_FIELDS],
    count: usize,
}

/// A communicator as a call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comm {
    /// The caller's rank in it.
    pub(super) rank: u32,
    pub(super) size: u32,
}

impl<'a> Line<'a> {
    /// Divides a line.
    ///
    /// # Errors
    /// More fields than any function has.
    pub(super) fn parse(line: &'a [u8]) -> Result<Self> {
        let mut fields: [&[u8]; MOST_FIELDS] = [&[]; MOST_FIELDS];
        let mut count = 0;
        for field in line.split(|byte| *byte == b':') {
            if count == MOST_FIELDS {
                let problem =
                    format!("has more than {MOST_FIELDS} fields between colons, the most of a call");
                return Err(Error::data(problem));
            }
            fields[count] = field;
            count += 1;
        }
        Ok(Self { fields, count })
    }

    /// The function.
    pub(super) fn name(&self) -> &'a str {
        std::str::from_utf8(self.fields[0]).unwrap_or_default()
    }

    fn field(&self, place: usize) -> &'a [u8] {
        if place < self.count { self.fields[place] } else { &[] }
    }

    /// When the call began and returned; `None` where the line has `-`, at Init and Finalize.
    ///
    /// # Errors
    /// A field that is no time.
    pub(super) fn times_ns(&self) -> Result<(Option<i64>, Option<i64>)> {
        Ok((self.time_ns(1)?, self.time_ns(self.count.saturating_sub(1).max(1))?))
    }

    fn time_ns(&self, place: usize) -> Result<Option<i64>> {
        let field = self.field(place).trim_ascii();
        if field == b"-" {
            return Ok(None);
        }
        microseconds(field).map(Some).ok_or_else(|| self.unlike(place, "a time in microseconds"))
    }

    /// A whole number.
    ///
    /// # Errors
    /// A field that is none.
    pub(super) fn number(&self, place: usize) -> Result<i64> {
        let text = std::str::from_utf8(self.field(place)).ok();
        text.and_then(|text| text.trim().parse().ok()).ok_or_else(|| self.unlike(place, "a whole number"))
    }

    /// Numbers with commas between.
    fn list(&self, place: usize) -> Option<Vec<i64>> {
        let text = std::str::from_utf8(self.field(place)).ok()?;
        text.split(',').map(|number| number.trim().parse().ok()).collect()
    }

    /// Counts for all members; `None` if the field has something else.
    pub(super) fn counts(&self, place: usize) -> Option<Vec<u64>> {
        self.list(place)?.into_iter().map(|count| u64::try_from(count).ok()).collect()
    }

    /// Size of the elements of a type.
    ///
    /// # Errors
    /// A field that is no type.
    pub(super) fn type_size(&self, place: usize) -> Result<u64> {
        match self.list(place).as_deref() {
            Some([_, size, ..]) if *size >= 0 => Ok(size.unsigned_abs()),
            _ => Err(self.unlike(place, "a type as `number,size,extent`")),
        }
    }

    /// A communicator.
    ///
    /// # Errors
    /// A field that is none.
    pub(super) fn comm(&self, place: usize) -> Result<Comm> {
        // A handle is a pointer, which may have 64 bits.
        let text = std::str::from_utf8(self.field(place)).unwrap_or_default();
        let mut parts = text.split(',').skip(1).map(|part| part.trim().parse::<u32>().ok());
        match (parts.next(), parts.next()) {
            (Some(Some(rank)), Some(Some(size))) if rank < size => Ok(Comm { rank, size }),
            _ => Err(self.unlike(place, "a communicator as `handle,rank,size`")),
        }
    }

    #[cold]
    fn unlike(&self, place: usize, expected: &str) -> Error {
        let found = String::from_utf8_lossy(self.field(place)).chars().take(40).collect::<String>();
        let problem = format!("found `{found}`, expected {expected}");
        Error::data(problem).at(format!("field {}", place + 1)).at(self.name())
    }
}

/// Nanoseconds of a decimal number of microseconds.
fn microseconds(text: &[u8]) -> Option<i64> {
    let (negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let (whole, decimals) = match text.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b""[..]),
    };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0i64, |number, digit| {
            let digit = i64::from(char::from(*digit).to_digit(10)?);
            number.checked_mul(10)?.checked_add(digit)
        })
    };
    if whole.is_empty() {
        return None;
    }
    let mut thousandths = [b'0'; 3];
    for (to, from) in thousandths.iter_mut().zip(decimals) {
        *to = *from;
    }
    number(decimals)?;
    let ns = number(whole)?.checked_mul(1000)?.checked_add(number(&thousandths)?)?;
    Some(if negative { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(microseconds(b"1237666046950106.000000"), Some(1_237_666_046_950_106_000));
        assert_eq!(microseconds(b"59807782"), Some(59_807_782_000));
        assert_eq!(microseconds(b"1.2345678"), Some(1_234));
        assert_eq!(microseconds(b"-0.5"), Some(-500));
        for bad in ["", ".", "1x", "1.x", "99999999999999999", "-"] {
            assert_eq!(microseconds(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn fields_say_what_was_expected() {
        let line = Line::parse(b"MPI_Recv:1.0:7:x:11,8,46909632806920:1:3000:94,2,4:9:2.5").unwrap();
        assert_eq!(line.times_ns().unwrap(), (Some(1000), Some(2500)));
        assert_eq!((line.type_size(4).unwrap(), line.comm(7).unwrap()), (8, Comm { rank: 2, size: 4 }));
        let error = line.number(3).unwrap_err().to_string();
        assert_eq!(error, "MPI_Recv: field 4: found `x`, expected a whole number");
        assert!(line.comm(4).is_err() && line.type_size(30).is_err());
    }
}
