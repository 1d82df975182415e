//! The choice of a transport: one name, one variant, one arm.

use phaseflow_collect::choice::{Choice, unknown_name};
use phaseflow_collect::units::{parse_size, parse_time_ns};
use phaseflow_collect::{At, Error, Result};

use super::tcp::{Congestion, Tcp};
use super::usnic::{MOST_WINDOW, Preset};
use super::{Dctcp, Ideal, Roce, Transport};
use crate::engine::Picoseconds;
use crate::packet::{FabricOptions, Paths, wire_bytes};

/// A transport with its parameters.
#[derive(Clone, Copy, Debug)]
pub enum TransportChoice {
    /// `ideal`.
    Ideal(Ideal),
    /// `dctcp[initial-window=10,least-timeout=1ms]`.
    Dctcp(Dctcp),
    /// `tcp` with `congestion=cubic`, `initial-window=10`, `least-timeout=200ms`, `ack-delay=40ms`,
    /// `window=6MiB` and `host-queue=0`.
    Tcp(Tcp),
    /// `roce[timeout=1049us,rate-control=on]`.
    Roce(Roce),
    /// `usnic-2013`, `usnic-4.1`, both with
    /// `[pass=500ns,timeout=5ms,fast-retransmit=on,ack-delay=50us,window=4096,credits=8,tiny=736]`.
    Usnic(Preset),
}

/// Names of the transports, in the order of the documentation.
pub const NAMES: &[&str] = &["ideal", "usnic-2013", "usnic-4.1", "dctcp", "roce", "tcp"];
/// Default packet size of `ideal` and `roce`, bytes of payload: a page of memory, and InfiniBand's
/// largest MTU.
const IDEAL_MTU: u32 = 4096;
/// Default MTU of `dctcp` and `tcp`, bytes: that of Ethernet (IEEE 802.3).
const ETHERNET_MTU: u32 = 1500;
/// Default MTU of `usnic`, bytes: the usual jumbo frame of Ethernet in HPC.
const JUMBO_MTU: u32 = 9000;
/// Smallest MTU: what IPv4 guarantees to reassemble (RFC 791), and enough for all headers.
const LEAST_MTU: u32 = 576;

impl TransportChoice {
    /// The transport that the user chose. `mtu` is the largest IP packet of `dctcp`, `tcp` and
    /// `usnic`, the largest payload of `roce` and `ideal`; the default is 1500, 1500, 9000, 4096
    /// and 4096 bytes.
    ///
    /// # Errors
    /// A name or a parameter that does not exist, a value that is none.
    pub fn new(choice: &Choice, mtu: Option<u32>, paths: Paths) -> Result<Self> {
        let mtu = |default: u32| match mtu {
            Some(mtu) if !(LEAST_MTU..=u32::from(u16::MAX)).contains(&mtu) => {
                Err(Error::usage(format!("MTU is {mtu}, expected {LEAST_MTU} to 65535 bytes")))
            }
            mtu => Ok(mtu.unwrap_or(default)),
        };
        Ok(match choice.name() {
            "ideal" => {
                choice.only(&[])?;
                Self::Ideal(Ideal { mtu: mtu(IDEAL_MTU)? })
            }
            "dctcp" => {
                choice.only(&["initial-window", "least-timeout"])?;
                let default = Dctcp::default();
                Self::Dctcp(Dctcp {
                    mtu: mtu(ETHERNET_MTU)?,
                    initial_window: choice.value("initial-window", default.initial_window)?,
                    least_timeout: time(choice, "least-timeout", default.least_timeout)?,
                    is_reordered: paths == Paths::Spray,
                })
            }
            "tcp" => Self::Tcp(tcp(choice, mtu(ETHERNET_MTU)?, paths)?),
            "roce" => {
                choice.only(&["timeout", "rate-control"])?;
                let default = Roce::default();
                Self::Roce(Roce {
                    mtu: mtu(default.mtu)?,
                    timeout: time(choice, "timeout", default.timeout)?,
                    has_rate_control: switch(choice, "rate-control")?,
                })
            }
            name @ ("usnic-2013" | "usnic-4.1") => {
                choice.only(&[
                    "pass",
                    "timeout",
                    "fast-retransmit",
                    "ack-delay",
                    "window",
                    "credits",
                    "tiny",
                ])?;
                let mtu = mtu(JUMBO_MTU)?;
                let mut preset = if name == "usnic-2013" { Preset::v2013(mtu) } else { Preset::v4_1(mtu) };
                preset.pass = time(choice, "pass", preset.pass)?;
                preset.timeout = time(choice, "timeout", preset.timeout)?;
                preset.has_fast_retransmit = switch(choice, "fast-retransmit")?;
                if choice.get("ack-delay").is_some() {
                    preset.ack_delay = Some(time(choice, "ack-delay", 0)?);
                }
                preset.window = between(choice, "window", preset.window, 2, MOST_WINDOW)?;
                preset.endpoint_credits =
                    between(choice, "credits", preset.endpoint_credits, 1, preset.data_credits)?;
                preset.tiny = between(choice, "tiny", preset.tiny, 0, preset.mtu)?;
                Self::Usnic(preset)
            }
            other => return Err(unknown_name("transport", other, NAMES)),
        })
    }

