//! Addresses of places within the page.

use super::kept::{KeptRun, KeptSpot};

/// Where the page shows a phase of a run; its script follows it.
pub(super) fn address(run: &KeptRun, kept: &KeptSpot) -> String {
    let phase = kept.spot.phase.as_deref().map_or_else(String::new, encoded);
    let workload = kept.spot.workload.map_or_else(String::new, |workload| workload.to_string());
    format!("#run={}&workload={workload}&phase={phase}", run.labels.run)
}

/// Text for the fragment of an address (RFC 3986, section 2.1).
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
