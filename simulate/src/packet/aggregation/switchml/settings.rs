//! The options of SwitchML.
//!
//! Sizes of packets: the paper's and the UDP frames of its repository (p4lang/p4app-switchML) are
//! Ethernet 14, IPv4 20, UDP 8, SwitchML 8, exponents 2 and 4 bytes an element, so 180 bytes for 32
//! elements. RDMA frames are RoCEv2, unreliable connection: Ethernet 14, IPv4 20, UDP 8, base
//! transport header 12, check sum 4; the first packet of a message adds the address, 16, the last
//! one the immediate, 4.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::units::parse_size;
use phaseflow_collect::{At, Error, Result};

use crate::engine::Picoseconds;
use crate::packet::aggregation::ELEMENT_BYTES;
use crate::packet::header_bytes::{ETHERNET, IPV4, ROCE_V2, UDP};
use crate::packet::transport::choice::time;
use crate::packet::wire_bytes;

/// Bytes of SwitchML's own header (the repository's frames).
const SWITCHML_HEADER: u32 = 8;
/// Bytes of the exponents behind it (same).
const EXPONENTS: u32 = 2;
/// Bytes of the headers of a UDP frame.
const UDP_HEADERS: u32 = ETHERNET + IPV4 + UDP + SWITCHML_HEADER + EXPONENTS;
/// Bytes of InfiniBand's extended header for the address (InfiniBand Architecture Specification
/// 1.4, section 9.3).
const RDMA_ADDRESS: u32 = 16;
/// Bytes of the one for immediate data (same).
const RDMA_IMMEDIATE: u32 = 4;
/// Most elements of a packet: 8800 bytes, within a jumbo frame of 9000.
const MOST_ELEMENTS: u32 = 2200;
/// Most slots of a switch: a bound of our memory, far above that of a Tofino.
const MOST_SLOTS: u32 = 1 << 20;
/// Most bytes of the slots of a switch: likewise.
const MOST_MEMORY: u64 = 1 << 30;
/// Most packets of a message: the bits of a mask.
const MOST_PACKETS: u32 = 64;
/// Most workers of the repository's program: the bits of its bitmap.
const REPOSITORY_WORKERS: usize = 32;
/// Number of time-outs after which the repository's client doubles its time-out, each time.
pub(super) const TIMEOUTS_TO_DOUBLE: u32 = 100;

/// The framing of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// The repository's UDP frames; the paper's have the same size.
    Udp,
    /// RoCEv2, messages of several packets.
    Rdma,
}

/// The summed vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Integers as they are.
    Int,
    /// Floats, as integers on a scale that is sent ahead.
    Float,
}

/// Parameters of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Elements of a packet.
    pub(super) elements: u32,
    /// Slots of a group at each switch, each twice.
    pub(super) slots: u32,
    /// Groups that a switch has slots for.
    pub(super) jobs: u32,
    /// Packets of a worker in flight: a divisor of the slots.
    pub(super) window: u32,
    /// Packets that are sent, and sent again, together: a divisor of the window.
    pub(super) message: u32,
    /// Time without a result after which a worker resends.
    pub(super) timeout: Picoseconds,
    /// The time-out grows with the number of time-outs.
    pub(super) doubles: bool,
    pub(super) framing: Framing,
    pub(super) numbers: Numbers,
    /// Switches compare phases, so that packets may overtake each other. No published program does.
    pub(super) is_safe: bool,
    /// Workers that a switch can tell apart.
    pub(super) most_workers: usize,
}

/// Names of the parameters.
const NAMES: &[&str] = &[
    "k",
    "slots",
    "memory",
    "jobs",
    "outstanding",
    "timeout",
    "profile",
    "framing",
    "message",
    "numbers",
    "safe",
];

