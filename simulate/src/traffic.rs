//! Loads of links: the state of the traffic model.
//!
//! A job adds the load of a phase to the links when the phase begins and takes it off when it ends.
//! Two things must hold over millions of such changes:
//!
//! - *Exactness.* Floating-point sums drift in general. Here all loads of a run are multiples of
//!   one power of two, the [`Quantum`]. Rounding to it is below the precision of an `f64` at the
//!   largest sum, and no sum exceeds 2⁵³ quanta. Within these limits the addition of `f64`s is
//!   exact. A load therefore depends only on the present jobs, and a link without jobs carries
//!   exactly 0.
//! - *Cost.* A change touches the links of one job, statistics are over all links. The links' load
//!   / capacity is kept in blocks of 64, switch links apart from host links; only changed blocks
//!   are scanned again.

use crate::topology::{LinkId, Topology};

/// The load of one phase of one job on one link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinkShare {
    pub(crate) link: LinkId,
    /// Rank pairs.
    pub(crate) flows: u64,
    pub(crate) bytes: u64,
    /// Bytes per second, or bytes: a multiple of the quantum.
    pub(crate) load: f64,
}

/// The unit of all loads of a run: a power of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantum(f64);

impl Quantum {
    /// The unit for sums of up to `largest`: 2⁵¹ of it are at least `largest`, which leaves room
    /// for the rounding of the summands.
    pub(crate) fn for_sums_up_to(largest: f64) -> Self {
        // By the bits, as a logarithm may differ between machines. `largest` is below 2^(exponent +
        // 1).
        let exponent = (largest.to_bits() >> 52 & 0x7ff).cast_signed() - 1023;
        // Down to the smallest normal number.
        let unit = (exponent + 1 - 51).max(-1022);
        Self(f64::from_bits((unit + 1023).cast_unsigned() << 52))
    }

    /// The nearest multiple of the unit, of the `largest` at most.
    #[inline]
    pub(crate) fn round(self, load: f64) -> f64 {
        // Numbers around 1.5 · 2⁵² units have no digits below the unit.
        let shift = self.0 * (3_u64 << 51) as f64;
        load + shift - shift
    }
}

/// Links per block.
const BLOCK: usize = 64;

/// Loads and flows of all links.
#[derive(Clone, Debug)]
pub(crate) struct LinkLoads {
    load: Vec<f64>,
    flows: Vec<u64>,
    peak_load: Vec<f64>,
    peak_flows: Vec<u64>,
    capacity: Vec<f64>,
    /// By link: its place in `ratio` and `ratio_flows`; the places of links between switches come
    /// first, in link order.
    place: Vec<u32>,
    /// Load / capacity by place; unused places hold 0.
    ratio: Vec<f64>,
    ratio_flows: Vec<u64>,
    switch_links: usize,
    blocks: Vec<Block>,
    touched_links: Vec<LinkId>,
    link_is_touched: Vec<bool>,
    touched_blocks: Vec<u32>,
    usage: Usage,
}

/// Statistics of a block's ratios.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    touched: bool,
    max: f64,
    max_flows: u64,
    sum: f64,
    /// Sum of squared deviations from the block's own mean.
    deviations: f64,
}

/// The network as a whole at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Load / capacity over the links between switches.
    pub(crate) between_switches: Option<Congestion>,
    /// Highest load / capacity over all links.
    pub(crate) max_ratio: f64,
}

/// Statistics of load / capacity over the links between switches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Congestion {
    pub(crate) max: f64,
    pub(crate) mean: f64,
    /// Sample standard deviation (n − 1); of a single link unknown.
    pub(crate) stddev: Option<f64>,
    pub(crate) max_flows: u64,
}

impl LinkLoads {
    pub(crate) fn new(topology: &Topology) -> Self {
        let links = topology.link_count();
        let ids = || (0..links as u32).map(LinkId);
        let switch_links = ids().filter(|link| topology.between_switches(*link)).count();
        let mut next = [0, switch_links.next_multiple_of(BLOCK)];
        let place = ids().map(|link| {
            let kind = usize::from(!topology.between_switches(link));
            next[kind] += 1;
            (next[kind] - 1) as u32
        });
        let place = place.collect();
        let places = next[1].next_multiple_of(BLOCK);
        let mut loads = Self {
            load: vec![0.0; links],
            flows: vec![0; links],
            peak_load: vec![0.0; links],
            peak_flows: vec![0; links],
            capacity: ids().map(|link| topology.link(link).capacity).collect(),
            place,
            ratio: vec![0.0; places],
            ratio_flows: vec![0; places],
            switch_links,
            blocks: vec![Block::default(); places / BLOCK],
            touched_links: Vec::new(),
            link_is_touched: vec![false; links],
            touched_blocks: Vec::new(),
            usage: Usage::default(),
        };
        loads.usage = loads.summarize();
        loads
    }

    /// Load by link.
    pub(crate) fn load(&self) -> &[f64] {
        &self.load
    }

    /// Rank pairs by link.
    pub(crate) fn flows(&self) -> &[u64] {
        &self.flows
    }

