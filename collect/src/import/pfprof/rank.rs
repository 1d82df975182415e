//! One rank's file.

use super::scanner::Scanner;
use crate::trace::{MOST_RANKS, MessageSize};
use crate::{Error, Result};

/// Peers with their bytes or messages; entries of 0 are left out.
pub(super) type Peers = Vec<(u32, u64)>;

/// The file of one rank. It is reused for the next one, to keep its memory.
#[derive(Default)]
pub(super) struct RankFile {
    pub(super) rank: u32,
    pub(super) n_procs: u32,
    pub(super) duration_ns: Option<u64>,
    pub(super) tx_bytes: Peers,
    pub(super) tx_messages: Peers,
    pub(super) rx_messages: Peers,
    /// False if the file has no received messages.
    pub(super) has_received: bool,
    pub(super) sizes: Vec<MessageSize>,
    rx_bytes: Peers,
}

/// The keys that are read, first the arrays with one entry per rank.
const KEYS: [&str; 9] = [
    "tx_bytes",
    "tx_messages",
    "rx_bytes",
    "rx_messages",
    "rank",
    "n_procs",
    "duration",
    "tx_message_sizes",
    "rx_message_sizes",
];

/// Place and length of each array.
type Lengths = [Option<(usize, usize)>; 4];

impl RankFile {
    /// Reads a file into this value, which is overwritten.
    ///
    /// # Errors
    /// Text that is not JSON, lacks a key or has it twice, numbers out of range, arrays whose
    /// length is not `n_procs`.
    pub(super) fn parse(&mut self, text: &[u8]) -> Result<()> {
        let (mut rank, mut n_procs, mut lengths, mut seen) =
            (None, None, Lengths::default(), [false; KEYS.len()]);
        self.duration_ns = None;
        self.sizes.clear();
        let mut scanner = Scanner::new(text);
        scanner.object(|scanner, key| {
            let Some(number) = KEYS.iter().position(|name| name.as_bytes() == key) else {
                return scanner.skip();
            };
            let key = KEYS[number];
            if std::mem::replace(&mut seen[number], true) {
                let place = scanner.place();
                return Err(scanner.error_in_line(place, format!("`{key}` occurs twice")));
            }
            let arrays =
                [&mut self.tx_bytes, &mut self.tx_messages, &mut self.rx_bytes, &mut self.rx_messages];
            if let Some(array) = arrays.into_iter().nth(number) {
                let place = scanner.place();
                lengths[number] = Some((place, scanner.counts(key, array)?));
                return Ok(());
            }
            match key {
                "rank" => rank = Some(scanner.count(|| key.into())?),
                "n_procs" => n_procs = Some(scanner.count(|| key.into())?),
                "duration" => self.duration_ns = Some(duration_ns(scanner)?),
                _ => {
                    let received = key.starts_with("rx");
                    // The rank may come later.
                    let size =
                        |[bytes, messages]: [u64; 2]| MessageSize { rank: 0, received, bytes, messages };
                    scanner.pairs(key, ["message_size", "frequency"], |pair| self.sizes.push(size(pair)))?;
                }
            }
            Ok(())
        })?;
        scanner.end()?;
        self.finish(&scanner, rank, n_procs, &lengths)
    }

    fn finish(
        &mut self,
        scanner: &Scanner<'_>,
        rank: Option<u64>,
        n_procs: Option<u64>,
        lengths: &Lengths,
    ) -> Result<()> {
        let lacks = |name: &str| Error::data(format!("lacks `{name}`: not a rank file of PFProf"));
        let n_procs = n_procs.ok_or_else(|| lacks("n_procs"))?;
        let rank = rank.ok_or_else(|| lacks("rank"))?;
        self.n_procs = u32::try_from(n_procs)
            .ok()
            .filter(|n| (1..=MOST_RANKS).contains(n))
            .ok_or_else(|| Error::data(format!("n_procs is {n_procs}, expected 1 to {MOST_RANKS}")))?;
        self.rank = u32::try_from(rank).ok().filter(|rank| *rank < self.n_procs).ok_or_else(|| {
            Error::data(format!("rank is {rank}, expected 0 to {} (n_procs is {n_procs})", n_procs - 1))
        })?;
        for (name, length) in KEYS.iter().zip(lengths) {
            match length {
                Some((place, found)) if *found as u64 != n_procs => {
                    let problem = format!("{name} has {found} entries, expected {n_procs} (n_procs)");
                    return Err(scanner.error_in_line(*place, problem));
                }
                None if name.starts_with("tx") => return Err(lacks(name)),
                _ => {}
            }
        }
        self.has_received = lengths[3].is_some();
        self.sizes.sort_unstable_by_key(|size| (size.received, size.bytes));
        for size in &mut self.sizes {
            size.rank = self.rank;
        }
        Ok(())
    }
}

