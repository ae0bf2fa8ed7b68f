//! Which socket has which address: binding, connecting, multicast groups.

use crate::codes::{Refusal, closed};
use crate::socket::{Local, Membership, SocketId, SocketState};
use crate::state::State;
use crate::transmit::canonical;
use std::net::{IpAddr, SocketAddr};
use wirestamp_core::Result;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};

/// Ports that are given to who asks for any.
const EPHEMERAL: u16 = 49_152;

impl State {
    /// Binds a socket.
    pub(crate) fn bind(
        &mut self,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
    ) -> Result<SocketId> {
        const OPERATION: &str = "bind a UDP socket";
        self.pass(self.cost.query);
        let placement = self.clocks.placement(self.now);
        let mut socket = SocketState::new(Local::Internet(canonical(local)), &self.host, placement);
        if let Some(interface) = interface {
            self.check_interface(interface, OPERATION)?;
            socket.interface = Some(interface.index);
        }
        let mut bound = canonical(local);
        let port = self
            .check_address(&mut socket, bound)
            .map_err(|refusal| refusal.error(self.platform, OPERATION, local))?;
        bound.set_port(port);
        socket.local = Local::Internet(bound);
        Ok(self.add_socket(socket))
    }

    pub(crate) fn add_socket(&mut self, socket: SocketState) -> SocketId {
        let id = SocketId(self.next_socket);
        self.next_socket += 1;
        self.sockets.insert(id, socket);
        id
    }

    /// Finds whose address it is, and the port.
    fn check_address(
        &mut self,
        socket: &mut SocketState,
        local: SocketAddr,
    ) -> Result<u16, Refusal> {
        let (address, port) = (local.ip(), local.port());
        socket.home = self.nics.iter().position(|nic| nic.has(address));
        if socket.home.is_none() && !address.is_unspecified() && !address.is_multicast() {
            return Err(Refusal::AddressNotAvailable);
        }
        match port {
            0 => self.free_port(socket, address),
            _ if !self.may_bind(port) => Err(Refusal::AccessDenied),
            _ if self.is_taken(socket, local) => Err(Refusal::AddressInUse),
            _ => Ok(port),
        }
    }

    fn may_bind(&self, port: u16) -> bool {
        self.host.privileged || port >= self.host.unprivileged_port_start
    }

