//! Packets at switches: aggregation on the way up; on the way back, copies and the release of
//! aggregators.

use super::aggregator::Table;
use super::header::{OVERFLOW, PARAMETER, PASSED, RESEND, SECOND};
use super::{Atp, PASS, group};
use crate::packet::arena::{NONE, Packet};
use crate::packet::chance::mix;
use crate::packet::fabric::Fabric;
use crate::packet::program::Verdict;
use crate::packet::timer::Timer;
use crate::topology::{HostId, NodeId};

impl Atp {
    /// Gives a switch aggregators, unless it has them.
    pub(super) fn equip(&mut self, fabric: &Fabric<'_>, switch: NodeId) {
        self.table_of.resize(fabric.topology().node_count(), NONE);
        let table = &mut self.table_of[switch.0 as usize];
        if *table == NONE {
            *table = self.tables.len() as u32;
            self.tables.push(Table::new(self.options.aggregators, self.options.leak_timeout));
        }
    }

    /// A packet with contributions is at a switch.
    #[inline]
    pub(super) fn sum(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        let Some(group) = group(&mut self.groups, packet.flow) else {
            self.vectors.release(packet.words[3]);
            return Verdict::Consume;
        };
        let is_first = packet.flags & PASSED == 0;
        packet.flags |= PASSED;
        let is_second = packet.flags & SECOND != 0;
        let is_resend = packet.flags & RESEND != 0;
        let at_server = switch == group.servers[group.server_of(packet.seq)].switch;
        // A packet that is no whole sum of a rack bypasses the second level.
        let is_ours = is_first || at_server && (is_second || is_resend);
        if packet.flags & OVERFLOW != 0 || !is_ours {
            return Verdict::Forward;
        }
        let (is_code, now) = (self.options.is_code, fabric.now());
        let table =
            self.table_of.get(switch.0 as usize).and_then(|table| self.tables.get_mut(*table as usize));
        let Some(table) = table else { return Verdict::Forward };
        if !is_resend {
            if !table.add(packet, now, &mut self.vectors, is_code) {
                return Verdict::Consume;
            }
        } else if is_first && !is_second {
            table.resend_first(packet, now, &mut self.vectors);
        } else {
            table.resend_second(packet, now, &mut self.vectors);
        }
        let pass = fabric.topology().switch_latency_ps();
        let more = pass.saturating_mul(u64::from(self.options.passes - 1));
        if more == 0 {
            return Verdict::Forward;
        }
        let place = self.free.pop().unwrap_or(self.held.len() as u32);
        match self.held.get_mut(place as usize) {
            Some(held) => *held = (*packet, switch),
            None => self.held.push((*packet, switch)),
        }
        fabric.call_at(now.saturating_add(more), Timer { kind: PASS, words: [place, 0] });
        Verdict::Consume
    }

    /// A packet leaves the pipeline of a switch.
    pub(super) fn pass(&mut self, fabric: &mut Fabric<'_>, place: u32) {
        let (packet, switch) = self.held[place as usize];
        self.free.push(place);
        if (fabric.first_link(packet.route).0 as usize) < fabric.topology().link_count() {
            return fabric.send(packet);
        }
        // Its route leaves the choice to each switch.
        let ways = fabric.ways(switch, HostId(packet.dst));
        let hash = mix(u64::from(packet.flow) << 32 | u64::from(packet.seq)) as usize;
        if let Some(link) = hash.checked_rem(ways.len()).and_then(|way| ways.get(way)) {
            fabric.send_on(*link, packet);
        }
    }

    /// A result at a switch frees its aggregator, and is copied to all links of the tree.
    #[inline]
    pub(super) fn multicast(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &Packet) {
        let now = fabric.now();
        // The code keeps the aggregator while floats are requested.
        let frees = packet.kind == PARAMETER || !self.options.is_code;
        if frees
            && let Some(table) = self.table_of.get(switch.0 as usize)
            && let Some(table) = self.tables.get_mut(*table as usize)
        {
            table.free(packet, now, &mut self.vectors);
        }
        let Some(group) = group(&mut self.groups, packet.flow) else { return };
        let mut copy = *packet;
        for branch in group.trees.branches(packet.words[1]) {
            copy.words[1] = branch.to;
            fabric.send_on(branch.link, copy);
        }
    }
}
