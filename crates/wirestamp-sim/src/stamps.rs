//! Owns stamps as the system keeps them, and where they lie on the steady clock: as a socket finds
//! out on the system that is imitated. Holds no queue.

use crate::host::{Asked, Clocks, KernelStamp};
use crate::packet::Tag;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::{HardwareStamp, Notice, SoftwareStamp, Stamps};
use wirestamp_core::time::{HardwareTicks, SystemTime, WallOffset, WallResolution, WallTime};

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
    /// Without the stamp that was not asked for.
    pub(crate) fn only(self, software: bool, hardware: bool) -> Self {
        Self { software: self.software.filter(|_| software), hardware: self.hardware.filter(|_| hardware) }
    }

    /// Places the stamps. A stamp of the civil clock, made around a step of it, can't be placed.
    pub(crate) fn place(self, clocks: &Clocks, offset: &mut WallOffset, asked: Asked, read_at: SystemTime) -> Stamps {
        let software = self.software.and_then(|stamp| match stamp {
            KernelStamp::Civil(wall) => place(wall, clocks, offset, asked),
            KernelStamp::Steady(at) => {
                Some(SoftwareStamp { at, bound: clocks.resolution(), wall: None, clock_stepped: false })
            }
        });
        let hardware = self.hardware.filter(|(ticks, _)| ticks.raw() != 0).map(|(ticks, interface)| HardwareStamp {
            ticks,
            interface: Some(interface),
            read_at,
        });
        Stamps { software, hardware }
    }
}

/// As the sockets of `wirestamp-sys` place Linux's stamps.
fn place(wall: WallTime, clocks: &Clocks, offset: &mut WallOffset, asked: Asked) -> Option<SoftwareStamp> {
    let (at, bound, clock_stepped) = match asked {
        Asked::Unchanged => (offset.place(wall), offset.bound(), false),
        Asked::Read(read_at) => match offset.resolve(wall, read_at) {
            WallResolution::At { at, bound, stepped } => (at, bound, stepped),
            WallResolution::Stepped => return None,
        },
    };
    offset.emptied(at); // stamps come about in the order in which they were made
    Some(SoftwareStamp { at, bound: bound + clocks.rounding(), wall: Some(wall), clock_stepped })
}
