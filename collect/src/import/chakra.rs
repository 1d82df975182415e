//! Chakra execution traces (MLCommons), a file `NAME.RANK.et` for each rank.
//!
//! A file is a sequence of protobuf messages, each after its length as a varint: `GlobalMetadata`,
//! then a `Node` each (`et_def.proto`, schema 0.0.4). Read are sends, receives and collectives of a
//! rank, and what each node waits for; other nodes are computation, which takes no step. There are
//! no times: those of nodes are a converter's estimates, if any.
//!
//! A collective is of its process group (`pg_name`), or of all ranks. The members of a group are
//! the ranks that name it, as files do not list them. `comm_size` is meant as ASTRA-sim takes it:
//! the vector of an allreduce or broadcast, the own part of an allgather, what a rank has at the
//! beginning of a reduce-scatter or all-to-all.
//!
//! Memory: about 32 bytes a node, and eight for each thing that it waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read};

use prost::Message;
use rustc_hash::FxHashMap;

use super::ordered::{Graph, GraphBuilder, GraphOperation, schedule};
use super::set::{FileSet, Member, complete, number_in};
use super::{Imported, Reading};
use crate::trace::{Call, Operation, Rank, Sink};
use crate::{At, Error, Result};

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// Largest message, bytes: a node has names of tensors, and ids of what it waits for.
const LARGEST: u64 = 64 << 20;

/// Types of nodes: the numbers of `NodeType` in Chakra's et_def.proto.
const SEND: i32 = 5;
const RECEIVE: i32 = 6;
const COLLECTIVE: i32 = 7;

/// The communicator of all ranks; process groups follow.
const WORLD: u32 = 0;

/// `Node`, as far as it is read; names may be any bytes.
#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(message, repeated, tag = "10")]
    attr: Vec<Attribute>,
}

/// `AttributeProto`, as far as it is read: one of the values is there.
#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(bytes = "vec", tag = "1")]
    name: Vec<u8>,
    #[prost(int32, optional, tag = "7")]
    int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    uint64: Option<u64>,
    #[prost(bytes = "vec", optional, tag = "29")]
    text: Option<Vec<u8>>,
}

impl Attribute {
    fn number(&self) -> Option<i128> {
        let signed = self.int32.map(i128::from).or(self.int64.map(i128::from));
        signed.or(self.uint32.map(i128::from)).or(self.uint64.map(i128::from))
    }
}

impl Node {
    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attr.iter().find(|attribute| attribute.name == name.as_bytes())
    }

    fn number(&self, name: &str) -> Option<i128> {
        self.attribute(name)?.number()
    }

    fn bytes(&self) -> Result<u64> {
        let size = self.number("comm_size").unwrap_or(0);
        i64::try_from(size)
            .ok()
            .and_then(|size| u64::try_from(size).ok())
            .ok_or_else(|| Error::data(format!("has the comm_size {size}, expected 0 to 2^63 - 1")))
    }

    fn tag(&self) -> Result<i32> {
        let tag = self.number("comm_tag").unwrap_or(0);
        // Feeders take tags as 32 bits without sign.
        let small = i32::try_from(tag).ok().or_else(|| u32::try_from(tag).ok().map(u32::cast_signed));
        small.ok_or_else(|| Error::data(format!("has the comm_tag {tag}, expected 32 bits")))
    }

    fn peer(&self, name: &str, ranks: u32) -> Result<u32> {
        let Some(peer) = self.number(name) else {
            return Err(Error::data(format!("sends or receives without {name}")));
        };
        let known = u32::try_from(peer).ok().filter(|peer| *peer < ranks);
        known.ok_or_else(|| Error::data(format!("has the {name} {peer}, expected less than {ranks}")))
    }
}

/// True if a file begins as one of a rank does, and is named so.
pub(super) fn is_rank_file(name: &str, prefix: &[u8]) -> bool {
    let mut rest = prefix;
    let Ok(length) = prost::decode_length_delimiter(&mut rest) else { return false };
    // Version, attributes, or a node without metadata: fields 1 and 2.
    name.ends_with(".et") && length > 0 && matches!(rest.first(), Some(0x0a | 0x12 | 0x08))
}