/// Seconds to nanoseconds.
fn duration_ns(scanner: &mut Scanner<'_>) -> Result<u64> {
    let place = scanner.place();
    let seconds = scanner.float()?;
    let ns = (seconds * 1e9).round();
    // 2^63 is a double; everything below it fits.
    if (0.0..9_223_372_036_854_775_808.0).contains(&ns) {
        return Ok(ns as u64);
    }
    let problem = format!("duration is {seconds:?} s, expected 0 s to 292 years");
    Err(scanner.error_in_line(place, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
  "rank": 1, "n_procs": 2,
  "description": "x\n\"y\"", "nested": [{"a": [1.5e3, null]}],
  "tx_bytes": [0, 7],
  "rx_bytes": [0, 0],
  "tx_messages": [3, 1],
  "rx_messages": [2, 0],
  "tx_message_sizes": [{"frequency": 4, "message_size": 2}],
  "duration": 1.5
}
"#;

    fn error(text: &str) -> String {
        RankFile::default().parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn everything_is_read() {
        let mut file = RankFile::default();
        for _ in 0..2 {
            file.parse(GOOD.as_bytes()).unwrap();
            assert_eq!((file.rank, file.n_procs, file.duration_ns), (1, 2, Some(1_500_000_000)));
            assert_eq!(file.tx_bytes, [(1, 7)]);
            assert_eq!(file.tx_messages, [(0, 3), (1, 1)]);
            assert_eq!((&file.rx_messages[..], file.has_received), (&[(0, 2)][..], true));
            assert_eq!(file.sizes, [MessageSize { rank: 1, received: false, bytes: 2, messages: 4 }]);
        }
        // Keys in another order, the escape spells one of them.
        file.parse(br#"{"tx_messages":[0],"tx_byte\u0073":[0],"n_procs":1,"rank":0}"#).unwrap();
        assert_eq!((file.duration_ns, file.has_received, file.sizes.len()), (None, false, 0));
    }

    #[test]
    fn contradictions_are_named() {
        for (from, to, expected) in [
            ("[0, 7]", "[0, 7, 9]", "line 4: tx_bytes has 3 entries, expected 2 (n_procs)"),
            ("[2, 0]", "[]", "line 7: rx_messages has 0 entries, expected 2 (n_procs)"),
            ("\"rank\": 1", "\"rank\": 2", "rank is 2, expected 0 to 1 (n_procs is 2)"),
            ("\"rank\": 1,", "", "lacks `rank`: not a rank file of PFProf"),
            ("\"n_procs\": 2", "\"n_procs\": 0", "n_procs is 0, expected 1 to 16777216"),
            ("\"tx_messages\": [3, 1],", "", "lacks `tx_messages`: not a rank file of PFProf"),
            ("\"rx_bytes\"", "\"tx_bytes\"", "line 5: `tx_bytes` occurs twice"),
            ("1.5\n", "-1.5\n", "line 9: duration is -1.5 s, expected 0 s to 292 years"),
            ("1.5\n", "1e300\n", "line 9: duration is 1e300 s, expected 0 s to 292 years"),
            ("1.5\n", "1.5.5\n", "line 9, column 15: `1.5.5` is not a number"),
            ("\"frequency\": 4, ", "", "line 8: tx_message_sizes[0] lacks `message_size` or `frequency`"),
            (
                "\"frequency\": 4",
                "\"frequency\": -4",
                "line 8, column 38: tx_message_sizes[0].frequency is -4, expected a whole number from 0 to 9223372036854775807",
            ),
        ] {
            assert!(GOOD.contains(from), "{from}");
            assert_eq!(error(&GOOD.replacen(from, to, 1)), expected, "{from} -> {to}");
        }
        assert_eq!(error("hello"), "line 1, column 1: is not JSON: found `h`, expected an object, `{`");
    }
}
