//! What to say when nothing can go on.

use super::Op;
use super::player::Act;

/// Ranks that are named.
const NAMED: usize = 5;

/// Who waits for what in a script in which nothing happens any more, as a sentence.
pub(super) fn describe(act: &Act<'_>) -> String {
    let waiting = act.ranks.iter().zip(0_u32..).filter_map(|(rank, number)| Some((number, rank.waiting?)));
    let waiting: Vec<(u32, u32)> = waiting.collect();
    let lines: Vec<String> =
        waiting.iter().take(NAMED).map(|(rank, message)| reason(act, *rank, *message)).collect();
    let more = if waiting.len() > lines.len() { "; …" } else { "" };
    format!("{} of {} ranks wait for ever: {}{more}", waiting.len(), act.ranks.len(), lines.join("; "))
}

fn reason(act: &Act<'_>, rank: u32, message: u32) -> String {
    if act.is_sum(message) {
        let number = message as usize - act.messages.len();
        let collective = &act.script.collectives()[number];
        let (joined, members) =
            (act.sums.of[number].joined, act.script.groups()[collective.group as usize].len());
        let operation = collective.operation.name();
        return format!(
            "rank {rank} waits for {operation} {number}, which {joined} of {members} ranks have joined"
        );
    }
    let transfer = &act.script.messages()[message as usize];
    let (src, dst, bytes) = (transfer.src, transfer.dst, transfer.bytes);
    let position = act.script.position(message);
    let of = format!("send {position} of rank {src} ({bytes} bytes to rank {dst})");
    let at = |rank: u32| {
        let state = &act.ranks[rank as usize];
        match act.script.of(rank).get(state.next) {
            None => "has ended".to_string(),
            Some(Op::ReceiveWait(_)) => "waits to receive".into(),
            Some(Op::SendWait(_)) => "waits for a send".into(),
            Some(_) if state.waiting.is_some_and(|waiting| act.is_sum(waiting)) => "waits for a sum".into(),
            Some(_) => "goes on".into(),
        }
    };
    if !act.messages[message as usize].sent {
        return format!("rank {rank} waits for {of}, not sent yet: rank {src} {}", at(src));
    }
    format!(
        "rank {rank} waits for {of}, for which rank {dst} is not ready: it {}; a higher `eager` lets it go",
        at(dst)
    )
}
