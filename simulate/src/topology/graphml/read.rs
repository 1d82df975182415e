//! Reading of a network from a GraphML file.

use std::collections::HashMap;
use std::io::BufRead;

use petgraph::graph::NodeIndex;
use phaseflow_collect::{At, Error, Result};

use super::super::freeze::{MAX_LINKS, MAX_NODES};
use super::super::options::{DEFAULT_LATENCY_PS, TopologyOptions};
use super::super::{Faults, LinkSpec, MAX_COST, NetworkGraph, Node, PortOrder};
use super::keys::{Keys, Scope, Values};
use super::xml::{Item, Tag, Xml};

/// The content of a file.
pub(in crate::topology) struct Document {
    pub(in crate::topology) graph: NetworkGraph,
    /// How routing decisions order switches: by name, unless the file says that its order is meant.
    pub(in crate::topology) order: PortOrder,
    pub(in crate::topology) switch_latency_ps: Option<u64>,
}

/// Reads a network; options replace values of the file.
///
/// # Errors
/// Text that is no XML, or XML that is no network: with line and byte.
pub(in crate::topology) fn read<R: BufRead>(input: R, options: &TopologyOptions) -> Result<Document> {
    let (xml, keys, about) = (Xml::new(input), Keys::default(), Values::default());
    let mut file = File { xml, keys, options, about, draft: Draft::default() };
    file.read_document()?;
    let (order, switch_latency_ps) = (file.order()?, file.switch_latency()?);
    Ok(Document { graph: file.draft.finish()?, order, switch_latency_ps })
}

struct File<'a, R> {
    xml: Xml<R>,
    keys: Keys,
    options: &'a TopologyOptions,
    /// Data of the graph.
    about: Values,
    draft: Draft,
}

