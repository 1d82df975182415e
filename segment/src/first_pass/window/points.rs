//! Windows as points: behaviours that are alike are near.
//!
//! A window narrower than a round shows one step of it, and the steps of an alltoall have nothing
//! in common: clustering would call each of them a phase. So a point is what its window sees of
//! *one whole round*: all messages from the window on until its own return, or, where they do not
//! come again, back to where they came from. At a change of phase the first looks ahead and the
//! last looks back, and neither looks into the other phase. A stretch of messages of one operation
//! that never return is seen whole.
//!
//! Each view of the [sketch](super::sketch) is a distribution p; its square roots are coordinates,
//! which makes the distance between two points a Hellinger distance, bounded and tame for small
//! counts. Six views of equal weight and the logarithm of the message rate make up a point. The
//! differences between points have few dimensions (as many as there are kinds of behaviour);
//! [`reduced`](Points::reduced) projects the points on the subspace that holds them.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Windows;
use super::sketch::{BINS, VIEWS};

/// Points nearer than this are one behaviour: half of what a complete change in one view makes
/// (1/√6 ≈ 0.41).
pub(crate) const SAME: f64 = 0.2;

/// Rates that differ by this many octaves differ as much as [`SAME`].
const RATE_OCTAVES: f64 = 2.0;

/// Returns that take longer by more than this factor are of another, outer loop.
const ONE_RHYTHM: u64 = 4;

/// Dimensions that are kept; more than kinds of behaviour that a person tells apart.
const DIMENSIONS: usize = 16;

/// Power iterations; the subspace need not be exact, only hold what is big.
const ITERATIONS: usize = 8;

/// Windows with messages as points.
#[derive(Debug)]
pub(crate) struct Points {
    /// Index of each point's window.
    pub(crate) windows: Vec<usize>,
    /// Points × features.
    pub(crate) full: Array2<f64>,
    /// Points × at most [`DIMENSIONS`], distances (nearly) kept.
    pub(crate) reduced: Array2<f64>,
}

impl Points {
    /// The points of all windows that hold messages.
    pub(crate) fn new(windows: &Windows) -> Self {
        let all = windows.all();
        let occupied: Vec<usize> = (0..all.len()).filter(|i| all[*i].messages > 0).collect();
        let sums = Sums::new(windows);
        let mut full = Array2::zeros((occupied.len(), BINS + 1));
        for (mut point, view) in full.rows_mut().into_iter().zip(rounds(windows, &occupied)) {
            sums.point(&view, windows.width_ns(), point.as_slice_mut().unwrap_or_default());
        }
        center_rate(&mut full);
        let reduced = reduce(&full);
        Self { windows: occupied, full, reduced }
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }
}

/// Where to look for a whole round from a window on.
#[derive(Clone, Copy, Debug)]
enum Look {
    Ahead(u64),
    Back(u64),
    /// Messages do not return.
    Around,
}

/// For each occupied window, the windows that show one round of what happens in it.
fn rounds(windows: &Windows, occupied: &[usize]) -> Vec<Range<usize>> {
    let mut looks: Vec<Look> = Vec::with_capacity(occupied.len());
    for at in occupied {
        let window = &windows.all()[*at];
        looks.push(match (window.ahead.round_ns(), window.behind.round_ns()) {
            // Of many ranks only a sample is followed, and none of it may be here.
            (None, None) if window.ahead.is_empty() => looks.last().copied().unwrap_or(Look::Around),
            (None, None) => Look::Around,
            (Some(ahead), Some(behind)) if behind < ahead => Look::Back(behind),
            (Some(ahead), _) => Look::Ahead(ahead),
            (None, Some(behind)) => Look::Back(behind),
        });
    }
    let mut rounds: Vec<Range<usize>> = Vec::with_capacity(occupied.len());
    for point in 0..occupied.len() {
        rounds.push(match looks[point] {
            Look::Around => unrepeated(windows, occupied, &looks, point, &rounds),
            Look::Ahead(ns) | Look::Back(ns) => {
                // Pairs that speak twice in a round return early in one part of it and late in
                // another.
                let near = reach(windows, occupied[point], looks[point], ns);
                let from = occupied.partition_point(|window| *window < near.start);
                let to = occupied.partition_point(|window| *window < near.end);
                let longest = looks[from..to].iter().filter_map(|look| match look {
                    Look::Ahead(other) | Look::Back(other) => {
                        Some(*other).filter(|other| *other / ONE_RHYTHM <= ns)
                    }
                    Look::Around => None,
                });
                reach(windows, occupied[point], looks[point], longest.max().unwrap_or(ns))
            }
        });
    }
    rounds
}

