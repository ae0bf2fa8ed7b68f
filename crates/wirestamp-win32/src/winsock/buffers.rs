//! The exported functions that send and receive through several buffers, overlapped or not, without control messages.

use crate::abi::codes::{WSAEFAULT, WSAEOPNOTSUPP};
use crate::abi::winsock::{CompletionRoutine, Overlapped, SocketHandle, WsaBuffer};
use crate::winsock::message::{self, Room};
use crate::winsock::messages::{begin, end, receive_into, told};
use std::ptr;

/// # Safety
/// As [`WSASendTo`].
unsafe fn send(
    (socket, buffers, count): (SocketHandle, *mut WsaBuffer, u32),
    bytes: *mut u32,
    flags: u32,
    (name, name_length): (*const u8, i32),
    (overlapped, routine): (*mut Overlapped, CompletionRoutine),
) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    let (socket, operation) = unsafe { begin(socket, bytes, overlapped, routine) }?;
    let message = message::parts(buffers, count, name.cast_mut(), name_length);
    let sent = match flags {
        // SAFETY: the caller's promise.
        0 => unsafe { message::send(&socket, &raw const message) },
        _ => Err(WSAEOPNOTSUPP),
    };
    // SAFETY: the caller's promise.
    unsafe { end(operation, bytes, sent) }
}

/// # Safety
/// As [`WSARecvFrom`].
unsafe fn receive(
    (socket, buffers, count): (SocketHandle, *mut WsaBuffer, u32),
    bytes: *mut u32,
    flags: *mut u32,
    name: (*mut u8, *mut i32),
    (overlapped, routine): (*mut Overlapped, CompletionRoutine),
) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    let (socket, operation) = unsafe { begin(socket, bytes, overlapped, routine) }?;
    socket.check_datagram()?;
    if buffers.is_null() {
        return Err(WSAEFAULT);
    }
    // SAFETY: the caller's promise.
    let room = unsafe { Room::of_parts((buffers, count), flags, name, socket.ipv6) }?;
    // SAFETY: the caller's promise.
    unsafe { receive_into(&socket, room, bytes, operation) }
}

export! {
    /// Sends to the peer.
    ///
    /// # Safety
    /// Each pointer is null or points to what its type says, as long as the lengths say.
    fn WSASend(
        socket: SocketHandle,
        buffers: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        let data = (socket, buffers, count);
        // SAFETY: the caller's promise.
        told(unsafe { send(data, bytes, flags, (ptr::null(), 0), (overlapped, routine)) })
    }

    /// Sends to an address.
    ///
    /// # Safety
    /// Each pointer is null or points to what its type says, as long as the lengths say.
    fn WSASendTo(
        socket: SocketHandle,
        buffers: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: u32,
        name: *const u8,
        name_length: i32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        let data = (socket, buffers, count);
        // SAFETY: the caller's promise.
        told(unsafe { send(data, bytes, flags, (name, name_length), (overlapped, routine)) })
    }

    /// Receives a datagram.
    ///
    /// # Safety
    /// Each pointer is null or points to what its type says; with `OVERLAPPED`, the buffers until the operation is
    /// complete.
    fn WSARecv(
        socket: SocketHandle,
        buffers: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: *mut u32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        let data = (socket, buffers, count);
        let nameless = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's promise.
        told(unsafe { receive(data, bytes, flags, nameless, (overlapped, routine)) })
    }

    /// Receives a datagram and its sender's address.
    ///
    /// # Safety
    /// Each pointer is null or points to what its type says; with `OVERLAPPED`, buffers, address and its length until
    /// the operation is complete.
    fn WSARecvFrom(
        socket: SocketHandle,
        buffers: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: *mut u32,
        name: *mut u8,
        name_length: *mut i32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        let data = (socket, buffers, count);
        let name = (name, name_length);
        // SAFETY: the caller's promise.
        told(unsafe { receive(data, bytes, flags, name, (overlapped, routine)) })
    }
}
