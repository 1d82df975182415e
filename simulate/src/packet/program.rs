//! What hosts and switches do with packets.

use crate::engine::Picoseconds;
use crate::topology::{HostId, LinkId, NodeId};

use super::arena::Packet;
use super::fabric::Fabric;
use super::timer::Timer;

/// What becomes of a packet at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on along its route, as the program left it.
    Forward,
    /// It ends here; the program may have sent others.
    Consume,
}

/// The ends of the network, and the switches if they compute: one value for all hosts and switches.
///
/// Time is [`Fabric::now`]. A program sends with [`Fabric::send`] and waits with
/// [`Fabric::call_at`]. Timers cannot be taken back, so a program is asked before one runs down
/// whether it is [still needed](Self::needs).
pub trait Program {
    /// True if switches are asked about each packet: [`transit`](Self::transit). Known when
    /// compiling, so that others do not pay.
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

    /// A link that leaves a host was paused and goes on. Until then [`Fabric::free_at`] is
    /// [`Picoseconds::MAX`](u64::MAX).
    fn resumed(&mut self, fabric: &mut Fabric<'_>, link: LinkId) {
        let _ = (fabric, link);
    }

    /// A link delivers a packet twice: what the program keeps for this one, the second copy,
    /// besides the packet itself.
    fn doubled(&mut self, packet: &mut Packet) {
        let _ = packet;
    }

    /// A timer is to run down at a time. False if what it was for is over: the program forgets it,
    /// and time does not pass for it.
    fn needs(&mut self, timer: Timer, at: Picoseconds) -> bool {
        let _ = (timer, at);
        true
    }

    /// A timer has run down.
    fn timer(&mut self, fabric: &mut Fabric<'_>, timer: Timer);
}
