//! A YAML document in which every value knows its line and column.
//!
//! Scenario files come in two dialects and many short forms; a derived `Deserialize` would try one
//! form after the other and report the last. So the file becomes a tree of located nodes first, and
//! the tree is read by code that knows what it expects at each place.

use std::fmt;

use phaseflow_collect::choice::unknown_name;
use phaseflow_collect::units::{parse_rate_gbps, parse_time_ns};
use phaseflow_collect::{Error, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// Longest scenario file, bytes: about 40 000 lines of 100 bytes.
pub(super) const LARGEST_FILE: usize = 4 << 20;

/// A value and where it stands (where it is used, for aliases), both from 1.
#[derive(Clone, Debug)]
pub(super) struct Node {
    line: u64,
    column: u64,
    value: Value,
}

#[derive(Clone, Debug)]
enum Value {
    Null,
    Bool(bool),
    Whole(u64),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Spanned<String>, Node)>),
}

/// A mapping whose keys are known to be expected ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Map<'a> {
    node: &'a Node,
    entries: &'a [(Spanned<String>, Node)],
}

impl Node {
    /// Parses one document. Work and memory are bounded by the length of the text: the repetition
    /// by aliases is limited.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.len() > LARGEST_FILE {
            let problem = format!("has {} bytes, a scenario has at most {LARGEST_FILE}", text.len());
            return Err(Error::usage(problem));
        }
        let options = serde_saphyr::options! {
            with_snippet: false,
            strict_booleans: true,
            alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 20_000 },
            budget: serde_saphyr::budget! { max_depth: 32, max_documents: 1 },
        };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let error = error.without_snippet();
            let place = error.location().map(|at| at_place(at.line(), at.column()));
            // The library ends its own messages with the place.
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or(&message).replace('\n', " ");
            let error = Error::usage(format!("is not a readable YAML document: {}", problem.trim_end()));
            place.map_or_else(|| error_without_place(&problem), |place| error.at(place))
        })
    }

    /// A failure at this node.
    pub(super) fn error(&self, problem: impl Into<String>) -> Error {
        Error::usage(problem).at(self.place())
    }

    /// Puts this node's place in front of a failure.
    pub(super) fn locate<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.at(self.place()))
    }

    fn place(&self) -> String {
        at_place(self.line, self.column)
    }

    fn expected(&self, what: &str, expected: &str) -> Error {
        self.error(format!("{what} is {}, expected {expected}", self.value))
    }

    /// The node as a mapping with keys among `known`; `what` names it in messages.
    pub(super) fn map(&self, what: &str, known: &[&str]) -> Result<Map<'_>> {
        let map = self.any_map(what)?;
        match map.entries.iter().find(|(key, _)| !known.contains(&key.value.as_str())) {
            None => Ok(map),
            Some((key, _)) => {
                let at = at_place(key.referenced.line(), key.referenced.column());
                Err(unknown_name(&format!("key of {what}"), &key.value, known).at(at))
            }
        }
    }

    /// The node as a mapping with keys that the caller looks at.
    pub(super) fn any_map(&self, what: &str) -> Result<Map<'_>> {
        match &self.value {
            Value::Map(entries) => Ok(Map { node: self, entries }),
            _ => Err(self.expected(what, "a mapping")),
        }
    }

    /// True for a mapping.
    pub(super) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    /// The node as a list; a single value is a list of one.
    pub(super) fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            _ => std::slice::from_ref(self),
        }
    }

    /// The node as text.
    pub(super) fn text(&self, what: &str, expected: &str) -> Result<&str> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.expected(what, expected)),
        }
    }

    /// The node as a whole number.
    pub(super) fn whole(&self, what: &str) -> Result<u64> {
        match self.value {
            Value::Whole(number) => Ok(number),
            _ => Err(self.expected(what, "a whole number")),
        }
    }

    /// The node as a whole number of 32 bits.
    pub(super) fn whole32(&self, what: &str) -> Result<u32> {
        u32::try_from(self.whole(what)?).map_err(|_| self.expected(what, "a number below 2^32"))
    }

    /// The node as any finite number.
    pub(super) fn number(&self, what: &str) -> Result<f64> {
        match self.value {
            Value::Whole(number) => Ok(number as f64),
            Value::Number(number) if number.is_finite() => Ok(number),
            _ => Err(self.expected(what, "a number")),
        }
    }

    /// The node as seconds: a number, or a time with a unit.
    pub(super) fn seconds(&self, what: &str) -> Result<f64> {
        let expected = "a time: seconds as a number, or 250ns, 5us, 1ms, 2s";
        match &self.value {
            Value::Text(text) => {
                parse_time_ns(text).map(|ns| ns as f64 / 1e9).map_err(|_| self.expected(what, expected))
            }
            Value::Whole(number) => Ok(*number as f64),
            Value::Number(number) if number.is_finite() && *number >= 0.0 => Ok(*number),
            _ => Err(self.expected(what, expected)),
        }
    }

    /// The node as a time with a unit, picoseconds.
    pub(super) fn picoseconds(&self, what: &str) -> Result<u64> {
        let expected = "a time with its unit: 250ns, 5us, 1ms, 2s";
        let ns = self.text(what, expected).and_then(|text| self.locate(parse_time_ns(text)))?;
        ns.checked_mul(1000).ok_or_else(|| self.expected(what, "a time below 213 days"))
    }

    /// The node as a rate in Gbit/s.
    pub(super) fn rate_gbps(&self, what: &str) -> Result<f64> {
        let rate = match &self.value {
            Value::Text(text) => parse_rate_gbps(text).ok(),
            Value::Whole(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            _ => None,
        };
        rate.filter(|rate| rate.is_finite() && *rate > 0.0)
            .ok_or_else(|| self.expected(what, "a rate: Gbit/s as a number, or 400G"))
    }
}

