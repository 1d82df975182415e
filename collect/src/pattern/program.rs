//! Programs of generated runs as text: phases, pauses, loops.

use super::PatternName;
use crate::choice::Choice;
use crate::units::{parse_size, parse_time_ns};
use crate::{At, Error, Result};

/// Loops in loops, at most.
const DEEPEST: usize = 16;

/// The program of a run, as text:
///
/// ```text
/// program = item { "," item }
/// item    = phase [ "*" rounds ] | "idle" [ "[" "time=" TIME "]" ] | "(" program ")" "*" times
/// phase   = part { "+" part }            one after the other within a round
/// part    = pattern { "|" pattern }      side by side: the ranks are divided among them
/// pattern = NAME [ "[" key "=" value { "," key "=" value } "]" ]
/// ```
///
/// Parameters of a pattern: `bytes` (contribution of each rank), `gap` (pause after it; between two
/// phases, the mean of both), `drift` (relative growth of messages from the first to the last round
/// of a stretch), `every` (only ranks with a multiple of this number take part) and `seed` (of
/// random ones). The run has the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub(super) items: Vec<Item>,
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Phase(Phase),
    /// No rank sends for this time, or for the default of the run.
    Idle(Option<u64>),
    Loop(Loop),
}

/// Rounds of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    /// The text without the number of rounds; equal texts are the same phase.
    pub(super) label: String,
    /// Parts of a round, one after the other; the patterns of a part side by side.
    pub(super) parts: Vec<Vec<Spec>>,
    /// Rounds; otherwise the run's.
    pub(super) rounds: Option<u64>,
}

/// Items that are done several times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Loop {
    /// The text without the number of times.
    pub(super) label: String,
    pub(super) items: Vec<Item>,
    pub(super) times: u64,
}

/// A pattern and its own parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spec {
    pub(super) name: PatternName,
    pub(super) bytes: Option<u64>,
    pub(super) gap_ns: Option<u64>,
    pub(super) drift: Option<f64>,
    pub(super) seed: Option<u64>,
    /// Only ranks whose number is a multiple of this one take part.
    pub(super) every: Option<u32>,
}

impl Program {
    /// Reads a program.
    ///
    /// ```
    /// # use phaseflow_collect::pattern::Program;
    /// let text = "transpose*5,(halo2d[bytes=4KiB]*20,allreduce)*10,idle[time=1ms]";
    /// let program = Program::parse(text).unwrap();
    /// assert!(Program::parse("halo2d,").is_err());
    /// ```
    ///
    /// # Errors
    /// A text of another form, an unknown pattern, key or value.
    pub fn parse(text: &str) -> Result<Self> {
        Ok(Self { items: items(text, 0)?, text: text.into() })
    }

    /// Each pattern once, in this order.
    pub fn of(names: &[PatternName]) -> Self {
        let texts: Vec<&str> = names.iter().map(|name| name.name()).collect();
        let phase = |name: &PatternName| {
            let spec = Spec { name: *name, bytes: None, gap_ns: None, drift: None, seed: None, every: None };
            Item::Phase(Phase { label: name.name().into(), parts: vec![vec![spec]], rounds: None })
        };
        Self { items: names.iter().map(phase).collect(), text: texts.join(",") }
    }

    /// The whole program as a loop; once changes nothing.
    #[must_use]
    pub fn repeated(self, times: u64) -> Self {
        if times == 1 {
            return self;
        }
        let label = format!("({})", self.text);
        let text = format!("{label}*{times}");
        Self { items: vec![Item::Loop(Loop { label, items: self.items, times })], text }
    }

    /// The text that was parsed.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn items(text: &str, depth: usize) -> Result<Vec<Item>> {
    if depth > DEEPEST {
        return Err(Error::usage(format!("loops are nested deeper than {DEEPEST}")));
    }
    split(text, ',')?.into_iter().map(|text| item(text.trim(), depth)).collect()
}

fn item(text: &str, depth: usize) -> Result<Item> {
    let (body, times) = repeated(text)?;
    if let Some(inner) = body.strip_prefix('(') {
        // `split` has checked that brackets are in pairs.
        let Some(inner) = inner.strip_suffix(')').filter(|inner| split(inner, ',').is_ok()) else {
            return Err(unreadable(text, "expected (a,b)*times"));
        };
        let times = times.ok_or_else(|| unreadable(text, "expected (a,b)*times"))?;
        let items = items(inner, depth + 1)?;
        return Ok(Item::Loop(Loop { label: body.into(), items, times }));
    }
    if body == "idle" || body.starts_with("idle[") {
        if times.is_some() {
            return Err(unreadable(text, "a pause is not repeated, give it a time: idle[time=1ms]"));
        }
        let choice = Choice::parse(body)?;
        choice.only(&["time"])?;
        return Ok(Item::Idle(choice.get("time").map(parse_time_ns).transpose().at(|| body)?));
    }
    let sides = |part: &str| split(part, '|')?.into_iter().map(spec).collect();
    let parts = split(body, '+')?.into_iter().map(sides).collect::<Result<_>>()?;
    Ok(Item::Phase(Phase { label: body.into(), parts, rounds: times }))
}

