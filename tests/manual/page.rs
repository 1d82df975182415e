//! A page of Markdown as the tests of the manual look at it: prose, links, headings, blocks of
//! shell.

#![allow(dead_code, unreachable_pub, reason = "not every test looks at everything")]

use std::fs;
use std::path::Path;

/// Files beside docs/ that count as pages.
const BESIDE: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"];
/// Letters that end a sentence, and those that may stand between its end and the next one.
const ENDS: [char; 5] = ['.', ':', ';', '?', '!'];

pub struct Page {
    text: String,
}

/// Lines of shell, and what is said to come out of them.
pub struct Block {
    /// Number of the line before the first one.
    pub number: usize,
    pub lines: String,
    output: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Names of all pages but the summary, sorted.
pub fn pages() -> Vec<String> {
    let mut names: Vec<String> = BESIDE.map(String::from).to_vec();
    for folder in ["docs", "docs/commands"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                names.push(format!("{folder}/{name}"));
            }
        }
    }
    names.sort();
    names
}

impl Page {
    pub fn read(name: &str) -> Self {
        let path = root().join(name);
        Self { text: fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) }
    }

    /// Lines, each with its number and whether it is in a block or begins or ends one.
    fn lines(&self) -> impl Iterator<Item = (usize, &str, bool)> {
        let mut is_code = false;
        self.text.lines().enumerate().map(move |(index, line)| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            (index + 1, line, is_code || is_fence)
        })
    }

    /// Lines that are in no block and no table.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let kept = self.lines().filter(|(_, line, is_code)| !is_code && !line.starts_with('|'));
        kept.map(|(number, line, _)| (number, line))
    }

    /// Sentences with the line at which their paragraph begins. Headings, tables and quotations are
    /// none.
    pub fn sentences(&self) -> Vec<(usize, String)> {
        let mut paragraphs: Vec<(usize, Vec<&str>)> = Vec::new();
        let mut is_new = true;
        for (number, line, is_code) in self.lines() {
            let text = line.trim_start();
            let item = text.split_once(' ').filter(|(mark, _)| {
                *mark == "-" || mark.strip_suffix('.').is_some_and(|digits| digits.parse::<u32>().is_ok())
            });
            if is_code || text.is_empty() || text.starts_with(['|', '#', '>']) || text.starts_with("<!--") {
                is_new = true;
                continue;
            }
            is_new |= item.is_some();
            let words = item.map_or(text, |(_, words)| words);
            match paragraphs.last_mut() {
                Some((_, lines)) if !is_new => lines.push(words),
                _ => paragraphs.push((number, vec![words])),
            }
            is_new = false;
        }
        let mut sentences = Vec::new();
        for (number, lines) in paragraphs {
            let mut sentence: Vec<String> = Vec::new();
            for word in without_targets(&lines.join(" ")).split_whitespace() {
                sentence.push(word.to_owned());
                if word.trim_end_matches([')', '*', '\\', '"']).ends_with(ENDS) {
                    sentences.push((number, sentence.join(" ")));
                    sentence.clear();
                }
            }
            sentences.push((number, sentence.join(" ")));
        }
        sentences
    }

    /// Targets of links outside of blocks.
    pub fn links(&self) -> Vec<String> {
        let mut links = Vec::new();
        for (_, line, _) in self.lines().filter(|(_, _, is_code)| !is_code) {
            for rest in line.split("](").skip(1) {
                if let Some((target, _)) = rest.split_once(')') {
                    links.push(target.to_owned());
                }
            }
        }
        links
    }

    /// Names of headings in links: `#what-comes-out`.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.lines().filter(|(_, line, is_code)| !is_code && line.starts_with('#'));
        let anchor = |line: &str| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
        };
        headings.map(|(_, line, _)| anchor(line)).collect()
    }

    /// Blocks of shell, each with the block of text that follows it before other prose.
    pub fn shell(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut kind = None;
        // Between a block of shell and one of text there are blank lines only.
        let mut follows = false;
        for (number, line, _) in self.lines() {
            match (line.trim_start().strip_prefix("```"), kind) {
                (Some(_), Some(ended)) => {
                    follows = ended == "sh";
                    kind = None;
                }
                (Some("sh"), None) => {
                    blocks.push(Block { number, lines: String::new(), output: Vec::new() });
                    kind = Some("sh");
                }
                (Some("text"), None) if follows => kind = Some("text"),
                (Some(_), None) => kind = Some(""),
                (None, Some("sh")) => {
                    let block = blocks.last_mut().unwrap();
                    block.lines += &format!("{line}\n");
                }
                (None, Some("text")) => blocks.last_mut().unwrap().output.push(line.to_owned()),
                (None, Some(_)) => {}
                (None, None) => follows &= line.is_empty(),
            }
        }
        blocks
    }
}

/// Text without the targets of links, which nobody reads.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    kept
}

impl Block {
    /// The first line, if it says what the block needs.
    pub fn tag(&self) -> Option<&str> {
        let first = self.lines.lines().next()?;
        ["# With ", "# In a ", "# On "].iter().any(|begin| first.starts_with(begin)).then_some(first)
    }

    /// The first expected line that `said` does not have after the ones before it. `…` at the end
    /// of a line stands for the rest of it, a line of it for any number of lines.
    pub fn missing_in(&self, said: &str) -> Option<&str> {
        let mut lines = said.lines();
        self.output.iter().map(|line| line.trim()).filter(|line| !line.is_empty() && *line != "…").find(
            |expected| {
                !lines.any(|line| match expected.strip_suffix('…') {
                    Some(begin) => line.trim().starts_with(begin.trim()),
                    None => line.trim() == *expected,
                })
            },
        )
    }
}