impl<'a> Map<'a> {
    /// The value of a key; one that is null counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        let found = self.entries.iter().find(|(name, _)| name.value == key).map(|(_, node)| node);
        found.filter(|node| !matches!(node.value, Value::Null))
    }

    /// The value of a key that must be there.
    pub(super) fn required(&self, what: &str, key: &str) -> Result<&'a Node> {
        self.get(key).ok_or_else(|| self.node.error(format!("{what} has no `{key}`")))
    }

    /// The only entry.
    pub(super) fn only_entry(&self) -> Option<(&'a str, &'a Node)> {
        match self.entries {
            [(key, node)] => Some((&key.value, node)),
            _ => None,
        }
    }

    /// All entries in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Node)> + use<'a> {
        self.entries.iter().map(|(key, node)| (key.value.as_str(), node))
    }
}

fn at_place(line: u64, column: u64) -> String {
    format!("line {line}, column {column}")
}

fn error_without_place(problem: &str) -> Error {
    Error::usage(format!("is not a readable YAML document: {}", problem.trim_end()))
}

/// How a value is called in a message.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("empty"),
            Value::Bool(value) => write!(f, "`{value}`"),
            Value::Whole(value) => write!(f, "`{value}`"),
            Value::Number(value) => write!(f, "`{value}`"),
            Value::Text(value) => write!(f, "`{value}`"),
            Value::List(_) => f.write_str("a list"),
            Value::Map(_) => f.write_str("a mapping"),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let at = spanned.referenced;
        Ok(Self { line: at.line(), column: at.column(), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(u64::try_from(value).map_or(Value::Number(value as f64), Value::Whole))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(Value::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_places() {
        let text = "a: 1\nb:\n  - x\n  - {c: 2.5, d: ~}\n";
        let node = Node::parse(text).unwrap();
        let map = node.map("it", &["a", "b"]).unwrap();
        assert_eq!(map.get("a").unwrap().whole("a").unwrap(), 1);
        let list = map.get("b").unwrap().list();
        assert_eq!(list[0].place(), "line 3, column 5");
        let inner = list[1].map("it", &["c", "d"]).unwrap();
        assert!((inner.get("c").unwrap().number("c").unwrap() - 2.5).abs() < 1e-12);
        assert!(inner.get("d").is_none());
        let error = inner.required("the job", "e").unwrap_err();
        assert_eq!(error.to_string(), "line 4, column 5: the job has no `e`");
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_place_and_near_match() {
        let error = Node::parse("a: 1\nrouterr: 2\n").unwrap().map("it", &["a", "router"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 2, column 1: unknown key of it `routerr`; did you mean router? (known: a, router)"
        );
    }

    #[test]
    fn broken_yaml_says_where() {
        for (text, expected) in [
            ("a: [1, 2\n", "line "),
            ("a: 1\na: 2\n", "line 2, column 1: is not a readable YAML document: duplicate mapping key: a"),
            ("a: *b\n", "line 1, column 4: "),
        ] {
            let error = Node::parse(text).unwrap_err().to_string();
            eprintln!("{error}");
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn alias_bombs_and_towers_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let last = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", vec![last; 10].join(", "));
        }
        let tower = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [bomb, tower] {
            let error = Node::parse(&text).unwrap_err().to_string();
            eprintln!("{error}");
            assert!(error.contains("is not a readable YAML document"), "{error}");
        }
    }
}
