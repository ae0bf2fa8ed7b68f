//! Owns where stamps lie: software stamps on the steady clock, hardware stamps on their
//! interface. For both directions; reads no queue.

use crate::native::clock;
use crate::native::wire::control::RawStamps;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::{HardwareStamp, SoftwareStamp, Stamps};
use wirestamp_core::time::{SystemTime, WallOffset, WallResolution};

/// What the clocks said after stamps were read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Clocks {
    /// The civil clock was not stepped while stamps waited.
    Unchanged,
    /// It may have been; the stamps were read before this.
    Read(SystemTime),
}

/// Asks the clocks about stamps that were just read: cheaply, and thoroughly where that does
/// not tell.
pub(super) fn ask(offset: &mut WallOffset) -> Clocks {
    if offset.is_unchanged(clock::difference()) {
        return Clocks::Unchanged;
    }
    let read_at = clock::now();
    clock::observe(offset);
    Clocks::Read(read_at)
}

/// Places raw stamps. A software stamp made around a step of the civil clock can't be placed.
#[inline]
pub(super) fn place(
    raw: RawStamps,
    interface: Option<InterfaceIndex>,
    offset: &mut WallOffset,
    clocks: Clocks,
) -> Stamps {
    let software = raw.software.and_then(|wall| {
        let (at, bound, clock_stepped) = match clocks {
            Clocks::Unchanged => (offset.place(wall), offset.bound(), false),
            Clocks::Read(read_at) => match offset.resolve(wall, read_at) {
                WallResolution::At { at, bound, stepped } => (at, bound, stepped),
                WallResolution::Stepped => return None,
            },
        };
        offset.emptied(at); // stamps come about in the order in which they were made
        Some(SoftwareStamp { at, bound, wall: Some(wall), clock_stepped })
    });
    let hardware = raw.hardware.map(|ticks| {
        let read_at = match clocks {
            Clocks::Unchanged => clock::now(),
            Clocks::Read(read_at) => read_at,
        };
        HardwareStamp { ticks, interface, read_at }
    });
    Stamps { software, hardware }
}
