//! Ioctl, option, level and flag numbers, as Windows has them.
//!
//! Source: `mstcpip.h`, `ws2def.h`, `ws2ipdef.h`, `winsock2.h`, `winbase.h`.

/// `SIO_TIMESTAMPING`: sets the whole timestamping configuration of a socket.
pub const SIO_TIMESTAMPING: u32 = 0x9800_00EB;
/// `SIO_GET_TX_TIMESTAMP`: takes the timestamp of an id.
pub const SIO_GET_TX_TIMESTAMP: u32 = 0x9800_00EA;
/// `SIO_GET_EXTENSION_FUNCTION_POINTER`.
pub const SIO_GET_EXTENSION_FUNCTION_POINTER: u32 = 0xC800_0006;
/// `SIO_UDP_CONNRESET`.
pub const SIO_UDP_CONNRESET: u32 = 0x9800_000C;
/// `FIONBIO`: blocking or not.
pub const FIONBIO: u32 = 0x8004_667E;
/// `FIONREAD`: how many bytes wait.
pub const FIONREAD: u32 = 0x4004_667F;

/// Timestamps received datagrams.
pub const TIMESTAMPING_FLAG_RX: u32 = 1;
/// Timestamps sent datagrams that carry an id.
pub const TIMESTAMPING_FLAG_TX: u32 = 2;

/// Level of the options of a socket, and of both timestamping control messages.
pub const SOL_SOCKET: i32 = 0xFFFF;
/// Level of the IPv4 options.
pub const IPPROTO_IP: i32 = 0;
/// TCP.
pub const IPPROTO_TCP: i32 = 6;
/// UDP.
pub const IPPROTO_UDP: i32 = 17;
/// Level of the IPv6 options.
pub const IPPROTO_IPV6: i32 = 41;
/// Control message with a received timestamp, `UINT64`.
pub const SO_TIMESTAMP: i32 = 0x300A;
/// Control message with the id of a sent datagram, `UINT32`.
pub const SO_TIMESTAMP_ID: i32 = 0x300B;

/// IPv4.
pub const AF_INET: u16 = 2;
/// IPv6.
pub const AF_INET6: u16 = 23;
/// A stream.
pub const SOCK_STREAM: i32 = 1;
/// Datagrams.
pub const SOCK_DGRAM: i32 = 2;
/// `WSASocket`: overlapped operations are allowed.
pub const WSA_FLAG_OVERLAPPED: u32 = 1;

/// Leaves the datagram in the queue.
pub const MSG_PEEK: u32 = 0x2;
/// The datagram was cut.
pub const MSG_TRUNC: u32 = 0x0100;
/// Control data was cut.
pub const MSG_CTRUNC: u32 = 0x0200;
/// It was a broadcast.
pub const MSG_BCAST: u32 = 0x0400;
/// It was a multicast.
pub const MSG_MCAST: u32 = 0x0800;
/// `WSARecv`, `WSARecvFrom`: the datagram was cut.
pub const MSG_PARTIAL: u32 = 0x8000;

/// `SO_*`.
pub const SO_REUSEADDR: i32 = 0x4;
/// Broadcasts may be sent.
pub const SO_BROADCAST: i32 = 0x20;
/// Nobody else may bind the address.
pub const SO_EXCLUSIVEADDRUSE: i32 = !0x4;
/// Bytes of the send buffer.
pub const SO_SNDBUF: i32 = 0x1001;
/// Bytes of the receive buffer.
pub const SO_RCVBUF: i32 = 0x1002;
/// Milliseconds.
pub const SO_SNDTIMEO: i32 = 0x1005;
/// Milliseconds.
pub const SO_RCVTIMEO: i32 = 0x1006;
/// The pending error; reading clears it.
pub const SO_ERROR: i32 = 0x1007;
/// `SOCK_DGRAM` or `SOCK_STREAM`.
pub const SO_TYPE: i32 = 0x1008;
/// Bytes of the longest datagram.
pub const SO_MAX_MSG_SIZE: i32 = 0x2003;

/// `WSAPoll`: bits of a poll set.
pub const POLLRDNORM: i16 = 0x0100;
/// Data of another priority.
pub const POLLRDBAND: i16 = 0x0200;
/// Asked for it, `WSAPoll` fails.
pub const POLLPRI: i16 = 0x0400;
/// Can be written to.
pub const POLLWRNORM: i16 = 0x0010;
/// Asked for it, `WSAPoll` fails.
pub const POLLWRBAND: i16 = 0x0020;
/// An error.
pub const POLLERR: i16 = 0x0001;
/// The socket is no socket.
pub const POLLNVAL: i16 = 0x0004;

