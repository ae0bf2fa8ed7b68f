//! What only UDP sockets have: addresses to bind and to connect to, multicast groups of the Internet protocols.

use super::Socket;
use crate::address;
use crate::deadline::Deadline;
use crate::host::Host;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use wirestamp_core::backend::{Backend, BindOptions, DatagramSocket, InternetSocket, Udp};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::{Error, ErrorKind, Result};

/// A UDP socket whose datagrams carry timestamps, received ones and sent ones.
///
/// [`bind`](Socket::bind) makes one; [`adopt`](Socket::adopt) takes one that the program has already, from `std`,
/// `socket2` or elsewhere. What else it does is described at [`Socket`].
pub type UdpSocket = Socket<Udp>;

impl Socket<Udp> {
    /// Binds a socket of this system to `local`, on any interface: to the first of its addresses that can be had. For one interface, or for
    /// a simulated one, see [`Interface::bind`](crate::Interface::bind).
    ///
    /// # Errors
    /// `Busy` if the address is taken; `NoSuchDevice` if the address is none of this
    /// system's; `NotPermitted` for a port that needs privilege. Of several addresses, the error is that of the last.
    pub fn bind(local: impl ToSocketAddrs) -> Result<Self> {
        Self::bind_with(local, &BindOptions::new())
    }

    /// Binds a socket as [`bind`](Self::bind) does, with options. Populated on: Linux.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")]
    /// # fn main() -> wirestamp::Result<()> {
    /// use wirestamp::socket::BindOptions;
    /// use wirestamp::UdpSocket;
    ///
    /// let shared = BindOptions::new().reuse_port();
    /// let one = UdpSocket::bind_with("127.0.0.1:0", &shared)?;
    /// let other = UdpSocket::bind_with(one.local_address()?, &shared)?;
    /// # assert_eq!(one.local_address()?, other.local_address()?);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(target_os = "linux"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// As [`bind`](Self::bind); `NotSupported` for options on Windows.
    pub fn bind_with(local: impl ToSocketAddrs, options: &BindOptions) -> Result<Self> {
        address::first_that(local, |local| {
            Self::on(Host::native(), local, None, options)
        })
    }

    pub(crate) fn on(
        host: &Arc<Host>,
        local: SocketAddr,
        interface: Option<&InterfaceDescription>,
        options: &BindOptions,
    ) -> Result<Self> {
        let socket = host.bind_with(local, interface, options)?;
        let leaves_by = match interface {
            Some(interface) => Some(interface.index),
            None if local.ip().is_loopback() => host.loopback()?,
            None => None,
        };
        let tracker = socket.tracker();
        Ok(Self::around(host, socket, tracker, leaves_by))
    }

    /// Connects to a peer: [`send`](Self::send) goes there, and only its datagrams are received.
    ///
    /// # Errors
    /// `Unreachable` if there is no route; `InvalidInput` for the wrong address family. Of several addresses, the error
    /// is that of the last.
    pub fn connect(&self, peer: impl ToSocketAddrs) -> Result<()> {
        address::first_that(peer, |peer| self.socket.connect(peer))
    }

