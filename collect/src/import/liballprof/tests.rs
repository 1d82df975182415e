//! Texts as liballprof writes them.

use proptest::prelude::*;

use crate::Result;
use crate::expand::Rules;
use crate::export::ArchiveExport;
use crate::import::{Imported, Input, Reading, import};
use crate::trace::{Block, Call, Message, Operation, Rank, TraceReader};

/// Rank 0 of two; `{}` is what it calls.
const HEAD: &str =
    "# htor's PMPI Tracer 0.9 Output File\n# hostname: a.\n# clockdiff: 0.000000 s (relative to rank 0)\n\n";

fn text(rank: u32, host: &str, calls: &str) -> String {
    let head = HEAD.replace("a.", host);
    format!("{head}MPI_Init:-:7:8:1000\nMPI_Comm_size:1001:94,{rank},2:7:1002\n{calls}MPI_Finalize:9000:-\n")
}

fn collect(texts: &[String], expand: Option<Rules>) -> Result<(Imported, Vec<Message>, Vec<Call>)> {
    let folder = tempfile::tempdir().unwrap();
    for (rank, text) in texts.iter().enumerate() {
        std::fs::write(folder.path().join(format!("pmpi-trace-rank-{rank}.txt")), text).unwrap();
    }
    let mut archive = Vec::new();
    let reading = Reading { expand, ..Reading::new(tempfile::tempfile) };
    let input = Input::Directory(folder.path().into());
    let imported = import(input, reading, &mut ArchiveExport::new(&mut archive, false))?;
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    let mut reader = TraceReader::open(&archive[..])?;
    while let Some(block) = reader.next_block()? {
        match block {
            Block::Messages(block) => messages.extend(block.iter()),
            Block::Calls(block) => calls.extend_from_slice(block),
            _ => {}
        }
    }
    Ok((imported, messages, calls))
}

/// A send, a pair of requests that a waitall completes, a persistent one, a sendrecv.
fn both() -> [String; 2] {
    let sender = "MPI_Send:1100.000000:7:10:2,4,4:1:5:94,0,2:1110.500000\n\
        MPI_Isend:1200:7:3:11,8,8:1:6:94,0,2:504:1201\n\
        MPI_Isend:1202:7:4:11,8,8:1:6:94,0,2:512:1203\n\
        MPI_Waitall:1204:2:504:9:1250\n\
        MPI_Send_init:1300:7:1:2,4,4:1:7:94,0,2:600:1301\n\
        MPI_Start:1302:600:1303\nMPI_Wait:1304:600:9:1310\n\
        MPI_Start:1312:600:1313\nMPI_Wait:1314:600:9:1320\n\
        MPI_Sendrecv:1400:7:1:2,4,4:1:8:7:2:2,4,4:1:9:94,0,2:0:1450\n\
        MPI_Allreduce:1500:7:8:6:2,4,4:3:94,0,2:1510\n";
    let receiver = "MPI_Recv:1090:7:10:2,4,4:0:5:94,1,2:0:1120\n\
        MPI_Irecv:1191:7:3:11,8,8:0:6:94,1,2:700:1192\n\
        MPI_Irecv:1193:7:4:11,8,8:0:6:94,1,2:704:1194\n\
        MPI_Waitall:1195:2:700:9:1260\n\
        MPI_Recv:1301:7:1:2,4,4:0:7:94,1,2:0:1311\nMPI_Recv:1312:7:1:2,4,4:0:7:94,1,2:0:1321\n\
        MPI_Sendrecv:1401:7:2:2,4,4:0:9:7:1:2,4,4:0:8:94,1,2:0:1451\n\
        MPI_Allreduce:1500:7:8:6:2,4,4:3:94,1,2:1511\n";
    [text(0, "a", sender), text(1, "a", receiver)]
}

