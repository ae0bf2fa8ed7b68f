//! The kinds of timestamps that this process has received on each interface, in addition to the
//! "supported" and "active" capabilities. A zero or missing timestamp does not count.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use wirestamp_core::capability::{Direction, TimestampSource};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::timestamp::Timestamps;

/// The kinds of timestamps that this process's sockets have received on an interface since the
/// process started.
///
/// A receive timestamp counts for the interface that the datagram came through. A transmit
/// timestamp counts for the interface that the socket is bound to (also through a loopback
/// address), or that the hardware timestamp names. Others do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Observed {
    /// Whether a received datagram had a software timestamp.
    pub receive_software: bool,
    /// Whether a received datagram had a hardware timestamp.
    pub receive_hardware: bool,
    /// Whether a sent datagram got a software timestamp.
    pub transmit_software: bool,
    /// Whether a sent datagram got a hardware timestamp.
    pub transmit_hardware: bool,
}

/// The observations on all interfaces of a host, as bits.
#[derive(Debug, Default)]
pub(crate) struct ObservedRegistry(Mutex<BTreeMap<InterfaceIndex, u8>>);

/// A socket's cache in front of the registry: repeated observations on the same interface cost a
/// load and a comparison per packet.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// The last interface, and the observations on it.
    last: AtomicU64,
}

#[inline]
const fn bit(direction: Direction, source: TimestampSource) -> u8 {
    match (direction, source) {
        (Direction::Receive, TimestampSource::Software) => 1,
        (Direction::Receive, TimestampSource::Hardware) => 2,
        (Direction::Transmit, TimestampSource::Software) => 4,
        (Direction::Transmit, TimestampSource::Hardware) => 8,
    }
}

impl Observer {
    #[inline]
    pub(crate) fn note(
        &self,
        registry: &ObservedRegistry,
        direction: Direction,
        interface: Option<InterfaceIndex>,
        timestamps: &Timestamps,
    ) {
        let Some(interface) = interface else { return };
        let seen = [TimestampSource::Software, TimestampSource::Hardware].map(|source| {
            if timestamps.has(source) {
                bit(direction, source)
            } else {
                0
            }
        });
        let seen = seen[0] | seen[1];
        let last = self.last.load(Ordering::Relaxed);
        let known = if last >> 8 == u64::from(interface.get()) {
            last as u8
        } else {
            0
        };
        if seen & !known != 0 {
            registry.note(interface, seen);
            let key = u64::from(interface.get()) << 8 | u64::from(known | seen);
            self.last.store(key, Ordering::Relaxed);
        }
    }
}

impl ObservedRegistry {
    fn note(&self, interface: InterfaceIndex, seen: u8) {
        *self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(interface)
            .or_default() |= seen;
    }

    pub(crate) fn on(&self, interface: InterfaceIndex) -> Observed {
        let interfaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = interfaces.get(&interface).copied().unwrap_or(0);
        let has = |direction, source| seen & bit(direction, source) != 0;
        Observed {
            receive_software: has(Direction::Receive, TimestampSource::Software),
            receive_hardware: has(Direction::Receive, TimestampSource::Hardware),
            transmit_software: has(Direction::Transmit, TimestampSource::Software),
            transmit_hardware: has(Direction::Transmit, TimestampSource::Hardware),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirestamp_core::time::{Bounded, MonotonicTime, Span};
    use wirestamp_core::timestamp::SoftwareTimestamp;

    /// Otherwise each packet of a socket that sends and receives would take the lock of all
    /// sockets.
    #[test]
    fn what_a_socket_has_seen_in_both_directions_is_noted_once() {
        let software =
            SoftwareTimestamp::new(Bounded::new(MonotonicTime::from_nanoseconds(1), Span::ZERO));
        let timestamps = Timestamps::new(Some(software), None);
        let observer = Observer::default();
        let note = |registry: &ObservedRegistry, interface| {
            for direction in [Direction::Receive, Direction::Transmit] {
                observer.note(
                    registry,
                    direction,
                    InterfaceIndex::new(interface),
                    &timestamps,
                );
            }
        };
        let seen_on = |registry: &ObservedRegistry, interface| {
            let seen = registry.on(InterfaceIndex::new(interface).expect("an index"));
            (seen.receive_software, seen.transmit_software)
        };
        let (first, second, third) = (
            ObservedRegistry::default(),
            ObservedRegistry::default(),
            ObservedRegistry::default(),
        );
        note(&first, 1);
        assert_eq!(seen_on(&first, 1), (true, true));
        note(&second, 1);
        assert_eq!(seen_on(&second, 1), (false, false));
        note(&third, 2);
        assert_eq!(seen_on(&third, 2), (true, true));
    }
}
