//! Which level of nested phases is shown.

use std::ops::Range;

use crate::hierarchy::loops::{Node, leaves, loops, loops_of};
use crate::plan::{Part, Plan};

/// More stretches than this are not looked at one by one.
pub(crate) const READABLE: usize = 32;

/// Stretches shorter than this part of the run are the first that a person leaves out; each time
/// twice as many.
const FINEST: u64 = 4096;
/// Idleness longer than this part of the run is seen between stretches of an outline.
const LONG: u64 = 64;
/// Nothing longer than this part of the run is left out.
const COARSEST: u64 = 64;

/// A level of nested phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// What a person would draw: the innermost phases if there are few enough of them to be read
    /// (32), otherwise the outermost; and if those are too many, with the shortest gathered in
    /// their neighbours, below which they lie. Methods other than `rounds` show what they found.
    #[default]
    Auto,
    /// The innermost phases; nothing lies below them.
    Leaf,
    /// The outermost loops, and phases in none; what they consist of lies below them.
    Outer,
}

impl Level {
    /// The innermost level, unless the user asked for another.
    pub(crate) fn or_leaf(self) -> Self {
        if self == Level::Auto { Level::Leaf } else { self }
    }

    /// The stretches of `plan` as this level shows them; all of them are leaves. The plan changes
    /// where its outline divides stretches.
    pub(crate) fn nodes(self, plan: &mut Plan, duration_ns: u64) -> Vec<Node> {
        match self {
            Level::Leaf => leaves(plan),
            Level::Outer => outlined(loops(plan), plan, duration_ns),
            Level::Auto => {
                let nodes = leaves(plan);
                if nodes.len() <= READABLE {
                    return nodes;
                }
                let mut nodes = outlined(loops(plan), plan, duration_ns);
                if nodes.len() <= READABLE {
                    return nodes;
                }
                // What is left out of the picture stays in the plan.
                let (mut picture, mut part) = (plan.clone(), FINEST);
                while nodes.len() > READABLE && part >= COARSEST {
                    picture = picture.join_short(duration_ns, |_| duration_ns / part);
                    nodes = loops(&picture);
                    part /= 2;
                }
                if leaves(&picture).len() <= READABLE {
                    nodes = leaves(&picture);
                }
                gathered(nodes, &picture, plan)
            }
        }
    }
}

/// `nodes` of a `picture` of the plan, in which stretches were joined, as nodes of the plan: what
/// was joined lies below.
fn gathered(nodes: Vec<Node>, picture: &Plan, plan: &Plan) -> Vec<Node> {
    let place = |at: usize| {
        let start_ns = picture.stretches.get(at).map(|stretch| stretch.start_ns);
        start_ns.map_or(plan.stretches.len(), |start_ns| {
            plan.stretches.partition_point(|stretch| stretch.start_ns < start_ns)
        })
    };
    let mut below: Vec<Option<Node>> = Vec::new();
    below.resize_with(plan.stretches.len(), || None);
    for leaf in leaves(plan) {
        let at = leaf.stretches.start;
        below[at] = Some(leaf);
    }
    let highest = nodes.iter().flat_map(Node::labels).max().unwrap_or(0);
    let first = plan.labels().max(picture.labels()).max(highest as usize + 1) as u32;
    let end = plan.stretches.len();
    placed(nodes, &place, first, 0..end, &mut below)
}

/// `nodes` where `place` says, and between them what no node holds; labels of joined stretches
/// count from `first`.
fn placed(
    nodes: Vec<Node>,
    place: &impl Fn(usize) -> usize,
    first: u32,
    all: Range<usize>,
    below: &mut [Option<Node>],
) -> Vec<Node> {
    let mut placed_nodes = Vec::with_capacity(nodes.len());
    let mut reached = all.start;
    for node in nodes {
        let stretches = place(node.stretches.start)..place(node.stretches.end);
        placed_nodes.extend(below[reached..stretches.start].iter_mut().filter_map(Option::take));
        reached = stretches.end;
        let (label, children): (_, Vec<Node>) = if node.children.is_empty() {
            (first + node.label, below[stretches.clone()].iter_mut().filter_map(Option::take).collect())
        } else {
            (node.label, placed(node.children, place, first, stretches.clone(), below))
        };
        if !children.is_empty() {
            placed_nodes.push(Node { label, stretches, children });
        }
    }
    placed_nodes.extend(below[reached..all.end].iter_mut().filter_map(Option::take));
    placed_nodes
}

