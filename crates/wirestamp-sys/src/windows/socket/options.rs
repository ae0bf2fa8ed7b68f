//! The socket's options: families, interfaces, multicast. Timestamping is in `timestamps`.
//!
//! Source: `ws2ipdef.h`, `mswsock.h`; the reference pages "IPPROTO_IP Socket Options" and
//! "IPPROTO_IPV6 Socket Options".

use crate::abi::numbers::{AF_INET, AF_INET6};
use crate::native::error::system_error;
use crate::native::{call, interface};
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::windows::io::{AsSocket, BorrowedSocket, OwnedSocket};
use windows_sys::Win32::Networking::WinSock as ws;
use wirestamp_core::interface::{InterfaceDescription, InterfaceIndex};
use wirestamp_core::{Error, ErrorKind, Result};

const ON: [u8; 4] = 1i32.to_ne_bytes();
const OFF: [u8; 4] = 0i32.to_ne_bytes();

/// Opens a non-blocking socket for `local`; dual-stack for the IPv6 "any" address.
pub(super) fn open(
    local: SocketAddr,
    interface: Option<&InterfaceDescription>,
) -> io::Result<OwnedSocket> {
    let socket = call::socket(if local.is_ipv6() { AF_INET6 } else { AF_INET })?;
    let borrowed = socket.as_socket();
    SockRef::from(&socket).set_nonblocking(true)?;
    let both = local.is_ipv6() && local.ip().is_unspecified();
    if local.is_ipv6() {
        SockRef::from(&socket).set_only_v6(!both)?;
    }
    // Otherwise nobody else could share the port by accident, but anybody could by intent.
    call::option(borrowed, ws::SOL_SOCKET, ws::SO_EXCLUSIVEADDRUSE, &ON)?;
    report_refusals(borrowed, false);
    if let Some(interface) = interface {
        keep_to(borrowed, local, interface.index)?;
    }
    Ok(socket)
}

/// Whether the news that a datagram was refused fails the next receive. Old systems lack the
/// switch and then report always, which [`super::receive`] bears.
pub(super) fn report_refusals(socket: BorrowedSocket<'_>, on: bool) {
    let on = u32::from(on);
    let _ = call::ioctl_in(socket, ws::SIO_UDP_CONNRESET, &on);
    let _ = call::ioctl_in(socket, ws::SIO_UDP_NETRESET, &on);
}

/// Sends by this interface alone, and receives from it alone, where the address is any. (A
/// socket that is bound to an address keeps to the interface that has it: Windows is a strong
/// host.)
fn keep_to(socket: BorrowedSocket<'_>, local: SocketAddr, index: InterfaceIndex) -> io::Result<()> {
    if !local.ip().is_unspecified() {
        return Ok(());
    }
    let (level, own) = if local.is_ipv6() {
        (ws::IPPROTO_IPV6, index.get().to_ne_bytes())
    } else {
        (ws::IPPROTO_IP, index.get().to_be_bytes())
    };
    // IPV6_UNICAST_IF has the same number.
    call::option(socket, level, ws::IP_UNICAST_IF, &own)?;
    // Since Windows 10 version 1803. Without it, packets of other interfaces come too, and say by
    // which they came.
    let listed = call::option(socket, level, ws::IP_IFLIST, &ON)
        .and_then(|()| call::option(socket, level, ws::IP_ADD_IFLIST, &index.get().to_ne_bytes()));
    match listed {
        Err(error) if !lacks_the_option(&error) => Err(error),
        _ => Ok(()),
    }
}

fn lacks_the_option(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(ws::WSAENOPROTOOPT | ws::WSAEINVAL | ws::WSAEOPNOTSUPP)
    )
}

/// Which interface and address a datagram came by and to.
pub(super) fn packet_information(
    socket: BorrowedSocket<'_>,
    ipv6: bool,
    on: bool,
) -> io::Result<()> {
    let value = if on { &ON } else { &OFF };
    if !ipv6 {
        return call::option(socket, ws::IPPROTO_IP, ws::IP_PKTINFO, value);
    }
    call::option(socket, ws::IPPROTO_IPV6, ws::IPV6_PKTINFO, value)?;
    // Of a dual-stack socket's IPv4 datagrams; refused where it takes IPv6 alone.
    let _ = call::option(socket, ws::IPPROTO_IP, ws::IP_PKTINFO, value);
    Ok(())
}

