//! What a phase does, in a few words: `alltoall · 64 KiB · 64 ranks`.
//!
//! Recorded operations name collectives. The traffic matrix tells the pattern of all other
//! messages, and the algorithm of a collective: who talks to whom is compared with rings, grids,
//! hypercubes and stars of the ranks that speak. A pattern holds for pairs that carry nearly all
//! bytes ([`NEARLY`]), so that a few control messages do not hide it. Grids are looked for in
//! row-major order of the ranks alone; a program that numbers its grid otherwise is `irregular`.

use std::collections::BTreeSet;

use phaseflow_collect::trace::Operation;
use phaseflow_collect::{Cell, TrafficMatrix};

/// Part of the bytes (of the messages, if none has bytes) whose pairs decide the pattern.
const NEARLY: f64 = 0.97;
/// Part of a pattern's pairs that have to be there: grids with holes are still grids.
const COMPLETE: f64 = 0.8;
/// Part of a phase's messages or bytes from which an operation is named.
const NAMED: f64 = 0.1;
/// Operations named at most.
const MOST_NAMED: usize = 2;
/// Pairs looked at, evenly spread, where there are more.
const PAIRS: usize = 1 << 14;

/// Messages and bytes by operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperationTotals([(u64, u64); Operation::ALL.len()]);

impl Default for OperationTotals {
    fn default() -> Self {
        Self([(0, 0); Operation::ALL.len()])
    }
}

impl OperationTotals {
    /// Adds messages of these operations and sizes. Codes of no operation count as messages that
    /// the program itself sent.
    pub(crate) fn add(&mut self, operations: impl Iterator<Item = u8>, bytes: &[u64]) {
        for (operation, bytes) in operations.zip(bytes) {
            let place = if usize::from(operation) < self.0.len() { usize::from(operation) } else { 0 };
            let total = &mut self.0[place];
            *total = (total.0 + 1, total.1.saturating_add(*bytes));
        }
    }

    /// Adds what others count.
    pub(crate) fn merge(&mut self, others: &Self) {
        for (own, other) in self.0.iter_mut().zip(&others.0) {
            *own = (own.0 + other.0, own.1.saturating_add(other.1));
        }
    }

    /// The operations that are worth naming, the one with the most bytes first. Barriers only keep
    /// time: they are named where there is nothing else.
    fn named(&self) -> Vec<Operation> {
        let mut totals = [(0, 0); Operation::ALL.len()];
        for (operation, total) in Operation::ALL.iter().zip(&self.0) {
            let own: &mut (u64, u64) = &mut totals[kind(*operation) as usize];
            *own = (own.0 + total.0, own.1.saturating_add(total.1));
        }
        let is_synchronization = |at: usize| at == Operation::Barrier as usize;
        if totals.iter().enumerate().any(|(at, total)| total.0 > 0 && !is_synchronization(at)) {
            totals[Operation::Barrier as usize] = (0, 0);
        }
        let messages = totals.iter().map(|total| total.0 as f64).sum::<f64>();
        let bytes = totals.iter().map(|total| total.1 as f64).sum::<f64>();
        let part = |value: u64, all: f64| if all > 0.0 { value as f64 / all } else { 0.0 };
        let counts = |total: &(u64, u64)| part(total.1, bytes) >= NAMED || part(total.0, messages) >= NAMED;
        let mut found: Vec<_> =
            Operation::ALL.iter().zip(totals).filter(|(_, total)| counts(total)).collect();
        found.sort_by_key(|(_, (messages, bytes))| std::cmp::Reverse((*bytes, *messages)));
        found.into_iter().map(|(operation, _)| *operation).take(MOST_NAMED).collect()
    }

    /// Mean size of the messages of an operation, bytes; `None` if there are none.
    fn mean(&self, operation: Operation) -> Option<f64> {
        let own = Operation::ALL.iter().zip(&self.0).filter(|(other, _)| kind(**other) == operation);
        let (messages, bytes) =
            own.fold((0, 0), |sum: (u64, u64), (_, total)| (sum.0 + total.0, sum.1.saturating_add(total.1)));
        (messages > 0).then(|| bytes as f64 / messages as f64)
    }
}

/// Point-to-point calls are one kind, whatever their names.
fn kind(operation: Operation) -> Operation {
    match operation {
        Operation::Send | Operation::Recv | Operation::Sendrecv => Operation::PointToPoint,
        other => other,
    }
}

