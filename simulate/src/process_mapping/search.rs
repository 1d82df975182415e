//! Pairwise exchange for small loads of links.

use phaseflow_collect::choice::Choice;
use phaseflow_collect::{Result, TrafficMatrix};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustc_hash::FxHashMap;

use super::{Placement, Verdict};
use crate::routing::{HostDemand, RouteRequest, Router, Routes, router};
use crate::topology::{HostId, LinkId, Topology};

/// Pairs of ranks up to which a placement is searched: with more, a trial takes longer than what it
/// gains.
pub(crate) const MOST_CELLS: usize = 1 << 20;

/// Changes of a link's load that a search makes at most, about a second. Half of it leaves the most
/// loaded link of MILC on `milk` as it is, and that of CG.
const WORK: u64 = 1 << 25;

/// Trials without gain, by rank, after which a search ends: each rank has then met most of those
/// that it could change places with near its partners. Half loads the most loaded link of CG on
/// `fat-tree[k=16]` with 0.01 % more; on `milk`, and for MILC on both, half and double change
/// nothing.
const FRUITLESS: u64 = 64;

/// Exponent of the load of a link in the cost: high enough for the most loaded links to decide, low
/// enough that others have a say. With 2 as with 8 the most loaded link of CG is the same.
const EXPONENT: i32 = 4;

/// A placement that is improved by exchanges: two slots, or two hosts, change their ranks. It
/// changes if Σ (load / capacity)⁴ over all links gets smaller, with routes by D-mod-K, which
/// spread what they do not know. (Exchange in pairs for the mapping of processes to processors is
/// that of S. H. Bokhari, "On the mapping problem", IEEE Transactions on Computers 1981.)
pub(crate) struct Search<'a> {
    topology: &'a Topology,
    routes: RouteCache,
    /// By rank: partner, bytes, and whether they go there.
    partners: Vec<Vec<(u32, f64, bool)>>,
    /// By rank: its host, and its host after the trial.
    host: Vec<HostId>,
    next: Vec<HostId>,
    is_moved: Vec<bool>,
    /// By host: its ranks.
    members: Vec<Vec<u32>>,
    load: Vec<f64>,
    /// By link: a factor that makes the cost a number near 1.
    weight: Vec<f64>,
    /// Links that the trial changes, with their loads before.
    touched: Vec<(LinkId, f64)>,
    is_touched: Vec<bool>,
    work: u64,
}

/// Routes between hosts, each made once.
struct RouteCache {
    router: Box<dyn Router>,
    placement: Placement,
    matrix: TrafficMatrix,
    idle: Vec<f64>,
    ranges: FxHashMap<(HostId, HostId), (u32, u32)>,
    links: Vec<LinkId>,
    routes: Routes,
}

impl RouteCache {
    fn new(topology: &Topology) -> Result<Self> {
        Ok(Self {
            router: router(&Choice::plain("dmodk"), 0)?,
            placement: Placement::default(),
            matrix: TrafficMatrix::default(),
            idle: vec![0.0; topology.link_count()],
            ranges: FxHashMap::default(),
            links: Vec::new(),
            routes: Routes::default(),
        })
    }

    fn route(&mut self, topology: &Topology, src: HostId, dst: HostId) -> Result<std::ops::Range<usize>> {
        if let Some((start, end)) = self.ranges.get(&(src, dst)) {
            return Ok(*start as usize..*end as usize);
        }
        self.routes.clear();
        let request = RouteRequest {
            topology,
            demands: &[HostDemand { src, dst, bytes: 0, load: 0.0, flows: 1 }],
            link_load: &self.idle,
            job: 0,
            phase: "",
            placement: &self.placement,
            matrix: &self.matrix,
        };
        self.router.route(&request, &mut self.routes)?;
        let start = self.links.len();
        self.links.extend(self.routes.iter().flatten());
        self.ranges.insert((src, dst), (start as u32, self.links.len() as u32));
        Ok(start..self.links.len())
    }
}

