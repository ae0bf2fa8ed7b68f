//! Conversion of a Win32 or Winsock error to an error with a remedy.

use crate::abi::codes as win32;
use std::fmt::Display;
use std::io;
use windows_sys::Win32::Networking::WinSock as ws;
use wirestamp_core::{Error, ErrorKind};

/// What failed, on what, with the system's answer and the remedy that usually helps.
pub(super) fn system_error(
    operation: &'static str,
    target: impl Display,
    error: &io::Error,
) -> Error {
    let Some(code) = error.raw_os_error() else {
        return Error::new(ErrorKind::Io, operation, target, error.to_string());
    };
    let (kind, words, remedy) = meaning(code);
    let words = if words.is_empty() {
        said_by_the_system(error)
    } else {
        words.to_owned()
    };
    Error::new(kind, operation, target, words)
        .with_code(code)
        .with_remedy(remedy)
}

/// The system's own text, without its "(os error …)".
fn said_by_the_system(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .trim_end_matches(['.', ' '])
        .to_lowercase()
}

/// The words are ours: Windows' own are in the user's language, and Wine's are none.
fn meaning(code: i32) -> (ErrorKind, &'static str, &'static str) {
    use ErrorKind::{Busy, InvalidInput, NoSuchDevice, NotPermitted, Unreachable};
    match code {
        ws::WSAEACCES => (
            NotPermitted,
            "access denied",
            "the port or address may be reserved: choose another",
        ),
        ws::WSAEADDRNOTAVAIL => (
            NoSuchDevice,
            "no interface has this address",
            "list the interfaces and their addresses",
        ),
        ws::WSAEADDRINUSE => (
            Busy,
            "the address is in use",
            "port 0 takes a free one; on 319 and 320 see whether W32Time has its PTP client on",
        ),
        ws::WSAENOBUFS => (Busy, "no buffer space available", "try again in a moment"),
        ws::WSAEMSGSIZE => (
            InvalidInput,
            "the datagram is too long",
            "a UDP payload holds at most 65,507 bytes over IPv4",
        ),
        ws::WSAEAFNOSUPPORT => (
            InvalidInput,
            "the address is of another family",
            "bind to an address of that family",
        ),
        ws::WSAEINVAL | ws::WSAEFAULT => (InvalidInput, "invalid argument", ""),
        ws::WSAENOTCONN | ws::WSAEDESTADDRREQ => (
            InvalidInput,
            "a destination is needed",
            "give a destination or connect the socket",
        ),
        ws::WSAECONNRESET => (
            Unreachable,
            "nobody listens on the port",
            "start what shall receive, or check its port",
        ),
        ws::WSAENETUNREACH => (
            Unreachable,
            "no route to the network",
            "check the route and that the interface is up",
        ),
        ws::WSAEHOSTUNREACH => (
            Unreachable,
            "no route to the host",
            "check the route and that the interface is up",
        ),
        ws::WSAENETDOWN => (
            Unreachable,
            "the network is down",
            "check that the interface is up",
        ),
        ws::WSAEOPNOTSUPP => (
            ErrorKind::NotSupported,
            "operation not supported on a socket",
            "",
        ),
        ws::WSAENOPROTOOPT => (ErrorKind::NotSupported, "no such socket option", ""),
        _ => win32_meaning(code as u32),
    }
}

fn win32_meaning(code: u32) -> (ErrorKind, &'static str, &'static str) {
    match code {
        win32::ERROR_ACCESS_DENIED => (
            ErrorKind::NotPermitted,
            "access denied",
            "run from an elevated prompt",
        ),
        win32::ERROR_NOT_SUPPORTED => (ErrorKind::NotSupported, "not supported", ""),
        win32::ERROR_FILE_NOT_FOUND | win32::ERROR_NOT_FOUND => (
            ErrorKind::NoSuchDevice,
            "no such adapter",
            "list what there is: wirestamp interfaces",
        ),
        win32::ERROR_INVALID_PARAMETER => (ErrorKind::InvalidInput, "invalid parameter", ""),
        win32::ERROR_BUSY => (
            ErrorKind::Busy,
            "the adapter is busy",
            "try again in a moment",
        ),
        win32::ERROR_CRC => (
            ErrorKind::Io,
            "the driver or a filter above it rejected the question",
            "",
        ),
        win32::ERROR_BAD_DRIVER => (
            ErrorKind::Io,
            "the driver announces a configuration that is not allowed",
            "",
        ),
        _ => (ErrorKind::Io, "", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_tried_on_what_the_answer_and_the_remedy() {
        let error = system_error(
            "bind a UDP socket",
            "[::]:319",
            &io::Error::from_raw_os_error(ws::WSAEADDRINUSE),
        );
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Busy, Some(10_048))
        );
        let text = error.to_string();
        assert!(
            text.starts_with(
                "[::]:319: cannot bind a UDP socket: the address is in use (code 10048); port 0"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_number_that_is_not_known_stays_a_number() {
        let error = system_error("ask", "it", &io::Error::from_raw_os_error(31_999));
        assert_eq!((error.kind(), error.code()), (ErrorKind::Io, Some(31_999)));
        assert!(!error.cause().is_empty());
    }
}
