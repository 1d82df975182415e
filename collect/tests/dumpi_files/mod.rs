//! DUMPI files made by hand, for tests and benches: written from the description of the format, by
//! other code than reads it.

#![allow(dead_code, reason = "no user needs all of it")]
#![allow(unreachable_pub, reason = "tests and benches include this file")]
#![allow(clippy::cast_possible_wrap, reason = "numbers of tests are small")]

/// A rank's file on its way.
pub struct RankFile {
    version: [u8; 3],
    bytes: Vec<u8>,
    calls: Vec<u32>,
    wall_bias_s: i32,
    /// Bits of the mask: statuses 3, CPU time 4, wall time 8, thread 64, counters 128.
    pub mask: u8,
    pub hostname: String,
    pub starttime: u64,
    pub sizes: Vec<u32>,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Arg {
    Int(i32),
    Long(i64),
    Handle(u16),
    Code(u8),
    Ints(Vec<i32>),
    Rows(Vec<Vec<i32>>),
    Handles(Vec<u16>),
    Bytes(Vec<u8>),
    Texts(Vec<&'static str>),
    TextLists(Vec<Vec<&'static str>>),
    /// Bytes, source, tag of each; the error and the cancellation are none.
    Statuses(Vec<(i32, i32, i32)>),
    /// As it stands in the file.
    Raw(Vec<u8>),
}

use Arg::{Handle, Int};

/// Handles of MPI's own.
pub const WORLD: u16 = 2;
pub const BYTE: u16 = 5;
pub const INT: u16 = 9;

impl RankFile {
    /// Of the latest version, with the wall clock's bias in seconds.
    pub fn new(wall_bias_s: i32) -> Self {
        Self::of_version([1, 0, 0], wall_bias_s)
    }

    pub fn of_version(version: [u8; 3], wall_bias_s: i32) -> Self {
        let mut bytes = b"\xff\xaa\xddDUMPI".to_vec();
        bytes.extend(0i32.to_be_bytes());
        bytes.extend(wall_bias_s.to_be_bytes());
        Self {
            version,
            bytes,
            calls: vec![0; 291],
            wall_bias_s,
            mask: 3 | 8 | 64,
            hostname: "host".into(),
            starttime: u64::from(wall_bias_s.unsigned_abs()),
            sizes: Vec::new(),
        }
    }

    /// A call of a function from one time to another, in nanoseconds on the rank's clock.
    pub fn call(&mut self, function: u16, start_ns: u64, stop_ns: u64, arguments: &[Arg]) -> &mut Self {
        if let Some(calls) = self.calls.get_mut(usize::from(function)) {
            *calls += 1;
        }
        let out = &mut self.bytes;
        out.extend(function.to_be_bytes());
        out.push(self.mask);
        if self.mask & 64 != 0 {
            out.extend([0, 0]);
        }
        for clock in [4, 8] {
            if self.mask & clock == 0 {
                continue;
            }
            let bias_s = if clock == 8 { i64::from(self.wall_bias_s) } else { 0 };
            for ns in [start_ns, stop_ns] {
                let seconds = (ns / 1_000_000_000) as i64 - bias_s;
                out.extend((seconds as u16).to_be_bytes());
                out.extend(((ns % 1_000_000_000) as u32).to_be_bytes());
            }
        }
        if self.mask & 128 != 0 {
            out.push(2);
            out.extend([7; 32]);
        }
        for argument in arguments {
            self.argument(argument);
        }
        self
    }

    fn argument(&mut self, argument: &Arg) {
        let (mask, version) = (self.mask, self.version);
        let out = &mut self.bytes;
        let count = |out: &mut Vec<u8>, count: usize| out.extend((count as i32).to_be_bytes());
        let texts = |out: &mut Vec<u8>, texts: &[&'static str]| {
            count(out, texts.len());
            for text in texts {
                count(out, text.len());
                out.extend(text.as_bytes());
            }
        };
        let ints = |out: &mut Vec<u8>, ints: &[i32]| {
            count(out, ints.len());
            ints.iter().for_each(|int| out.extend(int.to_be_bytes()));
        };
        match argument {
            Arg::Int(int) => out.extend(int.to_be_bytes()),
            Arg::Long(long) => out.extend(long.to_be_bytes()),
            Arg::Handle(handle) => out.extend(handle.to_be_bytes()),
            Arg::Code(code) => out.push(*code),
            Arg::Ints(all) => ints(out, all),
            Arg::Rows(rows) => {
                count(out, rows.len());
                rows.iter().for_each(|row| ints(out, row));
            }
            Arg::Handles(handles) => {
                count(out, handles.len());
                handles.iter().for_each(|handle| out.extend(handle.to_be_bytes()));
            }
            Arg::Bytes(bytes) => {
                count(out, bytes.len());
                out.extend(bytes);
            }
            Arg::Texts(all) => texts(out, all),
            Arg::TextLists(lists) => {
                count(out, lists.len());
                lists.iter().for_each(|list| texts(out, list));
            }
            Arg::Statuses(statuses) if mask & 3 != 0 => {
                count(out, statuses.len());
                for (bytes, source, tag) in statuses {
                    out.extend(bytes.to_be_bytes());
                    out.extend(source.to_be_bytes());
                    out.extend([0, 0]);
                    if version >= [0, 6, 3] {
                        out.extend(tag.to_be_bytes());
                    }
                }
            }
            Arg::Statuses(_) => {}
            Arg::Raw(bytes) => out.extend(bytes),
        }
    }

    /// `MPI_Send` of bytes.
    pub fn send(&mut self, start_ns: u64, stop_ns: u64, bytes: i32, dst: i32, tag: i32) -> &mut Self {
        let arguments = [Int(bytes), Handle(BYTE), Int(dst), Int(tag), Handle(WORLD)];
        self.call(0, start_ns, stop_ns, &arguments)
    }

    /// `MPI_Recv` of bytes, with its status.
    pub fn receive(&mut self, start_ns: u64, stop_ns: u64, bytes: i32, src: i32, tag: i32) -> &mut Self {
        let status = Arg::Statuses(vec![(bytes, src, tag)]);
        let arguments = [Int(bytes), Handle(BYTE), Int(src), Int(tag), Handle(WORLD), status];
        self.call(1, start_ns, stop_ns, &arguments)
    }

    /// `MPI_Init` without arguments.
    pub fn init(&mut self, start_ns: u64, stop_ns: u64) -> &mut Self {
        let arguments = if self.version < [0, 6, 2] { vec![0; 8] } else { vec![0; 4] };
        self.call(124, start_ns, stop_ns, &[Arg::Raw(arguments)])
    }

    /// `MPI_Finalize`.
    pub fn finalize(&mut self, start_ns: u64, stop_ns: u64) -> &mut Self {
        self.call(125, start_ns, stop_ns, &[])
    }

    /// Bytes of all records so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The complete file.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = self.bytes.clone();
        out.extend(293u16.to_be_bytes());
        let header = out.len() as u64;
        out.extend(self.version);
        out.extend(self.starttime.to_be_bytes());
        for text in [self.hostname.as_str(), "user"] {
            out.extend((text.len() as u16).to_be_bytes());
            out.extend(text.as_bytes());
        }
        out.extend([0; 8]);
        let footer = out.len() as u64;
        out.extend(0xf007_fee7u64.to_be_bytes());
        self.calls.iter().for_each(|calls| out.extend(calls.to_be_bytes()));
        out.extend(vec![0; 4 * self.calls.len()]);
        let keyvals = out.len() as u64;
        out.extend([0; 4]);
        let counters = out.len() as u64;
        out.extend([0; 4]);
        let sizes = out.len() as u64;
        out.extend((self.sizes.len() as u32).to_be_bytes());
        self.sizes.iter().for_each(|size| out.extend(size.to_be_bytes()));
        // The index grew with the versions.
        out.extend(b"\xff\xaa\xddDUMPI");
        if self.version >= [0, 6, 6] {
            out.extend(sizes.to_be_bytes());
        }
        if self.version >= [0, 4, 0] {
            out.extend(0u64.to_be_bytes());
        }
        if self.version >= [0, 3, 0] {
            out.extend(counters.to_be_bytes());
        }
        for offset in [header, 8, footer, keyvals] {
            out.extend(offset.to_be_bytes());
        }
        out
    }
}

/// Writes a run into a folder, with its `.meta` file.
pub fn write_run(folder: &std::path::Path, name: &str, files: &[Vec<u8>]) {
    for (rank, file) in files.iter().enumerate() {
        std::fs::write(folder.join(format!("{name}-{rank:04}.bin")), file).unwrap();
    }
    let meta = format!("hostname=host\nnumprocs={}\nfileprefix={name}\nversion=1\n", files.len());
    std::fs::write(folder.join(format!("{name}.meta")), meta).unwrap();
}
