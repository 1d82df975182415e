//! Choices on the command line: `name`, `name[key=value,key=value]` or `exec:PROGRAM`, and
//! comma-separated lists of them.

use std::fmt;
use std::str::FromStr;

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take_while1};
use nom::character::complete::char;
use nom::combinator::{all_consuming, map, opt};
use nom::multi::{separated_list0, separated_list1};
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser};

use crate::{Error, Result};

/// A named algorithm or model with its parameters, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    name: String,
    parameters: Vec<(String, String)>,
    label: String,
}

impl Choice {
    /// A choice without parameters.
    pub fn plain(name: &str) -> Self {
        Self { name: name.into(), parameters: Vec::new(), label: name.into() }
    }

    /// An external program with its arguments: words separated by blanks, or a JSON list of words.
    pub fn exec(program: &str) -> Self {
        let parameters = vec![("program".into(), program.into())];
        Self { name: "exec".into(), parameters, label: format!("exec:{program}") }
    }

    /// The algorithm without its label: name and parameters. External programs are identified by
    /// their label, which has no folders of this machine.
    pub fn spelling(&self) -> String {
        let parameters: Vec<String> =
            self.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
        match self.name.as_str() {
            "exec" => self.label.clone(),
            name if parameters.is_empty() => name.into(),
            name => format!("{name}[{}]", parameters.join(",")),
        }
    }

    /// The same choice under another label, for interfaces that have their own names.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.label = label.into();
        self
    }

    /// The same choice with a parameter, unless it has it already.
    #[must_use]
    pub fn or_with(mut self, key: &str, value: &str) -> Self {
        if self.get(key).is_none() {
            self.parameters.push((key.into(), value.into()));
        }
        self
    }

    /// The same without a parameter, for callees that do not know it.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        self.parameters.retain(|(known, _)| known != key);
        self
    }

    /// Parses one choice.
    ///
    /// # Errors
    /// Anything that is not `name`, `name[key=value,…]` or `exec:PROGRAM`.
    pub fn parse(text: &str) -> Result<Self> {
        match all_consuming(choice).parse(text) {
            Ok((_, choice)) => Ok(choice),
            Err(_) => Err(Error::usage(format!(
                "`{text}` is not a choice; write name or name[key=value,key=value]"
            ))),
        }
    }

    /// Parses a comma-separated list of choices; commas inside brackets separate parameters.
    ///
    /// ```
    /// # use phaseflow_collect::choice::Choice;
    /// let list = Choice::parse_list("dmodk[variant=pfsim],greedy").unwrap();
    /// assert_eq!(list[0].name(), "dmodk");
    /// assert_eq!(list[1].label(), "greedy");
    /// ```
    ///
    /// # Errors
    /// As [`parse`](Self::parse); an empty list.
    pub fn parse_list(text: &str) -> Result<Vec<Self>> {
        match all_consuming(separated_list1(char(','), choice)).parse(text) {
            Ok((_, choices)) => Ok(choices),
            Err(_) => Err(Error::usage(format!("`{text}` is not a list of choices; write a,b[key=value],c"))),
        }
    }

    /// The name before the brackets; for `exec:PROGRAM` it is `exec`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user's text, the label in tables.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The value of a parameter.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter as a `T`, or `default` if it is not given.
    ///
    /// # Errors
    /// A value that is not a `T`.
    pub fn value<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        match self.get(key) {
            None => Ok(default),
            Some(text) => self.parsed(key, text),
        }
    }

    /// The value of a parameter that has no default.
    ///
    /// # Errors
    /// No such parameter, or a value that is not a `T`.
    pub fn required<T: FromStr>(&self, key: &str) -> Result<T> {
        let text = self
            .get(key)
            .ok_or_else(|| Error::usage(format!("`{}` needs `{key}=…` in brackets", self.label)))?;
        self.parsed(key, text)
    }

    /// A parameter that is a list: `m=4:4:3`, or `dims=4x4x4`.
    ///
    /// # Errors
    /// As [`required`](Self::required), for each element.
    pub fn required_list<T: FromStr>(&self, key: &str) -> Result<Vec<T>> {
        let text: String = self.required(key)?;
        text.split([':', 'x']).map(|element| self.parsed(key, element)).collect()
    }

    /// Refuses parameters that the choice does not have.
    ///
    /// # Errors
    /// The first key that is not among `known`, with the nearest of them.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        match self.parameters.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some((key, _)) => Err(unknown_name(&format!("parameter of `{}`", self.name), key, known)),
        }
    }

    fn parsed<T: FromStr>(&self, key: &str, text: &str) -> Result<T> {
        text.parse().map_err(|_| {
            let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or("value");
            let expected = match kind {
                "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
                "f64" => "a number",
                other => other,
            };
            Error::usage(format!("`{}`: {key} is `{text}`, expected {expected}", self.label))
        })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// The error for an unknown name, with the nearest known one.
///
/// ```
/// use phaseflow_collect::choice::unknown_name;
///
/// let error = unknown_name("router", "dmodkk", &["dmodk", "smodk", "random"]);
/// assert_eq!(
///     error.to_string(),
///     "unknown router `dmodkk`; did you mean dmodk or smodk? (known: dmodk, smodk, random)"
/// );
/// ```
pub fn unknown_name(axis: &str, found: &str, known: &[&str]) -> Error {
    let mut near: Vec<(usize, &str)> =
        known.iter().map(|name| (strsim::damerau_levenshtein(found, name), *name)).collect();
    near.retain(|(distance, name)| *distance <= 1 + name.len() / 4);
    near.sort_by_key(|(distance, _)| *distance);
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, name)| name).collect();
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    let known =
        if known.is_empty() { "there is none".into() } else { format!("known: {}", known.join(", ")) };
    Error::usage(format!("unknown {axis} `{found}`{hint} ({known})"))
}

