//! Our own archive passes through.

use std::io::BufRead;

use crate::Result;
use crate::trace::{Kind, RunFacts, Sink, Summary, TraceReader};

/// Passes a trace archive to another sink.
///
/// # Errors
/// A damaged archive, or an error of the sink.
pub fn copy<R: BufRead>(mut trace: TraceReader<R>, sink: &mut dyn Sink) -> Result<Summary> {
    sink.begin(trace.header())?;
    let is_ordered = trace.header().kind == Kind::Ordered;
    while let Some(block) = trace.next_block()? {
        sink.block(block)?;
    }
    let summary = trace.summary().cloned().unwrap_or_default();
    sink.finish(&RunFacts {
        ranks: Some(summary.ranks),
        span_ns: summary.start_ns.zip(summary.end_ns),
        duration_ns: summary.duration_ns,
        unmatched: summary.unmatched,
        unmatched_receives: summary.unmatched_receives,
        clock_error_ns: summary.clock_error_ns,
        is_ordered,
    })
}