impl Settings {
    /// Reads `switchml[k=32,slots=128,timeout=1ms,…]`.
    ///
    /// # Errors
    /// A parameter that does not exist, a value that is none, values that do not fit together.
    pub(super) fn new(choice: &Choice) -> Result<Self> {
        choice.only(NAMES)?;
        let wrong = |what: String| Error::usage(format!("`{choice}`: {what}"));
        let is_repository = one_of(choice, "profile", &["paper", "repository"])? == 1;
        // By default a profile has the framing of its name.
        let framing = match one_of(choice, "framing", &["paper", "udp", "rdma"])? {
            2 => Framing::Rdma,
            _ => Framing::Udp,
        };
        let is_rdma = framing == Framing::Rdma;
        let (elements, slots, timeout) = if is_repository {
            (256, 8192, 10_000_000_000)
        } else {
            (if is_rdma { 256 } else { 32 }, 128, 1_000_000_000)
        };
        let elements = within(choice, "k", elements, MOST_ELEMENTS)?;
        let message = within(choice, "message", if is_rdma { 4 } else { 1 }, MOST_PACKETS)?;
        if message > 1 && !is_rdma {
            return Err(wrong(format!("messages of {message} packets need framing=rdma")));
        }
        let jobs = within(choice, "jobs", 1, MOST_SLOTS)?;
        // Each slot is there twice.
        let slot = 2 * ELEMENT_BYTES * u64::from(elements);
        let slots = match choice.get("memory") {
            None => within(choice, "slots", slots, MOST_SLOTS)?,
            Some(_) if choice.get("slots").is_some() => {
                return Err(wrong("slots and memory say the same thing twice".into()));
            }
            Some(text) => {
                let slots = parse_size(text).at(|| format!("`{choice}`: memory"))? / slot;
                u32::try_from(slots).unwrap_or(MOST_SLOTS).min(MOST_SLOTS)
            }
        };
        if u64::from(slots) * slot > MOST_MEMORY {
            return Err(wrong(format!("{slots} slots of {slot} bytes, expected at most 1 GiB")));
        }
        let share = slots / jobs;
        let asked = if is_repository { 256.min(share) } else { share };
        // The largest window that fits, unless the user names one.
        let fitting = if choice.get("outstanding").is_none() { asked - asked % message } else { asked };
        let window = within(choice, "outstanding", fitting.max(1), MOST_SLOTS)?;
        // Slots that do not fill a window stay empty.
        let slots = share - share % window;
        if slots == 0 || window % message != 0 {
            return Err(wrong(format!(
                "{share} slots for each of {jobs} jobs, {window} packets outstanding, messages of {message}: expected a multiple of \
                 a message outstanding, and a slot for each"
            )));
        }
        Ok(Self {
            elements,
            slots,
            jobs,
            window,
            message,
            timeout: time(choice, "timeout", timeout)?,
            doubles: is_repository,
            framing,
            numbers: if one_of(choice, "numbers", &["int", "float"])? == 1 {
                Numbers::Float
            } else {
                Numbers::Int
            },
            is_safe: one_of(choice, "safe", &["off", "on"])? == 1,
            most_workers: if is_repository { REPOSITORY_WORKERS } else { usize::MAX },
        })
    }

    /// Bytes that the `position`-th packet of a message occupies a link for; its result has the
    /// same size.
    pub(super) fn wire(&self, position: u32) -> u32 {
        let payload = ELEMENT_BYTES as u32 * self.elements;
        wire_bytes(match self.framing {
            Framing::Udp => UDP_HEADERS + payload,
            Framing::Rdma => {
                let address = if position == 0 { RDMA_ADDRESS } else { 0 };
                let immediate = if position + 1 == self.message { RDMA_IMMEDIATE } else { 0 };
                ROCE_V2 + payload + address + immediate
            }
        })
    }

    /// Messages of a worker in flight.
    pub(super) fn chains(&self) -> u32 {
        self.window / self.message
    }

    /// The chain of messages that a packet belongs to.
    #[inline]
    pub(super) fn chain(&self, chunk: u32) -> u32 {
        chunk % self.window / self.message
    }

    /// The slot of a packet, and which of its two versions.
    #[inline]
    pub(super) fn pool(&self, chunk: u32) -> u32 {
        chunk % (2 * self.slots)
    }
}

fn within(choice: &Choice, name: &str, default: u32, most: u32) -> Result<u32> {
    match choice.value(name, default)? {
        value if (1..=most).contains(&value) => Ok(value),
        value => Err(Error::usage(format!("`{choice}`: {name} is {value}, expected 1 to {most}"))),
    }
}

/// Which of some words a parameter is; the first one if it is not given.
fn one_of(choice: &Choice, name: &str, words: &[&str]) -> Result<usize> {
    let Some(text) = choice.get(name) else { return Ok(0) };
    words.iter().position(|word| *word == text).ok_or_else(|| unknown_name(name, text, words))
}
