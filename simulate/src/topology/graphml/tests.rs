use std::io::BufReader;

use phaseflow_collect::Result;

use super::read;
use crate::topology::options::{DEFAULT_LATENCY_PS, TopologyOptions};
use crate::topology::{Faults, HostId, LinkId, LinkSpec, NetworkGraph, PortOrder, Topology};

fn document(edgedefault: &str, graph: &str) -> String {
    format!(
        r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d1" for="node" attr.name="typ" attr.type="string"/>
<key id="d2" for="node" attr.name="capacity" attr.type="long"><default>4</default></key>
<key id="d3" for="node" attr.name="mac" attr.type="string"/>
<key id="d4" for="node" attr.name="dpid" attr.type="long"/>
<key id="d5" for="edge" attr.name="capacity" attr.type="double"/>
<key id="d6" for="edge" attr.name="port" attr.type="long"/>
<key id="d7" for="edge" attr.name="latency_ns" attr.type="double"/><key id="d8" for="edge" attr.name="loss" attr.type="double"/><key id="d9" for="edge" attr.name="reorder_ns" attr.type="double"/>
<graph edgedefault="{edgedefault}">
{graph}
</graph>
</graphml>
"#
    )
}

fn read_text(text: &str) -> Result<NetworkGraph> {
    read(text.as_bytes(), &TopologyOptions::default()).map(|document| document.graph)
}

#[track_caller]
fn refused(text: &str) -> String {
    read_text(text).unwrap_err().to_string()
}

const PAIR: &str = r#"<node id="a&amp;b"><data key="d1">host</data><data key="d3">00:30</data></node>
<node id="s"><data key="d1">switch</data><data key="d4">3</data><data key="unknown">x<y/></data></node>"#;

#[test]
fn data_defaults_and_units() {
    let edges = r#"<edge source="a&amp;b" target="s"><data key="d5">2.5</data><data key="d7">1.5</data><data key="d8">0.25</data><data key="d9">3</data></edge>
<edge source="s" target="a&#38;b"><data key="d5"><![CDATA[10]]></data><data key="d6">7</data></edge>
<edge source="s" target="a&amp;b"><data key="d5">1</data></edge>"#;
    let graph = read_text(&document("directed", &format!("{PAIR}\n{edges}"))).unwrap();
    let net = Topology::freeze("net", graph, PortOrder::Name, 0).unwrap();
    let host = net.node(net.host(HostId(0)));
    assert_eq!((host.name.as_str(), host.slots, host.mac.as_deref()), ("a&b", Some(4), Some("00:30")));
    let link = |number| net.link(LinkId(number)).clone();
    let faults = Faults { loss: 0.25, duplicate: 0.0, reorder_ps: 3000 };
    assert_eq!(link(0), LinkSpec { capacity: 2.5, latency_ps: 1500, port: None, faults, cost: 1 });
    let faults = Faults::default();
    let port = Some("7".into());
    assert_eq!(link(1), LinkSpec { capacity: 10.0, latency_ps: DEFAULT_LATENCY_PS, port, faults, cost: 1 });
    assert_eq!(net.link_count(), 3, "parallel links stay apart");
}

#[test]
fn an_undirected_edge_is_a_link_each_way_and_may_come_before_its_nodes() {
    let edge = r#"<edge source="s" target="a&amp;b"><data key="d5">1</data><data key="d6">7</data></edge>"#;
    let graph = read_text(&document("undirected", &format!("{edge}\n{PAIR}"))).unwrap();
    let net = Topology::freeze("net", graph, PortOrder::Name, 0).unwrap();
    let ends = |number| (net.link_name(LinkId(number)), net.link(LinkId(number)).port.clone());
    assert_eq!(net.link_count(), 2);
    assert_eq!(ends(0), ("s → a&b".into(), Some("7".into())));
    assert_eq!(ends(1), ("a&b → s".into(), None));
}

#[test]
fn options_replace_what_the_file_says() {
    let edge = r#"<edge source="s" target="a&amp;b"></edge>"#;
    let options = TopologyOptions {
        slots: Some(9),
        capacity_gbps: Some(3.0),
        link_latency_ps: Some(5),
        ..TopologyOptions::default()
    };
    let text = document("undirected", &format!("{PAIR}{edge}"));
    let net =
        Topology::freeze("net", read(text.as_bytes(), &options).unwrap().graph, PortOrder::Name, 0).unwrap();
    assert_eq!(net.slots(), [9]);
    let faults = Faults::default();
    assert_eq!(*net.link(LinkId(1)), LinkSpec { capacity: 3.0, latency_ps: 5, port: None, faults, cost: 1 });
}

