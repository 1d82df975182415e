//! Which level of nested phases is shown.

use crate::hierarchy::loops::{Node, leaves, loops, loops_of, loops_within};
use crate::plan::{Part, Plan};

/// More stretches than this are not looked at one by one.
pub(crate) const READABLE: usize = 32;

/// Idleness longer than this part of the run is seen between stretches of an outline.
const LONG: u64 = 64;

/// A level of nested phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// What a person would draw: the innermost phases if there are few enough of them to be read,
    /// otherwise the finest level of longer windows that the next coarser one finds again. 20
    /// phases are few, and so are 32 where no such level describes them. Methods other than
    /// `rounds` show what they found.
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
        let few = |nodes: &Vec<Node>| nodes.len() <= READABLE;
        if self == Level::Leaf || self == Level::Auto && plan.outline.is_empty() && few(&leaves(plan)) {
            return leaves(plan);
        }
        let is_exact = plan.outline.iter().any(|part| part.exact);
        let loops = Some(loops(plan)).filter(|loops| few(loops) && !is_exact);
        match self {
            Level::Outer => loops.unwrap_or_else(|| {
                let nodes = outlined(plan, duration_ns);
                // Chapters are few, and those that come twice are seen to.
                if is_exact { nodes } else { loops_of(plan, nodes) }
            }),
            _ => {
                let outline = outlined(plan, duration_ns);
                // Where longer windows see one behaviour, loops say more.
                loops.filter(|_| outline.len() == 1).unwrap_or(outline)
            }
        }
    }
}

/// The parts of the plan's outline, with the loops and phases that begin in each below it; the
/// outermost loops of all if there is no outline. Idleness that is not long is a part of what is
/// before it. Where the outline is exact, it divides phases.
fn outlined(plan: &mut Plan, duration_ns: u64) -> Vec<Node> {
    if plan.outline.is_empty() {
        return loops(plan);
    }
    plan.divide();
    let start_ns = |at: usize| plan.stretches.get(at).map_or(duration_ns, |stretch| stretch.start_ns);
    // The one that begins nearest before the node.
    let part_of = |node: &Node| {
        let begun = |part: &Part| part.start_ns <= start_ns(node.stretches.start);
        plan.outline.partition_point(begun).max(1) - 1
    };
    let leaves = leaves(plan);
    let chunks = || leaves.chunk_by(|one, next| part_of(one) == part_of(next));
    let children = loops_within(plan, chunks().map(<[Node]>::to_vec).collect());
    let first = children.iter().flatten().flat_map(Node::labels).max().map_or(0, |label| label + 1);
    let mut nodes: Vec<Node> = Vec::new();
    for (part, children) in chunks().map(|own| part_of(&own[0])).zip(children) {
        let (from, to) = (children[0].stretches.start, children[children.len() - 1].stretches.end);
        // Nor is it long before the first one.
        let earliest_ns = plan.stretches.get(from).map_or(0, |begin| begin.earliest_ns);
        let starts = nodes.is_empty() && part == 0 && earliest_ns <= duration_ns / LONG;
        if let Some(before) = nodes.last_mut()
            && start_ns(from) - start_ns(before.stretches.end) <= duration_ns / LONG
        {
            before.stretches.end = from;
        }
        let label = first + plan.outline[part].label;
        nodes.push(Node { label, stretches: if starts { 0 } else { from }..to, children });
    }
    let end = plan.stretches.len();
    if let Some(last) = nodes.last_mut()
        && duration_ns - start_ns(last.stretches.end) <= duration_ns / LONG
    {
        last.stretches.end = end;
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Stretch;

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
