//! What the error numbers mean, in words. Pure.

use crate::abi::codes as c;

/// Win32's errors.
const WIN32: [(u32, &str); 30] = [
    (c::NO_ERROR, "The operation succeeded."),
    (1, "The function is not valid here."),
    (
        c::ERROR_FILE_NOT_FOUND,
        "There is no file, or no interface, of this name.",
    ),
    (c::ERROR_ACCESS_DENIED, "Access is denied."),
    (c::ERROR_INVALID_HANDLE, "The handle is not valid."),
    (
        c::ERROR_NOT_ENOUGH_MEMORY,
        "There is not enough memory, or the buffer is too small.",
    ),
    (21, "The device is not ready."),
    (
        c::ERROR_CRC,
        "The driver refused the request (the system calls it a cyclic redundancy check).",
    ),
    (c::ERROR_GEN_FAILURE, "The device does not work."),
    (c::ERROR_NOT_SUPPORTED, "The request is not supported."),
    (c::ERROR_INVALID_PARAMETER, "A parameter is not correct."),
    (c::ERROR_BUFFER_OVERFLOW, "The buffer is too small."),
    (121, "The time for the operation is over."),
    (122, "The buffer is too small for what is to be returned."),
    (123, "The name is not correct."),
    (c::ERROR_PROC_NOT_FOUND, "There is no such function."),
    (c::ERROR_BUSY, "The resource is in use."),
    (c::ERROR_NO_DATA, "There is nothing to return."),
    (234, "More data is there than the buffer holds."),
    (258, "The wait has timed out."),
    (317, "There is no text of this number."),
    (735, "The object of the wait was closed."),
    (995, "The operation was cancelled."),
    (996, "The overlapped operation is not complete."),
    (997, "The overlapped operation is in progress."),
    (998, "The memory cannot be accessed."),
    (c::ERROR_NOT_FOUND, "Nothing was found."),
    (1231, "The network cannot be reached."),
    (1234, "No service listens at the destination's port."),
    (c::ERROR_BAD_DRIVER, "The driver is not valid."),
];

/// Winsock's errors.
const WINSOCK: [(i32, &str); 26] = [
    (c::WSAEINTR, "The blocking call was interrupted."),
    (c::WSAEACCES, "The socket may not be used in this way."),
    (
        c::WSAEFAULT,
        "A pointer is not valid, or a buffer is too small.",
    ),
    (c::WSAEINVAL, "An argument is not valid."),
    (c::WSAEMFILE, "Too many sockets are open."),
    (
        c::WSAEWOULDBLOCK,
        "The operation cannot be completed at once.",
    ),
    (c::WSAENOTSOCK, "The handle is not that of a socket."),
    (c::WSAEDESTADDRREQ, "A destination address is needed."),
    (
        c::WSAEMSGSIZE,
        "The datagram, or its control messages, are longer than the buffer.",
    ),
    (
        c::WSAENOPROTOOPT,
        "The option is unknown or not supported at this level.",
    ),
    (c::WSAEPROTONOSUPPORT, "The protocol is not supported."),
    (
        c::WSAESOCKTNOSUPPORT,
        "The kind of socket is not supported.",
    ),
    (
        c::WSAEOPNOTSUPP,
        "The operation is not supported by this kind of socket.",
    ),
    (c::WSAEAFNOSUPPORT, "The address family is not supported."),
    (c::WSAEADDRINUSE, "The address is in use."),
    (
        c::WSAEADDRNOTAVAIL,
        "The address is not one of this host's.",
    ),
    (c::WSAENETDOWN, "The network is down."),
    (c::WSAENETUNREACH, "The network cannot be reached."),
    (c::WSAECONNRESET, "The peer has closed its port."),
    (c::WSAENOBUFS, "There is no room in the system's buffers."),
    (c::WSAEISCONN, "The socket is connected."),
    (
        c::WSAENOTCONN,
        "The socket has no peer, and no address was given.",
    ),
    (c::WSAETIMEDOUT, "The call has timed out."),
    (c::WSAEHOSTUNREACH, "The host cannot be reached."),
    (
        c::WSANOTINITIALISED,
        "Winsock was not started: call WSAStartup.",
    ),
    (c::WSASYSNOTREADY, "The network is not ready for use."),
];

/// The words for an error; `None` if it has none here.
pub(super) fn text(code: u32) -> Option<&'static str> {
    let win32 = WIN32.iter().find(|(known, _)| *known == code);
    let winsock = || {
        let known = WINSOCK
            .iter()
            .find(|(known, _)| known.unsigned_abs() == code);
        known.map(|(_, text)| *text)
    };
    win32.map(|(_, text)| *text).or_else(winsock)
}
