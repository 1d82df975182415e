//! Ranks in the words of a message.

/// `rank 3`, `ranks 0-2, 7`; the first few of many. The ranks ascend.
pub(super) fn rank_list(ranks: impl Iterator<Item = u32>) -> Option<String> {
    /// Most runs of ranks that a message lists.
    const MOST: usize = 8;
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some(run) if run.1 + 1 == rank => run.1 = rank,
            _ => runs.push((rank, rank)),
        }
        if runs.len() > MOST {
            break;
        }
    }
    let [(first, last), ..] = runs[..] else { return None };
    if runs.len() == 1 && first == last {
        return Some(format!("rank {first}"));
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let mut words: Vec<String> = runs.iter().take(MOST).map(text).collect();
    if runs.len() > MOST {
        words.push("…".into());
    }
    Some(format!("ranks {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_as_runs() {
        assert_eq!(rank_list([].into_iter()), None);
        assert_eq!(rank_list([3].into_iter()).unwrap(), "rank 3");
        assert_eq!(rank_list([0, 1, 2, 7].into_iter()).unwrap(), "ranks 0-2, 7");
        assert_eq!(rank_list((0..40).step_by(2)).unwrap(), "ranks 0, 2, 4, 6, 8, 10, 12, 14, …");
    }
}