/// The windows that `look` reaches from window `at` within `ns`.
fn reach(windows: &Windows, at: usize, look: Look, ns: u64) -> Range<usize> {
    let end = windows.all().len();
    let span = usize::try_from(ns.div_ceil(windows.width_ns())).unwrap_or(end).clamp(1, end);
    match look {
        Look::Ahead(_) => at..(at + span).min(end),
        Look::Back(_) => (at + 1).saturating_sub(span)..at + 1,
        Look::Around => at..at + 1,
    }
}

/// The stretch around a point where messages do not return and are of one operation.
fn unrepeated(
    windows: &Windows,
    occupied: &[usize],
    looks: &[Look],
    point: usize,
    rounds: &[Range<usize>],
) -> Range<usize> {
    let operation = |point: usize| windows.all()[occupied[point]].sketch.operation();
    let belongs = |other: usize| matches!(looks[other], Look::Around) && operation(other) == operation(point);
    if point > 0 && belongs(point - 1) {
        return rounds[point - 1].clone();
    }
    let last = (point..occupied.len()).take_while(|other| belongs(*other)).last().unwrap_or(point);
    occupied[point]..occupied[last] + 1
}

/// Sums of sketches and messages before each window.
struct Sums {
    bins: Vec<u64>,
    messages: Vec<u64>,
}

impl Sums {
    fn new(windows: &Windows) -> Self {
        let all = windows.all();
        let mut bins = vec![0; (all.len() + 1) * BINS];
        let mut messages = vec![0; all.len() + 1];
        for (i, window) in all.iter().enumerate() {
            let (before, after) = bins.split_at_mut((i + 1) * BINS);
            for bin in 0..BINS {
                after[bin] = before[i * BINS + bin] + window.sketch.0[bin];
            }
            messages[i + 1] = messages[i] + window.messages;
        }
        Self { bins, messages }
    }

    /// Writes the features of the messages in `range`.
    fn point(&self, range: &Range<usize>, width_ns: u64, point: &mut [f64]) {
        let bin =
            |bin: usize| (self.bins[range.end * BINS + bin] - self.bins[range.start * BINS + bin]) as f64;
        for (i, value) in point[..BINS].iter_mut().enumerate() {
            *value = bin(i);
        }
        for view in VIEWS {
            let values = view.of_mut(point);
            let sum: f64 = values.iter().sum();
            // Hellinger's distance has a factor 1/√2; each view has one share.
            let scale = 1.0 / (2.0 * VIEWS.len() as f64 * sum.max(1.0)).sqrt();
            values.iter_mut().for_each(|value| *value = value.sqrt() * scale);
        }
        let messages = self.messages[range.end] - self.messages[range.start];
        let time = range.len() as f64 * width_ns as f64;
        point[BINS] = (messages.max(1) as f64 / time).log2() * SAME / RATE_OCTAVES;
    }
}

/// Rates relative to the run's mean, and no farther from it than a change in all views.
fn center_rate(points: &mut Array2<f64>) {
    let mut rates = points.column_mut(BINS);
    let mean = rates.mean().unwrap_or_default();
    rates.mapv_inplace(|rate| (rate - mean).clamp(-1.0, 1.0));
}

/// Projects centred points on the subspace of their largest variance, found by orthogonal iteration
/// (Golub and Van Loan, Matrix Computations 8.2.4). The result is rounded so that it does not
/// depend on the machine's order of summation.
fn reduce(points: &Array2<f64>) -> Array2<f64> {
    const GRID: f64 = (1u64 << 24) as f64;
    let Some(mean) = points.mean_axis(Axis(0)) else {
        return Array2::zeros((0, 1));
    };
    let centred = points - &mean;
    let dimensions = DIMENSIONS.min(points.nrows());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut basis = Array2::from_shape_fn((points.ncols(), dimensions), |_| rng.gen_range(-1.0..1.0));
    for _ in 0..ITERATIONS {
        basis = centred.t().dot(&centred.dot(&basis));
        orthonormalise(&mut basis);
    }
    let projected = centred.dot(&basis).mapv(|value| (value * GRID).round() / GRID);
    // Neighbour searches need points that are contiguous.
    projected.as_standard_layout().into_owned()
}

/// Gram-Schmidt, twice for accuracy; columns that depend on those before become 0.
fn orthonormalise(basis: &mut Array2<f64>) {
    for i in 0..basis.ncols() {
        let mut column: Array1<f64> = basis.column(i).to_owned();
        let before = length(column.view());
        for j in (0..i).chain(0..i) {
            let other = basis.column(j);
            let share = other.dot(&column);
            column.scaled_add(-share, &other);
        }
        let after = length(column.view());
        let independent = after > 1e-9 * before && after > 1e-30;
        column *= if independent { 1.0 / after } else { 0.0 };
        basis.column_mut(i).assign(&column);
    }
}

fn length(vector: ArrayView1<'_, f64>) -> f64 {
    vector.dot(&vector).sqrt()
}
