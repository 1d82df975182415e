//! Whose messages a bottleneck carries, in words.

use phaseflow_simulate::result::{PhaseRow, Sender};

use crate::number;
use crate::view::RunView;

/// A pair of hosts is named if it sends at least this part of what the link carries.
const NAMED: f64 = 0.1;

/// Who sends over the bottleneck of a phase: `rank 3 → 11 (h3 → h11) 84 % of it`; empty if that is
/// not known.
pub(crate) fn senders(view: &RunView<'_>, row: &PhaseRow) -> String {
    let all = row.max_link_bytes.unwrap_or(0).max(1) as f64;
    let part = |sender: &Sender| sender.bytes as f64 / all;
    let Some(first) = row.senders.first() else { return String::new() };
    if part(first) < NAMED {
        return format!("no pair of hosts sends more than {} of it", number::percent(part(first)));
    }
    let named = row.senders.iter().filter(|sender| part(sender) >= NAMED);
    let named: Vec<String> = named
        .map(|sender| format!("{} {}", pair(view, row.job, sender), number::percent(part(sender))))
        .collect();
    format!("{} of it", named.join(", "))
}

/// A pair of hosts with its ranks, where each has one.
fn pair(view: &RunView<'_>, job: u32, sender: &Sender) -> String {
    let (src, dst) = (view.network.name(sender.src), view.network.name(sender.dst));
    let ranks = view.job(job).map_or(&[][..], |job| &job.ranks);
    let only = |node| {
        let mut on = ranks.iter().enumerate().filter(|(_, host)| **host == node).map(|(rank, _)| rank);
        on.next().filter(|_| on.next().is_none())
    };
    match (only(sender.src), only(sender.dst)) {
        (Some(from), Some(to)) => format!("rank {from} → {to} ({src} → {dst})"),
        _ => format!("{src} → {dst}"),
    }
}
