//! The exported functions of every socket: reads their arguments, and hands over.

use crate::abi::codes::{
    NO_ERROR, WSAEFAULT, WSAEINVAL, WSAEMFILE, WSAEOPNOTSUPP, WSAEPROTONOSUPPORT,
    WSAESOCKTNOSUPPORT,
};
use crate::abi::numbers::{
    FIONBIO, FIONREAD, IPPROTO_TCP, IPPROTO_UDP, SOCK_DGRAM, SOCK_STREAM, WSA_FLAG_OVERLAPPED,
};
use crate::abi::winsock::{INVALID_SOCKET, SocketHandle, WsaData};
use crate::address;
use crate::memory;
use crate::system::last_error;
use crate::winsock::ioctl::{self, Input, Output};
use crate::winsock::message::write_address;
use crate::winsock::messages::told;
use crate::winsock::socket::Socket;
use crate::winsock::startup;
use std::ffi::c_void;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

/// No option is longer: `GROUP_SOURCE_REQ`.
const LONGEST_OPTION: usize = 264;

/// What a handle of sockets inherited may say; nothing is inherited here.
const WSA_FLAG_NO_HANDLE_INHERIT: u32 = 0x80;

/// Opens a socket.
fn open(family: i32, kind: i32, protocol: i32, flags: u32) -> Result<SocketHandle, i32> {
    startup::check()?;
    if flags & !(WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT) != 0 {
        return Err(WSAEINVAL);
    }
    let ipv6 = address::is_ipv6(family)?;
    let socket = match (kind, protocol) {
        (SOCK_DGRAM, 0 | IPPROTO_UDP) => Socket::datagram(ipv6)?,
        (SOCK_STREAM, 0 | IPPROTO_TCP) => Socket::stream(ipv6)?,
        (SOCK_DGRAM | SOCK_STREAM, _) => return Err(WSAEPROTONOSUPPORT),
        _ => return Err(WSAESOCKTNOSUPPORT),
    };
    startup::add(socket).ok_or(WSAEMFILE)
}

fn opened(result: Result<SocketHandle, i32>) -> SocketHandle {
    last_error::set(NO_ERROR);
    result.unwrap_or_else(|code| {
        last_error::set(code.unsigned_abs());
        INVALID_SOCKET
    })
}

pub(super) fn length(length: i32) -> Result<usize, i32> {
    // No datagram is longer; what is claimed beyond is not looked at.
    usize::try_from(length)
        .map(|length| length.min(65_536))
        .map_err(|_| WSAEFAULT)
}

/// Writes an address and its length for the caller.
///
/// # Safety
/// `length` is null or writable, and `to` null or as long as it says.
pub(super) unsafe fn give_address(
    address: SocketAddr,
    ipv6: bool,
    to: *mut u8,
    length: *mut i32,
) -> Result<(), i32> {
    // SAFETY: the caller's promise.
    let room = unsafe { memory::read(length.cast_const()) }.ok_or(WSAEFAULT)?;
    // SAFETY: the caller's promise.
    let written = unsafe { write_address(address, ipv6, to, room) }?;
    // SAFETY: the caller's promise.
    unsafe { memory::write(length, written) }.ok_or(WSAEFAULT)
}

export! {
    /// Starts Winsock; once more each time.
    ///
    /// # Safety
    /// `data` is null or writable.
    fn WSAStartup(version: u16, data: *mut WsaData) -> i32 {
        if data.is_null() {
            return WSAEFAULT;
        }
        match startup::start(version) {
            Ok(told) => {
                // SAFETY: the caller's promise; not null.
                let _written = unsafe { memory::write(data, told) };
                0
            }
            Err(code) => code,
        }
    }

    /// Undoes one `WSAStartup`; the last one closes all sockets.
    ///
    /// # Safety
    /// None needed.
    fn WSACleanup() -> i32 {
        told(startup::clean_up())
    }

    /// The last error of this thread; shared with `GetLastError`.
    ///
    /// # Safety
    /// None needed.
    fn WSAGetLastError() -> i32 {
        last_error::last() as i32
    }

    /// Sets the last error of this thread.
    ///
    /// # Safety
    /// None needed.
    fn WSASetLastError(code: i32) {
        last_error::set(code as u32);
    }

    /// Opens a socket. Protocol information and group are not supported: null and 0.
    ///
    /// # Safety
    /// None needed: the protocol information is not read.
    fn WSASocketW(
        family: i32,
        kind: i32,
        protocol: i32,
        information: *mut c_void,
        group: u32,
        flags: u32,
    ) -> SocketHandle {
        let plain = information.is_null() && group == 0;
        opened(if plain { open(family, kind, protocol, flags) } else { startup::check().and(Err(WSAEINVAL)) })
    }

    /// Opens a socket, as [`WSASocketW`].
    ///
    /// # Safety
    /// None needed: the protocol information is not read.
    fn WSASocketA(
        family: i32,
        kind: i32,
        protocol: i32,
        information: *mut c_void,
        group: u32,
        flags: u32,
    ) -> SocketHandle {
        let plain = information.is_null() && group == 0;
        opened(if plain { open(family, kind, protocol, flags) } else { startup::check().and(Err(WSAEINVAL)) })
    }

    /// Closes a socket: calls that wait on it end.
    ///
    /// # Safety
    /// None needed.
    fn closesocket(socket: SocketHandle) -> i32 {
        told(startup::close(socket))
    }

    /// `FIONBIO` and `FIONREAD`.
    ///
    /// # Safety
    /// `argument` is null or writable.
    fn ioctlsocket(socket: SocketHandle, number: i32, argument: *mut u32) -> i32 {
        let number = number as u32;
        told(startup::find(socket).and_then(|socket| {
            if number != FIONBIO && number != FIONREAD {
                return Err(WSAEOPNOTSUPP);
            }
            // SAFETY: the caller's promise.
            let given = unsafe { memory::read(argument.cast_const()) }.ok_or(WSAEFAULT)?;
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&given.to_ne_bytes());
            match ioctl::perform(&socket, number, &Input { bytes: Some(bytes), length: 4 }, 4)? {
                // SAFETY: the caller's promise.
                Output::Number(value) => unsafe { memory::write(argument, value) }.ok_or(WSAEFAULT),
                _ => Ok(()),
            }
        }))
    }
}

