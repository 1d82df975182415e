//! The traffic matrix of a phase as an image: sender down, receiver across, colour by the logarithm
//! of the bytes.
//!
//! As vectors a matrix of 512 ranks would be 22 MB, as an image with a palette a few kB. More ranks
//! than pixels are binned, the sum of a bin is what shows.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, html};
use phaseflow_collect::TrafficMatrix;
use phaseflow_segment::Phase;
use phaseflow_simulate::workload::Workload;

use super::text::{counted, shortened, shown};
use crate::number;

/// Pixels a side, where few matrices are shown and where many are: bounds the size of the page.
const LARGE: u64 = 512;
const SMALL: u64 = 256;
const FEW: usize = 4;

/// Matrices shown.
const MATRICES: usize = 24;

/// From violet to cream over rising lightness, so that grey and any colour vision show the same
/// order (points of matplotlib's magma, CC0, without its black end: black is nothing).
const RAMP: [[f64; 3]; 7] = [
    [81.0, 18.0, 124.0],
    [131.0, 38.0, 129.0],
    [183.0, 55.0, 121.0],
    [230.0, 81.0, 100.0],
    [251.0, 135.0, 97.0],
    [254.0, 187.0, 129.0],
    [252.0, 253.0, 191.0],
];

/// Phases that are drawn, each with the number of its workload; and the number of all.
fn drawn<'w>(
    workloads: &'w [Workload],
    hottest: Option<(usize, &str)>,
) -> (Vec<(usize, &'w Workload, &'w Phase)>, usize) {
    let all = workloads.iter().enumerate();
    let mut phases: Vec<(usize, &Workload, &Phase)> = all
        .flat_map(|(number, load)| load.segmentation.phases.iter().map(move |phase| (number, load, phase)))
        .collect();
    let total = phases.len();
    let is_hottest = |number: usize, phase: &Phase| hottest == Some((number, &phase.name));
    if total > MATRICES {
        phases.sort_by_key(|(_, _, phase)| std::cmp::Reverse(phase.matrix.bytes()));
    }
    phases.sort_by_key(|(number, _, phase)| !is_hottest(*number, phase));
    phases.truncate(MATRICES);
    (phases, total)
}

/// A matrix that is drawn.
pub(super) struct MatrixFigure {
    /// Number of the workload, name of the phase.
    pub(super) workload: usize,
    pub(super) phase: String,
    /// Name of the phase and its title.
    pub(super) name: String,
    /// What it shows, in a sentence.
    pub(super) about: String,
    pub(super) svg: Markup,
    /// Ranks, pixels a side, unit of the values.
    pub(super) ranks: u64,
    pub(super) side: usize,
    pub(super) unit: &'static str,
    /// By colour from 1: the lowest and the highest value that have it, `None` for one that none
    /// has.
    pub(super) values: Vec<Option<(u64, u64)>>,
}

/// The matrices of all phases of all workloads, or of those with the most bytes; that of
/// `hottest`, the number of a workload and the name of its phase, is among them and comes first.
/// `large` ones have more pixels. Also the number of all.
pub(super) fn figures(
    workloads: &[Workload],
    hottest: Option<(usize, &str)>,
    large: bool,
) -> (Vec<MatrixFigure>, usize) {
    let (phases, total) = drawn(workloads, hottest);
    let side = if large || total <= FEW { LARGE } else { SMALL };
    let figure = |(workload, load, phase): (usize, &Workload, &Phase)| {
        let own = format!("{}{}", phase.name, in_brackets(&phase.title));
        let of = if workloads.len() > 1 { format!("{}: ", shortened(&load.name, 40)) } else { String::new() };
        let ranks = u64::from(load.segmentation.header.ranks.max(phase.matrix.ranks()).max(1));
        let image = Image::new(&phase.matrix, ranks, side);
        let about = format!(
            "{of}phase {own}: {} in {} between {}",
            number::scaled(phase.matrix.bytes() as f64, "B"),
            counted(phase.matrix.messages() as usize, "message"),
            counted(phase.matrix.len(), "pair"),
        );
        MatrixFigure {
            workload,
            phase: phase.name.clone(),
            name: own,
            svg: svg(&image, ranks, &about),
            about,
            ranks,
            side: image.side,
            unit: if image.messages { "messages" } else { "B" },
            values: image.values,
        }
    };
    (phases.into_iter().map(figure).collect(), total)
}

/// ` (title)`, or nothing.
fn in_brackets(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(" ({})", shortened(title, 80)) }
}

fn svg(image: &Image, ranks: u64, about: &str) -> Markup {
    let Some(png) = image.png() else { return Markup::default() };
    let mut marks = vec![0, (ranks - 1) / 2, ranks - 1];
    marks.dedup();
    let marks: Vec<(u64, f64)> =
        marks.into_iter().map(|rank| (rank, 8.0 + 240.0 * (rank as f64 + 0.5) / ranks as f64)).collect();
    let unit = if image.messages { "" } else { "B" };
    html! {
        svg.matrix viewBox="0 0 366 290" role="img" aria-label=(format!("Traffic matrix of {}", shown(about))) {
            rect.panel x="46" y="8" width="240" height="240" {}
            image x="46" y="8" width="240" height="240" preserveAspectRatio="none" href=(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(&png))) {}
            @for (rank, middle) in &marks {
                text.end x="41" y=(format!("{:.0}", middle + 4.0)) { (rank) }
                text.middle x=(format!("{:.0}", middle + 38.0)) y="264" { (rank) }
            }
            text.middle.label x="166" y="284" { "receiving rank" }
            text.middle.label transform="translate(11 128) rotate(-90)" { "sending rank" }
            rect fill="url(#ramp)" x="294" y="8" width="10" height="240" {}
            text x="309" y="18" { (number::scaled(image.most, unit)) }
            @if image.least < image.most { text x="309" y="247" { (number::scaled(image.least, unit)) } }
        }
    }
}

