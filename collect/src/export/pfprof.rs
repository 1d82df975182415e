//! PFProf archives: a tar of one JSON object a rank, with sums by peer, as PFSim and other tools of
//! PFProf read them.
//!
//! Members are `result0.json`, `result1.json`, `result10.json`, … in the order of their names, as
//! PFProf's own. Single messages and times are lost. Every pair of ranks has an entry, so the size
//! grows with the square of the ranks; memory is proportional to the pairs with messages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::trace::{Block, Header, MessageBlock, MessageSize, Rank, RunFacts, Sink, Summary, Tally};
use crate::{Cell, Error, MatrixBuilder, Result, TrafficMatrix};

/// Most ranks: four arrays with two bytes per pair then make 2 GiB of text.
const MOST_RANKS: u32 = 1 << 14;

/// Key of a histogram: direction, and size of the message.
type Size = (u32, bool, u64);

/// Writes a PFProf archive.
#[derive(Debug)]
pub struct PfprofExport<W: Write> {
    out: W,
    gzip: bool,
    source: String,
    tally: Tally,
    matrix: MatrixBuilder,
    sizes: BTreeMap<Size, u64>,
}

impl<W: Write> PfprofExport<W> {
    /// An archive on `out`, which should be buffered; gzip'ed on request.
    pub fn new(out: W, gzip: bool) -> Self {
        let (source, tally) = (String::new(), Tally::default());
        Self { out, gzip, source, tally, matrix: MatrixBuilder::default(), sizes: BTreeMap::new() }
    }

    fn messages(&mut self, messages: &MessageBlock) -> Result<()> {
        self.tally.messages(messages)?;
        let columns = messages.columns();
        self.matrix.add_messages(&columns.src, &columns.dst, &columns.bytes)?;
        for ((src, dst), bytes) in columns.src.iter().zip(&columns.dst).zip(&columns.bytes) {
            *self.sizes.entry((*src, false, *bytes)).or_default() += 1;
            *self.sizes.entry((*dst, true, *bytes)).or_default() += 1;
        }
        Ok(())
    }

    fn write(&mut self, summary: &Summary) -> Result<()> {
        let ranks = summary.ranks;
        if ranks > MOST_RANKS {
            return Err(Error::data(format!(
                "the trace has {ranks} ranks, a PFProf archive holds every pair of at most {MOST_RANKS}; use --to archive"
            )));
        }
        if ranks == 0 {
            return Err(Error::data("the trace has no ranks, a PFProf archive has a file for each of them"));
        }
        let sent = std::mem::take(&mut self.matrix).finish();
        let transposed = sent.cells().map(|cell| Cell { src: cell.dst, dst: cell.src, ..cell });
        let run = Run {
            received: TrafficMatrix::from_cells(transposed)?,
            sent,
            source: serde_json::to_string(&self.source).map_err(|error| Error::data(error.to_string()))?,
            duration_ns: summary.duration_ns,
            ranks,
            sizes: &self.sizes,
        };
        if self.gzip {
            let mut out = GzEncoder::new(&mut self.out, Compression::default());
            run.write(&mut out)?;
            out.finish()?;
        } else {
            run.write(&mut self.out)?;
        }
        Ok(self.out.flush()?)
    }
}

impl<W: Write> Sink for PfprofExport<W> {
    fn begin(&mut self, header: &Header) -> Result<()> {
        self.source.clone_from(&header.source);
        Ok(())
    }

    fn block(&mut self, block: Block<'_>) -> Result<()> {
        match block {
            Block::Messages(messages) => self.messages(messages),
            Block::Matrix(cells) => {
                self.tally.cells(cells)?;
                cells.iter().try_for_each(|cell| self.matrix.add(*cell))
            }
            Block::Sizes(sizes) => {
                for MessageSize { rank, received, bytes, messages } in sizes {
                    let count = self.sizes.entry((*rank, *received, *bytes)).or_default();
                    *count = count.saturating_add(*messages);
                }
                Ok(())
            }
            Block::Calls(_) | Block::Marks(_) => Ok(()),
        }
    }

    fn finish(&mut self, facts: &RunFacts) -> Result<Summary> {
        let summary = self.tally.finish(facts)?;
        self.write(&summary)?;
        Ok(summary)
    }
}

/// All that the rank files say.
struct Run<'a> {
    sent: TrafficMatrix,
    received: TrafficMatrix,
    /// As a JSON text.
    source: String,
    duration_ns: Option<u64>,
    ranks: u32,
    sizes: &'a BTreeMap<Size, u64>,
}

