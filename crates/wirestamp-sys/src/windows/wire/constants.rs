//! The numbers of Windows' interface that the pure parts need. On Windows,
//! `agreement.rs` compares them with the bindings at compile time.
//!
//! Source: `ws2def.h`, `ws2ipdef.h`, `mstcpip.h`, `ifdef.h`.

/// Address family, as in a `sockaddr`.
pub(crate) const AF_INET: u16 = 2;
pub(crate) const AF_INET6: u16 = 23;
pub(crate) const IPPROTO_IP: i32 = 0;
pub(crate) const IPPROTO_IPV6: i32 = 41;
pub(crate) const IP_PKTINFO: i32 = 19;
pub(crate) const IPV6_PKTINFO: i32 = 19;
pub(crate) const SOL_SOCKET: i32 = 0xffff;
/// Type of the control message that carries a receive timestamp: 8 bytes.
pub(crate) const SO_TIMESTAMP: i32 = 0x300a;
/// `IfOperStatusUp` and its neighbours.
pub(crate) const OPER_STATUS_UP: i32 = 1;
pub(crate) const OPER_STATUS_DOWN: i32 = 2;
pub(crate) const OPER_STATUS_DORMANT: i32 = 5;
pub(crate) const OPER_STATUS_LOWER_LAYER_DOWN: i32 = 7;
/// `IF_TYPE_SOFTWARE_LOOPBACK`
pub(crate) const TYPE_LOOPBACK: u32 = 24;