impl<'a> Search<'a> {
    /// Starts from a placement.
    ///
    /// # Errors
    /// None that data can cause.
    pub(crate) fn new(topology: &'a Topology, matrix: &TrafficMatrix, placement: &Placement) -> Result<Self> {
        let ranks = placement.hosts.len();
        let mut partners = vec![Vec::new(); ranks];
        for cell in matrix.cells().filter(|cell| cell.src != cell.dst && cell.bytes > 0) {
            partners[cell.src.0 as usize].push((cell.dst.0, cell.bytes as f64, true));
            partners[cell.dst.0 as usize].push((cell.src.0, cell.bytes as f64, false));
        }
        let mut members = vec![Vec::new(); topology.host_count()];
        for (rank, host) in (0..).zip(&placement.hosts) {
            members[host.0 as usize].push(rank);
        }
        let links = topology.link_count();
        let mut search = Self {
            topology,
            routes: RouteCache::new(topology)?,
            partners,
            host: placement.hosts.clone(),
            next: placement.hosts.clone(),
            is_moved: vec![false; ranks],
            members,
            load: vec![0.0; links],
            weight: vec![1.0; links],
            touched: Vec::new(),
            is_touched: vec![false; links],
            work: 0,
        };
        for rank in 0..ranks {
            for at in 0..search.partners[rank].len() {
                let (other, bytes, _) = search.partners[rank][at];
                if search.partners[rank][at].2 {
                    search.shift(search.host[rank], search.host[other as usize], bytes)?;
                }
            }
        }
        search.settle(false);
        let ratio = |link: usize| search.load[link] / search.topology.link(LinkId(link as u32)).capacity;
        let most = (0..links).map(ratio).fold(f64::MIN_POSITIVE, f64::max);
        for (link, weight) in (0..).map(LinkId).zip(&mut search.weight) {
            *weight = 1.0 / (topology.link(link).capacity * most);
        }
        search.work = 0;
        Ok(search)
    }

    /// The present placement.
    pub(crate) fn placement(&self) -> Placement {
        Placement { hosts: self.host.clone() }
    }

    /// The loads of the present placement.
    pub(super) fn verdict(&self) -> Verdict {
        let mut verdict = Verdict::default();
        for (link, load) in (0..).map(LinkId).zip(&self.load) {
            let ratio = load / self.topology.link(link).capacity;
            if self.topology.between_switches(link) {
                verdict.between_switches = verdict.between_switches.max(ratio);
            }
            verdict.highest = verdict.highest.max(ratio);
            verdict.sum += ratio;
        }
        verdict
    }

    /// Tries exchanges until none helps for long. Ranks change places within `hosts`; hosts with
    /// ranks change them with hosts of `free`, which have none.
    ///
    /// # Errors
    /// None that data can cause.
    pub(crate) fn improve(
        &mut self,
        hosts: &[HostId],
        free: &[HostId],
        random: &mut Xoshiro256PlusPlus,
    ) -> Result<()> {
        let (mut hosts, mut free) = (hosts.to_vec(), free.to_vec());
        let ranks = self.host.len();
        let patience = FRUITLESS * ranks as u64;
        let mut fruitless = 0;
        while fruitless < patience && self.work < WORK && ranks > 0 {
            fruitless += 1;
            // A trial costs something even if nobody sends.
            self.work += 1;
            let is_better = if !free.is_empty() && random.gen_bool(0.5) {
                let (used, empty) = (random.gen_range(0..hosts.len()), random.gen_range(0..free.len()));
                let is_better = self.empty_into(hosts[used], free[empty])?;
                if is_better {
                    std::mem::swap(&mut hosts[used], &mut free[empty]);
                }
                is_better
            } else {
                let rank = random.gen_range(0..ranks as u32);
                let to = self.wished(rank, &hosts, random);
                self.exchange(rank, to, random)?
            };
            if is_better {
                fruitless = 0;
            }
        }
        Ok(())
    }

    /// A host for a rank to go to: that of a partner, one on the partner's switch, or any.
    fn wished(&self, rank: u32, hosts: &[HostId], random: &mut Xoshiro256PlusPlus) -> HostId {
        let any = hosts[random.gen_range(0..hosts.len())];
        let partners = &self.partners[rank as usize];
        if partners.is_empty() || random.gen_bool(0.4) {
            return any;
        }
        let near = self.host[partners[random.gen_range(0..partners.len())].0 as usize];
        if random.gen_bool(0.3) {
            return near;
        }
        let switch = |host: HostId| {
            let first = self.topology.outgoing(self.topology.host(host)).first();
            first.map(|link| self.topology.dst(*link))
        };
        // Hosts of a switch mostly follow each other.
        let at = hosts.iter().position(|host| *host == near).unwrap_or(0);
        let shift = random.gen_range(0..hosts.len().min(64));
        let beside = hosts[(at + hosts.len() + shift - hosts.len().min(64) / 2) % hosts.len()];
        if switch(beside) == switch(near) { beside } else { any }
    }

    /// Moves a rank to a free slot of a host, or exchanges it with a rank there.
    fn exchange(&mut self, rank: u32, to: HostId, random: &mut Xoshiro256PlusPlus) -> Result<bool> {
        let from = self.host[rank as usize];
        if from == to {
            return Ok(false);
        }
        let members = &self.members[to.0 as usize];
        if members.len() < self.topology.slots()[to.0 as usize] as usize {
            return self.attempt(&[(rank, to)]);
        }
        let other = members[random.gen_range(0..members.len())];
        self.attempt(&[(rank, to), (other, from)])
    }

