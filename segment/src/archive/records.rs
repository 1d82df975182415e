//! The messages and calls of occurrences, on their way from the trace to the phase archive.

use std::cmp::Reverse;
use std::io::Write;
use std::ops::Range;

use phaseflow_collect::Result;
use phaseflow_collect::archive::ArchiveWriter;
use phaseflow_collect::archive::columns::LARGEST_BLOCK;
use phaseflow_collect::trace::{Block, Call, Message, MessageBlock, TraceReader, encode_calls};

use super::margin::{Margins, near};
use crate::input::Rewindable;
use crate::samples::Span;
use crate::second_pass::representative::Representatives;
use crate::segmentation::Segmentation;

/// Where records of some stretch of time go: `messages-N/`, `calls-N/` and `margin-N/` for phase N,
/// the same after `window-` for window N, `messages/` and `calls/` for the whole run. Times are
/// those of the trace's clock.
struct Folder {
    prefix: &'static str,
    suffix: String,
    /// What it is of.
    own_ns: Range<i64>,
    /// What it holds.
    span_ns: Range<i64>,
    /// Where messages may reach into it.
    near_ns: Range<i64>,
    messages: MessageBlock,
    calls: Vec<Call>,
    margin: MessageBlock,
    members: [u32; 3],
}

/// Writes what each representative and each window holds and what reaches into it, or the whole run
/// without windows. Times become nanoseconds since the start of the run. What is in none of them is
/// passed over, and what comes after the last one not read.
pub(crate) fn write<W: Write>(
    archive: &mut ArchiveWriter<W>,
    segmentation: &Segmentation,
    representatives: &Representatives,
    windows: Option<&Vec<Span>>,
    trace: &mut dyn Rewindable,
) -> Result<()> {
    let start_ns = representatives.start_ns;
    let mut folders = match windows {
        None => vec![Folder::whole()],
        Some(windows) => self::folders(segmentation, representatives, windows),
    };
    let since_start = |time_ns: i64| time_ns.wrapping_sub(start_ns).cast_unsigned();
    let span = |folder: &Folder| Span {
        start_ns: since_start(folder.own_ns.start),
        end_ns: since_start(folder.own_ns.end),
    };
    let margins = Margins::new(folders.iter().map(span).enumerate().filter(|_| windows.is_some()));
    // Starts in order: a call that began before one still governs what comes after it.
    let mut starts: Vec<(i64, usize)> = folders.iter().map(|folder| folder.span_ns.start).zip(0..).collect();
    starts.sort_unstable();
    // Those that nothing belongs to yet, the next one last, and those that are not over.
    let mut later: Vec<usize> = (0..folders.len()).collect();
    later.sort_by_key(|folder| Reverse(folders[*folder].near_ns.start));
    let mut open: Vec<usize> = Vec::new();
    let mut reader = TraceReader::open(trace.rewind()?)?;
    while !(later.is_empty() && open.is_empty()) {
        let next_ns = later.last().map(|folder| folders[*folder].near_ns.start);
        let wanted = |_, last_ns| !open.is_empty() || next_ns.is_some_and(|next_ns| next_ns <= last_ns);
        match reader.next_block_where(wanted)? {
            Some(Block::Messages(block)) => {
                let Some(last_ns) = block.columns().send_post_ns.last().copied() else { continue };
                begin(&folders, &mut later, &mut open, last_ns);
                for folder in &open {
                    folders[*folder].add_messages(block, archive, start_ns)?;
                }
                for row in margins.rows(block, start_ns) {
                    let message = block.get(row);
                    for folder in margins.of(&since(&message, start_ns)) {
                        folders[folder].add_outside(&message, archive, start_ns)?;
                    }
                }
                // Calls that are earlier than the last message of a block stand before it.
                let is_over = |folder: &usize| folders[*folder].near_ns.end <= last_ns;
                let over: Vec<usize> = open.extract_if(.., |folder| is_over(folder)).collect();
                for folder in over {
                    folders[folder].flush(archive, start_ns)?;
                    folders[folder].forget();
                }
            }
            Some(Block::Calls(calls)) => {
                let Some(last_ns) = calls.last().map(|call| call.enter_ns) else { continue };
                begin(&folders, &mut later, &mut open, last_ns);
                for call in calls {
                    let first = starts.partition_point(|(start, _)| *start <= call.enter_ns);
                    let goes_on = |start: i64| call.leave_ns.is_none_or(|leave_ns| start < leave_ns);
                    for (_, folder) in starts[first..].iter().take_while(|(start, _)| goes_on(*start)) {
                        folders[*folder].add_call(call, archive, start_ns)?;
                    }
                }
                for folder in &open {
                    folders[*folder].add_calls(calls, archive, start_ns)?;
                }
            }
            Some(Block::Marks(_) | Block::Matrix(_) | Block::Sizes(_)) => {}
            None => break,
        }
    }
    folders.iter_mut().try_for_each(|folder| folder.flush(archive, start_ns))
}

