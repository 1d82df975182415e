//! The description of a deadlock: which rank waits for what.

use super::active::ActiveReplay;
use super::op::Op;

/// Ranks that are named.
const NAMED: usize = 5;

/// Which rank waits for what in a replay without events, as a sentence.
pub(super) fn describe(replay: &ActiveReplay<'_>) -> String {
    let waiting = replay.ranks.iter().zip(0_u32..).filter_map(|(rank, number)| Some((number, rank.waiting?)));
    let waiting: Vec<(u32, u32)> = waiting.collect();
    let lines: Vec<String> =
        waiting.iter().take(NAMED).map(|(rank, message)| reason(replay, *rank, *message)).collect();
    let more = if waiting.len() > lines.len() { "; …" } else { "" };
    format!("{} of {} ranks wait for ever: {}{more}", waiting.len(), replay.ranks.len(), lines.join("; "))
}

fn reason(replay: &ActiveReplay<'_>, rank: u32, message: u32) -> String {
    if replay.is_sum(message) {
        let number = message as usize - replay.messages.len();
        let collective = &replay.operations.collectives()[number];
        let (joined, members) =
            (replay.sums.of[number].joined, replay.operations.groups()[collective.group as usize].len());
        let operation = collective.operation.name();
        return format!(
            "rank {rank} waits for {operation} {number}, which {joined} of {members} ranks have joined"
        );
    }
    let transfer = &replay.operations.messages()[message as usize];
    let (src, dst, bytes) = (transfer.src, transfer.dst, transfer.bytes);
    let position = replay.operations.position(message);
    let of = format!("send {position} of rank {src} ({bytes} bytes to rank {dst})");
    let at = |rank: u32| {
        let state = &replay.ranks[rank as usize];
        match replay.operations.of(rank).get(state.next) {
            None => "has ended".to_string(),
            Some(Op::ReceiveWait(_)) => "waits to receive".into(),
            Some(Op::SendWait(_)) => "waits for a send".into(),
            Some(_) if state.waiting.is_some_and(|waiting| replay.is_sum(waiting)) => {
                "waits for a sum".into()
            }
            Some(_) => "goes on".into(),
        }
    };
    if !replay.messages[message as usize].sent {
        return format!("rank {rank} waits for {of}, not sent yet: rank {src} {}", at(src));
    }
    format!(
        "rank {rank} waits for {of}, for which rank {dst} is not ready: it {}; a higher `eager` lets it go",
        at(dst)
    )
}
