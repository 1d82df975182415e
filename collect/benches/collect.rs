//! What collect promises: text at millions of messages a second, PFProf at half the speed of
//! inflating it.
//!
//! `cargo bench -p phaseflow-collect`; figures in benches/README.md.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench may stop, and says what it skips")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Cursor, Read};
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::read::MultiGzDecoder;
use phaseflow_collect::export::{ArchiveExport, CsvExport};
use phaseflow_collect::import::{Format, Input, Reading, import, read_pfprof};
use phaseflow_collect::trace::{Message, Rank, RunFacts, TraceReader, TraceWriter};

const MESSAGES: u64 = 1_000_000;

/// Traffic like that of a real run: times ascend irregularly, few sizes, 512 ranks.
fn messages() -> impl Iterator<Item = Message> {
    let mut state = 1u64;
    let mut time = 1_700_000_000_000_000_000i64;
    (0..MESSAGES).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        time += (state >> 54).cast_signed();
        let (src, dst) = ((state >> 20) as u32 % 512, (state >> 40) as u32 % 512);
        let bytes = [8, 1024, 65_536, 12_345][(state >> 33) as usize % 4];
        Message { send_post_ns: time, src: Rank(src), dst: Rank(dst), bytes, ..Message::default() }
    })
}

/// Times may repeat with descending sources; the archive wants them ascending.
fn ordered() -> Vec<Message> {
    let mut all: Vec<Message> = messages().collect();
    all.sort_by_key(|message| (message.send_post_ns, message.src));
    all
}

fn csv(messages: &[Message]) -> Vec<u8> {
    let mut text = String::from("t_ns,src,dst,bytes\n");
    for m in messages {
        let _ = writeln!(text, "{},{},{},{}", m.send_post_ns, m.src, m.dst, m.bytes);
    }
    text.into_bytes()
}

fn ndjson(messages: &[Message]) -> Vec<u8> {
    let mut text = String::new();
    for m in messages {
        let (t, src, dst, bytes) = (m.send_post_ns, m.src, m.dst, m.bytes);
        let _ = writeln!(text, r#"{{"t_ns":{t},"src":{src},"dst":{dst},"bytes":{bytes}}}"#);
    }
    text.into_bytes()
}

fn archive(messages: &[Message]) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), false, "bench").unwrap();
    messages.iter().for_each(|message| writer.message(message).unwrap());
    writer.finish(&RunFacts::default()).unwrap().1
}

fn file(text: &[u8]) -> std::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    io::Write::write_all(&mut file, text).unwrap();
    file
}

fn text(c: &mut Criterion) {
    let ordered = ordered();
    let mut group = c.benchmark_group("messages");
    group.throughput(Throughput::Elements(MESSAGES)).sample_size(20);
    for (format, text) in [(Format::Csv, csv(&ordered)), (Format::Ndjson, ndjson(&ordered))] {
        let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let header = usize::from(format == Format::Csv);
        lines[header..].sort_by_key(|line| shuffle_key(line));
        let shuffled = lines.concat();
        for (name, text) in [("file", &text), ("file out of order", &shuffled)] {
            let file = file(text);
            group.bench_function(format!("{} {name} to archive", format.name()), |b| {
                b.iter(|| {
                    let input = Input::File(file.try_clone().unwrap());
                    let mut sink = ArchiveExport::new(io::sink(), false);
                    import(
                        input,
                        Reading { format: Some(format), ..Reading::new(tempfile::tempfile) },
                        &mut sink,
                    )
                    .unwrap()
                });
            });
        }
        group.bench_function(format!("{} pipe to archive", format.name()), |b| {
            b.iter(|| {
                let input = Input::Stream(Box::new(Cursor::new(text.clone())));
                let mut sink = ArchiveExport::new(io::sink(), false);
                import(input, Reading { format: Some(format), ..Reading::new(tempfile::tempfile) }, &mut sink)
                    .unwrap()
            });
        });
    }
    group.finish();
}

/// Any fixed shuffle.
fn shuffle_key(line: &[u8]) -> u64 {
    line.iter().fold(7, |hash: u64, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn codec(c: &mut Criterion) {
    let ordered = ordered();
    let bytes = archive(&ordered);
    let mut group = c.benchmark_group("archive");
    group.throughput(Throughput::Elements(MESSAGES)).sample_size(20);
    group.bench_function("encode", |b| b.iter(|| archive(black_box(&ordered))));
    group.bench_function("decode", |b| {
        b.iter(|| {
            let mut reader = TraceReader::open(&bytes[..]).unwrap();
            while let Some(block) = reader.next_block().unwrap() {
                black_box(&block);
            }
        });
    });
    group.bench_function("to csv", |b| {
        b.iter(|| {
            let input = Input::Stream(Box::new(Cursor::new(bytes.clone())));
            let mut out = Vec::with_capacity(64 << 20);
            import(input, Reading::new(tempfile::tempfile), &mut CsvExport::new(&mut out)).unwrap();
            out
        });
    });
    group.finish();
}

fn pfprof(c: &mut Criterion) {
    for name in ["cg-c-128", "milc-128"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/pfsim");
        let Ok(packed) = std::fs::read(folder.join(format!("{name}.tar.gz"))) else {
            println!("{name}.tar.gz is not there: skipped");
            continue;
        };
        let mut inflated = Vec::new();
        MultiGzDecoder::new(&packed[..]).read_to_end(&mut inflated).unwrap();
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(inflated.len() as u64));
        group.bench_function("inflate", |b| {
            b.iter(|| io::copy(&mut MultiGzDecoder::new(&packed[..]), &mut io::sink()).unwrap());
        });
        group.bench_function("read", |b| {
            b.iter(|| read_pfprof(Input::Stream(Box::new(Cursor::new(packed.clone())))).unwrap());
        });
        group.bench_function("to archive", |b| {
            b.iter(|| {
                let input = Input::Stream(Box::new(Cursor::new(packed.clone())));
                import(input, Reading::new(tempfile::tempfile), &mut ArchiveExport::new(io::sink(), false))
                    .unwrap()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, text, codec, pfprof);
criterion_main!(benches);
