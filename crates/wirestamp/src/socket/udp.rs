//! UDP sockets: binding, connecting, multicast and IP options.

use super::{AnySocket, Socket};
use crate::address;
use crate::deadline::Deadline;
use crate::host::Host;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use wirestamp_core::Result;
use wirestamp_core::backend::{Backend, BindOptions, DatagramSocket, InternetSocket, Udp};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};

/// A UDP socket whose sent and received datagrams have timestamps.
///
/// [`bind`](Socket::bind) creates one; [`adopt`](Socket::adopt) takes over an existing one, from
/// `std`, `socket2` or elsewhere. [`Socket`] describes the rest.
pub type UdpSocket = Socket<Udp>;

impl Socket<Udp> {
    /// Binds a socket of this system to `local`, on all interfaces. If `local` resolves to several
    /// addresses, tries them in order. To bind to one interface, or to a simulated one, use
    /// [`Interface::bind`](crate::Interface::bind).
    ///
    /// # Errors
    /// `Busy` if the address is in use; `NoSuchDevice` if this system does not have the address;
    /// `NotPermitted` for a privileged port. If all of several addresses fail, the error of the
    /// last one.
    pub fn bind(local: impl ToSocketAddrs) -> Result<Self> {
        Self::bind_with(local, &BindOptions::new())
    }

    /// Binds a socket as [`bind`](Self::bind) does, with options. Options require Linux.
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

    /// Connects to a peer: [`send`](Self::send) sends to it, and only its datagrams are received.
    ///
    /// # Errors
    /// `Unreachable` if there is no route; `InvalidInput` for the wrong address family. If all of
    /// several addresses fail, the error of the last one.
    pub fn connect(&self, peer: impl ToSocketAddrs) -> Result<()> {
        address::first_that(peer, |peer| self.socket.connect(peer))
    }

    /// Joins a multicast group on an interface.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is not a multicast address; `NoSuchDevice`; `Busy` if the group is
    /// already joined there, or the system allows no more groups.
    pub fn join_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        self.socket.join_multicast(group, interface)
    }

    /// Leaves a multicast group on an interface.
    ///
    /// # Errors
    /// `NoSuchDevice` if the group is not joined there.
    pub fn leave_multicast(&self, group: IpAddr, interface: InterfaceIndex) -> Result<()> {
        self.socket.leave_multicast(group, interface)
    }

    /// Sets the interface and the hop limit for sent multicast, and whether this host receives it
    /// too.
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

    /// Sets the source address of datagrams sent from now on to `source`, an address of this host.
    /// `None` restores the default: the bound address, or the route's. A server that is bound to
    /// all addresses should reply from the address that the client used
    /// ([`Received::destination`](crate::Received::destination)), because clients drop replies from
    /// another one.
    ///
    /// An IPv4 source applies to IPv4 destinations only: datagrams to IPv6 destinations keep the
    /// route's address.
    ///
    /// # Errors
    /// `InvalidInput` for an IPv6 address on an IPv4 socket; `Closed`. Later sends fail if the host
    /// does not have the address (on Linux with `Unreachable` for IPv4 and `InvalidInput` for
    /// IPv6), and with `InvalidInput` for an IPv6 source and an IPv4 destination.
    pub fn set_source(&self, source: Option<IpAddr>) -> Result<()> {
        self.socket.set_source(source)
    }

    /// Enables [`traffic_class`](crate::Received::traffic_class) and
    /// [`hop_limit`](crate::Received::hop_limit) of received datagrams, from their IP headers.
    /// Linux only.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `Closed`.
    pub fn report_header(&self) -> Result<()> {
        self.socket.report_header()
    }

    /// Sets the traffic class (DSCP and ECN, 8 bits) of datagrams sent from now on. Linux only.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `NotPermitted` for a class that requires a
    /// privilege; `Closed`.
    pub fn set_traffic_class(&self, traffic_class: u8) -> Result<()> {
        self.socket.set_traffic_class(traffic_class)
    }

    /// Sets the hop limit (IPv4: TTL) of unicast datagrams sent from now on. Linux only.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `InvalidInput` for 0 over IPv4; `Closed`.
    pub fn set_hop_limit(&self, hop_limit: u8) -> Result<()> {
        self.socket.set_hop_limit(hop_limit)
    }

    /// Forbids IP fragmentation of datagrams sent from now on: sending one larger than the [path
    /// MTU](Self::path_mtu) fails, and routers drop one larger than their link's MTU. By default
    /// such datagrams are fragmented. Linux only.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `Closed`.
    pub fn forbid_fragments(&self) -> Result<()> {
        self.socket.forbid_fragments()
    }

    /// Returns the MTU of the path to the connected peer in bytes, including the IP header: the
    /// interface's MTU until a router reports a smaller one. Linux only.
    ///
    /// # Errors
    /// `NotSupported` on Windows and in the simulator; `Io` if the socket is not connected; `Closed`.
    pub fn path_mtu(&self) -> Result<u32> {
        self.socket.path_mtu()
    }

    /// Waits until one of `sockets` has a datagram or a transmit timestamp, or is closed, at most
    /// until `deadline`. It may return early without a cause. Programs that serve several sockets
    /// in one thread then call [`try_receive_batch`](Self::try_receive_batch) and
    /// [`transmit_timestamps`](Self::transmit_timestamps), which do not wait.
    ///
    /// # Errors
    /// `InvalidInput` if the sockets are not all of this system or all of one simulation; `Io`.
    pub fn wait_any(sockets: &[&Self], deadline: impl Into<Deadline>) -> Result<()> {
        Self::wait_ready(sockets, deadline, &mut Vec::new())
    }

    /// Waits like [`wait_any`](Self::wait_any), and writes the indexes in `sockets` of the ready
    /// ones into `ready`, lowest first, so that a program with many sockets reads from these only.
    /// `ready` is empty after the deadline. A listed socket may have nothing to read.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_ready(
        sockets: &[&Self],
        deadline: impl Into<Deadline>,
        ready: &mut Vec<usize>,
    ) -> Result<()> {
        let sockets: Vec<_> = sockets.iter().copied().map(AnySocket::Udp).collect();
        AnySocket::wait_ready(&sockets, deadline, ready)
    }
}
