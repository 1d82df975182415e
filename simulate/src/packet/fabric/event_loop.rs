//! The event loop: takes the earliest event and calls the program at hosts and switches.

use super::super::arena::{Event, NONE};
use super::super::program::{Program, Verdict};
use super::super::routes::END;
use super::super::timer::Timer;
use super::Fabric;
use crate::topology::{HostId, LinkId, NodeId};

impl Fabric<'_> {
    /// Processes the next event; false if none is pending.
    #[inline]
    pub fn step<P: Program>(&mut self, program: &mut P) -> bool {
        while let Some(copy) = self.copies.pop() {
            let mut packet = self.arena.packet(copy);
            program.doubled(&mut packet);
            self.arena.replace(copy, packet);
        }
        if self.calendar.is_done() && !self.turn() {
            return false;
        }
        let Some((time, id)) = self.calendar.pop() else {
            return false;
        };
        let step = self.arena[id];
        let timer = Timer { kind: step.kind, words: [step.link, step.route] };
        if step.event == Event::Timer && !program.needs(timer, time) {
            self.arena.remove(id);
            // The next event may precede this timer.
            self.calendar.go_back(self.now);
            return true;
        }
        #[cfg(test)]
        self.note_tie(time, step.event);
        self.now = time;
        match step.event {
            Event::Arrival => self.arrive(program, id, step.link),
            Event::Timer => {
                self.arena.remove(id);
                program.timer(self, timer);
            }
            Event::Port => {
                self.arena.remove(id);
                self.sent(step.link);
            }
            Event::Pause => {
                self.arena.remove(id);
                self.pause(program, step.link, step.kind != 0);
            }
        }
        true
    }

    /// Counts packets that arrive at the time of another event: their order may depend on the kind
    /// of queues.
    #[cfg(test)]
    fn note_tie(&mut self, time: crate::engine::Picoseconds, event: Event) {
        if event == Event::Port {
            return;
        }
        let arrives = event == Event::Arrival;
        let (last, arrived) = std::mem::replace(&mut self.last, (time, arrives));
        self.ties += u32::from(last == time && (arrives || arrived));
        self.last.1 |= last == time && arrived;
    }

    #[inline]
    fn arrive<P: Program>(&mut self, program: &mut P, id: u32, link: u32) {
        let port = &self.ports[link as usize];
        let (host, node) = (port.host, port.node);
        if host != NONE {
            let packet = self.arena.packet(id);
            self.arena.remove(id);
            program.receive(self, HostId(host), packet);
            return;
        }
        if P::AT_SWITCHES {
            let mut packet = self.arena.packet(id);
            match program.transit(self, NodeId(node), &mut packet) {
                Verdict::Forward => self.arena.replace(id, packet),
                Verdict::Consume => {
                    self.arena.remove(id);
                    return;
                }
            }
        }
        let link = self.onward(id);
        if link == END {
            // A route that ends at a switch: its packets are for a program there.
            self.arena.remove(id);
            return;
        }
        self.join(id, link);
    }

    /// A port stops or resumes.
    fn pause<P: Program>(&mut self, program: &mut P, link: u32, stops: bool) {
        let Some(port_queues) = &mut self.port_queues else { return };
        port_queues.pause(link, stops, self.now);
        if !stops {
            self.send_next(link);
            let link = LinkId(link);
            if !self.topology.is_switch(self.topology.src(link)) {
                program.resumed(self, link);
            }
        }
    }
}
