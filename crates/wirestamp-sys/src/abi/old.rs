//! The structures of the first interface (`NTDDI_WIN10_RS5`, before build 20348): the current ones with a version in
//! front, and the flags in one row.

use super::iphlp::{CrossTimestamp, TimestampCapabilities};
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

// 32-bit x86 aligns 64 bits to 8 bytes on Windows alone.
#[cfg(any(windows, not(target_arch = "x86")))]
const _: () = {
    assert!(size_of::<OldTimestampCapabilities>() == 56);
    assert!(offset_of!(OldTimestampCapabilities, hardware_clock_frequency_hz) == 8);
    assert!(offset_of!(OldTimestampCapabilities, cross_timestamp) == 16);
    assert!(offset_of!(OldTimestampCapabilities, reserved1) == 24);
    assert!(offset_of!(OldTimestampCapabilities, flags) == 40);
    assert!(size_of::<OldCrossTimestamp>() == 32 && offset_of!(OldCrossTimestamp, now) == 8);
};

impl From<&TimestampCapabilities> for OldTimestampCapabilities {
    fn from(from: &TimestampCapabilities) -> Self {
        let [cross_timestamp, flags @ ..] = from.booleans;
        Self {
            version: VERSION_1,
            hardware_clock_frequency_hz: from.hardware_clock_frequency_hz,
            cross_timestamp,
            reserved1: 0,
            reserved2: 0,
            flags,
        }
    }
}
