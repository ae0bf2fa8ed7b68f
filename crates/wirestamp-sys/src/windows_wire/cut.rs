//! What `WSARecvMsg` means by `WSAEMSGSIZE`: the payload was cut, or the control messages were.

use crate::abi::numbers::{MSG_CTRUNC, MSG_TRUNC};

/// What the count of received bytes is before the call: no datagram has so many.
pub const NOT_COUNTED: u32 = u32::MAX;

/// The payload of a received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// Bytes in the buffer.
    pub length: u32,
    /// Whether there were more.
    pub truncated: bool,
}

/// Reads the answer of a receive into `room` bytes that succeeded, or `failed` with `WSAEMSGSIZE`. `None`: it does not
/// say how many bytes of the buffer are the datagram's, and the others are an older one's.
pub fn payload(failed: bool, flags: u32, counted: u32, room: u32) -> Option<Payload> {
    let truncated = flags & MSG_TRUNC != 0;
    let only_control = flags & MSG_CTRUNC != 0 && !truncated;
    if failed && !only_control {
        // The datagram fills the buffer.
        return Some(Payload {
            length: room,
            truncated: true,
        });
    }
    (counted <= room).then_some(Payload {
        length: counted,
        truncated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(length: u32) -> Option<Payload> {
        Some(Payload {
            length,
            truncated: false,
        })
    }

    #[test]
    fn control_messages_that_were_cut_leave_the_payload_as_long_as_it_is() {
        assert_eq!(payload(true, MSG_CTRUNC, 8, 1500), whole(8));
        assert_eq!(payload(true, MSG_CTRUNC, 0, 1500), whole(0));
        assert_eq!(payload(false, MSG_CTRUNC, 8, 1500), whole(8));
    }

    #[test]
    fn a_payload_that_was_cut_fills_the_buffer() {
        let cut = Some(Payload {
            length: 64,
            truncated: true,
        });
        assert_eq!(payload(true, MSG_TRUNC, 64, 64), cut);
        assert_eq!(payload(true, MSG_TRUNC | MSG_CTRUNC, 0, 64), cut);
        assert_eq!(payload(true, 0, NOT_COUNTED, 64), cut);
    }

    #[test]
    fn without_a_count_no_byte_is_taken_for_the_datagrams() {
        assert_eq!(payload(true, MSG_CTRUNC, NOT_COUNTED, 1500), None);
        assert_eq!(payload(false, 0, NOT_COUNTED, 1500), None);
    }
}
