//! What windows look like: sums by view before each window, so that any stretch costs one
//! subtraction.

use crate::first_pass::rounds::sums::{PAIRS, SIZES, Sums};

/// A property of messages in which two stretches may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Messages by pair.
    Pairs,
    /// Bytes by pair: one heavy message among thousands decides the load.
    Bytes,
    /// Messages by octave of their size. The two nearest octaves share each message in proportion,
    /// so that a slow change of size is slow here.
    Sizes,
    /// Messages a nanosecond.
    MessageRate,
    /// Bytes a nanosecond.
    ByteRate,
    /// The share of all bytes that the pair with most of them has. A pair may load its link many
    /// times as much while the shares of all pairs hardly differ.
    Heaviest,
}

/// All views: those of [`LABELLED`] come first.
pub(super) const VIEWS: [View; 6] =
    [View::Pairs, View::Bytes, View::Sizes, View::MessageRate, View::ByteRate, View::Heaviest];

/// The views that tell labels apart; the rates come last. With the heaviest pair among them, fewer
/// loops of short phases are found: 72 generated runs have .871 instead of .880.
pub(super) const LABELLED: [View; 5] =
    [View::Pairs, View::Bytes, View::Sizes, View::MessageRate, View::ByteRate];

/// Scales in units; changes slower than the largest one are drift.
pub(super) const SCALES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// So many of the scales are those of shares: up to 64 units. Rates need larger ones where pauses
/// have heavy tails. With shares up to 256 units, three of 36 generated runs without phases are
/// divided by chance.
pub(super) const SCALES_OF_SHARES: usize = 7;

impl View {
    /// Whether stretches are compared in it at the scale of this number.
    pub(super) fn is_compared_at(self, scale: usize) -> bool {
        self.is_rate() || scale < SCALES_OF_SHARES
    }

    pub(super) fn is_rate(self) -> bool {
        matches!(self, View::MessageRate | View::ByteRate)
    }

    /// Whether it compares the shares of all pairs, or of all sizes.
    pub(super) fn is_share(self) -> bool {
        matches!(self, View::Pairs | View::Bytes | View::Sizes)
    }
}

/// Lanes of a sum. The order of additions is fixed, so that results are the same everywhere.
const LANES: usize = 8;

/// Squared Hellinger distance between two differences of sums: 1 − Σ √(pᵢ·qᵢ); 0 if one is empty.
macro_rules! hellinger {
    ($name:ident, $int:ty) => {
        fn $name(a: &[$int], b: &[$int], c: &[$int], d: &[$int]) -> f64 {
            let (mut one, mut other, mut both) = ([0f32; LANES], [0f32; LANES], [0f32; LANES]);
            let chunks = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
            let chunks = chunks.zip(c.chunks_exact(LANES).zip(d.chunks_exact(LANES)));
            for ((a, b), (c, d)) in chunks {
                for lane in 0..LANES {
                    let p = b[lane].wrapping_sub(a[lane]) as f32;
                    let q = d[lane].wrapping_sub(c[lane]) as f32;
                    one[lane] += p;
                    other[lane] += q;
                    both[lane] += p.sqrt() * q.sqrt();
                }
            }
            let sum = |lanes: [f32; LANES]| lanes.iter().map(|lane| f64::from(*lane)).sum::<f64>();
            let (one, other, both) = (sum(one), sum(other), sum(both));
            if one <= 0.0 || other <= 0.0 { 0.0 } else { (1.0 - both / (one * other).sqrt()).max(0.0) }
        }
    };
}

hellinger!(distance_of_counts, u32);
// Bytes, and parts of messages.
hellinger!(distance_of_parts, u64);

/// Counts of a stretch for its rates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) messages: f64,
    pub(super) bytes: f64,
    pub(super) ns: f64,
    pub(super) rounds: f64,
    /// Natural logarithms of the bytes and of the nanoseconds of a message, summed over messages.
    log_bytes: f64,
    log_ns: f64,
}

impl Rates {
    /// Those of one unit.
    pub(super) fn new(messages: f64, bytes: f64, ns: f64, rounds: f64) -> Self {
        let log = |amount: f64| messages * (amount / messages).ln();
        Self { messages, bytes, ns, rounds, log_bytes: log(bytes), log_ns: log(ns) }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, |own, other| own + other)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, |own, other| own - other)
    }

    fn with(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            messages: of(self.messages, other.messages),
            bytes: of(self.bytes, other.bytes),
            ns: of(self.ns, other.ns),
            rounds: of(self.rounds, other.rounds),
            log_bytes: of(self.log_bytes, other.log_bytes),
            log_ns: of(self.log_ns, other.log_ns),
        }
    }

    /// The squared difference of the logarithms of two rates. It is the lesser of two: that of the
    /// rates over all of the time, and that of the geometric means over messages. A few long pauses
    /// change the first alone, bouts of other programs on the machine change the second more.
    fn distance(self, other: Self, view: View) -> f64 {
        let (own_log, other_log, own_all, other_all) = match view {
            View::MessageRate => (0.0, 0.0, self.messages, other.messages),
            _ => (self.log_bytes, other.log_bytes, self.bytes, other.bytes),
        };
        let of_all = (other_all / other.ns / (own_all / self.ns)).ln();
        let of_logs = (other_log - other.log_ns) / other.messages - (own_log - self.log_ns) / self.messages;
        of_all.powi(2).min(of_logs.powi(2))
    }
}