export_prefixed! {
    /// Opens a socket, on which overlapped calls are allowed.
    ///
    /// # Safety
    /// None needed.
    fn socket(family: i32, kind: i32, protocol: i32) -> SocketHandle {
        opened(open(family, kind, protocol, WSA_FLAG_OVERLAPPED))
    }

    /// Binds a socket.
    ///
    /// # Safety
    /// `name` is null or points to `name_length` readable bytes.
    fn bind(socket: SocketHandle, name: *const u8, name_length: i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            // SAFETY: the caller's promise.
            let address = unsafe { address::at(name, name_length) }?;
            socket.bind(address)
        }))
    }

    /// Fixes the peer of a socket.
    ///
    /// # Safety
    /// `name` is null or points to `name_length` readable bytes.
    fn connect(socket: SocketHandle, name: *const u8, name_length: i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            // SAFETY: the caller's promise.
            let address = unsafe { address::at(name, name_length) }?;
            socket.connect(address)
        }))
    }

    /// The local address of a bound socket.
    ///
    /// # Safety
    /// `name_length` is null or writable, and `name` null or as long as it says.
    fn getsockname(socket: SocketHandle, name: *mut u8, name_length: *mut i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            let local = socket.local()?;
            // SAFETY: the caller's promise.
            unsafe { give_address(local, socket.ipv6, name, name_length) }
        }))
    }

    /// The peer's address of a connected socket.
    ///
    /// # Safety
    /// `name_length` is null or writable, and `name` null or as long as it says.
    fn getpeername(socket: SocketHandle, name: *mut u8, name_length: *mut i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            let remote = socket.remote()?;
            // SAFETY: the caller's promise.
            unsafe { give_address(remote, socket.ipv6, name, name_length) }
        }))
    }

    /// Sets an option.
    ///
    /// # Safety
    /// `value` is null or points to `value_length` readable bytes.
    fn setsockopt(socket: SocketHandle, level: i32, name: i32, value: *const u8, value_length: i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            let used = length(value_length)?.min(LONGEST_OPTION);
            // SAFETY: the caller's promise; not more than he said.
            let bytes = unsafe { memory::bytes(value, used) }.ok_or(WSAEFAULT)?;
            socket.set(level, name, bytes)
        }))
    }

    /// Asks for an option: four bytes.
    ///
    /// # Safety
    /// `value_length` is null or writable, and `value` null or as long as it says.
    fn getsockopt(socket: SocketHandle, level: i32, name: i32, value: *mut u8, value_length: *mut i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            // SAFETY: the caller's promise.
            let room = unsafe { memory::read(value_length.cast_const()) }.ok_or(WSAEFAULT)?;
            if room < 4 {
                return Err(WSAEFAULT);
            }
            // SAFETY: the caller's promise; there is room for four.
            let place = unsafe { memory::bytes_mut(value, 4) }.ok_or(WSAEFAULT)?;
            place.copy_from_slice(&socket.get(level, name)?);
            // SAFETY: the caller's promise.
            unsafe { memory::write(value_length, 4) }.ok_or(WSAEFAULT)
        }))
    }

    /// Ends receiving (0), sending (1) or both (2).
    ///
    /// # Safety
    /// None needed.
    fn shutdown(socket: SocketHandle, how: i32) -> i32 {
        told(startup::find(socket).and_then(|socket| {
            if !(0..=2).contains(&how) {
                return Err(WSAEINVAL);
            }
            socket.receive_shut.fetch_or(how != 1, Ordering::AcqRel);
            socket.send_shut.fetch_or(how != 0, Ordering::AcqRel);
            Ok(())
        }))
    }
}
