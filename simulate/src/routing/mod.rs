//! The route of a demand.
//!
//! Minimal routers choose among the shortest paths, hop by hop in the shortest-path DAG towards the
//! destination ([`ShortestPaths`](crate::topology::ShortestPaths)); paths are never enumerated. The
//! candidates of a hop are ordered by [`Topology::order`] of the node they lead to, then by link.
//! `valiant` and `ugal` also take detours; `table` and `exec` take what they are told.
//!
//! | router | decides by | file |
//! |---|---|---|
//! | `dmodk` | the destination's number | `dmodk.rs` |
//! | `smodk` | the source's number | `smodk.rs` |
//! | `random` | a random number | `random.rs` |
//! | `ecmp` | a hash of both ends, switch by switch | `ecmp.rs` |
//! | `greedy`, `greedy-max` | the load on the links at this moment | `greedy.rs` |
//! | `minimal` | a table by destination, as even as each switch can | `minimal.rs` |
//! | `valiant` | a random place to pass | `valiant.rs` |
//! | `ugal` | the load on a shortest path and on a detour | `ugal.rs` |
//! | `table:FILE` | forwarding tables of a file | `table/` |
//! | `exec:PROGRAM` | a program of the user's | `exec.rs` |

#[cfg(test)]
mod bounds;
mod dependencies;
mod detour;
mod digits;
mod dmodk;
mod ecmp;
mod examination;
mod exec;
mod greedy;
mod least_costs;
mod minimal;
#[cfg(test)]
mod oracle;
mod path_cost;
mod pool;
mod random;
mod smodk;
mod table;
mod ugal;
mod valiant;
mod walk;

pub use dependencies::Dependencies;
pub use examination::{Examination, examine};
pub use pool::RouterPool;
pub(crate) use table::read as read_table;

use std::cell::RefCell;
use std::rc::Rc;

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::{Result, TrafficMatrix};

use crate::process_mapping::Placement;
use crate::topology::{HostId, LinkId, Topology};

/// The demand from one host of a job to another in one phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostDemand {
    /// Sending host.
    pub src: HostId,
    /// Receiving host, never the sending one.
    pub dst: HostId,
    /// Bytes of the whole phase.
    pub bytes: u64,
    /// The load that it puts on links: bytes per second, or bytes where no duration is known.
    pub load: f64,
    /// Number of rank pairs.
    pub flows: u32,
}

/// The question to a router. Application-aware routing gets placement, communication pattern and
/// loads.
#[derive(Clone, Copy, Debug)]
pub struct RouteRequest<'a> {
    /// The network.
    pub topology: &'a Topology,
    /// The demands, heaviest first; greedy routing depends on the order of ties too.
    pub demands: &'a [HostDemand],
    /// Present load of each link by all other traffic, in the unit of the demands.
    pub link_load: &'a [f64],
    /// Number of the job within the run.
    pub job: u32,
    /// Name of the phase.
    pub phase: &'a str,
    /// The placement of the job's ranks.
    pub placement: &'a Placement,
    /// Their traffic in the phase.
    pub matrix: &'a TrafficMatrix,
}

/// Ordered links per demand, flattened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    ends: Vec<u32>,
    links: Vec<LinkId>,
}

impl Routes {
    /// Number of routes.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without routes.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The links of route `i`, from the source on.
    pub fn get(&self, i: usize) -> &[LinkId] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.links[start..self.ends[i] as usize]
    }

    /// All routes in the order of the demands.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[LinkId]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Appends a link to the route that is being built.
    #[inline]
    pub fn push_link(&mut self, link: LinkId) {
        self.links.push(link);
    }

    /// Ends the route that is being built.
    #[inline]
    pub fn end_route(&mut self) {
        self.ends.push(self.links.len() as u32);
    }

    /// Forgets all routes, keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.links.clear();
    }
}

/// A router of a run, which its networks ask too.
pub type SharedRouter = Rc<RefCell<Box<dyn Router>>>;

