//! Writes OTF2 traces in either order of bytes, as the reference library lays them out.

use std::path::Path;

/// A file of records.
pub(crate) struct Records {
    bytes: Vec<u8>,
    is_big: bool,
}

/// Locations have these ids, to tell them from ranks.
pub(crate) fn location(rank: u64) -> u64 {
    rank + 100
}

impl Records {
    pub(crate) fn new(is_big: bool) -> Self {
        let mut records = Self { bytes: vec![3, if is_big { 0x23 } else { 0x42 }], is_big };
        records.full(1);
        records.full(0);
        records
    }

    fn full(&mut self, value: u64) {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    /// A compressed integer.
    fn compressed(is_big: bool, value: u64) -> Vec<u8> {
        let size = 8 - value.leading_zeros() as usize / 8;
        let digits = if is_big {
            value.to_be_bytes()[8 - size..].to_vec()
        } else {
            value.to_le_bytes()[..size].to_vec()
        };
        [vec![size as u8], digits].concat()
    }

    pub(crate) fn time(&mut self, ticks: u64) {
        self.bytes.push(5);
        self.full(ticks);
    }

    /// A record with a length and these integers.
    pub(crate) fn record(&mut self, kind: u8, fields: &[u64]) {
        let fields: Vec<u8> = fields.iter().flat_map(|field| Self::compressed(self.is_big, *field)).collect();
        self.raw(kind, &fields);
    }

    /// A record with a length and these bytes.
    pub(crate) fn raw(&mut self, kind: u8, fields: &[u8]) {
        self.bytes.push(kind);
        if fields.len() < 255 {
            self.bytes.push(fields.len() as u8);
        } else {
            self.bytes.push(255);
            self.full(fields.len() as u64);
        }
        self.bytes.extend(fields);
    }

    /// An event whose one integer has no length before it.
    pub(crate) fn single(&mut self, kind: u8, field: u64) {
        self.bytes.push(kind);
        self.bytes.extend(Self::compressed(self.is_big, field));
    }

    /// Integers and single bytes (negative numbers) in one record.
    pub(crate) fn mixed(&mut self, kind: u8, fields: &[i64]) {
        let of = |field: &i64| match u64::try_from(*field) {
            Ok(value) => Self::compressed(self.is_big, value),
            Err(_) => vec![(-1 - field) as u8],
        };
        let fields: Vec<u8> = fields.iter().flat_map(of).collect();
        self.raw(kind, &fields);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend([2, 1]);
        self.bytes
    }
}

/// A single byte in [`Records::mixed`].
pub(crate) const fn byte(value: u8) -> i64 {
    -1 - value as i64
}

/// The anchor file.
pub(crate) fn anchor(is_big: bool, ranks: u64, creator: &str) -> Vec<u8> {
    let full = |value: u64| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let order = if is_big { 0x23 } else { 0x42 };
    let head =
        [&[3, order][..], b"OTF2\0", &[3, 2, 3, 0, 2], &full(1 << 20), &full(1 << 22), &[1, 1]].concat();
    [&head[..], &full(ranks), &full(9), b"\0", creator.as_bytes(), b"\0\0"].concat()
}

/// Definitions of ranks and their world communicator, 7; a tick is half a nanosecond, 1000 the
/// origin.
pub(crate) fn definitions(is_big: bool, ranks: u64) -> Vec<u8> {
    let mut records = Records::new(is_big);
    records.record(5, &[2_000_000_000, 1000, 1_000_000]);
    for rank in 0..ranks {
        records.mixed(13, &[rank.cast_signed(), 0, byte(1), 0, 0]);
        records.mixed(14, &[location(rank).cast_signed(), 0, byte(1), 5, rank.cast_signed()]);
    }
    let count = ranks.cast_signed();
    let all: Vec<i64> = (0..count).map(|rank| location(rank.cast_unsigned()).cast_signed()).collect();
    records.mixed(18, &[&[0, 0, byte(4), count][..], &all, &[byte(4), byte(4), 0]].concat());
    let members: Vec<i64> = (0..count).collect();
    records.mixed(18, &[&[1, 0, byte(4), count][..], &members, &[byte(5), byte(4), 0]].concat());
    records.record(22, &[7, 0, 1, 0, 0]);
    records.finish()
}

/// Local communicator 0 is the global one, 7.
pub(crate) fn local_definitions(is_big: bool) -> Vec<u8> {
    let mut records = Records::new(is_big);
    records.mixed(5, &[byte(6), 1, byte(0), 7]);
    records.finish()
}

/// All files of a trace by their names; `events` gives those of a rank.
pub(crate) fn trace(
    is_big: bool,
    ranks: u64,
    creator: &str,
    events: &dyn Fn(u64, &mut Records),
) -> Vec<(String, Vec<u8>)> {
    let mut files =
        vec![("x.otf2".into(), anchor(is_big, ranks, creator)), ("x.def".into(), definitions(is_big, ranks))];
    for rank in 0..ranks {
        let mut records = Records::new(is_big);
        events(rank, &mut records);
        files.push((format!("x/{}.evt", location(rank)), records.finish()));
        files.push((format!("x/{}.def", location(rank)), local_definitions(is_big)));
    }
    files
}

/// Writes files below a folder.
pub(crate) fn write(folder: &Path, files: &[(String, Vec<u8>)]) {
    std::fs::create_dir_all(folder.join("x")).unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
