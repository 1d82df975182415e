//! Records of a run, and the trace archive.
//!
//! A trace archive is *timed*, blocks of [`Message`]s, [`Call`]s and [`Mark`]s each in ascending
//! time; or *ordered*, the same with positions in place of times; or *aggregate*, one
//! [`TrafficMatrix`](crate::TrafficMatrix). In all the [`Summary`] comes last.
//!
//! Order of a timed archive: messages by send post time, then source, then the order in which the
//! source sent them; calls by enter time, then rank; marks by time, then rank. A call or mark
//! precedes every message block whose last message is later, so a reader gets it before the
//! messages that it governs.

mod block;
mod header;
mod reader;
mod record;
mod sink;
mod tally;
mod unmatched;
mod writer;

pub use block::{Details, MessageBlock, MessageColumns};
pub use header::{FORMAT, Header, Kind, Summary, VERSION};
pub use phaseflow_profiler::Operation;
pub use reader::{Block, TraceReader, decode_calls, read_cells};
pub use record::{Call, MOST_RANKS, Mark, Message, Rank};
pub use sink::Sink;
pub use tally::Tally;
pub use unmatched::{UnmatchedReceive, UnmatchedReceives};
pub use writer::{MessageSize, RunFacts, TraceWriter, encode_calls, write_aggregate, write_matrix};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::ArchiveWriter;
    use crate::{Cell, TrafficMatrix};

    fn message(t: i64, src: u32, dst: u32) -> Message {
        Message { send_post_ns: t, src: Rank(src), dst: Rank(dst), bytes: 8, ..Message::default() }
    }

    /// The blocks of a trace as text, one line per block.
    fn blocks(bytes: &[u8]) -> crate::Result<(Vec<String>, Summary)> {
        let mut reader = TraceReader::open(bytes)?;
        let mut seen = Vec::new();
        while let Some(block) = reader.next_block()? {
            seen.push(match block {
                Block::Messages(block) => format!("{} messages", block.len()),
                Block::Calls(calls) => format!("{calls:?}"),
                Block::Marks(marks) => format!("{marks:?}"),
                Block::Matrix(cells) => format!("{cells:?}"),
                Block::Sizes(sizes) => format!("{sizes:?}"),
            });
        }
        Ok((seen, reader.summary().cloned().unwrap()))
    }

    #[test]
    fn calls_and_marks_stand_before_the_messages_they_govern() {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        let mark = Mark { time_ns: 5, rank: Rank(3), level: -1 };
        let call = Call {
            enter_ns: 7,
            leave_ns: Some(9),
            rank: Rank(0),
            operation: Operation::Bcast,
            communicator: None,
            root: Some(Rank(1)),
            bytes: Some(4),
        };
        writer.message(&message(4, 1, 2)).unwrap();
        writer.mark(&mark).unwrap();
        writer.call(&call).unwrap();
        writer.message(&message(8, 0, 1)).unwrap();
        let (summary, bytes) = writer.finish(&RunFacts::default()).unwrap();
        let (seen, read) = blocks(&bytes).unwrap();
        assert_eq!(seen, [format!("{:?}", [call]), format!("{:?}", [mark]), "2 messages".into()]);
        assert_eq!(summary, read);
        let expected = Summary {
            ranks: 4,
            messages: 2,
            bytes: 16,
            calls: 1,
            marks: 1,
            start_ns: Some(4),
            end_ns: Some(9),
            duration_ns: Some(5),
            ..Summary::default()
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn aggregates_come_back() {
        let cell = Cell { src: Rank(0), dst: Rank(5), messages: 2, bytes: 30 };
        let matrix = TrafficMatrix::from_cells([cell]).unwrap();
        let size = MessageSize { rank: 0, received: true, bytes: 15, messages: 2 };
        let facts = RunFacts { ranks: Some(8), unmatched: Some(0), ..RunFacts::default() };
        let (summary, bytes) = write_aggregate(Vec::new(), true, "pfprof", &matrix, &[size], &facts).unwrap();
        let (seen, read) = blocks(&bytes).unwrap();
        assert_eq!(seen, [format!("{:?}", [cell]), format!("{:?}", [size])]);
        assert_eq!((summary.ranks, summary.duration_ns, &summary), (8, None, &read));
    }

    #[test]
    fn order_is_checked_when_writing_and_when_reading() {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        writer.message(&message(4, 1, 2)).unwrap();
        let error = writer.message(&message(4, 0, 2)).unwrap_err();
        assert_eq!(error.to_string(), "message at 4 ns from rank 0 comes after one at 4 ns from rank 1");
        let mut archive = ArchiveWriter::new(Vec::new(), false, &Header::new(Kind::Timed, "test")).unwrap();
        let mut block = MessageBlock::default();
        block.push(&message(9, 0, 1));
        block.push(&message(5, 3, 1));
        archive.member("messages/000000", &block.encode(Vec::new())).unwrap();
        let bytes = archive.finish(&Summary::default()).unwrap();
        // Blocks that are passed over, too.
        let passed_over = TraceReader::open(&bytes[..]).unwrap().next_block_where(|_, _| false).unwrap_err();
        for error in [blocks(&bytes).unwrap_err(), passed_over] {
            assert_eq!(
                error.to_string(),
                "messages/000000: row 1: time 5 ns of rank 3 is before 9 ns of the row before it"
            );
        }
    }

    #[test]
    fn a_summary_that_disagrees_is_refused() {
        let mut archive = ArchiveWriter::new(Vec::new(), false, &Header::new(Kind::Timed, "test")).unwrap();
        let mut block = MessageBlock::default();
        block.push(&message(9, 0, 1));
        archive.member("messages/000000", &block.encode(Vec::new())).unwrap();
        let bytes =
            archive.finish(&Summary { messages: 2, bytes: 8, ranks: 2, ..Summary::default() }).unwrap();
        assert_eq!(
            blocks(&bytes).unwrap_err().to_string(),
            "summary.json: says messages 2, the archive holds 1"
        );
    }

    #[test]
    fn blocks_that_nobody_wants_are_passed_over() {
        let mut writer = TraceWriter::new(Vec::new(), false, "test").unwrap();
        // Blocks of 256, 512 and 232 messages.
        for time in 0..1000 {
            writer.message(&message(time, 0, 1)).unwrap();
        }
        let bytes = writer.finish(&RunFacts::default()).unwrap().1;
        let mut reader = TraceReader::open(&bytes[..]).unwrap();
        let (mut asked, mut read) = (Vec::new(), Vec::new());
        while let Some(block) = reader
            .next_block_where(|first, last| {
                asked.push((first, last));
                first == 256
            })
            .unwrap()
        {
            let Block::Messages(block) = block else { continue };
            read.extend(block.iter().map(|message| message.send_post_ns));
        }
        assert_eq!(asked, [(0, 255), (256, 767), (768, 999)]);
        assert_eq!(read, (256..768).collect::<Vec<_>>());
        assert_eq!(reader.summary().unwrap().messages, 1000);
    }
}
