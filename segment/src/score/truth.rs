//! The truth about a run: which phase it was in when.

use std::io::Read;

use phaseflow_collect::{At, Error, Result};
use serde::Deserialize;

/// A stretch of the run with one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Start, nanoseconds since the start of the run.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// What it is; `idle` where nothing is sent. Phases of a segmentation need not have the same
    /// names.
    pub label: String,
    /// Positions of its first and last message among those of the trace, from 0; `None` if it has
    /// none, or if they are not known.
    pub messages: Option<(u64, u64)>,
}

/// What is known of a run beyond doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Stretches in order; what they leave out is idle.
    pub stretches: Vec<Interval>,
    /// For each stretch the phase or loop of the outermost level that it belongs to; empty if not
    /// known.
    pub outer: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    start_ns: u64,
    end_ns: u64,
    label: String,
    outer: Option<String>,
    first_message: Option<u64>,
    last_message: Option<u64>,
}

impl Truth {
    /// The truth of the outermost level, if it is known: stretches of one outer phase that follow
    /// each other become one.
    pub fn outer(&self) -> Option<Truth> {
        if self.outer.len() != self.stretches.len() || self.outer.iter().all(String::is_empty) {
            return None;
        }
        let mut merged = Truth::default();
        for (stretch, outer) in self.stretches.iter().zip(&self.outer) {
            match merged.stretches.last_mut() {
                Some(last) if last.label == *outer && last.end_ns == stretch.start_ns => {
                    last.end_ns = stretch.end_ns;
                    last.messages = join(last.messages, stretch.messages);
                }
                _ => {
                    merged.stretches.push(Interval { label: outer.clone(), ..*stretch });
                    merged.outer.push(outer.clone());
                }
            }
        }
        Some(merged)
    }
}

/// Positions of the first and last message of two stretches together.
pub(super) fn join(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// The longest truth, bytes: millions of stretches.
const LARGEST: u64 = 128 << 20;

/// Reads a truth from CSV with the columns `start_ns,end_ns,label` and perhaps `outer` and
/// `first_message,last_message`; others are skipped.
///
/// # Errors
/// Columns or values that are not these, stretches that overlap or are not in order, a last message
/// before the first.
pub fn read_truth(input: impl Read) -> Result<Truth> {
    // What has no end, a device, has no line end either.
    let mut bounded = input.take(LARGEST + 1);
    let read = read_rows(&mut bounded);
    if bounded.limit() == 0 {
        return Err(Error::data(format!("is longer than {LARGEST} bytes, the most of a truth")));
    }
    read
}

fn read_rows(input: impl Read) -> Result<Truth> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(input);
    let headers = reader.headers().map_err(|error| Error::data(format!("is not CSV: {error}")))?;
    let has = |name: &str| headers.iter().any(|header| header == name);
    let (outer, messages) = (has("outer"), has("first_message") && has("last_message"));
    let mut truth = Truth::default();
    for (number, row) in reader.deserialize().enumerate() {
        let at = || format!("line {}", number + 2);
        let mut row: Row =
            row.map_err(|error| Error::data(format!("is not a row of start_ns,end_ns,label: {error}")))?;
        let before = truth.stretches.last().map_or(0, |last| last.end_ns);
        if row.start_ns < before || row.end_ns < row.start_ns {
            let problem = format!(
                "from {} to {} ns, expected a start not before {before} ns and an end after it",
                row.start_ns, row.end_ns
            );
            return Err(Error::data(problem)).at(at);
        }
        let messages = match (row.first_message, row.last_message) {
            _ if !messages => None,
            (Some(first), Some(last)) if first <= last => Some((first, last)),
            (None, None) => None,
            (first, last) => {
                let show = |value: Option<u64>| value.map_or("nothing".into(), |value| value.to_string());
                let problem = format!(
                    "messages from {} to {}, expected a first and a last one or neither",
                    show(first),
                    show(last)
                );
                return Err(Error::data(problem)).at(at);
            }
        };
        if outer {
            truth.outer.push(row.outer.take().unwrap_or_default());
        }
        let Row { start_ns, end_ns, label, .. } = row;
        truth.stretches.push(Interval { start_ns, end_ns, label, messages });
    }
    Ok(truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truth_that_overlaps_is_refused() {
        let error = read_truth("start_ns,end_ns,label\n0,10,a\n5,20,b\n".as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3: from 5 to 20 ns, expected a start not before 10 ns and an end after it"
        );
        assert!(read_truth("start,end,label\n0,10,a\n".as_bytes()).is_err());
        let text = "start_ns,end_ns,label,first_message,last_message\n0,10,a,7,5\n";
        let error = read_truth(text.as_bytes()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2: messages from 7 to 5, expected a first and a last one or neither"
        );
    }

    #[test]
    fn further_columns_are_read_in_any_order() {
        let text = "last_message,label,outer,start_ns,end_ns,first_message,colour\n\
                    4,a,\"(a,b)\",0,10,0,red\n,idle,\"(a,b)\",10,12,,\n9,c,c,12,20,5,\n";
        let truth = read_truth(text.as_bytes()).unwrap();
        let messages = |truth: &Truth| truth.stretches.iter().map(|own| own.messages).collect::<Vec<_>>();
        assert_eq!(messages(&truth), [Some((0, 4)), None, Some((5, 9))]);
        let outer = truth.outer().unwrap();
        let labels: Vec<_> =
            outer.stretches.iter().map(|s| (s.start_ns, s.end_ns, s.label.as_str())).collect();
        assert_eq!(labels, [(0, 12, "(a,b)"), (12, 20, "c")]);
        assert_eq!(messages(&outer), [Some((0, 4)), Some((5, 9))]);
        assert!(read_truth("start_ns,end_ns,label\n0,10,a\n".as_bytes()).unwrap().outer().is_none());
    }
}
