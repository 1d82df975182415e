//! A drawing of the page as a file of its own: SVG that needs nothing else, or PNG.

use std::fmt::Write;

use maud::html;
use resvg::{tiny_skia, usvg};

use phaseflow_collect::{Error, Result};

use super::chart::COLOURS;
use super::text::shortened;
use super::{STYLE, matrix};

/// Height of a line of the title above a drawing and of a name below it, units of the drawing.
const LINE: f64 = 18.0;
/// Room between these and the drawing.
const GAP: f64 = 10.0;
/// Width of a letter of the title, which is bold and of 14 units; a little more than that of most
/// fonts.
const LETTER: f64 = 8.4;
/// Pixels of a PNG for a unit of the drawing: sharp on paper at half of the page's width.
const SCALE: f32 = 2.0;
/// Characters of a title or name.
const LONGEST: usize = 90;

/// A drawing with its title and the names of its lines, as SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Name of its file, without an extension.
    pub name: String,
    svg: String,
}

impl Picture {
    /// `figure` holds one `svg` element with a `viewBox` from 0; `names` are those of its lines by
    /// number of colour. `None` if it holds none.
    pub(super) fn new(name: &str, title: &str, figure: &str, names: &[(usize, String)]) -> Option<Self> {
        let from = figure.find("<svg ")?;
        let element = &figure[from..from + figure[from..].find("</svg>")?];
        let (tag, body) = element.split_once('>')?;
        let sizes = tag.split_once("viewBox=\"0 0 ")?.1.split_once('"')?.0;
        let (width, height) = sizes.split_once(' ')?;
        let (width, height): (f64, f64) = (width.parse().ok()?, height.parse().ok()?);
        let lines = wrapped(&shortened(title, LONGEST), ((width - 12.0) / LETTER) as usize);
        let above = LINE * lines.len() as f64 + GAP;
        let below = if names.is_empty() { 0.0 } else { LINE * names.len() as f64 + GAP };
        let all = above + height + below;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{all}\" viewBox=\"0 -{above} {width} {all}\">\
             <title>{0}</title><style>{1}</style>{2}<rect x=\"0\" y=\"-{above}\" width=\"{width}\" height=\"{all}\" fill=\"#fff\"/>",
            escape(&shortened(title, LONGEST)),
            style(),
            matrix::ramp_definition().into_string(),
        );
        for (at, line) in lines.iter().enumerate() {
            let y = LINE * (at + 1) as f64 - above;
            let _ = write!(svg, "<text class=\"title\" x=\"6\" y=\"{y}\">{}</text>", escape(line));
        }
        svg.push_str(body);
        for (at, (colour, name)) in names.iter().enumerate() {
            let y = height + GAP + LINE * at as f64;
            let _ = write!(
                svg,
                "<path class=\"line l{}\" d=\"M12 {y}h32\"/><text x=\"52\" y=\"{}\">{}</text>",
                colour % COLOURS,
                y + 4.0,
                escape(&shortened(name, LONGEST)),
            );
        }
        svg.push_str("</svg>\n");
        Some(Self { name: name.into(), svg })
    }

    /// The picture as SVG.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The picture as PNG, drawn with the sans-serif font of the machine.
    ///
    /// # Errors
    /// The machine has no font, so that the picture would lack its words.
    pub fn png(&self) -> Result<Vec<u8>> {
        let mut options = usvg::Options::default();
        options.fontdb_mut().load_system_fonts();
        let face =
            options.fontdb.faces().find(|face| face.families.iter().any(|(name, _)| name.contains("Sans")));
        let face = face.or_else(|| options.fontdb.faces().next());
        let Some(family) = face.and_then(|face| Some(face.families.first()?.0.clone())) else {
            let problem = "a PNG needs a font for its words, and this machine has none";
            return Err(
                Error::data(problem).advise("install fonts-dejavu-core or another font, or write SVG")
            );
        };
        options.fontdb_mut().set_sans_serif_family(family.clone());
        options.font_family = family;
        let wrong = |problem: String| Error::data(format!("cannot be drawn: {problem}")).at(&self.name);
        let tree = usvg::Tree::from_str(&self.svg, &options).map_err(|error| wrong(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let pixmap = size.and_then(|size| tiny_skia::Pixmap::new(size.width(), size.height()));
        let mut pixmap = pixmap.ok_or_else(|| wrong("it has no size".into()))?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| wrong(error.to_string()))
    }
}

/// Text as the content of an element.
fn escape(text: &str) -> String {
    html! { (text) }.into_string()
}

/// Text in lines of at most `width` characters, cut between words where there are any.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// What of the style sheet is about drawings, in the colours for light surroundings: programs that
/// read SVG know neither variables nor preferences.
fn style() -> String {
    let variables: Vec<(&str, &str)> = STYLE
        .split("@media")
        .next()
        .unwrap_or_default()
        .split(';')
        .filter_map(|part| part[part.find("--")?..].split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let is_drawn = |rule: &&str| {
        let selector = rule.split('{').next().unwrap_or_default().trim();
        let classes =
            ["image", "svg ", ".grid", ".capacity", ".hot", ".node", ".panel", ".line", ".l", ".f", ".idle"];
        classes.iter().any(|class| selector.starts_with(class))
            && !selector.contains("legend")
            && !selector.contains("figure")
    };
    let mut text =
        String::from("text{font-family:sans-serif;font-size:12px}.title{font-size:14px;font-weight:600}");
    for rule in STYLE.split_inclusive('}').filter(is_drawn) {
        let mut rule = rule.trim().to_string();
        for (name, value) in &variables {
            rule = rule.replace(&format!("var({name})"), value);
        }
        // Elements stand alone here.
        text.push_str(&rule.replace("svg ", ""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_needs_nothing_else() {
        let figure = "<figure><svg viewBox=\"0 0 400 230\" role=\"img\"><path class=\"line l1\" d=\"M0 0H9\"/></svg></figure>";
        let picture = Picture::new("p", "a < b", figure, &[(1, "greedy".into())]).unwrap();
        let svg = picture.svg();
        assert!(svg.contains("viewBox=\"0 -28 400 286\"") && svg.contains("a &lt; b"), "{svg}");
        assert!(!svg.contains("var(") && !svg.contains("@media"), "{svg}");
        assert!(svg.contains(".l1 { stroke: #d55e00;"), "{svg}");
        assert_eq!(Picture::new("p", "t", "<p>nothing</p>", &[]), None);
    }
}
