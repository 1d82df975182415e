//! What a path costs, from the loads of its links: the two kinds of greedy routing.

/// The cost of a path from the loads of its links.
pub(super) trait Cost: Send {
    /// The cost of a link with load `load` followed by a path of cost `rest`.
    fn join(load: f64, rest: f64) -> f64;
}

/// The sum of the loads: PFSim's `GreedyRouter`.
#[derive(Debug, Default)]
pub(super) struct Sum;

impl Cost for Sum {
    #[inline]
    fn join(load: f64, rest: f64) -> f64 {
        load + rest
    }
}

/// The highest load: PFSim's `GreedyRouter2`.
#[derive(Debug, Default)]
pub(super) struct Maximum;

impl Cost for Maximum {
    #[inline]
    fn join(load: f64, rest: f64) -> f64 {
        if load > rest { load } else { rest }
    }
}