/// `exec:PROGRAM`, `table:FILE` or `file:FILE` (to the next comma), or `name[…]`; the label is the
/// text itself.
fn choice(input: &str) -> IResult<&str, Choice> {
    let word = || take_while1(|c: char| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let program = preceded(tag("exec:"), is_not(","));
    let file = |name| preceded(tag(name), is_not(","));
    let parameter = separated_pair(word(), char('='), is_not(",]"));
    let parameters = delimited(char('['), separated_list0(char(','), parameter), char(']'));
    let own = |(key, value): (&str, &str)| (key.to_string(), value.to_string());
    let (rest, (name, parameters)) = alt((
        map(program, |program: &str| ("exec", vec![("program".to_string(), program.to_string())])),
        map(file("table:"), |file: &str| ("table", vec![("file".to_string(), file.to_string())])),
        map(file("file:"), |file: &str| ("file", vec![("file".to_string(), file.to_string())])),
        map((word(), opt(parameters)), |(name, list)| {
            (name, list.unwrap_or_default().into_iter().map(own).collect())
        }),
    ))
    .parse(input)?;
    let label = &input[..input.len() - rest.len()];
    Ok((rest, Choice { name: name.into(), parameters, label: label.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parameters_and_lists() {
        let list =
            Choice::parse_list("xgft[m=4:4:3,w=1:2:2],torus[dims=4x4],exec:./my router.py,star").unwrap();
        assert_eq!(list[0].required_list::<u32>("m").unwrap(), [4, 4, 3]);
        assert_eq!(list[1].required_list::<u32>("dims").unwrap(), [4, 4]);
        assert_eq!((list[2].name(), list[2].get("program")), ("exec", Some("./my router.py")));
        assert_eq!((list[3].label(), list[0].label()), ("star", "xgft[m=4:4:3,w=1:2:2]"));
    }

    #[test]
    fn broken_choices_are_usage_errors() {
        for text in ["", "a[", "a[b]", "a]", "a,,b", "a b", "[a=1]"] {
            assert_eq!(Choice::parse_list(text).unwrap_err().kind(), crate::ErrorKind::Usage, "{text}");
        }
    }

    #[test]
    fn values_are_typed_and_keys_are_checked() {
        let choice = Choice::parse("star[hosts=8,slots=x]").unwrap();
        assert_eq!(choice.required::<u32>("hosts").unwrap(), 8);
        let error = choice.value::<u32>("slots", 1).unwrap_err();
        assert_eq!(error.to_string(), "`star[hosts=8,slots=x]`: slots is `x`, expected a whole number");
        let error = choice.only(&["hosts", "slot"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown parameter of `star` `slots`; did you mean slot? (known: hosts, slot)"
        );
    }
}
