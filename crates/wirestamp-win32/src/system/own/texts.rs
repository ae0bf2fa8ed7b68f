//! What the error numbers mean, in words. Pure.

use crate::abi::codes as c;

/// Win32's errors.
const WIN32: [(u32, &str); 34] = [
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
    (183, "The object exists already."),
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
    (
        c::ERROR_ADDRESS_NOT_ASSOCIATED,
        "No address belongs to the interface yet.",
    ),
    (1231, "The network cannot be reached."),
    (1232, "The host cannot be reached."),
    (1234, "No service listens at the destination's port."),
    (1450, "The system lacks resources for this."),
    (c::ERROR_BAD_DRIVER, "The driver is not valid."),
];

/// Winsock's errors.
const WINSOCK: [(i32, &str); 43] = [
    (c::WSAEINTR, "The blocking call was interrupted."),
    (10_009, "The handle is not valid for this."),
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
    (10_036, "A blocking call is in progress."),
    (10_037, "The operation is in progress already."),
    (c::WSAENOTSOCK, "The handle is not that of a socket."),
    (c::WSAEDESTADDRREQ, "A destination address is needed."),
    (
        c::WSAEMSGSIZE,
        "The datagram, or its control messages, are longer than the buffer.",
    ),
    (10_041, "The protocol does not fit the kind of socket."),
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
    (10_046, "The protocol family is not supported."),
    (c::WSAEAFNOSUPPORT, "The address family is not supported."),
    (c::WSAEADDRINUSE, "The address is in use."),
    (
        c::WSAEADDRNOTAVAIL,
        "The address is not one of this host's.",
    ),
    (c::WSAENETDOWN, "The network is down."),
    (c::WSAENETUNREACH, "The network cannot be reached."),
    (10_052, "The network has dropped the connection."),
    (10_053, "The connection was given up by this host."),
    (c::WSAECONNRESET, "The peer has closed its port."),
    (c::WSAENOBUFS, "There is no room in the system's buffers."),
    (c::WSAEISCONN, "The socket is connected."),
    (
        c::WSAENOTCONN,
        "The socket has no peer, and no address was given.",
    ),
    (
        c::WSAESHUTDOWN,
        "The socket was shut down in this direction.",
    ),
    (c::WSAETIMEDOUT, "The call has timed out."),
    (10_061, "The peer has refused the connection."),
    (10_064, "The host is down."),
    (c::WSAEHOSTUNREACH, "The host cannot be reached."),
    (10_067, "Too many programs use sockets."),
    (
        c::WSANOTINITIALISED,
        "Winsock was not started: call WSAStartup.",
    ),
    (c::WSASYSNOTREADY, "The network is not ready for use."),
    (
        c::WSAVERNOTSUPPORTED,
        "This version of Winsock is not supported.",
    ),
    (c::WSATYPE_NOT_FOUND, "There is no such service."),
    (c::WSAHOST_NOT_FOUND, "There is no host of this name."),
    (
        c::WSATRY_AGAIN,
        "The name server did not answer: try again.",
    ),
    (c::WSANO_RECOVERY, "The name server has failed."),
    (11_004, "The name has no address of this kind."),
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

#[cfg(test)]
mod tests {
    use super::text;

    /// Which are those that this library answers with, and a few that programs know besides.
    #[test]
    fn each_error_of_the_headers_has_words() {
        let header = include_str!("../../../include/win32/wirestamp/error_codes.h");
        let mut known = 0;
        for line in header.lines() {
            let mut words = line
                .split_whitespace()
                .skip_while(|word| *word != "#define");
            let (Some(name), Some(number)) = (words.nth(1), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            if name != "WSABASEERR" {
                assert!(text(number).is_some(), "{name} has none");
                known += 1;
            }
        }
        assert!(known > 60, "{known} errors were read");
    }
}