/// Stretches of windows, each a unit that the model does not divide.
#[derive(Debug)]
pub(super) struct Units<'a> {
    /// Sums before each window, and the total.
    sums: &'a [&'a Sums],
    /// The first window of each unit, and the number of windows.
    pub(super) edges: Vec<usize>,
    /// Counts before each unit, and the total.
    pub(super) rates: Vec<Rates>,
    /// Before each unit, and in total: bytes, and the squares of the bytes of each message.
    bytes: Vec<(f64, f64)>,
    /// Before each unit, and in total: rounds that have bytes, and the natural logarithms of the
    /// heaviest pair's share in each of these.
    heaviest: Vec<(f64, f64)>,
    /// For each unit, whether a silence lies before it; nothing is joined over a silence.
    pub(super) locked: Vec<bool>,
}

impl<'a> Units<'a> {
    pub(super) fn new(sums: &'a [&'a Sums], edges: Vec<usize>, rates: &[Rates], locked: Vec<bool>) -> Self {
        let mut all = vec![Rates::default()];
        let mut heaviest = vec![(0.0, 0.0)];
        for (own, edge) in rates.iter().zip(edges.windows(2)) {
            all.push(all[all.len() - 1].plus(*own));
            let share = heaviest_share(sums[edge[0]], sums[edge[1]]);
            let (rounds, logs) = heaviest[heaviest.len() - 1];
            heaviest.push(
                share.map_or((rounds, logs), |share| (rounds + own.rounds, logs + own.rounds * share.ln())),
            );
        }
        let bytes = edges.iter().map(|edge| (sums[*edge].total, sums[*edge].squares)).collect();
        Self { sums, edges, rates: all, bytes, heaviest, locked }
    }

    /// Number of units.
    pub(super) fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// Counts of units `from..to`.
    pub(super) fn rates(&self, from: usize, to: usize) -> Rates {
        self.rates[to].minus(self.rates[from])
    }

    /// The number of messages of equal size that would tell as much as the bytes of units
    /// `from..to` (Kish, Survey Sampling, 1965, section 11.7). It is small if a few huge messages
    /// have most of the bytes.
    pub(super) fn effective_messages(&self, from: usize, to: usize) -> f64 {
        let (before, after) = (self.bytes[from], self.bytes[to]);
        (after.0 - before.0).powi(2) / (after.1 - before.1).max(1.0)
    }

    /// The distance of units `a..b` from `c..d` in a view: squared Hellinger distance of shares, or
    /// squared difference of the logarithms of rates, or of the heaviest pair's share.
    pub(super) fn distance(&self, (a, b): (usize, usize), (c, d): (usize, usize), view: View) -> f64 {
        let at = |unit: usize| self.sums[self.edges[unit]];
        match view {
            View::Pairs => distance_of_counts(&at(a).pairs, &at(b).pairs, &at(c).pairs, &at(d).pairs),
            View::Bytes => distance_of_parts(&at(a).bytes, &at(b).bytes, &at(c).bytes, &at(d).bytes),
            View::Sizes => distance_of_parts(&at(a).sizes, &at(b).sizes, &at(c).sizes, &at(d).sizes),
            View::MessageRate | View::ByteRate => self.rates(a, b).distance(self.rates(c, d), view),
            View::Heaviest => self.distance_of_heaviest((a, b), (c, d)),
        }
    }

    /// The lesser of two: that of the shares in all messages, and that of the geometric means of
    /// the rounds' shares. One huge message changes the first alone. Where each round has another
    /// heaviest pair, only the second is large. It is 0 if one side has no bytes, as shares have.
    fn distance_of_heaviest(&self, one: (usize, usize), other: (usize, usize)) -> f64 {
        let mean = |(from, to): (usize, usize)| {
            let (before, after) = (self.heaviest[from], self.heaviest[to]);
            (after.1 - before.1) / (after.0 - before.0)
        };
        let of_means = (mean(one) - mean(other)).powi(2);
        // NaN without bytes. Regular rounds are alike, and sums cost more to compare.
        if of_means.is_nan() || of_means <= 0.0 {
            return 0.0;
        }
        let share = |(from, to): (usize, usize)| {
            heaviest_share(self.sums[self.edges[from]], self.sums[self.edges[to]])
        };
        let (Some(own), Some(others)) = (share(one), share(other)) else { return 0.0 };
        of_means.min((own / others).ln().powi(2))
    }
}