/// `nodes` gathered as the plan's outline says, if there is one and they are too many: those that
/// begin in one of its parts are a node. Idleness that is not long is a part of what is before it.
/// Where the outline is exact, loops do not go on.
fn outlined(mut nodes: Vec<Node>, plan: &mut Plan, duration_ns: u64) -> Vec<Node> {
    let is_exact = plan.outline.iter().any(|part| part.exact);
    if plan.outline.is_empty() || nodes.len() <= READABLE && !is_exact {
        return nodes;
    }
    if is_exact {
        plan.divide();
        let chapter = |node: &Node| {
            let start_ns = plan.stretches.get(node.stretches.start).map_or(duration_ns, |own| own.start_ns);
            plan.outline.iter().filter(|part| part.exact && part.start_ns <= start_ns).count()
        };
        let leaves = leaves(plan);
        nodes = leaves
            .chunk_by(|one, next| chapter(one) == chapter(next))
            .flat_map(|own| loops_of(plan, own.to_vec()))
            .collect();
    }
    let start_ns = |at: usize| plan.stretches.get(at).map_or(duration_ns, |stretch| stretch.start_ns);
    let own = nodes.iter().flat_map(Node::labels).max().map_or(0, |label| label + 1);
    let mut gathered: Vec<Node> = Vec::new();
    let mut last = None;
    for node in nodes {
        // The one that begins nearest before the node.
        let begun = |part: &Part| part.start_ns <= start_ns(node.stretches.start);
        let part = plan.outline.partition_point(begun).max(1) - 1;
        let long =
            |idle: &Node| start_ns(node.stretches.start) - start_ns(idle.stretches.end) > duration_ns / LONG;
        match gathered.last_mut() {
            Some(before) if last == Some(part) => {
                before.stretches.end = node.stretches.end;
                before.children.push(node);
                continue;
            }
            Some(before) if !long(before) => before.stretches.end = node.stretches.start,
            _ => {}
        }
        last = Some(part);
        let label = own + plan.outline[part].label;
        // Nor is it long before the first one.
        let earliest_ns = plan.stretches.get(node.stretches.start).map_or(0, |begin| begin.earliest_ns);
        let starts = gathered.is_empty() && part == 0 && earliest_ns <= duration_ns / LONG;
        let start = if starts { 0 } else { node.stretches.start };
        gathered.push(Node { label, stretches: start..node.stretches.end, children: vec![node] });
    }
    let end = plan.stretches.len();
    if let Some(last) =
        gathered.last_mut().filter(|last| duration_ns - start_ns(last.stretches.end) <= duration_ns / LONG)
    {
        last.stretches.end = end;
    }
    // Chapters are few, and those that come twice are seen to.
    if is_exact { gathered } else { loops_of(plan, gathered) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Stretch;

    fn add_innermost(node: &Node, stretches: &mut Vec<usize>) {
        if node.children.is_empty() {
            stretches.extend(node.stretches.clone());
        }
        node.children.iter().for_each(|child| add_innermost(child, stretches));
    }

    /// A plan of stretches of 10 ns each.
    fn plan(labels: impl Iterator<Item = u32>) -> Plan {
        Plan::new(labels.zip(0..).map(|(label, i)| Stretch::exact(Some(label), 10 * i)).collect())
    }

    #[test]
    fn few_phases_are_shown_and_many_as_loops() {
        let mut few = plan((0..30).map(|i| i % 2));
        assert_eq!(Level::Auto.nodes(&mut few, 300).len(), 30);
        assert_eq!(Level::Outer.nodes(&mut few, 300).len(), 1);
        let mut many = plan((0..1000).map(|i| i % 2));
        assert_eq!(Level::Auto.nodes(&mut many, 10_000).len(), 1);
        assert_eq!(Level::Leaf.nodes(&mut many, 10_000).len(), 1000);
    }

    #[test]
    fn what_is_short_and_in_no_loop_is_left_out() {
        // No order in the first 100 stretches, which are a thousandth of the run each; then a long
        // one.
        let labels = (0..100u32).map(|i| (i * i * 7 + i / 3) % 97);
        let mut plan = plan(labels);
        let before = plan.clone();
        let shown = Level::Auto.nodes(&mut plan, 100_000);
        assert!(shown.len() <= READABLE, "{}", shown.len());
        // It is left out of the picture only.
        assert_eq!(plan, before);
        let mut innermost = Vec::new();
        shown.iter().for_each(|node| add_innermost(node, &mut innermost));
        assert_eq!(innermost, (0..plan.stretches.len()).collect::<Vec<_>>());
    }

    #[test]
    fn an_outline_gathers_what_is_in_no_loop_and_keeps_it_below() {
        // No order in 400 stretches of 10 ns; the outline says that the run has two parts.
        let labels = (0..400u32).map(|i| (i * i * 7 + i / 3) % 97);
        let mut plan = plan(labels);
        let part = |start_ns, label| Part { start_ns, label, exact: false };
        plan.outline = vec![part(0, 0), part(2500, 1)];
        for level in [Level::Auto, Level::Outer] {
            let nodes = level.nodes(&mut plan, 4000);
            let starts: Vec<_> =
                nodes.iter().map(|node| plan.stretches[node.stretches.start].start_ns).collect();
            assert_eq!(starts, [0, 2500]);
            assert!(nodes.iter().all(|node| node.label >= 97 && !node.children.is_empty()));
        }
    }
}
