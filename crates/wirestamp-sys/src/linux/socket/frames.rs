//! Ethernet frames: how a packet socket is opened, what its frames' headers say, and its groups.
//!
//! A packet socket of one ethertype sees a frame after the kernel has removed its VLAN tag, and none that a
//! bridge has taken. So it is one of all ethertypes, as `tcpdump`'s and `ptp4l`'s are, with a filter in the
//! kernel that passes only the one: it sees each frame first, and the tag is reported.
//!
//! Source: packet(7); the kernel's `Documentation/networking/filter.rst`; IEEE 802.3-2022, 3.2.

use super::adopt::Former;
use super::kind::{Ends, Kind};
use super::{Socket, options};
use crate::native::call;
use crate::native::error::system_error;
use crate::native::wire::address::AddressBytes;
use crate::native::wire::constants::{PACKET_IGNORE_OUTGOING, SO_RXQ_OVFL};
use crate::native::wire::control::ReceivedControl;
use crate::native::wire::link::{self, HEADER, LinkAddress};
use socket2::{Domain, SockFilter, SockRef, Type};
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use wirestamp_core::backend::Ethernet;
use wirestamp_core::configuration::{IoUringUnavailable, Timestamping};
use wirestamp_core::ethernet::{Ethertype, FrameDestination, MacAddress};
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::{Error, ErrorKind, Result};

const OPEN: &str = "open an Ethernet socket";

/// Ethernet frames of one ethertype.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// What the interface is called on the wire: the source of what is sent.
    pub(super) own: MacAddress,
    ethertype: Ethertype,
    index: InterfaceIndex,
}

impl Kind for Frames {
    type Transport = Ethernet;
    type Header = [u8; HEADER];
    const NO_RINGS: Option<IoUringUnavailable> = Some(IoUringUnavailable::new(
        "Ethernet sockets send and receive by calls",
        None,
    ));
    const NAMES_DEVICES: bool = false;

    fn check(&self, _: MacAddress) -> Result<()> {
        Ok(())
    }

    fn source(&self, source: Infallible) -> Result<IpAddr> {
        match source {}
    }

    fn check_source(
        &self,
        _: BorrowedFd<'_>,
        source: Infallible,
        _: Option<MacAddress>,
    ) -> Result<()> {
        match source {}
    }

    /// Without a destination the frame goes to the interface itself: nobody else takes it.
    fn envelope(&self, to: Option<MacAddress>) -> (AddressBytes, [u8; HEADER]) {
        let header = link::header(to.unwrap_or(self.own), self.own, self.ethertype);
        (AddressBytes::NONE, header)
    }

    fn ends(&self, _: &[u8], header: &[u8], control: &ReceivedControl) -> Ends<Ethernet> {
        let Some((destination, source)) = link::ends(header) else {
            return (None, None);
        };
        let destination = FrameDestination::new(destination, control.vlan);
        (Some(source), Some(destination))
    }

    fn interface(&self) -> Option<InterfaceIndex> {
        Some(self.index)
    }

    /// A socket whose interface went has none, even if an interface with the same index came.
    fn local_address(&self, fd: BorrowedFd<'_>) -> io::Result<MacAddress> {
        let mut bound = [0; link::ADDRESS];
        call::bound_to(fd, &mut bound)?;
        if link::index(&bound) == Some(self.index) {
            Ok(self.own)
        } else {
            Err(io::Error::from_raw_os_error(libc::ENODEV))
        }
    }

    fn membership(
        &self,
        fd: &OwnedFd,
        group: MacAddress,
        interface: InterfaceIndex,
        join: bool,
    ) -> Result<()> {
        let (operation, name) = if join {
            (options::JOIN, libc::PACKET_ADD_MEMBERSHIP)
        } else {
            (options::LEAVE, libc::PACKET_DROP_MEMBERSHIP)
        };
        let refused =
            |cause: &'static str| Err(Error::new(ErrorKind::InvalidInput, operation, group, cause));
        if !group.is_multicast() {
            return refused("not a multicast address");
        }
        if interface != self.index {
            return refused("the socket is bound to another interface");
        }
        let request = link::membership(interface, group);
        call::set_option(fd.as_fd(), libc::SOL_PACKET, name, &request)
            .map_err(|error| system_error(operation, group, &error))
    }

