//! Forwarding tables as YAML, as [`forwarding_tables`](crate::forwarding::forwarding_tables) writes
//! them: by switch, source and destination the output port, or by switch and destination for all
//! sources.

use std::fmt;

use phaseflow_collect::{Error, Result};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::raw::{ANY, RawEntry, RawSwitch, RawTables};

/// The tables of a text.
///
/// # Errors
/// Text that is no YAML, or YAML that is no table: with line and column.
pub(super) fn parse(text: &str) -> Result<RawTables> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // Nothing repeats, so the length of the text bounds the work.
        budget: serde_saphyr::budget! {
            max_depth: 8,
            max_documents: 1,
            max_aliases: 0,
            max_anchors: 0,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
        },
    };
    let Switches(switches) = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let problem = error.without_snippet().to_string().replace('\n', " ");
        Error::usage(format!("is no table of switches: {problem}"))
    })?;
    let mut tables = RawTables::default();
    for (name, switch) in switches {
        let mut entries = Vec::new();
        for (first, hop) in switch {
            match hop {
                Hop::Port(port) => {
                    let (dst, port) = (tables.host(&first), tables.port(&port));
                    entries.push(RawEntry { src: ANY, dst, port });
                }
                Hop::BySource(hops) => {
                    let src = tables.host(&first);
                    for (dst, port) in hops {
                        let (dst, port) = (tables.host(&dst), tables.port(&port));
                        entries.push(RawEntry { src, dst, port });
                    }
                }
            }
        }
        tables.switches.push(RawSwitch { names: vec![name], entries });
    }
    Ok(tables)
}

/// `switch: {fdb: {…}, blocked_ports: […]}`, in the order of the file.
struct Switches(Vec<(String, Vec<(String, Hop)>)>);

/// A port, or ports by destination.
enum Hop {
    Port(String),
    BySource(Vec<(String, String)>),
}

/// A name or number.
struct Word(String);

#[derive(Deserialize)]
struct Switch {
    #[serde(default)]
    fdb: Option<Entries<Hop>>,
    #[serde(default, rename = "blocked_ports")]
    _blocked_ports: IgnoredAny,
}

/// A mapping in the order of the file.
struct Entries<T>(Vec<(String, T)>);

impl<'de> Deserialize<'de> for Switches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Entries(switches) = Entries::<Switch>::deserialize(deserializer)?;
        let fdb = |switch: Switch| switch.fdb.map_or_else(Vec::new, |entries| entries.0);
        Ok(Self(switches.into_iter().map(|(name, switch)| (name, fdb(switch))).collect()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Mapping<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Mapping<T> {
            type Value = Entries<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entries = Vec::new();
                while let Some((Word(name), value)) = map.next_entry()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Mapping(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Word;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or number")
            }
            fn visit_str<E>(self, text: &str) -> Result<Word, E> {
                Ok(Word(text.into()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Word, E> {
                Ok(Word(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Word, E> {
                Ok(Word(number.to_string()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

impl<'de> Deserialize<'de> for Hop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Hop;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a port, or ports by destination")
            }
            fn visit_str<E>(self, text: &str) -> Result<Hop, E> {
                Ok(Hop::Port(text.into()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Hop, E> {
                Ok(Hop::Port(number.to_string()))
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Hop, M::Error> {
                let mut hops = Vec::new();
                while let Some((Word(dst), Word(port))) = map.next_entry()? {
                    hops.push((dst, port));
                }
                Ok(Hop::BySource(hops))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
