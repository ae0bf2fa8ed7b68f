//! The exported functions that send and receive without control messages.

use crate::abi::codes::{NO_ERROR, WSAEFAULT, WSAEMSGSIZE, WSAEOPNOTSUPP};
use crate::abi::numbers::MSG_PEEK;
use crate::abi::winsock::{SOCKET_ERROR, SocketHandle};
use crate::address;
use crate::memory;
use crate::system::last_error;
use crate::winsock::exports::{give_address, length};
use crate::winsock::message::check_room;
use crate::winsock::receive::Manner;
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

/// Receives, and writes the sender's address unless `name` is null.
///
/// # Safety
/// `to` is null or points to `bytes` writable bytes; `name_length` is null or writable, and `name` null or as long as it
/// says.
unsafe fn receive_bytes(
    socket: SocketHandle,
    to: *mut u8,
    bytes: i32,
    flags: i32,
    (name, name_length): (*mut u8, *mut i32),
) -> Result<usize, i32> {
    let socket = startup::find(socket)?;
    if flags as u32 & !MSG_PEEK != 0 {
        return Err(WSAEOPNOTSUPP);
    }
    // SAFETY: the caller's promise; not more than he said.
    let buffer = unsafe { memory::bytes_mut(to, length(bytes)?) }.ok_or(WSAEFAULT)?;
    if !name.is_null() {
        // SAFETY: the caller's promise.
        let room = unsafe { memory::read(name_length.cast_const()) }.ok_or(WSAEFAULT)?;
        check_room(room, socket.ipv6)?; // before a datagram is lost to it
    }
    let peek = flags as u32 & MSG_PEEK != 0;
    let received = socket.receive(
        buffer,
        Manner {
            peek,
            ..Manner::default()
        },
    )?;
    if let Some(address) = received.source.filter(|_| !name.is_null()) {
        // SAFETY: the caller's promise.
        unsafe { give_address(address, socket.ipv6, name, name_length) }?;
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
        let nameless = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the caller's promise.
        counted(unsafe { receive_bytes(socket, to, bytes, flags, nameless) })
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
        // SAFETY: the caller's promise.
        counted(unsafe { receive_bytes(socket, to, bytes, flags, (name, name_length)) })
    }
}