    /// The kernel counts some frames that are too long, and refuses others before it counts.
    fn longest(&self) -> usize {
        usize::MAX
    }

    fn grantable(mut wanted: Timestamping) -> Timestamping {
        wanted.icmp_errors = false;
        wanted
    }

    fn set_information(&self, _: BorrowedFd<'_>, _: bool, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn send_error(operation: String, target: &str, error: &io::Error) -> Error {
        let described = system_error(operation, target, error);
        match error.raw_os_error() {
            Some(libc::EMSGSIZE) => {
                described.with_remedy("a frame's payload is at most as long as the interface's MTU")
            }
            _ => described,
        }
    }
}

impl Socket<Frames> {
    /// Opens a socket for the frames of `ethertype` on `interface`.
    pub(in super::super) fn open_frames(
        interface: &InterfaceDescription,
        ethertype: Ethertype,
    ) -> Result<Self> {
        let failed = |error: io::Error| open_error(interface, &error);
        let fd = socket2::Socket::new(Domain::PACKET, Type::RAW.nonblocking(), None);
        let fd = fd.map_err(failed)?;
        // Before it is bound nothing comes in: no frame passes it by.
        SockRef::from(&fd)
            .attach_filter(&filter(ethertype))
            .map_err(failed)?;
        let set = |level, name| call::set_number(fd.as_fd(), level, name, 1);
        set(libc::SOL_PACKET, libc::PACKET_AUXDATA).map_err(failed)?;
        set(libc::SOL_SOCKET, SO_RXQ_OVFL).map_err(failed)?;
        // Kernels before 4.20 lack it; the filter does the same later.
        let _ = set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING);
        let place = LinkAddress::of_all_ethertypes(interface.index);
        call::bind(fd.as_fd(), &place).map_err(failed)?;
        let mut bound = [0; link::ADDRESS];
        call::bound_to(fd.as_fd(), &mut bound).map_err(failed)?;
        let own = link::own_address(&bound).ok_or_else(|| {
            let cause = "the interface has no Ethernet frames";
            Error::new(ErrorKind::NotSupported, OPEN, &interface.name, cause)
                .with_remedy("use a UDP socket there")
        })?;
        let kind = Frames {
            own,
            ethertype,
            index: interface.index,
        };
        let name = format!("the Ethernet socket of {ethertype} on {}", interface.name);
        Ok(Self::around(
            fd.into(),
            kind,
            Some(interface.index),
            name,
            Former::default(),
        ))
    }
}

fn open_error(interface: &InterfaceDescription, error: &io::Error) -> Error {
    let described = system_error(OPEN, &interface.name, error);
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            described.with_remedy("run as root or grant CAP_NET_RAW")
        }
        _ => described,
    }
}

/// Where the kernel's machine finds the ethertype (behind a VLAN tag), and to whom the frame is.
const ETHERTYPE: u32 = 0xffff_f000;
const ADDRESSED_TO: u32 = 0xffff_f000 + 4;
/// `PACKET_OTHERHOST`, `PACKET_OUTGOING` (`linux/if_packet.h`).
const ANOTHER_HOST: u32 = 3;
const OUTGOING: u32 = 4;

/// An instruction of the kernel's machine: code, where to go on if true and if not, operand.
type Instruction = (u16, u8, u8, u32);

impl Frames {
    /// Drops what has another ethertype, was sent by this host, or is for another one. A program goes on
    /// behind these with what is left: it takes the place of the socket's own filter.
    pub const fn own(ethertype: Ethertype) -> [Instruction; 8] {
        const DROP: Instruction = (0x06, 0, 0, 0);
        [
            (0x28, 0, 0, ETHERTYPE),
            (0x15, 1, 0, ethertype.get() as u32),
            DROP,
            (0x28, 0, 0, ADDRESSED_TO),
            (0x15, 0, 1, ANOTHER_HOST),
            DROP,
            (0x15, 0, 1, OUTGOING),
            DROP,
        ]
    }
}

/// Lets pass the socket's own frames.
fn filter(ethertype: Ethertype) -> Vec<SockFilter> {
    const PASS: Instruction = (0x06, 0, 0, u32::MAX);
    let program = Frames::own(ethertype).into_iter().chain([PASS]);
    program
        .map(|(code, then, otherwise, operand)| SockFilter::new(code, then, otherwise, operand))
        .collect()
}

#[cfg(test)]
mod tests;