#[test]
fn what_is_no_network_is_refused_with_line_and_byte() {
    let edge = |data: &str| format!(r#"{PAIR}<edge source="s" target="a&amp;b">{data}</edge>"#);
    let cases = [
        (r#"<node id="x"/>"#.into(), "node `x` has no `typ`, expected host or switch"),
        (
            r#"<node id="x"><data key="d1">router</data></node>"#.into(),
            "node `x` has typ `router`, expected host or switch",
        ),
        (
            r#"<node id="x"><data key="d1">host</data><data key="d2">0</data></node>"#.into(),
            "host `x` has capacity `0`, expected a whole number of process slots, at least 1",
        ),
        (format!(r#"{PAIR}<node id="s"><data key="d1">switch</data></node>"#), "two nodes are called `s`"),
        ("<node/>".into(), "node has no id"),
        (r#"<edge source="s"/>"#.into(), "edge has no source or no target"),
        (edge(""), "link `s → a&b`: has no `capacity` (Gbit/s)"),
        (
            edge(r#"<data key="d5">NaN</data>"#),
            "link `s → a&b`: capacity is `NaN`, expected a positive number of Gbit/s",
        ),
        (
            edge(r#"<data key="d5">-1</data>"#),
            "link `s → a&b`: capacity is `-1`, expected a positive number of Gbit/s",
        ),
        (
            edge(r#"<data key="d5">1</data><data key="d7">-3</data>"#),
            "link `s → a&b`: latency_ns is `-3`, expected nanoseconds, at most 1e12",
        ),
        (
            edge(r#"<data key="d5">1</data><data key="d8">1</data>"#),
            "link `s → a&b`: loss is `1`, expected a probability below 1",
        ),
        (
            format!(r#"{PAIR}<edge source="s" target="t"><data key="d5">1</data></edge>"#),
            "an edge ends at `t`, which the file does not declare as a node",
        ),
        ("<hyperedge/>".into(), "has a hyperedge; a link has two ends: use edges"),
        (
            r#"<node id="x"><graph edgedefault="directed"/></node>"#.into(),
            "node `x` holds a graph: nested graphs are refused",
        ),
        ("<node id='x'>&lol;</node>".into(), "uses the entity `&lol;`, which XML does not define"),
        ("</node>".into(), "is not XML: ill-formed document: expected `</graph>`, but `</node>` was found"),
    ];
    for (graph, expected) in cases {
        let error = refused(&document("directed", &graph));
        let (place, problem) = error.split_once(": ").unwrap();
        assert_eq!(problem, expected);
        assert!(place.starts_with("line 1"), "{place}");
    }
    let text = document("directed", "<node id='a'/>");
    let byte = text.find("'a'/>").unwrap() + "'a'/>".len();
    let expected = format!("line 11, byte {byte}: node `a` has no `typ`, expected host or switch");
    assert_eq!(refused(&text), expected);
}

#[test]
fn documents_of_other_kinds_are_refused() {
    let cases = [
        ("", "line 1, byte 0: is no XML document, expected a GraphML file"),
        ("rank,peer\n0,1\n", "line 3, byte 14: is no XML document, expected a GraphML file"),
        ("<gexf/>", "line 1, byte 7: holds a document of type `gexf`, expected `graphml`"),
        ("<graphml/>", "line 1, byte 10: holds no graph"),
        (
            "<graphml><graph/></graphml>",
            "line 1, byte 17: graph has edgedefault ``, expected directed or undirected",
        ),
        ("<graphml>\n\n", "line 3, byte 11: ends inside an element: the file is truncated"),
        (
            "<graphml>\n<graph edgedefault='dir",
            "line 2, byte 33: is not XML: syntax error: attribute value not closed: `'` not found before end of input",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text), expected);
    }
    let twice = document("directed", PAIR).replace("</graphml>", "<graph edgedefault='directed'/></graphml>");
    assert!(refused(&twice).ends_with("holds a second graph, expected one"));
}

#[test]
fn an_entity_bomb_does_not_go_off() {
    let bomb = r#"<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<graphml><graph edgedefault="directed"><node id="&lol2;"/></graph></graphml>"#;
    let expected = "declares a document type: entities are not expanded; remove the DOCTYPE declaration";
    assert_eq!(refused(bomb), format!("line 2, byte 126: {expected}"));
}

#[test]
fn endless_tags_texts_and_depths_are_refused() {
    let endless = || std::io::repeat(b'x');
    for start in ["<", "<graphml ", "<!-- ", "<graphml><key id='", "<graphml>", "<?", "<!DOCTYPE ", "</", "&"]
    {
        let input = BufReader::new(std::io::Read::chain(start.as_bytes(), endless()));
        let error = read(input, &TopologyOptions::default()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("has a tag or text of more than 1048576 bytes"), "{start}: {error}");
    }
    let deep = "<graphml>".repeat(1000);
    assert!(refused(&deep).ends_with("elements are nested deeper than 256"));
}

#[test]
fn any_cut_is_an_error_and_no_panic() {
    let edge = r#"<edge source="s" target="a&amp;b"><data key="d5">1</data></edge>"#;
    let whole = document("undirected", &format!("{PAIR}\n{edge}"));
    let end = whole.trim_end().len();
    for cut in (0..end).filter(|cut| whole.is_char_boundary(*cut)) {
        assert!(read_text(&whole[..cut]).is_err(), "cut at {cut}");
    }
}

proptest::proptest! {
    #[test]
    fn damaged_files_never_panic(places in proptest::collection::vec((0..900_usize, 0..=255_u8), 1..6)) {
        let edge = r#"<edge source="s" target="a&amp;b"><data key="d5">1</data></edge>"#;
        let mut bytes = document("undirected", &format!("{PAIR}\n{edge}")).into_bytes();
        for (place, byte) in places {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        if let Ok(document) = read(&bytes[..], &TopologyOptions::default()) {
            let _ = Topology::freeze("net", document.graph, document.order, 0);
        }
    }
}
