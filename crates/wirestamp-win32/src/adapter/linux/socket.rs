//! What only Windows' interface asks of a UDP socket of this machine; and TCP sockets.

use super::{call, option};
use crate::abi::codes::WSAEINVAL;
use crate::winsock::failure::of_errno;
use crate::winsock::setting::Setting;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use wirestamp_core::{Error, ErrorKind, Result};
use wirestamp_sys::Socket;

/// A UDP socket that is bound to nothing.
pub(crate) fn unbound(ipv6: bool) -> Result<Socket> {
    Socket::unbound(ipv6)
}

/// Binds an unbound one.
pub(crate) fn bind_to(socket: &Socket, local: SocketAddr) -> Result<()> {
    socket.bind_to(local)
}

/// Puts an option in force.
///
/// # Errors
/// The Winsock error.
pub(crate) fn apply(socket: &Socket, setting: &Setting, ipv6: bool) -> Result<(), i32> {
    let set = |(level, name, value): option::Option| {
        call::set_option(socket.as_fd(), level, name, &value)
    };
    option::of(setting, ipv6)
        .into_iter()
        .try_for_each(set)
        .map_err(|error| code(&error))
}

/// The pending error, which this takes.
pub(crate) fn pending_error(socket: &Socket) -> i32 {
    match call::number(socket.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR) {
        Ok(0) => 0,
        Ok(error) => of_errno(error),
        Err(error) => code(&error),
    }
}

/// While `awake`, no wait for datagrams or for room blocks.
pub(crate) fn keep_awake(socket: &Socket, awake: bool) {
    socket.keep_awake(awake);
}

/// Bytes of the receive or send buffer, as they were asked for (the kernel doubles them).
pub(crate) fn buffer(socket: &Socket, receive: bool) -> u32 {
    let name = if receive {
        libc::SO_RCVBUF
    } else {
        libc::SO_SNDBUF
    };
    let size = call::number(socket.as_fd(), libc::SOL_SOCKET, name).unwrap_or(0);
    size.unsigned_abs() / 2
}

/// Bytes of the next datagram; 0: none.
pub(crate) fn readable(socket: &Socket) -> Result<u32, i32> {
    call::readable(socket.as_fd())
        .map(i32::unsigned_abs)
        .map_err(|error| code(&error))
}

/// A TCP socket: opened and closed, so that programs can see that it does not timestamp.
#[derive(Debug)]
pub(crate) struct Stream(#[allow(dead_code, reason = "held until it is closed")] OwnedFd);

impl Stream {
    pub(crate) fn open(ipv6: bool) -> Result<Self> {
        let family = if ipv6 { libc::AF_INET6 } else { libc::AF_INET };
        call::socket(family, libc::SOCK_STREAM)
            .map(Self)
            .map_err(|error| {
                Error::new(
                    ErrorKind::Io,
                    "open a stream socket",
                    "this machine",
                    error.to_string(),
                )
                .with_system(&error)
            })
    }
}

fn code(error: &io::Error) -> i32 {
    error.raw_os_error().map_or(WSAEINVAL, of_errno)
}
