//! Cells of a table as CSV, written left to right.

use std::io::Write;

use phaseflow_collect::Result;

use crate::number;

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 16;

/// Numbers remembered as text, a power of two: loads of links repeat within a phase.
const KNOWN: usize = 256;

/// Longest text remembered: all numbers of 17 digits without many zeros.
const LONGEST: usize = 24;

/// Rows of a table; lines end in a newline alone.
pub(crate) struct Rows<W: Write> {
    out: W,
    quoting: csv_core::Writer,
    buffer: Vec<u8>,
    is_first: bool,
    text: String,
    known: Vec<Option<KnownNumber>>,
}

/// A number and its text.
#[derive(Clone, Copy)]
struct KnownNumber {
    bits: u64,
    length: u8,
    text: [u8; LONGEST],
}

impl<W: Write> Rows<W> {
    /// A table with its line of column names.
    pub(crate) fn new(out: W, columns: &[&str]) -> Result<Self> {
        let mut rows = Self {
            out,
            quoting: csv_core::Writer::new(),
            buffer: Vec::with_capacity(BUFFER),
            is_first: true,
            text: String::new(),
            known: vec![None; KNOWN],
        };
        for column in columns {
            rows.text(column)?;
        }
        rows.end()?;
        Ok(rows)
    }

    /// Ends the table and hands the output back, flushed.
    pub(crate) fn finish(mut self) -> Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<&mut Self> {
        self.begin();
        let text = text.as_bytes();
        if self.quoting.should_quote(text) {
            self.buffer.push(b'"');
            let from = self.buffer.len();
            // A quote becomes two.
            self.buffer.resize(from + 2 * text.len(), 0);
            let (_, _, written) = csv_core::quote(text, &mut self.buffer[from..], b'"', b'\\', true);
            self.buffer.truncate(from + written);
            self.buffer.push(b'"');
        } else {
            self.buffer.extend_from_slice(text);
        }
        Ok(self)
    }

    pub(crate) fn integer(&mut self, value: impl Into<u64>) -> Result<&mut Self> {
        self.count(Some(value.into()))
    }

    pub(crate) fn count(&mut self, value: Option<u64>) -> Result<&mut Self> {
        self.begin();
        if let Some(value) = value {
            write!(self.buffer, "{value}")?;
        }
        Ok(self)
    }

    /// A number that is none says as little as an unknown one.
    pub(crate) fn float(&mut self, value: impl Into<Option<f64>>) -> Result<&mut Self> {
        self.begin();
        let Some(value) = value.into().filter(|value| value.is_finite()) else { return Ok(self) };
        let bits = value.to_bits();
        // Multiplication spreads the digits over the upper bits (Fibonacci hashing, Knuth 6.4).
        let place = (bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % KNOWN;
        if let Some(known) = self.known[place].filter(|known| known.bits == bits) {
            self.buffer.extend_from_slice(&known.text[..usize::from(known.length)]);
            return Ok(self);
        }
        self.text.clear();
        number::exact(value, &mut self.text);
        let bytes = self.text.as_bytes();
        self.buffer.extend_from_slice(bytes);
        if bytes.len() <= LONGEST {
            let mut text = [0; LONGEST];
            text[..bytes.len()].copy_from_slice(bytes);
            self.known[place] = Some(KnownNumber { bits, length: bytes.len() as u8, text });
        }
        Ok(self)
    }

    /// Cells without a value.
    pub(crate) fn empty(&mut self, cells: usize) -> &mut Self {
        (0..cells).for_each(|_| self.begin());
        self
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        self.buffer.push(b'\n');
        self.is_first = true;
        if self.buffer.len() + (self.buffer.len() >> 4) >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn begin(&mut self) {
        if !self.is_first {
            self.buffer.push(b',');
        }
        self.is_first = false;
    }
}

impl<W: Write> std::fmt::Debug for Rows<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `csv` writes is the oracle.
    #[test]
    fn cells_are_quoted_as_the_csv_crate_does() {
        let texts = [
            "",
            "a",
            "a,b",
            "\"",
            "\"\"x",
            "line\nbreak",
            "\r",
            "<script>",
            "é \u{202e} 🙂",
            " ",
            "-1",
            "a\\b",
        ];
        let mut rows = Rows::new(Vec::new(), &["x", "y"]).unwrap();
        let mut oracle = csv::Writer::from_writer(Vec::new());
        oracle.write_record(["x", "y"]).unwrap();
        for text in texts {
            rows.text(text).unwrap().text("end").unwrap().end().unwrap();
            oracle.write_record([text, "end"]).unwrap();
        }
        assert_eq!(rows.finish().unwrap(), oracle.into_inner().unwrap());
    }

    #[test]
    fn numbers_read_back_however_often_they_come() {
        let mut rows = Rows::new(Vec::new(), &["a", "b", "c"]).unwrap();
        let values: Vec<f64> =
            (0..2000).map(|i| f64::from(i % 700) / 7.0 * 10f64.powi(i % 61 - 30)).collect();
        for value in &values {
            rows.float(*value).unwrap().float(f64::NAN).unwrap().empty(1).end().unwrap();
        }
        let text = String::from_utf8(rows.finish().unwrap()).unwrap();
        let read: Vec<f64> =
            text.lines().skip(1).map(|line| line.strip_suffix(",,").unwrap().parse().unwrap()).collect();
        assert_eq!(read, values);
    }
}