    /// Moves all ranks of a host to an empty one that has room for them.
    fn empty_into(&mut self, from: HostId, to: HostId) -> Result<bool> {
        let slots = |host: HostId| self.topology.slots()[host.0 as usize];
        if slots(from) != slots(to) {
            return Ok(false);
        }
        let moves: Vec<(u32, HostId)> =
            self.members[from.0 as usize].iter().map(|rank| (*rank, to)).collect();
        self.attempt(&moves)
    }

    /// Moves ranks if that lowers the cost.
    fn attempt(&mut self, moves: &[(u32, HostId)]) -> Result<bool> {
        for (rank, host) in moves {
            self.next[*rank as usize] = *host;
            self.is_moved[*rank as usize] = true;
        }
        for (rank, _) in moves {
            for at in 0..self.partners[*rank as usize].len() {
                let (other, bytes, goes) = self.partners[*rank as usize][at];
                // Bytes between two that move are looked at once.
                if self.is_moved[other as usize] && other < *rank {
                    continue;
                }
                let (src, dst) = if goes { (*rank, other) } else { (other, *rank) };
                let ends = |of: &[HostId]| (of[src as usize], of[dst as usize]);
                let (old, new) = (ends(&self.host), ends(&self.next));
                if old != new {
                    self.shift(old.0, old.1, -bytes)?;
                    self.shift(new.0, new.1, bytes)?;
                }
            }
        }
        let cost = |link: LinkId, load: f64| (load * self.weight[link.0 as usize]).powi(EXPONENT);
        let changes = self
            .touched
            .iter()
            .map(|(link, before)| cost(*link, self.load[link.0 as usize]) - cost(*link, *before));
        // Rounding must not make an endless walk among equals.
        let is_better = changes.sum::<f64>() < -1e-9;
        for (rank, host) in moves {
            self.is_moved[*rank as usize] = false;
            if is_better {
                let from = self.host[*rank as usize];
                self.members[from.0 as usize].retain(|other| other != rank);
                self.members[host.0 as usize].push(*rank);
                self.host[*rank as usize] = *host;
            } else {
                self.next[*rank as usize] = self.host[*rank as usize];
            }
        }
        self.settle(!is_better);
        Ok(is_better)
    }

    /// Adds bytes, which are whole numbers, to the links of a route.
    fn shift(&mut self, src: HostId, dst: HostId, bytes: f64) -> Result<()> {
        if src == dst {
            return Ok(());
        }
        for at in self.routes.route(self.topology, src, dst)? {
            let link = self.routes.links[at];
            let load = &mut self.load[link.0 as usize];
            if !std::mem::replace(&mut self.is_touched[link.0 as usize], true) {
                self.touched.push((link, *load));
            }
            *load += bytes;
            self.work += 1;
        }
        Ok(())
    }

    /// Ends a trial, and takes it back where that is asked.
    fn settle(&mut self, back: bool) {
        for (link, before) in self.touched.drain(..) {
            self.is_touched[link.0 as usize] = false;
            if back {
                self.load[link.0 as usize] = before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use phaseflow_collect::Cell;
    use phaseflow_collect::trace::Rank;
    use rand::SeedableRng;

    use super::*;
    use crate::topology::{TopologyChoice, TopologyOptions, topology};

    #[test]
    fn loads_after_a_search_are_those_of_the_placement_found() {
        let net =
            topology(&TopologyChoice::parse("fat-tree[k=4,slots=2]").unwrap(), &TopologyOptions::default())
                .unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
        let cells = (0..60).map(|_| Cell {
            src: Rank(random.gen_range(0..16)),
            dst: Rank(random.gen_range(0..16)),
            messages: 1,
            bytes: random.gen_range(1..1000),
        });
        let matrix = TrafficMatrix::from_cells(cells.collect::<Vec<_>>()).unwrap();
        let start = Placement { hosts: (0..16).map(|rank| HostId(rank / 2)).collect() };
        let mut search = Search::new(&net, &matrix, &start).unwrap();
        let cost = |search: &Search<'_>| -> f64 {
            search.load.iter().zip(&search.weight).map(|(load, weight)| (load * weight).powi(EXPONENT)).sum()
        };
        let before = cost(&search);
        let hosts: Vec<HostId> = (0..8).map(HostId).collect();
        let free: Vec<HostId> = (8..16).map(HostId).collect();
        search.improve(&hosts, &free, &mut random).unwrap();
        let again = Search::new(&net, &matrix, &search.placement()).unwrap();
        assert_eq!(search.load, again.load);
        assert!(cost(&search) < before);
        for host in (0..16).map(HostId) {
            assert!(search.host.iter().filter(|other| **other == host).count() <= 2);
        }
    }
}