/// Type of service.
pub const IP_TOS: i32 = 3;
/// Hop limit of unicast.
pub const IP_TTL: i32 = 4;
/// Where multicast leaves: an address, or an index in network order.
pub const IP_MULTICAST_IF: i32 = 9;
/// Hop limit of multicast.
pub const IP_MULTICAST_TTL: i32 = 10;
/// Whether multicast comes back to this host.
pub const IP_MULTICAST_LOOP: i32 = 11;
/// Joins a group.
pub const IP_ADD_MEMBERSHIP: i32 = 12;
/// Leaves a group.
pub const IP_DROP_MEMBERSHIP: i32 = 13;
/// No fragmentation.
pub const IP_DONTFRAGMENT: i32 = 14;
/// Joins a group for one source.
pub const IP_ADD_SOURCE_MEMBERSHIP: i32 = 15;
/// Leaves it.
pub const IP_DROP_SOURCE_MEMBERSHIP: i32 = 16;
/// Refuses a source of a group.
pub const IP_BLOCK_SOURCE: i32 = 17;
/// Takes it again.
pub const IP_UNBLOCK_SOURCE: i32 = 18;
/// Where a received datagram came in: option and control message.
pub const IP_PKTINFO: i32 = 19;
/// Whether received datagrams report their TTL; the message is [`IP_TTL`].
pub const IP_RECVTTL: i32 = 21;
/// Where unicast leaves: an index in network order.
pub const IP_UNICAST_IF: i32 = 31;
/// Whether received datagrams report their type of service; the message is [`IP_TOS`].
pub const IP_RECVTOS: i32 = 40;
/// Whether received datagrams report their ECN bits: option and control message.
pub const IP_ECN: i32 = 50;
/// `PMTUD_STATE`.
pub const IP_MTU_DISCOVER: i32 = 71;
/// The MTU of the path to the peer.
pub const IP_MTU: i32 = 73;
/// Hop limit of unicast.
pub const IPV6_UNICAST_HOPS: i32 = 4;
/// Where multicast leaves: an index.
pub const IPV6_MULTICAST_IF: i32 = 9;
/// Hop limit of multicast.
pub const IPV6_MULTICAST_HOPS: i32 = 10;
/// Whether multicast comes back to this host.
pub const IPV6_MULTICAST_LOOP: i32 = 11;
/// Joins a group.
pub const IPV6_ADD_MEMBERSHIP: i32 = 12;
/// Leaves a group.
pub const IPV6_DROP_MEMBERSHIP: i32 = 13;
/// No fragmentation.
pub const IPV6_DONTFRAG: i32 = 14;
/// Where a received datagram came in: option and control message.
pub const IPV6_PKTINFO: i32 = 19;
/// Whether received datagrams report their hop limit: option and control message.
pub const IPV6_HOPLIMIT: i32 = 21;
/// IPv6 alone.
pub const IPV6_V6ONLY: i32 = 27;
/// Where unicast leaves: an index.
pub const IPV6_UNICAST_IF: i32 = 31;
/// Traffic class: option and control message.
pub const IPV6_TCLASS: i32 = 39;
/// Whether received datagrams report their traffic class; the message is [`IPV6_TCLASS`].
pub const IPV6_RECVTCLASS: i32 = 40;
/// Whether received datagrams report their ECN bits: option and control message.
pub const IPV6_ECN: i32 = 50;
/// `PMTUD_STATE`.
pub const IPV6_MTU_DISCOVER: i32 = 71;
/// The MTU of the path to the peer.
pub const IPV6_MTU: i32 = 72;

/// Joins a group of either family: `GROUP_REQ`.
pub const MCAST_JOIN_GROUP: i32 = 41;
/// Leaves it.
pub const MCAST_LEAVE_GROUP: i32 = 42;
/// Refuses a source: `GROUP_SOURCE_REQ`.
pub const MCAST_BLOCK_SOURCE: i32 = 43;
/// Takes it again.
pub const MCAST_UNBLOCK_SOURCE: i32 = 44;
/// Joins a group for one source.
pub const MCAST_JOIN_SOURCE_GROUP: i32 = 45;
/// Leaves it.
pub const MCAST_LEAVE_SOURCE_GROUP: i32 = 46;

/// `PMTUD_STATE`: the highest that can be set.
pub const IP_PMTUDISC_PROBE: u32 = 3;

/// `INFINITE`, for waits.
pub const INFINITE: u32 = u32::MAX;
/// The object is signalled.
pub const WAIT_OBJECT_0: u32 = 0;
/// It was not, in time.
pub const WAIT_TIMEOUT: u32 = 258;
/// The wait failed.
pub const WAIT_FAILED: u32 = u32::MAX;
/// The most objects of one wait.
pub const MAXIMUM_WAIT_OBJECTS: u32 = 64;
/// Exit code of a thread that runs.
pub const STILL_ACTIVE: u32 = 259;
/// `OVERLAPPED::Internal` while the operation goes on.
pub const STATUS_PENDING: usize = 0x103;
