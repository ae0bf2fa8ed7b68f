//! The differences between the kinds of sockets: addresses, the header in front of a payload, and
//! options that only one kind has. Everything else is the same code for all.

use super::messages::Header;
use super::options;
use crate::native::call;
use crate::native::error::system_error;
use crate::native::wire::address::{self, AddressBytes};
use crate::native::wire::control::ReceivedControl;
use socket2::SockRef;
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use wirestamp_core::backend::{Transport, Udp, check_source};
use wirestamp_core::configuration::{IoUringUnavailable, Timestamping};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::{Error, ErrorKind, Result};

/// Source, destination.
pub(super) type Ends<T> = (
    Option<<T as Transport>::Address>,
    Option<<T as Transport>::Destination>,
);

/// A kind of socket.
pub trait Kind: Debug + Send + Sync {
    /// What its addresses are.
    type Transport: Transport;
    /// What stands before each payload.
    type Header: Header;
    /// Why it has no rings.
    const NO_RINGS: Option<IoUringUnavailable>;
    /// Whether the kernel can name the devices of its transmit timestamps.
    const NAMES_DEVICES: bool;

    /// Refuses an address that this socket can't send to.
    ///
    /// # Errors
    /// `InvalidInput`.
    fn check(&self, to: <Self::Transport as Transport>::Address) -> Result<()>;

    /// The address of this host that a packet is to come from.
    ///
    /// # Errors
    /// `InvalidInput` for one that this socket's family can't name.
    fn source(&self, source: <Self::Transport as Transport>::Source) -> Result<IpAddr>;

    /// Refuses a source that the kernel would ignore for this destination; `None`: the connected peer.
    ///
    /// # Errors
    /// `InvalidInput` for one of another family than the socket's or the destination's.
    fn check_source(
        &self,
        fd: BorrowedFd<'_>,
        source: <Self::Transport as Transport>::Source,
        to: Option<<Self::Transport as Transport>::Address>,
    ) -> Result<()>;

    /// Where a payload goes: as an address, or in what stands before it.
    fn envelope(
        &self,
        to: Option<<Self::Transport as Transport>::Address>,
    ) -> (AddressBytes, Self::Header);

    /// Between whom a packet went, by its address, its header and its control messages.
    #[doc(hidden)]
    fn ends(&self, name: &[u8], header: &[u8], control: &ReceivedControl) -> Ends<Self::Transport>;

    /// The one interface that its packets come in by, where the control messages don't say it.
    fn interface(&self) -> Option<InterfaceIndex>;

    /// Its own address.
    ///
    /// # Errors
    /// The system's.
    fn local_address(
        &self,
        fd: BorrowedFd<'_>,
    ) -> io::Result<<Self::Transport as Transport>::Address>;

    /// Joins or leaves a multicast group on an interface.
    ///
    /// # Errors
    /// `InvalidInput` if `group` is no multicast address; the system's.
    fn membership(
        &self,
        fd: &OwnedFd,
        group: <Self::Transport as Transport>::Group,
        interface: InterfaceIndex,
        join: bool,
    ) -> Result<()>;

    /// Bytes of the longest payload, where a longer one is refused before the kernel counts it.
    fn longest(&self) -> usize;

    /// Takes out what this kind of socket can't do.
    fn grantable(wanted: Timestamping) -> Timestamping;

    /// Which interface and address, and ICMP errors.
    ///
    /// # Errors
    /// The system's.
    fn set_information(
        &self,
        fd: BorrowedFd<'_>,
        packet_information: bool,
        icmp_errors: bool,
    ) -> io::Result<()>;

    /// An error of a send of so many bytes.
    fn send_error(operation: String, target: &str, error: &io::Error) -> Error {
        system_error(operation, target, error)
    }
}

/// UDP datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Datagrams {
    /// AF_INET6: IPv4 addresses are written as mapped ones.
    pub(super) ipv6: bool,
}

impl Datagrams {
    /// Refuses an address that this socket's family can't name.
    pub(super) fn check_family(self, operation: &'static str, address: SocketAddr) -> Result<()> {
        if self.ipv6 || address.is_ipv4() {
            return Ok(());
        }
        let cause = "an IPv6 address on an IPv4 socket";
        Err(
            Error::new(ErrorKind::InvalidInput, operation, address, cause)
                .with_remedy("bind to an IPv6 address"),
        )
    }
}

impl Kind for Datagrams {
    type Transport = Udp;
    type Header = [u8; 0];
    const NO_RINGS: Option<IoUringUnavailable> = None;
    const NAMES_DEVICES: bool = true;

    fn check(&self, to: SocketAddr) -> Result<()> {
        self.check_family("send", to)
    }

    fn source(&self, source: IpAddr) -> Result<IpAddr> {
        self.check_family("send from an address", (source, 0).into())?;
        Ok(source.to_canonical())
    }

    fn check_source(
        &self,
        fd: BorrowedFd<'_>,
        source: IpAddr,
        to: Option<SocketAddr>,
    ) -> Result<()> {
        self.source(source)?;
        let peer = || SockRef::from(&fd).peer_addr().ok()?.as_socket();
        to.or_else(peer)
            .map_or(Ok(()), |to| check_source(source, to))
    }

    #[inline]
    fn envelope(&self, to: Option<SocketAddr>) -> (AddressBytes, [u8; 0]) {
        let to = to.map_or(AddressBytes::NONE, |to| AddressBytes::new(to, self.ipv6));
        (to, [])
    }

    #[inline]
    fn ends(&self, name: &[u8], _: &[u8], control: &ReceivedControl) -> Ends<Udp> {
        (address::read(name), control.destination)
    }

    fn interface(&self) -> Option<InterfaceIndex> {
        None
    }

    fn local_address(&self, fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
        let local = SockRef::from(&fd).local_addr()?.as_socket();
        local
            .map(address::canonical)
            .ok_or_else(|| io::Error::other("no Internet address"))
    }

    fn membership(
        &self,
        fd: &OwnedFd,
        group: IpAddr,
        interface: InterfaceIndex,
        join: bool,
    ) -> Result<()> {
        options::membership(fd, group, interface, join)
    }

    fn longest(&self) -> usize {
        if self.ipv6 { 65_527 } else { 65_507 }
    }

    fn grantable(wanted: Timestamping) -> Timestamping {
        wanted
    }

    fn set_information(
        &self,
        fd: BorrowedFd<'_>,
        packet_information: bool,
        icmp_errors: bool,
    ) -> io::Result<()> {
        let set = |level, name, on: bool| call::set_number(fd, level, name, on.into());
        if self.ipv6 {
            set(
                libc::IPPROTO_IPV6,
                libc::IPV6_RECVPKTINFO,
                packet_information,
            )?;
            set(libc::IPPROTO_IPV6, libc::IPV6_RECVERR, icmp_errors)?;
        } else {
            set(libc::IPPROTO_IP, libc::IP_PKTINFO, packet_information)?;
        }
        set(libc::IPPROTO_IP, libc::IP_RECVERR, icmp_errors)
    }
}