/// Reads a run into `sink`.
///
/// # Errors
/// A rank without a file, damage or truncation with the byte and the node, nodes that wait for each
/// other; an error of the operating system or of `sink`.
pub(super) fn read(set: &FileSet, reading: Reading, sink: &mut dyn Sink) -> Result<Imported> {
    let mut members = Vec::new();
    for member in set.members() {
        let (rank, _) = number_in(member)
            .ok_or_else(|| Error::data("has no rank in its name, expected NAME.RANK.et").at(member.name()))?;
        members.push((rank, member.name().to_string(), member));
    }
    let members = complete(members, None)?;
    let ranks = u32::try_from(members.len()).unwrap_or(u32::MAX);
    let groups = Groups::find(&members)?;
    let mut graphs = Vec::with_capacity(members.len());
    for (rank, member) in (0..).zip(&members) {
        let graph = rank_graph(member, ranks, &groups).at(|| format!("rank {rank}")).at(|| member.name())?;
        graphs.push(graph);
    }
    let mut graph = Graph::new(graphs, groups.members);
    let imported = schedule(&mut graph, "chakra", reading.expand, sink)?;
    match graph.left() {
        Some((rank, _)) => Err(Error::data(format!("nodes of rank {rank} wait for each other"))),
        None => Ok(imported),
    }
}

/// Process groups: their numbers, and the ranks that name them.
struct Groups {
    numbers: BTreeMap<Vec<u8>, u32>,
    members: Vec<(u32, Vec<u32>)>,
}

impl Groups {
    /// Reads all files once.
    fn find(files: &[&Member]) -> Result<Self> {
        let mut ranks: BTreeMap<Vec<u8>, BTreeSet<u32>> = BTreeMap::new();
        for (rank, member) in (0..).zip(files) {
            let mut each = |node: &Node| {
                if let Some(name) = group_name(node) {
                    ranks.entry(name.to_vec()).or_default().insert(rank);
                }
                Ok(())
            };
            nodes(member, &mut each).at(|| format!("rank {rank}")).at(|| member.name())?;
        }
        let numbers = ranks.keys().cloned().zip(WORLD + 1..).collect();
        let members = ranks.into_values().map(|ranks| ranks.into_iter().collect());
        Ok(Self { numbers, members: (WORLD + 1..).zip(members).collect() })
    }

    fn of(&self, node: &Node) -> u32 {
        group_name(node).and_then(|name| self.numbers.get(name)).copied().unwrap_or(WORLD)
    }
}

/// The process group of a collective.
fn group_name(node: &Node) -> Option<&[u8]> {
    let name = node.attribute("pg_name").filter(|_| node.kind == COLLECTIVE)?.text.as_deref()?;
    Some(name).filter(|name| !name.is_empty())
}

/// Calls `each` with the nodes of a file.
fn nodes(member: &Member, each: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
    let mut input = member.reader(BUFFER);
    let (mut bytes, mut offset, mut number) = (Vec::new(), 0u64, 0u64);
    while let Some((length, size)) = delimiter(&mut *input).at(|| format!("byte {offset}"))? {
        let what = || if number == 0 { "the metadata".to_string() } else { format!("node number {number}") };
        let place = || format!("byte {offset}: {}", what());
        if length > LARGEST {
            let problem = format!("claims {length} bytes, expected at most {LARGEST}");
            return Err(Error::data(problem).at(place()));
        }
        bytes.clear();
        let read = (&mut input).take(length).read_to_end(&mut bytes).at(place)?;
        if (read as u64) < length {
            let problem = format!("ends after {read} of {length} bytes: the file is truncated");
            return Err(Error::truncated(problem).at(place()));
        }
        if number > 0 {
            let node = Node::decode(&bytes[..]).map_err(|error| Error::data(error.to_string()));
            each(&node.at(place)?).at(place)?;
        }
        offset += size + length;
        number += 1;
    }
    Ok(())
}

