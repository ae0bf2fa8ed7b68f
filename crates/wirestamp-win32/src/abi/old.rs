//! The structures of the first ABI (`NTDDI_WIN10_RS5`): the current ones with a version in
//! front, and the flags in one row.

use super::iphlp::{CrossTimestamp, TimestampCapabilities};
use super::plain;
use std::mem::offset_of;

/// `INTERFACE_TIMESTAMP_CAPABILITIES_VERSION_1`, `INTERFACE_HARDWARE_CROSSTIMESTAMP_VERSION_1`.
pub const VERSION_1: u32 = 1;

/// The old `INTERFACE_TIMESTAMP_CAPABILITIES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct OldTimestampCapabilities {
    /// Written as 1.
    pub version: u32,
    /// Nominal; 0: not known.
    pub hardware_clock_frequency_hz: u64,
    /// Whether cross timestamps can be captured.
    pub cross_timestamp: u8,
    /// Zero.
    pub reserved1: u64,
    /// Zero.
    pub reserved2: u64,
    /// 11 flags of the hardware, 3 of the software, in the order of the current structures.
    pub flags: [u8; 14],
}

/// The old `INTERFACE_HARDWARE_CROSSTIMESTAMP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct OldCrossTimestamp {
    /// The caller's: 1.
    pub version: u32,
    /// Reserved.
    pub flags: u32,
    /// As now.
    pub now: CrossTimestamp,
}

plain!(OldTimestampCapabilities, OldCrossTimestamp);

const _: () = assert!(size_of::<OldTimestampCapabilities>() == 56);
const _: () = assert!(offset_of!(OldTimestampCapabilities, hardware_clock_frequency_hz) == 8);
const _: () = assert!(offset_of!(OldTimestampCapabilities, cross_timestamp) == 16);
const _: () = assert!(offset_of!(OldTimestampCapabilities, reserved1) == 24);
const _: () = assert!(offset_of!(OldTimestampCapabilities, flags) == 40);
const _: () =
    assert!(size_of::<OldCrossTimestamp>() == 32 && offset_of!(OldCrossTimestamp, now) == 8);

impl From<&TimestampCapabilities> for OldTimestampCapabilities {
    fn from(from: &TimestampCapabilities) -> Self {
        let (hardware, software) = (&from.hardware, &from.software);
        Self {
            version: VERSION_1,
            hardware_clock_frequency_hz: from.hardware_clock_frequency_hz,
            cross_timestamp: from.supports_cross_timestamp,
            reserved1: 0,
            reserved2: 0,
            flags: [
                hardware.ptp_v2_over_udp_ipv4_event_message_receive,
                hardware.ptp_v2_over_udp_ipv4_all_message_receive,
                hardware.ptp_v2_over_udp_ipv4_event_message_transmit,
                hardware.ptp_v2_over_udp_ipv4_all_message_transmit,
                hardware.ptp_v2_over_udp_ipv6_event_message_receive,
                hardware.ptp_v2_over_udp_ipv6_all_message_receive,
                hardware.ptp_v2_over_udp_ipv6_event_message_transmit,
                hardware.ptp_v2_over_udp_ipv6_all_message_transmit,
                hardware.all_receive,
                hardware.all_transmit,
                hardware.tagged_transmit,
                software.all_receive,
                software.all_transmit,
                software.tagged_transmit,
            ],
        }
    }
}
