//! Arranging ranks in grids, as `MPI_Dims_create` is meant to: as square as the number allows.

/// Rows and columns, rows ≤ columns, of the most square grid of exactly `n` places; 1×n if `n` is
/// prime.
pub(super) fn most_square(n: u32) -> [u32; 2] {
    let rows = (1..=n.isqrt()).rev().find(|rows| n.is_multiple_of(*rows)).unwrap_or(1);
    [rows, n / rows]
}

/// The box of exactly `n` places with the least surface, sides in ascending order.
pub(super) fn most_cubic(n: u32) -> [u32; 3] {
    let mut best = [1, 1, n];
    let surface = |[a, b, c]: [u32; 3]| {
        let (a, b, c) = (u64::from(a), u64::from(b), u64::from(c));
        a * b + b * c + c * a
    };
    for a in (1..).take_while(|a| a * a * a <= u64::from(n)) {
        let a = a as u32;
        if n.is_multiple_of(a) {
            // Given one side, the squarest rest has the least surface.
            let [b, c] = most_square(n / a);
            if surface([a, b, c]) < surface(best) {
                best = [a, b, c];
            }
        }
    }
    best.sort_unstable();
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_all_grids() {
        for n in 1..300u32 {
            let divisors: Vec<u32> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
            let square = divisors.iter().map(|r| r + n / r).min().unwrap();
            let [r, c] = most_square(n);
            assert!(r <= c && r * c == n && r + c == square, "{n}: {r}×{c}");
            let boxes = divisors.iter().flat_map(|a| divisors.iter().map(move |b| (*a, *b)));
            let least =
                boxes.filter(|(a, b)| n.is_multiple_of(a * b)).map(|(a, b)| a * b + n / a + n / b).min();
            let [a, b, c] = most_cubic(n);
            assert!(a <= b && b <= c && a * b * c == n, "{n}");
            assert_eq!(Some(a * b + b * c + c * a), least, "{n}: {a}×{b}×{c}");
        }
    }
}
