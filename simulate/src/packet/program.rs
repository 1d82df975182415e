//! Programs: the behaviour of hosts and switches.

use crate::engine::Picoseconds;
use crate::topology::{HostId, LinkId, NodeId};

use super::arena::Packet;
use super::fabric::Fabric;
use super::timer::Timer;

/// The fate of a packet at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It continues along its route, with the changes of the program.
    Forward,
    /// It ends here; the program may have sent other packets.
    Consume,
}

/// A program of hosts, and of switches that compute: one value for all of them.
///
/// Time is [`Fabric::now`]. A program sends with [`Fabric::send`] and waits with
/// [`Fabric::call_at`]. Timers cannot be cancelled; before one expires, the engine asks whether it
/// is [still needed](Self::needs).
pub trait Program {
    /// True if [`transit`](Self::transit) is called at switches. It is a constant, so other
    /// programs have no cost.
    const AT_SWITCHES: bool = false;

    /// A packet has reached a host.
    fn receive(&mut self, fabric: &mut Fabric<'_>, host: HostId, packet: Packet);

    /// A packet has reached a switch and is about to join the queue of its next link. The program
    /// may change it, and send others with
    /// [`Fabric::send_on`]: in front of it, as those join their queues at once.
    fn transit(&mut self, fabric: &mut Fabric<'_>, switch: NodeId, packet: &mut Packet) -> Verdict {
        let _ = (fabric, switch, packet);
        Verdict::Forward
    }

    /// A link that leaves a host resumes after a pause. Until then [`Fabric::free_at`] is
    /// [`Picoseconds::MAX`](u64::MAX).
    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        let _ = (fabric, link);
    }

    /// A link duplicates a packet: the program copies the data that it keeps for it.
    fn doubled(&mut self, packet: &mut Packet) {
        let _ = packet;
    }

    /// False if the timer that expires at this time is not needed any more; time does not advance
    /// for it.
    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        let _ = (timer, at);
        true
    }

    /// A timer has run down.
    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer);
}
