//! Definitions of one location: which global ids its own ones are, and its clock offsets.

use rustc_hash::FxHashMap;

use super::clock::{ClockOffset, Correction};
use super::fields::{Fields, UNDEFINED};
use super::records::{Holds, Records};
use crate::import::set::Member;
use crate::{At, Result};

const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;

/// The tables of communicators and of windows.
const COMMUNICATORS: u8 = 6;
const WINDOWS: u8 = 8;
/// Form of a table: all global ids in the order of the local ones, instead of pairs.
const DENSE: u8 = 0;

/// From local to global ids; what is not in it keeps its id.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    dense: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
}

impl Ids {
    #[inline]
    pub(super) fn global(&self, id: u32) -> u32 {
        match self.dense.get(id as usize) {
            Some(global) => *global,
            None if self.sparse.is_empty() => id,
            None => self.sparse.get(&id).copied().unwrap_or(id),
        }
    }
}

/// What a location defines for itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Local {
    pub(super) communicators: Ids,
    pub(super) windows: Ids,
    pub(super) clock: Correction,
}

impl Local {
    /// Reads the file of a location's definitions.
    ///
    /// # Errors
    /// Damage, truncation or an error of the operating system.
    pub(super) fn read(member: &Member) -> Result<Self> {
        let mut records = Records::new(member, Holds::Definitions);
        let mut local = Self::default();
        let mut offsets: Vec<ClockOffset> = Vec::new();
        while let Some(record) = records.next(|kind| kind == MAPPING_TABLE || kind == CLOCK_OFFSET)? {
            let place = || format!("byte {}: definition of type {}", record.offset, record.kind);
            let mut fields = record.fields;
            if record.kind == CLOCK_OFFSET {
                let offset = clock_offset(&mut fields).at(place)?;
                // Offsets ascend; two of one time are damage, of which the first counts.
                if offsets.last().is_none_or(|last| last.ticks < offset.ticks) {
                    offsets.push(offset);
                }
                continue;
            }
            let table = fields.byte().at(place)?;
            let ids = match table {
                COMMUNICATORS => &mut local.communicators,
                WINDOWS => &mut local.windows,
                _ => continue,
            };
            *ids = self::ids(&mut fields).at(place)?;
        }
        local.clock = Correction::new(offsets);
        Ok(local)
    }
}

fn clock_offset(fields: &mut Fields<'_>) -> Result<ClockOffset> {
    Ok(ClockOffset { ticks: fields.eight()?, offset: fields.unsigned()?.cast_signed() })
}

fn ids(fields: &mut Fields<'_>) -> Result<Ids> {
    let count = fields.unsigned()?;
    let is_dense = fields.byte()? == DENSE;
    let mut ids = Ids::default();
    let global = |id: u64| u32::try_from(id).unwrap_or(UNDEFINED);
    for _ in 0..count {
        if is_dense {
            ids.dense.push(global(fields.unsigned()?));
        } else {
            let local = fields.unsigned()?;
            ids.sparse.insert(global(local), global(fields.unsigned()?));
        }
    }
    Ok(ids)
}