/// The title of a phase of a run of `ranks` ranks, of which only the matrix is known.
pub fn title_of_matrix(matrix: &TrafficMatrix, ranks: u32) -> String {
    title(matrix, &OperationTotals::default(), ranks)
}

/// The title of a phase of a run of `ranks` ranks.
pub(crate) fn title(matrix: &TrafficMatrix, operations: &OperationTotals, ranks: u32) -> String {
    if matrix.messages() == 0 {
        return "no messages".into();
    }
    let pairs = Pairs::of(matrix);
    let shape = pairs.shape();
    let pattern = || shape.map_or_else(|| pairs.irregular(), Shape::text);
    let named = operations.named();
    let is_program = |operation: &Operation| *operation == Operation::PointToPoint;
    let mut text = match named.first() {
        Some(first) if !is_program(first) => {
            match shape.filter(|_| named.len() == 1).and_then(Shape::algorithm) {
                Some(algorithm) => format!("{} ({algorithm})", first.name()),
                None => first.name().to_string(),
            }
        }
        _ => pattern(),
    };
    for operation in named.iter().skip(1) {
        text.push_str(" + ");
        text.push_str(if is_program(operation) { "point-to-point" } else { operation.name() });
    }
    let mut parts = vec![text];
    if matrix.bytes() > 0 {
        let mean = named.first().and_then(|first| operations.mean(*first));
        parts.push(pairs.size(mean));
    }
    let speaking = pairs.ranks.len() as u32;
    if speaking < ranks && speaking > 2 {
        parts.push(format!("{speaking} of {ranks} ranks"));
    } else if named.first().is_some_and(|first| !is_program(first)) || shape == Some(Shape::AllPairs) {
        parts.push(format!("{speaking} ranks"));
    }
    parts.join(" · ")
}

/// The pairs of a matrix that decide its pattern.
struct Pairs {
    /// Ranks that speak, in order.
    ranks: Vec<u32>,
    /// Places of source and destination among them.
    cells: Vec<(u32, u32)>,
    /// Number of all of these, more than there are cells if only some are looked at.
    count: usize,
    /// Least and greatest mean size of a pair's messages, and that of all, bytes.
    sizes: (u64, u64, f64),
}

/// How ranks talk to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One rank to another one.
    One(u32, u32),
    /// Two ranks with each other.
    Two(u32, u32),
    /// Everyone with everyone.
    AllPairs,
    /// One rank to all others.
    FromOne(u32),
    /// All others to one rank.
    ToOne(u32),
    /// One rank and all others with each other.
    Star(u32),
    /// Each rank to the one after it.
    Ring,
    /// Each rank to the one this far after it.
    Shift(u32),
    /// Disjoint pairs of ranks.
    Exchange,
    /// Rank (row, column) of a square with rank (column, row).
    Transpose,
    /// Each rank to one other.
    Permutation,
    /// Partners differ in one bit of their number.
    Hypercube,
    /// Ranks a power of two apart.
    PowersOfTwo,
    /// Neighbours in a grid of this many dimensions; true with diagonal ones.
    Halo(usize, bool),
    /// As many pairs as a tree has edges.
    Tree,
}

impl Shape {
    fn text(self) -> String {
        match self {
            Self::One(src, dst) => format!("rank {src} → {dst}"),
            Self::Two(one, other) => format!("ranks {one} ↔ {other}"),
            Self::AllPairs => "all pairs".into(),
            Self::FromOne(rank) => format!("rank {rank} to all"),
            Self::ToOne(rank) => format!("all to rank {rank}"),
            Self::Star(rank) => format!("rank {rank} with all"),
            Self::Ring => "ring".into(),
            Self::Shift(by) => format!("shift by {by}"),
            Self::Exchange => "exchange in pairs".into(),
            Self::Transpose => "transpose".into(),
            Self::Permutation => "permutation".into(),
            Self::Hypercube => "recursive doubling".into(),
            Self::PowersOfTwo => "partners 2ⁿ apart".into(),
            Self::Halo(dimensions, false) => format!("halo {dimensions}-D"),
            Self::Halo(dimensions, true) => format!("halo {dimensions}-D with diagonals"),
            Self::Tree => "tree".into(),
        }
    }

    /// What it tells of a collective's algorithm.
    fn algorithm(self) -> Option<&'static str> {
        match self {
            Self::Ring => Some("ring"),
            Self::Hypercube => Some("recursive doubling"),
            Self::PowersOfTwo => Some("Bruck"),
            Self::Tree => Some("tree"),
            Self::FromOne(_) | Self::ToOne(_) | Self::Star(_) => Some("linear"),
            Self::Halo(1, false) => Some("neighbor exchange"),
            _ => None,
        }
    }
}

