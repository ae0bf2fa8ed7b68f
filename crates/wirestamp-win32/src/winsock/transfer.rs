//! The exported functions that send and receive without control messages.

use crate::abi::codes::{NO_ERROR, WSAEFAULT, WSAEMSGSIZE, WSAEOPNOTSUPP};
use crate::abi::numbers::MSG_PEEK;
use crate::abi::winsock::{SOCKET_ERROR, SocketHandle};
use crate::address;
use crate::memory;
use crate::system::last_error;
use crate::winsock::exports::{give_address, length};
use crate::winsock::receive::Manner;
use crate::winsock::socket::Socket;
use crate::winsock::startup;
use std::net::SocketAddr;

/// A count of bytes, or `SOCKET_ERROR` with the last error set.
fn counted(result: Result<usize, i32>) -> i32 {
    match result {
        Ok(count) => {
            last_error::set(NO_ERROR);
            i32::try_from(count).unwrap_or(i32::MAX)
        }
        Err(code) => {
            last_error::set(code.unsigned_abs());
            SOCKET_ERROR
        }
    }
}

/// # Safety
/// `from` is null or points to `bytes` readable bytes.
unsafe fn send_bytes(
    socket: SocketHandle,
    from: *const u8,
    bytes: i32,
    flags: i32,
    to: Option<SocketAddr>,
) -> Result<usize, i32> {
    let socket = startup::find(socket)?;
    if flags != 0 {
        return Err(WSAEOPNOTSUPP);
    }
    // SAFETY: the caller's promise; not more than he said.
    let payload = unsafe { memory::bytes(from, length(bytes)?) }.ok_or(WSAEFAULT)?;
    socket.send(payload, to, None)
}

/// Receives, and hands the sender's address to `source`.
///
/// # Safety
/// `to` is null or points to `bytes` writable bytes.
unsafe fn receive_bytes(
    socket: SocketHandle,
    to: *mut u8,
    bytes: i32,
    flags: i32,
    source: impl FnOnce(&Socket, SocketAddr) -> Result<(), i32>,
) -> Result<usize, i32> {
    let socket = startup::find(socket)?;
    if flags as u32 & !MSG_PEEK != 0 {
        return Err(WSAEOPNOTSUPP);
    }
    // SAFETY: the caller's promise; not more than he said.
    let buffer = unsafe { memory::bytes_mut(to, length(bytes)?) }.ok_or(WSAEFAULT)?;
    let peek = flags as u32 & MSG_PEEK != 0;
    let received = socket.receive(
        buffer,
        Manner {
            peek,
            ..Manner::default()
        },
    )?;
    if let Some(address) = received.source {
        source(&socket, address)?;
    }
    if received.truncated {
        Err(WSAEMSGSIZE)
    } else {
        Ok(received.length)
    }
}

export_prefixed! {
    /// Sends to the peer.
    ///
    /// # Safety
    /// `from` is null or points to `bytes` readable bytes.
    fn send(socket: SocketHandle, from: *const u8, bytes: i32, flags: i32) -> i32 {
        // SAFETY: the caller's promise.
        counted(unsafe { send_bytes(socket, from, bytes, flags, None) })
    }

    /// Sends to an address.
    ///
    /// # Safety
    /// `from` is null or points to `bytes` readable bytes, `name` to `name_length`.
    fn sendto(
        socket: SocketHandle,
        from: *const u8,
        bytes: i32,
        flags: i32,
        name: *const u8,
        name_length: i32,
    ) -> i32 {
        let to = match startup::find(socket) {
            Err(code) => Err(code),
            Ok(_) if name.is_null() && name_length == 0 => Ok(None),
            // SAFETY: the caller's promise.
            Ok(_) => unsafe { address::at(name, name_length) }.map(Some),
        };
        // SAFETY: the caller's promise.
        counted(to.and_then(|to| unsafe { send_bytes(socket, from, bytes, flags, to) }))
    }

    /// Receives a datagram.
    ///
    /// # Safety
    /// `to` is null or points to `bytes` writable bytes.
    fn recv(socket: SocketHandle, to: *mut u8, bytes: i32, flags: i32) -> i32 {
        // SAFETY: the caller's promise.
        counted(unsafe { receive_bytes(socket, to, bytes, flags, |_, _| Ok(())) })
    }

    /// Receives a datagram and its sender's address.
    ///
    /// # Safety
    /// `to` is null or points to `bytes` writable bytes; `name_length` is null or writable, and
    /// `name` null or as long as it says.
    fn recvfrom(
        socket: SocketHandle,
        to: *mut u8,
        bytes: i32,
        flags: i32,
        name: *mut u8,
        name_length: *mut i32,
    ) -> i32 {
        let source = |socket: &Socket, address: SocketAddr| match name.is_null() {
            true => Ok(()),
            // SAFETY: the caller's promise.
            false => unsafe { give_address(address, socket.ipv6, name, name_length) },
        };
        // SAFETY: the caller's promise.
        counted(unsafe { receive_bytes(socket, to, bytes, flags, source) })
    }
}
