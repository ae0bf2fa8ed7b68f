//! The two sockets of a port: addresses, multicast groups, the octets after a message over IPv6,
//! and the errors if a socket cannot be opened.
//!
//! Source: IEEE 1588-2008, annexes D (IPv4) and E (IPv6).

#[cfg(all(target_os = "linux", not(wirestamp_unsupported)))]
mod filter;
#[cfg(any(not(target_os = "linux"), wirestamp_unsupported))]
mod filter_elsewhere;
#[cfg(any(not(target_os = "linux"), wirestamp_unsupported))]
use filter_elsewhere as filter;

use crate::configuration::{Configuration, Transport};
use crate::message::LONGEST;
use crate::owner;
use crate::trust::Thinned;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp::{
    Error, ErrorKind, Interface, InterfaceIndex, Result, Source, Timestamping, TransmitId,
    UdpSocket,
};

/// The port of event messages, which are timestamped.
const EVENT: u16 = 319;
/// The port of all other messages.
const GENERAL: u16 = 320;
const GROUP_4: Ipv4Addr = Ipv4Addr::new(224, 0, 1, 129);
const PEER_GROUP_4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 107);
const GROUP_6: Ipv6Addr = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 0x181);
const PEER_GROUP_6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x6b);
/// The octets after a message over IPv6: room for a checksum correction on the path (annex E).
const TRAILER: usize = 2;
/// The capacity of transmit timestamps.
pub(crate) const AWAITED: u16 = 64;

/// The sockets of one port.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) event: UdpSocket,
    pub(crate) general: UdpSocket,
    transport: Transport,
    hops: u8,
    interface: Interface,
}

impl Sockets {
    /// Opens and configures both sockets.
    pub(crate) fn open(
        interface: &Interface,
        configuration: &Configuration,
        timestamps: Source,
    ) -> Result<Self> {
        let open = |port| -> Result<UdpSocket> {
            let any: IpAddr = match configuration.transport {
                Transport::Udp4 => Ipv4Addr::UNSPECIFIED.into(),
                Transport::Udp6 => Ipv6Addr::UNSPECIFIED.into(),
            };
            let socket = interface
                .bind(SocketAddr::new(any, port))
                .map_err(|error| explained(error, port))?;
            let (group, peer_group) = groups(configuration.transport);
            socket.join_multicast(group, interface.index())?;
            socket.join_multicast(peer_group, interface.index())?;
            socket.set_multicast(interface.index(), configuration.hops.into(), false)?;
            Ok(socket)
        };
        let event = open(EVENT)?;
        event.configure(
            Timestamping::OFF
                .receive()
                .transmit(AWAITED)
                .source(timestamps),
        )?;
        Ok(Self {
            event,
            general: open(GENERAL)?,
            transport: configuration.transport,
            hops: configuration.hops,
            interface: interface.clone(),
        })
    }

    /// Returns the index of the interface that they are bound to.
    pub(crate) fn interface(&self) -> InterfaceIndex {
        self.interface.index()
    }

    /// Sets or removes the filter that drops messages of unknown senders. Returns whether the
    /// system supports it.
    pub(crate) fn thin_out(&self, event: bool, thinned: Option<&Thinned>) -> bool {
        filter::set(if event { &self.event } else { &self.general }, thinned)
    }

    /// Returns the number of datagrams that the system has dropped, by the filter or for lack of
    /// room.
    pub(crate) fn dropped(&self, event: bool) -> u64 {
        if event { &self.event } else { &self.general }
            .receive_counters()
            .dropped
    }

    /// Sends a message, with an ID on the event port.
    pub(crate) fn send(&self, message: &[u8], peers: bool, id: Option<TransmitId>) -> Result<()> {
        let mut room = [0; LONGEST + TRAILER];
        let length = message.len().min(LONGEST);
        room[..length].copy_from_slice(&message[..length]);
        let trailer = if self.transport == Transport::Udp6 {
            TRAILER
        } else {
            0
        };
        let (socket, port) = if id.is_some() {
            (&self.event, EVENT)
        } else {
            (&self.general, GENERAL)
        };
        let (group, peer_group) = groups(self.transport);
        let limited = peers && self.hops != 1; // peer delay messages must not leave the link
        if limited {
            socket.set_multicast(self.interface.index(), 1, false)?;
        }
        let group = if peers { peer_group } else { group };
        let sent = socket.send_to(&room[..length + trailer], SocketAddr::new(group, port), id);
        if limited {
            socket.set_multicast(self.interface.index(), self.hops.into(), false)?;
        }
        sent
    }
}

/// Checks that both ports are free on this interface.
pub(crate) fn check_free(interface: &Interface, configuration: &Configuration) -> Result<()> {
    let any: IpAddr = match configuration.transport {
        Transport::Udp4 => Ipv4Addr::UNSPECIFIED.into(),
        Transport::Udp6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    for port in [EVENT, GENERAL] {
        drop(
            interface
                .bind(SocketAddr::new(any, port))
                .map_err(|error| explained(error, port))?,
        );
    }
    Ok(())
}

fn groups(transport: Transport) -> (IpAddr, IpAddr) {
    match transport {
        Transport::Udp4 => (GROUP_4.into(), PEER_GROUP_4.into()),
        Transport::Udp6 => (GROUP_6.into(), PEER_GROUP_6.into()),
    }
}

/// Adds the remedy if a port cannot be bound.
fn explained(error: Error, port: u16) -> Error {
    match error.kind() {
        ErrorKind::Busy => {
            let who = owner::of_udp_port(port).unwrap_or_else(|| {
                "another PTP program, perhaps ptp4l, statime or the Windows Time service's PTP client".to_owned()
            });
            error.with_remedy(format!(
                "port {port} belongs to {who}: end it, or use another interface"
            ))
        }
        ErrorKind::NotPermitted => error.with_remedy(
            "ports 319 and 320 need CAP_NET_BIND_SERVICE: run as root, or once \
             sudo setcap cap_net_admin,cap_net_bind_service=ep \"$(command -v wirestamp)\"",
        ),
        _ => error,
    }
}
