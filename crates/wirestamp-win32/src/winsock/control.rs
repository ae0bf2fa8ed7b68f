//! Control messages: what a sent one says, and how received ones are written. Pure.

use crate::abi::codes::WSAEINVAL;
use crate::abi::numbers::{
    IP_ECN, IP_PKTINFO, IP_TOS, IP_TTL, IPPROTO_IP, IPPROTO_IPV6, IPV6_ECN, IPV6_HOPLIMIT,
    IPV6_PKTINFO, IPV6_TCLASS, SO_TIMESTAMP, SO_TIMESTAMP_ID, SOL_SOCKET,
};
use std::net::IpAddr;
use wirestamp_sys::cmsg::{self, messages};

/// Reads the id out of what a datagram is sent with; `None` if it carries none.
///
/// # Errors
/// `WSAEINVAL` for a message of impossible length, a second id, or an id that is not four bytes.
pub(crate) fn transmit_id(control: &[u8]) -> Result<Option<u32>, i32> {
    let mut found = None;
    let mut messages = messages(control);
    for message in &mut messages {
        if (message.level, message.kind) == (SOL_SOCKET, SO_TIMESTAMP_ID) {
            let id = message.data.try_into().map_err(|_| WSAEINVAL)?;
            if found.replace(u32::from_ne_bytes(id)).is_some() {
                return Err(WSAEINVAL);
            }
        }
    }
    if messages.ended_early() {
        Err(WSAEINVAL)
    } else {
        Ok(found)
    }
}

/// Writes control messages into the caller's buffer. One that does not fit is left out whole.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    buffer: &'a mut [u8],
    used: usize,
    cut: bool,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        Self {
            buffer,
            used: 0,
            cut: false,
        }
    }

    /// Bytes written.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Whether something did not fit.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn note_cut(&mut self) {
        self.cut = true;
    }

    fn push(&mut self, level: i32, kind: i32, data: &[u8]) {
        let room = self.buffer.get_mut(self.used..).unwrap_or_default();
        match cmsg::write(room, level, kind, data) {
            Some(used) => self.used += used,
            None => self.cut = true,
        }
    }

    /// `SO_TIMESTAMP`.
    pub(crate) fn timestamp(&mut self, value: u64) {
        self.push(SOL_SOCKET, SO_TIMESTAMP, &value.to_ne_bytes());
    }

    /// `IP_TTL` or `IPV6_HOPLIMIT`, as Windows answers `IP_RECVTTL` and `IPV6_HOPLIMIT`: an `INT`.
    pub(crate) fn hop_limit(&mut self, ipv6: bool, value: u8) {
        self.number(ipv6, IP_TTL, IPV6_HOPLIMIT, value);
    }

    /// `IP_TOS` or `IPV6_TCLASS`: an `INT`.
    pub(crate) fn traffic_class(&mut self, ipv6: bool, value: u8) {
        self.number(ipv6, IP_TOS, IPV6_TCLASS, value);
    }

    /// `IP_ECN` or `IPV6_ECN`: an `INT`.
    pub(crate) fn ecn(&mut self, ipv6: bool, traffic_class: u8) {
        self.number(ipv6, IP_ECN, IPV6_ECN, traffic_class & 3);
    }

    fn number(&mut self, ipv6: bool, for_ipv4: i32, for_ipv6: i32, value: u8) {
        let (level, kind) = if ipv6 {
            (IPPROTO_IPV6, for_ipv6)
        } else {
            (IPPROTO_IP, for_ipv4)
        };
        self.push(level, kind, &i32::from(value).to_ne_bytes());
    }

    /// `IP_PKTINFO` or `IPV6_PKTINFO`: the address that the datagram came to, and the index.
    pub(crate) fn packet_information(&mut self, destination: IpAddr, index: u32) {
        match destination {
            IpAddr::V4(address) => {
                let information = [address.octets(), index.to_ne_bytes()].concat();
                self.push(IPPROTO_IP, IP_PKTINFO, &information);
            }
            IpAddr::V6(address) => {
                let information = [&address.octets()[..], &index.to_ne_bytes()].concat();
                self.push(IPPROTO_IPV6, IPV6_PKTINFO, &information);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: usize = size_of::<usize>() + 8;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + data.len().next_multiple_of(size_of::<usize>())];
        let used = cmsg::write(&mut bytes, level, kind, data);
        assert_eq!(used, Some(bytes.len()));
        bytes
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_bytes_are_those_of_64_bit_windows() {
        let mut buffer = [0xEE; 32];
        let mut writer = Writer::new(&mut buffer);
        writer.timestamp(0x1234_5678_9ABC_DEF0);
        assert_eq!((writer.used(), writer.is_cut()), (24, false));
        let expected: [u8; 24] = [
            24, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0x0A, 0x30, 0, 0, 0xF0, 0xDE, 0xBC, 0x9A,
            0x78, 0x56, 0x34, 0x12,
        ];
        assert_eq!(buffer[..24], expected);
        assert_eq!(buffer[24..], [0xEE; 8]);
    }

    #[test]
    fn an_id_is_found_among_other_messages() {
        let mut control = message(IPPROTO_IP, 77, &[1; 12]);
        control.extend(message(SOL_SOCKET, SO_TIMESTAMP_ID, &7u32.to_ne_bytes()));
        assert_eq!(transmit_id(&control), Ok(Some(7)));
        // the padding behind the last message need not be there
        control.truncate(control.len() - 4);
        assert_eq!(transmit_id(&control), Ok(Some(7)));
        assert_eq!(transmit_id(&[]), Ok(None));
        assert_eq!(
            transmit_id(&[9; HEADER - 1]),
            Ok(None),
            "too little for a message"
        );
    }

    #[test]
    fn impossible_messages_are_refused() {
        let id = |data: &[u8]| message(SOL_SOCKET, SO_TIMESTAMP_ID, data);
        assert_eq!(transmit_id(&id(&[0; 8])), Err(WSAEINVAL));
        assert_eq!(transmit_id(&id(&[])), Err(WSAEINVAL));
        assert_eq!(
            transmit_id(&[id(&[0; 4]), id(&[0; 4])].concat()),
            Err(WSAEINVAL)
        );
        for length in [0, 1, HEADER - 1, 4_096, usize::MAX] {
            let mut bytes = id(&[0; 4]);
            bytes[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(transmit_id(&bytes), Err(WSAEINVAL), "length {length}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let mut buffer = [0; HEADER + 8 + HEADER + 7];
        let mut writer = Writer::new(&mut buffer);
        writer.timestamp(1);
        writer.timestamp(2);
        assert_eq!((writer.used(), writer.is_cut()), (HEADER + 8, true));
    }
}
