//! Forwarding tables as a file says them, before its names are looked up in a network.

use rustc_hash::FxHashMap;

/// No source: the entry is for all.
pub(super) const ANY: u32 = u32::MAX;

/// Tables of switches.
#[derive(Clone, Debug, Default)]
pub(super) struct RawTables {
    pub(super) switches: Vec<RawSwitch>,
    /// Hosts by their number in entries.
    pub(super) hosts: Vec<RawHost>,
    /// Output ports by their number in entries.
    pub(super) ports: Vec<String>,
    host_numbers: FxHashMap<String, u32>,
    port_numbers: FxHashMap<String, u32>,
}

/// The table of a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct RawSwitch {
    /// Its names, of which one may be that in the network.
    pub(super) names: Vec<String>,
    pub(super) entries: Vec<RawEntry>,
}

/// A host as a file names it: by one of several names.
#[derive(Clone, Debug, Default)]
pub(super) struct RawHost {
    pub(super) names: Vec<String>,
}

/// Messages from a source (or [`ANY`]) to a destination leave by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawEntry {
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) port: u32,
}

impl RawTables {
    /// The number of the host that a file names so.
    pub(super) fn host(&mut self, name: &str) -> u32 {
        let hosts = &mut self.hosts;
        *self.host_numbers.entry(name.into()).or_insert_with(|| {
            hosts.push(RawHost { names: vec![name.into()] });
            hosts.len() as u32 - 1
        })
    }

    /// Another name of a host.
    pub(super) fn also_called(&mut self, host: u32, name: &str) {
        let names = &mut self.hosts[host as usize].names;
        if !names.iter().any(|known| known == name) {
            names.push(name.into());
        }
    }

    /// The number of a port.
    pub(super) fn port(&mut self, name: &str) -> u32 {
        let ports = &mut self.ports;
        *self.port_numbers.entry(name.into()).or_insert_with(|| {
            ports.push(name.into());
            ports.len() as u32 - 1
        })
    }
}

/// True if two names mean the same: as text, or as numbers, `0x11` and `17`, `021` and `21`.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    a == b || number(a).is_some_and(|a| Some(a) == number(b))
}

/// A name that is a whole number, in decimal digits or hexadecimal ones after `0x`.
pub(super) fn number(name: &str) -> Option<u64> {
    match name.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => name.parse().ok(),
    }
}
