//! Circles of files: within a crate, no files import each other in a ring.
//!
//! The arrows are the `use` lines and `crate::` or `super::` paths of the files, without tests. A
//! registry (`mod.rs`, `lib.rs`, `main.rs`) may name its own descendants. Circles are the strongly
//! connected components of the graph (Tarjan 1972).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so and fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

/// Text of each file of a crate, by its path below `src/`.
type Sources = BTreeMap<String, String>;

/// Source folders of the crates.
const CRATES: [&str; 7] = ["profiler/preload", "profiler", "collect", "segment", "simulate", "report", "."];

/// The module path of a file: `a/mod.rs` and `a.rs` are both `["a"]`.
fn module(file: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// Whether a file is a test and no part of the program.
fn is_test(file: &str) -> bool {
    file.split(['/', '.']).any(|part| part == "tests" || part == "test")
}

/// The code of a file: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    program.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The paths of a `use` tree: `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.to_string()] };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, letter) in inner.char_indices() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        if letter == ',' && depth == 0 {
            parts.push(&inner[start..at]);
            start = at + 1;
        }
    }
    parts.push(&inner[start..]);
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.flat_map(leaves).map(|leaf| format!("{head}{leaf}")).collect()
}

/// All paths from `crate`, `super` or `self` that the code names.
fn paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            // The first `super` of `super::super::` has found the second one, too.
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[at..];
            let line = code[..at].rsplit([';', '\n']).next().unwrap_or("");
            let is_use = line.trim_start().starts_with("use ") || line.trim_start().starts_with("pub");
            let end = if is_use && line.contains("use ") {
                rest.find(';')
            } else {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
            };
            let tree: String = rest[..end.unwrap_or(rest.len())].split_whitespace().collect();
            paths.extend(leaves(&tree));
        }
    }
    paths
}

/// The file that a path leads to: the longest part of the path that is a module.
fn target<'a>(modules: &BTreeMap<Vec<&str>, &'a str>, here: &[&str], path: &str) -> Option<&'a str> {
    let mut at: Vec<&str> = if path.starts_with("crate::") { Vec::new() } else { here.to_vec() };
    for name in path.split("::") {
        match name {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            name => at.push(name),
        }
    }
    (0..=at.len()).rev().find_map(|length| modules.get(&at[..length]).copied())
}

/// The circles of a crate, each with its files in order.
fn circles(sources: &Sources) -> Vec<Vec<String>> {
    let files: Vec<&str> = sources.keys().map(String::as_str).filter(|file| !is_test(file)).collect();
    let modules: BTreeMap<Vec<&str>, &str> = files.iter().map(|file| (module(file), *file)).collect();
    let mut graph = DiGraph::<&str, ()>::new();
    let nodes: BTreeMap<&str, _> = files.iter().map(|file| (*file, graph.add_node(*file))).collect();
    for file in &files {
        let here = module(file);
        let is_registry = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| file.ends_with(name));
        let found = paths(&code(&sources[*file]));
        let targets: BTreeSet<&str> = found.iter().filter_map(|path| target(&modules, &here, path)).collect();
        for to in targets {
            let is_own = is_registry && module(to).starts_with(&here);
            if to != *file && !is_own {
                graph.add_edge(nodes[file], nodes[to], ());
            }
        }
    }
    let components = tarjan_scc(&graph).into_iter().filter(|component| component.len() > 1);
    let named = components.map(|component| {
        let mut names: Vec<String> = component.into_iter().map(|node| graph[node].to_string()).collect();
        names.sort();
        names
    });
    let mut circles: Vec<Vec<String>> = named.collect();
    circles.sort();
    circles
}

/// Reads the files below a folder.
fn read(folder: &Path, root: &Path, sources: &mut Sources) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            read(&path, root, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            sources.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn made(files: &[(&str, &str)]) -> Sources {
    files.iter().map(|(name, text)| ((*name).to_string(), (*text).to_string())).collect()
}

#[test]
fn no_crate_has_a_circle_of_files() {
    let mut found = Vec::new();
    for name in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src");
        let mut sources = Sources::new();
        read(&root, &root, &mut sources);
        assert!(sources.len() > 3, "{} has no sources", root.display());
        found.extend(circles(&sources).into_iter().map(|circle| format!("{name}: {}", circle.join(" "))));
    }
    assert!(found.is_empty(), "circles of files:\n{}", found.join("\n"));
}

#[test]
fn circles_are_found_by_use_lines_and_by_paths() {
    let sources = made(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::{b::{self, B}, d};"),
        ("b.rs", "fn f() { super::c::g(); }"),
        ("c.rs", "pub(crate) use crate::a::A;"),
        ("d.rs", "// use crate::a;\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
    ]);
    assert_eq!(circles(&sources), [["a.rs", "b.rs", "c.rs"]]);
}

#[test]
fn a_registry_may_name_its_own_choices() {
    let own =
        [("lib.rs", "mod r;"), ("r/mod.rs", "use one::One; use self::one;"), ("r/one.rs", "use super::R;")];
    assert!(circles(&made(&own)).is_empty());
    let others = [
        ("lib.rs", "mod r;"),
        ("r/mod.rs", "use crate::s::S;"),
        ("r/one.rs", "use super::R;"),
        ("s.rs", "use crate::r::one;"),
    ];
    assert_eq!(circles(&made(&others)), [["r/mod.rs", "r/one.rs", "s.rs"]]);
    let circle = [("lib.rs", ""), ("r/mod.rs", "use crate::s::S;"), ("s.rs", "use crate::r::R;")];
    assert_eq!(circles(&made(&circle)), [["r/mod.rs", "s.rs"]]);
}