    fn free_port(&mut self, socket: &SocketState, address: IpAddr) -> Result<u16, Refusal> {
        for _ in EPHEMERAL..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(EPHEMERAL);
            if !self.is_taken(socket, (address, port).into()) {
                return Ok(port);
            }
        }
        Err(Refusal::AddressInUse)
    }

    fn is_taken(&self, wanted: &SocketState, local: SocketAddr) -> bool {
        self.sockets.values().any(|other| {
            let Some(taken) = other.address() else {
                return false;
            };
            let (mine, theirs) = (local.ip(), taken.ip());
            let overlaps = mine == theirs || covers(mine, theirs) || covers(theirs, mine);
            let same_interface = match (wanted.interface, other.interface) {
                (Some(mine), Some(theirs)) => mine == theirs,
                _ => true,
            };
            taken.port() == local.port() && overlaps && same_interface
        })
    }

    /// Fixes the peer of a socket.
    pub(crate) fn connect(&mut self, id: SocketId, peer: SocketAddr) -> Result<()> {
        const OPERATION: &str = "connect";
        let to = canonical(peer);
        let checked = self
            .sockets
            .get(&id)
            .ok_or(Refusal::InvalidArgument)
            .and_then(|socket| {
                if !socket.can_name(to) {
                    return Err(Refusal::AddressFamily);
                }
                if to.port() == 0 || to.ip().is_unspecified() {
                    return Err(Refusal::InvalidArgument);
                }
                self.source_for(socket, None, to.ip())
            });
        let source = checked.map_err(|refusal| refusal.error(self.platform, OPERATION, peer))?;
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.peer = Some(to);
            let unspecified = socket
                .address()
                .filter(|local| local.ip().is_unspecified() && !to.ip().is_multicast());
            if let Some(mut local) = unspecified {
                local.set_ip(source);
                socket.local = Local::Internet(local);
                socket.home = self.nics.iter().position(|nic| nic.has(source));
            }
        }
        Ok(())
    }

    /// Joins a group on an interface.
    pub(crate) fn join(
        &mut self,
        id: SocketId,
        group: IpAddr,
        interface: InterfaceIndex,
    ) -> Result<()> {
        let joined = self
            .membership(id, group, interface)
            .and_then(|membership| {
                let Some(socket) = self.sockets.get_mut(&id) else {
                    return Err(Refusal::InvalidArgument);
                };
                if socket.memberships.contains(&membership) {
                    return Err(Refusal::AddressInUse);
                }
                socket.memberships.push(membership);
                Ok(())
            });
        joined.map_err(|refusal| refusal.error(self.platform, "join the multicast group", group))
    }

    /// Leaves a group on an interface.
    pub(crate) fn leave_group(
        &mut self,
        id: SocketId,
        group: IpAddr,
        interface: InterfaceIndex,
    ) -> Result<()> {
        let left = self
            .membership(id, group, interface)
            .and_then(|membership| {
                let Some(socket) = self.sockets.get_mut(&id) else {
                    return Err(Refusal::InvalidArgument);
                };
                let place = socket
                    .memberships
                    .iter()
                    .position(|other| *other == membership);
                socket
                    .memberships
                    .remove(place.ok_or(Refusal::AddressNotAvailable)?);
                Ok(())
            });
        left.map_err(|refusal| refusal.error(self.platform, "leave the multicast group", group))
    }

    fn membership(
        &self,
        id: SocketId,
        group: IpAddr,
        interface: InterfaceIndex,
    ) -> Result<Membership, Refusal> {
        let group = group.to_canonical();
        let socket = self.sockets.get(&id).ok_or(Refusal::InvalidArgument)?;
        let names_ipv6 = socket.address().is_some_and(|local| local.is_ipv6());
        if !group.is_multicast() || group.is_ipv6() && !names_ipv6 {
            return Err(Refusal::InvalidArgument);
        }
        Ok(Membership {
            group,
            place: self.place_of(interface).ok_or(Refusal::NoDevice)?,
        })
    }

    /// Chooses which address datagrams come from.
    pub(crate) fn set_source(&mut self, id: SocketId, source: Option<IpAddr>) -> Result<()> {
        const OPERATION: &str = "send from an address";
        let Some(socket) = self.sockets.get_mut(&id) else {
            return Err(closed(OPERATION, "the socket"));
        };
        if let Some(source) = source.filter(|source| !socket.can_name((*source, 0).into())) {
            return Err(Refusal::AddressFamily.error(self.platform, OPERATION, source));
        }
        socket.source = source.map(|source| source.to_canonical());
        Ok(())
    }

    /// Chooses how multicast leaves.
    pub(crate) fn set_multicast(
        &mut self,
        id: SocketId,
        interface: InterfaceIndex,
        hops: u32,
        loopback: bool,
    ) -> Result<()> {
        const OPERATION: &str = "choose how multicast is sent";
        let refuse = |refusal: Refusal, platform| {
            refusal.error(platform, OPERATION, format_args!("interface {interface}"))
        };
        let place = self
            .place_of(interface)
            .ok_or_else(|| refuse(Refusal::NoDevice, self.platform))?;
        if hops > 255 {
            return Err(
                refuse(Refusal::InvalidArgument, self.platform).with_remedy("use 0 to 255 hops")
            );
        }
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.multicast_from = Some(place);
            socket.multicast_loopback = loopback;
        }
        Ok(())
    }
}

/// Whether a wildcard address covers another one: IPv6's covers IPv4 too.
fn covers(wildcard: IpAddr, other: IpAddr) -> bool {
    wildcard.is_unspecified() && (wildcard.is_ipv6() || other.is_ipv4())
}
