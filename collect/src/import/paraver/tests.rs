//! Traces by hand, as Extrae writes them.

use proptest::prelude::*;

use super::*;
use crate::export::ArchiveExport;
use crate::import::{Input, Reading, import};
use crate::trace::{Block, Call, Message, Operation, Rank, TraceReader};

const HEADER: &str = "#Paraver (10/04/2001 at 18:21):1000_ns:1(2):1:2(1:1,1:1),1\n";
/// A barrier that rank 1 enters first, a message that stands where it is received, a reduction.
const RECORDS: &str = "c:1:1:2:1:2\n\
    1:1:1:1:1:0:1000:1\n\
    2:2:1:2:1:90:50000002:8:50100004:1\n\
    2:1:1:1:1:100:50000002:8:42000050:7\n\
    2:1:1:1:1:120:50000002:0\n\
    2:2:1:2:1:130:50000002:0\n\
    2:1:1:1:1:200:50000001:1\n\
    2:1:1:1:1:210:50000001:0\n\
    2:2:1:2:1:220:50000001:2\n\
    3:1:1:1:1:200:205:2:1:2:1:220:260:4096:17\n\
    2:2:1:2:1:260:50000001:0\n\
    2:1:1:1:1:300:50000002:77\n\
    2:1:1:1:1:300:50100001:64:50100002:64:50100003:0:50100004:1\n\
    2:1:1:1:1:310:50000002:0\n";
const PCF: &str = "DEFAULT_OPTIONS\nLEVEL THREAD\n\nEVENT_TYPE\n9   50000002   MPI Collective Comm\nVALUES\n\
    77   MPI_Reduce\n8   MPI_Barrier\n0   Outside MPI\n\nEVENT_TYPE\n0 60000019 User\nVALUES\n1 MPI_Bcast\n";

fn collect(input: Input) -> Result<(Imported, Vec<Message>, Vec<Call>)> {
    let mut archive = Vec::new();
    let imported =
        import(input, Reading::new(tempfile::tempfile), &mut ArchiveExport::new(&mut archive, false))?;
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

fn stream(text: String) -> Result<(Imported, Vec<Message>, Vec<Call>)> {
    collect(Input::Stream(Box::new(std::io::Cursor::new(text.into_bytes()))))
}

#[test]
fn a_trace_with_its_names() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.prv"), format!("{HEADER}{RECORDS}")).unwrap();
    std::fs::write(folder.path().join("x.pcf"), PCF).unwrap();
    std::fs::write(folder.path().join("x.row"), "LEVEL CPU SIZE 2\na\nb\n\nLEVEL TASK SIZE 2\n1\n2\n")
        .unwrap();
    for input in [
        Input::Directory(folder.path().into()),
        Input::open(&folder.path().join("x.prv")).unwrap(),
        Input::open(&folder.path().join("x.pcf")).unwrap(),
    ] {
        let (imported, messages, calls) = collect(input).unwrap();
        assert_eq!(imported.remarks, Vec::<String>::new());
        let summary = imported.summary;
        assert_eq!((summary.ranks, summary.start_ns, summary.end_ns), (2, Some(0), Some(1000)));
        let expected = Message {
            send_post_ns: 200,
            src: Rank(0),
            dst: Rank(1),
            bytes: 4096,
            tag: Some(17),
            receive_post_ns: Some(220),
            receive_complete_ns: Some(260),
            ..Message::default()
        };
        assert_eq!(messages, [expected]);
        let found: Vec<_> = calls
            .iter()
            .map(|call| (call.enter_ns, call.leave_ns, call.rank.0, call.operation, call.bytes))
            .collect();
        let expected = [
            (90, Some(130), 1, Operation::Barrier, None),
            (100, Some(120), 0, Operation::Barrier, None),
            (200, Some(210), 0, Operation::Send, None),
            (220, Some(260), 1, Operation::Recv, None),
            (300, Some(310), 0, Operation::Reduce, Some(64)),
        ];
        assert_eq!(found, expected);
        assert_eq!(calls[0].communicator, Some(0));
    }
    // A trace in microseconds, from a pipe, without names: the reduction has none.
    let text = format!("{}{RECORDS}", HEADER.replace("_ns", ""));
    let (imported, messages, calls) = stream(text).unwrap();
    assert_eq!(
        imported.remarks,
        ["1 MPI calls have no name, and are left out: the .pcf file beside the trace has them"]
    );
    assert_eq!((messages[0].send_post_ns, calls.len()), (200_000, 4));
    std::fs::write(folder.path().join("y.prv"), HEADER).unwrap();
    let error = collect(Input::Directory(folder.path().into())).unwrap_err().to_string();
    assert_eq!(error, "holds two traces, x.prv and y.prv; name the .prv file of one");
}

