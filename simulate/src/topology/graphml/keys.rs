//! The typed data of GraphML: `<key>` declares an attribute and its default, `<data>` sets it.

use std::collections::HashMap;
use std::io::BufRead;

use phaseflow_collect::{Error, Result};

use super::xml::{Item, Tag, Xml};

/// Whose attribute it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    Graph,
    Node,
    Edge,
}

/// The attributes that matter, by what they belong to.
const KNOWN: &[(Scope, &str)] = &[
    (Scope::Graph, "switch_latency_ps"),
    (Scope::Graph, "routing_order"),
    (Scope::Node, "typ"),
    (Scope::Node, "capacity"),
    (Scope::Node, "mac"),
    (Scope::Node, "dpid"),
    (Scope::Edge, "capacity"),
    (Scope::Edge, "port"),
    (Scope::Edge, "latency_ns"),
    (Scope::Edge, "latency_ps"),
    (Scope::Edge, "loss"),
    (Scope::Edge, "duplicate"),
    (Scope::Edge, "reorder_ns"),
    (Scope::Edge, "reorder_ps"),
    (Scope::Edge, "cost"),
];

/// The keys of a file: by scope and id, a place in [`KNOWN`].
#[derive(Default)]
pub(super) struct Keys {
    known: HashMap<(Scope, String), usize>,
    defaults: [Option<String>; KNOWN.len()],
}

/// The data of one node or edge, or of the graph, by place in [`KNOWN`].
#[derive(Default)]
pub(super) struct Values([Option<String>; KNOWN.len()]);

impl Keys {
    /// Reads a `<key>` that was just opened.
    pub(super) fn read<R: BufRead>(&mut self, xml: &mut Xml<R>, mut tag: Tag) -> Result<()> {
        let Some(id) = tag.take("id") else { return Err(Error::data("key has no id").at(xml.place())) };
        let name = tag.take("attr.name").unwrap_or_else(|| id.clone());
        let belongs = tag.take("for").unwrap_or_else(|| "all".into());
        let mut default = None;
        loop {
            match xml.next()? {
                Item::Open(tag) if tag.name == "default" => default = Some(xml.text()?.trim().to_string()),
                Item::Open(_) => xml.skip()?,
                Item::Text(_) => {}
                Item::Close | Item::End => break,
            }
        }
        for (place, (scope, known)) in KNOWN.iter().enumerate() {
            let fits = match belongs.as_str() {
                "all" => true,
                "graph" => *scope == Scope::Graph,
                "node" => *scope == Scope::Node,
                "edge" => *scope == Scope::Edge,
                _ => false,
            };
            if fits && *known == name {
                self.known.insert((*scope, id.clone()), place);
                self.defaults[place].clone_from(&default);
            }
        }
        Ok(())
    }

    /// Reads a `<data>` that was just opened; passes over those of unknown keys.
    pub(super) fn data<R: BufRead>(
        &self,
        xml: &mut Xml<R>,
        tag: &Tag,
        scope: Scope,
        values: &mut Values,
    ) -> Result<()> {
        let key = (scope, tag.get("key").unwrap_or("").to_string());
        match self.known.get(&key) {
            Some(place) => values.0[*place] = Some(xml.text()?.trim().to_string()),
            None => xml.skip()?,
        }
        Ok(())
    }

    /// An attribute of a node or edge, or its default.
    pub(super) fn get(&self, values: &Values, scope: Scope, name: &str) -> Option<String> {
        let place = KNOWN.iter().position(|known| *known == (scope, name))?;
        values.0[place].as_ref().or(self.defaults[place].as_ref()).cloned()
    }
}