    /// Joins a multicast group on an interface.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is no multicast address; `NoSuchDevice`; `Busy` if it is
    /// joined there already or the system allows no more.
    pub fn join_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        self.socket.join_multicast(group, interface)
    }

    /// Leaves a multicast group on an interface.
    ///
    /// # Errors
    /// `NoSuchDevice` if it is not joined there.
    pub fn leave_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        self.socket.leave_multicast(group, interface)
    }

    /// Chooses the interface that multicast leaves by, its hop limit, and whether this host
    /// receives its own.
    ///
    /// # Errors
    /// `NoSuchDevice`; `InvalidInput` for a hop limit above 255.
    pub fn set_multicast(
        &self,
        interface: InterfaceIndex,
        hops: u32,
        loopback: bool,
    ) -> Result<()> {
        self.socket.set_multicast(interface, hops, loopback)
    }

    /// Has the datagrams that are sent from now on come from `source`, an address of this host; with `None`, from the address that
    /// the socket is bound to, and else from the one that the route has. A server that is bound to all addresses answers so from the one that was asked,
    /// [`Received::destination`](crate::Received::destination): clients drop what comes from another.
    ///
    /// An IPv4 address is for IPv4 destinations alone: datagrams to IPv6 destinations come from the route's address as before.
    ///
    /// # Errors
    /// `InvalidInput` for an IPv6 address on an IPv4 socket; `Closed`. If the host does not have the address, sends fail: on Linux with `Unreachable` for an IPv4
    /// address and `InvalidInput` for an IPv6 address; also with `InvalidInput` for an IPv6 address and an IPv4 destination.
    pub fn set_source(&self, source: Option<IpAddr>) -> Result<()> {
        self.socket.set_source(source)
    }

    /// Has received datagrams report [`traffic_class`](crate::Received::traffic_class) and
    /// [`hop_limit`](crate::Received::hop_limit) of their IP headers. Populated on: Linux.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `Closed`.
    pub fn report_header(&self) -> Result<()> {
        self.socket.report_header()
    }

    /// Sets the traffic class (DSCP and ECN, 8 bits) of the datagrams that are sent from now on. Populated on: Linux.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `NotPermitted` for a class that needs privilege; `Closed`.
    pub fn set_traffic_class(&self, traffic_class: u8) -> Result<()> {
        self.socket.set_traffic_class(traffic_class)
    }

    /// Sets the hop limit (IPv4: TTL) of the unicast datagrams that are sent from now on. Populated on: Linux.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `InvalidInput` for 0 over IPv4; `Closed`.
    pub fn set_hop_limit(&self, hop_limit: u8) -> Result<()> {
        self.socket.set_hop_limit(hop_limit)
    }

    /// Forbids fragments: from now on the system refuses to send a datagram that is larger than the [path's MTU](Self::path_mtu), and routers drop one that
    /// is larger than their link's. Without it such datagrams travel in fragments. Populated on: Linux.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `Closed`.
    pub fn forbid_fragments(&self) -> Result<()> {
        self.socket.forbid_fragments()
    }

    /// Returns the MTU of the path to the connected peer in bytes, IP header included: that of the interface until a router reports a smaller one.
    /// Populated on: Linux.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `Io` if the socket is not connected; `Closed`.
    pub fn path_mtu(&self) -> Result<u32> {
        self.socket.path_mtu()
    }

    /// Waits until one of `sockets` has a datagram to receive or something in its queue of
    /// transmit timestamps, or is closed, or until `deadline`. May end early for no reason. For
    /// programs that serve several sockets in one thread; what has come is then fetched with
    /// [`try_receive_batch`](Self::try_receive_batch) and
    /// [`transmit_timestamps`](Self::transmit_timestamps), which do not wait.
    ///
    /// # Errors
    /// `InvalidInput` if the sockets are not all of this system, or all of one simulation; `Io`.
    pub fn wait_any(sockets: &[&Self], deadline: impl Into<Deadline>) -> Result<()> {
        Self::wait_ready(sockets, deadline, &mut Vec::new())
    }

    /// Like [`wait_any`](Self::wait_any), and says for which sockets the wait ended: their places in `sockets` are written into
    /// `ready`, lowest first; none after the deadline. So a program with many sockets reads from those alone that have something. A socket may be
    /// named although nothing is left to read.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_ready(
        sockets: &[&Self],
        deadline: impl Into<Deadline>,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        ready.clear();
        let Some(first) = sockets.first() else {
            return Ok(());
        };
        Self::check_same_system(sockets)?;
        let inner: Vec<_> = sockets.iter().map(|socket| &socket.socket).collect();
        let until = deadline.into().resolve(|| first.host.now());
        first.host.wait_any(&inner, until, ready)?;
        ready.sort_unstable();
        Ok(())
    }

    /// Waits until `deadline`, whatever comes; in a simulation, virtual time passes. For programs whose sockets are all gone.
    pub fn sleep_until(&self, deadline: impl Into<Deadline>) {
        let until = deadline.into().resolve(|| self.host.now());
        self.host.sleep_until(until);
    }

    /// Refuses sockets of systems whose times pass apart.
    pub(crate) fn check_same_system(sockets: &[&Self]) -> Result<()> {
        let Some(first) = sockets.first() else {
            return Ok(());
        };
        if sockets
            .iter()
            .all(|socket| Arc::ptr_eq(&socket.host, &first.host))
        {
            return Ok(());
        }
        let cause = "the sockets are of different systems, whose times pass apart";
        Err(Error::new(
            ErrorKind::InvalidInput,
            "wait for several sockets",
            first.shown(),
            cause,
        )
        .with_remedy("wait for the sockets of each simulation by themselves"))
    }
}