#[test]
fn messages_and_calls_of_two_ranks() {
    let (imported, messages, calls) = collect(&both(), Some(Rules::Basic)).unwrap();
    let us = |time: f64| (time * 1000.0) as i64;
    let point: Vec<_> = messages
        .iter()
        .filter(|message| message.operation != Operation::Allreduce)
        .map(|m| {
            (m.src.0, m.bytes, m.send_post_ns, m.send_complete_ns.unwrap(), m.receive_complete_ns.unwrap())
        })
        .collect();
    let expected = [
        (0, 40, us(1100.0), us(1110.5), us(1120.0)),
        (0, 24, us(1200.0), us(1250.0), us(1260.0)),
        (0, 32, us(1202.0), us(1250.0), us(1260.0)),
        (0, 4, us(1302.0), us(1310.0), us(1311.0)),
        (0, 4, us(1312.0), us(1320.0), us(1321.0)),
        (0, 4, us(1400.0), us(1450.0), us(1451.0)),
        (1, 8, us(1401.0), us(1451.0), us(1450.0)),
    ];
    assert_eq!(point, expected);
    let reduced: Vec<_> =
        messages.iter().filter(|m| m.operation == Operation::Allreduce).map(|m| (m.src.0, m.bytes)).collect();
    assert_eq!(reduced, [(1, 24), (0, 24)], "a reduction to rank 0 and a broadcast from it");
    let summary = imported.summary;
    assert_eq!((summary.ranks, summary.unmatched, summary.clock_error_ns), (2, Some(0), Some(0)));
    let all =
        calls.iter().find(|call| call.operation == Operation::Allreduce && call.rank == Rank(0)).unwrap();
    assert_eq!((all.enter_ns, all.leave_ns, all.bytes), (us(1500.0), Some(us(1510.0)), Some(24)));
    assert_eq!(calls.iter().filter(|call| call.operation == Operation::Finalize).count(), 2);
}

#[test]
fn what_the_format_does_not_say_is_said() {
    let sender = "MPI_Send:1100:7:10:2,4,4:1:5:94,0,2:1110\nMPI_Send:1200:7:10:2,4,4:0:5:77,1,3:1210\n";
    // Any source; a communicator of three of which nobody knows the members.
    let receiver = "MPI_Recv:1090:7:10:2,4,4:-1:5:94,1,2:0:1120\n";
    let (imported, messages, _) = collect(&[text(0, "a", sender), text(1, "a", receiver)], None).unwrap();
    assert_eq!((messages.len(), imported.summary.unmatched), (1, Some(0)));
    assert_eq!(
        imported.remarks,
        [
            "1 receives do not say whose message they took; those messages have no receive times",
            "1 messages to processes of another MPI_COMM_WORLD or of unknown communicators are left out: their receivers are unknown",
        ]
    );
}

#[test]
fn mistakes_name_file_and_line() {
    let error = |texts: &[String]| collect(texts, None).map(|_| ()).unwrap_err().to_string();
    let [first, second] = both();
    assert_eq!(
        error(&[first.clone(), second.replace("MPI_Irecv:1191:7:3", "MPI_Irecv:1191:7:q")]),
        "pmpi-trace-rank-1.txt: line 8: MPI_Irecv: field 4: found `q`, expected a whole number"
    );
    assert_eq!(
        error(std::slice::from_ref(&first)),
        "the files of rank 1 are missing: the run has 2 ranks (by the calls on MPI_COMM_WORLD)"
    );
    let cut = second.len() - 30;
    let message = error(&[first, second[..cut].to_string()]);
    assert!(message.starts_with("pmpi-trace-rank-1.txt: line 14: MPI_Allreduce: field "), "{message}");
}

/// A file that ends too early is an error with its line, or is said.
#[test]
fn cut_files_say_where() {
    let [first, second] = both();
    let remarks = |second: &str| {
        collect(&[first.clone(), second.to_string()], None).map(|(imported, ..)| imported.remarks)
    };
    let said = "the files of rank 1 do not end with MPI_Finalize: they may be cut";
    assert!(!remarks(&second).unwrap().iter().any(|remark| remark == said));
    for length in 0..second.len() {
        match remarks(&second[..length]) {
            Ok(remarks) => assert_eq!(remarks.last().map(String::as_str), Some(said), "{length}"),
            Err(error) => {
                let error = error.to_string();
                let has_place = error.starts_with("pmpi-trace-rank-1.txt: line ");
                let is_unknown = error.contains("the files of rank 1 are missing");
                assert!(has_place || is_unknown, "{length}: {error}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_damage_makes_reading_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b":,-0189\n.M#".to_vec())), 0..5),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let [first, second] = both();
        let mut bytes = second.replace("hostname: a", "hostname: b").into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        let _ = collect(&[first, String::from_utf8_lossy(&bytes).into_owned()], Some(Rules::Basic));
    }
}