/// Moves folders to which something may belong by `last_ns` from `later`, the next one last, to
/// `open`.
fn begin(folders: &[Folder], later: &mut Vec<usize>, open: &mut Vec<usize>, last_ns: i64) {
    while let Some(folder) = later.pop_if(|folder| folders[*folder].near_ns.start <= last_ns) {
        open.push(folder);
    }
}

/// A message with times since the start of the run.
fn since(message: &Message, start_ns: i64) -> Message {
    let shifted = |time: Option<i64>| time.map(|time| time.wrapping_sub(start_ns));
    Message {
        send_post_ns: message.send_post_ns.wrapping_sub(start_ns),
        send_complete_ns: shifted(message.send_complete_ns),
        receive_post_ns: shifted(message.receive_post_ns),
        receive_complete_ns: shifted(message.receive_complete_ns),
        ..*message
    }
}

/// One for each phase that has a representative, and one for each window.
fn folders(segmentation: &Segmentation, representatives: &Representatives, windows: &[Span]) -> Vec<Folder> {
    let clock = |since_ns: u64| representatives.start_ns.wrapping_add(since_ns.cast_signed());
    let folder = |prefix: &'static str, number: usize, span: Span| {
        // What happens at the very end of the run belongs to what comes before it.
        // A run whose length is unknown has messages of one time only.
        let last = segmentation.header.duration_ns.unwrap_or(0) == span.end_ns;
        let own_ns = clock(span.start_ns)..clock(span.end_ns);
        let mut folder = Folder::of(own_ns.clone());
        (folder.prefix, folder.suffix, folder.near_ns) = (prefix, format!("-{number}"), near(&own_ns));
        if last {
            (folder.span_ns.end, folder.near_ns.end) = (i64::MAX, i64::MAX);
        }
        folder
    };
    let of_phase = representatives.of_phase.iter().enumerate();
    let of_phase = of_phase.filter_map(|(phase, row)| Some((phase, segmentation.occurrences.get((*row)?)?)));
    let of_phase =
        of_phase.map(|(phase, row)| folder("", phase, Span { start_ns: row.start_ns, end_ns: row.end_ns }));
    of_phase
        .chain(windows.iter().enumerate().map(|(number, span)| folder("window-", number, *span)))
        .collect()
}

impl Folder {
    fn of(span_ns: Range<i64>) -> Self {
        Self {
            prefix: "",
            suffix: String::new(),
            own_ns: span_ns.clone(),
            near_ns: span_ns.clone(),
            span_ns,
            messages: MessageBlock::default(),
            calls: Vec::new(),
            margin: MessageBlock::default(),
            members: [0; 3],
        }
    }

    fn whole() -> Self {
        Self::of(i64::MIN..i64::MAX)
    }

    /// Gives back its memory.
    fn forget(&mut self) {
        (self.messages, self.calls, self.margin) = Default::default();
    }

    /// Which of some ascending times lie in it.
    fn rows<T>(&self, records: &[T], time: impl Fn(&T) -> i64) -> Range<usize> {
        let before = |limit: i64| records.partition_point(|record| time(record) < limit);
        let start = before(self.span_ns.start);
        let end = if self.span_ns.end == i64::MAX { records.len() } else { before(self.span_ns.end) };
        start..end.max(start)
    }

    fn add_messages<W: Write>(
        &mut self,
        block: &MessageBlock,
        archive: &mut ArchiveWriter<W>,
        start_ns: i64,
    ) -> Result<()> {
        let mut rows = self.rows(&block.columns().send_post_ns, |time| *time);
        while !rows.is_empty() {
            let end = rows.end.min(rows.start + LARGEST_BLOCK - self.messages.len());
            self.messages.append(block, rows.start..end);
            rows.start = end;
            if self.messages.len() == LARGEST_BLOCK {
                self.flush(archive, start_ns)?;
            }
        }
        Ok(())
    }

    /// Adds a message that reaches into it.
    fn add_outside<W: Write>(
        &mut self,
        message: &Message,
        archive: &mut ArchiveWriter<W>,
        start_ns: i64,
    ) -> Result<()> {
        // One at the very end of the run is inside of what ends there.
        if !self.span_ns.contains(&message.send_post_ns) {
            self.margin.push(message);
        }
        if self.margin.len() == LARGEST_BLOCK { self.flush(archive, start_ns) } else { Ok(()) }
    }

    fn add_calls<W: Write>(
        &mut self,
        calls: &[Call],
        archive: &mut ArchiveWriter<W>,
        start_ns: i64,
    ) -> Result<()> {
        let rows = self.rows(calls, |call| call.enter_ns);
        calls[rows].iter().try_for_each(|call| self.add_call(call, archive, start_ns))
    }

