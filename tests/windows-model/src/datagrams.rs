//! The calls that send, receive and configure, without control messages: to the shadow where a socket has one, else to the
//! system. A socket without a shadow gets one with its first datagram to a simulated address, so that nothing addressed to
//! a simulated NIC leaves the machine.

use crate::sockets::{self, failed};
use crate::{real, shadow};
use wirestamp_win32::abi::codes::WSAEFAULT;
use wirestamp_win32::abi::numbers::FIONBIO;
use wirestamp_win32::abi::winsock::{CompletionRoutine, Overlapped, SocketHandle, WsaBuffer};
use wirestamp_win32::winsock::{buffers, events, exports, transfer};
use wirestamp_win32::{address, memory};

/// The socket of a datagram to `name`: the shadow, made now if need be, or `None` for the system's.
///
/// # Safety
/// `name` is null or an address of `length` bytes.
pub(crate) unsafe fn towards(
    socket: SocketHandle,
    name: *const u8,
    length: i32,
) -> Option<SocketHandle> {
    let known = shadow::of(socket);
    if name.is_null() {
        return known;
    }
    // SAFETY: the caller's promise.
    let to = unsafe { address::at(name, length) }.ok()?.ip();
    match known {
        Some(_) if sockets::is_owned(to) || to.is_multicast() => known,
        None if sockets::is_owned(to) => sockets::bind_to_any(socket, to.is_ipv6()),
        _ => None,
    }
}

/// Functions that go to the shadow with the same arguments.
macro_rules! forward {
    ($(fn $name:ident = $ours:path, ($($argument:ident: $type:ty),*);)*) => {
        export_forward! {$(
            fn $name(socket: SocketHandle, $($argument: $type),*) -> i32 {
                match shadow::of(socket) {
                    // SAFETY: the caller's promise.
                    Some(shadow) => unsafe { $ours(shadow, $($argument),*) },
                    // SAFETY: the caller's promise.
                    None => unsafe { real::$name(socket, $($argument),*) },
                }
            }
        )*}
    };
}

forward! {
    fn send = transfer::send, (from: *const u8, bytes: i32, flags: i32);
    fn recv = transfer::recv, (to: *mut u8, bytes: i32, flags: i32);
    fn recvfrom = transfer::recvfrom, (to: *mut u8, bytes: i32, flags: i32, name: *mut u8, name_length: *mut i32);
    fn shutdown = exports::shutdown, (how: i32);
    fn getsockopt = exports::getsockopt, (level: i32, name: i32, value: *mut u8, length: *mut i32);
    fn getpeername = exports::getpeername, (name: *mut u8, name_length: *mut i32);
    fn WSASend = buffers::WSASend, (
        data: *mut WsaBuffer, count: u32, bytes: *mut u32, flags: u32, overlapped: *mut Overlapped, routine: CompletionRoutine
    );
    fn WSARecv = buffers::WSARecv, (
        data: *mut WsaBuffer, count: u32, bytes: *mut u32, flags: *mut u32, overlapped: *mut Overlapped,
        routine: CompletionRoutine
    );
    fn WSARecvFrom = buffers::WSARecvFrom, (
        data: *mut WsaBuffer, count: u32, bytes: *mut u32, flags: *mut u32, name: *mut u8, name_length: *mut i32,
        overlapped: *mut Overlapped, routine: CompletionRoutine
    );
    fn WSAGetOverlappedResult = events::WSAGetOverlappedResult, (
        overlapped: *mut Overlapped, bytes: *mut u32, wait: i32, flags: *mut u32
    );
}

export_forward! {
    fn sendto(socket: SocketHandle, from: *const u8, bytes: i32, flags: i32, name: *const u8, length: i32) -> i32 {
        // SAFETY: the caller's promise.
        match unsafe { towards(socket, name, length) } {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe { transfer::sendto(shadow, from, bytes, flags, name, length) },
            // SAFETY: the caller's promise.
            None => unsafe { real::sendto(socket, from, bytes, flags, name, length) },
        }
    }

    fn WSASendTo(
        socket: SocketHandle,
        data: *mut WsaBuffer,
        count: u32,
        bytes: *mut u32,
        flags: u32,
        name: *const u8,
        length: i32,
        overlapped: *mut Overlapped,
        routine: CompletionRoutine,
    ) -> i32 {
        // SAFETY: the caller's promise.
        match unsafe { towards(socket, name, length) } {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe {
                buffers::WSASendTo(shadow, data, count, bytes, flags, name, length, overlapped, routine)
            },
            // SAFETY: the caller's promise.
            None => unsafe { real::WSASendTo(socket, data, count, bytes, flags, name, length, overlapped, routine) },
        }
    }

    fn ioctlsocket(socket: SocketHandle, number: i32, argument: *mut u32) -> i32 {
        if number.cast_unsigned() == FIONBIO {
            // SAFETY: the caller's promise.
            let Some(on) = (unsafe { memory::read(argument.cast_const()) }) else { return failed(WSAEFAULT) };
            shadow::all().entry(socket).or_default().nonblocking = on != 0;
        }
        match shadow::of(socket) {
            // SAFETY: the caller's promise.
            Some(shadow) => unsafe { exports::ioctlsocket(shadow, number, argument) },
            // SAFETY: the caller's promise.
            None => unsafe { real::ioctlsocket(socket, number, argument) },
        }
    }
}
