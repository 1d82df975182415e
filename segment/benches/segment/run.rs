//! One labelled run, and the segmentation that a method finds.

use std::fmt;
use std::io::Cursor;
use std::time::Instant;

use crate::losses::Losses;
use phaseflow_collect::export::ArchiveExport;
use phaseflow_collect::pattern::LabelledRun;
use phaseflow_collect::truth::{TRUTH_COLUMNS, write_truth};
use phaseflow_segment::{Method, Options, Rewind, Truth, read_truth, score, segment};

/// The truth that a segmentation is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Leaf,
    Outer,
    /// The default level, compared with the outer truth.
    Auto,
}

impl Level {
    pub(crate) const ALL: [Level; 3] = [Level::Leaf, Level::Outer, Level::Auto];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Leaf => "leaf",
            Level::Outer => "outer",
            Level::Auto => "auto",
        }
    }

    /// The suffix of a family's name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Level::Leaf => "",
            Level::Outer => "/outer",
            Level::Auto => "/auto",
        }
    }
}

/// A run with its truth.
pub(crate) struct Sample {
    pub(crate) program: String,
    archive: Vec<u8>,
    messages: u64,
    truth: Truth,
    outer: Truth,
}

/// The segmentation that a method found.
pub(crate) struct Found {
    pub(crate) boundary_f1: f64,
    pub(crate) exact_f1: f64,
    pub(crate) covering: f64,
    pub(crate) label_ari: f64,
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
    /// Found stretches and true ones.
    pub(crate) stretches: (usize, usize),
    pub(crate) losses: Losses,
}

impl Sample {
    pub(crate) fn new(run: &LabelledRun) -> Self {
        let mut archive = Vec::new();
        let mut truth = format!("{TRUTH_COLUMNS}\n").into_bytes();
        let summary = run
            .generate(&mut ArchiveExport::new(&mut archive, false), &mut |stretch| {
                write_truth(&mut truth, stretch)
            })
            .unwrap();
        let truth = read_truth(&truth[..]).unwrap();
        let outer = truth.outer().unwrap();
        Self { program: run.program.text().into(), archive, messages: summary.messages, truth, outer }
    }

    pub(crate) fn measure(&self, method: &Method, level: &Level) -> Found {
        let shown = match level {
            Level::Leaf => phaseflow_segment::Level::Leaf,
            Level::Outer => phaseflow_segment::Level::Outer,
            Level::Auto => phaseflow_segment::Level::Auto,
        };
        let options = Options { method: *method, level: shown, ..Options::default() };
        let begin = Instant::now();
        let outcome = segment(&mut Rewind(Cursor::new(&self.archive)), &options).unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        let truth = match level {
            Level::Leaf => &self.truth,
            Level::Outer | Level::Auto => &self.outer,
        };
        let score = score(&outcome.segmentation, truth);
        let tiles = outcome.segmentation.occurrences.iter().filter(|occurrence| occurrence.depth == 0);
        Found {
            boundary_f1: score.boundary_f1,
            exact_f1: score.exact_f1.unwrap(),
            covering: score.covering,
            label_ari: score.label_ari,
            seconds,
            messages: self.messages,
            stretches: (tiles.count(), truth.stretches.len()),
            losses: Losses::new(&outcome.segmentation, truth),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { boundary_f1, exact_f1, covering, label_ari, seconds, .. } = self;
        let (found, wanted) = self.stretches;
        write!(f, "F1 {boundary_f1:.3} exact {exact_f1:.3} covering {covering:.3} ARI {label_ari:.3} ")?;
        write!(f, "{found}/{wanted} stretches, {seconds:.2} s")
    }
}
