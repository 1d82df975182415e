//! The messages and calls of occurrences, on their way from the trace to the phase archive.

use std::io::Write;

use phaseflow_collect::Result;
use phaseflow_collect::archive::ArchiveWriter;
use phaseflow_collect::archive::columns::LARGEST_BLOCK;
use phaseflow_collect::trace::{Block, Call, Message, MessageBlock, TraceReader, encode_calls};

use crate::archive::Segmentation;
use crate::margin::Margins;
use crate::replay::Replay;
use crate::representative::{Places, Representatives};

/// Where records go: `messages-N/` and `calls-N/` for phase N, `messages/` and `calls/` for the whole run.
#[derive(Default)]
struct Folder {
    suffix: String,
    messages: MessageBlock,
    calls: Vec<Call>,
    margin: MessageBlock,
    members: [u32; 3],
}

/// Writes what each representative holds, or the whole run with `all`. Times become nanoseconds since the start of the run.
pub(crate) fn write<W: Write>(
    archive: &mut ArchiveWriter<W>,
    segmentation: &Segmentation,
    representatives: &Representatives,
    all: bool,
    trace: &mut dyn Replay,
) -> Result<()> {
    let start_ns = representatives.start_ns;
    // By row of the occurrences: the folder of the phase that it stands for.
    let mut folder_of = vec![None; segmentation.occurrences.len()];
    let mut folders: Vec<Folder> = Vec::new();
    for (phase, row) in representatives.of_phase.iter().enumerate() {
        if let Some(row) = row.filter(|_| !all) {
            folder_of[row] = Some(phase);
        }
        folders.push(Folder { suffix: format!("-{phase}"), ..Folder::default() });
    }
    let mut whole = Folder::default();
    // Starts of what is copied, in order: a call that began before still governs what comes after it.
    let mut starts: Vec<(i64, usize)> = folder_of
        .iter()
        .zip(&segmentation.occurrences)
        .filter_map(|(folder, row)| Some((row.start_ns.cast_signed(), (*folder)?)))
        .collect();
    starts.sort_unstable();
    let numbered = folder_of.iter().zip(&segmentation.occurrences);
    let margins = Margins::new(numbered.filter_map(|(folder, row)| Some(((*folder)?, row))));
    let mut reader = TraceReader::open(trace.replay()?)?;
    let [mut of_message, mut of_call] = [(); 2].map(|()| Places::new(segmentation));
    while let Some(block) = reader.next_block()? {
        match block {
            Block::Messages(block) => {
                for (i, time) in block.columns().send_post_ns.iter().enumerate() {
                    let since_ns = time.wrapping_sub(start_ns);
                    if all {
                        whole.message(since(&block.get(i), start_ns), archive)?;
                    }
                    for folder in of_message.at(since_ns).filter_map(|row| folder_of[row]) {
                        folders[folder].message(since(&block.get(i), start_ns), archive)?;
                    }
                    let message = since(&block.get(i), start_ns);
                    for folder in margins.of(&message) {
                        folders[folder].outside(message, archive)?;
                    }
                }
            }
            Block::Calls(calls) => {
                for call in calls {
                    let enter_ns = call.enter_ns.wrapping_sub(start_ns);
                    let leave_ns = call.leave_ns.map(|time| time.wrapping_sub(start_ns));
                    let call = Call { enter_ns, leave_ns, ..*call };
                    if all {
                        whole.call(call, archive)?;
                    }
                    for folder in of_call.at(enter_ns).filter_map(|row| folder_of[row]) {
                        folders[folder].call(call, archive)?;
                    }
                    let first = starts.partition_point(|(start, _)| *start <= enter_ns);
                    let inside = |start: i64| leave_ns.is_none_or(|leave_ns| start < leave_ns);
                    for (_, folder) in starts[first..].iter().take_while(|(start, _)| inside(*start)) {
                        folders[*folder].call(call, archive)?;
                    }
                }
            }
            Block::Marks(_) | Block::Matrix(_) | Block::Sizes(_) => {}
        }
    }
    folders.push(whole);
    folders.iter_mut().try_for_each(|folder| folder.flush(archive))
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

impl Folder {
    fn message<W: Write>(&mut self, message: Message, archive: &mut ArchiveWriter<W>) -> Result<()> {
        self.messages.push(&message);
        if self.messages.len() == LARGEST_BLOCK { self.flush(archive) } else { Ok(()) }
    }

    fn call<W: Write>(&mut self, call: Call, archive: &mut ArchiveWriter<W>) -> Result<()> {
        self.calls.push(call);
        if self.calls.len() == LARGEST_BLOCK { self.flush(archive) } else { Ok(()) }
    }

    fn outside<W: Write>(&mut self, message: Message, archive: &mut ArchiveWriter<W>) -> Result<()> {
        self.margin.push(&message);
        if self.margin.len() == LARGEST_BLOCK { self.flush(archive) } else { Ok(()) }
    }

    /// Calls first: they govern the messages.
    fn flush<W: Write>(&mut self, archive: &mut ArchiveWriter<W>) -> Result<()> {
        let name = |kind: &str, number: &mut u32| {
            *number += 1;
            format!("{kind}{}/{:06}", self.suffix, *number - 1)
        };
        if !self.calls.is_empty() {
            archive.member(&name("calls", &mut self.members[1]), &encode_calls(&self.calls, Vec::new()))?;
            self.calls.clear();
        }
        if !self.messages.is_empty() {
            archive.member(&name("messages", &mut self.members[0]), &self.messages.encode(Vec::new()))?;
            self.messages.clear();
        }
        if !self.margin.is_empty() {
            archive.member(&name("margin", &mut self.members[2]), &self.margin.encode(Vec::new()))?;
            self.margin.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, Options, Representatives, Rewind, segment, write_with_messages};
    use phaseflow_collect::archive::ArchiveReader;
    use phaseflow_collect::archive::columns::LARGEST_BYTES;
    use phaseflow_collect::export::ArchiveExport;
    use phaseflow_collect::pattern::{PatternName, Run};
    use std::collections::BTreeMap;
    use std::io::Cursor;

    /// Messages by member folder, from an archive of a run of two patterns, three rounds each, twice.
    fn members(all: bool) -> (Segmentation, Representatives, BTreeMap<String, Vec<Message>>) {
        let mut bytes = Vec::new();
        let patterns =
            vec![PatternName::Alltoall, PatternName::Shift, PatternName::Alltoall, PatternName::Shift];
        let run = Run { patterns, ranks: 4, bytes: 8, repeat: 3, gap_ns: 50, seed: 1 };
        run.generate(&mut ArchiveExport::new(&mut bytes, false)).unwrap();
        let mut trace = Rewind(Cursor::new(bytes));
        let options = Options { method: Method::Marks, ..Options::default() };
        let outcome = segment(&mut trace, &options).unwrap();
        let found =
            Representatives::choose(&mut trace, outcome.start_ns.unwrap(), &outcome.segmentation).unwrap();
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
                block.decode(&bytes, true).unwrap();
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
}
