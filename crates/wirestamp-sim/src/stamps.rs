//! Owns the queue of transmit stamps and notices of a socket, as the system keeps it.

use crate::host::{Clocks, KernelStamp};
use crate::packet::Tag;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::{HardwareStamp, Notice, Stamps};
use wirestamp_core::time::{HardwareTicks, SystemTime};

/// Bytes that a waiting stamp or notice takes of the receive buffer.
///
/// Source: measured on Linux, 832 bytes per stamp without payload.
pub(crate) const ENTRY_BYTES: u32 = 832;

/// One entry of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Waiting {
    Stamp(Tag, RawStamps),
    Notice(Notice),
}

/// The stamps of an entry as the system has them; neither: a stamp of value zero.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawStamps {
    pub(crate) software: Option<KernelStamp>,
    pub(crate) hardware: Option<(HardwareTicks, InterfaceIndex)>,
}

impl RawStamps {
    pub(crate) fn read(self, clocks: &Clocks, read_at: SystemTime) -> Stamps {
        Stamps {
            software: self.software.map(|stamp| clocks.read(stamp)),
            hardware: self.hardware.filter(|(ticks, _)| ticks.raw() != 0).map(|(ticks, interface)| HardwareStamp {
                ticks,
                interface: Some(interface),
                read_at,
            }),
        }
    }
}
