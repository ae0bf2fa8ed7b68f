//! Owns what stamps this process has really seen, per interface: the third answer beside
//! "supported" and "active". Guesses nothing: a zero or absent stamp is not an observation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use wirestamp_core::capability::{Direction, StampSource};
use wirestamp_core::interface::InterfaceIndex;
use wirestamp_core::stamp::Stamps;

/// Which stamps this process's sockets have seen on an interface since the process started.
///
/// A receive stamp is attributed by the interface that the datagram came through; a transmit
/// stamp by the interface that the socket is bound to, by the stamp itself (hardware), or by
/// the loopback address that the socket is bound to. Others are not attributed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Observed {
    /// A received datagram carried a software stamp.
    pub receive_software: bool,
    /// A received datagram carried a hardware stamp.
    pub receive_hardware: bool,
    /// A sent datagram came back with a software stamp.
    pub transmit_software: bool,
    /// A sent datagram came back with a hardware stamp.
    pub transmit_hardware: bool,
}

/// The observations on all interfaces of a host, as bits.
#[derive(Debug, Default)]
pub(crate) struct ObservedRegistry(Mutex<BTreeMap<InterfaceIndex, u8>>);

/// One socket's way to the registry: what was noted last is not noted again, so that a
/// packet costs a load and a comparison.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    last: AtomicU64,
}

#[inline]
const fn bit(direction: Direction, source: StampSource) -> u8 {
    match (direction, source) {
        (Direction::Receive, StampSource::Software) => 1,
        (Direction::Receive, StampSource::Hardware) => 2,
        (Direction::Transmit, StampSource::Software) => 4,
        (Direction::Transmit, StampSource::Hardware) => 8,
    }
}

impl Observer {
    #[inline]
    pub(crate) fn note(
        &self,
        registry: &ObservedRegistry,
        direction: Direction,
        interface: Option<InterfaceIndex>,
        stamps: &Stamps,
    ) {
        let Some(interface) = interface else { return };
        let seen = [StampSource::Software, StampSource::Hardware].map(|source| {
            if stamps.has(source) {
                bit(direction, source)
            } else {
                0
            }
        });
        let seen = seen[0] | seen[1];
        let key = u64::from(interface.get()) << 8 | u64::from(seen);
        if seen != 0 && self.last.load(Ordering::Relaxed) != key {
            registry.note(interface, seen);
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
            receive_software: has(Direction::Receive, StampSource::Software),
            receive_hardware: has(Direction::Receive, StampSource::Hardware),
            transmit_software: has(Direction::Transmit, StampSource::Software),
            transmit_hardware: has(Direction::Transmit, StampSource::Hardware),
        }
    }
}
