//! The parts of a message above the eager limit, and which of them there are: see `rendezvous.rs`.

use phaseflow_collect::Result;
use phaseflow_collect::choice::{Choice, unknown_name};

/// How a message above the eager limit begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rendezvous {
    /// When the receiver is ready, at no cost.
    #[default]
    Free,
    /// A request with as much of the message as the eager limit allows, a reply, the rest: Open
    /// MPI's ob1 without PUT and GET.
    Handshake,
    /// A request without payload, a reply that asks for all, the message: Open MPI's ob1 with PUT,
    /// and most libraries over RDMA.
    Put,
}

/// The part of a message that is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Part {
    /// The request of a rendezvous.
    Request,
    /// Its reply, from the receiver to the sender.
    Reply,
    /// The message, or what is left of it.
    #[default]
    Data,
}

impl Rendezvous {
    /// Names on the command line.
    pub const NAMES: &[&str] = &["free", "handshake", "put"];

    /// The parameter `rendezvous`.
    ///
    /// # Errors
    /// A name that does not exist.
    pub(super) fn of(choice: &Choice) -> Result<Self> {
        match choice.get("rendezvous") {
            None | Some("free") => Ok(Self::Free),
            Some("handshake") => Ok(Self::Handshake),
            Some("put") => Ok(Self::Put),
            Some(other) => Err(unknown_name("rendezvous", other, Self::NAMES)),
        }
    }
}