    /// Least bytes of a rendezvous, for transports with one of their own.
    pub fn eager_bytes(&self) -> Option<u64> {
        match self {
            Self::Usnic(preset) => Some(preset.eager_bytes()),
            Self::Ideal(_) | Self::Dctcp(_) | Self::Tcp(_) | Self::Roce(_) => None,
        }
    }

    /// Bytes of a message that a packet takes at most.
    pub fn payload(&self) -> u32 {
        match self {
            Self::Ideal(transport) => transport.payload(),
            Self::Dctcp(transport) => transport.payload(),
            Self::Tcp(transport) => transport.payload(),
            Self::Roce(transport) => transport.payload(),
            Self::Usnic(preset) => preset.largest_chunk(),
        }
    }

    /// Bytes of its largest packet on the wire.
    pub fn largest_packet(&self) -> u32 {
        match self {
            Self::Ideal(transport) => transport.wire(transport.payload()),
            Self::Dctcp(transport) => transport.wire(transport.payload()),
            Self::Tcp(transport) => transport.wire(transport.payload()),
            Self::Roce(transport) => transport.wire(transport.payload()),
            Self::Usnic(preset) => wire_bytes(preset.mtu + 14),
        }
    }

    /// Bytes of headers and gaps for each byte of a message in full packets; acknowledgements are
    /// not counted.
    pub fn headers(&self) -> f64 {
        f64::from(self.largest_packet()) / f64::from(self.payload()) - 1.0
    }

    /// Refuses a network over which the transport never finishes; the [worst](FabricOptions::worst)
    /// faults of any link count.
    ///
    /// # Errors
    /// Losses and second copies that the transport does not repair.
    pub fn check(&self, options: &FabricOptions) -> Result<()> {
        if !matches!(self, Self::Ideal(_)) {
            return Ok(());
        }
        if options.buffer.is_some() || options.loss > 0.0 {
            return Err(Error::usage(
                "transport `ideal` cannot recover what is lost: without loss and buffer, or another transport",
            ));
        }
        if options.duplicate > 0.0 {
            return Err(Error::usage(
                "transport `ideal` cannot tell second copies: without duplicate, or another transport",
            ));
        }
        Ok(())
    }
}

/// The transport `tcp` and its parameters.
fn tcp(choice: &Choice, mtu: u32, paths: Paths) -> Result<Tcp> {
    choice.only(&["congestion", "initial-window", "least-timeout", "ack-delay", "window", "host-queue"])?;
    let default = Tcp::default();
    let size = |name: &str| choice.get(name).map(parse_size).transpose().at(|| format!("`{choice}`: {name}"));
    Ok(Tcp {
        mtu,
        congestion: match choice.get("congestion") {
            None | Some("cubic") => Congestion::Cubic,
            Some("reno") => Congestion::Reno,
            Some(other) => return Err(unknown_name("congestion", other, &["cubic", "reno"])),
        },
        initial_window: choice.value("initial-window", default.initial_window)?,
        least_timeout: time(choice, "least-timeout", default.least_timeout)?,
        ack_delay: match choice.get("ack-delay") {
            Some("0" | "0s" | "0ns") => 0,
            _ => time(choice, "ack-delay", default.ack_delay)?,
        },
        receive_window: size("window")?.unwrap_or(default.receive_window),
        host_queue: size("host-queue")?.unwrap_or(default.host_queue),
        is_reordered: paths == Paths::Spray,
    })
}