impl Pairs {
    fn of(matrix: &TrafficMatrix) -> Self {
        let of_bytes = matrix.bytes() > 0;
        let weight = |cell: &Cell| if of_bytes { cell.bytes } else { cell.messages };
        let all = if of_bytes { matrix.bytes() } else { matrix.messages() };
        let mut weights: Vec<(u64, u64)> = matrix
            .values()
            .map(|(messages, bytes, count)| (if of_bytes { bytes } else { messages }, count))
            .collect();
        weights.sort_unstable();
        // Pairs below this one together carry no more than what does not count.
        let spare = (all as f64 * (1.0 - NEARLY)) as u64;
        let mut sum = 0_u64;
        let least = weights.iter().find(|(weight, count)| {
            sum = sum.saturating_add(weight.saturating_mul(*count));
            sum > spare
        });
        let least = least.map_or(0, |(weight, _)| *weight);
        let heavy = || matrix.cells().filter(|cell| weight(cell) >= least && cell.src != cell.dst);
        let mut speaks = vec![false; matrix.ranks() as usize];
        let (mut count, mut sizes) = (0_usize, None::<(u64, u64)>);
        for cell in heavy() {
            speaks[cell.src.0 as usize] = true;
            speaks[cell.dst.0 as usize] = true;
            count += 1;
            let size = cell.bytes / cell.messages.max(1);
            let (smallest, largest) = sizes.unwrap_or((size, size));
            sizes = Some((smallest.min(size), largest.max(size)));
        }
        let ranks: Vec<u32> = (0..).zip(speaks).filter(|(_, speaks)| *speaks).map(|(rank, _)| rank).collect();
        let place = |rank: u32| ranks.binary_search(&rank).unwrap_or(0) as u32;
        let step = count.div_ceil(PAIRS).max(1);
        let cells = heavy().step_by(step).map(|cell| (place(cell.src.0), place(cell.dst.0))).collect();
        let sizes = sizes.unwrap_or_default();
        let mean = matrix.bytes() as f64 / matrix.messages() as f64;
        Self { ranks, cells, count, sizes: (sizes.0, sizes.1, mean) }
    }

    /// `4 KiB`, or `about 3.2 KiB` where pairs differ; `mean` is that of the operation named first,
    /// where it is known.
    fn size(&self, mean: Option<f64>) -> String {
        let (least, most, of_all) = self.sizes;
        let text = binary(mean.unwrap_or(of_all));
        if most - least <= most / 100 { text } else { format!("about {text}") }
    }

    /// Where nothing fits: how many others a rank sends to, in the mean of those that send.
    fn irregular(&self) -> String {
        let senders: BTreeSet<u32> = self.cells.iter().map(|cell| cell.0).collect();
        let partners = self.cells.len() as f64 / senders.len().max(1) as f64;
        let step = self.count as f64 / self.cells.len().max(1) as f64;
        let partners = (partners * step).round().max(1.0);
        format!("irregular · {partners} {}", if partners > 1.0 { "partners" } else { "partner" })
    }

    fn shape(&self) -> Option<Shape> {
        let n = self.ranks.len() as u32;
        let rank = |place: u32| self.ranks[place as usize];
        match *self.cells.as_slice() {
            [] => return None,
            [(src, dst)] => return Some(Shape::One(rank(src), rank(dst))),
            [(a, b), (c, d)] if (a, b) == (d, c) => return Some(Shape::Two(rank(a), rank(b))),
            _ => {}
        }
        let (of_pairs, pairs) = (self.count as f64, f64::from(n) * f64::from(n - 1));
        let has = |cell: &(u32, u32)| self.cells.binary_search(cell).is_ok();
        let is_whole = self.count == self.cells.len();
        if let Some(star) = self.star() {
            return Some(star);
        }
        if n > 3 && of_pairs >= 0.9 * pairs {
            return Some(Shape::AllPairs);
        }
        if let Some(one) = self.one_partner(is_whole) {
            return Some(one);
        }
        let is_symmetric = is_whole && self.cells.iter().all(|(src, dst)| has(&(*dst, *src)));
        if let Some((dimensions, diagonals)) = self.grid(n) {
            return Some(Shape::Halo(dimensions, diagonals));
        }
        let bits = f64::from(n.ilog2());
        let all = |fits: &dyn Fn(u32, u32) -> bool| self.cells.iter().all(|(src, dst)| fits(*src, *dst));
        if of_pairs >= COMPLETE * f64::from(n) * bits {
            if all(&|src, dst| (src ^ dst).is_power_of_two()) {
                return Some(Shape::Hypercube);
            }
            if all(&|src, dst| ((dst + n - src) % n).is_power_of_two())
                || all(&|src, dst| ((src + n - dst) % n).is_power_of_two())
            {
                return Some(Shape::PowersOfTwo);
            }
        }
        let edges = if is_symmetric { self.count / 2 } else { self.count };
        (is_whole && edges + 1 == n as usize && self.is_connected()).then_some(Shape::Tree)
    }