    /// Highest load of a link that held for any time.
    pub(crate) fn peak_load(&self, link: LinkId) -> f64 {
        self.peak_load[link.0 as usize]
    }

    /// Highest number of rank pairs on a link that held for any time.
    pub(crate) fn peak_flows(&self, link: LinkId) -> u64 {
        self.peak_flows[link.0 as usize]
    }

    pub(crate) fn add(&mut self, shares: &[LinkShare]) {
        for share in shares {
            let link = share.link.0 as usize;
            self.load[link] += share.load;
            self.flows[link] += share.flows;
            self.mark_changed(share.link);
        }
    }

    /// Removes earlier contributions.
    pub(crate) fn remove(&mut self, shares: &[LinkShare]) {
        for share in shares {
            let link = share.link.0 as usize;
            self.load[link] -= share.load;
            self.flows[link] -= share.flows;
            self.mark_changed(share.link);
        }
    }

    /// The present state; to be read only when time advances, so that states without duration leave
    /// no peaks.
    pub(crate) fn usage(&mut self) -> Usage {
        if !self.touched_links.is_empty() {
            self.refresh();
            self.usage = self.summarize();
        }
        self.usage
    }

    #[inline]
    fn mark_changed(&mut self, link: LinkId) {
        if !std::mem::replace(&mut self.link_is_touched[link.0 as usize], true) {
            self.touched_links.push(link);
        }
    }

    fn refresh(&mut self) {
        for link in self.touched_links.drain(..) {
            let link = link.0 as usize;
            let place = self.place[link] as usize;
            self.link_is_touched[link] = false;
            self.peak_load[link] = self.peak_load[link].max(self.load[link]);
            self.peak_flows[link] = self.peak_flows[link].max(self.flows[link]);
            self.ratio[place] = self.load[link] / self.capacity[link];
            self.ratio_flows[place] = self.flows[link];
            if !std::mem::replace(&mut self.blocks[place / BLOCK].touched, true) {
                self.touched_blocks.push((place / BLOCK) as u32);
            }
        }
        for block in self.touched_blocks.drain(..) {
            let start = block as usize * BLOCK;
            let ratios = &self.ratio[start..start + BLOCK];
            let count = self.switch_links.saturating_sub(start).min(BLOCK);
            self.blocks[block as usize] = Block::of(ratios, &self.ratio_flows[start..start + BLOCK], count);
        }
    }

    fn summarize(&self) -> Usage {
        let (switches, hosts) = self.blocks.split_at(self.switch_links.div_ceil(BLOCK));
        let highest = |blocks: &[Block]| blocks.iter().fold(0.0, |max: f64, block| max.max(block.max));
        let n = self.switch_links as f64;
        let between_switches = (self.switch_links > 0).then(|| {
            let mean = switches.iter().map(|block| block.sum).sum::<f64>() / n;
            // Deviations within the blocks, and of the blocks from the whole (Chan, Golub and
            // LeVeque, 1979).
            let mut deviations = 0.0;
            for (number, block) in switches.iter().enumerate() {
                let count = (self.switch_links - number * BLOCK).min(BLOCK) as f64;
                deviations += block.deviations + count * (block.sum / count - mean).powi(2);
            }
            Congestion {
                max: highest(switches),
                mean,
                stddev: (self.switch_links > 1).then(|| (deviations / (n - 1.0)).sqrt()),
                max_flows: switches.iter().map(|block| block.max_flows).max().unwrap_or(0),
            }
        });
        Usage { between_switches, max_ratio: highest(switches).max(highest(hosts)) }
    }
}

impl Block {
    /// Statistics of a block; `count` of its places are links between switches, the first ones, or
    /// 0 of host links.
    fn of(ratios: &[f64], flows: &[u64], count: usize) -> Self {
        let ratios = if count > 0 { &ratios[..count] } else { ratios };
        let sum = by_eight(ratios, 0.0, |sum, ratio| sum + ratio, |a, b| a + b);
        let mean = sum / ratios.len() as f64;
        let square = |sum, ratio: f64| sum + (ratio - mean) * (ratio - mean);
        Self {
            touched: false,
            max: by_eight(ratios, 0.0, |max, ratio| if ratio > max { ratio } else { max }, f64::max),
            max_flows: flows.iter().copied().max().unwrap_or(0),
            sum,
            deviations: by_eight(ratios, 0.0, square, |a, b| a + b),
        }
    }
}