/// The length of the next message and the bytes that it takes itself; `None` at the end.
fn delimiter(input: &mut dyn BufRead) -> Result<Option<(u64, u64)>> {
    let (mut length, mut size) = (0u64, 0u32);
    loop {
        let Some(byte) = input.fill_buf()?.first().copied() else {
            return if size == 0 {
                Ok(None)
            } else {
                Err(Error::truncated("ends within the length of a message"))
            };
        };
        input.consume(1);
        // 64 bits need ten groups of seven.
        if size == 10 {
            return Err(Error::data("has a length of more than ten bytes"));
        }
        length |= u64::from(byte & 0x7f).checked_shl(7 * size).unwrap_or(0);
        size += 1;
        if byte < 0x80 {
            return Ok(Some((length, u64::from(size))));
        }
    }
}

/// The operations of a rank.
fn rank_graph(member: &Member, ranks: u32, groups: &Groups) -> Result<GraphBuilder> {
    let mut builder = GraphBuilder::default();
    let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
    // Nodes may wait for later ones, whose numbers are not known yet.
    let mut later: Vec<(u32, u64)> = Vec::new();
    nodes(member, &mut |node| {
        let number = builder.add(operation(node, ranks, groups)?)?;
        if numbers.insert(node.id, number).is_some() {
            return Err(Error::data(format!("has the id {} again", node.id)));
        }
        for before in node.ctrl_deps.iter().chain(&node.data_deps) {
            match numbers.get(before) {
                Some(before) if *before != number => builder.require(*before, number),
                _ => later.push((number, *before)),
            }
        }
        Ok(())
    })?;
    for (number, before) in later {
        match numbers.get(&before) {
            Some(before) => builder.require(*before, number),
            None => {
                return Err(Error::data(format!(
                    "node number {} waits for id {before}, which no node has",
                    number + 1
                )));
            }
        }
    }
    Ok(builder)
}

fn operation(node: &Node, ranks: u32, groups: &Groups) -> Result<GraphOperation> {
    Ok(match node.kind {
        SEND => GraphOperation::Send {
            dst: node.peer("comm_dst", ranks)?,
            tag: node.tag()?,
            bytes: node.bytes()?,
        },
        RECEIVE => {
            GraphOperation::Receive { src: Some(node.peer("comm_src", ranks)?), tag: Some(node.tag()?) }
        }
        COLLECTIVE => {
            let communicator = groups.of(node);
            let known = groups.members.iter().find(|(number, _)| *number == communicator);
            let members = known.map_or(u64::from(ranks), |(_, members)| members.len() as u64);
            let (operation, bytes) = collective(node, members)?;
            let is_rooted = matches!(
                operation,
                Operation::Reduce | Operation::Gather | Operation::Scatter | Operation::Bcast
            );
            let first = known.map_or(0, |(_, members)| members.first().copied().unwrap_or(0));
            let root = node.number("root_rank").and_then(|root| u32::try_from(root).ok());
            let root = root.filter(|root| *root < ranks).unwrap_or(first);
            let call = Call { operation, bytes, root: is_rooted.then_some(Rank(root)), ..Call::default() };
            GraphOperation::Collective(Box::new((call, communicator)))
        }
        _ => GraphOperation::Nothing,
    })
}