    /// One rank is on one side of all pairs.
    fn star(&self) -> Option<Shape> {
        let n = self.ranks.len();
        if n < 4 || self.count < n - 1 {
            return None;
        }
        let (first, rank) = (self.cells[0], |place: u32| self.ranks[place as usize]);
        if self.cells.iter().all(|cell| cell.0 == first.0) {
            return Some(Shape::FromOne(rank(first.0)));
        }
        if self.cells.iter().all(|cell| cell.1 == first.1) {
            return Some(Shape::ToOne(rank(first.1)));
        }
        let center = |place: u32| self.cells.iter().all(|cell| cell.0 == place || cell.1 == place);
        [first.0, first.1].into_iter().find(|place| center(*place)).map(|place| Shape::Star(rank(place)))
    }

    /// Each rank sends to one other, and hears from one other.
    fn one_partner(&self, is_whole: bool) -> Option<Shape> {
        let n = self.ranks.len() as u32;
        let receivers: BTreeSet<u32> = self.cells.iter().map(|cell| cell.1).collect();
        let is_one = self.cells.windows(2).all(|pair| pair[0].0 != pair[1].0);
        if !is_whole || !is_one || receivers.len() != self.cells.len() || self.cells.len() < 3 {
            return None;
        }
        let by = |cell: &(u32, u32)| (cell.1 + n - cell.0) % n;
        let first = by(&self.cells[0]);
        if self.cells.iter().all(|cell| by(cell) == first) {
            let is_ring = first == 1 || first == n - 1;
            // Half way round is an exchange.
            return Some(match first {
                _ if is_ring => Shape::Ring,
                _ if 2 * first == n => Shape::Exchange,
                _ => Shape::Shift(first),
            });
        }
        // Without wrapping around, the last ones have nobody to send to.
        if self.cells.iter().all(|cell| cell.0 + 1 == cell.1) {
            return Some(Shape::Ring);
        }
        let side = n.isqrt();
        let turned = |place: u32| place % side * side + place / side;
        // Ranks on the diagonal keep their data, and may not speak: then places are not theirs.
        let ranks = self.ranks.last().map_or(0, |last| last + 1);
        let whole = (2..).find(|side| side * side >= ranks).unwrap_or(2);
        let by_rank = |cell: &(u32, u32)| {
            let (src, dst) = (self.ranks[cell.0 as usize], self.ranks[cell.1 as usize]);
            dst == src % whole * whole + src / whole
        };
        if self.cells.iter().all(by_rank) || side * side == n && self.cells.iter().all(|c| c.1 == turned(c.0))
        {
            return Some(Shape::Transpose);
        }
        let mutual = self.cells.iter().all(|(src, dst)| self.cells.binary_search(&(*dst, *src)).is_ok());
        Some(if mutual { Shape::Exchange } else { Shape::Permutation })
    }

    /// The grid of fewest dimensions in which partners are neighbours.
    fn grid(&self, n: u32) -> Option<(usize, bool)> {
        let divisors: Vec<u32> = (2..=n / 2).filter(|divisor| n.is_multiple_of(*divisor)).collect();
        let planes = divisors.iter().map(|a| [n / a, *a, 1]).filter(|[a, b, _]| a * b == n);
        let boxes = divisors.iter().flat_map(|a| divisors.iter().map(move |b| (*a, *b)));
        let boxes = boxes
            .filter(|(a, b)| u64::from(*a) * u64::from(*b) < u64::from(n) && n.is_multiple_of(a * b))
            .map(|(a, b)| [n / a / b, a, b]);
        let mut grids = std::iter::once([n, 1, 1]).chain(planes).chain(boxes);
        grids.find_map(|sides| self.fits(sides))
    }