/// The largest share of the bytes between two sums; `None` if there are none.
fn heaviest_share(before: &Sums, after: &Sums) -> Option<f64> {
    let mut most = [0u64; LANES];
    for (before, after) in before.bytes.chunks_exact(LANES).zip(after.bytes.chunks_exact(LANES)) {
        for lane in 0..LANES {
            most[lane] = most[lane].max(after[lane].wrapping_sub(before[lane]));
        }
    }
    let most = most.into_iter().fold(0, u64::max);
    (most > 0).then(|| most as f64 / (after.total - before.total))
}

/// What stretches look like, to compare each with many others: the squared Hellinger distance of
/// two is one less the scalar product of the roots of their shares.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pairs: Roots<PAIRS>,
    bytes: Roots<PAIRS>,
    sizes: Roots<SIZES>,
    rates: Rates,
}

impl Profile {
    /// The profile of several stretches together.
    pub(super) fn new(units: &Units<'_>, stretches: impl Iterator<Item = (usize, usize)>) -> Self {
        let (mut sums, mut rates) = (Sums::default(), Rates::default());
        for (from, to) in stretches {
            sums.merge(&units.sums[units.edges[to]].since(units.sums[units.edges[from]]));
            rates = rates.plus(units.rates(from, to));
        }
        Self {
            pairs: Roots::of(sums.pairs.map(|count| count as f32)),
            bytes: Roots::of(sums.bytes.map(|bytes| bytes as f32)),
            sizes: Roots::of(sums.sizes.map(|count| count as f32)),
            rates,
        }
    }

    /// The distance in a view of [`LABELLED`], as [`Units::distance`] defines it; 0 in others.
    pub(super) fn distance(&self, other: &Self, view: View) -> f64 {
        match view {
            View::Pairs => self.pairs.distance(&other.pairs),
            View::Bytes => self.bytes.distance(&other.bytes),
            View::Sizes => self.sizes.distance(&other.sizes),
            View::MessageRate | View::ByteRate => self.rates.distance(other.rates, view),
            View::Heaviest => 0.0,
        }
    }
}

/// The roots of shares.
#[derive(Clone, Debug)]
struct Roots<const BINS: usize> {
    bins: [f32; BINS],
    /// There is nothing to have shares of.
    empty: bool,
}

impl<const BINS: usize> Roots<BINS> {
    /// The roots of the shares of these counts; all 0 if there are none.
    fn of(counts: [f32; BINS]) -> Self {
        let all: f64 = counts.iter().map(|count| f64::from(*count)).sum();
        let empty = all <= 0.0;
        let bins = if empty { counts } else { counts.map(|count| (f64::from(count) / all).sqrt() as f32) };
        Self { bins, empty }
    }

