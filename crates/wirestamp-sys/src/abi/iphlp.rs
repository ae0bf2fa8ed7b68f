//! The capability and cross timestamp structures of the current interface, with their meaning.
//!
//! Source: `iphlpapi.h` of Windows 10 build 20348 (`NTDDI_WIN10_FE`).

use std::mem::offset_of;
use wirestamp_core::capability::{Capabilities, HardwareCapabilities, SoftwareCapabilities};
use wirestamp_core::cross::{CrossInvalid, CrossMethod};
use wirestamp_core::time::{Frequency, HardwareTicks, MonotonicTime};

/// `INTERFACE_TIMESTAMP_CAPABILITIES`: the clock's rate, and 15 BOOLEANs of one byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct TimestampCapabilities {
    /// `HardwareClockFrequencyHz`: nominal; may be 0.
    pub hardware_clock_frequency_hz: u64,
    /// `SupportsCrossTimestamp`, the 11 of `HardwareCapabilities`, the 3 of
    /// `SoftwareCapabilities`, in this order. Any byte but 0 is true.
    pub booleans: [u8; 15],
}

/// `INTERFACE_HARDWARE_CROSSTIMESTAMP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CrossTimestamp {
    /// `SystemTimestamp1`: the performance counter before.
    pub system_timestamp1: u64,
    /// `HardwareClockTimestamp`: the adapter's raw counter.
    pub hardware_clock_timestamp: u64,
    /// `SystemTimestamp2`: the performance counter after.
    pub system_timestamp2: u64,
}

const _: () = {
    assert!(
        size_of::<TimestampCapabilities>() == 24
            && align_of::<TimestampCapabilities>() == align_of::<u64>()
    );
    assert!(offset_of!(TimestampCapabilities, booleans) == 8);
    assert!(size_of::<CrossTimestamp>() == 24);
    assert!(offset_of!(CrossTimestamp, hardware_clock_timestamp) == 8);
    assert!(offset_of!(CrossTimestamp, system_timestamp2) == 16);
};

impl TimestampCapabilities {
    /// What the flags mean.
    pub fn read(&self) -> Capabilities {
        let [cross_timestamp, rest @ ..] = self.booleans.map(|byte| byte != 0);
        let [v4_event_rx, v4_all_rx, v4_event_tx, v4_all_tx, rest @ ..] = rest;
        let [v6_event_rx, v6_all_rx, v6_event_tx, v6_all_tx, rest @ ..] = rest;
        let [all_receive, all_transmit, tagged_transmit, software @ ..] = rest;
        let [
            software_all_receive,
            software_all_transmit,
            software_tagged_transmit,
        ] = software;
        Capabilities {
            nominal_frequency: Frequency::from_hertz(self.hardware_clock_frequency_hz),
            cross_timestamp,
            hardware: HardwareCapabilities {
                ptp_v2_over_udp_ipv4_event_message_receive: v4_event_rx,
                ptp_v2_over_udp_ipv4_all_message_receive: v4_all_rx,
                ptp_v2_over_udp_ipv4_event_message_transmit: v4_event_tx,
                ptp_v2_over_udp_ipv4_all_message_transmit: v4_all_tx,
                ptp_v2_over_udp_ipv6_event_message_receive: v6_event_rx,
                ptp_v2_over_udp_ipv6_all_message_receive: v6_all_rx,
                ptp_v2_over_udp_ipv6_event_message_transmit: v6_event_tx,
                ptp_v2_over_udp_ipv6_all_message_transmit: v6_all_tx,
                all_receive,
                all_transmit,
                tagged_transmit,
            },
            software: SoftwareCapabilities {
                all_receive: software_all_receive,
                all_transmit: software_all_transmit,
                tagged_transmit: software_tagged_transmit,
            },
            kernel_masks: None,
        }
    }
}

impl From<&Capabilities> for TimestampCapabilities {
    fn from(from: &Capabilities) -> Self {
        let (hardware, software) = (&from.hardware, &from.software);
        Self {
            hardware_clock_frequency_hz: from.nominal_frequency.map_or(0, Frequency::hertz),
            booleans: [
                from.cross_timestamp,
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
            ]
            .map(u8::from),
        }
    }
}

impl CrossTimestamp {
    /// The reading, with the performance counter placed on the monotonic clock by `place`.
    ///
    /// # Errors
    /// [`CrossInvalid`] for a zero, and for system times that run backwards.
    pub fn read(
        &self,
        place: impl Fn(u64) -> MonotonicTime,
    ) -> Result<wirestamp_core::cross::CrossTimestamp, CrossInvalid> {
        if self.system_timestamp1 == 0 || self.system_timestamp2 == 0 {
            return Err(CrossInvalid::Zero);
        }
        let (before, after) = (place(self.system_timestamp1), place(self.system_timestamp2));
        wirestamp_core::cross::CrossTimestamp::new(
            before,
            HardwareTicks::new(self.hardware_clock_timestamp),
            after,
            CrossMethod::Driver,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each boolean alone, with a true that is not 1, and where it must arrive.
    #[test]
    fn every_boolean_arrives_in_its_place_and_any_true_is_true() {
        let names: [fn(&Capabilities) -> bool; 15] = [
            |c| c.cross_timestamp,
            |c| c.hardware.ptp_v2_over_udp_ipv4_event_message_receive,
            |c| c.hardware.ptp_v2_over_udp_ipv4_all_message_receive,
            |c| c.hardware.ptp_v2_over_udp_ipv4_event_message_transmit,
            |c| c.hardware.ptp_v2_over_udp_ipv4_all_message_transmit,
            |c| c.hardware.ptp_v2_over_udp_ipv6_event_message_receive,
            |c| c.hardware.ptp_v2_over_udp_ipv6_all_message_receive,
            |c| c.hardware.ptp_v2_over_udp_ipv6_event_message_transmit,
            |c| c.hardware.ptp_v2_over_udp_ipv6_all_message_transmit,
            |c| c.hardware.all_receive,
            |c| c.hardware.all_transmit,
            |c| c.hardware.tagged_transmit,
            |c| c.software.all_receive,
            |c| c.software.all_transmit,
            |c| c.software.tagged_transmit,
        ];
        for set in 0..15 {
            let mut raw = TimestampCapabilities {
                hardware_clock_frequency_hz: 0,
                booleans: [0; 15],
            };
            raw.booleans[set] = 0xff;
            let read = raw.read();
            for (place, name) in names.iter().enumerate() {
                assert_eq!(name(&read), place == set, "byte {set}, flag {place}");
            }
            assert_eq!(read.nominal_frequency, None, "0 Hz is unknown");
            raw.booleans[set] = 1;
            assert_eq!(TimestampCapabilities::from(&read), raw, "and back");
        }
    }

    #[test]
    fn zeros_and_backward_brackets_are_no_readings() {
        let place = |ticks: u64| MonotonicTime::from_nanoseconds(ticks as i64 * 100);
        let reading = |before, hardware, after| {
            CrossTimestamp {
                system_timestamp1: before,
                hardware_clock_timestamp: hardware,
                system_timestamp2: after,
            }
            .read(place)
        };
        assert_eq!(reading(0, 1, 1), Err(CrossInvalid::Zero));
        assert_eq!(reading(1, 0, 1), Err(CrossInvalid::Zero));
        assert_eq!(reading(1, 1, 0), Err(CrossInvalid::Zero));
        assert_eq!(reading(2, 1, 1), Err(CrossInvalid::Backwards));
        let pair = reading(7, 1, 7).expect("valid");
        assert_eq!((pair.bracket(), pair.method()), (None, CrossMethod::Driver));
    }
}
