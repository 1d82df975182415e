//! Whether each rank of a run has its file.

use std::collections::BTreeMap;

use super::Member;
use crate::import::rank_list::rank_list;
use crate::trace::MOST_RANKS;
use crate::{Error, Result};

/// The last number in a file's name, its end (`.gz` and what follows the number) left out:
/// `run-0012.bin` gives 12 and `run-`.
pub(in crate::import) fn number_in(member: &Member) -> Option<(u32, &str)> {
    let name = member.file_name();
    let stem = name.rfind('.').map_or(name, |dot| &name[..dot]);
    let stem = if stem.bytes().any(|byte| byte.is_ascii_digit()) { stem } else { name };
    let end = stem.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let start = stem[..end]
        .rfind(|letter: char| !letter.is_ascii_digit())
        .map_or(0, |before| before + stem[before..].chars().next().map_or(1, char::len_utf8));
    Some((stem[start..end].parse().ok()?, &stem[..start]))
}

/// The members of ranks 0, 1, …, each given with its rank in any order.
///
/// `expected` is the number of ranks and where it is said; without it the highest rank is the last.
///
/// # Errors
/// No members, two of one rank, a rank that is missing or beyond the last.
pub(in crate::import) fn complete<T>(
    files: impl IntoIterator<Item = (u32, String, T)>,
    expected: Option<(u32, &str)>,
) -> Result<Vec<T>> {
    let mut by_rank: BTreeMap<u32, (String, T)> = BTreeMap::new();
    for (rank, name, file) in files {
        if let Some((first, _)) = by_rank.get(&rank) {
            return Err(Error::data(format!("holds rank {rank} again, which {first} holds already")).at(name));
        }
        by_rank.insert(rank, (name, file));
    }
    let Some((highest, (name, _))) = by_rank.last_key_value() else {
        return Err(Error::data("holds no file of a rank, expected one for each rank"));
    };
    if *highest >= MOST_RANKS {
        return Err(
            Error::data(format!("is of rank {highest}, expected at most {}", MOST_RANKS - 1)).at(name)
        );
    }
    let (count, said) = match expected {
        Some((count, place)) if count > MOST_RANKS => {
            let problem = format!("says that the run has {count} ranks, expected at most {MOST_RANKS}");
            return Err(Error::data(problem).at(place));
        }
        Some((count, place)) if count <= *highest => {
            let problem = format!("is of rank {highest}, expected ranks below {count} ({place})");
            return Err(Error::data(problem).at(name));
        }
        Some((count, place)) => (count, format!("the run has {count} ranks ({place})")),
        None => (highest + 1, format!("{name} is of rank {highest}")),
    };
    if by_rank.len() < count as usize {
        let mut next = by_rank.keys().copied().peekable();
        let absent = (0..count).filter(|rank| next.next_if_eq(rank).is_none());
        let absent = rank_list(absent).unwrap_or_default();
        return Err(Error::data(format!("the files of {absent} are missing: {said}")));
    }
    Ok(by_rank.into_values().map(|(_, file)| file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(ranks: &[u32], expected: Option<(u32, &str)>) -> String {
        let files = ranks.iter().map(|rank| (*rank, format!("r{rank}"), *rank));
        complete(files, expected).unwrap_err().to_string()
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(error(&[], None), "holds no file of a rank, expected one for each rank");
        assert_eq!(error(&[4, 1, 0], None), "the files of ranks 2-3 are missing: r4 is of rank 4");
        assert_eq!(
            error(&[0, 1, 2], Some((4, "run.meta"))),
            "the files of rank 3 are missing: the run has 4 ranks (run.meta)"
        );
        assert_eq!(error(&[0, 0], None), "r0: holds rank 0 again, which r0 holds already");
        assert_eq!(
            error(&[0, 4], Some((4, "run.meta"))),
            "r4: is of rank 4, expected ranks below 4 (run.meta)"
        );
        assert_eq!(error(&[u32::MAX], None), "r4294967295: is of rank 4294967295, expected at most 16777215");
        // All absent ranks would be looked for, which takes a minute.
        assert_eq!(
            error(&[0, 1], Some((2_002_000_000, "r0"))),
            "r0: says that the run has 2002000000 ranks, expected at most 16777216"
        );
        let all = complete([(1, "b".into(), 'b'), (0, "a".into(), 'a')], Some((2, "x"))).unwrap();
        assert_eq!(all, ['a', 'b']);
    }
}