impl<R: BufRead> File<'_, R> {
    fn read_document(&mut self) -> Result<()> {
        loop {
            match self.xml.next()? {
                Item::Open(tag) if tag.name == "graphml" => break,
                Item::Open(tag) => {
                    let problem = format!("holds a document of type `{}`, expected `graphml`", tag.name);
                    return Err(self.error(problem));
                }
                Item::Text(text) if text.trim().is_empty() => {}
                Item::Text(_) | Item::Close | Item::End => {
                    return Err(self.error("is no XML document, expected a GraphML file"));
                }
            }
        }
        let mut graphs = 0;
        loop {
            match self.xml.next()? {
                Item::Open(tag) if tag.name == "key" => {
                    let added = self.keys.read(&mut self.xml, tag);
                    added?;
                }
                Item::Open(tag) if tag.name == "graph" => {
                    graphs += 1;
                    if graphs > 1 {
                        return Err(self.error("holds a second graph, expected one"));
                    }
                    self.read_graph(&tag)?;
                }
                Item::Open(_) => self.xml.skip()?,
                Item::Text(_) => {}
                Item::Close | Item::End => break,
            }
        }
        if graphs == 0 {
            return Err(self.error("holds no graph"));
        }
        Ok(())
    }

    fn read_graph(&mut self, tag: &Tag) -> Result<()> {
        let directed = match tag.get("edgedefault") {
            Some("directed") => true,
            Some("undirected") => false,
            other => {
                let found = other.unwrap_or("");
                let problem = format!("graph has edgedefault `{found}`, expected directed or undirected");
                return Err(self.error(problem));
            }
        };
        loop {
            match self.xml.next()? {
                Item::Open(tag) if tag.name == "node" => self.read_node(tag)?,
                Item::Open(tag) if tag.name == "edge" => self.read_edge(tag, directed)?,
                Item::Open(tag) if tag.name == "data" => {
                    self.keys.data(&mut self.xml, &tag, Scope::Graph, &mut self.about)?;
                }
                Item::Open(tag) if tag.name == "hyperedge" => {
                    return Err(self.error("has a hyperedge; a link has two ends: use edges"));
                }
                Item::Open(_) => self.xml.skip()?,
                Item::Text(_) => {}
                Item::Close | Item::End => return Ok(()),
            }
        }
    }

    fn read_node(&mut self, mut tag: Tag) -> Result<()> {
        let Some(name) = tag.take("id") else { return Err(self.error("node has no id")) };
        let mut values = Values::default();
        loop {
            match self.xml.next()? {
                Item::Open(tag) if tag.name == "data" => {
                    self.keys.data(&mut self.xml, &tag, Scope::Node, &mut values)?;
                }
                Item::Open(tag) if tag.name == "graph" => {
                    return Err(self.error(format!("node `{name}` holds a graph: nested graphs are refused")));
                }
                Item::Open(_) => self.xml.skip()?,
                Item::Text(_) => {}
                Item::Close | Item::End => break,
            }
        }
        let node = self.node(name, &values).at(|| self.xml.place())?;
        self.draft.add_node(node).at(|| self.xml.place())
    }

    fn node(&self, name: String, values: &Values) -> Result<Node> {
        let get = |key| self.keys.get(values, Scope::Node, key);
        let slots = match get("typ").as_deref() {
            Some("switch") => None,
            Some("host") => match (self.options.slots, get("capacity")) {
                (Some(slots), _) => Some(slots),
                (None, Some(text)) => Some(slots(&text).ok_or_else(|| {
                    Error::data(format!(
                        "host `{name}` has capacity `{text}`, expected a whole number of process slots, at least 1"
                    ))
                })?),
                (None, None) => {
                    return Err(Error::data(format!("host `{name}` has no `capacity` (process slots)")));
                }
            },
            Some(other) => {
                return Err(Error::data(format!("node `{name}` has typ `{other}`, expected host or switch")));
            }
            None => return Err(Error::data(format!("node `{name}` has no `typ`, expected host or switch"))),
        };
        Ok(Node { name, slots, mac: get("mac"), dpid: get("dpid") })
    }

    fn read_edge(&mut self, mut tag: Tag, directed: bool) -> Result<()> {
        let (source, target) = match (tag.take("source"), tag.take("target")) {
            (Some(source), Some(target)) => (source, target),
            _ => return Err(self.error("edge has no source or no target")),
        };
        let directed = match tag.get("directed") {
            Some("true") => true,
            Some("false") => false,
            _ => directed,
        };
        let mut values = Values::default();
        loop {
            match self.xml.next()? {
                Item::Open(tag) if tag.name == "data" => {
                    self.keys.data(&mut self.xml, &tag, Scope::Edge, &mut values)?;
                }
                Item::Open(_) => self.xml.skip()?,
                Item::Text(_) => {}
                Item::Close | Item::End => break,
            }
        }
        let place = || self.xml.place();
        let spec = self.link(&values).at(|| format!("link `{source} → {target}`")).at(place)?;
        let (source, target) = (self.draft.end(source, place), self.draft.end(target, place));
        self.draft.add_link(source, target, spec, directed).at(place)
    }

    fn link(&self, values: &Values) -> Result<LinkSpec> {
        let get = |key| self.keys.get(values, Scope::Edge, key);
        let capacity = match (self.options.capacity_gbps, get("capacity")) {
            (Some(capacity), _) => capacity,
            (None, Some(text)) => positive(&text).ok_or_else(|| {
                Error::data(format!("capacity is `{text}`, expected a positive number of Gbit/s"))
            })?,
            (None, None) => return Err(Error::data("has no `capacity` (Gbit/s)")),
        };
        let latency_ps = match self.options.link_latency_ps {
            Some(latency) => latency,
            None => self.time(values, "latency_ns", "latency_ps")?.unwrap_or(DEFAULT_LATENCY_PS),
        };
        let chance = |key| match get(key) {
            None => Ok(0.0),
            Some(text) => share(&text)
                .ok_or_else(|| Error::data(format!("{key} is `{text}`, expected a probability below 1"))),
        };
        let reorder_ps = self.time(values, "reorder_ns", "reorder_ps")?.unwrap_or(0);
        let faults = Faults { loss: chance("loss")?, duplicate: chance("duplicate")?, reorder_ps };
        let cost = match get("cost") {
            None => 1,
            Some(text) => cost(&text).ok_or_else(|| {
                Error::data(format!("cost is `{text}`, expected a whole number from 1 to {MAX_COST}"))
            })?,
        };
        Ok(LinkSpec { capacity, latency_ps, port: get("port"), faults, cost })
    }

    /// A time of a link under one of its two names, picoseconds.
    fn time(&self, values: &Values, in_ns: &str, in_ps: &str) -> Result<Option<u64>> {
        let get = |key| self.keys.get(values, Scope::Edge, key);
        match (get(in_ns), get(in_ps)) {
            (Some(_), Some(_)) => {
                Err(Error::data(format!("has `{in_ns}` and `{in_ps}`, expected one of them")))
            }
            (Some(text), None) => picoseconds(&text).map(Some).ok_or_else(|| {
                Error::data(format!("{in_ns} is `{text}`, expected nanoseconds, at most 1e12"))
            }),
            (None, text) => text.map(|text| whole_picoseconds(in_ps, &text)).transpose(),
        }
    }

    fn order(&self) -> Result<PortOrder> {
        match self.keys.get(&self.about, Scope::Graph, "routing_order") {
            None => Ok(PortOrder::Name),
            Some(text) => PortOrder::parse(&text)
                .ok_or_else(|| Error::data(format!("routing_order is `{text}`, expected name or number"))),
        }
    }

    fn switch_latency(&self) -> Result<Option<u64>> {
        let text = self.keys.get(&self.about, Scope::Graph, "switch_latency_ps");
        text.map(|text| whole_picoseconds("switch_latency_ps", &text)).transpose()
    }

    fn error(&self, problem: impl Into<String>) -> Error {
        Error::data(problem).at(self.xml.place())
    }
}

