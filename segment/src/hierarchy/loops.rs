//! Detection of loops: the phases of a run as a tree of loops of phases, and of loops of loops.
//!
//! Labels that come again and again in one order are a loop (tandem repeats, the shortest first); a
//! loop is a label like any other, so loops are found in loops. Idle stretches neither make nor
//! break one.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::plan::Plan;

/// Longest body of a loop.
pub(crate) const LONGEST: usize = 64;

/// A phase or a loop where it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// A label of the plan, or a loop's own, counted from those on.
    pub(crate) label: u32,
    /// The stretches of the plan that it covers, idle ones between its parts included.
    pub(crate) stretches: Range<usize>,
    /// What a loop consists of, in order.
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Its label and those in it.
    pub(crate) fn labels(&self) -> Vec<u32> {
        let inner = self.children.iter().flat_map(Node::labels);
        std::iter::once(self.label).chain(inner).collect()
    }
}

/// How often a body of `length` labels has to come in a row to be a loop: short orders come twice
/// by chance.
fn needed(length: usize) -> usize {
    if length < 3 { 3 } else { 2 }
}

/// The stretches of `plan` that are not idle, each a node.
pub(crate) fn leaves(plan: &Plan) -> Vec<Node> {
    let stretches = plan.stretches.iter().enumerate();
    let nodes = stretches.filter_map(|(i, stretch)| {
        Some(Node { label: stretch.label?, stretches: i..i + 1, children: Vec::new() })
    });
    nodes.collect()
}

/// The outermost loops, and what is in none.
pub(crate) fn loops(plan: &Plan) -> Vec<Node> {
    loops_of(plan, leaves(plan))
}

/// The outermost loops of `nodes`, which are in order, and what is in none.
pub(crate) fn loops_of(plan: &Plan, nodes: Vec<Node>) -> Vec<Node> {
    loops_within(plan, vec![nodes]).remove(0)
}

/// The same of each of these parts. Loops of one body have one label in all of them.
pub(crate) fn loops_within(plan: &Plan, parts: Vec<Vec<Node>>) -> Vec<Vec<Node>> {
    let mut names: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
    let first = parts.iter().flatten().flat_map(Node::labels).max().map_or(0, |label| label + 1);
    let outermost = |mut nodes: Vec<Node>| {
        let mut length = 1;
        while length <= LONGEST.min(nodes.len() / 2) {
            let before = nodes.len();
            nodes = fold(plan, nodes, length, |body| {
                let next = first + names.len() as u32;
                *names.entry(body.to_vec()).or_insert(next)
            });
            // What was found may be a part of something shorter than what was looked for before.
            length = if nodes.len() < before { 1 } else { length + 1 };
        }
        nodes
    };
    parts.into_iter().map(outermost).collect()
}

/// Makes a node of each loop whose body has `length` labels.
fn fold(plan: &Plan, nodes: Vec<Node>, length: usize, mut name: impl FnMut(&[u32]) -> u32) -> Vec<Node> {
    let labels: Vec<u32> = nodes.iter().map(|node| node.label).collect();
    let mut folded = Vec::with_capacity(nodes.len());
    let mut rest = nodes.into_iter();
    let mut at = 0;
    while at < labels.len() {
        let alike = (at..labels.len().saturating_sub(length))
            .take_while(|i| labels[*i] == labels[i + length])
            .count();
        let times = alike / length + 1;
        if times < needed(length) {
            // Where two labels differ that are a body apart, no loop begins that holds both.
            let skipped = if alike == 0 { 1 } else { (alike + 1).saturating_sub(length).max(1) };
            folded.extend(rest.by_ref().take(skipped));
            at += skipped;
            continue;
        }
        let children: Vec<Node> = rest.by_ref().take(times * length).collect();
        let label = name(&labels[at..at + length]);
        at += children.len();
        let start = children.first().map_or(0, |node| node.stretches.start);
        let mut end = children.last().map_or(0, |node| node.stretches.end);
        // If there is a pause before each pass but the first, there is one after each.
        let second = children.get(length).map_or(0, |node| node.stretches.start);
        let idle =
            |stretch: usize| plan.stretches.get(stretch).is_some_and(|stretch| stretch.label.is_none());
        if second > 0 && idle(second - 1) && idle(end) {
            end += 1;
        }
        folded.push(Node { label, stretches: start..end, children });
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Stretch;

    /// A plan from letters, `.` for idle.
    fn plan(text: &str) -> Plan {
        let stretch = |(i, letter): (usize, char)| {
            let label = (letter != '.').then(|| u32::from(letter) - u32::from('a'));
            Stretch::exact(label, i as u64)
        };
        Plan { stretches: text.chars().enumerate().map(stretch).collect(), ..Plan::default() }
    }

    /// A tree as text: loops in brackets.
    fn text(nodes: &[Node], source: &str) -> String {
        let one = |node: &Node| match &node.children[..] {
            [] => source[node.stretches.clone()].to_string(),
            children => format!("({})", text(children, source)),
        };
        nodes.iter().map(one).collect()
    }

    fn folded(source: &str) -> String {
        text(&loops(&plan(source)), source)
    }

    #[test]
    fn loops_and_loops_of_loops() {
        assert_eq!(folded("xababaay"), "xababaay");
        assert_eq!(folded("xabababy"), "x(ababab)y");
        assert_eq!(folded("abab"), "abab");
        assert_eq!(folded("abcabc"), "(abcabc)");
        assert_eq!(folded("abababcabababcx"), "(ababab)c(ababab)cx");
        assert_eq!(folded("abababcabababcabababcx"), "((ababab)c(ababab)c(ababab)c)x");
        assert_eq!(folded("dxbxbxbxd"), "d(xbxbxb)xd");
        assert_eq!(folded(""), "");
    }

    #[test]
    fn loops_of_unlike_parts_have_unlike_labels() {
        let plan = plan("abababcdcdcdababab");
        let leaves = leaves(&plan);
        let parts = loops_within(&plan, leaves.chunks(6).map(<[Node]>::to_vec).collect());
        let labels: Vec<u32> = parts.iter().map(|part| part[0].label).collect();
        assert_eq!(labels, [4, 5, 4]);
    }

    #[test]
    fn pauses_neither_make_nor_break_a_loop() {
        assert_eq!(folded("ab.ab.ab.c"), "(ababab)c");
        let nodes = loops(&plan("ab.ab.ab.c"));
        // The pause after the last pass is the loop's, too.
        assert_eq!((nodes[0].stretches.clone(), nodes[1].stretches.clone()), (0..9, 9..10));
        assert_eq!(loops(&plan("ababab.c"))[0].stretches, 0..6);
        assert_eq!(folded("a.a.a.b"), "(aaa)b");
    }
}
