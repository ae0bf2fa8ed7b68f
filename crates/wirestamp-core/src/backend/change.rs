//! Changes of interfaces, hardware clocks and configurations.

use crate::interface::InterfaceIndex;
use alloc::boxed::Box;

/// A possible change on the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Change {
    /// The interface; `None` for any of them (events were lost, or the system does not report it).
    pub interface: Option<InterfaceIndex>,
    /// What may have changed.
    pub kind: ChangeKind,
}

/// The property of an interface that may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ChangeKind {
    /// The interface appeared.
    Added,
    /// The interface disappeared.
    Removed,
    /// Its link: up, down, carrier, name, MTU.
    Link,
    /// Its hardware clock appeared, disappeared or was replaced (a bond has failed over).
    HardwareClock,
    /// Its timestamping configuration.
    Configuration,
    /// Unknown: the system does not report it, or events were lost.
    Unspecified,
}

impl ChangeKind {
    /// Returns a short, stable name: the one in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Link => "link",
            Self::HardwareClock => "hardware_clock",
            Self::Configuration => "configuration",
            Self::Unspecified => "unspecified",
        }
    }
}

/// A callback that receives changes, on a thread of the backend, one call at a time.
pub type ChangeSink = Box<dyn FnMut(Change) + Send>;

/// The part of an interface's state whose changes no system reports reliably. Backends poll and
/// compare it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polled<C> {
    /// The number of the interface's hardware clock.
    pub hardware_clock: Option<u32>,
    /// The device that has this clock. Another device can share the clock, and timestamps then name
    /// that one. `None` if it cannot be determined.
    pub device: Option<InterfaceIndex>,
    /// Its timestamping configuration; `None` if the driver does not report it.
    pub configuration: Option<C>,
}

impl<C: PartialEq> Polled<C> {
    /// Returns this state, with the former device if the clock is the same and its device cannot be
    /// determined now: running out of descriptors or memory is not a change.
    #[must_use]
    pub fn or_as_before(mut self, before: &Self) -> Self {
        if self.hardware_clock == before.hardware_clock {
            self.device = self.device.or(before.device);
        }
        self
    }

    /// Returns the change from this state to a later one. Another clock has another configuration,
    /// so a change of both is one change.
    pub fn change_to(&self, later: &Self) -> Option<ChangeKind> {
        let devices = self.device.zip(later.device);
        let is_another = devices.is_some_and(|(former, device)| former != device);
        if is_another || self.hardware_clock != later.hardware_clock {
            Some(ChangeKind::HardwareClock)
        } else if self.configuration != later.configuration {
            Some(ChangeKind::Configuration)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_clock_is_a_change_whatever_its_configuration() {
        let polled = |hardware_clock, configuration| Polled {
            hardware_clock,
            device: InterfaceIndex::new(2),
            configuration,
        };
        let first = polled(Some(0), Some(1));
        for (later, expected) in [
            (first, None),
            (polled(Some(1), Some(1)), Some(ChangeKind::HardwareClock)),
            (polled(Some(1), None), Some(ChangeKind::HardwareClock)),
            (polled(None, Some(1)), Some(ChangeKind::HardwareClock)),
            (polled(Some(0), Some(2)), Some(ChangeKind::Configuration)),
            (polled(Some(0), None), Some(ChangeKind::Configuration)),
        ] {
            assert_eq!(first.change_to(&later), expected, "{later:?}");
        }
    }

    #[test]
    fn a_device_that_cannot_be_found_out_is_no_change() {
        let behind = |device| Polled {
            hardware_clock: Some(0),
            device: InterfaceIndex::new(device),
            configuration: Some(1),
        };
        // no interface has the number 0
        let (first, unknown) = (behind(2), behind(0).or_as_before(&behind(2)));
        assert_eq!(first.change_to(&unknown), None);
        assert_eq!(unknown.change_to(&behind(2)), None);
        assert_eq!(
            unknown.change_to(&behind(3)),
            Some(ChangeKind::HardwareClock)
        );
        assert_eq!(behind(0).change_to(&behind(2)), None, "at the first look");
        let gone = Polled {
            hardware_clock: None,
            ..behind(0)
        };
        assert_eq!(gone.or_as_before(&first).device, None);
        assert_eq!(first.change_to(&gone), Some(ChangeKind::HardwareClock));
    }

    /// A bond over two ports of one card, which has one clock for both.
    #[test]
    fn another_device_with_the_same_clock_is_a_change() {
        let behind = |device| Polled::<()> {
            hardware_clock: Some(0),
            device: InterfaceIndex::new(device),
            configuration: None,
        };
        let change = behind(2).change_to(&behind(3));
        assert_eq!(change, Some(ChangeKind::HardwareClock));
        assert_eq!(behind(3).change_to(&behind(3)), None);
    }
}
