//! Timestamps as the system keeps them, until a socket reads them. Decides nothing about them.

use crate::packet::Tag;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::{HardwareTicks, MonotonicTime};
use wirestamp_core::timestamp::{HardwareTimestamp, KernelTime, Notice, RawTimestamps};

/// Bytes that a waiting timestamp or notice takes of the receive buffer.
///
/// Source: measured on Linux, 832 bytes per timestamp without payload.
pub(crate) const ENTRY_BYTES: u32 = 832;

/// One entry of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waiting {
    Timestamp(Tag, KernelTimestamps),
    /// The datagram entered the queueing discipline. Linux alone.
    Queued(Tag, KernelTime),
    Notice(Notice),
}

/// The timestamps of an entry; neither: a timestamp of value zero.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KernelTimestamps {
    pub(crate) software: Option<KernelTime>,
    pub(crate) hardware: Option<(HardwareTicks, InterfaceIndex)>,
}

impl KernelTimestamps {
    /// Without the timestamp that is not reported.
    pub(crate) fn only(self, software: bool, hardware: bool) -> Self {
        Self {
            software: self.software.filter(|_| software),
            hardware: self.hardware.filter(|_| hardware),
        }
    }

    /// As a socket reads them.
    pub(crate) fn read(self, read_at: MonotonicTime) -> RawTimestamps {
        let timestamp = |(ticks, interface)| HardwareTimestamp {
            ticks,
            interface: Some(interface),
            read_at,
        };
        RawTimestamps {
            software: self.software,
            hardware: self.hardware.map(timestamp),
        }
    }
}