/// A routing algorithm.
pub trait Router {
    /// Appends one route per demand, in their order, to `routes`, which is empty.
    ///
    /// # Errors
    /// Of external programs: an end or time-out of the program, or an answer that is no route. Of
    /// tables: an entry that is missing or leads astray.
    fn route(&mut self, request: &RouteRequest<'_>, routes: &mut Routes) -> Result<()>;

    /// True if a route depends on its two hosts alone, and can be reused, or walked again instead
    /// of being kept.
    fn repeats(&self) -> bool {
        false
    }

    /// True if, beyond the first switch, a route depends on that switch and the destination alone,
    /// so that hosts with one link to the same switch share it. Only for routers that
    /// [repeat](Self::repeats).
    fn forgets_source(&self) -> bool {
        false
    }

    /// True if demands may come in several requests, in order, with the loads of the earlier ones
    /// among those of the links: the routes are the same.
    fn divides(&self) -> bool {
        self.repeats()
    }
}

/// The routers: one name, one variant, one arm.
#[derive(Clone, Copy)]
enum Algorithm {
    DModK,
    SModK,
    Random,
    Ecmp,
    Greedy,
    GreedyMax,
    Minimal,
    Valiant,
    Ugal,
    Table,
    Exec,
}

/// Algorithms by name, in the order of the documentation.
const ALGORITHMS: &[(&str, Algorithm)] = &[
    ("dmodk", Algorithm::DModK),
    ("smodk", Algorithm::SModK),
    ("random", Algorithm::Random),
    ("ecmp", Algorithm::Ecmp),
    ("greedy", Algorithm::Greedy),
    ("greedy-max", Algorithm::GreedyMax),
    ("minimal", Algorithm::Minimal),
    ("valiant", Algorithm::Valiant),
    ("ugal", Algorithm::Ugal),
    ("table", Algorithm::Table),
    ("exec", Algorithm::Exec),
];

/// Names of the routers, in the order of the documentation.
pub fn names() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name).collect()
}

/// The router that the user chose; `seed` is that of its own random numbers.
///
/// # Errors
/// A name or parameter that does not exist; a program that cannot be started.
pub fn router(choice: &Choice, seed: u64) -> Result<Box<dyn Router + Send>> {
    let name = choice.name();
    let Some((_, algorithm)) = ALGORITHMS.iter().find(|(known, _)| *known == name) else {
        return Err(unknown_name("router", name, &names()));
    };
    choice.only(match algorithm {
        Algorithm::DModK => &["variant"],
        Algorithm::Ugal => &["choices"],
        Algorithm::Table => &["file"],
        Algorithm::Exec => &["program"],
        _ => &[],
    })?;
    Ok(match algorithm {
        Algorithm::DModK => Box::new(dmodk::DModK::new(choice)?),
        Algorithm::SModK => Box::new(smodk::SModK::default()),
        Algorithm::Random => Box::new(random::Random::new(seed)),
        Algorithm::Ecmp => Box::new(ecmp::Ecmp::new(seed)),
        Algorithm::Greedy => Box::new(greedy::Greedy::<path_cost::Sum>::default()),
        Algorithm::GreedyMax => Box::new(greedy::Greedy::<path_cost::Maximum>::default()),
        Algorithm::Minimal => Box::new(minimal::Minimal::default()),
        Algorithm::Valiant => Box::new(valiant::Valiant::new(seed)),
        Algorithm::Ugal => Box::new(ugal::Ugal::new(choice, seed)?),
        Algorithm::Table => Box::new(table::Table::new(choice)?),
        Algorithm::Exec => Box::new(exec::Exec::new(&choice.required::<String>("program")?, seed)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parameters_are_checked() {
        let cases = [
            (
                "dmodkk",
                "unknown router `dmodkk`; did you mean dmodk or smodk? (known: dmodk, smodk, random, ecmp, greedy, greedy-max, minimal, valiant, ugal, table, exec)",
            ),
            ("table", "`table` needs `file=…` in brackets"),
            ("table:no/such.yml", "no/such.yml: No such file or directory (os error 2)"),
            (
                "dmodk[variant=pfsin]",
                "`dmodk[variant=pfsin]`: variant is `pfsin`, expected published or pfsim",
            ),
            ("ecmp[salt=1]", "unknown parameter of `ecmp` `salt` (there is none)"),
            (
                "exec:/no/such/program",
                "exec:/no/such/program: cannot be started: No such file or directory (os error 2)",
            ),
        ];
        for (text, expected) in cases {
            let made = Choice::parse(text).and_then(|choice| router(&choice, 1).map(|_| ()));
            assert_eq!(made.unwrap_err().to_string(), expected);
        }
    }
}
