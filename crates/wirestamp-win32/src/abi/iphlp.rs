//! The capability and cross timestamp structures of the current ABI.

use super::plain;
use std::mem::offset_of;
use wirestamp_core::capability::Capabilities;
use wirestamp_core::time::Frequency;

/// `INTERFACE_HARDWARE_TIMESTAMP_CAPABILITIES`. `BOOLEAN` is a byte; not zero is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the names say it all, and are the specification's"
)]
pub struct HardwareTimestampCapabilities {
    pub ptp_v2_over_udp_ipv4_event_message_receive: u8,
    pub ptp_v2_over_udp_ipv4_all_message_receive: u8,
    pub ptp_v2_over_udp_ipv4_event_message_transmit: u8,
    pub ptp_v2_over_udp_ipv4_all_message_transmit: u8,
    pub ptp_v2_over_udp_ipv6_event_message_receive: u8,
    pub ptp_v2_over_udp_ipv6_all_message_receive: u8,
    pub ptp_v2_over_udp_ipv6_event_message_transmit: u8,
    pub ptp_v2_over_udp_ipv6_all_message_transmit: u8,
    pub all_receive: u8,
    pub all_transmit: u8,
    pub tagged_transmit: u8,
}

/// `INTERFACE_SOFTWARE_TIMESTAMP_CAPABILITIES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
#[allow(
    missing_docs,
    reason = "the names say it all, and are the specification's"
)]
pub struct SoftwareTimestampCapabilities {
    pub all_receive: u8,
    pub all_transmit: u8,
    pub tagged_transmit: u8,
}

/// `INTERFACE_TIMESTAMP_CAPABILITIES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct TimestampCapabilities {
    /// Nominal; 0: not known.
    pub hardware_clock_frequency_hz: u64,
    /// Whether cross timestamps can be captured.
    pub supports_cross_timestamp: u8,
    /// In hardware.
    pub hardware: HardwareTimestampCapabilities,
    /// In software.
    pub software: SoftwareTimestampCapabilities,
}

/// `INTERFACE_HARDWARE_CROSSTIMESTAMP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CrossTimestamp {
    /// Performance counter before.
    pub system_timestamp1: u64,
    /// The adapter's counter.
    pub hardware_clock_timestamp: u64,
    /// Performance counter after.
    pub system_timestamp2: u64,
}

plain!(TimestampCapabilities, CrossTimestamp);

const _: () = assert!(size_of::<HardwareTimestampCapabilities>() == 11);
const _: () = assert!(size_of::<SoftwareTimestampCapabilities>() == 3);
const _: () =
    assert!(size_of::<TimestampCapabilities>() == 24 && align_of::<TimestampCapabilities>() == 8);
const _: () = assert!(offset_of!(TimestampCapabilities, supports_cross_timestamp) == 8);
const _: () = assert!(offset_of!(TimestampCapabilities, hardware) == 9);
const _: () = assert!(offset_of!(TimestampCapabilities, software) == 20);
const _: () = assert!(size_of::<CrossTimestamp>() == 24);
const _: () = assert!(offset_of!(CrossTimestamp, hardware_clock_timestamp) == 8);

impl From<&Capabilities> for TimestampCapabilities {
    fn from(from: &Capabilities) -> Self {
        let (hardware, software) = (&from.hardware, &from.software);
        Self {
            hardware_clock_frequency_hz: from.nominal_frequency.map_or(0, Frequency::hertz),
            supports_cross_timestamp: from.cross_timestamp.into(),
            hardware: HardwareTimestampCapabilities {
                ptp_v2_over_udp_ipv4_event_message_receive: hardware
                    .ptp_v2_over_udp_ipv4_event_message_receive
                    .into(),
                ptp_v2_over_udp_ipv4_all_message_receive: hardware
                    .ptp_v2_over_udp_ipv4_all_message_receive
                    .into(),
                ptp_v2_over_udp_ipv4_event_message_transmit: hardware
                    .ptp_v2_over_udp_ipv4_event_message_transmit
                    .into(),
                ptp_v2_over_udp_ipv4_all_message_transmit: hardware
                    .ptp_v2_over_udp_ipv4_all_message_transmit
                    .into(),
                ptp_v2_over_udp_ipv6_event_message_receive: hardware
                    .ptp_v2_over_udp_ipv6_event_message_receive
                    .into(),
                ptp_v2_over_udp_ipv6_all_message_receive: hardware
                    .ptp_v2_over_udp_ipv6_all_message_receive
                    .into(),
                ptp_v2_over_udp_ipv6_event_message_transmit: hardware
                    .ptp_v2_over_udp_ipv6_event_message_transmit
                    .into(),
                ptp_v2_over_udp_ipv6_all_message_transmit: hardware
                    .ptp_v2_over_udp_ipv6_all_message_transmit
                    .into(),
                all_receive: hardware.all_receive.into(),
                all_transmit: hardware.all_transmit.into(),
                tagged_transmit: hardware.tagged_transmit.into(),
            },
            software: SoftwareTimestampCapabilities {
                all_receive: software.all_receive.into(),
                all_transmit: software.all_transmit.into(),
                tagged_transmit: software.tagged_transmit.into(),
            },
        }
    }
}