/// The colours of the matrices, for their legends on the page.
pub(super) fn ramp() -> Markup {
    html! { svg width="0" height="0" aria-hidden="true" { (ramp_definition()) } }
}

/// The colours of the matrices, for use in a drawing.
pub(super) fn ramp_definition() -> Markup {
    let stops = RAMP.iter().enumerate().map(|(at, [r, g, b])| {
        (format!("{:.3}", at as f64 / (RAMP.len() - 1) as f64), format!("rgb({r},{g},{b})"))
    });
    html! {
        defs { linearGradient id="ramp" x1="0" y1="1" x2="0" y2="0" {
            @for (offset, colour) in stops { stop offset=(offset) stop-color=(colour) {} }
        } }
    }
}

/// The colours of an image, red, green and blue; that of nothing first.
pub(super) fn palette() -> Vec<u8> {
    let mut palette = vec![0u8; 3];
    for step in 0..255 {
        let at = f64::from(step) / 254.0 * (RAMP.len() - 1) as f64;
        let (low, part) = ((at as usize).min(RAMP.len() - 2), at - at.floor());
        let part = if at as usize > low { 1.0 } else { part };
        palette.extend((0..3).map(|c| (RAMP[low][c] * (1.0 - part) + RAMP[low + 1][c] * part).round() as u8));
    }
    palette
}

/// A matrix in pixels: number of a colour each, 0 is nothing.
struct Image {
    side: usize,
    pixels: Vec<u8>,
    least: f64,
    most: f64,
    /// Nothing but empty messages: their number is shown.
    messages: bool,
    /// By colour from 1: the lowest and the highest value that have it.
    values: Vec<Option<(u64, u64)>>,
}

impl Image {
    fn new(matrix: &TrafficMatrix, ranks: u64, largest: u64) -> Self {
        let side = ranks.min(largest);
        let messages = matrix.bytes() == 0;
        let bin = |rank: u32| (u64::from(rank) * side / ranks) as usize;
        let mut sums = vec![0u64; (side * side) as usize];
        for cell in matrix.cells() {
            let at = bin(cell.src.0) * side as usize + bin(cell.dst.0);
            sums[at] = sums[at].saturating_add(if messages { cell.messages } else { cell.bytes });
        }
        let least = sums.iter().copied().filter(|sum| *sum > 0).min().unwrap_or(0) as f64;
        let most = sums.iter().copied().max().unwrap_or(0) as f64;
        let span = (most / least).ln();
        let colour = |sum: u64| match sum {
            0 => 0,
            // One value only is the highest.
            _ if span <= 0.0 => 255,
            _ => 1 + ((sum as f64 / least).ln() / span * 254.0).round() as u8,
        };
        let mut values: Vec<Option<(u64, u64)>> = vec![None; 255];
        let mut coloured = |sum: u64| {
            let colour: u8 = colour(sum);
            if let Some(at) = usize::from(colour).checked_sub(1) {
                let (low, high) = values[at].unwrap_or((sum, sum));
                values[at] = Some((low.min(sum), high.max(sum)));
            }
            colour
        };
        let pixels = sums.into_iter().map(&mut coloured).collect();
        Self { side: side as usize, pixels, least, most, messages, values }
    }

    /// As PNG with a palette; nothing is transparent.
    fn png(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.side as u32, self.side as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        encoder.set_palette(palette());
        encoder.set_trns(vec![0u8]);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&self.pixels).ok()?;
        writer.finish().ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phaseflow_collect::Cell;
    use phaseflow_collect::trace::Rank;

    fn matrix(cells: &[(u32, u32, u64)]) -> TrafficMatrix {
        let cells = cells.iter().map(|(src, dst, bytes)| Cell {
            src: Rank(*src),
            dst: Rank(*dst),
            messages: 1,
            bytes: *bytes,
        });
        TrafficMatrix::from_cells(cells).unwrap()
    }

    #[test]
    fn colours_go_by_the_logarithm() {
        let image = Image::new(&matrix(&[(0, 1, 1), (1, 0, 1000), (1, 1, 1_000_000)]), 2, 512);
        assert_eq!(image.pixels, [0, 1, 128, 255]);
    }

    #[test]
    fn colours_tell_their_values() {
        let image = Image::new(&matrix(&[(0, 1, 1), (1, 0, 1000), (1, 1, 1_000_000)]), 2, 512);
        assert_eq!(
            (image.values[0], image.values[127], image.values[254]),
            (Some((1, 1)), Some((1000, 1000)), Some((1_000_000, 1_000_000)))
        );
        let colours: std::collections::BTreeSet<Vec<u8>> = palette().chunks(3).map(<[u8]>::to_vec).collect();
        assert_eq!(colours.len(), 256, "a colour stands for two values");
    }

    #[test]
    fn bins_hold_sums() {
        let image = Image::new(&matrix(&[(0, 0, 3), (0, 1, 4), (1, 1, 5), (3, 3, 1)]), 4, 2);
        assert_eq!((image.most, image.least, image.side), (12.0, 1.0, 2));
        assert_eq!(image.pixels, [255, 0, 0, 1]);
    }

    #[test]
    fn the_image_can_be_read() {
        let png = Image::new(&matrix(&[(0, 1, 1), (1, 0, 9)]), 2, 512).png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; 4];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, [0, 1, 255, 0]);
        assert_eq!(reader.info().palette.as_ref().unwrap()[3..6], [81, 18, 124]);
    }
}