#[test]
fn mistakes_name_their_line() {
    let error = |text: &str| stream(format!("{HEADER}{text}")).unwrap_err().to_string();
    assert_eq!(
        error("3:1:1:1:1:200:205:2:1:9:1:220:260:4096:17\n"),
        "line 2: is of task 9 of application 1, which the header does not have"
    );
    assert_eq!(error("1:\n3:1:x\n"), "line 3: found `x`, expected 14 numbers of a message");
    assert_eq!(error("4:1\n"), "line 2: found `4:1`, expected a record that begins with 1:, 2:, 3: or c:");
    assert_eq!(error("2:1:1:1:1:5:7"), "line 2: found ``, expected the value of an event");
}

/// A cut within a line is an error with its line, or is said; one between two lines cannot be seen.
#[test]
fn cut_files_say_where() {
    let whole = format!("{HEADER}{RECORDS}");
    let remarks = |text: &str| stream(text.into()).map(|(imported, ..)| imported.remarks);
    let usual = remarks(&whole).unwrap();
    for length in 40..whole.len() {
        let cut = &whole[..length];
        let line = cut.matches('\n').count() + 1;
        match remarks(cut) {
            Err(error) => assert!(error.to_string().starts_with(&format!("line {line}: ")), "{error}"),
            Ok(remarks) if cut.ends_with('\n') => assert!(remarks.len() <= usual.len()),
            Ok(remarks) => {
                let expected =
                    format!("line {line}, the last one, has no line end: the file may be cut there");
                assert_eq!(remarks.last(), Some(&expected));
            }
        }
    }
}

proptest! {
    /// Messages that stand a few places from theirs come in order; beyond the room it is an error.
    #[test]
    fn order_is_restored_within_the_room(
        times in prop::collection::vec(0i64..50, 0..100), room in 1usize..120,
    ) {
        let mut archive = Vec::new();
        let mut sink = ArchiveExport::new(&mut archive, false);
        sink.begin(&Header::new(Kind::Timed, "test")).unwrap();
        let mut order = order::Order::holding(&mut sink, room);
        let mut failed = false;
        for (number, time) in times.iter().enumerate() {
            let message = Message { send_post_ns: *time, bytes: number as u64, ..Message::default() };
            failed |= order.message(message).is_err();
        }
        if failed {
            // Whoever holds everything cannot fail.
            prop_assert!(room < times.len());
        } else {
            order.finish().unwrap();
            sink.finish(&RunFacts::default()).unwrap();
            let mut expected: Vec<_> = times.iter().enumerate().map(|(number, time)| (*time, number as u64)).collect();
            expected.sort_unstable();
            let mut found = Vec::new();
            let mut reader = TraceReader::open(&archive[..]).unwrap();
            while let Some(block) = reader.next_block().unwrap() {
                if let Block::Messages(block) = block {
                    found.extend(block.iter().map(|message| (message.send_post_ns, message.bytes)));
                }
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn no_damage_makes_reading_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = format!("{HEADER}{RECORDS}").into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = collect(Input::Stream(Box::new(std::io::Cursor::new(bytes))));
        let mut names = PCF.as_bytes().to_vec();
        let at = cut.index(names.len());
        names[at] = b'9';
        let _ = Names::parse(&String::from_utf8_lossy(&names));
    }
}
