//! Which Winsock or Win32 error a failure of wirestamp is. Sets none.

use crate::abi::codes::{
    ERROR_ACCESS_DENIED, ERROR_BUSY, ERROR_FILE_NOT_FOUND, ERROR_GEN_FAILURE,
    ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, WSAEACCES, WSAEADDRNOTAVAIL, WSAEINTR, WSAEINVAL,
    WSAENETUNREACH, WSAENOBUFS, WSAEOPNOTSUPP, from_monotonic,
};
use wirestamp_core::{Error, ErrorKind};

/// The Winsock error: by the system's number where there is one, else by kind.
pub(crate) fn code(error: &Error) -> i32 {
    if let Some(code) = error.code().filter(|code| *code > 0) {
        return from_monotonic(code);
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
    fn a_number_of_linux_is_no_win32_error() {
        let refused = error(ErrorKind::NotSupported).with_code(95);
        assert_eq!(win32(&refused, false), ERROR_NOT_SUPPORTED);
        let rejected = error(ErrorKind::Io).with_code(23);
        assert_eq!(win32(&rejected, true), 23);
        assert_eq!(win32(&rejected, false), ERROR_GEN_FAILURE);
    }
}