impl Run<'_> {
    fn write(&self, out: &mut impl Write) -> Result<()> {
        let mut names: Vec<(String, u32)> =
            (0..self.ranks).map(|rank| (format!("result{rank}.json"), rank)).collect();
        // In the order of `ls`: PFSim processes equally heavy pairs in the order of the members.
        names.sort_unstable_by_key(|(_, rank)| rank.to_string());
        let mut archive = tar::Builder::new(out);
        for (name, rank) in names {
            let text = self.rank_file(rank);
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            archive.append_data(&mut header, name, text.as_bytes())?;
        }
        Ok(archive.finish()?)
    }

    fn rank_file(&self, rank: u32) -> String {
        let (sent, received) = (self.sent.row(Rank(rank)), self.received.row(Rank(rank)));
        let (sent, received): (Vec<Cell>, Vec<Cell>) = (sent.collect(), received.collect());
        let events = sent.iter().chain(&received).fold(0_u64, |sum, cell| sum.saturating_add(cell.messages));
        let mut text = format!("{{\"description\":{},\"n_events\":{events},", self.source);
        if let Some(ns) = self.duration_ns {
            let _ = write!(text, "\"duration\":{}.{:09},", ns / 1_000_000_000, ns % 1_000_000_000);
        }
        let _ = write!(text, "\"n_procs\":{},\"processor_name\":\"\",\"rank\":{rank}", self.ranks);
        for (name, row, count) in [
            ("tx_bytes", &sent, (|cell| cell.bytes) as fn(&Cell) -> u64),
            ("tx_messages", &sent, |cell| cell.messages),
            ("rx_bytes", &received, |cell| cell.bytes),
            ("rx_messages", &received, |cell| cell.messages),
        ] {
            let _ = write!(text, ",\"{name}\":[");
            self.dense(&mut text, row, count);
            text.push(']');
        }
        for (name, received) in [("tx_message_sizes", false), ("rx_message_sizes", true)] {
            let _ = write!(text, ",\"{name}\":[");
            let own = self.sizes.range((rank, received, 0)..=(rank, received, u64::MAX));
            for (at, ((_, _, bytes), messages)) in own.enumerate() {
                let comma = if at == 0 { "" } else { "," };
                let _ = write!(text, "{comma}{{\"frequency\":{messages},\"message_size\":{bytes}}}");
            }
            text.push(']');
        }
        text.push_str("}\n");
        text
    }

    /// An entry for every peer.
    fn dense(&self, text: &mut String, row: &[Cell], count: fn(&Cell) -> u64) {
        let mut row = row.iter().peekable();
        for peer in 0..self.ranks {
            if peer > 0 {
                text.push(',');
            }
            let number = row.next_if(|cell| cell.dst.0 == peer).map_or(0, count);
            let _ = write!(text, "{number}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Input, read_pfprof};
    use crate::trace::Kind;

    fn cell(src: u32, dst: u32, messages: u64, bytes: u64) -> Cell {
        Cell { src: Rank(src), dst: Rank(dst), messages, bytes }
    }

    fn written(gzip: bool, ranks: u32, cells: &[Cell], sizes: &[MessageSize]) -> Result<Vec<u8>> {
        let mut archive = Vec::new();
        let mut export = PfprofExport::new(&mut archive, gzip);
        export.begin(&Header::new(Kind::Aggregate, "a \"test\""))?;
        export.block(Block::Matrix(cells))?;
        export.block(Block::Sizes(sizes))?;
        let facts = RunFacts { ranks: Some(ranks), duration_ns: Some(1_000_000_001), ..RunFacts::default() };
        export.finish(&facts)?;
        Ok(archive)
    }

    #[test]
    fn our_own_reader_finds_what_was_written() {
        let cells = [cell(0, 1, 2, 30), cell(2, 0, 1, 0), cell(11, 11, 1, 7)];
        let size = |rank, received| MessageSize { rank, received, bytes: 15, messages: 2 };
        let sizes = [size(0, false), size(1, true)];
        for gzip in [false, true] {
            let archive = written(gzip, 12, &cells, &sizes).unwrap();
            let read = read_pfprof(Input::Stream(Box::new(std::io::Cursor::new(archive)))).unwrap();
            assert_eq!(read.matrix.cells().collect::<Vec<_>>(), cells);
            assert_eq!(read.sizes, sizes);
            let facts = (read.facts.ranks, read.facts.duration_ns, read.facts.unmatched);
            assert_eq!(facts, (Some(12), Some(1_000_000_001), Some(0)));
        }
    }

    #[test]
    fn members_and_text_are_those_of_pfprof() {
        let archive = written(false, 12, &[cell(0, 1, 2, 30)], &[]).unwrap();
        let mut archive = tar::Archive::new(&archive[..]);
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names[..4], ["result0.json", "result1.json", "result10.json", "result11.json"]);
        let small = written(false, 2, &[cell(0, 1, 2, 30)], &[]).unwrap();
        let expected = concat!(
            r#"{"description":"a \"test\"","n_events":2,"duration":1.000000001,"n_procs":2,"processor_name":"","rank":0,"#,
            r#""tx_bytes":[0,30],"tx_messages":[0,2],"rx_bytes":[0,0],"rx_messages":[0,0],"#,
            r#""tx_message_sizes":[],"rx_message_sizes":[]}"#,
        );
        assert!(small[512..].starts_with(expected.as_bytes()));
    }

    #[test]
    fn too_many_ranks_are_refused() {
        let error = written(false, 16_385, &[], &[]).unwrap_err().to_string();
        let expected =
            "the trace has 16385 ranks, a PFProf archive holds every pair of at most 16384; use --to archive";
        assert_eq!(error, expected);
    }
}
