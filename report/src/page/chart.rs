//! Line charts as SVG.

use std::fmt::Write;

use maud::{Markup, html};

use super::text::{shortened, shown};
use crate::number;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// Colours (and dashes) that the style sheet has.
pub(super) const COLOURS: usize = 8;

/// How the numbers of an axis read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// 1 is 100 %.
    Share,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Anything else.
    Plain,
}

impl Scale {
    fn text(self, value: f64) -> String {
        match self {
            Self::Share => number::percent(value),
            Self::Bytes => number::scaled(value, "B"),
            Self::Seconds => number::seconds(value),
            Self::Plain => number::scaled(value, ""),
        }
    }
}

/// A chart: lines over a common grid, axes from 0.
pub(super) struct Chart<'a> {
    pub(super) title: String,
    pub(super) x_label: &'a str,
    pub(super) x: Scale,
    pub(super) y: Scale,
    /// Step functions, a value holds until the next point; each with the number of its colour.
    pub(super) lines: Vec<(usize, &'a [(f64, f64)])>,
    /// Where the grid ends; what all charts that are compared need.
    pub(super) ends: (f64, f64),
}

/// The largest x and y of points, for [`Chart::ends`].
pub(super) fn ends<'p>(points: impl Iterator<Item = &'p (f64, f64)>) -> (f64, f64) {
    points.fold((0.0, 0.0), |(x, y): (f64, f64), point| (x.max(point.0), y.max(point.1)))
}

impl Chart<'_> {
    /// The chart with its title above.
    pub(super) fn figure(&self) -> Markup {
        html! { figure { figcaption { (shown(&self.title)) } (self.svg()) } }
    }

    /// The chart.
    pub(super) fn svg(&self) -> Markup {
        let x_end = if self.ends.0 > 0.0 { self.ends.0 } else { 1.0 };
        let y_step = step(self.ends.1);
        let y_end = if self.ends.1 > 0.0 { (self.ends.1 / y_step).ceil() * y_step } else { 1.0 };
        let x_at = |x: f64| LEFT + x / x_end * (WIDTH - LEFT - RIGHT);
        let y_at = |y: f64| HEIGHT - BOTTOM - y / y_end * (HEIGHT - TOP - BOTTOM);
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        // What a script needs to add a line: where 0 is, and how much a unit is.
        let frame = format!("{LEFT} {bottom} {} {}", (right - LEFT) / x_end, (bottom - TOP) / y_end,);
        html! {
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(shown(&self.title)) data-frame=(frame) {
                @for y in grid(y_end, y_step) {
                    path.grid d=(format!("M{LEFT} {:.1}H{right:.1}", y_at(y))) {}
                    text.end x=(format!("{:.1}", LEFT - 6.0)) y=(format!("{:.1}", y_at(y) + 4.0)) { (self.y.text(y)) }
                }
                @for x in grid(x_end, step(x_end)) {
                    path.grid d=(format!("M{:.1} {bottom}v4", x_at(x))) {}
                    text.middle x=(format!("{:.1}", x_at(x))) y=(format!("{:.1}", bottom + 17.0)) { (self.x.text(x)) }
                }
                text.middle.label x=(format!("{:.1}", (LEFT + right) / 2.0)) y=(format!("{:.1}", HEIGHT - 6.0)) { (shown(self.x_label)) }
                @if self.y == Scale::Share && y_end > 1.0 { path.capacity d=(format!("M{LEFT} {:.1}H{right:.1}", y_at(1.0))) {} }
                @for (colour, points) in &self.lines {
                    path class=(format!("line l{}", colour % COLOURS)) d=(steps(points.iter().map(|(x, y)| (x_at(*x), y_at(*y))))) {}
                }
            }
        }
    }
}

/// A step function as the outline of a path: a value holds until the next point.
fn steps(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.enumerate() {
        let _ = if at == 0 { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "H{x:.1}V{y:.1}") };
    }
    path
}

/// The lines' names, for the charts that follow.
pub(super) fn legend<'n>(names: impl Iterator<Item = (usize, &'n str)>) -> Markup {
    html! {
        ul.legend { @for (colour, name) in names { li {
            svg width="34" height="10" aria-hidden="true" { path class=(format!("line l{}", colour % COLOURS)) d="M1 5H33" {} }
            (shortened(name, 80))
        } } }
    }
}

/// The distance between grid lines: 1, 2 or 5 times a power of ten, three to six lines.
pub(super) fn step(end: f64) -> f64 {
    if !(end > 0.0 && end.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf((end / 4.0).log10().floor());
    let digit = end / 4.0 / power;
    power
        * if digit < 1.5 {
            1.0
        } else if digit < 3.5 {
            2.0
        } else if digit < 7.5 {
            5.0
        } else {
            10.0
        }
}

/// 0, step, 2·step, … up to `end`.
pub(super) fn grid(end: f64, step: f64) -> impl Iterator<Item = f64> {
    // A relative hair beyond: 3 × 0.1 is more than 0.3.
    (0..12).map(move |i| f64::from(i) * step).take_while(move |at| *at <= end * (1.0 + 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_round_numbers() {
        for (end, expected) in [(1.0, 0.2), (2.0, 0.5), (7.0, 2.0), (10.0, 2.0), (35.0, 10.0), (0.3, 0.1)] {
            assert!((step(end) - expected).abs() < 1e-12, "{end}: {}", step(end));
            assert!((3..=8).contains(&grid(end, step(end)).count()), "{end}");
        }
        for end in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX] {
            assert!(grid(end, step(end)).count() <= 12);
        }
    }
}
