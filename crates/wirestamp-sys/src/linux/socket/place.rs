//! Reads the clocks for `wirestamp_core`'s placement of timestamps, for both directions.

use crate::native::clock;
use crate::native::wire::control;
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::time::Span;
use wirestamp_core::timestamp::{Clocks, HardwareTimestamp, KernelTime, Placement, RawTimestamps};

/// The kernel's clocks count nanoseconds.
const TICK: Span = Span::from_nanoseconds(1);

/// Of both clocks as they are now.
pub(in super::super) fn placement() -> Placement {
    Placement::new(clock::offset(), TICK)
}

/// Asks the clocks about timestamps that were just read: first cheaply, then thoroughly if that is
/// not conclusive.
pub(super) fn ask(placement: &mut Placement) -> Clocks {
    if placement.is_unchanged(clock::difference()) {
        return Clocks::Unchanged;
    }
    let read_at = clock::now();
    clock::observe(placement.offset_mut());
    Clocks::Read(read_at)
}

/// Timestamps that were just read, of `interface`'s clock where the NIC made one.
#[inline]
pub(super) fn raw(
    timestamps: control::RawTimestamps,
    interface: Option<InterfaceIndex>,
    clocks: Clocks,
) -> RawTimestamps {
    let hardware = timestamps.hardware.map(|ticks| {
        let read_at = match clocks {
            Clocks::Unchanged => clock::now(),
            Clocks::Read(read_at) => read_at,
        };
        HardwareTimestamp {
            ticks,
            interface,
            read_at,
        }
    });
    RawTimestamps {
        software: timestamps.software.map(KernelTime::Utc),
        hardware,
    }
}
