//! Archives that a disk, a network or a person changed give an error or the same answer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so and fails")]

mod stages;

use std::io::Cursor;

use phaseflow_collect::Result;
use phaseflow_collect::archive::{ArchiveReader, ArchiveWriter};
use phaseflow_collect::export::CsvExport;
use phaseflow_collect::import::{Input, Reading, import};
use phaseflow_collect::trace::{Details, MessageBlock};
use phaseflow_report::{Results, RunView, Table, TableWriter};
use phaseflow_segment::{Records, read_with_messages};
use stages::{collect, output, run, segment, simulate};

/// Bits that are flipped in each archive: half of them anywhere, half of them in JSON.
const BITS: u64 = 200;

fn archives() -> [(&'static str, Vec<u8>); 3] {
    let trace = collect(&["--pattern", "(halo2d*3,alltoall*2)*4", "--ranks", "8", "--bytes", "64B"]);
    let phases = segment(&[], &trace);
    let sweep = ["--topology", "xgft[m=4:2,w=1:2]", "--router", "dmodk,greedy"];
    let results = output(simulate(&sweep), &phases);
    [("trace", trace), ("phases", phases), ("results", results)]
}

/// An archive's contents as its reader sees them, as text.
fn read(stage: &str, bytes: &[u8]) -> Result<String> {
    match stage {
        "trace" => {
            let mut csv = Vec::new();
            let input = Input::Stream(Box::new(Cursor::new(bytes.to_vec())));
            let imported = import(input, Reading::new(tempfile::tempfile), &mut CsvExport::new(&mut csv))?;
            Ok(format!("{:?} {}", imported, String::from_utf8_lossy(&csv)))
        }
        "phases" => {
            let mut text = String::new();
            let chosen = read_with_messages(ArchiveReader::open(bytes)?, true, &mut |place, records| {
                let records = match records {
                    Records::Messages(block) | Records::Margin(block) => {
                        format!("{:?}", block.iter().collect::<Vec<_>>())
                    }
                    Records::Calls(calls) => format!("{calls:?}"),
                };
                text.push_str(&format!("{place:?} {records}"));
                Ok(())
            })?;
            Ok(format!("{chosen:?} {text}"))
        }
        _ => {
            let mut text = String::new();
            for name in ["runs", "phases", "links", "jobs", "series", "statistics"] {
                let mut results = Results::open([("results".to_string(), bytes)], false)?;
                let mut table = TableWriter::new(Table::named(name)?, Vec::new(), true)?;
                while let Some(run) = results.next_run()? {
                    table.run(&RunView::new(&run, results.networks(), results.workloads()))?;
                }
                text.push_str(&String::from_utf8_lossy(&table.finish()?));
            }
            Ok(text)
        }
    }
}

fn members(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut reader = ArchiveReader::open(bytes).unwrap();
    let header: serde_json::Value = reader.header(&reader.format().unwrap(), 1).unwrap();
    let mut members = vec![("header.json".to_string(), format!("{header}\n").into_bytes())];
    while let Some(member) = reader.next_member().unwrap() {
        let content = reader.bytes(&member, 1 << 30).unwrap();
        members.push((member.name, content));
    }
    members
}

/// The flipped bits are a sample of all bits, including JSON members and the bytes between members.
#[test]
fn a_flipped_bit_is_an_error_that_names_the_member_or_changes_nothing() {
    // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    let mut state = 13_u64;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    for (stage, bytes) in archives() {
        let names: Vec<String> = members(&bytes).into_iter().map(|member| member.0).collect();
        let expected = read(stage, &bytes).unwrap();
        let (mut wrong, mut noticed) = (Vec::new(), 0);
        // The first bits after up to `BITS` keys in JSON: such bits changed answers before there
        // were checksums.
        let keys: Vec<usize> = (2..bytes.len()).filter(|at| bytes[at - 2..*at] == *b"\":").collect();
        let of_json = keys.iter().step_by(keys.len().div_ceil(BITS as usize)).map(|at| 8 * *at as u64);
        let bits: Vec<u64> = (0..BITS).map(|_| random() % (8 * bytes.len() as u64)).chain(of_json).collect();
        for bit in bits {
            let mut flipped = bytes.clone();
            flipped[(bit / 8) as usize] ^= 1 << (bit % 8);
            match read(stage, &flipped) {
                Ok(found) if found == expected => {}
                Ok(_) => wrong.push(format!("bit {bit} of {stage} changes the answer")),
                Err(error) => {
                    noticed += 1;
                    let text = error.to_string();
                    // Before the first member there is no member to name.
                    if bit >= 512 * 8 && !names.iter().any(|name| text.contains(name.as_str())) {
                        wrong.push(format!("bit {bit} of {stage} names no member: {text}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(noticed > 50, "{stage}: {noticed} noticed");
    }
}

/// Archives of earlier versions and of other programs have no checksums.
#[test]
fn archives_without_checksums_are_read() {
    for (stage, bytes) in archives() {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, content) in members(&bytes) {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &content[..]).unwrap();
        }
        let packed = tar.into_inner().unwrap();
        assert_eq!(read(stage, &packed).unwrap(), read(stage, &bytes).unwrap(), "{stage}");
    }
}

/// The archive with one member changed.
fn changed(archive: &[u8], name: &str, change: impl FnOnce(&mut MessageBlock)) -> Vec<u8> {
    let members = members(archive);
    let header: serde_json::Value = serde_json::from_slice(&members[0].1).unwrap();
    let mut writer = ArchiveWriter::new(Vec::new(), false, &header).unwrap();
    let last = members.len() - 1;
    let mut change = Some(change);
    for (member, content) in &members[1..last] {
        if member != name {
            writer.member(member, content).unwrap();
            continue;
        }
        let mut block = MessageBlock::default();
        block.decode(content, Details::ALL).unwrap();
        change.take().unwrap()(&mut block);
        writer.member(member, &block.encode(Vec::new())).unwrap();
    }
    assert!(change.is_none(), "{name} is in the archive");
    let summary: serde_json::Value = serde_json::from_slice(&members[last].1).unwrap();
    writer.finish(&summary).unwrap()
}

#[test]
fn messages_that_are_not_those_of_the_matrix_are_refused() {
    let trace = collect(&["--pattern", "shift*3,alltoall*3", "--ranks", "4", "--bytes", "100B"]);
    let folder = tempfile::tempdir().unwrap();
    for (options, member, written) in [
        (&["--keep-messages"][..], "messages/000000", "messages"),
        (&[], "window-messages-0/000000", "window-messages"),
    ] {
        let phases = segment(&[options, &["--method", "marks"]].concat(), &trace);
        // A shift's first message, three times 100 bytes from rank 0 to rank 1, becomes one of 150.
        let wrong = changed(&phases, member, |block| {
            let messages: Vec<_> = block.iter().collect();
            block.clear();
            for (number, message) in messages.into_iter().enumerate() {
                let bytes = if number == 0 { message.bytes + 50 } else { message.bytes };
                block.push(&phaseflow_collect::trace::Message { bytes, ..message });
            }
        });
        let path = folder.path().join("phases.tar");
        std::fs::write(&path, wrong).unwrap();
        for model in ["traffic", "flow"] {
            let command =
                simulate(&[path.to_str().unwrap(), "--topology", "star[hosts=4]", "--model", model]);
            let done = run(command, b"");
            let expected = format!(
                "pf-simulate: {}: matrix-0: from rank 0 to rank 1 it has 3 messages of 300 bytes, `{written}` has 3 of 350: the archive contradicts itself\n",
                path.display()
            );
            assert_eq!(String::from_utf8(done.stderr).unwrap(), expected, "{model}");
            assert_eq!(done.status.code(), Some(1));
        }
    }
}
