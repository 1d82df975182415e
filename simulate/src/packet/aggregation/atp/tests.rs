//! Tests of the whole protocol over a network.

mod aggregator;
mod closed_forms;
mod invariants;
mod protocol;
mod worker;

use phaseflow_collect::choice::Choice;

use super::*;
use crate::engine::Picoseconds;
use crate::packet::arena::ECN_MARKED;
use crate::packet::program::Program;
use crate::packet::{FabricOptions, LinkTraffic};
use crate::topology::sketch::sketch;
use crate::topology::{PortOrder, Topology};

/// ATP and nothing else; marks what a worker (third) of a group (first) sends as packet (second).
#[derive(Debug)]
struct Alone(Atp, Option<(u32, u32, usize)>);

impl Program for Alone {
    const AT_SWITCHES: bool = true;

    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet) {
        self.0.receive(fabric, host, &packet);
    }

    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        if let Some((group, seq, worker)) = self.1
            && (packet.kind, packet.flow, packet.seq) == (GRADIENT, group, seq)
            && let Some(Some(group)) = self.0.groups.get(group as usize)
            && packet.words[..2] == group.headings[worker].bitmaps
        {
            packet.flags |= ECN_MARKED;
        }
        self.0.transit(fabric, switch, packet)
    }

    fn doubled(&mut self, packet: &mut Packet) {
        self.0.doubled(packet);
    }

    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        self.0.resumed(fabric, link);
    }

    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        self.0.needs(timer, at)
    }

    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer) {
        self.0.timer(fabric, timer);
    }
}

/// A network and ATP in it.
struct Run<'a> {
    fabric: Fabric<'a>,
    atp: Alone,
    /// Keys of vectors whose sum a worker has, and when.
    done: Vec<(u32, Picoseconds)>,
}

impl<'a> Run<'a> {
    /// Results are checked.
    fn new(network: &'a Topology, options: &FabricOptions, choice: &str) -> Self {
        Self::of(network, options, choice, true)
    }

    fn of(network: &'a Topology, options: &FabricOptions, choice: &str, verify: bool) -> Self {
        let choice = Choice::parse(choice).unwrap();
        // Aggregators as the paper has them, and as the code has them.
        let index = if choice.get("profile") == Some("code") { "place" } else { "hash" };
        let choice = choice.or_with("index", index);
        let atp = Alone(Atp::new(&choice, options.seed, verify).unwrap(), None);
        Self { fabric: Fabric::new(network, options), atp, done: Vec::new() }
    }

    fn open(&mut self, job: u32, workers: &[u32], servers: &[u32]) -> u32 {
        let hosts = |hosts: &[u32]| hosts.iter().copied().map(HostId).collect();
        let members = Members { job, workers: hosts(workers), servers: hosts(servers) };
        self.atp.0.open(&mut self.fabric, &members).unwrap()
    }

    /// A worker adds a vector; its key is the number of the worker.
    fn add(&mut self, group: u32, worker: u32, bytes: u64) {
        self.atp.0.contribute(&mut self.fabric, group, worker, bytes, worker).unwrap();
    }

    fn add_all(&mut self, group: u32, bytes: u64) {
        let workers = self.atp.0.groups[group as usize].as_ref().unwrap().hosts.len() as u32;
        (0..workers).for_each(|worker| self.add(group, worker, bytes));
    }

    /// Lets one thing happen; false if nothing is to come.
    fn step(&mut self) -> bool {
        let goes_on = self.fabric.step(&mut self.atp);
        let now = self.fabric.now();
        self.done.extend(self.atp.0.delivered.drain(..).map(|key| (key, now)));
        goes_on
    }

    /// Goes on to a time.
    fn until(&mut self, time: Picoseconds) {
        while self.fabric.next_time().is_some_and(|next| next <= time) {
            self.step();
        }
        self.fabric.wait_until(time);
    }

    /// Goes on until nothing is to come.
    fn finish(&mut self) {
        while self.step() {}
    }

    fn group(&self, group: u32) -> &Group {
        self.atp.0.groups[group as usize].as_ref().unwrap()
    }

    /// When the last worker has its sum.
    fn last(&self) -> Picoseconds {
        self.done.iter().map(|done| done.1).max().unwrap()
    }

    /// What the links between two nodes carried, from the one to the other.
    fn traffic(&mut self, from: &str, to: &str) -> LinkTraffic {
        let net = self.fabric.topology();
        let name = |node: NodeId| net.node(node).name.as_str();
        let mut links = (0..net.link_count() as u32).map(LinkId);
        let link = links.find(|link| (name(net.src(*link)), name(net.dst(*link))) == (from, to)).unwrap();
        self.fabric.traffic()[link.0 as usize]
    }
}

/// Links of 100 Gbit/s and 500 ns; switches take no time.
fn network(text: &str) -> Topology {
    network_of(text, 100.0, 500_000, 0)
}

fn network_of(text: &str, gbps: f64, latency_ps: Picoseconds, switch_latency_ps: Picoseconds) -> Topology {
    let mut graph = sketch(text);
    for link in graph.edge_weights_mut() {
        (link.capacity, link.latency_ps) = (gbps, latency_ps);
    }
    Topology::freeze("net", graph, PortOrder::Name, switch_latency_ps).unwrap()
}

/// Hosts around one switch.
fn star(hosts: u32) -> Topology {
    network(&(0..hosts).map(|host| format!("h{host:02}-s ")).collect::<String>())
}
