//! Packets to send, and received packets with their metadata.

use crate::ethernet::{FrameDestination, MacAddress};
use crate::interface::InterfaceIndex;
use crate::timestamp::{Timestamps, TransmitId};
use crate::{Error, ErrorKind, Result};
use core::convert::Infallible;
use core::fmt::{Debug, Display};
use core::hash::Hash;
use core::net::{IpAddr, SocketAddr};

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Udp {}
    impl Sealed for super::Ethernet {}
}

/// The transport of a socket, which determines its address types: [`Udp`] or [`Ethernet`].
pub trait Transport:
    sealed::Sealed + Debug + Clone + Copy + PartialEq + Eq + Send + Sync + 'static
{
    /// The address that a packet comes from or is sent to.
    type Address: Debug + Display + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// The local address at which a packet arrived.
    type Destination: Debug + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// The local address that a packet is sent from.
    type Source: Debug + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// A multicast group that a socket can join.
    type Group: Debug + Display + Clone + Copy;
}

/// UDP over IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Udp {}

impl Transport for Udp {
    type Address = SocketAddr;
    type Destination = IpAddr;
    type Source = IpAddr;
    type Group = IpAddr;
}

/// Ethernet frames of one ethertype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ethernet {}

impl Transport for Ethernet {
    type Address = MacAddress;
    type Destination = FrameDestination;
    /// A frame always comes from the interface's own address.
    type Source = Infallible;
    type Group = MacAddress;
}

/// A datagram or frame to send.
///
/// ```
/// # use wirestamp_core::backend::Outgoing;
/// # use wirestamp_core::timestamp::TransmitId;
/// # let client: core::net::SocketAddr = "192.0.2.7:123".parse()?;
/// let answer: Outgoing = Outgoing::new(b"answer").to(client).id(TransmitId(7));
/// # assert_eq!((answer.payload, answer.to, answer.id), (&b"answer"[..], Some(client), Some(TransmitId(7))));
/// # assert_eq!(answer.source, None);
/// # Ok::<(), core::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Outgoing<'a, T: Transport = Udp> {
    /// The payload.
    pub payload: &'a [u8],
    /// The destination; `None` on a connected socket.
    pub to: Option<T::Address>,
    /// The transmit ID for the datagram's timestamp; `None` to send it without one. Ignored if
    /// transmit timestamps are off.
    pub id: Option<TransmitId>,
    /// The source address of a datagram, an address of this host. `None`: the one of
    /// `UdpSocket::set_source`, else the bound address, else the route's. If its family differs
    /// from the destination's, the send fails with `InvalidInput`. Frames have none.
    pub source: Option<T::Source>,
}

impl<'a, T: Transport> Outgoing<'a, T> {
    /// Creates a packet with this payload for the connected peer, without a transmit ID.
    pub const fn new(payload: &'a [u8]) -> Self {
        Self {
            payload,
            to: None,
            id: None,
            source: None,
        }
    }

    /// Sets the destination; `None` for the connected peer.
    #[must_use]
    pub fn to(mut self, to: impl Into<Option<T::Address>>) -> Self {
        self.to = to.into();
        self
    }

    /// Sets the transmit ID; `None` for no timestamp.
    #[must_use]
    pub fn id(mut self, id: impl Into<Option<TransmitId>>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets the source address; `None` for the socket's or the route's.
    #[must_use]
    pub fn source(mut self, source: impl Into<Option<T::Source>>) -> Self {
        self.source = source.into();
        self
    }
}

/// Returns an error if the families of source and destination differ, which systems ignore
/// silently.
///
/// # Errors
/// `InvalidInput`.
pub fn check_source(source: IpAddr, to: SocketAddr) -> Result<()> {
    let (source, destination) = (source.to_canonical(), to.ip().to_canonical());
    if source.is_ipv4() == destination.is_ipv4() {
        return Ok(());
    }
    let cause = if source.is_ipv4() {
        "an IPv4 source for an IPv6 destination"
    } else {
        "an IPv6 source for an IPv4 destination"
    };
    let target = alloc::format!("{source} to {to}");
    Err(Error::new(
        ErrorKind::InvalidInput,
        "send from an address",
        target,
        cause,
    )
    .with_remedy("give a source of the destination's family"))
}

/// A buffer for one datagram or frame, with its metadata once it is received.
#[derive(Debug)]
pub struct Incoming<'a, T: Transport = Udp> {
    buffer: &'a mut [u8],
    /// The metadata of the received packet.
    pub received: Received<T>,
}

/// The metadata of a received datagram or frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound = "T::Address: serde::Serialize, T::Destination: serde::Serialize")
)]
pub struct Received<T: Transport = Udp> {
    /// The length of the payload in the buffer, in bytes. For a frame it includes padding, to at
    /// least 46.
    #[cfg_attr(feature = "serde", serde(rename = "length_bytes"))]
    pub length: usize,
    /// The sender's address; `None` if the system does not report it.
    pub source: Option<T::Address>,
    /// The local address at which it arrived. For a datagram `None` unless
    /// [`Timestamping::packet_information`](crate::configuration::Timestamping::packet_information)
    /// is on.
    pub destination: Option<T::Destination>,
    /// The interface through which it arrived. For a datagram `None` unless
    /// [`Timestamping::packet_information`](crate::configuration::Timestamping::packet_information)
    /// is on or timestamps require it.
    pub interface: Option<InterfaceIndex>,
    /// Its traffic class (DSCP and ECN). Set on Linux after `UdpSocket::report_header`.
    pub traffic_class: Option<u8>,
    /// Its hop limit or TTL on arrival. Set on Linux after `UdpSocket::report_header`.
    pub hop_limit: Option<u8>,
    /// Its timestamps. A missing timestamp does not mean that the datagram is faulty.
    pub timestamps: Timestamps,
    /// Whether the payload was truncated to the buffer.
    pub truncated: bool,
    /// Whether control messages were truncated, which may have lost a timestamp.
    pub control_truncated: bool,
}

impl<T: Transport> Received<T> {
    /// The metadata of a buffer before anything is received.
    pub const EMPTY: Self = Self {
        length: 0,
        source: None,
        destination: None,
        interface: None,
        traffic_class: None,
        hop_limit: None,
        timestamps: Timestamps::NONE,
        truncated: false,
        control_truncated: false,
    };
}

impl<'a, T: Transport> Incoming<'a, T> {
    /// Creates an empty slot around the caller's buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            received: Received::EMPTY,
        }
    }

    /// Returns the received payload.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[..self.received.length.min(self.buffer.len())]
    }

    /// Returns the whole buffer. For backends.
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }
}
