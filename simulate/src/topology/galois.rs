//! Finite fields GF(q) for a prime power q, by tables.
//!
//! An element is a number below q: its digits in base p are the coefficients of a polynomial. The
//! field is that of the polynomials modulo a primitive one, the first that is found: x then runs
//! through all elements but 0 (R. Lidl and H. Niederreiter, "Finite fields", chapter 3). For a
//! prime q this is arithmetic modulo q, and x is a primitive root.

/// A field.
pub(super) struct Field {
    p: u32,
    q: u32,
    /// Powers of the primitive element, from 0 to q − 2.
    powers: Vec<u32>,
    /// By element but 0: its exponent.
    exponents: Vec<u32>,
}

impl Field {
    /// The field of q elements; `None` if q is no prime power.
    pub(super) fn new(q: u32) -> Option<Self> {
        let p = (2..=q).find(|p| q.is_multiple_of(*p))?;
        let mut rest = q;
        while rest.is_multiple_of(p) {
            rest /= p;
        }
        if rest > 1 {
            return None;
        }
        // xⁿ equals a polynomial of lower degree: try all of them.
        let powers = (1..q).find_map(|reduced| powers(p, q, reduced))?;
        let mut exponents = vec![0; q as usize];
        for (exponent, power) in (0..).zip(&powers) {
            exponents[*power as usize] = exponent;
        }
        Some(Self { p, q, powers, exponents })
    }

    /// A power of the primitive element.
    pub(super) fn power(&self, exponent: u32) -> u32 {
        self.powers[(exponent % (self.q - 1)) as usize]
    }

    /// a + b.
    pub(super) fn sum(&self, a: u32, b: u32) -> u32 {
        by_digit(self.p, a, b, |a, b| a + b)
    }

    /// a · b.
    pub(super) fn product(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power(self.exponents[a as usize] + self.exponents[b as usize])
    }
}

/// All powers of x if xⁿ = `reduced` makes x primitive.
fn powers(p: u32, q: u32, reduced: u32) -> Option<Vec<u32>> {
    let mut powers = vec![1];
    loop {
        let last = *powers.last()?;
        // Times x: the digits move up, and the highest one becomes a multiple of xⁿ.
        let (highest, below) = (last / (q / p), last % (q / p));
        let next = (0..highest).fold(below * p, |sum, _| by_digit(p, sum, reduced, |a, b| a + b));
        if next == 1 {
            return (powers.len() as u32 == q - 1).then_some(powers);
        }
        if next == 0 || powers.len() as u32 >= q {
            return None;
        }
        powers.push(next);
    }
}

/// Combines numbers digit by digit in base p, without carry.
fn by_digit(p: u32, mut a: u32, mut b: u32, combine: impl Fn(u32, u32) -> u32) -> u32 {
    let (mut result, mut place) = (0, 1);
    while a > 0 || b > 0 {
        result += combine(a % p, b % p) % p * place;
        (a, b, place) = (a / p, b / p, place * p);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The axioms, for all elements of small fields.
    #[test]
    fn tables_are_fields() {
        for q in [2, 3, 4, 5, 7, 8, 9, 11, 16, 25, 27] {
            let field = Field::new(q).unwrap();
            for a in 0..q {
                assert_eq!((field.sum(a, 0), field.product(a, 1)), (a, a));
                assert!((0..q).any(|b| field.sum(a, b) == 0));
                assert!(a == 0 || (0..q).any(|b| field.product(a, b) == 1), "{q}: {a}");
                for b in 0..q {
                    assert_eq!(field.sum(a, b), field.sum(b, a));
                    assert_eq!(field.product(a, b), field.product(b, a));
                    for c in 0..q {
                        assert_eq!(field.sum(field.sum(a, b), c), field.sum(a, field.sum(b, c)));
                        let left = field.product(a, field.sum(b, c));
                        assert_eq!(left, field.sum(field.product(a, b), field.product(a, c)), "{q}");
                    }
                }
            }
        }
        for q in [0, 1, 6, 12, 15, 100] {
            assert!(Field::new(q).is_none(), "{q}");
        }
    }
}
