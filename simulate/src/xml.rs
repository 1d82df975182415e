//! Writing of XML elements with any names in the data.

use std::borrow::Cow;
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

/// A writer of indented elements.
#[allow(missing_debug_implementations, reason = "a writer of the library has none")]
pub struct Xml<W: Write> {
    writer: Writer<W>,
}

impl<W: Write> Xml<W> {
    /// Starts a document.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Writer::new_with_indent(out, b' ', 1);
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        Ok(Self { writer })
    }

    /// `<name attributes>`
    ///
    /// # Errors
    /// An error of the output.
    pub fn open(&mut self, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
        self.writer.write_event(Event::Start(start(name, attributes)))
    }

    /// `</name>`
    ///
    /// # Errors
    /// An error of the output.
    pub fn close(&mut self, name: &str) -> io::Result<()> {
        self.writer.write_event(Event::End(BytesEnd::new(name)))
    }

    /// `<name attributes/>`
    ///
    /// # Errors
    /// An error of the output.
    pub fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
        self.writer.write_event(Event::Empty(start(name, attributes)))
    }

    /// `<name attributes>text</name>`
    ///
    /// # Errors
    /// An error of the output.
    pub fn text(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) -> io::Result<()> {
        self.open(name, attributes)?;
        self.writer.write_event(Event::Text(BytesText::new(&sayable(text))))?;
        self.close(name)
    }

    /// Ends the document with a line of its own.
    ///
    /// # Errors
    /// An error of the output.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.writer.into_inner();
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(out)
    }
}

fn start<'a>(name: &'a str, attributes: &[(&str, &str)]) -> BytesStart<'a> {
    let mut start = BytesStart::new(name);
    for (key, value) in attributes {
        start.push_attribute((*key, sayable(value).as_ref()));
    }
    start
}

/// XML has no way to write most control characters, not even escaped; they become U+FFFD.
fn sayable(text: &str) -> Cow<'_, str> {
    let unsayable =
        |c: char| (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}');
    if text.contains(unsayable) { text.replace(unsayable, "\u{fffd}").into() } else { text.into() }
}