/// Joins or leaves a multicast group.
pub(super) fn membership(
    socket: BorrowedSocket<'_>,
    group: IpAddr,
    interface: InterfaceIndex,
    join: bool,
) -> Result<()> {
    let operation = if join {
        "join a multicast group"
    } else {
        "leave a multicast group"
    };
    let target = format!("{group} (interface {interface})");
    if !group.is_multicast() {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            operation,
            target,
            "not a multicast address",
        ));
    }
    let failed = |error: io::Error| not_there(system_error(operation, &target, &error));
    match group {
        // `IP_MREQ`: group, then an own address of the interface, or its index as 0.x.x.x.
        IpAddr::V4(group) => {
            let name = if join {
                ws::IP_ADD_MEMBERSHIP
            } else {
                ws::IP_DROP_MEMBERSHIP
            };
            let request = [group.octets(), ipv4_of(interface, operation)?].concat();
            call::option(socket, ws::IPPROTO_IP, name, &request).map_err(failed)
        }
        // `IPV6_MREQ`: group, interface.
        IpAddr::V6(group) => {
            let name = if join {
                ws::IPV6_ADD_MEMBERSHIP
            } else {
                ws::IPV6_DROP_MEMBERSHIP
            };
            let request = [&group.octets()[..], &interface.get().to_ne_bytes()].concat();
            call::option(socket, ws::IPPROTO_IPV6, name, &request).map_err(failed)
        }
    }
}

/// Winsock answers "invalid" for an interface or membership that does not exist.
fn not_there(error: Error) -> Error {
    match error.code() {
        Some(code @ (ws::WSAEINVAL | ws::WSAEADDRNOTAVAIL)) => Error::new(
            ErrorKind::NoSuchDevice,
            error.operation().to_owned(),
            error.target(),
            "no such interface or membership",
        )
        .with_code(code)
        .with_remedy("list the interfaces, and leave only groups that were joined"),
        _ => error,
    }
}

/// How the IPv4 options name an interface: by one of its addresses, or by its number where it
/// has none. (Wine takes addresses only.)
fn ipv4_of(index: InterfaceIndex, operation: &'static str) -> Result<[u8; 4]> {
    let listed = interface::list()?;
    let known = listed
        .iter()
        .find(|interface| interface.index == index)
        .ok_or_else(|| {
            Error::new(
                ErrorKind::NoSuchDevice,
                operation,
                format!("interface {index}"),
                "no such interface",
            )
            .with_remedy("list the interfaces")
        })?;
    let own = known.addresses.iter().find_map(|own| match own.address {
        IpAddr::V4(address) => Some(address.octets()),
        IpAddr::V6(_) => None,
    });
    Ok(own.unwrap_or_else(|| index.get().to_be_bytes()))
}

/// By which interface multicast leaves, how far, and whether it comes back to this host.
pub(super) fn multicast(
    socket: BorrowedSocket<'_>,
    ipv6: bool,
    interface: InterfaceIndex,
    hops: u32,
    loopback: bool,
) -> Result<()> {
    let operation = "configure multicast";
    let target = format!("interface {interface}");
    let Ok(hops) = u8::try_from(hops) else {
        let cause = format!("a hop limit of {hops}; it is at most 255");
        return Err(Error::new(
            ErrorKind::InvalidInput,
            operation,
            target,
            cause,
        ));
    };
    let set = |level, name, value: &[u8]| {
        call::option(socket, level, name, value)
            .map_err(|error| not_there(system_error(operation, &target, &error)))
    };
    let (hops, loopback) = (
        u32::from(hops).to_ne_bytes(),
        u32::from(loopback).to_ne_bytes(),
    );
    let own = ipv4_of(interface, operation)?;
    if ipv6 {
        set(
            ws::IPPROTO_IPV6,
            ws::IPV6_MULTICAST_IF,
            &interface.get().to_ne_bytes(),
        )?;
        set(ws::IPPROTO_IPV6, ws::IPV6_MULTICAST_HOPS, &hops)?;
        return set(ws::IPPROTO_IPV6, ws::IPV6_MULTICAST_LOOP, &loopback);
    }
    set(ws::IPPROTO_IP, ws::IP_MULTICAST_IF, &own)?;
    set(ws::IPPROTO_IP, ws::IP_MULTICAST_TTL, &hops)?;
    set(ws::IPPROTO_IP, ws::IP_MULTICAST_LOOP, &loopback)
}