/// Operation and bytes of a collective, as [`Call::bytes`] has them.
fn collective(node: &Node, members: u64) -> Result<(Operation, Option<u64>)> {
    let bytes = node.bytes()?;
    let part = bytes / members.max(1);
    Ok(match node.number("comm_type") {
        Some(0) => (Operation::Allreduce, Some(bytes)),
        Some(1) => (Operation::Reduce, Some(bytes)),
        Some(2) => (Operation::Allgather, Some(bytes)),
        Some(3) => (Operation::Gather, Some(bytes)),
        Some(4) => (Operation::Scatter, Some(part)),
        Some(5) => (Operation::Bcast, Some(bytes)),
        Some(6) => (Operation::Alltoall, Some(bytes)),
        Some(7) => (Operation::ReduceScatter, Some(part)),
        Some(8) => (Operation::ReduceScatterBlock, Some(part)),
        Some(9) => (Operation::Barrier, None),
        Some(other) => return Err(Error::data(format!("has the comm_type {other}, expected 0 to 9"))),
        None => return Err(Error::data("is a collective without comm_type")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::Rules;
    use crate::export::{CsvExport, PairsExport};
    use std::path::Path;

    fn attribute(name: &str, value: i64) -> Attribute {
        Attribute { name: name.into(), int64: Some(value), ..Attribute::default() }
    }

    fn node(id: u64, kind: i32, data_deps: &[u64], attributes: &[(&str, i64)]) -> Node {
        let attr = attributes.iter().map(|(name, value)| attribute(name, *value)).collect();
        Node { id, kind, data_deps: data_deps.to_vec(), attr, ..Node::default() }
    }

    /// The metadata of version 0.0.4, then nodes.
    fn file(nodes: &[Node]) -> Vec<u8> {
        let mut bytes = b"\x07\x0a\x050.0.4".to_vec();
        nodes.iter().for_each(|node| node.encode_length_delimited(&mut bytes).unwrap());
        bytes
    }

    /// Rank 0 computes and sends to 1, which sends back what it has received; then all reduce.
    fn run(folder: &Path) {
        let reduce = |deps: &[u64]| node(9, COLLECTIVE, deps, &[("comm_type", 0), ("comm_size", 400)]);
        let zero = [
            node(1, 4, &[], &[]),
            node(2, SEND, &[1], &[("comm_dst", 1), ("comm_size", 70), ("comm_tag", 3)]),
            node(3, RECEIVE, &[2], &[("comm_src", 1), ("comm_size", 80), ("comm_tag", 4)]),
            reduce(&[3]),
        ];
        let one = [
            node(5, SEND, &[4], &[("comm_dst", 0), ("comm_size", 80), ("comm_tag", 4)]),
            node(4, RECEIVE, &[], &[("comm_src", 0), ("comm_size", 70), ("comm_tag", 3)]),
            reduce(&[5]),
        ];
        std::fs::write(folder.join("x.0.et"), file(&zero)).unwrap();
        std::fs::write(folder.join("x.1.et"), file(&one)).unwrap();
    }

    fn import(folder: &Path, expand: Option<Rules>, sink: &mut dyn Sink) -> Result<Imported> {
        let reading = Reading { expand, ..Reading::new(tempfile::tempfile) };
        super::super::import(super::super::Input::open(folder)?, reading, sink)
    }

    #[test]
    fn messages_follow_what_they_wait_for() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path());
        let mut csv = Vec::new();
        let imported = import(folder.path(), None, &mut CsvExport::new(&mut csv)).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap(), "t_ns,src,dst,bytes,tag,op\n,0,1,70,3,\n,1,0,80,4,\n");
        assert_eq!((imported.summary.ranks, imported.summary.unmatched), (2, Some(0)));
        let mut pairs = Vec::new();
        import(folder.path(), Some(Rules::Basic), &mut PairsExport::new(&mut pairs)).unwrap();
        // Two ranks reduce to the first one, which sends the sum back.
        assert_eq!(String::from_utf8(pairs).unwrap(), "src,dst,messages,bytes\n0,1,2,470\n1,0,2,480\n");
    }

    #[test]
    fn damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path());
        let path = folder.path().join("x.1.et");
        let error = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            import(folder.path(), None, &mut CsvExport::new(std::io::sink())).unwrap_err().to_string()
        };
        let whole = std::fs::read(&path).unwrap();
        let cut = error(&whole[..whole.len() - 1]);
        assert!(cut.contains("x.1.et: rank 1: byte") && cut.contains("the file is truncated"), "{cut}");
        let waits = error(&file(&[node(1, 4, &[2], &[]), node(2, 4, &[1], &[])]));
        assert_eq!(waits, "nodes of rank 1 wait for each other");
        let missing = error(&file(&[node(1, 4, &[7], &[])]));
        assert_eq!(missing, "x.1.et: rank 1: node number 1 waits for id 7, which no node has");
    }
}
