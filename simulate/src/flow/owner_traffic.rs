//! Traffic by owner: the bytes of each owner that each link has carried.
//!
//! A flow's bytes pass all links of its route at once, at its rate. The bytes of a flow are added
//! at its end. At a query, the bytes of active flows so far are added and taken off again, so that
//! they count once. Cost: O(links of the route) a flow, O(flows under way) a question. Memory: 4
//! bytes a key, and 8 a link for each owner.

use rustc_hash::FxHashMap;

/// Bytes by owner and link.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerTraffic {
    /// Number of links.
    links: usize,
    /// Whose flows start now.
    owner: u32,
    /// By key of a flow: its owner.
    of_key: Vec<u32>,
    of_owner: FxHashMap<u32, UnreportedBytes>,
    /// Flows that share links now.
    under_way: u64,
}

/// Bytes carried for an owner since the last query.
#[derive(Clone, Debug, Default)]
struct UnreportedBytes {
    /// By link; below 0 by the bytes of active flows that a query has reported.
    bytes: Vec<f64>,
    /// Links whose bytes may have changed.
    touched: Vec<u32>,
}

impl UnreportedBytes {
    fn add(&mut self, links: &[u32], bytes: f64) {
        for link in links {
            // The private link of a host's memory is not counted.
            let Some(sum) = self.bytes.get_mut(*link as usize) else { continue };
            if *sum == 0.0 {
                self.touched.push(*link);
            }
            *sum += bytes;
        }
    }
}

impl OwnerTraffic {
    pub(super) fn new(links: usize) -> Self {
        Self { links, ..Self::default() }
    }

    /// Flows that start from now on are of this owner.
    pub(super) fn belong(&mut self, owner: u32) {
        self.owner = owner;
    }

    /// A flow of this key starts.
    pub(super) fn start(&mut self, key: u32) {
        let key = key as usize;
        if self.of_key.len() <= key {
            self.of_key.resize(key + 1, 0);
        }
        self.of_key[key] = self.owner;
        let links = self.links;
        let unreported = || UnreportedBytes { bytes: vec![0.0; links], touched: Vec::new() };
        self.of_owner.entry(self.owner).or_insert_with(unreported);
    }

    /// A flow begins to share its links.
    pub(super) fn begin(&mut self) {
        self.under_way += 1;
    }

    /// A flow of `bytes` bytes has finished.
    pub(super) fn finish(&mut self, key: u32, links: &[u32], bytes: u64) {
        self.under_way -= 1;
        if let Some(unreported) = self.of_owner.get_mut(&self.of_key[key as usize]) {
            unreported.add(links, bytes as f64);
        }
    }

    /// True if a flow shares links now.
    pub(super) fn is_any_under_way(&self) -> bool {
        self.under_way > 0
    }

    /// Bytes carried for an owner since the last call, links ascending; `under_way` lists key,
    /// links and bytes so far of each active flow.
    pub(super) fn take<'l>(
        &mut self,
        owner: u32,
        under_way: impl Iterator<Item = (u32, &'l [u32], f64)> + Clone,
    ) -> Vec<(u32, f64)> {
        let Some(unreported) = self.of_owner.get_mut(&owner) else { return Vec::new() };
        let of_key = &self.of_key;
        let own = under_way.filter(|(key, ..)| of_key[*key as usize] == owner);
        own.clone().for_each(|(_, links, bytes)| unreported.add(links, bytes));
        unreported.touched.sort_unstable();
        unreported.touched.dedup();
        let bytes = &mut unreported.bytes;
        let reported =
            unreported.touched.drain(..).map(|link| (link, std::mem::take(&mut bytes[link as usize])));
        // Less than nothing is rounding.
        let reported = reported.filter(|(_, bytes)| *bytes > 0.0).collect();
        own.for_each(|(_, links, bytes)| unreported.add(links, -bytes));
        reported
    }

    /// Drops an owner that starts no more flows.
    pub(super) fn forget(&mut self, owner: u32) {
        self.of_owner.remove(&owner);
    }
}
