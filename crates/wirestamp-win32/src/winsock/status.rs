//! What `OVERLAPPED::Internal` holds: the NTSTATUS of a Winsock error, and what Winsock and Win32 make of it. Sets none.

use crate::abi::codes as c;

/// Winsock's error, the status, and the Win32 error of this status: what completion ports answer.
const STATUSES: [(i32, usize, u32); 13] = [
    (0, 0, c::NO_ERROR),
    (c::WSAEFAULT, 0xC000_0005, 998),
    (c::WSAEINVAL, 0xC000_000D, c::ERROR_INVALID_PARAMETER),
    (c::WSAEWOULDBLOCK, 0xC000_00A3, 21),
    (c::WSAEOPNOTSUPP, 0xC000_00BB, c::ERROR_NOT_SUPPORTED),
    (c::WSAEMSGSIZE, 0x8000_0005, 234),
    (c::WSAECONNRESET, 0xC000_023F, 1234),
    (c::WSA_OPERATION_ABORTED, 0xC000_0120, 995),
    (c::WSAENOTSOCK, 0xC000_0008, c::ERROR_INVALID_HANDLE),
    (c::WSAENOBUFS, 0xC000_009A, 1450),
    (c::WSAETIMEDOUT, 0xC000_00B5, 121),
    (c::WSAENETUNREACH, 0xC000_023C, 1231),
    (c::WSAEHOSTUNREACH, 0xC000_023D, 1232),
];

/// NTSTATUS of a Winsock error: what `OVERLAPPED::Internal` holds after a failure. One that has none here
/// holds its number, so that it can be found again.
pub(super) fn status_of(code: i32) -> usize {
    let known = STATUSES.iter().find(|(known, ..)| *known == code);
    known.map_or(0xE000_0000 | code as u32 as usize, |(_, status, _)| *status)
}

/// The Winsock error of an NTSTATUS that [`status_of`] gave.
pub(super) fn of_status(status: usize) -> i32 {
    let known = STATUSES.iter().find(|(_, known, _)| *known == status);
    known.map_or_else(
        || i32::try_from(status & 0xFFFF).unwrap_or(c::WSAEINVAL),
        |(code, ..)| *code,
    )
}

/// The Win32 error of an NTSTATUS that [`status_of`] gave, as completion ports report it.
#[cfg(not(windows))]
pub(super) fn win32_of_status(status: usize) -> u32 {
    let known = STATUSES.iter().find(|(_, known, _)| *known == status);
    known.map_or_else(|| of_status(status).unsigned_abs(), |(.., code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::codes::*;

    #[test]
    fn a_status_leads_back_to_its_error() {
        for code in [
            0,
            WSAEFAULT,
            WSAEMSGSIZE,
            WSAETIMEDOUT,
            WSA_OPERATION_ABORTED,
            WSAENETUNREACH,
        ] {
            assert_eq!(of_status(status_of(code)), code);
        }
        assert_eq!(status_of(WSAEOPNOTSUPP), 0xC000_00BB); // seen under Wine
        assert_eq!(
            of_status(status_of(WSAEACCES)),
            WSAEACCES,
            "has no status here"
        );
    }
}