    /// Whether all pairs are neighbours in a grid of these sides, the last one fastest, and nearly
    /// all neighbours are pairs.
    fn fits(&self, sides: [u32; 3]) -> Option<(usize, bool)> {
        let dimensions = sides.iter().filter(|side| **side > 1).count();
        let coordinates =
            |place: u32| [place / (sides[1] * sides[2]), place / sides[2] % sides[1], place % sides[2]];
        let mut diagonal = false;
        for (src, dst) in &self.cells {
            let (from, to) = (coordinates(*src), coordinates(*dst));
            let mut differ = 0;
            for axis in 0..3 {
                let apart = from[axis].abs_diff(to[axis]);
                if apart > 1 && apart + 1 != sides[axis] {
                    return None;
                }
                differ += u32::from(apart > 0);
            }
            diagonal |= differ > 1;
        }
        // Pairs of neighbours in a grid with open edges, the fewest that such a grid has.
        let lines: f64 = (0..3)
            .map(|axis| {
                let others: f64 =
                    (0..3).filter(|other| *other != axis).map(|o| f64::from(sides[o])).product();
                2.0 * others * f64::from(sides[axis] - 1)
            })
            .sum();
        let boxes = sides.iter().map(|side| f64::from(3 * side - 2)).product::<f64>();
        let all: f64 = boxes - sides.iter().map(|side| f64::from(*side)).product::<f64>();
        let least = if diagonal { all } else { lines };
        (self.count as f64 >= COMPLETE * least).then_some((dimensions, diagonal))
    }

    fn is_connected(&self) -> bool {
        let mut root: Vec<u32> = (0..self.ranks.len() as u32).collect();
        fn find(root: &mut [u32], mut place: u32) -> u32 {
            while root[place as usize] != place {
                root[place as usize] = root[root[place as usize] as usize];
                place = root[place as usize];
            }
            place
        }
        for (src, dst) in &self.cells {
            let (a, b) = (find(&mut root, *src), find(&mut root, *dst));
            root[a as usize] = b;
        }
        let first = find(&mut root, 0);
        (0..self.ranks.len() as u32).all(|place| find(&mut root, place) == first)
    }
}

