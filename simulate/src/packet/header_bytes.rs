//! Bytes of protocol headers, without those that [`wire_bytes`](super::wire_bytes) adds.

/// Ethernet II: two addresses of 6 bytes and the type (IEEE 802.3, clause 3).
pub(super) const ETHERNET: u32 = 14;
/// IPv4 without options (RFC 791).
pub(super) const IPV4: u32 = 20;
/// UDP (RFC 768).
pub(super) const UDP: u32 = 8;
/// TCP without options (RFC 9293).
pub(super) const TCP: u32 = 20;
/// TCP's timestamps option, 10 bytes and 2 of padding (RFC 7323, appendix A).
pub(super) const TCP_TIMESTAMPS: u32 = 12;
/// InfiniBand's base transport header (InfiniBand Architecture Specification 1.4, section 9.2).
pub(super) const BASE_TRANSPORT: u32 = 12;
/// InfiniBand's invariant CRC (same, section 7.8.1).
pub(super) const INVARIANT_CRC: u32 = 4;
/// A RoCEv2 packet without extended headers.
pub(super) const ROCE_V2: u32 = ETHERNET + IPV4 + UDP + BASE_TRANSPORT + INVARIANT_CRC;
