//! A vector as a worker cuts it.

use super::check::Piece;
use super::settings::{Numbers, Settings};
use crate::packet::aggregation::ELEMENT_BYTES;

/// A vector that a worker adds, as it is cut.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    /// Number of the reduction in the group.
    pub(super) number: u32,
    /// Its first packet in the stream.
    pub(super) first: u32,
    /// All its packets.
    pub(super) chunks: u32,
    /// Leading packets with exponents only.
    pub(super) lead: u32,
    pub(super) elements: u64,
    pub(super) key: u32,
    /// Messages without a result.
    pub(super) missing: u32,
    /// By packet with numbers, if floats are verified: its scale.
    pub(super) exponents: Vec<i32>,
}

impl Reduction {
    /// Cuts `bytes` into packets; `None` if there are too many.
    pub(super) fn new(settings: &Settings, number: u32, first: u32, bytes: u64, key: u32) -> Option<Self> {
        let elements = bytes.div_ceil(ELEMENT_BYTES);
        let packets = elements.div_ceil(u64::from(settings.elements)).max(1);
        let packets = packets.checked_next_multiple_of(u64::from(settings.message))?;
        // Floats: the exponents of the first window go ahead.
        let lead = match settings.numbers {
            Numbers::Int => 0,
            Numbers::Float => packets.min(u64::from(settings.window)),
        };
        let chunks = u32::try_from(packets + lead).ok()?;
        // A window further there are still numbers.
        first.checked_add(chunks)?.checked_add(2 * settings.window)?;
        let (lead, missing) = (lead as u32, chunks / settings.message);
        Some(Self { number, first, chunks, lead, elements, key, missing, exponents: Vec::new() })
    }

    /// A packet of it.
    #[inline]
    pub(super) fn piece(&self, worker: u32, chunk: u32) -> Piece {
        let position = chunk - self.first;
        Piece { reduction: self.number, worker, position, lead: self.lead, elements: self.elements }
    }
}