/// Bytes in binary units, three digits: `64 KiB`.
fn binary(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::trace::Rank;

    fn matrix(pairs: impl IntoIterator<Item = (u32, u32)>, bytes: u64) -> TrafficMatrix {
        let cell = |(src, dst)| Cell { src: Rank(src), dst: Rank(dst), messages: 2, bytes: 2 * bytes };
        TrafficMatrix::from_cells(pairs.into_iter().map(cell)).unwrap()
    }

    fn of_program(pairs: impl IntoIterator<Item = (u32, u32)>) -> String {
        title_of_matrix(&matrix(pairs, 4096), 64)
    }

    fn of(operation: Operation, pairs: impl IntoIterator<Item = (u32, u32)>) -> String {
        let matrix = matrix(pairs, 1024);
        let mut operations = OperationTotals::default();
        for cell in matrix.cells() {
            operations.add(std::iter::repeat(operation as u8), &[cell.bytes / 2; 2]);
        }
        title(&matrix, &operations, 64)
    }

    fn all_pairs(n: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..n).flat_map(move |src| (0..n).map(move |dst| (src, dst))).filter(|(src, dst)| src != dst)
    }

    /// Neighbours in a grid with open edges, from the definition.
    fn halo(sides: [u32; 3], diagonals: bool) -> impl Iterator<Item = (u32, u32)> {
        let [a, b, c] = sides;
        let place = move |rank: u32| [rank / (b * c), rank / c % b, rank % c];
        all_pairs(a * b * c).filter(move |(src, dst)| {
            let apart = (0..3).map(|axis| place(*src)[axis].abs_diff(place(*dst)[axis]));
            if diagonals { apart.max() == Some(1) } else { apart.sum::<u32>() == 1 }
        })
    }

    #[test]
    fn patterns_of_messages() {
        assert_eq!(of_program(all_pairs(64)), "all pairs · 4 KiB · 64 ranks");
        assert_eq!(of_program(all_pairs(8)), "all pairs · 4 KiB · 8 of 64 ranks");
        assert_eq!(of_program(halo([4, 4, 4], false)), "halo 3-D · 4 KiB");
        assert_eq!(of_program(halo([1, 8, 8], false)), "halo 2-D · 4 KiB");
        assert_eq!(of_program(halo([1, 8, 8], true)), "halo 2-D with diagonals · 4 KiB");
        assert_eq!(of_program(halo([1, 1, 64], false)), "halo 1-D · 4 KiB");
        assert_eq!(of_program((0..64).map(|rank| (rank, (rank + 1) % 64))), "ring · 4 KiB");
        assert_eq!(of_program((0..64).map(|rank| (rank, (rank + 9) % 64))), "shift by 9 · 4 KiB");
        assert_eq!(of_program((0..64).map(|rank| (rank, rank ^ 1))), "exchange in pairs · 4 KiB");
        let turned = (0..64).map(|rank| (rank, rank % 8 * 8 + rank / 8)).filter(|(src, dst)| src != dst);
        assert_eq!(of_program(turned), "transpose · 4 KiB · 56 of 64 ranks");
        assert_eq!(of_program((1..64).map(|rank| (rank, 0))), "all to rank 0 · 4 KiB");
        assert_eq!(of_program((1..64).map(|rank| (0, rank))), "rank 0 to all · 4 KiB");
        assert_eq!(of_program([(3, 11)]), "rank 3 → 11 · 4 KiB");
        assert_eq!(of_program([(3, 11), (11, 3)]), "ranks 3 ↔ 11 · 4 KiB");
        let scattered = (0..64).flat_map(|src| (1..6).map(move |i| (src, (src * 7 + i * i * 11 + 3) % 64)));
        assert_eq!(of_program(scattered.filter(|(src, dst)| src != dst)), "irregular · 5 partners · 4 KiB");
    }

    #[test]
    fn algorithms_of_collectives() {
        let ring = (0..64).map(|rank| (rank, (rank + 1) % 64));
        assert_eq!(of(Operation::Allreduce, ring), "allreduce (ring) · 1 KiB · 64 ranks");
        let cube = (0..64).flat_map(|rank| (0..6).map(move |bit| (rank, rank ^ (1 << bit))));
        assert_eq!(of(Operation::Allreduce, cube), "allreduce (recursive doubling) · 1 KiB · 64 ranks");
        let bruck = (0..64).flat_map(|rank| (0..6).map(move |bit| (rank, (rank + (1 << bit)) % 64)));
        assert_eq!(of(Operation::Allgather, bruck), "allgather (Bruck) · 1 KiB · 64 ranks");
        assert_eq!(of(Operation::Alltoall, all_pairs(64)), "alltoall · 1 KiB · 64 ranks");
        let binomial = (1..64_u32).map(|rank| (rank & (rank - 1), rank));
        assert_eq!(of(Operation::Bcast, binomial), "bcast (tree) · 1 KiB · 64 ranks");
        assert_eq!(
            of(Operation::Gather, (1..64).map(|rank| (rank, 0))),
            "gather (linear) · 1 KiB · 64 ranks"
        );
    }

    /// What carries 3 % of the bytes does not hide a pattern, and what differs in size says so.
    #[test]
    fn a_little_else_hides_nothing() {
        let heavy = matrix(halo([4, 4, 4], false), 1 << 20);
        let light = matrix(all_pairs(64), 16);
        let both = TrafficMatrix::from_cells(heavy.cells().chain(light.cells())).unwrap();
        assert!(title_of_matrix(&both, 64).starts_with("halo 3-D · "), "{}", title_of_matrix(&both, 64));
        let sizes = matrix([(0, 1), (1, 0)], 1024)
            .cells()
            .chain(matrix([(2, 3), (3, 2)], 3072).cells())
            .collect::<Vec<_>>();
        assert_eq!(
            title_of_matrix(&TrafficMatrix::from_cells(sizes).unwrap(), 4),
            "exchange in pairs · about 2 KiB"
        );
    }

    #[test]
    fn several_operations_are_named() {
        let matrix = matrix(halo([4, 4, 4], false), 1024);
        let mut operations = OperationTotals::default();
        operations.add([0; 90].into_iter(), &[1024; 90]);
        operations.add([Operation::Allreduce as u8; 30].into_iter(), &[8; 30]);
        operations.add([Operation::Barrier as u8; 2].into_iter(), &[0; 2]);
        assert_eq!(title(&matrix, &operations, 64), "halo 3-D + allreduce · 1 KiB");
    }

    #[test]
    fn nothing_and_no_bytes() {
        assert_eq!(title_of_matrix(&TrafficMatrix::default(), 4), "no messages");
        assert_eq!(of_program([]), "no messages");
        assert_eq!(title_of_matrix(&matrix((0..4).map(|rank| (rank, (rank + 1) % 4)), 0), 4), "ring");
        assert_eq!(binary(1023.6), "1 KiB");
        assert_eq!(binary(65536.0), "64 KiB");
        assert_eq!(binary(3277.0), "3.2 KiB");
    }
}