fn spec(text: &str) -> Result<Spec> {
    let choice = Choice::parse(text)?;
    let name = PatternName::parse(choice.name())?;
    choice.only(&["bytes", "gap", "drift", "seed", "every"])?;
    let drift = choice.get("drift").map(|_| choice.required("drift")).transpose()?;
    if drift.is_some_and(|drift: f64| !(-1.0..=1e6).contains(&drift)) {
        return Err(unreadable(text, "expected a drift from -1 to 1000000"));
    }
    let every = choice.get("every").map(|_| choice.required("every")).transpose()?;
    if every == Some(0) {
        return Err(unreadable(text, "expected every from 1"));
    }
    Ok(Spec {
        name,
        bytes: choice.get("bytes").map(parse_size).transpose().at(|| text)?,
        gap_ns: choice.get("gap").map(parse_time_ns).transpose().at(|| text)?,
        drift,
        seed: choice.get("seed").map(|_| choice.required("seed")).transpose()?,
        every,
    })
}

/// What stands before the last `*` outside of brackets, and the number after it.
fn repeated(text: &str) -> Result<(&str, Option<u64>)> {
    let pieces = split(text, '*')?;
    match pieces[..] {
        [body] => Ok((body, None)),
        [body, times] => match times.parse() {
            Ok(times) if times > 0 => Ok((body, Some(times))),
            _ => Err(unreadable(text, "expected a number from 1 after `*`")),
        },
        _ => Err(unreadable(text, "expected one `*`")),
    }
}

/// Pieces between `separator`s outside of brackets, none of them empty.
fn split(text: &str, separator: char) -> Result<Vec<&str>> {
    let mut pieces = Vec::new();
    let mut open = Vec::new();
    let mut start = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => open.push(')'),
            '[' => open.push(']'),
            ')' | ']' if open.pop() != Some(letter) => {
                return Err(unreadable(text, &format!("`{letter}` closes nothing")));
            }
            _ if letter == separator && open.is_empty() => {
                pieces.push(&text[start..at]);
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    if let Some(missing) = open.last() {
        return Err(unreadable(text, &format!("`{missing}` is missing")));
    }
    if pieces.iter().any(|piece| piece.trim().is_empty()) {
        return Err(unreadable(text, &format!("expected something before and after `{separator}`")));
    }
    Ok(pieces)
}

fn unreadable(text: &str, problem: &str) -> Error {
    Error::usage(format!("`{text}`: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn items_are_what_they_say() {
        let program =
            Program::parse("shift,idle[time=1ms],(halo2d[bytes=4KiB,gap=5us]+incast*3, random|shift)*2")
                .unwrap();
        let [Item::Phase(shift), Item::Idle(Some(1_000_000)), Item::Loop(twice)] = &program.items[..] else {
            panic!("{program:?}");
        };
        assert_eq!((shift.label.as_str(), shift.rounds), ("shift", None));
        assert_eq!(twice.times, 2);
        let [Item::Phase(first), Item::Phase(second)] = &twice.items[..] else { panic!("{twice:?}") };
        assert_eq!((first.label.as_str(), first.rounds), ("halo2d[bytes=4KiB,gap=5us]+incast", Some(3)));
        assert_eq!(first.parts.len(), 2);
        assert_eq!((first.parts[0][0].bytes, first.parts[0][0].gap_ns), (Some(4096), Some(5000)));
        assert_eq!(
            (second.label.as_str(), second.parts.len(), second.parts[0].len()),
            ("random|shift", 1, 2)
        );
    }

    #[test]
    fn a_list_of_names_is_a_program() {
        let names = [PatternName::Shift, PatternName::Halo2d, PatternName::Shift];
        assert_eq!(Program::of(&names), Program::parse("shift,halo2d,shift").unwrap());
        assert_eq!(Program::of(&names).repeated(3), Program::parse("(shift,halo2d,shift)*3").unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let error = |text: &str| Program::parse(text).unwrap_err().to_string();
        assert_eq!(error("shift,"), "`shift,`: expected something before and after `,`");
        assert_eq!(error("shift*0"), "`shift*0`: expected a number from 1 after `*`");
        assert_eq!(error("(shift"), "`(shift`: `)` is missing");
        assert_eq!(error("shift)"), "`shift)`: `)` closes nothing");
        assert_eq!(error("(shift,incast)"), "`(shift,incast)`: expected (a,b)*times");
        assert_eq!(error("(shift),(incast)*2"), "`(shift)`: expected (a,b)*times");
        assert_eq!(error("(shift)(incast)*2"), "`(shift)(incast)*2`: expected (a,b)*times");
        assert_eq!(error("idle*3"), "`idle*3`: a pause is not repeated, give it a time: idle[time=1ms]");
        assert!(
            error("halo2d[byte=1]").starts_with("unknown parameter of `halo2d` `byte`; did you mean bytes")
        );
        assert!(error("halo2d,alltoal").starts_with("unknown pattern `alltoal`; did you mean alltoall"));
        assert_eq!(error("shift[every=0]"), "`shift[every=0]`: expected every from 1");
        assert_eq!(error("shift[drift=-2]"), "`shift[drift=-2]`: expected a drift from -1 to 1000000");
        let deep = "(".repeat(40) + "shift" + &")*2".repeat(40);
        assert_eq!(error(&deep), "loops are nested deeper than 16");
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in "[a-d()\\[\\]*+|,=0-9]{0,40}") {
            let _ = Program::parse(&text);
        }
    }
}
