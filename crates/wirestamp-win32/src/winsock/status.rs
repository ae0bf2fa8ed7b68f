//! What `OVERLAPPED::Internal` holds: the NTSTATUS of a Winsock error, and back. Sets none.

use crate::abi::codes::{
    WSA_OPERATION_ABORTED, WSAECONNRESET, WSAEFAULT, WSAEINVAL, WSAEMSGSIZE, WSAENOTSOCK,
    WSAEOPNOTSUPP, WSAEWOULDBLOCK,
};

const STATUSES: [(i32, usize); 9] = [
    (0, 0),
    (WSAEFAULT, 0xC000_0005),
    (WSAEINVAL, 0xC000_000D),
    (WSAEWOULDBLOCK, 0xC000_00A3),
    (WSAEOPNOTSUPP, 0xC000_00BB),
    (WSAEMSGSIZE, 0x8000_0005),
    (WSAECONNRESET, 0xC000_0236),
    (WSA_OPERATION_ABORTED, 0xC000_0120),
    (WSAENOTSOCK, 0xC000_0008),
];

/// NTSTATUS of a Winsock error: what `OVERLAPPED::Internal` holds after a failure. One that has none here
/// holds its number, so that it can be found again.
pub(super) fn status_of(code: i32) -> usize {
    let known = STATUSES.iter().find(|(known, _)| *known == code);
    known.map_or(
        0xE000_0000 | code.cast_unsigned() as usize,
        |(_, status)| *status,
    )
}

/// The Winsock error of an NTSTATUS that [`status_of`] gave.
pub(super) fn of_status(status: usize) -> i32 {
    let known = STATUSES.iter().find(|(_, known)| *known == status);
    known.map_or_else(
        || i32::try_from(status & 0xFFFF).unwrap_or(WSAEINVAL),
        |(code, _)| *code,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::codes::{WSAENETUNREACH, WSAETIMEDOUT};

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
    }
}