/// `8`, or `8.0` from tools that know one kind of number.
fn slots(text: &str) -> Option<u32> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok().filter(|slots| *slots > 0)
}

/// `1000`, or `1000.0` from tools that know one kind of number.
fn whole_picoseconds(key: &str, text: &str) -> Result<u64> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse().map_err(|_| {
        Error::data(format!("{key} is `{text}`, expected a whole number of picoseconds below 2^64"))
    })
}

/// `3`, or `3.0` from tools that know one kind of number.
fn cost(text: &str) -> Option<u32> {
    text.strip_suffix(".0").unwrap_or(text).parse().ok().filter(|cost| (1..=MAX_COST).contains(cost))
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn share(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value| (0.0..1.0).contains(value))
}

fn picoseconds(text: &str) -> Option<u64> {
    let nanoseconds: f64 = text.parse().ok()?;
    // The bound is 1000 s, far below the 213 days of the clock.
    (0.0..=1e12).contains(&nanoseconds).then(|| (nanoseconds * 1e3).round() as u64)
}

/// The graph so far. Edges may come before the nodes they join; both keep their order.
#[derive(Default)]
struct Draft {
    graph: NetworkGraph,
    /// By name, a number in order of first mention.
    names: HashMap<String, u32>,
    /// By that number: the declared node, or where the name was mentioned first.
    mentioned: Vec<Result<NodeIndex, String>>,
    links: Vec<(u32, u32, LinkSpec)>,
}

impl Draft {
    fn add_node(&mut self, node: Node) -> Result<()> {
        if self.graph.node_count() as u64 >= MAX_NODES {
            return Err(Error::data(format!("has more than {MAX_NODES} nodes")));
        }
        let number = self.end(node.name.clone(), String::new) as usize;
        if self.mentioned[number].is_ok() {
            return Err(Error::data(format!("two nodes are called `{}`", node.name)));
        }
        self.mentioned[number] = Ok(self.graph.add_node(node));
        Ok(())
    }

    /// The number of a name.
    fn end(&mut self, name: String, place: impl FnOnce() -> String) -> u32 {
        *self.names.entry(name).or_insert_with(|| {
            self.mentioned.push(Err(place()));
            self.mentioned.len() as u32 - 1
        })
    }

    fn add_link(&mut self, source: u32, target: u32, spec: LinkSpec, directed: bool) -> Result<()> {
        if self.links.len() as u64 >= MAX_LINKS {
            return Err(Error::data(format!("has more than {MAX_LINKS} links")));
        }
        let back = (!directed).then(|| (target, source, LinkSpec { port: None, ..spec.clone() }));
        self.links.push((source, target, spec));
        self.links.extend(back);
        Ok(())
    }

    fn finish(mut self) -> Result<NetworkGraph> {
        let undeclared = self.mentioned.iter().position(Result::is_err);
        if let Some(number) = undeclared {
            let name = self.names.iter().find(|(_, known)| **known as usize == number);
            let name = name.map_or("", |(name, _)| name);
            let place = self.mentioned.swap_remove(number).err().unwrap_or_default();
            let problem = format!("an edge ends at `{name}`, which the file does not declare as a node");
            return Err(Error::data(problem).at(place));
        }
        for (source, target, spec) in self.links {
            if let (Ok(source), Ok(target)) =
                (&self.mentioned[source as usize], &self.mentioned[target as usize])
            {
                self.graph.add_edge(*source, *target, spec);
            }
        }
        Ok(self.graph)
    }
}