    fn add_call<W: Write>(
        &mut self,
        call: &Call,
        archive: &mut ArchiveWriter<W>,
        start_ns: i64,
    ) -> Result<()> {
        let enter_ns = call.enter_ns.wrapping_sub(start_ns);
        let leave_ns = call.leave_ns.map(|time| time.wrapping_sub(start_ns));
        self.calls.push(Call { enter_ns, leave_ns, ..*call });
        if self.calls.len() == LARGEST_BLOCK { self.flush(archive, start_ns) } else { Ok(()) }
    }

    /// Calls first: they govern the messages.
    fn flush<W: Write>(&mut self, archive: &mut ArchiveWriter<W>, start_ns: i64) -> Result<()> {
        let name = |kind: &str, number: &mut u32| {
            *number += 1;
            format!("{}{kind}{}/{:06}", self.prefix, self.suffix, *number - 1)
        };
        if !self.calls.is_empty() {
            archive.member(&name("calls", &mut self.members[1]), &encode_calls(&self.calls, Vec::new()))?;
            self.calls.clear();
        }
        if !self.messages.is_empty() {
            self.messages.count_from(start_ns);
            archive.member(&name("messages", &mut self.members[0]), &self.messages.encode(Vec::new()))?;
            self.messages.clear();
        }
        if !self.margin.is_empty() {
            self.margin.count_from(start_ns);
            archive.member(&name("margin", &mut self.members[2]), &self.margin.encode(Vec::new()))?;
            self.margin.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Method, Options, Rewind, segment, write_with_messages};
    use phaseflow_collect::archive::ArchiveReader;
    use phaseflow_collect::archive::columns::LARGEST_BYTES;
    use phaseflow_collect::export::ArchiveExport;
    use phaseflow_collect::pattern::{Disturbance, LabelledRun, PatternName, Program, Run};
    use phaseflow_collect::trace::{Details, Header, Kind, Message, Summary};
    use std::collections::BTreeMap;
    use std::io::Cursor;

    /// Messages by member folder, from an archive of a run of two patterns, three rounds each,
    /// twice.
    fn members(all: bool) -> (Segmentation, Representatives, BTreeMap<String, Vec<Message>>) {
        let mut bytes = Vec::new();
        let patterns =
            vec![PatternName::Alltoall, PatternName::Shift, PatternName::Alltoall, PatternName::Shift];
        let run = Run { patterns, ranks: 4, bytes: 8, repeat: 3, gap_ns: 50, seed: 1 };
        run.generate(&mut ArchiveExport::new(&mut bytes, false)).unwrap();
        let mut trace = Rewind(Cursor::new(bytes));
        let options = Options { method: Method::Marks, ..Options::default() };
        let outcome = segment(&mut trace, &options).unwrap();
        let found = outcome.representatives;
        let archive =
            write_with_messages(Vec::new(), true, &outcome.segmentation, &found, all, &mut trace).unwrap();
        let mut reader = ArchiveReader::open(&archive[..]).unwrap();
        let mut members: BTreeMap<String, Vec<Message>> = BTreeMap::new();
        let mut bytes = Vec::new();
        while let Some(member) = reader.next_member().unwrap() {
            let Some((folder, _)) = member.name.split_once('/') else { continue };
            if folder.starts_with("messages") {
                reader.bytes_into(&member, LARGEST_BYTES, &mut bytes).unwrap();
                let mut block = MessageBlock::default();
                block.decode(&bytes, Details::ALL).unwrap();
                members.entry(folder.into()).or_default().extend(block.iter());
            }
        }
        (outcome.segmentation, found, members)
    }

    #[test]
    fn a_representative_brings_its_messages() {
        let (segmentation, found, members) = members(false);
        assert_eq!(members.len(), 2);
        for (phase, row) in found.of_phase.iter().enumerate() {
            let occurrence = segmentation.occurrences[row.unwrap()];
            let messages = &members[&format!("messages-{phase}")];
            let inside = occurrence.start_ns.cast_signed()..occurrence.end_ns.cast_signed();
            assert!(messages.iter().all(|message| inside.contains(&message.send_post_ns)));
            assert_eq!(messages.len() as u64, occurrence.messages);
            assert_eq!(messages.iter().map(|message| message.bytes).sum::<u64>(), occurrence.bytes);
        }
    }

    #[test]
    fn all_messages_on_request() {
        let (segmentation, _, members) = members(true);
        let sent: u64 = segmentation.phases.iter().map(|phase| phase.matrix.messages()).sum();
        assert_eq!(members.keys().collect::<Vec<_>>(), ["messages"]);
        assert_eq!(members["messages"].len() as u64, sent);
    }

    #[test]
    fn what_is_in_a_representative_is_found_however_the_archive_is_cut_into_blocks() {
        // Marks, calls and thousands of messages in blocks of 256, 512, …; some representatives are
        // late, one is the last.
        let text = "(alltoall*3,halo2d*40)*5,idle[time=3ms],(allreduce*20,incast*9)*3,transpose*30";
        let run = LabelledRun {
            disturbance: Disturbance { jitter: 1.0, noise: 0.2, ..Disturbance::default() },
            ..LabelledRun::new(Program::parse(text).unwrap(), 16)
        };
        let mut bytes = Vec::new();
        run.generate(&mut ArchiveExport::new(&mut bytes, false), &mut |_| Ok(())).unwrap();
        let mut trace = Rewind(Cursor::new(bytes));
        let mut late = 0;
        for (method, level) in
            [(Method::Marks, Level::Leaf), (Method::Marks, Level::Outer), (Method::None, Level::Leaf)]
        {
            let options = Options { method, level, ..Options::default() };
            let found = segment(&mut trace, &options).unwrap();
            let (segmentation, chosen) = (&found.segmentation, &found.representatives);
            let mut write = |all| {
                let out = write_with_messages(Vec::new(), false, segmentation, chosen, all, &mut trace);
                records(&out.unwrap())
            };
            let (parts, whole) = (write(false), write(true));
            let (messages, calls) = &whole[""];
            assert!(messages.len() > 4000 && !calls.is_empty());
            let duration_ns = segmentation.header.duration_ns.unwrap();
            for (phase, row) in chosen.of_phase.iter().enumerate() {
                // Loops have none.
                assert_eq!(row.is_some(), phase < segmentation.leaf_phases().unwrap());
                let Some(row) = row else { continue };
                let occurrence = segmentation.occurrences[*row];
                let inside = |time_ns: i64| {
                    let time_ns = time_ns.cast_unsigned().min(duration_ns - 1);
                    (occurrence.start_ns..occurrence.end_ns).contains(&time_ns)
                };
                let goes_on = |call: &Call| {
                    let (enter_ns, start_ns) = (call.enter_ns.cast_unsigned(), occurrence.start_ns);
                    enter_ns < start_ns && call.leave_ns.is_none_or(|leave| start_ns < leave.cast_unsigned())
                };
                let (own, own_calls) = &parts[&format!("-{phase}")];
                let expected: Vec<_> = messages.iter().filter(|m| inside(m.send_post_ns)).copied().collect();
                assert_eq!(own, &expected);
                assert_eq!(own.len() as u64, occurrence.messages);
                let governs = |call: &&Call| inside(call.enter_ns) || goes_on(call);
                let expected: Vec<_> = calls.iter().filter(governs).copied().collect();
                assert_eq!(own_calls, &expected);
                late += expected.iter().filter(|call| goes_on(call)).count();
            }
        }
        assert!(late > 0, "no call went on from one stretch to the next");
    }

    /// Messages and calls by the end of their folder's name. A trace archive of the same members is
    /// read, as calls have no decoder of their own.
    fn records(archive: &[u8]) -> BTreeMap<String, (Vec<Message>, Vec<Call>)> {
        let mut reader = ArchiveReader::open(archive).unwrap();
        let mut members: BTreeMap<String, Vec<(String, Vec<u8>)>> = BTreeMap::new();
        while let Some(member) = reader.next_member().unwrap() {
            let Some((folder, number)) = member.name.split_once('/') else { continue };
            let (kind, suffix) = folder.split_at(folder.find('-').unwrap_or(folder.len()));
            if ["messages", "calls"].contains(&kind) {
                let bytes = reader.bytes(&member, LARGEST_BYTES).unwrap();
                members.entry(suffix.into()).or_default().push((format!("{kind}/{number}"), bytes));
            }
        }
        let read = |(suffix, members): (String, Vec<(String, Vec<u8>)>)| {
            let mut trace = ArchiveWriter::new(Vec::new(), false, &Header::new(Kind::Timed, "test")).unwrap();
            members.iter().for_each(|(name, bytes)| trace.member(name, bytes).unwrap());
            // The summary is wrong, which is noticed after everything was read.
            let bytes = trace.finish(&Summary::default()).unwrap();
            let mut reader = TraceReader::open(&bytes[..]).unwrap();
            let (mut messages, mut calls) = (Vec::new(), Vec::new());
            while let Ok(Some(block)) = reader.next_block() {
                match block {
                    Block::Messages(block) => messages.extend(block.iter()),
                    Block::Calls(block) => calls.extend_from_slice(block),
                    _ => {}
                }
            }
            (suffix, (messages, calls))
        };
        members.into_iter().map(read).collect()
    }
}
