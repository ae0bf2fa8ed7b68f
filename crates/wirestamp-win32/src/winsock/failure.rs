//! Which Winsock or Win32 error a failure of wirestamp is. Sets none.

use crate::abi::codes as c;
use crate::abi::codes::{
    ERROR_ACCESS_DENIED, ERROR_BUSY, ERROR_FILE_NOT_FOUND, ERROR_GEN_FAILURE,
    ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, WSAEACCES, WSAEADDRNOTAVAIL, WSAEINTR, WSAEINVAL,
    WSAENETUNREACH, WSAENOBUFS, WSAEOPNOTSUPP,
};
use wirestamp_core::{Error, ErrorKind};

/// The Winsock error: by the system's number where there is one, else by kind.
pub(crate) fn code(error: &Error) -> i32 {
    if let Some(code) = error.code().filter(|code| *code > 0) {
        return of_errno(code);
    }
    match error.kind() {
        ErrorKind::NotPermitted => WSAEACCES,
        ErrorKind::NotSupported => WSAEOPNOTSUPP,
        ErrorKind::NoSuchDevice => WSAEADDRNOTAVAIL,
        ErrorKind::Busy => WSAENOBUFS,
        ErrorKind::Unreachable => WSAENETUNREACH,
        ErrorKind::Closed => WSAEINTR,
        _ => WSAEINVAL,
    }
}

/// `errno` of Linux as Winsock says it. Numbers that are Winsock's already (the simulator's, as
/// Windows) stay.
pub(crate) fn of_errno(code: i32) -> i32 {
    match code {
        10_000.. => code,
        1 | 13 => WSAEACCES,
        4 => WSAEINTR,
        9 | 88 => c::WSAENOTSOCK,
        11 => c::WSAEWOULDBLOCK,
        12 | 105 => WSAENOBUFS,
        14 => c::WSAEFAULT,
        23 | 24 => c::WSAEMFILE,
        89 => c::WSAEDESTADDRREQ,
        90 => c::WSAEMSGSIZE,
        92 => c::WSAENOPROTOOPT,
        93 => c::WSAEPROTONOSUPPORT,
        94 => c::WSAESOCKTNOSUPPORT,
        95 => WSAEOPNOTSUPP,
        97 => c::WSAEAFNOSUPPORT,
        98 => c::WSAEADDRINUSE,
        19 | 99 => WSAEADDRNOTAVAIL,
        100 => c::WSAENETDOWN,
        101 => WSAENETUNREACH,
        104 | 111 => c::WSAECONNRESET,
        106 => c::WSAEISCONN,
        107 => c::WSAENOTCONN,
        110 => c::WSAETIMEDOUT,
        112 | 113 => c::WSAEHOSTUNREACH,
        _ => WSAEINVAL,
    }
}

/// The Win32 error: Windows' own number as it is, but for that of a missing interface, which is
/// Winsock's; anything else by kind.
pub(crate) fn win32(error: &Error, of_windows: bool) -> u32 {
    if let Some(code) = error.code().filter(|code| of_windows && *code > 0) {
        return if code == WSAEOPNOTSUPP {
            ERROR_NOT_SUPPORTED
        } else {
            code.unsigned_abs()
        };
    }
    match error.kind() {
        ErrorKind::NotPermitted => ERROR_ACCESS_DENIED,
        ErrorKind::NotSupported => ERROR_NOT_SUPPORTED,
        ErrorKind::NoSuchDevice | ErrorKind::Closed => ERROR_FILE_NOT_FOUND,
        ErrorKind::Busy => ERROR_BUSY,
        ErrorKind::InvalidInput => ERROR_INVALID_PARAMETER,
        _ => ERROR_GEN_FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::codes::{WSAEADDRINUSE, WSAECONNRESET};

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "try", "something", "no")
    }

    #[test]
    fn the_systems_number_goes_before_the_kind() {
        assert_eq!(code(&error(ErrorKind::Busy)), WSAENOBUFS);
        assert_eq!(code(&error(ErrorKind::Busy).with_code(98)), WSAEADDRINUSE);
        assert_eq!(
            code(&error(ErrorKind::Unreachable).with_code(10_054)),
            WSAECONNRESET
        );
        assert_eq!(code(&error(ErrorKind::Io).with_code(-1)), WSAEINVAL);
    }

    #[test]
    fn an_unknown_errno_is_an_error_and_not_success() {
        assert_eq!(of_errno(0), WSAEINVAL);
        assert_eq!(of_errno(9_999), WSAEINVAL);
        assert_eq!(of_errno(10_054), WSAECONNRESET);
    }

    #[test]
    fn a_number_of_linux_is_no_win32_error() {
        let refused = error(ErrorKind::NotSupported).with_code(95);
        assert_eq!(win32(&refused, false), ERROR_NOT_SUPPORTED);
        let rejected = error(ErrorKind::Io).with_code(23);
        assert_eq!(win32(&rejected, true), 23);
        assert_eq!(win32(&rejected, false), ERROR_GEN_FAILURE);
    }
}
