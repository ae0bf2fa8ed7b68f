//! PTP over UDP: ports, multicast groups, the octets after a message over IPv6, and the errors if a
//! socket cannot be opened.
//!
//! Source: IEEE 1588-2008, annexes D (IPv4) and E (IPv6).

use super::{EVENT, GENERAL};
use crate::message::LONGEST;
use crate::owner;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirestamp::{Error, ErrorKind, Interface, Result, TransmitId, UdpSocket};

const GROUP_4: Ipv4Addr = Ipv4Addr::new(224, 0, 1, 129);
const PEER_GROUP_4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 107);
const GROUP_6: Ipv6Addr = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 0x181);
const PEER_GROUP_6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x6b);
/// The octets after a message over IPv6: room for a checksum correction on the path (annex E).
const TRAILER: usize = 2;

/// Over which Internet Protocol messages go, and through how many routers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Udp {
    pub(super) is_ipv6: bool,
    pub(super) hops: u8,
}

impl Udp {
    /// Binds the socket of one port, in both groups.
    pub(super) fn open(self, interface: &Interface, port: u16) -> Result<UdpSocket> {
        let socket = self.bind(interface, port)?;
        for group in self.groups() {
            socket.join_multicast(group, interface.index())?;
        }
        socket.set_multicast(interface.index(), self.hops.into(), false)?;
        Ok(socket)
    }

    /// Joins the groups again: the system forgets them with the interface, the sockets do not. All leave before
    /// one joins, because over IPv4 a membership that is left counts as the interface's new one.
    pub(super) fn join_again(self, sockets: &[&UdpSocket], interface: &Interface) -> Result<()> {
        let all = || {
            let groups = self.groups();
            let each = sockets.iter();
            each.flat_map(move |socket| groups.map(|group| (socket, group)))
        };
        for (socket, group) in all() {
            let _ = socket.leave_multicast(group, interface.index());
        }
        all().try_for_each(|(socket, group)| socket.join_multicast(group, interface.index()))
    }

    /// Checks that both ports are free on this interface.
    pub(super) fn check_free(self, interface: &Interface) -> Result<()> {
        [EVENT, GENERAL]
            .into_iter()
            .try_for_each(|port| self.bind(interface, port).map(drop))
    }

    pub(super) fn send(
        self,
        socket: &UdpSocket,
        interface: &Interface,
        message: &[u8],
        peers: bool,
        id: Option<TransmitId>,
    ) -> Result<()> {
        let mut room = [0; LONGEST + TRAILER];
        let length = message.len().min(LONGEST);
        room[..length].copy_from_slice(&message[..length]);
        let trailer = if self.is_ipv6 { TRAILER } else { 0 };
        let port = if id.is_some() { EVENT } else { GENERAL };
        let [group, peer_group] = self.groups();
        let limited = peers && self.hops != 1; // peer delay messages must not leave the link
        if limited {
            socket.set_multicast(interface.index(), 1, false)?;
        }
        let group = if peers { peer_group } else { group };
        let sent = socket.send_to(&room[..length + trailer], SocketAddr::new(group, port), id);
        if limited {
            socket.set_multicast(interface.index(), self.hops.into(), false)?;
        }
        sent
    }

    fn bind(self, interface: &Interface, port: u16) -> Result<UdpSocket> {
        let any: IpAddr = match self.is_ipv6 {
            false => Ipv4Addr::UNSPECIFIED.into(),
            true => Ipv6Addr::UNSPECIFIED.into(),
        };
        interface
            .bind(SocketAddr::new(any, port))
            .map_err(|error| explained(error, port))
    }

    fn groups(self) -> [IpAddr; 2] {
        match self.is_ipv6 {
            false => [GROUP_4.into(), PEER_GROUP_4.into()],
            true => [GROUP_6.into(), PEER_GROUP_6.into()],
        }
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
             sudo setcap cap_net_admin,cap_net_bind_service,cap_net_raw=ep \"$(command -v wirestamp)\"",
        ),
        _ => error,
    }
}