    /// The squared Hellinger distance of two shares; 0 if one is empty.
    fn distance(&self, other: &Self) -> f64 {
        if self.empty || other.empty {
            return 0.0;
        }
        let mut both = [0f32; LANES];
        for (one, other) in self.bins.chunks_exact(LANES).zip(other.bins.chunks_exact(LANES)) {
            for lane in 0..LANES {
                both[lane] += one[lane] * other[lane];
            }
        }
        (1.0 - both.iter().map(|lane| f64::from(*lane)).sum::<f64>()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of windows given as messages (pair, bytes).
    fn sums(windows: &[&[(u32, u64)]]) -> Vec<Sums> {
        let mut all = vec![Sums::default()];
        for window in windows {
            let mut next = all[all.len() - 1].clone();
            window.iter().for_each(|(pair, bytes)| next.add(*pair, *bytes));
            all.push(next);
        }
        all
    }

    #[test]
    fn distances_by_hand() {
        // Shares (1/2, 1/2) and (1, 0) of messages: 1 − √(1/2).
        let sums = sums(&[&[(0, 99), (1, 99)], &[(0, 99), (0, 99)], &[(2, 7)]]);
        let rates = |messages, ns| Rates::new(messages, 100.0 * messages, ns, 1.0);
        let all = [rates(2.0, 10.0), rates(2.0, 30.0), rates(1.0, 10.0)];
        let sums: Vec<&Sums> = sums.iter().collect();
        let units = Units::new(&sums, vec![0, 1, 2, 3], &all, vec![false; 3]);
        let of = |view| units.distance((0, 1), (1, 2), view);
        for view in [View::Pairs, View::Bytes] {
            assert!((of(view) - (1.0 - 0.5f64.sqrt())).abs() < 1e-6);
        }
        assert!(of(View::Sizes) < 1e-6);
        assert!((of(View::MessageRate) - 3f64.ln().powi(2)).abs() < 1e-9);
        assert!((units.distance((0, 2), (2, 3), View::Pairs) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn rates_differ_in_both_of_their_means() {
        let unit = |ns: f64| Rates::new(10.0, 640.0, ns, 1.0);
        let sum = |all: &[f64]| all.iter().fold(Rates::default(), |sum, ns| sum.plus(unit(*ns)));
        for view in [View::MessageRate, View::ByteRate] {
            let distance = |one: &[f64], other: &[f64]| sum(one).distance(sum(other), view);
            // Three times as long, whatever the mean.
            let regular = distance(&[100.0; 4], &[300.0; 4]);
            assert!((regular - 3f64.ln().powi(2)).abs() < 1e-9);
            // One long pause: the mean is 3.25 times as long, the geometric mean 10 ^ ¼ times.
            let pause = distance(&[100.0; 4], &[100.0, 100.0, 100.0, 1000.0]);
            assert!((pause - (10f64.ln() / 4.0).powi(2)).abs() < 1e-9);
            // The same time of unlike windows: the geometric means differ, the means do not.
            assert!(distance(&[100.0; 2], &[20.0, 180.0]) < 1e-9);
        }
    }

    #[test]
    fn the_heaviest_share_differs_in_both_of_its_means() {
        // Windows of one round. The first pair has these bytes, of 1000 in all, the rest is spread.
        // With 0, the window is empty.
        let of = |first: &[u64]| -> Vec<Vec<(u32, u64)>> {
            let window = |first: &u64| match first {
                0 => Vec::new(),
                _ => (1..=10).map(|pair| (pair, (1000 - first) / 10 - 1)).chain([(0, first - 1)]).collect(),
            };
            first.iter().map(window).collect()
        };
        let distance = |one: &[u64], other: &[u64]| {
            let windows = [of(one), of(other)].concat();
            let sums = sums(&windows.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let rates = vec![Rates::new(11.0, 1000.0, 100.0, 1.0); windows.len()];
            let sums: Vec<&Sums> = sums.iter().collect();
            let all = windows.len();
            let units = Units::new(&sums, (0..=all).collect(), &rates, vec![false; all]);
            units.distance((0, one.len()), (one.len(), all), View::Heaviest)
        };
        // A quarter of the bytes, then three quarters.
        assert!((distance(&[250; 4], &[750; 4]) - 3f64.ln().powi(2)).abs() < 1e-9);
        // One huge message: the mean share is 1.5 times as large, the geometric mean 3 ^ ¼ times.
        let once = distance(&[250; 4], &[250, 250, 250, 750]);
        assert!((once - (3f64.ln() / 4.0).powi(2)).abs() < 1e-9, "{once}");
        assert!(distance(&[250; 2], &[250; 2]) < 1e-12);
        // Windows of barriers alone have no bytes, and change nothing.
        assert!((distance(&[0, 250, 0, 250], &[750; 4]) - 3f64.ln().powi(2)).abs() < 1e-9);
        assert!(distance(&[0; 4], &[750; 4]) < 1e-12);
    }

    #[test]
    fn profiles_are_as_far_apart_as_their_stretches() {
        let sums = sums(&[&[(0, 99), (1, 9)], &[(0, 99), (300, 70)], &[(2, 7)], &[(0, 9)], &[]]);
        let rates = [3.0, 5.0, 2.0, 7.0, 1.0].map(|ns| Rates::new(2.0, 50.0, ns, 1.0));
        let sums: Vec<&Sums> = sums.iter().collect();
        let units = Units::new(&sums, (0..=5).collect(), &rates, vec![false; 5]);
        let profile = |from, to| Profile::new(&units, [(from, to)].into_iter());
        for view in LABELLED {
            for ((a, b), (c, d)) in [((0, 1), (1, 2)), ((0, 2), (2, 4)), ((1, 3), (3, 4)), ((0, 1), (4, 5))] {
                let expected = units.distance((a, b), (c, d), view);
                let own = profile(a, b).distance(&profile(c, d), view);
                assert!((own - expected).abs() < 1e-6, "{view:?} {own} {expected}");
            }
        }
        // Of stretches that lie apart: (2/3, 1/3) of pairs 0 and 1 against (1) of pair 0.
        let both = Profile::new(&units, [(0, 1), (3, 4)].into_iter());
        let expected = 1.0 - (2.0f64 / 3.0).sqrt();
        assert!((both.distance(&profile(3, 4), View::Pairs) - expected).abs() < 1e-6);
    }
}
