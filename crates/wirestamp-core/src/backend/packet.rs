//! What a socket carries: packets to send, and received ones with what is known of them.

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

/// A carrier of payloads, which decides what addresses are: [`Udp`] or [`Ethernet`], and nothing else.
pub trait Transport:
    sealed::Sealed + Debug + Clone + Copy + PartialEq + Eq + Send + Sync + 'static
{
    /// Where a packet comes from, and where one is sent to.
    type Address: Debug + Display + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// To which of our addresses a packet came.
    type Destination: Debug + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// Which of our addresses a packet is sent from.
    type Source: Debug + Clone + Copy + PartialEq + Eq + Hash + Send + Sync;
    /// A group whose packets a socket can receive.
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

/// One datagram or frame to send.
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
    /// `Some`: timestamp this datagram under this id; ignored where transmit timestamps are off.
    /// `None`: send it without timestamp.
    pub id: Option<TransmitId>,
    /// The address of this host that a datagram comes from. `None`: as the socket says, by `UdpSocket::set_source` or
    /// by what it is bound to, and else as the route says. Of the destination's family, otherwise the send fails with
    /// `InvalidInput`. Frames have none.
    pub source: Option<T::Source>,
}

impl<'a, T: Transport> Outgoing<'a, T> {
    /// A payload for the connected peer, without a timestamp.
    pub const fn new(payload: &'a [u8]) -> Self {
        Self {
            payload,
            to: None,
            id: None,
            source: None,
        }
    }

    /// Sends it to this address. `None`: to the connected peer.
    #[must_use]
    pub fn to(mut self, to: impl Into<Option<T::Address>>) -> Self {
        self.to = to.into();
        self
    }

    /// Timestamps it under this id. `None`: not at all.
    #[must_use]
    pub fn id(mut self, id: impl Into<Option<TransmitId>>) -> Self {
        self.id = id.into();
        self
    }

    /// Sends it from this address of the host. `None`: from the socket's or the route's.
    #[must_use]
    pub fn source(mut self, source: impl Into<Option<T::Source>>) -> Self {
        self.source = source.into();
        self
    }
}

/// Refuses a source of another family than the destination: systems ignore it silently.
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

/// Room for one received datagram or frame, and what was received into it.
#[derive(Debug)]
pub struct Incoming<'a, T: Transport = Udp> {
    buffer: &'a mut [u8],
    /// What was received, besides the payload.
    pub received: Received<T>,
}

/// What is known of a received datagram or frame besides its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound = "T::Address: serde::Serialize, T::Destination: serde::Serialize")
)]
pub struct Received<T: Transport = Udp> {
    /// Bytes of payload in the buffer. Of a frame, padding counts: a frame has at least 46.
    #[cfg_attr(feature = "serde", serde(rename = "length_bytes"))]
    pub length: usize,
    /// Who sent it. `None` if the system did not say.
    pub source: Option<T::Address>,
    /// To which of our addresses it came. Of a datagram `None` unless
    /// [`Timestamping::packet_information`](crate::configuration::Timestamping::packet_information) asks for it.
    pub destination: Option<T::Destination>,
    /// Through which interface it came. Of a datagram populated where
    /// [`Timestamping::packet_information`](crate::configuration::Timestamping::packet_information) asks for it; otherwise only where timestamps need it.
    pub interface: Option<InterfaceIndex>,
    /// Its traffic class (DSCP and ECN). Populated on: Linux, after `UdpSocket::report_header`.
    pub traffic_class: Option<u8>,
    /// Its hop limit or TTL on arrival. Populated on: Linux, after `UdpSocket::report_header`.
    pub hop_limit: Option<u8>,
    /// Its timestamps; none is no fault of the datagram.
    pub timestamps: Timestamps,
    /// Whether the payload was cut to the buffer.
    pub truncated: bool,
    /// Whether control data was cut: a timestamp may be missing for that reason.
    pub control_truncated: bool,
}

impl<T: Transport> Received<T> {
    /// A message before anything was received.
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
    /// Room in the caller's buffer.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            received: Received::EMPTY,
        }
    }

    /// The received payload.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[..self.received.length.min(self.buffer.len())]
    }

    /// The whole buffer: for backends.
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        self.buffer
    }
}