pub(in crate::packet) fn time(choice: &Choice, name: &str, default: Picoseconds) -> Result<Picoseconds> {
    let place = || format!("`{choice}`: {name}");
    let Some(text) = choice.get(name) else { return Ok(default) };
    match parse_time_ns(text).at(place)?.checked_mul(1000) {
        Some(time) if time > 0 => Ok(time),
        _ => Err(Error::usage(format!("{}: `{text}`, expected more than 0 and less than 213 days", place()))),
    }
}

fn between(choice: &Choice, name: &str, default: u32, least: u32, most: u32) -> Result<u32> {
    let value = choice.value(name, default)?;
    // A default may be invalid with a small MTU.
    if choice.get(name).is_none() || (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Error::usage(format!("`{choice}`: {name} is {value}, expected {least} to {most}")))
}

fn switch(choice: &Choice, name: &str) -> Result<bool> {
    match choice.get(name) {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(unknown_name(name, other, &["on", "off"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parameters_are_checked() {
        let cases = [
            (
                "dctp",
                "unknown transport `dctp`; did you mean dctcp? (known: ideal, usnic-2013, usnic-4.1, dctcp, roce, tcp)",
            ),
            ("ideal[mtu=3]", "unknown parameter of `ideal` `mtu` (there is none)"),
            ("roce[rate-control=of]", "unknown rate-control `of`; did you mean on or off? (known: on, off)"),
            (
                "usnic-4.1[pass=0ns]",
                "`usnic-4.1[pass=0ns]`: pass: `0ns`, expected more than 0 and less than 213 days",
            ),
            (
                "usnic-4.1[ack-delay=0us]",
                "`usnic-4.1[ack-delay=0us]`: ack-delay: `0us`, expected more than 0 and less than 213 days",
            ),
            ("usnic-4.1[window=1]", "`usnic-4.1[window=1]`: window is 1, expected 2 to 32768"),
            ("usnic-2013[window=32769]", "`usnic-2013[window=32769]`: window is 32769, expected 2 to 32768"),
            ("usnic-4.1[credits=0]", "`usnic-4.1[credits=0]`: credits is 0, expected 1 to 4095"),
            ("usnic-4.1[tiny=9001]", "`usnic-4.1[tiny=9001]`: tiny is 9001, expected 0 to 9000"),
        ];
        for (text, expected) in cases {
            let made =
                Choice::parse(text).and_then(|choice| TransportChoice::new(&choice, None, Paths::Flow));
            assert_eq!(made.unwrap_err().to_string(), expected);
        }
        let new = |text: &str, mtu| TransportChoice::new(&Choice::parse(text).unwrap(), mtu, Paths::Flow);
        assert_eq!(new("dctcp", Some(10)).unwrap_err().to_string(), "MTU is 10, expected 576 to 65535 bytes");
        let largest = NAMES.iter().map(|name| new(name, None).unwrap().largest_packet());
        assert_eq!(largest.collect::<Vec<_>>(), [4096, 9038, 9038, 1538, 4178, 1538]);
    }

    /// Values of the design notes that differ from the code: 100 ms, 50 µs, at most 768 bytes.
    #[test]
    fn usnic_takes_the_values_of_its_design_notes() {
        let text = "usnic-2013[timeout=100ms,ack-delay=50us,window=4096,credits=8,tiny=769]";
        let made = TransportChoice::new(&Choice::parse(text).unwrap(), None, Paths::Flow).unwrap();
        let TransportChoice::Usnic(preset) = made else { panic!("{made:?}") };
        let notes = Preset {
            timeout: 100_000_000_000,
            ack_delay: Some(50_000_000),
            window: 4096,
            endpoint_credits: 8,
            tiny: 769,
            ..Preset::v2013(9000)
        };
        assert_eq!(preset, notes);
    }
}