/// Folds eight interleaved parts side by side, then the parts: a fixed order that leaves the
/// compiler free to use vectors.
#[inline]
fn by_eight(
    values: &[f64],
    start: f64,
    step: impl Fn(f64, f64) -> f64,
    join: impl Fn(f64, f64) -> f64,
) -> f64 {
    let mut parts = [start; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        for (part, value) in parts.iter_mut().zip(eight) {
            *part = step(*part, *value);
        }
    }
    for (part, value) in parts.iter_mut().zip(rest) {
        *part = step(*part, *value);
    }
    parts.into_iter().fold(start, join)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "exactness is what is tested")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::topology::test_tree::tree;

    fn share(link: u32, flows: u64, load: f64) -> LinkShare {
        LinkShare { link: LinkId(link), flows, bytes: 0, load }
    }

    /// The oracle recomputes all loads from the list of present jobs.
    fn oracle(topology: &Topology, present: &[Vec<LinkShare>]) -> (Vec<f64>, Usage) {
        let links = topology.link_count();
        let (mut load, mut flows) = (vec![0.0; links], vec![0; links]);
        for share in present.iter().flatten() {
            load[share.link.0 as usize] += share.load;
            flows[share.link.0 as usize] += share.flows;
        }
        let ratio = |link: &usize| load[*link] / topology.link(LinkId(*link as u32)).capacity;
        let switch: Vec<usize> =
            (0..links).filter(|link| topology.between_switches(LinkId(*link as u32))).collect();
        let ratios: Vec<f64> = switch.iter().map(ratio).collect();
        let n = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / n;
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let congestion = Congestion {
            max: ratios.iter().copied().fold(0.0, f64::max),
            mean,
            stddev: Some(variance.sqrt()),
            max_flows: switch.iter().map(|link| flows[*link]).max().unwrap(),
        };
        let max_ratio = (0..links).map(|link| ratio(&link)).fold(0.0, f64::max);
        (load, Usage { between_switches: Some(congestion), max_ratio })
    }

    proptest! {
        // CORRECTNESS: a link's load is that of the present jobs, to the last bit, for any history.
        #[test]
        fn in_lockstep_with_sums_made_anew(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(),
                prop::collection::vec((any::<prop::sample::Index>(), 1_u64..9, 0.0..1e12_f64), 0..20)), 1..60)
        ) {
            let topology = tree(&[vec![1; 40], vec![2; 30], vec![1; 3]], 30, &[1.0, 4.0, 10.0]);
            let quantum = Quantum::for_sums_up_to(60.0 * 20.0 * 1e12);
            let mut loads = LinkLoads::new(&topology);
            let mut present: Vec<Vec<LinkShare>> = Vec::new();
            for (leave, who, what) in steps {
                if leave && !present.is_empty() {
                    let gone = present.remove(who.index(present.len()));
                    loads.remove(&gone);
                } else {
                    let links = topology.link_count();
                    let share = |(link, flows, load): &(prop::sample::Index, u64, f64)| {
                        share(link.index(links) as u32, *flows, quantum.round(*load))
                    };
                    present.push(what.iter().map(share).collect());
                    loads.add(&present[present.len() - 1]);
                }
                let (load, expected) = oracle(&topology, &present);
                let found = loads.usage();
                prop_assert_eq!(loads.load(), &load[..]);
                let (found, wanted) = (found.between_switches.unwrap(), expected.between_switches.unwrap());
                prop_assert_eq!((found.max, found.max_flows), (wanted.max, wanted.max_flows));
                prop_assert!((found.mean - wanted.mean).abs() <= 1e-12 * wanted.mean);
                let (found, wanted) = (found.stddev.unwrap(), wanted.stddev.unwrap());
                prop_assert!((found - wanted).abs() <= 1e-9 * wanted);
                prop_assert_eq!(loads.usage().max_ratio, expected.max_ratio);
            }
            for gone in present.drain(..) {
                loads.remove(&gone);
            }
            prop_assert!(loads.load().iter().all(|load| load.to_bits() == 0));
            prop_assert!(loads.flows().iter().all(|flows| *flows == 0));
            prop_assert_eq!(loads.usage().max_ratio.to_bits(), 0);
        }

        #[test]
        fn whole_bytes_are_not_rounded(bytes in 0_u64..1 << 48, jobs in 1_u32..4) {
            let quantum = Quantum::for_sums_up_to((1_u64 << 48) as f64 * f64::from(jobs));
            prop_assert_eq!(quantum.round(bytes as f64), bytes as f64);
        }
    }

    #[test]
    fn rounding_is_finer_than_the_largest_sum_shows() {
        for largest in [0.0, 1e-100, 0.3, 1.0, 7.5e9, 3e26] {
            let quantum = Quantum::for_sums_up_to(largest);
            let error = (quantum.round(largest / 3.0) - largest / 3.0).abs();
            assert!(error <= 2.0 * largest * f64::EPSILON, "{largest}: {error}");
            assert!(largest / quantum.0 < (1_u64 << 53) as f64);
        }
    }

    #[test]
    fn equal_loads_have_no_deviation_and_states_without_time_no_peak() {
        let topology = tree(&[vec![1; 2], vec![1; 2]], 3, &[1.0]);
        let mut loads = LinkLoads::new(&topology);
        let all: Vec<LinkShare> =
            (0..topology.link_count() as u32).map(|link| share(link, 1, 5_928_262_656.5)).collect();
        loads.add(&all);
        loads.add(&all);
        loads.remove(&all);
        let congestion = loads.usage().between_switches.unwrap();
        assert!(congestion.stddev.unwrap() <= f64::EPSILON * congestion.mean);
        assert_eq!(loads.peak_load(LinkId(0)), 5_928_262_656.5);
        assert_eq!(loads.peak_flows(LinkId(0)), 1);
    }
}
