//! Factors between the units of the interface and those of the network models.
//!
//! Capacities are Gbit/s outside and bytes per picosecond inside; times are picoseconds inside. The
//! factors follow from 1 byte = 8 bits and 1 s = 10¹² ps.

/// Bytes that 1 Gbit/s carries in a picosecond.
pub(crate) const BYTES_PER_PS: f64 = 1.25e-4;
/// Picoseconds that a byte takes at 1 Gbit/s.
pub(crate) const PS_PER_BYTE: f64 = 8000.0;
/// Gbit/s of one byte per second.
pub(crate) const GBPS_PER_BYTE_RATE: f64 = 8.0 / 1e9;
/// Picoseconds of a second.
pub(crate) const PS_PER_S: f64 = 1e12;
/// Seconds of a picosecond.
pub(crate) const S_PER_PS: f64 = 1e-12;
