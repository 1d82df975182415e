//! XML as tags and texts with line numbers, in bounded memory.
//!
//! Document types are refused, so there are no entities to expand but the five of XML and character
//! references; one tag or text may take 1 MiB.

use std::io::{self, BufRead, Read};

use phaseflow_collect::{Error, Result};
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

/// Longest tag, text or comment, bytes: hundreds of times that of networkx's files.
const MAX_ITEM: u64 = 1 << 20;
/// Deepest nesting of elements; GraphML needs five.
const MAX_DEPTH: usize = 256;

/// The parts of a document that GraphML uses.
pub(super) enum Item {
    Open(Tag),
    Close,
    Text(String),
    /// The document is complete.
    End,
}

/// An opening tag, without namespace prefix.
pub(super) struct Tag {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let place = self.attributes.iter().position(|(key, _)| key == name)?;
        Some(self.attributes.swap_remove(place).1)
    }
}

/// A document that is being read.
pub(super) struct Xml<R> {
    reader: Reader<Counted<R>>,
    buffer: Vec<u8>,
    depth: usize,
}

impl<R: BufRead> Xml<R> {
    pub(super) fn new(input: R) -> Self {
        let mut reader = Reader::from_reader(Counted { input, lines: 0, item: 0 });
        reader.config_mut().expand_empty_elements = true;
        Self { reader, buffer: Vec::new(), depth: 0 }
    }

    /// `line 12, byte 345`: where the last item ends.
    pub(super) fn place(&self) -> String {
        format!("line {}, byte {}", self.reader.get_ref().lines + 1, self.reader.buffer_position())
    }

    /// The next tag or text.
    pub(super) fn next(&mut self) -> Result<Item> {
        self.advance().map_err(|error| error.at(self.place()))
    }

    fn advance(&mut self) -> Result<Item> {
        loop {
            self.buffer.clear();
            self.reader.get_mut().item = 0;
            let event = self.reader.read_event_into(&mut self.buffer).map_err(xml_error)?;
            return match event {
                Event::Start(start) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(Error::data(format!("elements are nested deeper than {MAX_DEPTH}")));
                    }
                    Ok(Item::Open(tag(&start)?))
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Ok(Item::Close)
                }
                Event::Text(text) => Ok(Item::Text(text.xml10_content().into_owned())),
                Event::CData(text) => Ok(Item::Text(text.xml10_content().into_owned())),
                Event::GeneralRef(reference) => Ok(Item::Text(resolve(&reference)?)),
                Event::DocType(_) => Err(Error::data(
                    "declares a document type: entities are not expanded; remove the DOCTYPE declaration",
                )),
                Event::Eof if self.depth > 0 => {
                    Err(Error::data("ends inside an element: the file is truncated"))
                }
                Event::Eof => Ok(Item::End),
                _ => continue,
            };
        }
    }

    /// Skips the rest of the element that was opened last.
    pub(super) fn skip(&mut self) -> Result<()> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            if let Item::End = self.next()? {
                break;
            }
        }
        Ok(())
    }

    /// The text of the element that was opened last; elements inside it are passed over.
    pub(super) fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                Item::Text(part) => text.push_str(&part),
                Item::Open(_) => self.skip()?,
                Item::Close | Item::End => return Ok(text),
            }
            if text.len() as u64 > MAX_ITEM {
                return Err(too_long().at(self.place()));
            }
        }
    }
}

fn tag(start: &BytesStart<'_>) -> Result<Tag> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| Error::data(format!("is not XML: {error}")))?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(xml_error)?;
        attributes.push((attribute.key.as_ref().to_string(), value.into_owned()));
    }
    Ok(Tag { name: start.local_name().as_ref().to_string(), attributes })
}

fn resolve(reference: &BytesRef<'_>) -> Result<String> {
    if let Some(character) = reference.resolve_char_ref().map_err(xml_error)? {
        return Ok(character.to_string());
    }
    match resolve_predefined_entity(reference) {
        Some(text) => Ok(text.to_string()),
        None => Err(Error::data(format!("uses the entity `&{};`, which XML does not define", &**reference))),
    }
}

fn xml_error(error: quick_xml::Error) -> Error {
    match error {
        quick_xml::Error::Io(error) => {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>()) {
                Some(_) => too_long(),
                None => Error::data(error.to_string()),
            }
        }
        error => Error::data(format!("is not XML: {error}")),
    }
}

fn too_long() -> Error {
    Error::data(format!("has a tag or text of more than {MAX_ITEM} bytes"))
}

/// Counts lines, and refuses items that are too long before they are held in memory.
struct Counted<R> {
    input: R,
    lines: u64,
    item: u64,
}

#[derive(Debug)]
struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too long")
    }
}

impl std::error::Error for TooLong {}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let count = available.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.item > MAX_ITEM {
            return Err(io::Error::other(TooLong));
        }
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // What is consumed is still in the buffer, and asking for it again does not read.
        if let Ok(available) = self.input.fill_buf() {
            let consumed = &available[..count.min(available.len())];
            self.lines += consumed.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        self.item += count as u64;
        self.input.consume(count);
    }
}
