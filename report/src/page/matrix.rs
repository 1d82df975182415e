//! The traffic matrix of a phase as an image: sender down, receiver across, colour by the logarithm
//! of the bytes.
//!
//! As vectors a matrix of 512 ranks would be 22 MB, as an image with a palette a few kB. More ranks
//! than pixels are binned, the sum of a bin is what shows.

use std::fmt::Write;

use phaseflow_collect::TrafficMatrix;
use phaseflow_segment::Phase;
use phaseflow_simulate::workload::Workload;

use super::text::{base64, counted, escape, shortened};
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

/// The matrices of all phases of all workloads, or of those with the most bytes. `hottest` comes
/// first: the number of a workload and the name of its phase.
pub(super) fn matrices(workloads: &[Workload], hottest: Option<(usize, &str)>) -> String {
    let (phases, total) = drawn(workloads, hottest);
    let side = if total <= FEW { LARGE } else { SMALL };
    let mut html = String::from("<div class=\"figures\">");
    for (_, workload, phase) in phases {
        let name =
            if workloads.len() > 1 { format!("{}: ", shortened(&workload.name, 40)) } else { String::new() };
        html.push_str(&figure(
            &format!("{name}phase {}{}", phase.name, in_brackets(&phase.title)),
            workload.segmentation.header.ranks,
            phase,
            side,
        ));
    }
    html.push_str("</div>");
    if total > MATRICES {
        let _ = write!(html, "<p>{} more are not drawn.</p>", total - MATRICES);
    }
    html
}

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

/// The matrices of [`matrices`] one by one: number of the workload, name of the phase with its
/// title, figure.
pub(super) fn figures(
    workloads: &[Workload],
    hottest: Option<(usize, &str)>,
) -> Vec<(usize, String, String)> {
    let (phases, _) = drawn(workloads, hottest);
    let one = |(number, workload, phase): (usize, &Workload, &Phase)| {
        let name = format!("{}{}", phase.name, in_brackets(&phase.title));
        let figure = figure(&format!("phase {name}"), workload.segmentation.header.ranks, phase, LARGE);
        (number, name, figure)
    };
    phases.into_iter().map(one).collect()
}

/// ` (title)`, or nothing.
fn in_brackets(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(" ({})", shortened(title, 80)) }
}

fn figure(title: &str, ranks: u32, phase: &Phase, side: u64) -> String {
    let matrix = &phase.matrix;
    let ranks = u64::from(ranks.max(matrix.ranks()).max(1));
    let image = Image::new(matrix, ranks, side);
    let about = format!(
        "{title}: {} in {} between {}",
        number::scaled(matrix.bytes() as f64, "B"),
        counted(matrix.messages() as usize, "message"),
        counted(matrix.len(), "pair"),
    );
    let about = escape(&about);
    let mut svg = format!("<figure><figcaption>{about}</figcaption>");
    let Some(png) = image.png() else { return svg + "</figure>" };
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 366 290\" role=\"img\" aria-label=\"Traffic matrix of {about}\">\
         <rect class=\"panel\" x=\"46\" y=\"8\" width=\"240\" height=\"240\"/>\
         <image x=\"46\" y=\"8\" width=\"240\" height=\"240\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{}\"/>",
        base64(&png),
    );
    let mut marks = vec![0, (ranks - 1) / 2, ranks - 1];
    marks.dedup();
    for rank in marks {
        let middle = 8.0 + 240.0 * (rank as f64 + 0.5) / ranks as f64;
        let _ = write!(
            svg,
            "<text class=\"end\" x=\"41\" y=\"{:.0}\">{rank}</text><text class=\"middle\" x=\"{:.0}\" y=\"264\">{rank}</text>",
            middle + 4.0,
            middle + 38.0,
        );
    }
    let unit = if image.messages { "" } else { "B" };
    let _ = write!(
        svg,
        "<text class=\"middle label\" x=\"166\" y=\"284\">receiving rank</text>\
         <text class=\"middle label\" transform=\"translate(11 128) rotate(-90)\">sending rank</text>\
         <rect fill=\"url(#ramp)\" x=\"294\" y=\"8\" width=\"10\" height=\"240\"/>\
         <text x=\"309\" y=\"18\">{}</text>",
        number::scaled(image.most, unit),
    );
    if image.least < image.most {
        let _ = write!(svg, "<text x=\"309\" y=\"247\">{}</text>", number::scaled(image.least, unit));
    }
    svg.push_str("</svg></figure>");
    svg
}

/// The colours of the matrices, for their legends on the page.
pub(super) fn ramp() -> String {
    format!("<svg width=\"0\" height=\"0\" aria-hidden=\"true\">{}</svg>", ramp_definition())
}

/// The colours of the matrices, for use in a drawing.
pub(super) fn ramp_definition() -> String {
    let mut svg = String::from("<defs><linearGradient id=\"ramp\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">");
    for (at, [r, g, b]) in RAMP.iter().enumerate() {
        let offset = at as f64 / (RAMP.len() - 1) as f64;
        let _ = write!(svg, "<stop offset=\"{offset:.3}\" stop-color=\"rgb({r},{g},{b})\"/>");
    }
    svg.push_str("</linearGradient></defs>");
    svg
}

/// A matrix in pixels: number of a colour each, 0 is nothing.
struct Image {
    side: usize,
    pixels: Vec<u8>,
    least: f64,
    most: f64,
    /// Nothing but empty messages: their number is shown.
    messages: bool,
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
        let pixels = sums.into_iter().map(colour).collect();
        Self { side: side as usize, pixels, least, most, messages }
    }

    /// As PNG with a palette; nothing is transparent.
    fn png(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.side as u32, self.side as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let mut palette = vec![0u8; 3];
        for step in 0..255 {
            let at = f64::from(step) / 254.0 * (RAMP.len() - 1) as f64;
            let (low, part) = ((at as usize).min(RAMP.len() - 2), at - at.floor());
            let part = if at as usize > low { 1.0 } else { part };
            palette.extend(
                (0..3).map(|c| (RAMP[low][c] * (1.0 - part) + RAMP[low + 1][c] * part).round() as u8),
            );
        }
        encoder.set_palette(palette);
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
